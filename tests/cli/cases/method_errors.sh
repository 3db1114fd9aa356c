#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the methods refuse: wrong usage is 2, data that do not fit 65, a missing file 66; no head is left behind.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
fit() { try fit darknet.train.npy --labels labels.train.txt -o h.safetensors "$@"; }
for c in 0 -1 nan inf 1e-301 x ''; do fit --method svm --C "$c"; done
for grid in 1,,2 1,x 0,1 -1 nan ,; do fit --method svm-cv --grid "$grid"; done
fit --method ridge-cv --grid 1,1e999
fit --method svm-cv --folds 1
fit --method svm-cv --folds 301
fit --method ridge-cv --folds 301
fit --method svm --calibrate yes --folds 301
fit --method svm --gap 0
fit --method svm --max-passes 0
fit --method svm --loss hinge --penalise-bias no
fit --method svm --loss logistic
fit --method svm --class-weight heavy
fit --method svm --calibrate maybe
fit --calibrate yes --loo 0
fit --method perceptrn
awk 'BEGIN { for (i = 0; i < 299; ++i) print 1 }' >short.csv
awk 'BEGIN { for (i = 0; i < 300; ++i) print (i == 7) ? -1 : 1 }' >negative.csv
awk 'BEGIN { for (i = 0; i < 300; ++i) print "1,1" }' >two.csv
fit --method svm --sample-weight short.csv
fit --method svm --sample-weight negative.csv
fit --method logistic --sample-weight two.csv
fit --method svm --sample-weight none.csv
{ npy_header '<f4' 300 1; for i in $(seq 150); do printf '\0\0\x80\x3f\0\0\0\x40'; done; } >y.npy
try fit darknet.train.npy --labels y.npy --task regression --method svm -o h.safetensors
try fit darknet.train.npy --labels y.npy --task regression --method svm-cv -o h.safetensors
try fit darknet.train.npy --labels y.npy --task regression --method logistic -o h.safetensors
ls ./*.safetensors 2>/dev/null
# And what they take: weights of one a row change nothing, with or without them balanced classes (15 rows each) neither.
awk 'BEGIN { for (i = 0; i < 300; ++i) print 1 }' >ones.csv
weights() { "$TENON" fit darknet.train.npy --labels labels.train.txt --method "$@" -o h.safetensors --json | number objective; }
for method in svm logistic; do
    a=$(weights $method) b=$(weights $method --sample-weight ones.csv) c=$(weights $method --class-weight balanced)
    [ -n "$a" ] && [ "$a" = "$b" ] && [ "$a" = "$c" ] && echo "$method: the same objective"
done
