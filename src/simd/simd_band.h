/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of the reduction to band and tridiagonal form (algebra/band.c, algebra/chase.c): each file of kernels includes
 * them and so compiles them for its own instruction set.
 *
 * Reflections are H = I - w w' with |w|^2 = 2, or w = 0: no second figure has to be kept beside the vector. */
#ifndef TNP_SIMD_BAND_H
#define TNP_SIMD_BAND_H

#include "simd/simd_lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Rows and packs of the sums that stay in registers: 24 of 32 registers, or 12 of 16. */
enum { STRIP_ROWS = 6, STRIP = PACK == 8 ? 4 : 2, COLUMN = TNP_BAND / PACK };

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* c + a b and c - a b, rounded once where the set can: contraction is off in standard C. */
#if defined(__AVX512F__)
#define FUSED(a, b, c) ((pack)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define LESS_FUSED(a, b, c) ((pack)_mm512_fnmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif defined(__AVX2__)
#define FUSED(a, b, c) ((pack)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define LESS_FUSED(a, b, c) ((pack)_mm256_fnmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#define LESS_FUSED(a, b, c) ((c) - (a) * (b))
#endif
#define ALL_LANES(x) ((x) - (pack){0}) /* by the compiler's rule that a number meets every lane */

/* c (ROWS, STRIP packs) += a b. The rows behind, which may come from far away, are called for meanwhile. */
#define BLOCK_STRIP(name, ROWS)                                                                                        \
    static inline void name(size_t depth, const double *a, size_t row, size_t step, const double *b, double *c,        \
                            size_t stride)                                                                             \
    {                                                                                                                  \
        pack sum[ROWS][STRIP], v[STRIP];                                                                               \
        UNROLLED for (size_t r = 0; r < ROWS; ++r) UNROLLED for (size_t p = 0; p < STRIP; ++p)                         \
            load_pack(c + r * stride + p * PACK, &sum[r][p]);                                                          \
        for (size_t r = ROWS; r < 2 * ROWS; ++r)                                                                       \
            for (size_t p = 0; p < STRIP; ++p)                                                                         \
                __builtin_prefetch(c + r * stride + p * PACK, 1);                                                      \
        for (size_t k = 0; k < depth; ++k, b += TNP_BAND, a += step) {                                                 \
            UNROLLED for (size_t p = 0; p < STRIP; ++p) load_pack(b + p * PACK, &v[p]);                                \
            UNROLLED for (size_t r = 0; r < ROWS; ++r)                                                                 \
            {                                                                                                          \
                pack factor = ALL_LANES(a[r * row]);                                                                   \
                UNROLLED for (size_t p = 0; p < STRIP; ++p) sum[r][p] = FUSED(factor, v[p], sum[r][p]);                \
            }                                                                                                          \
        }                                                                                                              \
        UNROLLED for (size_t r = 0; r < ROWS; ++r) UNROLLED for (size_t p = 0; p < STRIP; ++p)                         \
            store_pack(&sum[r][p], c + r * stride + p * PACK);                                                         \
    }

BLOCK_STRIP(strip_of_many, STRIP_ROWS)
BLOCK_STRIP(strip_of_two, 2)
BLOCK_STRIP(strip_of_one, 1)

static inline void block_strip(size_t rows, size_t depth, const double *a, size_t row, size_t step, const double *b,
                               double *c, size_t stride)
{
    size_t i = 0;
    for (; i + STRIP_ROWS <= rows; i += STRIP_ROWS)
        strip_of_many(depth, a + i * row, row, step, b, c + i * stride, stride);
    for (; i + 2 <= rows; i += 2)
        strip_of_two(depth, a + i * row, row, step, b, c + i * stride, stride);
    if (i < rows)
        strip_of_one(depth, a + i * row, row, step, b, c + i * stride, stride);
}

static void block_add(size_t rows, size_t depth, const double *a, size_t row, size_t step, const double *b, double *c,
                      size_t stride)
{
    for (size_t at = 0; at < TNP_BAND; at += STRIP * PACK)
        block_strip(rows, depth, a, row, step, b + at, c + at, stride);
}

