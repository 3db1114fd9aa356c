#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the machine gives is other everywhere; that every figure is there and makes sense is not.
. "$HERE/lib.sh"
"$TENON" doctor --json --threads 1 >d.json || exit
for key in cores memory_total memory_available gemm_gflops_one_thread gemm_gflops; do
    between "$(number $key <d.json)" 0.001 1e18 || echo "$key: $(number $key <d.json)"
done
for key in cpu simd blas blas_kernels blas_kernels_chosen_by blas_advice version mpi mpi_path; do
    grep -q "\"$key\":\"" d.json || echo "no $key"
done
[ "$(number cores <d.json)" = "$(nproc)" ] || echo "cores: $(number cores <d.json), nproc says $(nproc)"
"$TENON" doctor --threads 1 | cut -c1-14
OPENBLAS_CORETYPE=Nehalem "$TENON" doctor --json --threads 1 | grep -o '"blas_kernels_chosen_by":"user"'
# found by PATH it has the same plug-in beside it
by_path=$(PATH=$(dirname "$TENON"):$PATH "$(basename "$TENON")" doctor --json --threads 1 | grep -o '"mpi_path":"[^"]*"')
[ "$by_path" = "$(grep -o '"mpi_path":"[^"]*"' d.json)" ] || echo "by PATH $by_path"
