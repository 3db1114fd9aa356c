/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels for AVX-512: eight doubles a register, so the eight lanes of a tridiagonal solve are one register each.
 * Compiled with -mavx512f; an empty table elsewhere. Tails fall to masked operations, never to reads beyond n. */
#include "simd/simd.h"

#if defined(__AVX512F__)
#include "simd/simd_coarse.h"
#include "simd/simd_lanes.h"
#include "simd/simd_pairs.h"
#include "simd/simd_mixture.h"
#include <immintrin.h>
#include <math.h>

static __mmask16 tail_mask(size_t left)
{
    return (__mmask16)((1u << left) - 1u);
}

static void half_to_float(const uint16_t *in, float *out, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(in + i))));
    if (i < n) {
        uint16_t rest[16] = {0};
        for (size_t j = i; j < n; ++j)
            rest[j - i] = in[j];
        __m512 value = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)rest));
        _mm512_mask_storeu_ps(out + i, tail_mask(n - i), value);
    }
}

static __m512d low_half(__m512 x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}

static __m512d high_half(__m512 x)
{
    return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
}

static double sum_squares(const float *x, size_t n)
{
    __m512d a = _mm512_setzero_pd(), b = _mm512_setzero_pd();
    for (size_t i = 0; i < n; i += 16) {
        __m512 v = n - i >= 16 ? _mm512_loadu_ps(x + i) : _mm512_maskz_loadu_ps(tail_mask(n - i), x + i);
        __m512d lo = low_half(v), hi = high_half(v);
        a = _mm512_fmadd_pd(lo, lo, a);
        b = _mm512_fmadd_pd(hi, hi, b);
    }
    return _mm512_reduce_add_pd(_mm512_add_pd(a, b));
}

static double sum_abs(const float *x, size_t n)
{
    __m512d a = _mm512_setzero_pd(), b = _mm512_setzero_pd();
    for (size_t i = 0; i < n; i += 16) {
        __m512 v = n - i >= 16 ? _mm512_loadu_ps(x + i) : _mm512_maskz_loadu_ps(tail_mask(n - i), x + i);
        v = _mm512_abs_ps(v);
        a = _mm512_add_pd(a, low_half(v));
        b = _mm512_add_pd(b, high_half(v));
    }
    return _mm512_reduce_add_pd(_mm512_add_pd(a, b));
}

static void add_to_double(const float *x, double *acc, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 v = _mm512_loadu_ps(x + i);
        _mm512_storeu_pd(acc + i, _mm512_add_pd(_mm512_loadu_pd(acc + i), low_half(v)));
        _mm512_storeu_pd(acc + i + 8, _mm512_add_pd(_mm512_loadu_pd(acc + i + 8), high_half(v)));
    }
    for (; i < n; ++i)
        acc[i] += (double)x[i];
}

static void shift_scale(const float *x, const float *shift, float scale, float *y, size_t n)
{
    const __m512 factor = _mm512_set1_ps(scale);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 v = _mm512_sub_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(shift + i));
        _mm512_storeu_ps(y + i, _mm512_mul_ps(v, factor));
    }
    for (; i < n; ++i)
        y[i] = (x[i] - shift[i]) * scale;
}

static void scale(const float *x, float factor, float *y, size_t n)
{
    const __m512 wide = _mm512_set1_ps(factor);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = n - i >= 16 ? 0xffff : tail_mask(n - i);
        _mm512_mask_storeu_ps(y + i, m, _mm512_mul_ps(_mm512_maskz_loadu_ps(m, x + i), wide));
    }
}

static void scale_root(const float *x, float factor, float *y, size_t n)
{
    const __m512 wide = _mm512_set1_ps(factor), flag = _mm512_set1_ps(-0.0f);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = n - i >= 16 ? 0xffff : tail_mask(n - i);
        __m512 v = _mm512_maskz_loadu_ps(m, x + i), root = _mm512_sqrt_ps(_mm512_andnot_ps(flag, v));
        _mm512_mask_storeu_ps(y + i, m, _mm512_mul_ps(_mm512_or_ps(root, _mm512_and_ps(flag, v)), wide));
    }
}

