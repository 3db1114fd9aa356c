#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: definitions, counted by awk. Probabilities sum to 1; --proba changes no decision; nll and ece of eval are
# those of the printed probabilities, and those of the file they are written to.
. "$HERE/lib.sh"
near() { between "$1" "$(awk -v x="$2" 'BEGIN { print x - 1e-5 }')" "$(awk -v x="$2" 'BEGIN { print x + 1e-5 }')"; }
cp "$DEMO"/mobilenetv1.t*.npy "$DEMO"/labels.*.txt .
for method in evidence svm-cv logistic; do
    "$TENON" fit mobilenetv1.train.npy --labels labels.train.txt --method $method -o h.safetensors >/dev/null || exit
    predict() { "$TENON" predict h.safetensors mobilenetv1.test.npy "$@"; }
    predict >lines
    predict --proba --scores p.npy >proba
    predict --proba --top 20 >top
    predict --proba --top 1 >first
    cut -f1 proba | cmp - lines && echo "decisions agree"
    tr '\t' : <proba | cmp - first && echo "--top 1 agrees"
    awk -F'\t' '{ s = 0; for (i = 1; i <= NF; ++i) { n = split($i, a, ":"); s += a[n]; bad += a[n] < 0 || a[n] > 1 } }
        s < 1 - 1e-5 || s > 1 + 1e-5 { ++bad } END { print NR, NF, bad + 0 }' top
    predict --proba --json | grep -oE '"labels":\[\{"class":"[a-z_]*","probability":[0-9.e-]+\},' | sed -E 's/"[a-z_]*",/NAME,/; s/[0-9.e-]+\}/#}/'
    predict --proba --json --top 2 | grep -oE '"labels":\[\[\{"class":"[a-z_]*","probability":[0-9.e-]+\},' | sed -E 's/"[a-z_]*",/NAME,/; s/[0-9.e-]+\}/#}/'
    predict --proba --json | sed 's/.*"labels"://; s/{"class":"/\n/g' | sed '1d; s/".*//' | cmp - lines && echo "JSON agrees"
    "$TENON" eval h.safetensors mobilenetv1.test.npy --labels labels.test.txt --json >e.json || exit
    "$TENON" eval --scores p.npy --proba --labels labels.test.txt --json >s.json || exit
    for key in nll ece; do [ "$(number $key <e.json)" = "$(number $key <s.json)" ] || echo "$key differs"; done
    nll=$(paste labels.test.txt top | awk -F'\t' '{ for (i = 2; i <= NF; ++i) { split($i, a, ":"); if (a[1] == $1) s -= log(a[2]) } }
        END { printf "%.9f", s / NR }')
    near "$(number nll <e.json)" "$nll" || echo "nll $nll"
    ece=$(paste labels.test.txt proba | awk -F'\t' '{ b = int($3 * 15); if (b == $3 * 15) --b; d[b] += $3 - ($1 == $2) }
        END { for (b in d) s += d[b] < 0 ? -d[b] : d[b]; printf "%.9f", s / NR }')
    near "$(number ece <e.json)" "$ece" || echo "ece $ece"
done
"$TENON" eval --scores p.npy --labels labels.test.txt --json | grep -c '"nll"'
"$TENON" eval h.safetensors mobilenetv1.test.npy --labels labels.test.txt | grep -oE '^(negative log-likelihood|calibration error)'
