/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every table of kernels that this processor runs. */
#ifndef SIMD_TABLES_H
#define SIMD_TABLES_H

#include "base/cpu.h"
#include "simd/simd.h"

static const tnp_simd *tables[4];
static size_t table_count;

static int find_tables(void **state)
{
    (void)state;
    tnp_cpu cpu = tnp_cpu_look();
    tables[table_count++] = tnp_simd_scalar();
    if (cpu.avx2 && tnp_simd_avx2())
        tables[table_count++] = tnp_simd_avx2();
    if (cpu.avx512 && tnp_simd_avx512())
        tables[table_count++] = tnp_simd_avx512();
    if (cpu.vnni && tnp_simd_vnni())
        tables[table_count++] = tnp_simd_vnni();
    return 0;
}

#endif
