#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# TN_SIMD with a word that is no level is refused by every command, doctor included; a level is taken, and none is as unset.
. "$HERE/lib.sh"
cp "$DEMO/darknet.train.npy" x.npy
cp "$DEMO/labels.train.txt" y.txt
export TN_SIMD=bogus
try doctor
try info x.npy
try rank x.npy --labels y.txt
TN_SIMD=AVX2 try info x.npy
for TN_SIMD in '' scalar; do "$TENON" info x.npy >/dev/null && echo "'$TN_SIMD' is taken"; done
TN_SIMD=scalar "$TENON" doctor --json | grep -o '"simd":"[a-z0-9]*"'
