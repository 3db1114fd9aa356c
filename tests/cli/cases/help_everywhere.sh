#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The three ways to ask give the same text; so does -h.
"$TENON" help rank >a
"$TENON" rank --help >b
"$TENON" rank -h >c
"$TENON" rank nothing.npy --labels --help >d 2>&1
cmp a b && cmp a c && head -n 1 a
cat d
"$TENON" help >e && "$TENON" --help >f && cmp e f && grep -c '^  rank ' e
