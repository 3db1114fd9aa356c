#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files in the place of others are recognised and told in one line with what to type instead: a head behind the rows, labels among
# the representations, a folder of networks for one of shards.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy x.npy
cp "$DEMO"/labels.train.txt y.txt
"$TENON" fit --method evidence x.npy --labels y.txt --loo 0 -o h.safetensors >/dev/null || exit
"$TENON" kernel learn --data x.npy y.txt --gap 1 -o k.safetensors >/dev/null || exit
"$TENON" pq train x.npy --iterations 2 -o q.safetensors >/dev/null || exit
# Order.
try predict x.npy h.safetensors
try eval x.npy h.safetensors --labels y.txt
try kernel apply x.npy k.safetensors -o m.npy
try pq apply x.npy q.safetensors -o c.safetensors
try predict x.npy x.npy
# Other files of ours as representations.
for file in h k q; do try rank $file.safetensors --labels y.txt; done
# Labels among the representations.
awk '{ print NR % 3 }' y.txt >n.txt
{ npy_header '<i4' 300 1; while read -r v; do printf "\\x$(printf %02x "$v")\0\0\0"; done <n.txt; } >labels.train.npy
cp labels.train.npy other.npy
ln -s labels.train.npy link.npy
try rank *.npy --labels labels.train.npy
try rank x.npy link.npy --labels labels.train.npy
try fit x.npy other.npy --labels labels.train.npy -o f.safetensors
try rank x.npy y.txt --labels y.txt
"$TENON" rank x.npy feature=other.npy --labels labels.train.npy --loo 0 --json | number rows
# Folders: of networks with different columns, with the same, of other files.
mkdir nets same models shards
cp "$DEMO"/darknet.train.npy "$DEMO"/squeezenet.train.npy nets
cp x.npy same/a.npy
cp x.npy same/b.npy
touch models/resnet.onnx
cp x.npy shards/1.npy
try fit nets --labels y.txt -o f.safetensors
try rank same/ --labels y.txt
try eval h.safetensors x=same --labels y.txt
try rank models --labels y.txt
"$TENON" rank shards --labels y.txt --loo 0 --json | number rows
ls ./*.safetensors
