#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Features to codes and a head from codes. Figures that depend on the kernels are compared with bounds, not printed.
. "$HERE/lib.sh"
cp "$DEMO"/darknet.t*.npy "$DEMO"/labels.t*.txt .
try pq train darknet.train.npy -o q.safetensors --centroids 64 --seed 3 | sed -E 's/[0-9.]+ s,/T s,/; s/most [0-9]+ it/most N it/; s/^error .*/error/'
try pq apply q.safetensors darknet.train.npy -o darknet.train.safetensors | sed -E 's/[0-9.]+ s$/T s/; s/^error .*/error/'
"$TENON" pq apply q.safetensors darknet.test.npy -o darknet.test.safetensors --json >apply.json || exit
grep -oE '"(command|codes)":"[^"]*"|"(rows|dim|sub|groups|centroids|compression)":[0-9]+' apply.json
between "$(number relative_error <apply.json)" 0.01 0.5 && echo "part of the energy is lost"
between "$(wc -c <darknet.test.safetensors)" $((64 * 128 * 4 + 405 * 16)) $((64 * 128 * 4 + 405 * 16 + 512)) && echo "centroids and 16 bytes a row"
# The same quantiser for any number of threads, another for another seed; the command line is written into the file.
for threads in 1 2 7; do
    "$TENON" pq train darknet.train.npy -o t.safetensors --centroids 64 --seed 3 --threads $threads >/dev/null || exit
    tail -c $((64 * 128 * 4)) t.safetensors | cmp - <(tail -c $((64 * 128 * 4)) q.safetensors) && echo "$threads: same"
done
"$TENON" pq train darknet.train.npy -o t.safetensors --centroids 64 --seed 4 >/dev/null || exit
cmp -s <(tail -c $((64 * 128 * 4)) t.safetensors) <(tail -c $((64 * 128 * 4)) q.safetensors) || echo "another seed: another"
try info q.safetensors darknet.train.safetensors | grep -v norms
"$TENON" info q.safetensors --json
# Codes are representations: rank, fit, predict, eval. Chance is 0.05, without codes it is 0.75; the gain without codes is 0.18.
between "$("$TENON" rank darknet.train.safetensors --labels labels.train.txt --loo 0 --json | number gain_per_label)" 0.1 0.19 && echo "an evidence of codes"
"$TENON" fit darknet.train.safetensors --labels labels.train.txt -o h.safetensors --method svm >/dev/null || exit
between "$("$TENON" eval h.safetensors darknet.test.safetensors --labels labels.test.txt --json | number accuracy)" 0.5 0.8 && echo "a head of codes"
"$TENON" predict h.safetensors darknet.test.safetensors | wc -l
# A head of codes takes what the codes were made from, too: the columns are the same.
"$TENON" predict h.safetensors darknet.test.npy | wc -l
ls .*.safetensors* 2>/dev/null
