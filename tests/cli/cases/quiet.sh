#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --quiet prints nothing where the result is a file; JSON and results that have no file are printed all the same.
for line in "fit --method evidence $DEMO/darknet.train.npy --labels $DEMO/labels.train.txt --loo 0" \
    "transfer --target $DEMO/darknet.train.npy --labels $DEMO/labels.train.txt --source $DEMO/mobilenetv1.train.npy --method none" \
    "pq train $DEMO/darknet.train.npy --iterations 2" "kernel learn --data $DEMO/darknet.train.npy $DEMO/labels.train.txt --max-passes 2"; do
    # shellcheck disable=SC2086
    "$TENON" $line -o out.safetensors --quiet 2>/dev/null | wc -c
done
"$TENON" fit --method evidence "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" --loo 0 -o out.safetensors --quiet --json | wc -l
"$TENON" rank "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" --loo 0 --quiet | head -n 1
