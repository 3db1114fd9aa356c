/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of dense descriptors: each file of kernels includes them and so compiles them for its own instruction set. In
 * vectors of the compiler, see simd_lanes.h.
 *
 * A gradient's angle is wanted in eighths of a circle, k + r: k is the octant it lies in, found by three comparisons,
 * and r, or 1 - r in every other octant, is (4/pi) atan(t), t = min(|gx|, |gy|) / max(|gx|, |gy|). Its length is
 * max sqrt(1 + t^2). Both functions of t in [0, 1] are polynomials in t^2, Chebyshev interpolants of degree 6: within
 * 8e-7 and 2e-7. Neither atan2 nor sqrt, which compilers do not vectorise where errno may be asked for. */
#ifndef TNP_SIMD_PATCHES_H
#define TNP_SIMD_PATCHES_H

#include "simd/simd_lanes.h"

#include <math.h>
#include <string.h>
#if defined(__FMA__)
#include <immintrin.h>
#endif

enum { STRETCH = 64 };

/* Gradients as octant k and the two shares of their length. */
static void split_angles(const float *gx, const float *gy, int32_t *octant, float *low, float *high)
{
    for (size_t i = 0; i < STRETCH; ++i) {
        float x = gx[i], y = gy[i], a = x < 0 ? -x : x, b = y < 0 ? -y : y;
        float most = a > b ? a : b, least = a > b ? b : a, t = least / (most + 1e-30F), s = t * t;
        float turn = 0.0103097961F, length = -0.00263583243F;
        turn = turn * s - 0.048066967F;
        turn = turn * s + 0.107919399F;
        turn = turn * s - 0.172367033F;
        turn = turn * s + 0.253311336F;
        turn = turn * s - 0.42434497F;
        turn = (turn * s + 1.27323918F) * t;
        length = length * s + 0.0128877993F;
        length = length * s - 0.0317004634F;
        length = length * s + 0.0603761687F;
        length = length * s - 0.124698893F;
        length = length * s + 0.499984527F;
        length = (length * s + 1.00000008F) * most;
        int32_t left = x<0, steep = b> a, up = y >= 0;
        int32_t k = up ? (left ? 3 - steep : steep) : (left ? 4 + steep : 7 - steep);
        float share = (k & 1 ? 1 - turn : turn) * length;
        octant[i] = k;
        high[i] = share;
        low[i] = length - share;
    }
}

static void patch_orient(const float *before, const float *row, const float *behind, float half, size_t n, float *out)
{
    float along[STRETCH], past[STRETCH], low[STRETCH], high[STRETCH];
    int32_t octant[STRETCH];
    memset(out, 0, n * 8 * sizeof *out);
    for (size_t start = 0; start < n; start += STRETCH) {
        size_t count = n - start < STRETCH ? n - start : STRETCH;
        memset(along, 0, sizeof along);
        memset(past, 0, sizeof past);
        for (size_t i = 0; i < count; ++i)
            past[i] = half * (behind[start + i] - before[start + i]);
        size_t first = start == 0, end = start + count == n ? count - 1 : count;
        for (size_t i = first; i < end; ++i)
            along[i] = 0.5F * (row[start + i + 1] - row[start + i - 1]);
        if (start == 0 && n > 1)
            along[0] = row[1] - row[0];
        if (start + count == n && n > 1)
            along[count - 1] = row[n - 1] - row[n - 2];
        split_angles(past, along, octant, low, high);
        for (size_t i = 0; i < count; ++i) {
            float *at = out + 8 * (start + i);
            at[octant[i]] = low[i];
            at[(octant[i] + 1) & 7] = high[i];
        }
    }
}

typedef float wide_pack __attribute__((vector_size(PACK_BYTES)));
typedef int32_t wide_mask __attribute__((vector_size(PACK_BYTES)));
/* Eight registers of sums: fewer would wait for each other. Each has a name: GCC 12 keeps arrays of them in memory. */
enum { PACK_FLOATS = PACK_BYTES / 4, RUN = 8 * PACK_FLOATS };

