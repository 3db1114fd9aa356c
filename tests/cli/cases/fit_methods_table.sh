#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What people are told about a fit by other methods: the headings and words, without the digits.
. "$HERE/lib.sh"
words() { sed -E 's/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/#/g; s/ +/ /g; s/^ //' | uniq; }
cp "$DEMO"/{darknet,doodle}.train.npy "$DEMO"/labels.train.txt .
fit() { "$TENON" fit "$@" --labels labels.train.txt -o h.safetensors; }
# Folds that do not get there beside a head that does: 9 passes are enough for the head, 400 are not for the folds at the last C.
fit darknet.train.npy doodle.train.npy --method svm-cv --grid 0.01,0.5,1,1e12 --gap 0.01 --max-passes 40 --select all 2>&1 | words
fit darknet.train.npy doodle.train.npy --method svm --select best | words
fit darknet.train.npy --method logistic --C 10 | words
fit darknet.train.npy --method svm --loss hinge --C 1000 --max-passes 2 2>&1 | words
fit darknet.train.npy --method ridge-cv --grid 1000 --folds 3 | words
