#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: the size of a float32 .npy of 405 x 20, and agreement: every way to ask for predictions says the same: the first of --top, the line, the JSON, the largest score.
head_of() { "$TENON" predict h.safetensors "$DEMO"/*.test.npy "$@"; }
"$TENON" fit --method evidence "$DEMO"/*.train.npy --labels "$DEMO/labels.train.txt" -o h.safetensors --quiet >/dev/null || exit
head_of >lines || exit
head_of --top 3 --scores s.npy >top || exit
wc -l <lines
awk -F'\t' '{ n[NF]++ } END { for (k in n) print k, n[k] }' top
cut -f1 top | sed 's/:[^:]*$//' | cmp - lines && echo "top agrees"
head_of --json | sed 's/.*"labels":\["//; s/"\]}$//; s/","/\n/g' | cmp - lines && echo "JSON agrees"
head_of --json | grep -o '^{"command":"predict","rows":405'
stat -c %s s.npy
"$TENON" eval --scores s.npy --labels "$DEMO/labels.test.txt" --json >a
"$TENON" eval h.safetensors "$DEMO"/*.test.npy --labels "$DEMO/labels.test.txt" --json >b
# A file of scores has no probabilities: nll, ece and what is behind them are the head's alone.
sed 's/,"nll":[^,}]*,"ece":[^,}]*//; s/,"averages":.*//' b >c
sed 's/,"averages":.*//' a | cmp - c && echo "scores agree"
# Share of right lines, counted without the program, is the accuracy it reports.
. "$HERE/lib.sh"
share=$(paste lines "$DEMO/labels.test.txt" | awk -F'\t' '$1 == $2 { n++ } END { printf "%.6f", n / NR }')
between "$(number accuracy <a)" "$(awk -v s="$share" 'BEGIN { print s - 1e-6 }')" "$(awk -v s="$share" 'BEGIN { print s + 1e-6 }')" || echo "accuracy $share"
