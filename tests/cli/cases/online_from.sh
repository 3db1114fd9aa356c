#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. A head that was trained without two classes, then shown all of them: they come behind those it knows,
# and are predicted. Rows without a label are left out.
. "$HERE/lib.sh"
cp "$DEMO"/mobilenetv2.t*.npy "$DEMO"/labels.*.txt .
grep -vcx 'ant\|dolphin' labels.train.txt
awk '{ print ($1 == "ant" || $1 == "dolphin") ? "" : $1 }' labels.train.txt >some.txt
"$TENON" fit mobilenetv2.train.npy --labels some.txt --method pa -o a.safetensors >/dev/null || exit
"$TENON" predict a.safetensors mobilenetv2.test.npy | grep -c '^ant$\|^dolphin$'
"$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method arow --from a.safetensors -o b.safetensors >/dev/null || exit
"$TENON" info b.safetensors --json | grep -o '"classes":\[[^]]*\]'
"$TENON" eval b.safetensors mobilenetv2.test.npy --labels labels.test.txt --per-class --json >e.json
between "$(number accuracy <e.json)" 0.75 1 || echo "accuracy $(number accuracy <e.json)"
paste labels.test.txt <("$TENON" predict b.safetensors mobilenetv2.test.npy) |
    awk '$1 == "ant" || $1 == "dolphin" { ++n; right += $1 == $2 } END { print (right > n / 2) ? "the new ones are known" : right " of " n }'
# Only rows of the new classes: the others stay.
awk '{ print ($1 == "ant" || $1 == "dolphin") ? $1 : "" }' labels.train.txt >new.txt
"$TENON" fit mobilenetv2.train.npy --labels new.txt --method pa --epochs 1 --from a.safetensors -o c.safetensors >/dev/null || exit
"$TENON" info c.safetensors --json | grep -o '"classes":\[[^]]*\]' | tr ',' '\n' | wc -l
# A margin that is met changes nothing: a head that makes no mistake on its rows goes on to the same weights.
"$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method perceptron --no-average --epochs 100 -o d.safetensors --json >f.json || exit
sed 's/.*"epoch":100,"mistakes":\([0-9]*\),"updates":\([0-9]*\).*/mistakes \1, updates \2/' f.json
"$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method perceptron --epochs 1 --from d.safetensors -o e.safetensors >/dev/null || exit
for h in d e; do "$TENON" predict $h.safetensors mobilenetv2.test.npy --scores $h.npy >/dev/null; done
cmp d.npy e.npy && echo "the same scores"
