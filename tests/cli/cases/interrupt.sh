#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: the contract. Interrupted half-way: exit status 130, one line, nothing written. The work would take many seconds.
. "$HERE/lib.sh"
{ npy_header '|i1' 40000 4096; head -c 163840000 /dev/urandom; } >big.npy
seq 40000 | awk '{ print $1 % 7 }' >y.txt
# In the foreground: otherwise timeout signals the program and then its whole group, and the second one kills.
for signal in INT TERM; do
    timeout --foreground --preserve-status -s $signal 1 "$TENON" fit big.npy --labels y.txt --threads 1 --mem 2G -o head.safetensors
    echo "exit $?"
done
ls -A
