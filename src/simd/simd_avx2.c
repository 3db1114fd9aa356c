/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels for AVX2 with FMA and half-precision conversion: four doubles a register, so the eight lanes of a
 * tridiagonal solve are solved as two halves. An empty table elsewhere. */
#include "simd/simd.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "simd/simd_coarse.h"
#include "simd/simd_lanes.h"
#include "simd/simd_pairs.h"
#include "simd/simd_mixture.h"
#include <immintrin.h>
#include <math.h>

static void half_to_float(const uint16_t *in, float *out, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(in + i))));
    for (; i < n; ++i)
        out[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(in[i])));
}

static double add_up(__m256d x)
{
    __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

static __m256d low_half(__m256 x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}

static __m256d high_half(__m256 x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

static __m256 magnitude(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

static double sum_squares(const float *x, size_t n)
{
    __m256d a = _mm256_setzero_pd(), b = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        __m256d lo = low_half(v), hi = high_half(v);
        a = _mm256_fmadd_pd(lo, lo, a);
        b = _mm256_fmadd_pd(hi, hi, b);
    }
    double sum = add_up(_mm256_add_pd(a, b));
    for (; i < n; ++i)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static double sum_abs(const float *x, size_t n)
{
    __m256d a = _mm256_setzero_pd(), b = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = magnitude(_mm256_loadu_ps(x + i));
        a = _mm256_add_pd(a, low_half(v));
        b = _mm256_add_pd(b, high_half(v));
    }
    double sum = add_up(_mm256_add_pd(a, b));
    for (; i < n; ++i)
        sum += fabs((double)x[i]);
    return sum;
}

static void add_to_double(const float *x, double *acc, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        _mm256_storeu_pd(acc + i, _mm256_add_pd(_mm256_loadu_pd(acc + i), low_half(v)));
        _mm256_storeu_pd(acc + i + 4, _mm256_add_pd(_mm256_loadu_pd(acc + i + 4), high_half(v)));
    }
    for (; i < n; ++i)
        acc[i] += (double)x[i];
}

static void shift_scale(const float *x, const float *shift, float scale, float *y, size_t n)
{
    const __m256 factor = _mm256_set1_ps(scale);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_sub_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(shift + i));
        _mm256_storeu_ps(y + i, _mm256_mul_ps(v, factor));
    }
    for (; i < n; ++i)
        y[i] = (x[i] - shift[i]) * scale;
}

static void scale(const float *x, float factor, float *y, size_t n)
{
    const __m256 wide = _mm256_set1_ps(factor);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), wide));
    for (; i < n; ++i)
        y[i] = x[i] * factor;
}

static void scale_root(const float *x, float factor, float *y, size_t n)
{
    const __m256 wide = _mm256_set1_ps(factor), flag = _mm256_set1_ps(-0.0f);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i), root = _mm256_sqrt_ps(magnitude(v));
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_or_ps(root, _mm256_and_ps(flag, v)), wide));
    }
    for (; i < n; ++i)
        y[i] = copysignf(sqrtf(fabsf(x[i])), x[i]) * factor;
}

static double add_lanes(__m256 x)
{
    return add_up(_mm256_add_pd(low_half(x), high_half(x)));
}

static double dot(const float *x, const float *y, size_t n)
{
    __m256 a = _mm256_setzero_ps(), b = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        a = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), a);
        b = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8), _mm256_loadu_ps(y + i + 8), b);
    }
    double sum = add_lanes(_mm256_add_ps(a, b));
    for (; i < n; ++i)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static double weighted_squares(const float *x, const float *w, size_t n)
{
    __m256 a = _mm256_setzero_ps(), b = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256 u = _mm256_loadu_ps(x + i), v = _mm256_loadu_ps(x + i + 8);
        a = _mm256_fmadd_ps(_mm256_mul_ps(u, u), _mm256_loadu_ps(w + i), a);
        b = _mm256_fmadd_ps(_mm256_mul_ps(v, v), _mm256_loadu_ps(w + i + 8), b);
    }
    double sum = add_lanes(_mm256_add_ps(a, b));
    for (; i < n; ++i)
        sum += (double)x[i] * (double)x[i] * (double)w[i];
    return sum;
}

