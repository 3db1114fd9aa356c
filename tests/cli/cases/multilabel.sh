#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. Two labels a row: the lines of a prediction are sets, and they are a label file again.
. "$HERE/lib.sh"
awk '{ print (NR % 3 == 0) ? $1 : $1 "|" ((substr($1, 1, 1) < "d") ? "early" : "late") }' "$DEMO/labels.train.txt" >y.txt
"$TENON" fit --method evidence "$DEMO/mobilenetv2.train.npy" --labels y.txt -o h.safetensors --json >f.json || exit
grep -o '"task":"[a-z]*"' f.json
"$TENON" predict h.safetensors "$DEMO/mobilenetv2.train.npy" >p.txt || exit
wc -l <p.txt
grep -c '|' p.txt | awk '{ print ($1 > 100) ? "sets" : "too few sets" }'
"$TENON" predict h.safetensors "$DEMO/mobilenetv2.train.npy" --json | grep -o '"labels":\[\['
"$TENON" eval h.safetensors "$DEMO/mobilenetv2.train.npy" --labels y.txt --json >e.json
between "$(number mean_ap <e.json)" 0.9 1 || echo "mean AP on the training rows: $(number mean_ap <e.json)"
grep -o '"top5_accuracy"' e.json
"$TENON" eval h.safetensors "$DEMO/mobilenetv2.train.npy" --labels y.txt --per-class | grep -c '^late '