static void reflect(size_t n, const double *w, double *c)
{
    pack sum[4][PACKS] = {0}, v;
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t r = 0; r < 4; ++r)
            for (size_t p = 0; p < PACKS; ++p) {
                load_pack(c + (i + r) * TNP_LANES + p * PACK, &v);
                sum[r][p] = FUSED(ALL_LANES(w[i + r]), v, sum[r][p]);
            }
    for (; i < n; ++i)
        for (size_t p = 0; p < PACKS; ++p) {
            load_pack(c + i * TNP_LANES + p * PACK, &v);
            sum[0][p] = FUSED(ALL_LANES(w[i]), v, sum[0][p]);
        }
    for (size_t p = 0; p < PACKS; ++p)
        sum[0][p] = (sum[0][p] + sum[1][p]) + (sum[2][p] + sum[3][p]);
    for (i = 0; i < n; ++i)
        for (size_t p = 0; p < PACKS; ++p) {
            load_pack(c + i * TNP_LANES + p * PACK, &v);
            v = LESS_FUSED(ALL_LANES(w[i]), sum[0][p], v);
            store_pack(&v, c + i * TNP_LANES + p * PACK);
        }
}

/* The sums of the later ones are those of c as it is, less what the earlier ones take from it. */
static void reflect_four(size_t n, const double *w, const double *products, double *c)
{
    pack sum[4][PACKS] = {0}, v;
    for (size_t i = 0; i < n; ++i)
        for (size_t p = 0; p < PACKS; ++p) {
            load_pack(c + i * TNP_LANES + p * PACK, &v);
            UNROLLED for (size_t q = 0; q < 4; ++q) sum[q][p] = FUSED(ALL_LANES(w[i * 4 + q]), v, sum[q][p]);
        }
    for (size_t q = 1; q < 4; ++q)
        for (size_t e = 0; e < q; ++e)
            for (size_t p = 0; p < PACKS; ++p)
                sum[q][p] = LESS_FUSED(ALL_LANES(products[q * 4 + e]), sum[e][p], sum[q][p]);
    for (size_t i = 0; i < n; ++i)
        for (size_t p = 0; p < PACKS; ++p) {
            load_pack(c + i * TNP_LANES + p * PACK, &v);
            UNROLLED for (size_t q = 0; q < 4; ++q) v = LESS_FUSED(ALL_LANES(w[i * 4 + q]), sum[q][p], v);
            store_pack(&v, c + i * TNP_LANES + p * PACK);
        }
}

/* ---- chasing: blocks (TNP_BAND, TNP_BAND) by columns, TNP_CHASE apart ---- */

#if PACK_BYTES == 64
#define PACK_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define PACK_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#elif PACK_BYTES == 32
#define PACK_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define PACK_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#else
#define PACK_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2)
#define PACK_ODD(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

/* Lane l becomes the sum of the lanes of part l; the parts are used up. */
static inline void sum_lanes(pack *part, pack *to)
{
    for (size_t left = PACK / 2; left > 0; left /= 2)
        for (size_t i = 0; i < left; ++i)
            part[i] = PACK_EVEN(part[2 * i], part[2 * i + 1]) + PACK_ODD(part[2 * i], part[2 * i + 1]);
    *to = part[0];
}

static inline double sum_pack(const pack *x)
{
    double sum = 0;
    for (size_t l = 0; l < PACK; ++l)
        sum += (*x)[l];
    return sum;
}

/* Packs of a column that reach below row c begin with pack c / PACK; of that one these lanes are at rows > c. */
static const int64_t lanes_below[2 * 8] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};

static inline void keep_from(size_t lane, pack *x)
{
    pack_mask mask;
    memcpy(&mask, lanes_below + 8 - lane, sizeof mask);
    *x = (pack)((pack_mask)*x & mask);
}

/* x (TNP_BAND) becomes (beta, 0, ..., 0) by the reflection w. Squares that have no digits left count as zero: the caller
 * has scaled the matrix to about 1. */
static void band_reflection(double *x, double *w)
{
    double square = 0, first = x[0];
    for (size_t i = 1; i < TNP_BAND; ++i)
        square += x[i] * x[i];
    if (!(square > TNP_BAND_NOTHING)) {
        memset(w, 0, TNP_BAND * sizeof *w);
        memset(x + 1, 0, (TNP_BAND - 1) * sizeof *x);
        return;
    }
    double size = sqrt(first * first + square), lead = first > 0 ? first + size : first - size;
    double scale = sqrt(2 / (square + lead * lead));
    w[0] = lead * scale;
    for (size_t i = 1; i < TNP_BAND; ++i)
        w[i] = x[i] * scale;
    memset(x, 0, TNP_BAND * sizeof *x);
    x[0] = first > 0 ? -size : size;
}

