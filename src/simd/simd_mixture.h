/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops around mixtures and vocabularies, in vectors of the compiler: each file of kernels includes them and so compiles
 * them for its own instruction set. */
#ifndef TNP_SIMD_MIXTURE_H
#define TNP_SIMD_MIXTURE_H

#include "simd/simd_patches.h"

enum { ROW_LANES = 32 };

/* The highest of every lane, places l, l + 32, .. of the first n - n mod 32; and of all n values. */
static float highest_lanes(const float *x, size_t n, float best[ROW_LANES])
{
    float most = -HUGE_VALF;
    size_t i = 0;
    for (size_t l = 0; l < ROW_LANES; ++l)
        best[l] = -HUGE_VALF;
    for (; i + ROW_LANES <= n; i += ROW_LANES)
        for (size_t l = 0; l < ROW_LANES; ++l)
            best[l] = x[i + l] > best[l] ? x[i + l] : best[l];
    for (size_t l = 0; l < ROW_LANES; ++l)
        most = best[l] > most ? best[l] : most;
    for (; i < n; ++i)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Only lanes whose highest is near are looked through: few are. */
static size_t mixture_near(const float *x, size_t n, float below, uint32_t *which)
{
    float best[ROW_LANES], level = highest_lanes(x, n, best) - below;
    size_t found = 0, whole = n - n % ROW_LANES;
    for (size_t l = 0; l < ROW_LANES; ++l)
        for (size_t i = l; best[l] >= level && i < whole; i += ROW_LANES)
            if (x[i] >= level)
                which[found++] = (uint32_t)i;
    for (size_t i = whole; i < n; ++i)
        if (x[i] >= level)
            which[found++] = (uint32_t)i;
    return found;
}

static uint32_t mixture_highest(const float *x, size_t n)
{
    float best[ROW_LANES], most = highest_lanes(x, n, best);
    size_t whole = n - n % ROW_LANES, first = n - 1;
    for (size_t i = n; i-- > whole;)
        first = x[i] == most ? i : first;
    for (size_t l = 0; l < ROW_LANES; ++l)
        for (size_t i = l; best[l] == most && i < whole && i < first; i += ROW_LANES)
            if (x[i] == most)
                first = i;
    return (uint32_t)first;
}

static float mixture_distance(const float *x, const float *m, const float *inverse, size_t n)
{
    wide_pack sum = {0}, a, b, c;
    float rest = 0;
    size_t i = 0;
    for (; i + PACK_FLOATS <= n; i += PACK_FLOATS) {
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
    for (; i + PACK_FLOATS <= n; i += PACK_FLOATS) {
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
