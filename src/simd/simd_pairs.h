/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Coarse products, of whole numbers of 16 bits: each file of kernels includes them and so compiles them for its own
 * instruction set. Two products at a time are multiplied and added to sums of 32 bits, at least twice the speed of
 * floats; sums of whole numbers do not depend on their order, so all sets and all threads give the same bits. */
#ifndef TNP_SIMD_PAIRS_H
#define TNP_SIMD_PAIRS_H

#include "simd/simd.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>

#if defined(__AVX512BW__)
enum { PAIR_LANES = 16, PAIR_ROWS = 8 }; /* samples a register, rows that are multiplied at once */
typedef __m512i pair_sums;

static inline pair_sums load_pairs(const int16_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline pair_sums same_pair(int32_t pair)
{
    return _mm512_set1_epi32(pair);
}

#if defined(__AVX512VNNI__)
static inline pair_sums add_pairs(pair_sums sums, pair_sums a, pair_sums b)
{
    return _mm512_dpwssd_epi32(sums, a, b);
}
#else
static inline pair_sums add_pairs(pair_sums sums, pair_sums a, pair_sums b)
{
    return _mm512_add_epi32(sums, _mm512_madd_epi16(a, b));
}
#endif

static inline void store_sums(int32_t *to, pair_sums sums)
{
    _mm512_storeu_si512(to, sums);
}
#else
enum { PAIR_LANES = 8, PAIR_ROWS = 4 };
typedef __m256i pair_sums;

static inline pair_sums load_pairs(const int16_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline pair_sums same_pair(int32_t pair)
{
    return _mm256_set1_epi32(pair);
}

static inline pair_sums add_pairs(pair_sums sums, pair_sums a, pair_sums b)
{
    return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
}

static inline void store_sums(int32_t *to, pair_sums sums)
{
    _mm256_storeu_si256((__m256i *)(void *)to, sums);
}
#endif

/* `count` rows by two registers of samples; a constant where it is called, so that the sums stay in registers. */
static inline __attribute__((always_inline)) void pair_tile(size_t count, const int16_t *rows, size_t stride,
                                                            const int16_t *lanes, size_t pairs, int32_t *out)
{
    pair_sums sums[PAIR_ROWS][2];
    for (size_t i = 0; i < count; ++i)
        sums[i][0] = sums[i][1] = same_pair(0);
    for (size_t p = 0; p < pairs; ++p, rows += 2, lanes += 2 * TNP_BUNDLE) {
        pair_sums x0 = load_pairs(lanes), x1 = load_pairs(lanes + 2 * PAIR_LANES);
        for (size_t i = 0; i < count; ++i) {
            int32_t pair;
            memcpy(&pair, rows + i * stride, sizeof pair);
            pair_sums w = same_pair(pair);
            sums[i][0] = add_pairs(sums[i][0], w, x0);
            sums[i][1] = add_pairs(sums[i][1], w, x1);
        }
    }
    for (size_t i = 0; i < count; ++i) {
        store_sums(out + i * TNP_BUNDLE, sums[i][0]);
        store_sums(out + i * TNP_BUNDLE + PAIR_LANES, sums[i][1]);
    }
}

static void pair_products(const int16_t *rows, size_t stride, size_t count, const int16_t *lanes, size_t pairs,
                          int32_t *out)
{
    for (size_t l = 0; l < TNP_BUNDLE; l += 2 * PAIR_LANES) {
        size_t i = 0;
        for (; i + PAIR_ROWS <= count; i += PAIR_ROWS)
            pair_tile(PAIR_ROWS, rows + i * stride, stride, lanes + 2 * l, pairs, out + i * TNP_BUNDLE + l);
        for (; i < count; ++i)
            pair_tile(1, rows + i * stride, stride, lanes + 2 * l, pairs, out + i * TNP_BUNDLE + l);
    }
}
#else
static void pair_products(const int16_t *rows, size_t stride, size_t count, const int16_t *lanes, size_t pairs,
                          int32_t *out)
{
    for (size_t i = 0; i < count; ++i, rows += stride, out += TNP_BUNDLE) {
        memset(out, 0, TNP_BUNDLE * sizeof *out);
        for (size_t p = 0; p < pairs; ++p)
            for (size_t l = 0; l < TNP_BUNDLE; ++l) {
                const int16_t *x = lanes + 2 * (p * TNP_BUNDLE + l);
                out[l] += rows[2 * p] * x[0] + rows[2 * p + 1] * x[1];
            }
    }
}
#endif

#endif
