/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels for AVX-512: eight doubles per register, so the eight lanes of a tridiagonal solve are one register each.
 * Compiled with -mavx512f; an empty table elsewhere. What AVX2 has in the same words is in simd_loops.h. */
#include "simd/simd.h"

#if defined(__AVX512F__)
#include "simd/simd_sweeps.h"
#include "simd/simd_coarse.h"
#include "simd/simd_lanes.h"
#include "simd/simd_listed.h"
#include "simd/simd_loops.h"
#include "simd/simd_mixture.h"
#include "simd/simd_pairs.h"
#include "simd/simd_probe.h"
#include "simd/simd_products.h"
#include "simd/simd_softmax.h"
#include "simd/simd_table.h"
#include "simd/simd_visits.h"

static void half_to_float(const uint16_t *in, float *out, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(in + i))));
    if (i < n) {
        uint16_t rest[16] = {0};
        for (size_t j = i; j < n; ++j)
            rest[j - i] = in[j];
        store_some(out + i, n - i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)rest)));
    }
}

/* Four rows at a time, so that a centroid's values are loaded once for them; of a lane the first of equals stays, and
 * of the lanes the lowest code. Rows beyond n repeat the last one. */
static void nearest(const float *x, size_t stride, size_t n, size_t d, const float *lanes, size_t count, uint8_t *code,
                    size_t step, float *distance)
{
    const __m512i first = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (size_t i = 0; i < n; i += 4) {
        const float *row[4];
        __m512 best[4];
        __m512i at[4];
        for (size_t r = 0; r < 4; ++r) {
            row[r] = x + (i + r < n ? i + r : n - 1) * stride;
            best[r] = _mm512_set1_ps(__builtin_inff());
            at[r] = first;
        }
        for (size_t c = 0; c < count; c += 16) {
            __m512 far[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
            for (size_t j = 0; j < d; ++j) {
                __m512 center = _mm512_loadu_ps(lanes + j * TNP_CODES + c);
                for (size_t r = 0; r < 4; ++r) {
                    __m512 gap = _mm512_sub_ps(_mm512_set1_ps(row[r][j]), center);
                    far[r] = _mm512_fmadd_ps(gap, gap, far[r]);
                }
            }
            __m512i here = _mm512_add_epi32(first, _mm512_set1_epi32((int)c));
            for (size_t r = 0; r < 4; ++r) {
                __mmask16 nearer = _mm512_cmp_ps_mask(far[r], best[r], _CMP_LT_OQ);
                best[r] = _mm512_mask_mov_ps(best[r], nearer, far[r]);
                at[r] = _mm512_mask_mov_epi32(at[r], nearer, here);
            }
        }
        for (size_t r = 0; r < 4 && i + r < n; ++r) {
            float least = _mm512_reduce_min_ps(best[r]);
            __mmask16 equal = _mm512_cmp_ps_mask(best[r], _mm512_set1_ps(least), _CMP_EQ_OQ);
            code[(i + r) * step] = (uint8_t)_mm512_mask_reduce_min_epu32(equal, at[r]);
            distance[i + r] = least;
        }
    }
}

/* Sixteen sizes >= 0: where the low knots of their cells begin, and the places in them. Returns the lanes that have no
 * cell. */
static __mmask16 find_cells(const tnp_knots *knots, __m512 size, uint32_t *begin, __m512 *place)
{
    __mmask16 none = 0;
    __m512i cell;
    if (!knots->shift) {
        __m512 at = _mm512_mul_ps(_mm512_min_ps(size, _mm512_set1_ps(1)), _mm512_set1_ps((float)knots->cells));
        cell = _mm512_cvttps_epi32(at);
        *place = _mm512_sub_ps(at, _mm512_cvtepi32_ps(cell));
    } else {
        const __m512i below = _mm512_set1_epi32((1 << knots->shift) - 1), bits = _mm512_castps_si512(size);
        cell = _mm512_sub_epi32(_mm512_srl_epi32(bits, _mm_cvtsi32_si128(knots->shift)),
                                _mm512_set1_epi32((int)knots->first));
        __mmask16 inside = _mm512_cmplt_epu32_mask(cell, _mm512_set1_epi32((int)knots->cells));
        none = _mm512_mask_cmpneq_epi32_mask((__mmask16)~inside, bits, _mm512_setzero_si512());
        cell = _mm512_maskz_add_epi32(inside, cell, _mm512_set1_epi32(1));
        *place = _mm512_maskz_mul_ps(inside, _mm512_cvtepi32_ps(_mm512_and_epi32(bits, below)),
                                     _mm512_set1_ps(1.0f / (float)(1 << knots->shift)));
    }
    _mm512_storeu_si512(begin, _mm512_mullo_epi32(cell, _mm512_set1_epi32((int)knots->pad)));
    return none;
}

/* Sixteen signed sizes as find_cells finds them: a (1 - t) and b t, with their signs. Returns how many have no cell. */
static size_t find_weights(const tnp_knots *knots, __m512 v, uint32_t *begin, float *a, float *b)
{
    const __m512 flag = _mm512_set1_ps(-0.0f), size = _mm512_andnot_ps(flag, v), one = _mm512_set1_ps(1);
    __mmask16 below = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ);
    __m512 place, sign = _mm512_maskz_mov_ps(below, flag);
    __mmask16 none = find_cells(knots, size, begin, &place);
    _mm512_storeu_ps(a, _mm512_xor_ps(_mm512_sub_ps(one, place), sign));
    _mm512_storeu_ps(b, _mm512_xor_ps(place, sign));
    return (size_t)__builtin_popcount(none);
}

