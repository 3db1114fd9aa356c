#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: definitions. Sets with --proba are the sets without; what is in them is over one half, all classes are
# between 0 and 1; nll and ece are over all decisions.
. "$HERE/lib.sh"
near() { between "$1" "$(awk -v x="$2" 'BEGIN { print x - 1e-5 }')" "$(awk -v x="$2" 'BEGIN { print x + 1e-5 }')"; }
cp "$DEMO/mobilenetv1.train.npy" x.npy
awk '{ print (NR % 3 == 0) ? $1 : $1 "|" ((substr($1, 1, 1) < "d") ? "early" : "late") }' "$DEMO/labels.train.txt" >y.txt
for method in evidence svm-cv logistic; do
    case $method in svm-cv) grid='--grid 1' ;; *) grid= ;; esac
    "$TENON" fit x.npy --labels y.txt --method $method $grid -o h.safetensors >/dev/null || exit
    "$TENON" predict h.safetensors x.npy >lines
    "$TENON" predict h.safetensors x.npy --proba >proba
    "$TENON" predict h.safetensors x.npy --proba --top 22 >top
    sed 's/:[^\t]*//g; s/\t/|/g' proba | cmp - lines && echo "sets agree"
    tr '\t' '\n' <proba | awk -F: 'NF && !($2 >= 0.5 && $2 <= 1) { ++bad } END { print bad + 0 }'
    "$TENON" eval h.safetensors x.npy --labels y.txt --json >e.json || exit
    paste y.txt top | awk -F'\t' '{ for (i = 2; i <= NF; ++i) { split($i, a, ":"); p = a[2]; y = index("|" $1 "|", "|" a[1] "|") > 0
            q = y ? p : 1 - p; s -= log(q < 1e-15 ? 1e-15 : q); b = int(p * 15); if (b == p * 15 && b) --b; d[b] += p - y; ++n } }
        END { for (b in d) e += d[b] < 0 ? -d[b] : d[b]; printf "%d %.9f %.9f\n", n, s / n, e / n }' >want
    read -r n nll ece <want
    echo "$n decisions"
    near "$(number nll <e.json)" "$nll" || echo "nll $nll"
    near "$(number ece <e.json)" "$ece" || echo "ece $ece"
done
"$TENON" predict h.safetensors x.npy --proba --json | grep -oE '\{"class":"[a-z_]*","probability":[0-9.e-]+\}' |
    sed -E 's/"[a-z_]*",/NAME,/; s/[0-9.e-]+\}/#}/' | sort -u
