#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A training that ends outside its gap says so: one line on standard error, converged and warnings in the JSON.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
for method in svm logistic; do
    "$TENON" fit darknet.train.npy --labels labels.train.txt --method $method --C 1000 --gap 1e-9 --max-passes 1 --json --quiet \
        -o h.safetensors 2>err | grep -oE '"converged":[a-z]*|"warnings":\["training: after'
    grep -c "^tenon fit: warning: training: after" err
done
