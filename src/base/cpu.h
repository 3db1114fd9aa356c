/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Abilities of the processor, asked once by simd/simd_pick.c and by the BLAS advice. */
#ifndef TNP_CPU_H
#define TNP_CPU_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tnp_cpu {
    bool avx2, avx512, intel;
    bool vnni; /* of AVX-512 */
} tnp_cpu;

tnp_cpu tnp_cpu_look(void);
/* Cores that this process may run on. */
size_t tnp_usable_cores(void);

/* Widest SIMD level to use: "scalar", "avx2" or "avx512"; TN_SIMD lowers it, never raises it. */
const char *tnp_simd_level(void);

#endif
