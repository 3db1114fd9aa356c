#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What people are told about a fit without a method: words without digits. The head is as good as that of the evidence, and the
# same seed gives the same one again.
. "$HERE/lib.sh"
words() { sed -E 's/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/#/g; s/ +/ /g; s/^ //' | uniq; }
cp "$DEMO"/{mobilenetv2,darknet}.{train,test}.npy "$DEMO"/labels.{train,test}.txt .
"$TENON" fit darknet.train.npy --labels labels.train.txt -o h.safetensors | words
right() { "$TENON" eval "$1" ./*.test.npy --labels labels.test.txt --json | grep -o '"accuracy":[0-9.]*' | head -1 | cut -d: -f2; }
"$TENON" fit ./*.train.npy --labels labels.train.txt -o a.safetensors --json >a.json
"$TENON" fit ./*.train.npy --labels labels.train.txt -o b.safetensors --json >b.json
"$TENON" fit ./*.train.npy --labels labels.train.txt --method evidence -o e.safetensors >/dev/null
cmp <(grep -o '"mean":[^,]*' a.json) <(grep -o '"mean":[^,]*' b.json) && [ "$(right a.safetensors)" = "$(right b.safetensors)" ] && echo "the same again"
echo "$(right a.safetensors) $(right e.safetensors)" | awk '{ print ($1 >= $2 - 0.02 ? "as good as the evidence" : "worse: " $0) }'
grep -o '"chosen":true' a.json
grep -o '"method":"[a-z+ -]*"' a.json | sort -u | grep -c .
# where the rows prefer another set than the evidence, that is what is said
"$TENON" fit "$DEMO"/{mobilenetv2,squeezenet}.train.npy --labels labels.train.txt -o s.safetensors | words | tail -n 2 | head -n 1
