/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels for AVX2 with FMA and half-precision conversion: four doubles per register, so the eight lanes of a
 * tridiagonal solve are solved as two halves. An empty table elsewhere. What AVX-512 has in the same words is in
 * simd_loops.h. */
#include "simd/simd.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
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
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(in + i))));
    for (; i < n; ++i)
        out[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(in[i])));
}

/* The lowest code among the lanes that hold the least distance. */
static void take_nearest(__m256 best, __m256i at, uint8_t *code, float *distance)
{
    float far[8];
    int32_t place[8];
    _mm256_storeu_ps(far, best);
    _mm256_storeu_si256((__m256i *)(void *)place, at);
    size_t least = 0;
    for (size_t l = 1; l < 8; ++l)
        if (far[l] < far[least] || (far[l] == far[least] && place[l] < place[least]))
            least = l;
    *code = (uint8_t)place[least];
    *distance = far[least];
}

/* Two rows at a time, so that a centroid's values are loaded once for both; the second repeats the last row of an odd
 * number of them. */
static void nearest(const float *x, size_t stride, size_t n, size_t d, const float *lanes, size_t count, uint8_t *code,
                    size_t step, float *distance)
{
    const __m256i first = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    for (size_t i = 0; i < n; i += 2) {
        const float *row[2] = {x + i * stride, x + (i + 1 < n ? i + 1 : i) * stride};
        __m256 best[2] = {_mm256_set1_ps(INFINITY), _mm256_set1_ps(INFINITY)};
        __m256i at[2] = {first, first};
        for (size_t c = 0; c < count; c += 8) {
            __m256 far[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
            for (size_t j = 0; j < d; ++j) {
                __m256 center = _mm256_loadu_ps(lanes + j * TNP_CODES + c);
                for (size_t r = 0; r < 2; ++r) {
                    __m256 gap = _mm256_sub_ps(_mm256_set1_ps(row[r][j]), center);
                    far[r] = _mm256_fmadd_ps(gap, gap, far[r]);
                }
            }
            __m256 here = _mm256_castsi256_ps(_mm256_add_epi32(first, _mm256_set1_epi32((int)c)));
            for (size_t r = 0; r < 2; ++r) {
                __m256 nearer = _mm256_cmp_ps(far[r], best[r], _CMP_LT_OQ);
                best[r] = _mm256_blendv_ps(best[r], far[r], nearer);
                at[r] = _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(at[r]), here, nearer));
            }
        }
        for (size_t r = 0; r < 2 && i + r < n; ++r)
            take_nearest(best[r], at[r], code + (i + r) * step, distance + i + r);
    }
}

/* Eight sizes >= 0: where the low knots of their cells begin, and the places in them. Returns the lanes that have no
 * cell. */
static int find_cells(const tnp_knots *knots, __m256 size, uint32_t *begin, __m256 *place)
{
    __m256i cell, none = _mm256_setzero_si256();
    if (!knots->shift) {
        __m256 at = _mm256_mul_ps(_mm256_min_ps(size, _mm256_set1_ps(1)), _mm256_set1_ps((float)knots->cells));
        cell = _mm256_cvttps_epi32(at);
        *place = _mm256_sub_ps(at, _mm256_cvtepi32_ps(cell));
    } else {
        const __m256i below = _mm256_set1_epi32((1 << knots->shift) - 1), bits = _mm256_castps_si256(size);
        cell = _mm256_sub_epi32(_mm256_srl_epi32(bits, _mm_cvtsi32_si128(knots->shift)),
                                _mm256_set1_epi32((int)knots->first));
        /* unsigned cell < cells: a cell before the first is below zero as a signed number */
        __m256i inside = _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_setzero_si256(), cell),
                                             _mm256_cmpgt_epi32(_mm256_set1_epi32((int)knots->cells), cell));
        none = _mm256_andnot_si256(_mm256_or_si256(inside, _mm256_cmpeq_epi32(bits, _mm256_setzero_si256())),
                                   _mm256_set1_epi32(-1));
        cell = _mm256_and_si256(inside, _mm256_add_epi32(cell, _mm256_set1_epi32(1)));
        *place = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_and_si256(inside, _mm256_and_si256(bits, below))),
                               _mm256_set1_ps(1.0f / (float)(1 << knots->shift)));
    }
    _mm256_storeu_si256((__m256i *)(void *)begin, _mm256_mullo_epi32(cell, _mm256_set1_epi32((int)knots->pad)));
    return _mm256_movemask_ps(_mm256_castsi256_ps(none));
}

