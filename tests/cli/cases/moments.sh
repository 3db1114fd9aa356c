#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Moments of shards and of ranges of rows, merged in any order, give the evidence, the choice and the head of all rows at once;
# a shard that is taken out again is as if it had never been there.
. "$HERE/lib.sh"
# make NAME FROM TO COLUMNS SHIFT: rows of a table with a head, a class depends on some columns.
make() {
    awk -v from="$2" -v to="$3" -v cols="$4" -v shift="$5" 'BEGIN {
        for (j = 0; j < cols; ++j) printf "c%d%s", j, j + 1 < cols ? "," : "\n"
        for (i = from; i < to; ++i)
            for (j = 0; j < cols; ++j)
                printf "%.15g%s", (i * (j + 3 + shift) * 7919 % 1009) / 1009 + (i % 3 == j) * 0.7, j + 1 < cols ? "," : "\n"
    }' >"$1"
}
labels() { awk -v from="$1" -v to="$2" 'BEGIN { for (i = from; i < to; ++i) print i % 50 == 7 ? "-1" : "class" i % 3 }'; }
make a.csv 0 240 4 0; make b.csv 0 240 3 11; labels 0 240 >y.txt
for s in 0 1 2; do
    make a$s.csv $((s * 80)) $((s * 80 + 80)) 4 0
    make b$s.csv $((s * 80)) $((s * 80 + 80)) 3 11
    labels $((s * 80)) $((s * 80 + 80)) >y$s.txt
    "$TENON" moments a=a$s.csv b=b$s.csv --labels y$s.txt -o part$s.safetensors || exit
    "$TENON" moments a.csv b.csv --labels y.txt --rows $((s * 80)):$((s * 80 + 80)) --folds 2 -o range$s.safetensors --quiet || exit
done
# near KEY FILE FILE TOLERANCE: the first number of that key is the same in both.
near() {
    awk -v x="$(number "$1" <"$2")" -v y="$(number "$1" <"$3")" -v t="$4" \
        'BEGIN { d = x - y; exit !(x != "" && y != "" && d * d <= t * t * y * y) }' || echo "$1: $2 $3 differ"
}
echo merge
"$TENON" moments merge part2.safetensors part0.safetensors part1.safetensors -o all.safetensors
"$TENON" moments merge part0.safetensors part1.safetensors part2.safetensors -o again.safetensors --json
for f in all again; do tail -c 600 $f.safetensors | cksum; done | sort -u | wc -l
echo rank
"$TENON" rank a.csv b.csv --labels y.txt --loo 0 --json >rows.json
"$TENON" rank --moments all.safetensors --json >sums.json
"$TENON" rank --moments part1.safetensors part0.safetensors part2.safetensors --json >parts.json
"$TENON" rank --moments range?.safetensors --json >ranges.json
for f in sums parts ranges; do
    for key in log_evidence log_evidence_shared gain_per_label null_log_evidence; do near $key $f.json rows.json 1e-9; done
    grep -o '"name":"[a-z]*"' $f.json | tr '\n' ' '
    grep -oE '"rows_left_out":[0-9]+' $f.json
done
"$TENON" rank --moments all.safetensors | sed 's/ [0-9.]*$//'
echo sample
"$TENON" rank a.csv b.csv --labels y.txt --loo all --json >rows.json
"$TENON" rank --moments all.safetensors --rows a.csv b.csv --labels y.txt --json >sums.json
for key in loo_accuracy loo_se; do near $key sums.json rows.json 1e-9; done
"$TENON" rank --moments all.safetensors --rows a=a1.csv b=b1.csv --labels y1.txt | sed 's/ [0-9.]*$//'
"$TENON" fit a.csv b.csv --labels y.txt --method evidence --loo all -o rows.safetensors --json >rows.json
"$TENON" fit --moments all.safetensors --method evidence --rows a.csv b.csv --labels y.txt -o sums.safetensors --json >sums.json
for key in loo_accuracy loo_se; do near $key sums.json rows.json 1e-9; done
echo fit
"$TENON" fit a.csv b.csv --labels y.txt --method evidence --lambda shared --loo 0 -o rows.safetensors --json >rows.json
"$TENON" fit --moments all.safetensors --method evidence --lambda shared -o sums.safetensors --json >sums.json
for key in log_evidence lambda_shared; do near $key sums.json rows.json 1e-6; done
"$TENON" predict rows.safetensors a.csv b.csv >rows.txt
"$TENON" predict sums.safetensors a.csv b.csv >sums.txt
cmp rows.txt sums.txt && sort -u sums.txt
"$TENON" fit --moments range?.safetensors --method ridge-cv -o cv.safetensors --json | grep -oE '"(metric|cross_validation_note|folds|lambda_rule)":("[^"]*"|[0-9]+)'
"$TENON" fit --moments all.safetensors -o sums.safetensors | grep -v '^seconds'
echo subtract
"$TENON" moments subtract all.safetensors part1.safetensors -o rest.safetensors
"$TENON" moments merge part0.safetensors part2.safetensors -o two.safetensors --quiet
"$TENON" rank --moments rest.safetensors --json >rest.json
"$TENON" rank --moments two.safetensors --json >two.json
near log_evidence rest.json two.json 1e-9
echo info
"$TENON" info all.safetensors
"$TENON" info rest.safetensors --json | grep -oE '"(rows|from|to|used)":[0-9]+' | tr '\n' ' '
