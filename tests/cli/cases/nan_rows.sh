#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A row that holds NaN: refused by name, or left out of training, prediction and measures.
. "$HERE/lib.sh"
size=$(stat -c %s "$DEMO/darknet.train.npy")
{ head -c 128 "$DEMO/darknet.train.npy"; printf '\xff\x7e'; tail -c +131 "$DEMO/darknet.train.npy"; } >darknet.npy
[ "$(stat -c %s darknet.npy)" = "$size" ] || echo "the file changed its length"
cp "$DEMO/labels.train.txt" .
try rank darknet.npy --labels labels.train.txt
"$TENON" rank darknet.npy --labels labels.train.txt --nan drop --json | grep -oE '"(rows|rows_left_out)":[0-9]+'
"$TENON" fit --method evidence darknet.npy --labels labels.train.txt --nan drop -o h.safetensors >/dev/null || exit
try predict h.safetensors darknet.npy | tail -n 2
"$TENON" predict h.safetensors darknet.npy --nan drop | head -n 1 | wc -w
"$TENON" predict h.safetensors darknet.npy --nan drop --json | grep -o '"labels":\[null,"'
"$TENON" predict h.safetensors darknet.npy --nan zero | head -n 1 | wc -w
"$TENON" eval h.safetensors darknet.npy --labels labels.train.txt --nan drop --json | grep -oE '"rows":[0-9]+' | head -n 1
"$TENON" info darknet.npy | grep finite
"$TENON" predict h.safetensors darknet.npy --nan drop --proba | head -n 2 | awk -F'\t' '{ print NF }'
"$TENON" predict h.safetensors darknet.npy --nan drop --proba --json | grep -o '"labels":\[null,{"class":'
"$TENON" eval h.safetensors darknet.npy --labels labels.train.txt --nan drop --json | grep -oE '"(nll|ece)":[0-9]'
