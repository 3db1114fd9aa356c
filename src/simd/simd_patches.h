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
/* Eight registers of sums: fewer would wait for each other. */
enum {
    PACK_FLOATS = PACK_BYTES / 4,
    SUMS = 8,
    RUN = 64,
    RUN_PACKS = RUN / PACK_FLOATS,
    TWINS = RUN_PACKS < SUMS ? SUMS / RUN_PACKS : 1
};

/* A run of 8 pixels of one bin, of one patch or of TWINS neighbours. */
static inline void across_run(const float *cells, size_t length, const float *weights, size_t taps, size_t apart,
                              size_t patches, size_t pixels, size_t line, float *out)
{
    wide_pack sum[TWINS][RUN_PACKS], v;
    float run[RUN];
    for (size_t g = 0; g < patches; ++g)
        for (size_t p = 0; p < RUN_PACKS; ++p) {
            memcpy(&v, cells + g * apart + p * PACK_FLOATS, sizeof v);
            sum[g][p] = v * weights[0];
        }
    for (size_t t = 1; t < taps; ++t)
        for (size_t g = 0; g < patches; ++g)
            for (size_t p = 0; p < RUN_PACKS; ++p) {
                memcpy(&v, cells + t * length + g * apart + p * PACK_FLOATS, sizeof v);
                sum[g][p] += v * weights[t];
            }
    for (size_t g = 0; g < patches; ++g) {
        memcpy(run, sum[g], sizeof run);
        for (size_t i = 0; i < pixels; ++i)
            memcpy(out + i * line + 32 * g, run + 8 * i, 8 * sizeof *out);
    }
}

static void patch_across(const float *cells, size_t length, const float *weights, size_t taps, const size_t *first,
                         size_t step, size_t count, size_t n, float *out)
{
    size_t apart = step * length, line = 32 * count;
    for (size_t start = 0; start < n; start += RUN / 8, cells += RUN, out += RUN / 8 * line) {
        size_t pixels = n - start < RUN / 8 ? n - start : RUN / 8;
        for (size_t b = 0; b < 4; ++b) {
            const float *from = cells + first[b] * length, *w = weights + b * taps;
            size_t g = 0;
            for (; g + TWINS <= count; g += TWINS)
                across_run(from + g * apart, length, w, taps, apart, TWINS, pixels, line, out + 32 * g + 8 * b);
            for (; g < count; ++g)
                across_run(from + g * apart, length, w, taps, apart, 1, pixels, line, out + 32 * g + 8 * b);
        }
    }
}

static inline void down_some(const float *const *rows, const float *weights, size_t taps, size_t at, size_t packs,
                             size_t stride, float *out)
{
    wide_pack sum[SUMS], v;
    for (size_t p = 0; p < packs; ++p) {
        memcpy(&v, rows[0] + 32 * at + p * PACK_FLOATS, sizeof v);
        sum[p] = v * weights[0];
    }
    for (size_t t = 1; t < taps; ++t)
        for (size_t p = 0; p < packs; ++p) {
            memcpy(&v, rows[t] + 32 * at + p * PACK_FLOATS, sizeof v);
            sum[p] += v * weights[t];
        }
    for (size_t p = 0; p < packs; ++p)
        memcpy(out + p * PACK_FLOATS / 32 * stride + p * PACK_FLOATS % 32, &sum[p], sizeof sum[p]);
}

static void patch_down(const float *const *rows, const float *weights, size_t taps, size_t count, size_t stride,
                       float *out)
{
    enum { ABREAST = SUMS * PACK_FLOATS / 32 }; /* patches at once */
    size_t g = 0;
    for (; g + ABREAST <= count; g += ABREAST)
        down_some(rows, weights, taps, g, SUMS, stride, out + stride * g);
    for (; g < count; ++g)
        down_some(rows, weights, taps, g, 32 / PACK_FLOATS, stride, out + stride * g);
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

static void patch_unit(float *x, float least, float most, float factor, float *sum)
{
    enum { PACKS_ALL = 128 / PACK_FLOATS };
    wide_pack v[PACKS_ALL], squares = {0}, s = {0}, limit = squares + most;
    memcpy(v, x, sizeof v);
    for (size_t p = 0; p < PACKS_ALL; ++p)
        squares += v[p] * v[p];
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

static const tnp_patch_loops patch_loops = {patch_orient, patch_across, patch_down, patch_unit};

#endif