static inline wide_pack load_wide_pack(const float *x)
{
    wide_pack v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void store_wide_pack(wide_pack v, float *x)
{
    memcpy(x, &v, sizeof v);
}

/* a b + c, rounded once where the instruction set can. */
static inline wide_pack plus_product(wide_pack a, wide_pack b, wide_pack c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

/* Zero plus x is one more operation: it turns -0 into 0. */
static inline wide_pack all_of(float x)
{
#if defined(__AVX512F__)
    return _mm512_set1_ps(x);
#elif defined(__FMA__)
    return _mm256_set1_ps(x);
#else
    return (wide_pack){x, x, x, x};
#endif
}

/* out[i] = sum over t of weights[t] rows[t apart + i], of eight packs of i. */
static inline void weigh_run(const float *rows, size_t apart, const float *weights, size_t taps, float *out)
{
    wide_pack a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a, none = a;
    for (size_t t = 0; t < taps; ++t, rows += apart) {
        wide_pack w = none + weights[t];
        a = plus_product(w, load_wide_pack(rows), a);
        b = plus_product(w, load_wide_pack(rows + PACK_FLOATS), b);
        c = plus_product(w, load_wide_pack(rows + 2 * PACK_FLOATS), c);
        d = plus_product(w, load_wide_pack(rows + 3 * PACK_FLOATS), d);
        e = plus_product(w, load_wide_pack(rows + 4 * PACK_FLOATS), e);
        f = plus_product(w, load_wide_pack(rows + 5 * PACK_FLOATS), f);
        g = plus_product(w, load_wide_pack(rows + 6 * PACK_FLOATS), g);
        h = plus_product(w, load_wide_pack(rows + 7 * PACK_FLOATS), h);
    }
    store_wide_pack(a, out);
    store_wide_pack(b, out + PACK_FLOATS);
    store_wide_pack(c, out + 2 * PACK_FLOATS);
    store_wide_pack(d, out + 3 * PACK_FLOATS);
    store_wide_pack(e, out + 4 * PACK_FLOATS);
    store_wide_pack(f, out + 5 * PACK_FLOATS);
    store_wide_pack(g, out + 6 * PACK_FLOATS);
    store_wide_pack(h, out + 7 * PACK_FLOATS);
}

/* The same of one pack. */
static inline void weigh_pack(const float *rows, size_t apart, const float *weights, size_t taps, float *out)
{
    wide_pack sum = {0}, none = sum;
    for (size_t t = 0; t < taps; ++t)
        sum = plus_product(none + weights[t], load_wide_pack(rows + t * apart), sum);
    store_wide_pack(sum, out);
}

/* Runs of pixels outside, bins inside: what neighbouring bins share stays in the nearest cache. Some bins, then their
 * sums to where they belong. */
static void patch_across(const float *cells, size_t length, const float *weights, size_t taps, size_t step,
                         size_t count, size_t n, size_t line, float *out)
{
    enum { BINS_AT_ONCE = 8 };
    float runs[BINS_AT_ONCE][RUN];
    for (size_t start = 0; start < n; start += RUN / 8, cells += RUN, out += RUN / 8 * line) {
        size_t pixels = n - start < RUN / 8 ? n - start : RUN / 8;
        for (size_t c = 0; c < count; c += BINS_AT_ONCE) {
            size_t bins = count - c < BINS_AT_ONCE ? count - c : BINS_AT_ONCE;
            for (size_t b = 0; b < bins; ++b)
                weigh_run(cells + (c + b) * step * length, length, weights, taps, runs[b]);
            for (size_t i = 0; i < pixels; ++i)
                for (size_t b = 0; b < bins; ++b)
                    memcpy(out + i * line + 8 * (c + b), runs[b] + 8 * i, 8 * sizeof *out);
        }
    }
}

static void patch_down(const float *rows, size_t line, const float *weights, size_t taps, size_t step, size_t count,
                       float *out)
{
    size_t i = 0;
    for (; i + RUN <= line; i += RUN)
        for (size_t r = 0; r < count; ++r)
            weigh_run(rows + r * step * line + i, line, weights, taps, out + r * line + i);
    for (; i < line; i += PACK_FLOATS)
        for (size_t r = 0; r < count; ++r)
            weigh_pack(rows + r * step * line + i, line, weights, taps, out + r * line + i);
}

static void patch_gather(const float *from, const size_t *at, size_t count, size_t stride, float *out)
{
    for (size_t g = 0; g < count; ++g, from += 8, out += stride)
        for (size_t b = 0; b < 16; ++b)
            memcpy(out + 8 * b, from + at[b], 8 * sizeof *out);
}

typedef float quad __attribute__((vector_size(16)));

static inline float sum_of(const wide_pack *v)
{
    quad parts[PACK_FLOATS / 4], sum;
    memcpy(parts, v, sizeof parts);
    sum = parts[0];
    for (size_t i = 1; i < PACK_FLOATS / 4; ++i)
        sum += parts[i];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static void patch_unit(float *x, const float *window, float least, float most, float factor, float *sum)
{
    enum { PACKS_ALL = 128 / PACK_FLOATS };
    wide_pack v[PACKS_ALL], w, squares = {0}, s = {0}, limit = squares + most;
    memcpy(v, x, sizeof v);
    for (size_t p = 0; p < PACKS_ALL; ++p) {
        memcpy(&w, window + p * PACK_FLOATS, sizeof w);
        v[p] *= w;
        squares += v[p] * v[p];
    }
    float length = sqrtf(sum_of(&squares)), inverse = length > least ? 1 / length : 0;
    squares = s;
    for (size_t p = 0; p < PACKS_ALL; ++p) {
        v[p] *= inverse;
        wide_mask over = v[p] > limit;
        v[p] = (wide_pack)((over & (wide_mask)limit) | (~over & (wide_mask)v[p]));
        squares += v[p] * v[p];
    }
    length = sqrtf(sum_of(&squares));
    factor = length > 0 ? factor / length : 0;
    for (size_t p = 0; p < PACKS_ALL; ++p) {
        v[p] *= factor;
        s += v[p];
    }
    memcpy(x, v, sizeof v);
    *sum = sum_of(&s);
}

static const tnp_patch_loops patch_loops = {patch_orient, patch_across, patch_down, patch_gather, patch_unit};

#endif
