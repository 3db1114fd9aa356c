#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What pq refuses, in one line each, and that nothing is left behind.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy .
{ npy_header '<f4' 2 2; printf '\0\0\x80\x3f\0\0\0\x40\0\0\xc0\x7f\0\0\0\x40'; } >nan.npy
try pq
try pq train
try pq learn darknet.train.npy -o q.safetensors
try pq train darknet.train.npy
try pq train darknet.train.npy nan.npy -o q.safetensors
try pq train darknet.train.npy -o none/q.safetensors
try pq train none.npy -o q.safetensors
try pq train nan.npy -o q.safetensors
try pq train darknet.train.npy -o q.safetensors --centroids 300
try pq train darknet.train.npy -o q.safetensors --sub 0
try pq train darknet.train.npy -o q.safetensors --mem 1K 2>&1 | sed -E 's/[0-9.]+ [KMG]?B/SIZE/g'
ls
"$TENON" pq train darknet.train.npy -o q.safetensors >/dev/null || exit
try pq apply q.safetensors -o c.safetensors
try pq apply q.safetensors darknet.train.npy -o c.codes
try pq apply q.safetensors nan.npy -o c.safetensors
try pq apply darknet.train.npy darknet.train.npy -o c.safetensors
"$TENON" pq apply q.safetensors darknet.train.npy -o c.safetensors >/dev/null || exit
try pq apply c.safetensors darknet.train.npy -o d.safetensors
head -c $(($(wc -c <c.safetensors) - 9)) c.safetensors >cut.safetensors
"$TENON" info cut.safetensors >/dev/null 2>message || echo "exit $?"
grep -c "^tenon info: cut.safetensors: byte [0-9]*: tensor 'codes' has data_offsets" message
ls
