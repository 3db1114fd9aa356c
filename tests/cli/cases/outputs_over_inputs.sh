#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Outputs that would overwrite inputs, each other or the checkpoint are refused before any work, however the file is spelled;
# -f overwrites an input where that is meant.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy x.npy
cp "$DEMO"/labels.train.txt y.txt
awk 'BEGIN { for (i = 0; i < 300; ++i) print 1 }' >w.csv
mkdir sub shards
cp x.npy shards/1.npy
fit() { try fit x.npy --labels y.txt --method pa --epochs 1 "$@"; }
"$TENON" fit x.npy --labels y.txt --method pa --epochs 1 -o h.safetensors >/dev/null || exit
"$TENON" kernel learn --data x.npy y.txt --gap 1 -o k.safetensors >/dev/null || exit
ln -s h.safetensors link.safetensors
ln h.safetensors hard.safetensors
ln -s sub other
sum=$(cat ./*.* shards/* | cksum)
# The checkpoint as the head: new, by another spelling, through a folder's other name, existing, by both kinds of links.
fit --checkpoint c.safetensors -o c.safetensors
fit --checkpoint c.safetensors -o ./c.safetensors
fit --checkpoint sub/c.safetensors -o other/c.safetensors
fit --checkpoint "$PWD/c.safetensors" -o sub/../c.safetensors | sed "s|$PWD|PWD|g"
fit --checkpoint h.safetensors -o h.safetensors
fit --checkpoint link.safetensors -o h.safetensors
fit --checkpoint hard.safetensors -o h.safetensors
fit --checkpoint c.safetensors -o c.safetensors -f
# Inputs.
fit -o x.npy
fit -o ./y.txt
fit --from h.safetensors -o h.safetensors
fit --from h.safetensors -o link.safetensors
fit --from h.safetensors -o hard.safetensors
fit --checkpoint y.txt -o new.safetensors
fit --sample-weight w.csv -o w.csv
fit --valid x=shards/1.npy --valid-labels y.txt -o shards/1.npy
fit --transform k.safetensors -o k.safetensors
try fit f=shards --labels y.txt -o shards/1.npy
try transfer --target x.npy --labels y.txt --source h.safetensors -o h.safetensors
try transfer --target a=x.npy --labels y.txt --source s=x.npy -o x.npy
try predict h.safetensors x.npy --scores x.npy
try predict h.safetensors x.npy --scores h.safetensors
try kernel learn --data x.npy y.txt -o y.txt
try kernel apply k.safetensors x.npy -o x.npy
try kernel show k.safetensors --csv k.safetensors
try kernel show k.safetensors --csv out --picture ./out
try pq train x.npy -o x.npy
[ "$(cat ./*.* shards/* | cksum)" = "$sum" ] && echo "no file has changed"
# What is meant works: the head goes on in its own file, and the folder of shards takes another file.
fit --from h.safetensors -o h.safetensors -f | tail -n 1
"$TENON" kernel apply k.safetensors shards -o shards/2.npy --json | grep -o '"file":.*'
"$TENON" predict h.safetensors x.npy --scores x.npy --force >/dev/null && "$TENON" info x.npy | sed -n 3p
