#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. Rows with several labels go one against the rest, whatever --multiclass says, and are validated by mean AP;
# the prediction is a label file again.
. "$HERE/lib.sh"
for part in train test; do
    awk '{ print (NR % 3 == 0) ? $1 : $1 "|" ((substr($1, 1, 1) < "d") ? "early" : "late") }' "$DEMO/labels.$part.txt" >$part.txt
done
cp "$DEMO"/mobilenetv2.t*.npy .
fit() { "$TENON" fit mobilenetv2.train.npy --labels train.txt -o h.safetensors --json "$@" >f.json; }
for method in pa arow scw; do
    fit --method $method --epochs 5 || exit
    "$TENON" eval h.safetensors mobilenetv2.train.npy --labels train.txt --json >e.json
    between "$(number mean_ap <e.json)" 0.9 1 || echo "$method: mean AP on the training rows $(number mean_ap <e.json)"
    md5sum <h.safetensors >mul
    "$TENON" predict h.safetensors mobilenetv2.test.npy --scores a.npy >p.txt
    fit --method $method --epochs 5 --multiclass u-ovr
    "$TENON" predict h.safetensors mobilenetv2.test.npy --scores b.npy >/dev/null
    cmp a.npy b.npy && echo "$method: one against the rest"
done
wc -l <p.txt
grep -c '|' p.txt | awk '{ print ($1 > 100) ? "sets" : "too few sets" }'
fit --method arow --epochs 20 --valid mobilenetv2.test.npy --valid-labels test.txt || exit
best=$(grep -o '"valid_accuracy":[0-9.e-]*' f.json | cut -d: -f2 | sort -g | tail -n 1)
"$TENON" eval h.safetensors mobilenetv2.test.npy --labels test.txt --json >e.json
[ "$(number mean_ap <e.json)" = "$best" ] && echo "the best pass, by mean AP" || echo "eval $(number mean_ap <e.json), best $best"
