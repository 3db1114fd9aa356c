#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No bar unless standard error is a terminal or --progress asks; never with --quiet.
run() { { "$TENON" rank "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" --loo 0 "$@" >/dev/null; } 2>&1; }
run | wc -c
run --progress --quiet | wc -c
run --progress | grep -c '%'
