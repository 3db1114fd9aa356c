#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. File names may be any bytes: they are read, written, and matched between fit and predict; what is stored
# and printed as JSON is UTF-8.
. "$HERE/lib.sh"
name=$(printf 'r\xe9p\xff')
cp "$DEMO/darknet.train.npy" "$name.train.npy"
cp "$DEMO/darknet.test.npy" "$name.test.npy"
cp "$DEMO/labels.train.txt" "$name.txt"
"$TENON" fit --method evidence "$name.train.npy" --labels "$name.txt" --json -o "$name.safetensors" >fit.json || exit
"$TENON" predict "$name.safetensors" "$name.test.npy" | wc -l
"$TENON" info --json "$name.safetensors" >info.json || exit
"$TENON" rank "$name.train.npy" --labels "$name.txt" --json >rank.json || exit
"$TENON" rank "$name.nothing.npy" --labels "$name.txt" --json 2>error.txt
echo "exit $?"
cat fit.json info.json rank.json | iconv -f utf-8 -t utf-8 >/dev/null && echo "UTF-8"
grep -o '"name":"[^"]*"' info.json
"$TENON" fit --method evidence "$name=$DEMO/darknet.train.npy" --labels "$name.txt" -o other.safetensors >/dev/null || exit
"$TENON" predict other.safetensors "$name.test.npy" | wc -l
