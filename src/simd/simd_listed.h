/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of columns of which only the values that are not zero are listed (algebra/gram.c): each file of kernels
 * includes them and so compiles them for its own instruction set. The sums of a column stay in registers while its list
 * is gone through; what is multiplied comes out of the first cache a register at a time, no slower than that is done. */
#ifndef TNP_SIMD_LISTED_H
#define TNP_SIMD_LISTED_H

#include "simd/simd_band.h"
#include "simd/simd_patches.h"

/* Registers of sums that a list is gone through with: 6 of 32 or 12 of 16 hold a whole row, 8 of 16 a third. */
enum { LISTED = PACK_BYTES == 16 ? 8 : 4 * TNP_STRIPE / PACK_BYTES, LISTED_FLOATS = LISTED * PACK_BYTES / 4 };

static inline void listed_column(size_t count, const float *value, const uint16_t *place, const float *panel,
                                 float *sums)
{
    wide_pack sum[LISTED] = {0};
    for (size_t e = 0; e < count; ++e) {
        wide_pack factor = all_of(value[e]);
        const float *row = panel + place[e];
        UNROLLED for (size_t p = 0; p < LISTED; ++p) sum[p] =
            plus_product(factor, load_wide_pack(row + p * PACK_FLOATS), sum[p]);
    }
    UNROLLED for (size_t p = 0; p < LISTED; ++p)
        store_wide_pack(load_wide_pack(sums + p * PACK_FLOATS) + sum[p], sums + p * PACK_FLOATS);
}

static void add_listed(const uint16_t *counts, size_t columns, const float *values, const uint16_t *places,
                       const float *panel, float *tile)
{
    for (size_t c = 0; c < columns; ++c, tile += TNP_STRIPE) {
        for (size_t at = 0; at < TNP_STRIPE; at += LISTED_FLOATS)
            listed_column(counts[c], values, places, panel + at, tile + at);
        values += counts[c];
        places += counts[c];
    }
}

#endif
