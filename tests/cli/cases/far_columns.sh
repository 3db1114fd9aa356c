#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Columns of mean 1e8 and deviation about 1, in double: what fit says of them is what eval finds on the same rows, and info names
# the centre. Values beyond float32 are refused by fit and by predict, and are not called infinite.
. "$HERE/lib.sh"
double() { # whole number from 2^26 up to 2^27, in eighths, as 8 bytes, lowest first: 1.mantissa 2^26
    printf "$(printf '%016x' $((1049 << 52 | ($1 - (1 << 29)) << 23)) | sed 's/\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)/\\x\8\\x\7\\x\6\\x\5\\x\4\\x\3\\x\2\\x\1/')"
}
rows=120
{
    npy_header '<f8' $rows 2
    for ((i = 0; i < rows; ++i)); do
        double $((800000000 + i * 37 % 23 + (i % 3 == 1) * 21))
        double $((800000000 + i * 53 % 19 + (i % 3 == 2) * 19))
    done
} >x.npy
for ((i = 0; i < rows; ++i)); do echo "class$((i % 3))"; done >labels.txt
for method in evidence ridge-cv svm svm-cv logistic pa arow scw; do
    for normalize in none zscore; do
        "$TENON" fit x.npy --labels labels.txt --method $method --normalize $normalize -o h.safetensors --json >fit.json || exit
        right=$("$TENON" eval h.safetensors x.npy --labels labels.txt --json | number accuracy)
        between "$right" 0.85 1 || echo "$method $normalize: accuracy $right"
    done
done
"$TENON" fit --method evidence x.npy --labels labels.txt --normalize none -o h.safetensors --json >fit.json
loo=$(number loo_accuracy <fit.json)
right=$("$TENON" eval h.safetensors x.npy --labels labels.txt --json | number accuracy)
between "$right" "$(awk "BEGIN { print $loo - 0.03 }")" "$(awk "BEGIN { print $loo + 0.08 }")" || echo "fit says $loo, eval $right"
"$TENON" info h.safetensors | grep '^  representations '
"$TENON" info h.safetensors --json | grep -oE '"centred":[0-9]+'
{ npy_header '<f8' 4 2; for i in 1 2 3 4 5 6 7 8; do printf '\x9c\x75\x00\x88\x3c\xe4\x37\x7e'; done; } >large.npy # 1e300
printf '%s\n' a b a b >four.txt
try info large.npy
try fit large.npy --labels four.txt --normalize none -o l.safetensors
try predict h.safetensors x=large.npy
