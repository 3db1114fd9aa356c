/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dispatch, once: the table for the level that base/cpu.c names. The choice is remembered, the library's only mutable
 * global; threads that race for the first look all write the same value. */
#include "base/cpu.h"
#include "simd/simd.h"

#include <stdatomic.h>
#include <string.h>

static const tnp_simd *pick(void)
{
    const char *level = tnp_simd_level();
    const tnp_simd *best = tnp_simd_scalar();
    if (strcmp(level, "scalar") != 0 && tnp_simd_avx2())
        best = tnp_simd_avx2();
    if (strcmp(level, "avx512") == 0 && tnp_simd_avx512())
        best = tnp_cpu_look().vnni ? tnp_simd_vnni() : tnp_simd_avx512();
    return best;
}

const tnp_simd *tnp_simd_get(void)
{
    static _Atomic(const tnp_simd *) picked;
    const tnp_simd *table = atomic_load_explicit(&picked, memory_order_acquire);
    if (!table) {
        table = pick();
        atomic_store_explicit(&picked, table, memory_order_release);
    }
    return table;
}
