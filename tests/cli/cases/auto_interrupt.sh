#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: the contract. A race that is interrupted with --budget leaves the best head so far, and exit status 130; a budget
# that is used up leaves the head of the evidence, and all is fine. The race would take many seconds.
. "$HERE/lib.sh"
{ npy_header '|i1' 6000 512; head -c 3072000 /dev/urandom; } >big.npy
seq 6000 | awk '{ print $1 % 300 }' >y.txt
mkfifo bar
"$TENON" fit big.npy --labels y.txt --budget 10000 --progress --threads 1 -o head.safetensors >said.txt 2>bar &
program=$!
# As soon as somebody after the evidence is seen in the race: who is quick may run between two lines of the bar.
stdbuf -oL tr '\r' '\n' <bar | { grep -qE 'race: (pa|scw|logistic|svm)|training'; kill -INT $program; cat >/dev/null; }
wait $program
echo "exit $?"
grep -o 'Method auto: it was interrupted.*' said.txt
ls ./*.safetensors
"$TENON" fit big.npy --labels y.txt --budget 0.001 -o head.safetensors >said.txt
echo "exit $?"
grep -o 'Method auto: the budget.*' said.txt
