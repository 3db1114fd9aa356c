#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Thresholds of multi-label classes: what predict prints goes by them, none and a number are obeyed, other tasks refuse them.
. "$HERE/lib.sh"
cp "$DEMO"/mobilenetv2.{train,test}.npy "$DEMO"/labels.{train,test}.txt .
awk '{ print (NR % 3) ? $1 : $1 "|third" }' labels.train.txt >train.txt
fit() { "$TENON" fit mobilenetv2.train.npy --labels train.txt -o h.safetensors --method evidence "$@" >said.txt; }
count() { "$TENON" predict h.safetensors mobilenetv2.test.npy | tr '|' '\n' | grep -c .; }
fit --threshold none && none=$(count)
fit && [ "$(count)" = "$none" ] && echo "evidence decides at its own threshold"
fit --threshold f1 && [ "$(count)" -gt "$none" ] && echo "f1 takes more labels of rare classes"
grep '^thresholds' said.txt
fit --threshold 1e9 && count
fit --threshold -1e9 && [ "$(count)" = "$(($(wc -l <labels.test.txt) * 21))" ] && echo "all of them"
try fit mobilenetv2.train.npy --labels labels.train.txt --threshold f1 -o h.safetensors
try fit mobilenetv2.train.npy --labels train.txt --method evidence --threshold f1 --loo 0 -o h.safetensors
