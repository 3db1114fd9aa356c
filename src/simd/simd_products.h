/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of rows that lie in the caches with some columns, by one thread, for AVX2 and AVX-512; simd_scalar.c says what
 * they compute. A BLAS packs what it multiplies, which takes as long as small products themselves: here rows are read
 * where they lie, and a tile of sums stays in registers. */
#ifndef TNP_SIMD_PRODUCTS_H
#define TNP_SIMD_PRODUCTS_H

#include "simd/simd_band.h"
#include "simd/simd_loops.h"

/* Rows of x and of y whose products are summed side by side: 16 of 32 registers, or 12 of 16. */
enum { TALL = REG == 16 ? 4 : 3, BROAD = 4 };
/* Columns whose weights are changed side by side, and registers of each: 16 of 32, or 8 of 16. */
enum { COLUMNS = REG == 16 ? 8 : 4, BESIDE = 2 };
static inline __m128 fold(reg x)
{
#if defined(__AVX512F__)
    __m256 half = _mm512_castps512_ps256(x) + _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
#else
    __m256 half = x;
#endif
    return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
}

/* The sums of four registers. */
static inline __m128 sum_each(const reg *x)
{
    return _mm_hadd_ps(_mm_hadd_ps(fold(x[0]), fold(x[1])), _mm_hadd_ps(fold(x[2]), fold(x[3])));
}

/* out[i, j] = x_i'y_j of TALL rows x and BROAD rows y. */
static inline void products_tile(const float *const *x, const float *const *y, size_t dim, float out[TALL][BROAD])
{
    reg sum[TALL][BROAD] = {0};
    IN_PARTS(dim, {
        reg v[BROAD];
        UNROLLED for (size_t j = 0; j < BROAD; ++j) v[j] = load_some(y[j] + i, left);
        UNROLLED for (size_t r = 0; r < TALL; ++r)
        {
            reg u = load_some(x[r] + i, left);
            UNROLLED for (size_t j = 0; j < BROAD; ++j) sum[r][j] = fused(u, v[j], sum[r][j]);
        }
    });
    UNROLLED for (size_t r = 0; r < TALL; ++r) _mm_storeu_ps(out[r], sum_each(sum[r]));
}

/* Rows behind the last repeat it. */
static void row_products(size_t n, const float *x, size_t ldx, size_t m, const float *y, size_t ldy, size_t dim,
                         bool add, float *out, size_t ldo)
{
    for (size_t at = 0; at < n; at += TALL)
        for (size_t from = 0; from < m; from += BROAD) {
            const float *rows[TALL], *others[BROAD];
            float tile[TALL][BROAD];
            for (size_t r = 0; r < TALL; ++r)
                rows[r] = x + (at + r < n ? at + r : n - 1) * ldx;
            for (size_t j = 0; j < BROAD; ++j)
                others[j] = y + (from + j < m ? from + j : m - 1) * ldy;
            products_tile(rows, others, dim, tile);
            for (size_t r = 0; r < TALL && at + r < n; ++r)
                for (size_t j = 0; j < BROAD && from + j < m; ++j)
                    out[(at + r) * ldo + from + j] = tile[r][j] + (add ? out[(at + r) * ldo + from + j] : 0);
        }
}

/* Columns col of w (ldw) += delta'x, by the rows `which`. A column may stand there twice: both write the same. */
static inline void add_to_columns(const uint8_t *which, size_t count, const size_t *col, const float *delta, size_t ldd,
                                  const float *x, size_t ldx, size_t dim, float *w, size_t ldw)
{
    for (size_t i = 0; i < dim; i += BESIDE * REG) {
        reg sum[COLUMNS][BESIDE];
        const size_t left = dim - i, behind = left > REG ? left - REG : 0;
        UNROLLED for (size_t j = 0; j < COLUMNS; ++j)
        {
            sum[j][0] = load_some(w + col[j] * ldw + i, left);
            sum[j][1] = load_some(w + col[j] * ldw + i + REG, behind);
        }
        for (size_t t = 0; t < count; ++t) {
            const float *row = x + which[t] * ldx + i, *by = delta + which[t] * ldd;
            reg a = load_some(row, left), b = load_some(row + REG, behind);
            UNROLLED for (size_t j = 0; j < COLUMNS; ++j)
            {
                reg d = all_lanes(by[col[j]]);
                sum[j][0] = fused(d, a, sum[j][0]);
                sum[j][1] = fused(d, b, sum[j][1]);
            }
        }
        UNROLLED for (size_t j = 0; j < COLUMNS; ++j)
        {
            store_some(w + col[j] * ldw + i, left, sum[j][0]);
            store_some(w + col[j] * ldw + i + REG, behind, sum[j][1]);
        }
    }
}

/* Rows whose multipliers have not moved in any of the columns are left out: after some passes many have not. */
static void add_products(size_t n, size_t k, const float *delta, size_t ldd, const float *x, size_t ldx, size_t dim,
                         float *w, size_t ldw)
{
    enum { ROWS = 64 };
    for (size_t at = 0; at < n; at += ROWS)
        for (size_t from = 0; from < k; from += COLUMNS) {
            const float *here = delta + at * ldd;
            size_t col[COLUMNS], count = 0, rows = n - at < ROWS ? n - at : ROWS;
            uint8_t which[ROWS];
            for (size_t j = 0; j < COLUMNS; ++j)
                col[j] = from + j < k ? from + j : k - 1;
            for (size_t t = 0; t < rows; ++t) {
                bool moved = false;
                for (size_t j = 0; j < COLUMNS; ++j)
                    moved |= here[t * ldd + col[j]] != 0;
                which[count] = (uint8_t)t;
                count += moved;
            }
            add_to_columns(which, count, col, here, ldd, x + at * ldx, ldx, dim, w, ldw);
        }
}

static const tnp_product_loops product_loops = {true, row_products, add_products};

#endif
