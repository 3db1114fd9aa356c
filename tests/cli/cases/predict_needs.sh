#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A representation the head needs and does not get; rows that disagree; scores that fit no labels.
. "$HERE/lib.sh"
cp "$DEMO"/{darknet,doodle}.t*.npy "$DEMO"/labels.*.txt .
"$TENON" fit --method evidence darknet.train.npy doodle.train.npy --labels labels.train.txt --select all --loo 0 -o h.safetensors >/dev/null || exit
try predict h.safetensors darknet.test.npy
try predict h.safetensors darknet.test.npy doodle.train.npy
try predict h.safetensors darknet=doodle.test.npy doodle=doodle.test.npy
try eval h.safetensors darknet.test.npy doodle.test.npy --labels labels.train.txt
try eval --scores darknet.test.npy --labels labels.test.txt
try rank darknet.test.npy --labels labels.train.txt
