#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. Maps as candidates, in heads and at prediction. The Hellinger map and L2 are the normalisation
# root: the same evidence, the same classes.
. "$HERE/lib.sh"
cp "$DEMO"/{darknet,doodle}.t*.npy "$DEMO"/labels.*.txt .

"$TENON" rank darknet.train.npy doodle.train.npy --labels labels.train.txt --transform none,chi2,hellinger --json >r.json || exit
grep -o '"name":"[^"]*","transform":"[^"]*","dim":[0-9]*' r.json | sort
"$TENON" rank darknet.train.npy --labels labels.train.txt --transform js,none --normalize l2,root --signed split --json >r.json || exit
grep -o '"name":"[^"]*","transform":"[^"]*","dim":[0-9]*' r.json | sort
"$TENON" rank darknet.train.npy --labels labels.train.txt --json | grep -c transform

evidence() { "$TENON" rank darknet.train.npy --labels labels.train.txt "$@" --json | number log_evidence; }
awk -v a="$(evidence --transform hellinger)" -v b="$(evidence --normalize root)" \
    'BEGIN { print (a - b) ^ 2 < 1e-6 ? "hellinger is root" : a " " b }'

for map in hellinger chi2 intersection js; do
    "$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt --transform $map -o $map.safetensors --json >f.json || exit
    grep -o '"selected":[^]]*]' f.json
    "$TENON" info $map.safetensors --json | grep -o '"dim":128,"normalize":"l2","transform":"[^"]*","width":[0-9]*'
    "$TENON" predict $map.safetensors darknet.test.npy >$map.txt
    wc -l <$map.txt
    accuracy=$("$TENON" eval $map.safetensors darknet.test.npy --labels labels.test.txt --json | number accuracy)
    between "$accuracy" 0.6 1 || echo "$map: accuracy $accuracy"
    paste labels.test.txt $map.txt | awk -v a="$accuracy" '{ n += $1 == $2 } END { print (n / NR - a) ^ 2 < 1e-6 ? "as told" : n / NR " " a }'
done
"$TENON" info chi2.safetensors | grep representations
"$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt --normalize root -o root.safetensors >/dev/null || exit
"$TENON" predict root.safetensors darknet.test.npy | cmp - hellinger.txt && echo "the same classes"

# Several maps in one head, and an online learner that goes on from its own.
"$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt --transform none,chi2 --signed split --select all -o both.safetensors >/dev/null || exit
"$TENON" info both.safetensors --json | grep -o '"representations":[^]]*]'
"$TENON" eval both.safetensors darknet.test.npy --labels labels.test.txt --json >e.json
between "$(number accuracy <e.json)" 0.6 1 || echo "both: accuracy $(number accuracy <e.json)"
"$TENON" fit darknet.train.npy --labels labels.train.txt --method pa --transform chi2 -o pa.safetensors >/dev/null || exit
"$TENON" fit darknet.train.npy --labels labels.train.txt --method pa --transform chi2 --from pa.safetensors -o pa2.safetensors >/dev/null || exit
"$TENON" eval pa2.safetensors darknet.test.npy --labels labels.test.txt --json >e.json
between "$(number accuracy <e.json)" 0.6 1 || echo "pa: accuracy $(number accuracy <e.json)"
# Validation rows go through the map too: what is told after the only pass is what the head then has.
"$TENON" fit darknet.train.npy --labels labels.train.txt --method pa --transform chi2 --epochs 1 --valid darknet.test.npy \
    --valid-labels labels.test.txt -o valid.safetensors --json >f.json || exit
[ "$(number valid_accuracy <f.json)" = "$("$TENON" eval valid.safetensors darknet.test.npy --labels labels.test.txt --json | number accuracy)" ] &&
    echo "validated through the map"

# What is wrong is one line.
try fit darknet.train.npy --labels labels.train.txt --method pa --from pa.safetensors -o x.safetensors
try rank darknet.train.npy --labels labels.train.txt --transform chi3
try rank darknet.train.npy --labels labels.train.txt --transform chi2,
try rank darknet.train.npy --labels labels.train.txt --transform chi2,js,chi2
try rank darknet.train.npy --labels labels.train.txt --transform chi2 --signed both
try predict chi2.safetensors darknet=doodle.test.npy
sed 's/\\"transform\\":\\"chi2\\"/\\"transform\\":\\"chi9\\"/' chi2.safetensors >other.safetensors
try predict other.safetensors darknet.test.npy
sed 's/\\"transform\\":\\"chi2\\"/\\"transform\\":\\"none\\"/' chi2.safetensors >none.safetensors
try eval none.safetensors darknet.test.npy --labels labels.test.txt
