#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. The head is that of the pass that was best on the validation rows: eval on them gives the very figure of
# that pass, which is the highest; training ends --patience passes after it. --tune tries every pair the rule has a use for, and
# its figures are those of fitting each pair by itself.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/labels.*.txt .
valid="--valid darknet.test.npy --valid-labels labels.test.txt"
fit() { "$TENON" fit darknet.train.npy --labels labels.train.txt -o h.safetensors --json "$@" >f.json; }
passes() { sed 's/"tuning".*//' f.json | grep -o '"epoch":[0-9]*,"mistakes":[0-9]*,"updates":[0-9]*,"valid_accuracy":[0-9.e-]*' | tr ':,' '  ' | awk '{ print $2, $8 }'; }
for method in pa arow scw; do
    fit --method $method --epochs 60 --patience 4 $valid || exit
    passes | awk '$2 > best { best = $2; at = $1 } END { print at, best, NR }' | {
        read -r at best count
        [ "$count" = 60 ] || [ "$count" = $((at + 4)) ] || echo "$method: $count passes, the best was $at"
        [ "$(number epochs_used <f.json)" = "$at" ] || echo "$method: the head is of pass $(number epochs_used <f.json), the best was $at"
        "$TENON" eval h.safetensors darknet.test.npy --labels labels.test.txt --json >e.json
        [ "$(number accuracy <e.json)" = "$best" ] || echo "$method: eval $(number accuracy <e.json), pass $at had $best"
        between "$best" 0.6 1 && echo "$method: as good as it says"
    }
done
# One word after the sign, or several words.
fit --method pa --valid=darknet.test.npy --valid-labels labels.test.txt && grep -c '"valid_accuracy":0' f.json
fit --method pa --valid darknet.test.npy --valid-labels labels.test.txt --patience 0 --epochs 25 && passes | wc -l
for method in pa cw arow scw2; do
    fit --method $method --tune $valid --epochs 6 || exit
    grep -o '"tuning":.*' f.json | tr '{' '\n' | grep -o '"epochs":[0-9]*.*"valid_accuracy":[0-9.e-]*' | tr ':,' '  ' >t.txt
    echo "$method: $(wc -l <t.txt) values"
    "$TENON" eval h.safetensors darknet.test.npy --labels labels.test.txt --json >e.json
    awk '$8 > best { best = $8 } END { printf "%.17g\n", best }' t.txt | {
        read -r best
        [ "$(number accuracy <e.json)" = "$best" ] || echo "$method: eval $(number accuracy <e.json), the best trial had $best"
    }
done
grep -o '^"epochs" [0-9]* "C" [0-9.]* "eta" 0.8[0-9]* "valid_accuracy" [0-9.e-]*' t.txt | while read -r _ _ _ c _ eta _ value; do
    fit --method scw2 --C "$c" --eta "$eta" $valid --epochs 6
    [ "$(passes | sort -k2,2 -g | tail -n 1 | cut -d' ' -f2)" = "$value" ] && echo "C $c by itself: the same"
done
"$TENON" fit darknet.train.npy --labels labels.train.txt -o h.safetensors --method arow --tune $valid --no-color |
    grep -cE '^ *[0-9.]+ +[0-9]+ +0\.[0-9]{4} *\*?$'