static double add_lanes(__m512 x)
{
    return _mm512_reduce_add_pd(_mm512_add_pd(low_half(x), high_half(x)));
}

static double dot(const float *x, const float *y, size_t n)
{
    __m512 a = _mm512_setzero_ps(), b = _mm512_setzero_ps();
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        a = _mm512_fmadd_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(y + i), a);
        b = _mm512_fmadd_ps(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(y + i + 16), b);
    }
    double sum = add_lanes(_mm512_add_ps(a, b));
    for (; i < n; ++i)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static double weighted_squares(const float *x, const float *w, size_t n)
{
    __m512 a = _mm512_setzero_ps(), b = _mm512_setzero_ps();
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m512 u = _mm512_loadu_ps(x + i), v = _mm512_loadu_ps(x + i + 16);
        a = _mm512_fmadd_ps(_mm512_mul_ps(u, u), _mm512_loadu_ps(w + i), a);
        b = _mm512_fmadd_ps(_mm512_mul_ps(v, v), _mm512_loadu_ps(w + i + 16), b);
    }
    double sum = add_lanes(_mm512_add_ps(a, b));
    for (; i < n; ++i)
        sum += (double)x[i] * (double)x[i] * (double)w[i];
    return sum;
}

static void add_scaled(float a, const float *x, float *y, size_t n)
{
    const __m512 factor = _mm512_set1_ps(a);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = n - i >= 16 ? 0xffff : tail_mask(n - i);
        __m512 v = _mm512_maskz_loadu_ps(m, x + i);
        _mm512_mask_storeu_ps(y + i, m, _mm512_fmadd_ps(factor, v, _mm512_maskz_loadu_ps(m, y + i)));
    }
}

static void confident_move(const float *x, float a, float b, float late, float *mu, float *u, float *sigma, size_t n)
{
    const __m512 va = _mm512_set1_ps(a), vb = _mm512_set1_ps(b), vlate = _mm512_set1_ps(late), one = _mm512_set1_ps(1);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = n - i >= 16 ? 0xffff : tail_mask(n - i);
        __m512 v = _mm512_maskz_loadu_ps(m, x + i), s = _mm512_maskz_loadu_ps(m, sigma + i);
        __m512 sx = _mm512_mul_ps(s, v), d = _mm512_mul_ps(va, sx);
        _mm512_mask_storeu_ps(mu + i, m, _mm512_add_ps(_mm512_maskz_loadu_ps(m, mu + i), d));
        if (u)
            _mm512_mask_storeu_ps(u + i, m, _mm512_fmadd_ps(vlate, d, _mm512_maskz_loadu_ps(m, u + i)));
        _mm512_mask_storeu_ps(sigma + i, m, _mm512_div_ps(s, _mm512_fmadd_ps(_mm512_mul_ps(vb, sx), v, one)));
    }
}

/* The comparison is false for NaN. */
static bool all_within(const float *x, size_t n, float most)
{
    for (size_t i = 0; i < n; i += 16) {
        __m512 v = n - i >= 16 ? _mm512_loadu_ps(x + i) : _mm512_maskz_loadu_ps(tail_mask(n - i), x + i);
        if (_mm512_cmp_ps_mask(_mm512_abs_ps(v), _mm512_set1_ps(most), _CMP_LE_OQ) != 0xffff)
            return false;
    }
    return true;
}

/* exp of x <= 0: 2^k exp(r) with |r| <= ln 2 / 2; Taylor's polynomial of degree 7 leaves 5e-9. */
static __m512 exp_below(__m512 x)
{
    x = _mm512_max_ps(x, _mm512_set1_ps(-87));
    __m512 k = _mm512_cvtepi32_ps(_mm512_cvtps_epi32(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f))));
    __m512 r = _mm512_fnmadd_ps(k, _mm512_set1_ps(0x1.62e43p-1f), x);
    r = _mm512_fnmadd_ps(k, _mm512_set1_ps(-0x1.05c610p-29f), r);
    __m512 e = _mm512_set1_ps(1.0f / 5040);
    e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1.0f / 720));
    e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1.0f / 120));
    e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1.0f / 24));
    e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1.0f / 6));
    e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(0.5f));
    e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1));
    e = _mm512_fmadd_ps(e, r, _mm512_set1_ps(1));
    return _mm512_scalef_ps(e, k);
}

