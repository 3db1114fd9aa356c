#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reference: known beforehand. A BLAS that picks the kernels of an old processor: the program starts itself again with better ones. The shim says
# Prescott as long as nobody has asked for other kernels.
grep -qw avx2 /proc/cpuinfo 2>/dev/null || { echo "the processor has no AVX2" >&2; exit 77; }
command -v cc >/dev/null || { echo "no C compiler" >&2; exit 77; }
if nm -D "$TENON" | grep -q __asan_init; then echo "a sanitizer must be the first library" >&2; exit 77; fi
unset OPENBLAS_CORETYPE
cc -shared -fPIC -o shim.so "$HERE/fake_corename.c" || exit
LD_PRELOAD=$PWD/shim.so "$TENON" doctor --json --threads 1 >d.json || exit
grep -o '"blas_kernels_chosen_by":"[a-z]*"' d.json
grep -o '"blas_kernels":"Prescott"' d.json
grep -o '"blas_advice":"[^"]*"' d.json
# Once only: with the guard set it does not start itself again and gives the advice instead.
TENON_REEXEC=1 LD_PRELOAD=$PWD/shim.so "$TENON" doctor --json --threads 1 | grep -o '"blas_kernels":"Prescott"'
