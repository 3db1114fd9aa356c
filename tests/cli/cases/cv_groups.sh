#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Rows come four times over. Rows by themselves: a copy of nearly every held-out row is in training. Groups of copies: the
# figure of new rows. Folds from a file, of which rows without one are never judged.
. "$HERE/lib.sh"
{
    npy_header '<f2' 480 128
    for i in 1 2 3 4; do tail -c +129 "$DEMO/darknet.train.npy" | head -c $((120 * 128 * 2)); done
} >x.npy
for i in 1 2 3 4; do head -n 120 "$DEMO/labels.train.txt"; done >y.txt
for i in 1 2 3 4; do seq 120 | sed 's/^/photo /'; done >groups.txt
cv() { "$TENON" cv x.npy --labels y.txt --method svm --C 10 --json "$@" | number mean; }
alone=$(cv) grouped=$(cv --groups groups.txt)
between "$alone" 0.97 1 || echo "rows by themselves: $alone"
between "$grouped" 0.2 0.8 || echo "groups: $grouped"
"$TENON" cv x.npy --labels y.txt --method svm --groups groups.txt | grep -o 'of 480 rows in 120 groups'
for i in 1 2 3 4; do seq 120 | awk '{ print $1 % 3 == 0 ? "" : $1 % 3 == 1 ? "first" : "second" }'; done >folds.txt
"$TENON" cv x.npy --labels y.txt --method svm --fold-file folds.txt --scores s.npy --json >f.json
grep -o '"folds":2' f.json
grep -o '"judged_per_trained":[0-9.]*' f.json
# Every third row has no score.
tail -c +129 s.npy | od -An -v -t f4 -w$((20 * 4)) | awk '{ nan += $1 == "nan" } END { print NR, nan }'
