#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: by the definition of greedy. Copies of the best candidate change the evidence by rounding alone, and are not
# taken, whatever the number of threads is; the first of them is the one that is named.
. "$HERE/lib.sh"
cp "$DEMO"/{darknet,mobilenetv1}.train.npy "$DEMO"/labels.train.txt .
for normalize in l2 none root; do
    for threads in 1 2 4; do
        "$TENON" fit {a,b,d}=darknet.train.npy c=mobilenetv1.train.npy --labels labels.train.txt --method evidence --loo 0 \
            --normalize $normalize --threads $threads -o h.safetensors | grep selected
    done
done | uniq
