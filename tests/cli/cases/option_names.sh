#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library names options without dashes; the program shows them with dashes, in errors, warnings, tables and help, and leaves
# files that are called like that alone.
. "$HERE/lib.sh"
cp "$DEMO/doodle.train.npy" x.npy
cp "$DEMO/labels.train.txt" y.txt
try fit x.npy --labels y.txt --C 0 -o head.safetensors
try fit x.npy --labels y.txt --method svm-cv --grid 1,x -o head.safetensors
try rank x.npy --labels "option mem.txt"
try rank "the option mem.npy" --labels y.txt
printf 'a\n1\n2\n' >header.txt
try rank x.npy --labels header.txt
seq 300 >rows.txt
"$TENON" rank x.npy --labels rows.txt --task multiclass --json 2>&1 | grep -oe "values need --task regression"
"$TENON" fit x.npy --labels y.txt --method svm --max-passes 1 -o head.safetensors 2>&1 |
    grep -oe "more --max-passes, more --mem or another --normalize may help" -e "--max-passes allows more"
"$TENON" help fit | grep -- 'option \|with --valid'
exit 0
