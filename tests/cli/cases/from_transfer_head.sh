#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. Online training does not go on from a head of transfer: its weights of sources have no columns here.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
"$TENON" fit darknet.train.npy --labels labels.train.txt --method svm -o source.safetensors >/dev/null || exit
"$TENON" predict source.safetensors darknet.train.npy --scores scores.npy >/dev/null || exit
awk '{ print ($1 == "ant" || $1 == "dolphin") ? $1 : "" }' labels.train.txt >two.txt
"$TENON" transfer --target darknet.train.npy --labels two.txt --source scores.npy --method rls -o t.safetensors >/dev/null || exit
try fit darknet.train.npy --labels two.txt --method pa --from t.safetensors -o h.safetensors | grep -v '^\$' | sed 's/weights of [0-9]* sources/weights of SOME sources/'
[ ! -e h.safetensors ]
