#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# With a standard stream closed nothing is printed into a file that got its number: without standard output the program says so
# before any work, without the others it works.
. "$HERE/lib.sh"
cp "$DEMO/darknet.train.npy" x.npy
"$TENON" fit --method evidence x.npy --labels "$DEMO/labels.train.txt" --loo 0 -o h.safetensors >/dev/null || exit
"$TENON" predict h.safetensors x.npy --scores s.npy >&- 2>err.txt
echo "exit $?: $(cat err.txt)"
[ -e s.npy ] && echo "s.npy is there"
"$TENON" predict h.safetensors x.npy --scores s.npy <&- 2>&- | wc -l
wc -c <s.npy
"$TENON" predict h.safetensors x.npy --scores all.npy <&- >&- 2>&-
echo "exit $?"
"$TENON" info none.npy 2>&-
echo "exit $?"
"$TENON" --version >&- 2>err.txt
echo "exit $?: $(cat err.txt)"
ls
