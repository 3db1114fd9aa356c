#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No bar unless standard error is a terminal or --progress asks; never with --quiet. It never goes back.
run() { { "$TENON" rank "$DEMO/darknet.train.npy" --labels "$DEMO/labels.train.txt" --loo 0 "$@" >/dev/null; } 2>&1; }
run | wc -c
run --progress --quiet | wc -c
run --progress | grep -c '%'
run --progress --normalize l2,root,l1 | tr '\r' '\n' | sed -n 's/.*\] *\([0-9]*\) %.*/\1/p' >percents
sort -nc percents && [ "$(tail -n 1 percents)" -le 100 ] && echo forward