static __mmask16 lanes_of(size_t left)
{
    return left >= 16 ? (__mmask16)0xffff : tail_mask(left);
}

static double softmax(const float *s, float *p, size_t n)
{
    __m512 wide = _mm512_set1_ps(s[0]);
    for (size_t i = 0; i < n; i += 16)
        wide = _mm512_max_ps(wide, _mm512_mask_loadu_ps(wide, lanes_of(n - i), s + i));
    float most = _mm512_reduce_max_ps(wide);
    const __m512 shift = _mm512_set1_ps(most);
    __m512d a = _mm512_setzero_pd(), b = _mm512_setzero_pd();
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 mask = lanes_of(n - i);
        __m512 e = _mm512_maskz_mov_ps(mask, exp_below(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, s + i), shift)));
        _mm512_mask_storeu_ps(p + i, mask, e);
        a = _mm512_add_pd(a, low_half(e));
        b = _mm512_add_pd(b, high_half(e));
    }
    double sum = _mm512_reduce_add_pd(_mm512_add_pd(a, b));
    const __m512 scale = _mm512_set1_ps((float)(1 / sum));
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 mask = lanes_of(n - i);
        _mm512_mask_storeu_ps(p + i, mask, _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, p + i), scale));
    }
    return (double)most + log(sum);
}

static void moments(const float *p, const float *z, size_t n, double *out)
{
    __m512d a = _mm512_setzero_pd(), b = a, c = a, d = a;
    for (size_t i = 0; i < n; i += 16) {
        __m512 weight = _mm512_maskz_loadu_ps(lanes_of(n - i), p + i),
               x = _mm512_maskz_loadu_ps(lanes_of(n - i), z + i);
        __m512d low = _mm512_mul_pd(low_half(weight), low_half(x)),
                high = _mm512_mul_pd(high_half(weight), high_half(x));
        a = _mm512_add_pd(a, low);
        b = _mm512_add_pd(b, high);
        c = _mm512_fmadd_pd(low, low_half(x), c);
        d = _mm512_fmadd_pd(high, high_half(x), d);
    }
    out[0] = _mm512_reduce_add_pd(_mm512_add_pd(a, b));
    out[1] = _mm512_reduce_add_pd(_mm512_add_pd(c, d));
}

/* The recurrences are in simd_scalar.c. The division's latency bounds the way down; the way back is free of it. */
static void tri_solve(size_t n, const double *diag, const double *off, const double *lambda, const double *h, double *u,
                      double *pivot, tnp_tri_out *out)
{
    const __m512d one = _mm512_set1_pd(1), shift = _mm512_loadu_pd(lambda);
    __m512d inverse = _mm512_setzero_pd(), g = _mm512_setzero_pd(), hu = _mm512_setzero_pd();
    for (size_t i = 0; i < n; ++i) {
        __m512d e = _mm512_set1_pd(i ? off[i - 1] : 0), ratio = _mm512_mul_pd(e, inverse);
        g = _mm512_fnmadd_pd(ratio, g, _mm512_loadu_pd(h + i * TNP_LANES));
        inverse = _mm512_div_pd(one, _mm512_fnmadd_pd(e, ratio, _mm512_add_pd(_mm512_set1_pd(diag[i]), shift)));
        hu = _mm512_fmadd_pd(_mm512_mul_pd(g, g), inverse, hu);
        _mm512_storeu_pd(u + i * TNP_LANES, g);
        _mm512_storeu_pd(pivot + i * TNP_LANES, inverse);
    }
    __m512d next = _mm512_setzero_pd(), uu = _mm512_setzero_pd(), utu = _mm512_setzero_pd();
    for (size_t i = n; i-- > 0;) {
        __m512d e = _mm512_set1_pd(i + 1 < n ? off[i] : 0), cross = _mm512_mul_pd(e, next);
        __m512d value = _mm512_sub_pd(_mm512_loadu_pd(u + i * TNP_LANES), cross);
        value = _mm512_mul_pd(value, _mm512_loadu_pd(pivot + i * TNP_LANES));
        uu = _mm512_fmadd_pd(value, value, uu);
        cross = _mm512_fmadd_pd(_mm512_set1_pd(diag[i]), value, _mm512_add_pd(cross, cross));
        utu = _mm512_fmadd_pd(value, cross, utu);
        _mm512_storeu_pd(u + i * TNP_LANES, value);
        next = value;
    }
    _mm512_storeu_pd(out->hu, hu);
    _mm512_storeu_pd(out->uu, uu);
    _mm512_storeu_pd(out->utu, utu);
}

