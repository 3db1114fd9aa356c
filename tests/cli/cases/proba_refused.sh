#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Probabilities that are not there are refused before anything is printed or written.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/labels.*.txt .
"$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt --calibrate no -o ridge.safetensors >/dev/null || exit
"$TENON" fit darknet.train.npy --labels labels.train.txt --method svm -o svm.safetensors >/dev/null || exit
"$TENON" fit darknet.train.npy --labels labels.train.txt --method svm --calibrate yes --folds 2 -o yes.safetensors >/dev/null || exit
{ npy_header '<f4' 300 1; for i in $(seq 150); do printf '\0\0\x80\x3f\0\0\0\x40'; done; } >y.npy
"$TENON" fit --method evidence darknet.train.npy --labels y.npy --task regression -o line.safetensors >/dev/null || exit
try predict ridge.safetensors darknet.test.npy --proba
try predict svm.safetensors darknet.test.npy --proba --scores p.npy
try predict svm.safetensors darknet.test.npy --proba --json
try predict line.safetensors darknet.test.npy --proba
"$TENON" info line.safetensors | grep -c probabilities
"$TENON" predict yes.safetensors darknet.test.npy --proba | wc -l
"$TENON" info svm.safetensors | grep probabilities
"$TENON" eval svm.safetensors darknet.test.npy --labels labels.test.txt --json | grep -cE '"(nll|ece)"'
try eval svm.safetensors darknet.test.npy --labels labels.test.txt --proba
try eval --scores darknet.test.npy --labels labels.test.txt --proba
"$TENON" predict svm.safetensors darknet.test.npy --scores s.npy >/dev/null
try eval --scores s.npy --labels labels.test.txt --proba | sed 's/is [-0-9.e]*,/is #,/; s/sum to [-0-9.e]*,/sum to #,/'
ls ./*.npy