/* Eight signed sizes as find_cells finds them: a = 1 - t and b = t, with their signs. Returns how many have no cell. */
static size_t find_weights(const tnp_knots *knots, __m256 v, uint32_t *begin, float *a, float *b)
{
    const __m256 flag = _mm256_set1_ps(-0.0f), one = _mm256_set1_ps(1);
    __m256 place, sign = _mm256_and_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ), flag);
    int none = find_cells(knots, magnitude(v), begin, &place);
    _mm256_storeu_ps(a, _mm256_xor_ps(_mm256_sub_ps(one, place), sign));
    _mm256_storeu_ps(b, _mm256_xor_ps(place, sign));
    return (size_t)__builtin_popcount((unsigned)none);
}

/* Entries [0, count) of a tile. The last eight values of an entry are written whole, since the next entry covers what
 * is too much; where that would go beyond `end` they are masked. */
static float *map_tile(const tnp_knots *knots, const uint32_t *begin, const float *a, const float *b, size_t count,
                       float *out, const float *end)
{
    const size_t rank = knots->rank, pad = knots->pad;
    size_t i = 0;
    for (; i < count && pad == 8 && out + 8 <= end; ++i, out += rank)
        _mm256_storeu_ps(out, between(knots->rows + begin[i], 8, a[i], b[i]));
    for (; i < count && out + pad <= end; ++i, out += rank)
        for (size_t k = 0; k < pad; k += 8)
            _mm256_storeu_ps(out + k, between(knots->rows + begin[i] + k, pad, a[i], b[i]));
    for (; i < count; ++i, out += rank)
        for (size_t k = 0; k < pad; k += 8)
            _mm256_maskstore_ps(out + k, lanes_of(rank - k), between(knots->rows + begin[i] + k, pad, a[i], b[i]));
    return out;
}

static size_t map_entries(const tnp_knots *knots, const float *x, float factor, size_t n, float *out)
{
    const __m256i pairs = _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0);
    const __m256 zero = _mm256_setzero_ps(), flip = _mm256_castsi256_ps(_mm256_set1_epi64x((long long)(1ull << 63)));
    const size_t parts = knots->split ? 2 : 1, step = 8 / parts;
    const float *end = out + n * parts * knots->rank;
    uint32_t begin[8];
    float a[8], b[8];
    size_t outside = 0;
    for (size_t j = 0; j < n; j += step) {
        size_t count = n - j < step ? n - j : step, values = count * parts * knots->rank;
        __m256 v = _mm256_mul_ps(_mm256_maskload_ps(x + j, lanes_of(count)), _mm256_set1_ps(factor));
        if (knots->zero && _mm256_movemask_ps(_mm256_cmp_ps(v, zero, _CMP_NEQ_UQ)) == 0) {
            for (size_t k = 0; k < values; ++k)
                out[k] = 0;
            out += values;
            continue;
        }
        if (knots->split) /* v0, -v0, v1, -v1, ...: their positive parts */
            v = _mm256_max_ps(_mm256_xor_ps(_mm256_permutevar8x32_ps(v, pairs), flip), zero);
        outside += find_weights(knots, v, begin, a, b);
        out = map_tile(knots, begin, a, b, count * parts, out, end);
    }
    return outside;
}

/* Two rows and half a panel: eight sums in registers. The last of an odd number of rows stands for both. */
static void outer_half(const float *a, const float *c, size_t rank, const float *b, float *to, float *other)
{
    __m256 x[4], y[4];
    for (int q = 0; q < 4; ++q) {
        x[q] = _mm256_loadu_ps(to + 8 * q);
        y[q] = _mm256_loadu_ps(other + 8 * q);
    }
    for (size_t m = 0; m < rank; ++m, b += TNP_PANEL) {
        const __m256 u = _mm256_set1_ps(a[m]), v = _mm256_set1_ps(c[m]);
        for (int q = 0; q < 4; ++q) {
            const __m256 w = _mm256_loadu_ps(b + 8 * q);
            x[q] = _mm256_fmadd_ps(u, w, x[q]);
            y[q] = _mm256_fmadd_ps(v, w, y[q]);
        }
    }
    for (int q = 0; q < 4; ++q) {
        _mm256_storeu_ps(other + 8 * q, y[q]);
        _mm256_storeu_ps(to + 8 * q, x[q]);
    }
}

static void outer_add(const float *a, const uint16_t *place, size_t n, size_t rank, const float *b, float *tile)
{
    for (size_t i = 0; i < n; i += 2) {
        size_t k = i + 1 < n ? i + 1 : i;
        float *to = tile + (size_t)place[i] * TNP_PANEL, *other = tile + (size_t)place[k] * TNP_PANEL;
        outer_half(a + i * rank, a + k * rank, rank, b, to, other);
        outer_half(a + i * rank, a + k * rank, rank, b + TNP_PANEL / 2, to + TNP_PANEL / 2, other + TNP_PANEL / 2);
    }
}

const tnp_simd *tnp_simd_avx2(void)
{
    static const tnp_simd table = TNP_SIMD_TABLE("avx2", pair_products);
    return &table;
}
#else
const tnp_simd *tnp_simd_avx2(void)
{
    return 0;
}
#endif
