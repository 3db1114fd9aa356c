#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What people are told about a fit without a method: words without digits. Who wins is for the rows to say, and a decision
# about one of 300 may say otherwise on another processor: one contender is taken, and what is said of the head is said of it.
# The head is as good as that of the evidence, and the same seed gives the same one again.
. "$HERE/lib.sh"
words() { sed -E 's/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/#/g; s/ +/ /g; s/^ //' | uniq; }
cp "$DEMO"/{mobilenetv2,darknet}.{train,test}.npy "$DEMO"/labels.{train,test}.txt .
"$TENON" fit darknet.train.npy --labels labels.train.txt -o h.safetensors >told.txt
awk '/^method  .*taken$/ { table = 1; next } /^$/ { table = 0 } table' told.txt >race.txt
grep -v ' + ' race.txt | awk '{ print $1 }' | tr '\n' ' ' && echo "raced"
taken=$(grep ' yes$' race.txt | sed -E 's/  .*//')
[ "$(grep -c ' yes$' race.txt)" = 1 ] && grep -qFx "method        auto: $taken" told.txt && echo "one is taken, and it is the head's method"
case $taken in
*+*) grep -qF "cannot tell $taken apart: the head is the mean of their log-odds" told.txt ;;
*) ! grep -q "cannot tell" told.txt ;;
esac && echo "a mean of heads says so"
awk '/^selected/ { rest = 1 } rest || NR < 4' told.txt | grep -v -E '^(method|lambda|C) |cannot tell' | words
right() { "$TENON" eval "$1" ./*.test.npy --labels labels.test.txt --json | grep -o '"accuracy":[0-9.]*' | head -1 | cut -d: -f2; }
"$TENON" fit ./*.train.npy --labels labels.train.txt -o a.safetensors --json >a.json
"$TENON" fit ./*.train.npy --labels labels.train.txt -o b.safetensors --json >b.json
"$TENON" fit ./*.train.npy --labels labels.train.txt --method evidence -o e.safetensors >/dev/null
cmp <(grep -o '"mean":[^,]*' a.json) <(grep -o '"mean":[^,]*' b.json) && [ "$(right a.safetensors)" = "$(right b.safetensors)" ] && echo "the same again"
echo "$(right a.safetensors) $(right e.safetensors)" | awk '{ print ($1 >= $2 - 0.02 ? "as good as the evidence" : "worse: " $0) }'
grep -o '"chosen":true' a.json
grep -o '"method":"[a-z+ -]*"' a.json | sort -u | grep -c .
# of which representations: the evidence's set stays unless the rows prefer another, and what is said is what was taken
"$TENON" fit "$DEMO"/{mobilenetv2,squeezenet}.train.npy --labels labels.train.txt -o s.safetensors >sets.txt
set_of() { grep -m 1 -E "$1" sets.txt | sed -E 's/.*[0-9]  (yes|no|trails) +//'; }
first=$(set_of '^evidence ') taken=$(set_of '[0-9]  yes  ')
[ "$(sed -nE 's/^selected +(.*) \([0-9]+ columns\)$/\1/p' sets.txt)" = "$taken" ] && echo "the set that was taken is selected"
if [ "$first" = "$taken" ]; then
    grep -q '^Together they gain' sets.txt && ! grep -q '^By evidence it would be' sets.txt
else
    grep -qF "By evidence it would be $first; on rows that were held out $taken does better." sets.txt
fi && echo "and the sentence says why"
