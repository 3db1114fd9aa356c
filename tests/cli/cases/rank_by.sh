#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every figure that rank can go by: its order, what it says where two of them disagree, and what it refuses.
. "$HERE/lib.sh"
ln -s "$DEMO" demo
three="demo/darknet.train.npy demo/squeezenet.train.npy demo/mobilenetv1.train.npy"
for by in evidence loo nll knn cv; do
    # shellcheck disable=SC2086
    "$TENON" rank $three --labels demo/labels.train.txt --normalize l2,zscore --by $by --json >r.json || exit
    echo "--by $by: $(grep -o '"name":"[^"]*"' r.json | cut -d'"' -f4 | tr '\n' ' ')"
    for key in by lead lead_se opinions score score_se first score_of_first; do
        grep -q "\"$key\":" r.json || echo "no $key"
    done
    # shellcheck disable=SC2086
    "$TENON" rank $three --labels demo/labels.train.txt --normalize l2,zscore --by $by |
        grep -E 'rank  name|suits|speaks' | sed 's/[0-9]\.[0-9]\+/#/g;s/  */ /g'
done
seq 300 | sed 's/$/.5/' >values.txt
try rank demo/darknet.train.npy --labels demo/labels.train.txt --by knn --loo 0
try rank demo/darknet.train.npy --labels demo/labels.train.txt --by votes
try rank demo/darknet.train.npy --labels values.txt --task regression --by nll
try rank demo/darknet.train.npy --labels values.txt --task regression --by knn | grep -o 'darknet: kNN r2 [0-9.-]*'
try fit demo/darknet.train.npy --labels demo/labels.train.txt --by knn -o h.safetensors
