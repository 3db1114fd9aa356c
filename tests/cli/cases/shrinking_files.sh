#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. A second process cuts files short and writes them anew while they are read, again and again: every run
# ends by itself, with a result or with an error, never by a signal.
. "$HERE/lib.sh"
rows=4000 cols=64
{
    npy_header '<f4' $rows $cols
    head -c $((rows * cols * 4)) /dev/zero | tr '\0' '?'
} >x.npy
awk -v n=$rows 'BEGIN { for (i = 0; i < n; ++i) print i % 3 }' >y.txt
awk -v n=500 'BEGIN { for (i = 0; i < n; ++i) print i ",0.5," i % 7 }' >x.csv
awk -v n=500 'BEGIN { for (i = 0; i < n; ++i) print i % 3, "1:0.5", "7:" i }' >x.svm
for f in x.npy y.txt x.csv x.svm; do cp $f whole.$f; done
churn() {
    while [ -e going ]; do
        for f in x.npy y.txt x.csv x.svm; do
            truncate -s 300 $f
            cat whole.$f >$f
            head -c 2000 whole.$f >$f
        done
    done
}
touch going
churn &
for ((i = 0; i < 12; ++i)); do
    "$TENON" rank x.npy --labels y.txt --normalize none --loo 0
    echo "exit $?"
    "$TENON" fit x.npy --labels y.txt --normalize none --method pa --epochs 2 -o h.safetensors
    echo "exit $?"
    for f in x.npy y.txt x.csv x.svm; do
        "$TENON" info $f
        echo "exit $?"
    done
done >log 2>&1
rm going
wait
grep '^exit' log | awk '{ ++n; bad += !($2 == 0 || $2 == 65 || $2 == 66) } END { print n, "runs,", bad, "of them ended otherwise" }'
