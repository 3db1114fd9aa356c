#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. One NaN among the weights of a transfer head: no command takes it, and info reads nothing beside it.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.train.npy "$DEMO"/labels.train.txt .
awk '{ print ($1 == "ant" || $1 == "dolphin") ? $1 : "" }' labels.train.txt >two.txt
"$TENON" fit darknet.train.npy --labels labels.train.txt --method svm -o source.safetensors >/dev/null || exit
"$TENON" transfer --target darknet.train.npy --labels two.txt --source source.safetensors --method greedytl -o t.safetensors >/dev/null || exit
start=$(($(od -An -tu8 -N8 t.safetensors) + 8))
weight=$(head -c $start t.safetensors | grep -ao '"weight":{[^}]*' | grep -o '\[[0-9]*,[0-9]*\]$' | tr -d '[' | cut -d, -f1)
printf '\x00\x00\xc0\x7f' | dd of=t.safetensors bs=1 seek=$((start + weight + 4)) conv=notrunc 2>/dev/null
for command in "info t.safetensors" "info --json t.safetensors" "predict t.safetensors darknet.train.npy --source source.safetensors" \
    "eval t.safetensors darknet.train.npy --labels two.txt --source source.safetensors"; do
    try $command | sed 's/byte [0-9]*:/byte N:/'
done
