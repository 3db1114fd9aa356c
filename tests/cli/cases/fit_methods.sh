#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: the contract and what each method must leave behind, known beforehand. Accuracy far above the 5 % of
# guessing among 20 classes; the certified gap below the --gap of 1e-4.
. "$HERE/lib.sh"
cp "$DEMO"/mobilenetv2.t*.npy "$DEMO"/labels.*.txt .
for method in evidence ridge-cv lda "lda --lambda 0.5" svm "svm-cv --grid 0.1,1" logistic "logistic-cv --grid 1:10:2"; do
    echo "== $method"
    "$TENON" fit mobilenetv2.train.npy --labels labels.train.txt --method $method -o h.safetensors --json >f.json || exit
    for key in selected steps log_evidence lambda seconds model method C objective gap passes converged \
        cross_validation temperature; do
        grep -q "\"$key\":" f.json || echo "no $key"
    done
    grep -oE '"(selected|method|model)":(\["[^]]*\]|"[^"]*")' f.json
    grep -oE '"(log_evidence|lambda|C|objective|gap|passes|converged|cross_validation|temperature)":(null|true|\[)' f.json |
        awk '!seen[$0]++'
    grep -oE '"metric":"[a-z]*","parameter":"[A-Za-z]*"' f.json
    grep -o '"best":true' f.json | wc -l
    grep -o '"best":false' f.json | wc -l
    gap=$(number gap <f.json)
    [ -z "$gap" ] || between "$gap" 0 "$(awk -v x="$(number objective <f.json)" 'BEGIN { print 1e-4 * x }')" || echo "gap $gap"
    "$TENON" info h.safetensors --json >i.json
    [ -z "$(number C <i.json)" ] || [ "$(number C <i.json)" = "$(number C <f.json)" ] || echo "another C in the head"
    [ "$(number temperature <i.json)" = "$(number temperature <f.json)" ] || echo "another temperature in the head"
    "$TENON" info h.safetensors | grep -oE '^  method +[a-z-]+'
    "$TENON" info h.safetensors | grep -oE 'probabilities +(yes|no)'
    "$TENON" eval h.safetensors mobilenetv2.test.npy --labels labels.test.txt --json >e.json || exit
    x=$(number accuracy <e.json)
    between "$x" 0.75 1 || echo "accuracy $x"
    grep -oE '"(nll|ece)":[0-9]' e.json | tr -d 0-9
done
