/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops around coarse scores, in plain C that compilers turn into vectors: each file of kernels includes them and so
 * compiles them for its own instruction set. */
#ifndef TNP_SIMD_COARSE_H
#define TNP_SIMD_COARSE_H

#include "simd/simd.h"

#include <math.h>
#include <string.h>

/* The bits of a float without its sign are ordered as its size is, and NaN is the largest: a maximum that compilers
 * vectorise. */
static float largest_size(const float *x, size_t n)
{
    uint32_t most = 0;
    float size;
    for (size_t i = 0; i < n; ++i) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    memcpy(&size, &most, sizeof size);
    return size;
}

/* A sum with 1.5 2^23 has the nearest whole number in its last bits. */
static void round_steps(const float *x, float inverse, int16_t *out, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        float shifted = x[i] * inverse + 0x1.8p23f;
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        out[i] = (int16_t)(bits & 0xffff);
    }
}

/* Scores that are not numbers are passed over here, and never below anything there. Lanes of constant count: vectors.
 * */
static float highest_floor(const tnp_score_bounds *g, size_t n)
{
    enum { LANES = 32 };
    float best[LANES], most = -HUGE_VALF;
    size_t c = 0;
    for (size_t l = 0; l < LANES; ++l)
        best[l] = -HUGE_VALF;
    for (; c + LANES <= n; c += LANES)
        for (size_t l = 0; l < LANES; ++l) {
            float low = g->s[c + l] - (g->off[c + l] * g->length + g->reach[c + l] * g->x_off);
            best[l] = low > best[l] ? low : best[l];
        }
    for (size_t l = 0; l < LANES; ++l)
        most = best[l] > most ? best[l] : most;
    for (; c < n; ++c) {
        float low = g->s[c] - (g->off[c] * g->length + g->reach[c] * g->x_off);
        most = low > most ? low : most;
    }
    return most;
}

static size_t may_reach(const tnp_score_bounds *g, float level, size_t n, uint32_t *out)
{
    enum { LANES = 32 };
    size_t count = 0;
    for (size_t from = 0; from < n; from += LANES) {
        size_t to = from + LANES < n ? from + LANES : n;
        int some = to - from < LANES;
        for (size_t l = 0; l < LANES && to - from == LANES; ++l)
            some |= !(g->s[from + l] + (g->off[from + l] * g->length + g->reach[from + l] * g->x_off) < level);
        for (size_t c = from; c < to && some; ++c)
            if (!(g->s[c] + (g->off[c] * g->length + g->reach[c] * g->x_off) < level))
                out[count++] = (uint32_t)c;
    }
    return count;
}

#endif
