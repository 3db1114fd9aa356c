/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words for the registers of AVX-512 or of AVX2, whichever the file that includes them is compiled for: `reg` holds REG
 * floats, `wide` WIDE doubles. Sums, products and quotients are the compiler's own operators on vectors. */
#ifndef TNP_SIMD_REG_H
#define TNP_SIMD_REG_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
typedef __m512 reg;
typedef __m512d wide;
#define OF_FLOATS(name) _mm512_##name##_ps
#define OF_DOUBLES(name) _mm512_##name##_pd

static inline __mmask16 lanes_of(size_t left)
{
    return (__mmask16)(left >= 16 ? 0xffffu : (1u << left) - 1u);
}

/* The first `left` values, or all where there are more; other lanes as in `otherwise`. */
static inline reg load_over(reg otherwise, const float *x, size_t left)
{
    return _mm512_mask_loadu_ps(otherwise, lanes_of(left), x);
}

static inline void store_some(float *x, size_t left, reg v)
{
    _mm512_mask_storeu_ps(x, lanes_of(left), v);
}

static inline wide high_half(reg x)
{
    return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
}

static inline wide low_half(reg x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}

static inline double add_up(wide x)
{
    return _mm512_reduce_add_pd(x);
}

static inline float largest_lane(reg x)
{
    return _mm512_reduce_max_ps(x);
}

/* 2^k, k whole and from -126 on. */
static inline reg times_power(reg e, reg k)
{
    return _mm512_scalef_ps(e, k);
}

static inline reg nearest_whole(reg x)
{
    return _mm512_cvtepi32_ps(_mm512_cvtps_epi32(x));
}

static inline wide nearest_whole_wide(wide x)
{
    return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* 2^k, k whole and from -1022 on. */
static inline wide times_power_wide(wide e, wide k)
{
    return _mm512_scalef_pd(e, k);
}

/* yes where x > y, else no. */
static inline reg where_above(reg x, reg y, reg yes, reg no)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_GT_OQ), no, yes);
}

/* The comparison is false for NaN. */
static inline bool all_at_most(reg x, float most)
{
    return _mm512_cmp_ps_mask(x, _mm512_set1_ps(most), _CMP_LE_OQ) == 0xffff;
}

#else
typedef __m256 reg;
typedef __m256d wide;
#define OF_FLOATS(name) _mm256_##name##_ps
#define OF_DOUBLES(name) _mm256_##name##_pd

static inline __m256i lanes_of(size_t left)
{
    static const int32_t edge[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(edge + 8 - (left < 8 ? left : 8)));
}

static inline reg load_over(reg otherwise, const float *x, size_t left)
{
    __m256i lanes = lanes_of(left);
    return _mm256_blendv_ps(otherwise, _mm256_maskload_ps(x, lanes), _mm256_castsi256_ps(lanes));
}

static inline void store_some(float *x, size_t left, reg v)
{
    if (left >= 8)
        _mm256_storeu_ps(x, v);
    else
        _mm256_maskstore_ps(x, lanes_of(left), v);
}

static inline wide high_half(reg x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

static inline wide low_half(reg x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}

static inline double add_up(wide x)
{
    __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

static inline float largest_lane(reg x)
{
    float lanes[8], most;
    _mm256_storeu_ps(lanes, x);
    most = lanes[0];
    for (size_t l = 1; l < 8; ++l)
        most = lanes[l] > most ? lanes[l] : most;
    return most;
}

static inline reg times_power(reg e, reg k)
{
    __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(k), _mm256_set1_epi32(127)), 23);
    return e * _mm256_castsi256_ps(power);
}

static inline reg nearest_whole(reg x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline wide nearest_whole_wide(wide x)
{
    return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline wide times_power_wide(wide e, wide k)
{
    __m256i power = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(k));
    return e * _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi64(power, _mm256_set1_epi64x(1023)), 52));
}

static inline reg where_above(reg x, reg y, reg yes, reg no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(x, y, _CMP_GT_OQ));
}

static inline bool all_at_most(reg x, float most)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_set1_ps(most), _CMP_LE_OQ)) == 0xff;
}
#endif

enum { REG = sizeof(reg) / sizeof(float), WIDE = sizeof(wide) / sizeof(double) };

static inline reg all_lanes(float x)
{
    return OF_FLOATS(set1)(x);
}

static inline reg load(const float *x)
{
    return OF_FLOATS(loadu)(x);
}

static inline void store(float *x, reg v)
{
    OF_FLOATS(storeu)(x, v);
}

/* As load_over, 0 in the other lanes. */
static inline reg load_some(const float *x, size_t left)
{
    return left >= REG ? load(x) : load_over(OF_FLOATS(setzero)(), x, left);
}

/* a b + c, and c - a b, rounded once. */
static inline reg fused(reg a, reg b, reg c)
{
    return OF_FLOATS(fmadd)(a, b, c);
}

static inline reg less_product(reg a, reg b, reg c)
{
    return OF_FLOATS(fnmadd)(a, b, c);
}

static inline reg larger(reg a, reg b)
{
    return OF_FLOATS(max)(a, b);
}

static inline wide larger_wide(wide a, wide b)
{
    return OF_DOUBLES(max)(a, b);
}

static inline wide all_wide(double x)
{
    return OF_DOUBLES(set1)(x);
}

static inline wide load_wide(const double *x)
{
    return OF_DOUBLES(loadu)(x);
}

static inline void store_wide(double *x, wide v)
{
    OF_DOUBLES(storeu)(x, v);
}

static inline wide fused_wide(wide a, wide b, wide c)
{
    return OF_DOUBLES(fmadd)(a, b, c);
}

static inline wide less_product_wide(wide a, wide b, wide c)
{
    return OF_DOUBLES(fnmadd)(a, b, c);
}

#endif
