#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
. "$HERE/lib.sh"
cp "$DEMO/darknet.train.npy" .
try rank nothing.npy --labels "$DEMO/labels.train.txt" 2>&1 | sed "s|$DEMO/||"
try rank darknet.train.npy --labels nothing.txt
try predict nothing.safetensors darknet.train.npy
try eval --scores nothing.npy --labels nothing.txt
try info nothing.npy
try info nothing.txt
