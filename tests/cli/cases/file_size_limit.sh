#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. A limit on the size of files (ulimit -f) is an output that cannot be written, no death by SIGXFSZ; the
# old file stays, and nothing else is left.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
"$TENON" fit --method evidence darknet.train.npy --labels labels.train.txt -o h.safetensors >/dev/null || exit
cp h.safetensors old.safetensors
ls -A | sort >../before
(
    ulimit -f 1
    try fit darknet.train.npy --labels labels.train.txt -o h.safetensors
    try predict h.safetensors darknet.train.npy --scores s.npy | grep -v '^[a-z]*$'
) 2>&1 | grep -v '^[a-z_]*$' | grep 'exit\|written'
cmp h.safetensors old.safetensors
ls -A | sort | diff ../before - | grep "^[<>]"; true
