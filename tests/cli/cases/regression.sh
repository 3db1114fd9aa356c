#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: y = 3 x - 1 without noise: the head must find it, to single precision.
. "$HERE/lib.sh"
float_bytes() { # 0, 1, 2, 3 as float32 little-endian
    case $1 in 0) printf '\0\0\0\0' ;; 1) printf '\0\0\x80\x3f' ;; 2) printf '\0\0\0\x40' ;; 3) printf '\0\0\x40\x40' ;; esac
}
row_y() { # -1, 2, 5, 8
    case $1 in 0) printf '\0\0\x80\xbf' ;; 1) printf '\0\0\0\x40' ;; 2) printf '\0\0\xa0\x40' ;; 3) printf '\0\0\0\x41' ;; esac
}
{ npy_header '<f4' 8 1; for i in 0 1 2 3 3 2 1 0; do float_bytes $i; done; } >x.npy
{ npy_header '<f4' 8 1; for i in 0 1 2 3 3 2 1 0; do row_y $i; done; } >y.npy
"$TENON" fit --method evidence x.npy --labels y.npy --task regression --normalize none --lambda 1e-9 -o h.safetensors >/dev/null || exit
"$TENON" predict h.safetensors x.npy | awk '{ printf "%.4f\n", $1 }'
r2=$("$TENON" eval h.safetensors x.npy --labels y.npy --json | number r2)
between "$r2" 0.999999 1 || echo "r2 $r2"
"$TENON" predict h.safetensors x.npy --top 1
