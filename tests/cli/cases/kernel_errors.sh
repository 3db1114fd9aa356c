#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What kernel refuses, in one line each, and that nothing is left behind.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
{ npy_header '<f4' 2 2; printf '\0\0\x80\x3f\0\0\0\x40\0\0\xc0\x7f\0\0\0\x40'; } >nan.npy
{ npy_header '<f4' 4 1; head -c 16 /dev/zero; } >zeros.npy
printf 'a\nb\na\nb\n' >four.txt
printf 'a\nb\n' >two.txt
printf 'a\na\na\na\n' >same.txt
try kernel
try kernel train
try kernel learn
try kernel learn --data darknet.train.npy -o k.safetensors
try kernel learn --data darknet.train.npy labels.train.txt nan.npy -o k.safetensors
try kernel learn darknet.train.npy --data darknet.train.npy labels.train.txt -o k.safetensors
try kernel learn --data darknet.train.npy labels.train.txt
try kernel learn --data darknet.train.npy labels.train.txt -o none/k.safetensors
try kernel learn --data none.npy labels.train.txt -o k.safetensors
try kernel learn --data darknet.train.npy none.txt -o k.safetensors
try kernel learn --data darknet.train.npy two.txt -o k.safetensors
try kernel learn --data nan.npy two.txt -o k.safetensors
try kernel learn --data zeros.npy four.txt -o k.safetensors
try kernel learn --data zeros.npy same.txt -o k.safetensors
try kernel learn --data darknet.train.npy labels.train.txt --rank 40 -o k.safetensors
try kernel learn --data darknet.train.npy labels.train.txt --scale much -o k.safetensors
try kernel learn --data darknet.train.npy labels.train.txt --basis wavelet -o k.safetensors
try kernel learn --data darknet.train.npy labels.train.txt -o k.safetensors --mem 1M 2>&1 | sed -E 's/[0-9.]+ [KMG]?B/SIZE/g'
ls
"$TENON" kernel learn --data darknet.train.npy labels.train.txt -o k.safetensors >/dev/null || exit
try kernel apply k.safetensors -o m.npy
try kernel apply k.safetensors darknet.train.npy
try kernel apply k.safetensors nan.npy -o m.npy
try kernel apply k.safetensors nan.npy -o m.npy --nan drop
try kernel apply k.safetensors darknet.train.npy -o m.npy --normalize zscore
try kernel apply darknet.train.npy darknet.train.npy -o m.npy
try kernel apply chi3 darknet.train.npy -o m.npy
try kernel compare chi2
try kernel compare chi2 none.safetensors
try kernel show
try kernel show k.safetensors chi2
try kernel show chi2 --csv none/t.csv
head -c 3000 k.safetensors >cut.safetensors
"$TENON" kernel show cut.safetensors >/dev/null 2>message || echo "exit $?"
grep -c "^tenon kernel: cut.safetensors: byte [0-9]*" message
ls