static void tri_solve_known(size_t n, const double *diag, const double *off, const double *inverse, const double *h,
                            double *u, tnp_tri_out *out)
{
    __m512d g = _mm512_setzero_pd(), hu = _mm512_setzero_pd();
    for (size_t i = 0; i < n; ++i) {
        __m512d ratio = _mm512_set1_pd(i ? off[i - 1] * inverse[i - 1] : 0);
        g = _mm512_fnmadd_pd(ratio, g, _mm512_loadu_pd(h + i * TNP_LANES));
        hu = _mm512_fmadd_pd(_mm512_mul_pd(g, g), _mm512_set1_pd(inverse[i]), hu);
        _mm512_storeu_pd(u + i * TNP_LANES, g);
    }
    __m512d next = _mm512_setzero_pd(), uu = _mm512_setzero_pd(), utu = _mm512_setzero_pd();
    for (size_t i = n; i-- > 0;) {
        __m512d cross = _mm512_mul_pd(_mm512_set1_pd(i + 1 < n ? off[i] : 0), next);
        __m512d value = _mm512_sub_pd(_mm512_loadu_pd(u + i * TNP_LANES), cross);
        value = _mm512_mul_pd(value, _mm512_set1_pd(inverse[i]));
        uu = _mm512_fmadd_pd(value, value, uu);
        cross = _mm512_fmadd_pd(_mm512_set1_pd(diag[i]), value, _mm512_add_pd(cross, cross));
        utu = _mm512_fmadd_pd(value, cross, utu);
        _mm512_storeu_pd(u + i * TNP_LANES, value);
        next = value;
    }
    _mm512_storeu_pd(out->hu, hu);
    _mm512_storeu_pd(out->uu, uu);
    _mm512_storeu_pd(out->utu, utu);
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

/* Eight values of one entry: a low + b high. */
static __m256 between(const float *low, size_t pad, float a, float b)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(b), _mm256_loadu_ps(low + pad),
                           _mm256_mul_ps(_mm256_set1_ps(a), _mm256_loadu_ps(low)));
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

/* A table; what differs is its name and who multiplies pairs. */
#define TABLE(title, products)                                                                                         \
    {                                                                                                                  \
        .name = title, .pair_products = products, .half_to_float = half_to_float, .sum_squares = sum_squares,          \
        .sum_abs = sum_abs, .add_to_double = add_to_double, .shift_scale = shift_scale, .scale = scale,                \
        .scale_root = scale_root, .dot = dot, .weighted_squares = weighted_squares, .add_scaled = add_scaled,          \
        .confident_move = confident_move, .all_within = all_within, .softmax = softmax, .moments = moments,            \
        .tri_solve = tri_solve, .tri_solve_known = tri_solve_known, .nearest = nearest, .map_entries = map_entries,    \
        .outer_add = outer_add, .tile_products = tile_products, .centred_products = centred_products,                  \
        .greedy_gains = greedy_gains, .descend = descend, .largest_size = largest_size, .round_steps = round_steps,    \
        .highest_floor = highest_floor, .may_reach = may_reach, .patches = &patch_loops, .mixtures = &mixture_loops,   \
    }

const tnp_simd *tnp_simd_avx512(void)
{
    static const tnp_simd table = TABLE("avx512", pair_products);
    return &table;
}

const tnp_simd *tnp_simd_vnni(void)
{
    static const tnp_simd table = TABLE("avx512 vnni", tnp_pair_products_vnni);
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