/* Entries [0, count) of a tile. The last eight values of an entry are written whole, since the next entry covers what
 * is too much; where that would go beyond `end` they are masked. */
static float *map_tile(const tnp_knots *knots, const uint32_t *begin, const float *a, const float *b, size_t count,
                       float *out, const float *end)
{
    const size_t rank = knots->rank, pad = knots->pad;
    const __mmask8 last = (__mmask8)(0xffu >> (pad - rank));
    size_t i = 0;
    for (; i < count && pad == 8 && out + 8 <= end; ++i, out += rank)
        _mm256_storeu_ps(out, between(knots->rows + begin[i], 8, a[i], b[i]));
    for (; i < count; ++i, out += rank)
        for (size_t k = 0; k < pad; k += 8)
            _mm256_mask_storeu_ps(out + k, k + 8 < pad ? 0xff : last,
                                  between(knots->rows + begin[i] + k, pad, a[i], b[i]));
    return out;
}

static size_t map_entries(const tnp_knots *knots, const float *x, float factor, size_t n, float *out)
{
    const __m512i low_pairs = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    const __m512 zero = _mm512_setzero_ps(), flip = _mm512_castsi512_ps(_mm512_set1_epi64((long long)(1ull << 63)));
    const size_t parts = knots->split ? 2 : 1, step = 16 / parts;
    const float *end = out + n * parts * knots->rank;
    uint32_t begin[16];
    float a[16], b[16];
    size_t outside = 0;
    for (size_t j = 0; j < n; j += step) {
        size_t count = n - j < step ? n - j : step, values = count * parts * knots->rank;
        __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes_of(count), x + j), _mm512_set1_ps(factor));
        if (knots->zero && _mm512_cmp_ps_mask(v, zero, _CMP_NEQ_UQ) == 0) {
            for (size_t k = 0; k < values; k += 16)
                _mm512_mask_storeu_ps(out + k, lanes_of(values - k), zero);
            out += values;
            continue;
        }
        if (knots->split) /* v0, -v0, v1, -v1, ...: their positive parts */
            v = _mm512_max_ps(_mm512_xor_ps(_mm512_permutexvar_ps(low_pairs, v), flip), zero);
        outside += find_weights(knots, v, begin, a, b);
        out = map_tile(knots, begin, a, b, count * parts, out, end);
    }
    return outside;
}

/* Four rows of a panel: sixteen sums in registers, each value of b loaded once for all. */
static void outer_four(const float *a, size_t rank, const float *b, float *const to[4])
{
    __m512 sum[4][4];
    for (int i = 0; i < 4; ++i)
        for (int q = 0; q < 4; ++q)
            sum[i][q] = _mm512_loadu_ps(to[i] + 16 * q);
    for (size_t m = 0; m < rank; ++m, b += TNP_PANEL)
        for (int q = 0; q < 4; ++q) {
            const __m512 w = _mm512_loadu_ps(b + 16 * q);
            for (int i = 0; i < 4; ++i)
                sum[i][q] = _mm512_fmadd_ps(_mm512_set1_ps(a[(size_t)i * rank + m]), w, sum[i][q]);
        }
    for (int i = 0; i < 4; ++i)
        for (int q = 0; q < 4; ++q)
            _mm512_storeu_ps(to[i] + 16 * q, sum[i][q]);
}

static void outer_one(const float *a, size_t rank, const float *b, float *to)
{
    __m512 sum[4];
    for (int q = 0; q < 4; ++q)
        sum[q] = _mm512_loadu_ps(to + 16 * q);
    for (size_t m = 0; m < rank; ++m, b += TNP_PANEL)
        for (int q = 0; q < 4; ++q)
            sum[q] = _mm512_fmadd_ps(_mm512_set1_ps(a[m]), _mm512_loadu_ps(b + 16 * q), sum[q]);
    for (int q = 0; q < 4; ++q)
        _mm512_storeu_ps(to + 16 * q, sum[q]);
}

static void outer_add(const float *a, const uint16_t *place, size_t n, size_t rank, const float *b, float *tile)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        float *const to[4] = {tile + (size_t)place[i] * TNP_PANEL, tile + (size_t)place[i + 1] * TNP_PANEL,
                              tile + (size_t)place[i + 2] * TNP_PANEL, tile + (size_t)place[i + 3] * TNP_PANEL};
        outer_four(a + i * rank, rank, b, to);
    }
    for (; i < n; ++i)
        outer_one(a + i * rank, rank, b, tile + (size_t)place[i] * TNP_PANEL);
}

const tnp_simd *tnp_simd_avx512(void)
{
    static const tnp_simd table = TNP_SIMD_TABLE("avx512", pair_products);
    return &table;
}

const tnp_simd *tnp_simd_vnni(void)
{
    static const tnp_simd table = TNP_SIMD_TABLE("avx512 vnni", tnp_pair_products_vnni);
    return &table;
}
#else
const tnp_simd *tnp_simd_avx512(void)
{
    return 0;
}

const tnp_simd *tnp_simd_vnni(void)
{
    return 0;
}
#endif
