#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Colours only on a terminal, and not there either when NO_COLOR or --no-color says so. script(1) is the terminal.
command -v script >/dev/null || { echo "script(1) is not installed" >&2; exit 77; }
script -qec "test -t 1" /dev/null </dev/null >/dev/null 2>&1 || { echo "no pseudo-terminal is to be had" >&2; exit 77; }
line="'$TENON' rank '$DEMO/darknet.train.npy' --labels '$DEMO/labels.train.txt' --loo 0 --quiet"
has_colour() { if grep -q $'\033\\[1m'; then echo colour; else echo plain; fi; }
eval "$line" | has_colour
script -qec "$line" /dev/null </dev/null | has_colour
NO_COLOR=1 script -qec "$line" /dev/null </dev/null | has_colour
script -qec "$line --no-color" /dev/null </dev/null | has_colour
