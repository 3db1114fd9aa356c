#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two ways to ask give the same whole text; -h gives a screen of it, which names every option.
"$TENON" help rank >a
"$TENON" rank --help >b
"$TENON" rank nothing.npy --labels --help >d 2>&1
cmp a b && head -n 1 a
cat d
"$TENON" help >e && "$TENON" --help >f && cmp e f && grep -c '^  rank ' e
"$TENON" rank -h
for command in rank fit cv moments transfer predict eval pq kernel info doctor help completion; do
    "$TENON" help $command | grep -oE '^  (-., )?--[a-zA-Z-]+' | grep -oE -- '--.*' | sort -u >long
    "$TENON" $command -h >short
    grep -oE -- '--[a-zA-Z-]+' short | sort -u >names
    comm -23 long names
    [ "$(wc -l <short)" -le 40 ] || echo "$command -h: $(wc -l <short) lines"
done
"$TENON" -h | head -n 3
