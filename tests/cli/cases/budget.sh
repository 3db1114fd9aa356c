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