/* d <- H d H of the lower triangle of a block on the diagonal:
 * y = d w, v = y - (w'y / 2) w, d <- d - w v' - v w'. */
static void chase_diagonal(double *d, const double *w)
{
    pack of_w[COLUMN], y[COLUMN] = {0}, v[COLUMN], parts[PACK], x, half = {0};
    for (size_t q = 0; q < COLUMN; ++q)
        load_pack(w + q * PACK, &of_w[q]);
    for (size_t group = 0; group < COLUMN; ++group) {
        for (size_t l = 0; l < PACK; ++l) {
            size_t c = group * PACK + l;
            const double *column = d + c * TNP_CHASE;
            load_pack(column + group * PACK, &x);
            keep_from(l, &x);
            y[group] = FUSED(x, ALL_LANES(w[c]), y[group]);
            keep_from(l + 1, &x);
            parts[l] = x * of_w[group];
            for (size_t q = group + 1; q < COLUMN; ++q) {
                load_pack(column + q * PACK, &x);
                y[q] = FUSED(x, ALL_LANES(w[c]), y[q]);
                parts[l] = FUSED(x, of_w[q], parts[l]);
            }
        }
        sum_lanes(parts, &x);
        y[group] += x;
    }
    for (size_t q = 0; q < COLUMN; ++q)
        half += of_w[q] * y[q];
    double factor = sum_pack(&half) / 2;
    double of_v[TNP_BAND];
    for (size_t q = 0; q < COLUMN; ++q) {
        v[q] = y[q] - factor * of_w[q];
        store_pack(&v[q], of_v + q * PACK);
    }
    for (size_t group = 0; group < COLUMN; ++group)
        for (size_t l = 0; l < PACK; ++l) {
            size_t c = group * PACK + l;
            double *column = d + c * TNP_CHASE;
            pack change = of_w[group] * of_v[c] + v[group] * w[c];
            keep_from(l, &change);
            load_pack(column + group * PACK, &x);
            x -= change;
            store_pack(&x, column + group * PACK);
            for (size_t q = group + 1; q < COLUMN; ++q) {
                load_pack(column + q * PACK, &x);
                x = LESS_FUSED(of_w[q], ALL_LANES(of_v[c]), x);
                x = LESS_FUSED(v[q], ALL_LANES(w[c]), x);
                store_pack(&x, column + q * PACK);
            }
        }
}

/* e <- e (I - w w'), then e <- (I - next next') e with the `next` that clears its first column. */
static void chase_below(double *e, const double *w, double *next)
{
    pack y[COLUMN] = {0}, x[COLUMN], n[COLUMN], parts[PACK], dots;
    for (size_t c = 0; c < TNP_BAND; ++c)
        for (size_t q = 0; q < COLUMN; ++q) {
            load_pack(e + c * TNP_CHASE + q * PACK, &x[q]);
            y[q] = FUSED(x[q], ALL_LANES(w[c]), y[q]);
        }
    for (size_t q = 0; q < COLUMN; ++q) {
        load_pack(e + q * PACK, &x[q]);
        x[q] -= y[q] * w[0];
        store_pack(&x[q], e + q * PACK);
    }
    band_reflection(e, next);
    for (size_t q = 0; q < COLUMN; ++q)
        load_pack(next + q * PACK, &n[q]);
    for (size_t group = 0; group < TNP_BAND; group += PACK) {
        for (size_t l = 0; l < PACK; ++l) {
            double *column = e + (group + l) * TNP_CHASE, factor = group + l ? w[group + l] : 0;
            parts[l] = (pack){0};
            for (size_t q = 0; q < COLUMN; ++q) {
                load_pack(column + q * PACK, &x[q]);
                x[q] = LESS_FUSED(y[q], ALL_LANES(factor), x[q]);
                store_pack(&x[q], column + q * PACK);
                parts[l] = FUSED(x[q], n[q], parts[l]);
            }
        }
        sum_lanes(parts, &dots);
        double of[PACK];
        store_pack(&dots, of);
        of[0] = group ? of[0] : 0;
        for (size_t l = 0; l < PACK; ++l)
            for (size_t q = 0; q < COLUMN; ++q) {
                double *at = e + (group + l) * TNP_CHASE + q * PACK;
                load_pack(at, &x[q]);
                x[q] = LESS_FUSED(n[q], ALL_LANES(of[l]), x[q]);
                store_pack(&x[q], at);
            }
    }
}

#endif
