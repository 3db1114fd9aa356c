#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two representations of one name cannot be told apart later.
. "$HERE/lib.sh"
cp "$DEMO/darknet.train.npy" "$DEMO/darknet.test.npy" "$DEMO/labels.train.txt" .
try rank darknet.train.npy darknet.test.npy --labels labels.train.txt
try fit a=darknet.train.npy a=darknet.test.npy --labels labels.train.txt -o h.safetensors
ls
