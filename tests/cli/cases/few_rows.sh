#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What people are told where classes have one row, or two: words without digits, and how good the heads are.
. "$HERE/lib.sh"
cp "$DEMO"/mobilenetv2.{train,test}.npy "$DEMO"/labels.{train,test}.txt .
words() { sed -n '/^method/,$p' | sed -E 's/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/#/g; s/ +/ /g' | grep -v '^seconds\|^model'; }
# The first $1 rows of every class keep their label.
few() { awk -v n="$1" '{ print seen[$0]++ < n ? $0 : "" }' labels.train.txt >few.txt; }
fit() { "$TENON" fit mobilenetv2.train.npy --labels few.txt -o h.safetensors "$@"; }
# With one row the nearest class mean is right about 57.5 % (a NumPy loop), one class for everything about 5 %.
good() {
    "$TENON" eval h.safetensors mobilenetv2.test.npy --labels labels.test.txt --json |
        grep -o '"accuracy":[0-9.]*' | head -1 | awk -F: '{ print ($2 > 0.5 ? "right about most rows" : "bad: " $2) }'
}
few 1
for how in "" "--method evidence" "--method evidence --lambda per-class" "--method evidence --lambda gcv" \
    "--method evidence --lambda 1e9" "--method svm-cv"; do
    echo "one row: $how"
    fit $how | words
    good
done
fit --method evidence --json | grep -o '"loo_accuracy":null\|"class_means":[0-9.]*\|"temperature":null\|"[a-z_]*_note":"[^"]*"\|"single_row_classes":[0-9]*'
fit --calibrate yes
echo "exit $?"
few 2
echo "two rows"
fit --method evidence | words
good
