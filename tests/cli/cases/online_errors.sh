#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the online methods refuse: wrong usage is 2, data that do not fit 65, a missing file 66; no head is left behind.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/labels.*.txt .
fit() { try fit darknet.train.npy --labels labels.train.txt -o h.safetensors "$@"; }
valid="--valid darknet.test.npy --valid-labels labels.test.txt"
fit --method pa --average --no-average
fit --method pa --tune
fit --method perceptron --tune $valid
fit --method svm --tune $valid
fit --method pa --holdout 0.2
fit --method svm-cv --holdout 0.2 $valid
fit --method svm-cv --holdout 1
fit --method svm-cv --holdout 0.2 --folds 3
fit --method svm-cv --folds 3 $valid
fit --method svm --checkpoint c.ckpt
fit --method pa --valid darknet.test.npy
fit --method pa --valid-labels labels.test.txt
fit --method pa --valid --valid-labels labels.test.txt
fit --method pa --valid none.npy --valid-labels labels.test.txt
fit --method pa --valid darknet.test.npy --valid-labels none.txt
fit --method pa --valid darknet.train.npy --valid-labels labels.test.txt
fit --method pa --valid other=darknet.test.npy --valid-labels labels.test.txt
sed '7s/.*/unicorn/' labels.test.txt >odd.txt
fit --method pa --valid darknet.test.npy --valid-labels odd.txt
sed 's/$/|pet/' labels.test.txt >several.txt
fit --method pa --valid darknet.test.npy --valid-labels several.txt
fit --method pa --calibrate yes
for epochs in 0 -1 x 1.5; do fit --method pa --epochs $epochs; done
fit --method cw --eta 0.4
fit --method cw --eta 1
fit --method pa --multiclass some
fit --method pa --multiclass w-ovr --ratio -1
fit --method pa --shuffle maybe
fit --method pa --C 0
head -n 299 labels.train.txt >short.txt
try fit darknet.train.npy --labels short.txt --method pa -o h.safetensors
sed 's/.*/cat/' labels.train.txt >one.txt
try fit darknet.train.npy --labels one.txt --method pa -o h.safetensors
{ npy_header '<f4' 300 1; for i in $(seq 150); do printf '\0\0\x80\x3f\0\0\0\x40'; done; } >y.npy
try fit darknet.train.npy --labels y.npy --task regression --method pa -o h.safetensors
# Heads to go on from that do not fit.
cp "$DEMO"/squeezenet.train.npy .
make() { "$TENON" fit darknet.train.npy --labels labels.train.txt "$@" >/dev/null; }
make --method pa -o a.safetensors
make --method pa --normalize zscore -o z.safetensors
awk '{ print (NR % 2) ? $1 "|odd" : $1 }' labels.train.txt >several.txt
fit --method svm --from a.safetensors
fit --method pa --from none.safetensors
fit --method pa --from labels.train.txt
fit --method pa --from a.safetensors --normalize root
fit --method pa --from z.safetensors --normalize zscore
try fit squeezenet.train.npy --labels labels.train.txt --method pa --from a.safetensors -o h.safetensors
try fit darknet=squeezenet.train.npy --labels labels.train.txt --method pa --from a.safetensors -o h.safetensors
try fit darknet.train.npy squeezenet.train.npy --labels labels.train.txt --method pa --from a.safetensors -o h.safetensors
try fit darknet.train.npy --labels several.txt --method pa --from a.safetensors -o h.safetensors
# Three shards, the second one cut short.
mkdir shards
for i in 1 2 3; do { npy_header '|i1' 100 8; head -c 800 /dev/zero | tr '\0' "\\$i"; } >shards/$i.npy; done
awk '{ print NR % 2 }' labels.train.txt >y.txt
"$TENON" fit shards --labels y.txt --method pa --epochs 1 -o s.safetensors >/dev/null && echo "three shards are one representation"
truncate -s 700 shards/2.npy
try fit shards --labels y.txt --method pa -o h.safetensors
ls ./h.safetensors 2>/dev/null
exit 0
