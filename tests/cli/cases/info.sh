#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What info must find in files whose contents are known beforehand.
. "$HERE/lib.sh"
cp "$DEMO"/{darknet.train.npy,labels.train.txt} .
{ npy_header '|i1' 3 2; printf '\x03\x04\x00\x00\x06\x08'; } >small.npy
{ npy_header '<i4' 3 1 | sed 's/(3, 1)/(3,)  /'; printf '\x02\0\0\0\x02\0\0\0\x05\0\0\0'; } >classes.npy
try info small.npy
try info small.npy classes.npy --json
try info darknet.train.npy labels.train.txt | grep -v norms
"$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt -o h.safetensors --loo 0 >/dev/null || exit
"$TENON" info h.safetensors | grep -E '^[^ ]|^  (classes|representations|method|probabilities) '
"$TENON" info h.safetensors --json | sed 's/"options":.*//' | grep -oE '"(path|kind|task|method|dim|name|normalize|C|temperature)":("[^"]*"|[0-9]+|null)'
{ head -c 300 h.safetensors; } >cut.safetensors
"$TENON" info cut.safetensors >/dev/null 2>message || echo "exit $?"
grep -c '^tenon info: cut.safetensors: ' message