static void add_scaled(float a, const float *x, float *y, size_t n)
{
    const __m256 factor = _mm256_set1_ps(a);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(factor, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
    for (; i < n; ++i)
        y[i] += a * x[i];
}

static void confident_move(const float *x, float a, float b, float late, float *mu, float *u, float *sigma, size_t n)
{
    const __m256 va = _mm256_set1_ps(a), vb = _mm256_set1_ps(b), vlate = _mm256_set1_ps(late), one = _mm256_set1_ps(1);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i), s = _mm256_loadu_ps(sigma + i);
        __m256 sx = _mm256_mul_ps(s, v), d = _mm256_mul_ps(va, sx);
        _mm256_storeu_ps(mu + i, _mm256_add_ps(_mm256_loadu_ps(mu + i), d));
        if (u)
            _mm256_storeu_ps(u + i, _mm256_fmadd_ps(vlate, d, _mm256_loadu_ps(u + i)));
        _mm256_storeu_ps(sigma + i, _mm256_div_ps(s, _mm256_fmadd_ps(_mm256_mul_ps(vb, sx), v, one)));
    }
    for (; i < n; ++i) {
        float sx = sigma[i] * x[i], d = a * sx;
        mu[i] += d;
        if (u)
            u[i] += late * d;
        sigma[i] /= 1 + b * sx * x[i];
    }
}

/* The comparison is false for NaN. */
static bool all_within(const float *x, size_t n, float most)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        if (_mm256_movemask_ps(_mm256_cmp_ps(magnitude(_mm256_loadu_ps(x + i)), _mm256_set1_ps(most), _CMP_LE_OQ)) !=
            0xff)
            return false;
    for (; i < n; ++i)
        if (!(fabsf(x[i]) <= most))
            return false;
    return true;
}

/* exp of x <= 0: 2^k exp(r) with |r| <= ln 2 / 2; Taylor's polynomial of degree 7 leaves 5e-9. */
static __m256 exp_below(__m256 x)
{
    x = _mm256_max_ps(x, _mm256_set1_ps(-87));
    __m256 k =
        _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(k, _mm256_set1_ps(0x1.62e43p-1f), x);
    r = _mm256_fnmadd_ps(k, _mm256_set1_ps(-0x1.05c610p-29f), r);
    __m256 e = _mm256_set1_ps(1.0f / 5040);
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 720));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 120));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 24));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1.0f / 6));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(0.5f));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1));
    e = _mm256_fmadd_ps(e, r, _mm256_set1_ps(1));
    __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(k), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(e, _mm256_castsi256_ps(power));
}

static float largest(const float *s, size_t n)
{
    __m256 wide = _mm256_set1_ps(s[0]);
    float lanes[8];
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        wide = _mm256_max_ps(wide, _mm256_loadu_ps(s + i));
    _mm256_storeu_ps(lanes, wide);
    float most = lanes[0];
    for (size_t l = 1; l < 8; ++l)
        most = lanes[l] > most ? lanes[l] : most;
    for (; i < n; ++i)
        most = s[i] > most ? s[i] : most;
    return most;
}

static double softmax(const float *s, float *p, size_t n)
{
    float most = largest(s, n), rest[8];
    const __m256 shift = _mm256_set1_ps(most);
    __m256d a = _mm256_setzero_pd(), b = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 e = exp_below(_mm256_sub_ps(_mm256_loadu_ps(s + i), shift));
        _mm256_storeu_ps(p + i, e);
        a = _mm256_add_pd(a, low_half(e));
        b = _mm256_add_pd(b, high_half(e));
    }
    double sum = add_up(_mm256_add_pd(a, b));
    for (size_t l = 0; l < 8; ++l)
        rest[l] = i + l < n ? s[i + l] : most;
    _mm256_storeu_ps(rest, exp_below(_mm256_sub_ps(_mm256_loadu_ps(rest), shift)));
    for (size_t l = 0; i + l < n; ++l) {
        p[i + l] = rest[l];
        sum += (double)rest[l];
    }
    float scale = (float)(1 / sum);
    for (i = 0; i + 8 <= n; i += 8)
        _mm256_storeu_ps(p + i, _mm256_mul_ps(_mm256_loadu_ps(p + i), _mm256_set1_ps(scale)));
    for (; i < n; ++i)
        p[i] *= scale;
    return (double)most + log(sum);
}

