#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# More memory than allowed is refused at the start, with the figure.
. "$HERE/lib.sh"
{ npy_header '|i1' 3000 3000; head -c 9000000 /dev/urandom; } >wide.npy
seq 3000 | awk '{ print $1 % 2 }' >y.txt
"$TENON" rank wide.npy --labels y.txt --mem 1M 2>message
echo "exit $?"
grep -cE '^tenon rank: .*needs [0-9.]+ [KMGT]?i?B.*budget' message
wc -l <message
# An ensemble of more columns than rows: what all its row products need is not there, what those of one set need is; and
# less than that is refused.
for part in 1 2 3 4 5 6; do { npy_header '|i1' 300 400; head -c 120000 /dev/urandom; } >part$part.npy; done
head -n 300 y.txt >short.txt
for mem in 16M 6M 1M; do
    "$TENON" fit part?.npy --labels short.txt --method evidence --loo 0 --mem $mem -o head.safetensors --force --json --quiet \
        >answer 2>message
    echo "exit $?, $(grep -c selected answer) answer, $(grep -cE '^tenon fit: ensemble: needs [0-9.]+ [KMGT]?i?B.*budget' message) refusal"
done
