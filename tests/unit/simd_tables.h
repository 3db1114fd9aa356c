/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every table of kernels that this processor runs. */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "base/cpu.h"
#include "simd/simd.h"

static const tnp_simd *tables[4];
static size_t count;

static int find_tables(void **state)
{
    (void)state;
    tnp_cpu cpu = tnp_cpu_look();
    tables[count++] = tnp_simd_scalar();
    if (cpu.avx2 && tnp_simd_avx2())
        tables[count++] = tnp_simd_avx2();
    if (cpu.avx512 && tnp_simd_avx512())
        tables[count++] = tnp_simd_avx512();
    if (cpu.vnni && tnp_simd_vnni())
        tables[count++] = tnp_simd_vnni();
    return 0;
}

#endif