static void moments(const float *p, const float *z, size_t n, double *out)
{
    __m256d a = _mm256_setzero_pd(), b = _mm256_setzero_pd();
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(z + i)),
                first = _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(p + i)), x);
        a = _mm256_add_pd(a, first);
        b = _mm256_fmadd_pd(first, x, b);
    }
    out[0] = add_up(a);
    out[1] = add_up(b);
    for (; i < n; ++i) {
        double first = (double)p[i] * (double)z[i];
        out[0] += first;
        out[1] += first * (double)z[i];
    }
}

/* One half of the lanes; the recurrences are in simd_scalar.c. */
static void solve_half(size_t n, const double *diag, const double *off, const double *lambda, const double *h,
                       double *u, double *pivot, double *out_hu, double *out_uu, double *out_utu)
{
    const __m256d one = _mm256_set1_pd(1), shift = _mm256_loadu_pd(lambda);
    __m256d inverse = _mm256_setzero_pd(), g = _mm256_setzero_pd(), hu = _mm256_setzero_pd();
    for (size_t i = 0; i < n; ++i) {
        __m256d e = _mm256_set1_pd(i ? off[i - 1] : 0), ratio = _mm256_mul_pd(e, inverse);
        g = _mm256_fnmadd_pd(ratio, g, _mm256_loadu_pd(h + i * TNP_LANES));
        inverse = _mm256_div_pd(one, _mm256_fnmadd_pd(e, ratio, _mm256_add_pd(_mm256_set1_pd(diag[i]), shift)));
        hu = _mm256_fmadd_pd(_mm256_mul_pd(g, g), inverse, hu);
        _mm256_storeu_pd(u + i * TNP_LANES, g);
        _mm256_storeu_pd(pivot + i * TNP_LANES, inverse);
    }
    __m256d next = _mm256_setzero_pd(), uu = _mm256_setzero_pd(), utu = _mm256_setzero_pd();
    for (size_t i = n; i-- > 0;) {
        __m256d e = _mm256_set1_pd(i + 1 < n ? off[i] : 0), cross = _mm256_mul_pd(e, next);
        __m256d value = _mm256_sub_pd(_mm256_loadu_pd(u + i * TNP_LANES), cross);
        value = _mm256_mul_pd(value, _mm256_loadu_pd(pivot + i * TNP_LANES));
        uu = _mm256_fmadd_pd(value, value, uu);
        cross = _mm256_fmadd_pd(_mm256_set1_pd(diag[i]), value, _mm256_add_pd(cross, cross));
        utu = _mm256_fmadd_pd(value, cross, utu);
        _mm256_storeu_pd(u + i * TNP_LANES, value);
        next = value;
    }
    _mm256_storeu_pd(out_hu, hu);
    _mm256_storeu_pd(out_uu, uu);
    _mm256_storeu_pd(out_utu, utu);
}

static void tri_solve(size_t n, const double *diag, const double *off, const double *lambda, const double *h, double *u,
                      double *pivot, tnp_tri_out *out)
{
    for (int half = 0; half < TNP_LANES; half += 4)
        solve_half(n, diag, off, lambda + half, h + half, u + half, pivot + half, out->hu + half, out->uu + half,
                   out->utu + half);
}

