#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A name that the file system does not take is found before anything is read; the longest that it takes is written.
. "$HERE/lib.sh"
long=$(printf 'x%.0s' {1..243})
{
    try fit nothing.npy --labels nothing.txt -o "${long}y.safetensors"
    try fit nothing.npy --labels nothing.txt -o "$long.safetensors"
    try fit "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" -o h.safetensors --method pa --checkpoint "${long}y.safetensors"
    try predict nothing.safetensors nothing.npy --scores "${long}yyyyyyyyy.npy"
    try fit "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" --method pa --epochs 1 -o "$long.safetensors"
} | sed "s/xxx*/x...x/g" | grep '^\$ tenon.*nothing\|^tenon\|^exit' | sed 's/x\.npy/X.npy/'
ls -A | awk '{ print length($0) }'
