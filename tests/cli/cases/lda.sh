#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Method lda: what it gives, where it is not for the labels or the options, and that rows, moments and processes agree.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/labels.*.txt .
fit() { try fit darknet.train.npy --labels labels.train.txt -o h.safetensors --method lda "$@"; }
words() { sed -E 's/[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?/#/g; s/ +/ /g; s/^ //'; }

# The head says what it is, and predicts.
"$TENON" fit darknet.train.npy --labels labels.train.txt --method lda -o h.safetensors | words
"$TENON" info h.safetensors | grep -E '^  (method|lambda|alpha|C|probabilities) ' | words
"$TENON" predict h.safetensors darknet.test.npy --proba | head -2 | words
"$TENON" eval h.safetensors darknet.test.npy --labels labels.test.txt --json >e.json
between "$(number accuracy <e.json)" 0.7 1 || echo "accuracy $(number accuracy <e.json)"

# A lambda that is given is that of the head, without folds.
"$TENON" fit darknet.train.npy --labels labels.train.txt --method lda --lambda 0.25 -o g.safetensors --json >f.json
grep -oE '"(lambda_rule|cross_validation|temperature)":("[a-z]*"|null|[0-9]+)' f.json
"$TENON" info g.safetensors | grep -E '^  lambda ' | words
"$TENON" fit darknet.train.npy --labels labels.train.txt --method lda --lambda 0.25 --calibrate yes --folds 3 -o c.safetensors >/dev/null
echo "folds to calibrate by: exit $?"

# Sums of rows give the same decisions.
"$TENON" moments darknet.train.npy --labels labels.train.txt -o m.safetensors >/dev/null
"$TENON" fit --moments m.safetensors --method lda --lambda 0.25 -o n.safetensors >/dev/null
"$TENON" predict g.safetensors darknet.test.npy >rows.txt
"$TENON" predict n.safetensors darknet.test.npy >sums.txt
cmp rows.txt sums.txt && echo "moments: the same decisions"

# Cross-validation, alone and against another.
"$TENON" cv darknet.train.npy --labels labels.train.txt --method lda --against evidence --folds 3 --json |
    grep -oE '"method":"[a-z]*"'

# One row per class: the nearest class mean, without probabilities.
awk '!seen[$0]++ { print; next } { print "" }' labels.train.txt >one.txt
"$TENON" fit darknet.train.npy --labels one.txt --method lda -o o.safetensors --json |
    grep -oE '"(lambda_rule|cross_validation_note|temperature_note)":"[^"]*"'

# What it is not for.
sed 's/$/|pet/' labels.train.txt >several.txt
try fit darknet.train.npy --labels several.txt --method lda -o x.safetensors
{ npy_header '<f4' 300 1; for i in $(seq 150); do printf '\0\0\x80\x3f\0\0\0\x40'; done; } >y.npy
try fit darknet.train.npy --labels y.npy --task regression --method lda -o x.safetensors
try cv darknet.train.npy --labels several.txt --against lda
fit --intercept no
fit --lambda shared
fit --lambda 0
fit --lambda 1 --grid 1,2
fit --lambda 1 --folds 3
fit --holdout 0.2 --folds 3
fit --threshold f1
fit --C 1
fit --budget 5
try fit --moments m.safetensors --method lda -o x.safetensors
ls ./x.safetensors 2>/dev/null || echo "no head is left behind"