static void known_half(size_t n, const double *diag, const double *off, const double *inverse, const double *h,
                       double *u, double *out_hu, double *out_uu, double *out_utu)
{
    __m256d g = _mm256_setzero_pd(), hu = _mm256_setzero_pd();
    for (size_t i = 0; i < n; ++i) {
        __m256d ratio = _mm256_set1_pd(i ? off[i - 1] * inverse[i - 1] : 0);
        g = _mm256_fnmadd_pd(ratio, g, _mm256_loadu_pd(h + i * TNP_LANES));
        hu = _mm256_fmadd_pd(_mm256_mul_pd(g, g), _mm256_set1_pd(inverse[i]), hu);
        _mm256_storeu_pd(u + i * TNP_LANES, g);
    }
    __m256d next = _mm256_setzero_pd(), uu = _mm256_setzero_pd(), utu = _mm256_setzero_pd();
    for (size_t i = n; i-- > 0;) {
        __m256d cross = _mm256_mul_pd(_mm256_set1_pd(i + 1 < n ? off[i] : 0), next);
        __m256d value = _mm256_sub_pd(_mm256_loadu_pd(u + i * TNP_LANES), cross);
        value = _mm256_mul_pd(value, _mm256_set1_pd(inverse[i]));
        uu = _mm256_fmadd_pd(value, value, uu);
        cross = _mm256_fmadd_pd(_mm256_set1_pd(diag[i]), value, _mm256_add_pd(cross, cross));
        utu = _mm256_fmadd_pd(value, cross, utu);
        _mm256_storeu_pd(u + i * TNP_LANES, value);
        next = value;
    }
    _mm256_storeu_pd(out_hu, hu);
    _mm256_storeu_pd(out_uu, uu);
    _mm256_storeu_pd(out_utu, utu);
}

static void tri_solve_known(size_t n, const double *diag, const double *off, const double *inverse, const double *h,
                            double *u, tnp_tri_out *out)
{
    for (int half = 0; half < TNP_LANES; half += 4)
        known_half(n, diag, off, inverse, h + half, u + half, out->hu + half, out->uu + half, out->utu + half);
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

/* The first `count` of eight lanes. */
static __m256i first_lanes(size_t count)
{
    static const int32_t edge[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(edge + 8 - count));
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
    size_t i = 0;
    for (; i < count && pad == 8 && out + 8 <= end; ++i, out += rank)
        _mm256_storeu_ps(out, between(knots->rows + begin[i], 8, a[i], b[i]));
    for (; i < count && out + pad <= end; ++i, out += rank)
        for (size_t k = 0; k < pad; k += 8)
            _mm256_storeu_ps(out + k, between(knots->rows + begin[i] + k, pad, a[i], b[i]));
    for (; i < count; ++i, out += rank)
        for (size_t k = 0; k < pad; k += 8)
            _mm256_maskstore_ps(out + k, first_lanes(rank - k < 8 ? rank - k : 8),
                                between(knots->rows + begin[i] + k, pad, a[i], b[i]));
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
        __m256 v = _mm256_mul_ps(_mm256_maskload_ps(x + j, first_lanes(count)), _mm256_set1_ps(factor));
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
    static const tnp_simd table = {
        .name = "avx2",
        .half_to_float = half_to_float,
        .sum_squares = sum_squares,
        .sum_abs = sum_abs,
        .add_to_double = add_to_double,
        .shift_scale = shift_scale,
        .scale = scale,
        .scale_root = scale_root,
        .dot = dot,
        .weighted_squares = weighted_squares,
        .add_scaled = add_scaled,
        .confident_move = confident_move,
        .all_within = all_within,
        .softmax = softmax,
        .moments = moments,
        .tri_solve = tri_solve,
        .tri_solve_known = tri_solve_known,
        .nearest = nearest,
        .map_entries = map_entries,
        .outer_add = outer_add,
        .tile_products = tile_products,
        .centred_products = centred_products,
        .greedy_gains = greedy_gains,
        .descend = descend,
        .largest_size = largest_size,
        .round_steps = round_steps,
        .pair_products = pair_products,
        .highest_floor = highest_floor,
        .may_reach = may_reach,
        .patches = &patch_loops,
        .mixtures = &mixture_loops,
    };
    return &table;
}
#else
const tnp_simd *tnp_simd_avx2(void)
{
    return 0;
}
#endif
