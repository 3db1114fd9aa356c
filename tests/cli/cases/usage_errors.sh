#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Wrong usage is one line and exit status 2.
. "$HERE/lib.sh"
touch x.npy
try rnak x.npy
try zzzzzzzz
try rank
try rank x.npy
try rank x.npy --labels
try rank x.npy --labels --json
try rank x.npy --labls y.txt
try rank x.npy --norm l2
try rank x.npy --nope=3
try rank x.npy -x
try rank x.npy --threads 0x
try rank x.npy --threads=-1
try rank x.npy --threads 4097
try rank x.npy --mem 8X
try rank x.npy --nan maybe
try rank x.npy --json=yes
try rank x.npy --intercept true
try rank x.npy --output y
try rank x.npy -o y
try fit x.npy --labels y.txt
try fit x.npy --labels y.txt -o
try fit x.npy --labels y.txt --method nothing -o h
try predict h
try eval
try eval --labels y.txt
try eval h x.npy
try eval --scores s.npy h x.npy --labels y.txt
try doctor now
try help nothing
try help rnk
try help rank fit
try completion fish
try completion
