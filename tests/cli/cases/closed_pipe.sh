#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The reader leaves after one line: no message, and an exit status that says the output was not written.
"$TENON" fit --method evidence "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" -o h.safetensors --loo 0 >/dev/null || exit
{ "$TENON" predict h.safetensors "$DEMO/darknet.test.npy" --top 20 --scores s.npy; echo "exit $?" >status; } | head -n 1 | wc -l
cat status
ls s.npy .*.part 2>/dev/null
true
