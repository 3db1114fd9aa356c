/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one kernel that gains by AVX-512 VNNI, an instruction that multiplies pairs and adds them to sums; compiled with
 * -mavx512vnni. Its table, with all others as in AVX-512, is in simd_avx512.c. */
#include "simd/simd_pairs.h"

void tnp_pair_products_vnni(const int16_t *rows, size_t stride, size_t count, const int16_t *lanes, size_t pairs,
                            int32_t *out)
{
    pair_products(rows, stride, count, lanes, pairs, out);
}
