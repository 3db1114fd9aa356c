#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A pipeline and a second method on the same folds: words without digits, contract keys, figures in a range; held-out
# scores that eval agrees with; the same bytes again by --seed.
. "$HERE/lib.sh"
cp "$DEMO"/{mobilenetv2,darknet}.train.npy "$DEMO"/labels.train.txt .
cv() { "$TENON" cv mobilenetv2.train.npy darknet.train.npy --labels labels.train.txt "$@"; }
words() { sed -E 's/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/#/g; s/ +/ /g'; }
cv --method evidence --against svm --C 0.3 --scores held.npy | words
cv --method evidence --against svm --C 0.3 --repeats 2 --json >two.json || exit
for key in command task rows classes folds repeats methods method metric mean se folds seconds selected C metrics comparison against difference t df p; do
    grep -q "\"$key\":" two.json || echo "no $key"
done
grep -o '"method":"[a-z]*","metric":"[a-z]*"' two.json
grep -o '"df":[0-9]*' two.json | head -n 1
# Five folds of 60 rows: mean of the folds and share of all held-out rows are the same.
cv --json --scores held.npy --method svm >one.json || exit
x=$(number mean <one.json)
between "$x" 0.75 0.9 || echo "accuracy $x"
y=$("$TENON" eval --scores held.npy --labels labels.train.txt --json | number accuracy)
between "$y" "$(awk -v x="$x" 'BEGIN { printf "%.12f", x - 1e-9 }')" "$(awk -v x="$x" 'BEGIN { printf "%.12f", x + 1e-9 }')" || echo "$x in folds, $y of all rows"
for run in a b; do cv --json --method pa --epochs 2 --seed 3 --scores $run.npy | sed -E 's/"seconds":[0-9.e-]+//g; s/[ab]\.npy//' >$run.json; done
cmp a.json b.json && cmp a.npy b.npy && echo same
cv --json --method pa --epochs 2 --seed 4 --scores c.npy >/dev/null
cmp -s a.npy c.npy && echo "another seed, the same scores"
"$TENON" cv mobilenetv2.train.npy --labels labels.train.txt --method evidence --quiet | words | head -n 3
ls
