/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops around mixtures and vocabularies, in vectors of the compiler: each file of kernels includes them and so compiles
 * them for its own instruction set. */
#ifndef TNP_SIMD_MIXTURE_H
#define TNP_SIMD_MIXTURE_H

#include "simd/simd_patches.h"

static float highest_of(const float *x, size_t n)
{
    enum { LANES = 32 };
    float best[LANES], most = -HUGE_VALF;
    size_t i = 0;
    for (size_t l = 0; l < LANES; ++l)
        best[l] = -HUGE_VALF;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; ++l)
            best[l] = x[i + l] > best[l] ? x[i + l] : best[l];
    for (size_t l = 0; l < LANES; ++l)
        most = best[l] > most ? best[l] : most;
    for (; i < n; ++i)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Sixteen at a time are asked whether there is any: few are. */
static size_t mixture_near(const float *x, size_t n, float below, uint32_t *which)
{
    float level = highest_of(x, n) - below;
    size_t found = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        uint32_t any = 0;
        for (size_t l = 0; l < 16; ++l)
            any |= x[i + l] >= level;
        for (size_t l = 0; any && l < 16; ++l)
            if (x[i + l] >= level)
                which[found++] = (uint32_t)(i + l);
    }
    for (; i < n; ++i)
        if (x[i] >= level)
            which[found++] = (uint32_t)i;
    return found;
}

static uint32_t mixture_highest(const float *x, size_t n)
{
    float most = highest_of(x, n);
    size_t i = 0;
    for (; i + 16 < n; i += 16) {
        uint32_t any = 0;
        for (size_t l = 0; l < 16; ++l)
            any |= x[i + l] == most;
        if (any)
            break;
    }
    while (i + 1 < n && x[i] != most)
        ++i;
    return (uint32_t)i;
}

static float mixture_distance(const float *x, const float *m, const float *inverse, size_t n)
{
    wide_pack sum = {0}, a, b, c;
    float rest = 0;
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE) {
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, m + i, sizeof b);
        memcpy(&c, inverse + i, sizeof c);
        a -= b;
        sum += a * a * c;
    }
    for (; i < n; ++i)
        rest += (x[i] - m[i]) * (x[i] - m[i]) * inverse[i];
    return sum_of(&sum) + rest;
}

static void mixture_add(const float *x, const float *m, float q, size_t n, float *first, float *second)
{
    wide_pack a, b, c;
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE) {
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, m + i, sizeof b);
        a -= b;
        b = a * q;
        memcpy(&c, first + i, sizeof c);
        c += b;
        memcpy(first + i, &c, sizeof c);
        memcpy(&c, second + i, sizeof c);
        c += a * b;
        memcpy(second + i, &c, sizeof c);
    }
    for (; i < n; ++i) {
        float z = x[i] - m[i];
        first[i] += q * z;
        second[i] += q * z * z;
    }
}

static const tnp_mixture_loops mixture_loops = {mixture_near, mixture_highest, mixture_distance, mixture_add};

#endif
