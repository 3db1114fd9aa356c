#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An output that cannot be written is told before anything is read: the inputs do not even exist.
. "$HERE/lib.sh"
mkdir folder
touch file
try fit nothing.npy --labels nothing.txt -o no/such/folder/head.safetensors
try fit nothing.npy --labels nothing.txt -o folder
try fit nothing.npy --labels nothing.txt -o folder/
try fit nothing.npy --labels nothing.txt -o file/head.safetensors
try predict nothing.safetensors nothing.npy --scores no/such/folder/scores.npy
try fit nothing.npy --labels nothing.txt -o /dev/null
try fit nothing.npy --labels nothing.txt --method pa --checkpoint no/such/folder/c.safetensors -o h.safetensors
try kernel show nothing.safetensors --csv no/such/folder/k.csv
try kernel show nothing.safetensors --picture no/such/folder/k.svg
"$TENON" --version >&-
echo "exit $?"
