#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pipe, a device or a socket where a file is meant is refused at once; nobody waits for a writer.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
TENON_PLAIN=$TENON
TENON=./patient
printf '#!/bin/sh\nexec timeout -s KILL 20 "%s" "$@"\n' "$TENON_PLAIN" >patient
chmod +x patient
for name in f.npy f.npz f.safetensors f.fvecs f.svm f.csv f.txt; do mkfifo "$name"; done
mkdir shards
mkfifo shards/a.npy
for name in f.npy f.npz f.safetensors f.fvecs f.svm f.csv f.txt shards; do try info $name; done
try rank f.npy --labels labels.train.txt
try rank darknet.train.npy --labels f.txt
try predict f.safetensors darknet.train.npy
try fit darknet.train.npy --labels labels.train.txt -o f.npy
try rank darknet.train.npy --labels /dev/zero
try rank darknet.train.npy --labels /
