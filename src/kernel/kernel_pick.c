/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dispatch, once: the table for the level that base/cpu.c names. The choice is remembered, the library's only mutable
 * global; threads that race for the first look all write the same value. */
#include "base/cpu.h"
#include "kernel/kernel.h"

#include <stdatomic.h>
#include <string.h>

static const tnp_kernels *pick(void)
{
    const char *level = tnp_simd_level();
    const tnp_kernels *best = tnp_kernels_scalar();
    if (strcmp(level, "scalar") != 0 && tnp_kernels_avx2())
        best = tnp_kernels_avx2();
    if (strcmp(level, "avx512") == 0 && tnp_kernels_avx512())
        best = tnp_cpu_look().vnni ? tnp_kernels_vnni() : tnp_kernels_avx512();
    return best;
}

const tnp_kernels *tnp_kernels_get(void)
{
    static _Atomic(const tnp_kernels *) picked;
    const tnp_kernels *table = atomic_load_explicit(&picked, memory_order_acquire);
    if (!table) {
        table = pick();
        atomic_store_explicit(&picked, table, memory_order_release);
    }
    return table;
}
