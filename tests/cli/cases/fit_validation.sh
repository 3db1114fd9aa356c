#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. With --valid the figure is the one that eval finds for the head; with --holdout it is that of the
# fit without those rows. The linear probe, 45 values of C from 1e-6 to 1e5 on validation rows, is one command.
. "$HERE/lib.sh"
cp "$DEMO"/mobilenetv2.t*.npy "$DEMO"/labels.*.txt .
valid="--valid mobilenetv2.test.npy --valid-labels labels.test.txt"
fit() { "$TENON" fit mobilenetv2.train.npy --labels labels.train.txt -o h.safetensors --json "$@" >f.json || exit; }
tested() { "$TENON" eval h.safetensors mobilenetv2.test.npy --labels labels.test.txt --json | number accuracy; }
figure() { grep -o '"validation":{.*' f.json | sed 's/}.*//' | number "$1"; }
for method in evidence ridge-cv lda svm svm-cv logistic logistic-cv; do
    fit --method $method $valid
    [ "$(figure value)" = "$(tested)" ] && [ "$(figure rows)" = 405 ] && echo "$method: the head is as good as it says"
    fit --method $method --holdout 0.2
    between "$(figure value)" 0.6 1 && [ "$(figure rows)" = 60 ] && between "$(figure se)" 0.01 0.07 && echo "$method: a fifth held out"
    grep -o '"by":"[a-z]*"' f.json
done
echo "== linear probe"
fit --method logistic-cv --grid 1e-6:1e5:45 $valid
skipped=$(number skipped <f.json)
tried=$(grep -o '"best":' f.json | wc -l)
[ $((tried + skipped)) = 45 ] && echo "45 values"
grep -oE '"found":[a-z]*|"added":[0-9]*|"folds":[0-9]*' f.json
"$TENON" fit mobilenetv2.train.npy --labels labels.train.txt -o h.safetensors --method logistic-cv --grid 0.1,1,10,100,1000 $valid |
    grep -oE 'C +validation accuracy +best|on 405 rows that the head is not trained on'
"$TENON" fit mobilenetv2.train.npy --labels labels.train.txt -o h.safetensors --method svm --holdout 0.2 |
    grep -oE 'on 60 rows held out; the head is then trained on all'
echo "== a grid that is found"
fit --method svm-cv
grep -oE '"found":[a-z]*' f.json
