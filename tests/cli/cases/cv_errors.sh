#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: the contract. What is refused, in one line, and that nothing is written.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
cv() { try cv darknet.train.npy --labels labels.train.txt --scores s.npy "$@"; }
awk 'seen[$0]++ { print ""; next } { print }' labels.train.txt >single.txt
seq 300 | awk '{ print $1 < 100 ? "a" : "b" }' >two.txt
head -n 299 two.txt >short.txt
try cv darknet.train.npy
try cv darknet.train.npy --labels single.txt --scores s.npy
cv --folds 1
cv --folds 301
cv --groups two.txt
cv --groups short.txt
cv --groups nowhere.txt
cv --fold-file two.txt --folds 3
cv --fold-file two.txt --groups two.txt
cv --fold-file two.txt --repeats 2
cv --method evidence --against evidence
cv --against lasso | sed 's|expected none.*|expected a method|'
cv --C 10
cv --against svm --tune
cv --method evidence --inner-folds 3
cv --checkpoint c.safetensors --method pa
cv --method pa --valid darknet.train.npy
cv --scores labels.train.txt
cv --scores nowhere/s.npy
cv --mem 1K >budget; tail -n 1 budget; rm budget
ls
