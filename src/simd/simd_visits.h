/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The visits of coordinate descent (learn/linear/svm_dual.c), REG columns at a time, for AVX2 and AVX-512; simd_scalar.c
 * says what they compute. */
#ifndef TNP_SIMD_VISITS_H
#define TNP_SIMD_VISITS_H

#include "simd/simd_loops.h"

/* One visit in REG columns or the first `left`: returns by how much y alpha changes. */
static inline reg visit(const tnp_visits *v, size_t t, size_t column, size_t left, reg s)
{
    const reg zero = all_lanes(0), half = all_lanes(0.5f), one = all_lanes(1);
    const reg a = load_some(v->cost + t * v->apart + column, left), sign = sign_of(a), c = magnitude(a);
    float *alpha = v->alpha + v->rows[t] * v->stride + column;
    const reg before = load_some(alpha, left), soft = v->squared ? where_above(c, zero, half / c, zero) : zero,
              curve = all_lanes(v->gram[t * v->n + t] + v->bias) + soft;
    reg next = larger(before - (OF_FLOATS(xor)(s, sign) - one + before * soft) / curve, zero);
    next = v->squared ? next : OF_FLOATS(min)(next, c);
    next = where_above(c, zero, where_above(curve, zero, next, c), zero);
    store_some(alpha, left, next);
    return OF_FLOATS(xor)(next - before, sign);
}

static void visits(const tnp_visits *v)
{
    for (size_t column = 0; column < v->k; column += REG) {
        const size_t left = v->k - column;
        for (size_t t = 0; t < v->n; ++t) {
            const size_t at = t * v->apart + column;
            const reg delta = visit(v, t, column, left, load_some(v->s + at, left));
            store_some(v->delta + at, left, delta);
            if (all_at_most(magnitude(delta), 0))
                continue;
            for (size_t u = t + 1; u < v->n; ++u) {
                float *later = v->s + u * v->apart + column;
                store_some(later, left,
                           fused(all_lanes(v->gram[t * v->n + u] + v->bias), delta, load_some(later, left)));
            }
        }
    }
}

#endif
