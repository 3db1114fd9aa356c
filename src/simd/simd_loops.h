/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that AVX2 and AVX-512 share, in the words of simd_reg.h; simd_scalar.c says what they compute. Tails fall to
 * masked operations or to single values, never to reads beyond n. */
#ifndef TNP_SIMD_LOOPS_H
#define TNP_SIMD_LOOPS_H

#include "simd/simd.h"
#include "simd/simd_reg.h"

#include <math.h>

/* Statements for i = 0, REG, 2 REG, ...: `left` values are at hand, the constant REG in all parts but the last, so that
 * nothing of the masks is left there. */
#define IN_PARTS(count, ...)                                                                                           \
    do {                                                                                                               \
        size_t i = 0;                                                                                                  \
        for (; i + REG <= (count); i += REG) {                                                                         \
            const size_t left = REG;                                                                                   \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
        if (i < (count)) {                                                                                             \
            const size_t left = (count)-i;                                                                             \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

/* The sign bits of all lanes. */
static inline reg sign_of(reg x)
{
    return OF_FLOATS(and)(all_lanes(-0.0f), x);
}

static inline reg magnitude(reg x)
{
    return OF_FLOATS(andnot)(all_lanes(-0.0f), x);
}

static double sum_squares(const float *x, size_t n)
{
    wide a = all_wide(0), b = all_wide(0);
    IN_PARTS(n, {
        reg v = load_some(x + i, left);
        wide low = low_half(v), high = high_half(v);
        a = fused_wide(low, low, a);
        b = fused_wide(high, high, b);
    });
    return add_up(a + b);
}

static double sum_abs(const float *x, size_t n)
{
    wide a = all_wide(0), b = all_wide(0);
    IN_PARTS(n, {
        reg v = magnitude(load_some(x + i, left));
        a += low_half(v);
        b += high_half(v);
    });
    return add_up(a + b);
}

static void add_to_double(const float *x, double *acc, size_t n)
{
    size_t i = 0;
    for (; i + REG <= n; i += REG) {
        reg v = load(x + i);
        store_wide(acc + i, load_wide(acc + i) + low_half(v));
        store_wide(acc + i + WIDE, load_wide(acc + i + WIDE) + high_half(v));
    }
    for (; i < n; ++i)
        acc[i] += (double)x[i];
}

static void shift_scale(const float *x, const float *shift, float scale, float *y, size_t n)
{
    const reg factor = all_lanes(scale);
    IN_PARTS(n, { store_some(y + i, left, (load_some(x + i, left) - load_some(shift + i, left)) * factor); });
}

static void scale(const float *x, float factor, float *y, size_t n)
{
    IN_PARTS(n, { store_some(y + i, left, load_some(x + i, left) * all_lanes(factor)); });
}

static void scale_root(const float *x, float factor, float *y, size_t n)
{
    IN_PARTS(n, {
        reg v = load_some(x + i, left), root = OF_FLOATS(sqrt)(magnitude(v));
        store_some(y + i, left, OF_FLOATS(or)(root, sign_of(v)) * all_lanes(factor));
    });
}

static void roots(const double *x, double more, double *y, size_t n)
{
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE)
        store_wide(y + i, OF_DOUBLES(sqrt)(OF_DOUBLES(andnot)(all_wide(-0.0), load_wide(x + i)) + all_wide(more)));
    for (; i < n; ++i)
        y[i] = sqrt(fabs(x[i]) + more);
}

static double add_lanes(reg x)
{
    return add_up(low_half(x) + high_half(x));
}

static double dot(const float *x, const float *y, size_t n)
{
    reg a = all_lanes(0), b = all_lanes(0);
    size_t i = 0;
    for (; i + 2 * REG <= n; i += 2 * REG) {
        a = fused(load(x + i), load(y + i), a);
        b = fused(load(x + i + REG), load(y + i + REG), b);
    }
    double sum = add_lanes(a + b);
    for (; i < n; ++i)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static double weighted_squares(const float *x, const float *w, size_t n)
{
    reg a = all_lanes(0), b = all_lanes(0);
    size_t i = 0;
    for (; i + 2 * REG <= n; i += 2 * REG) {
        reg u = load(x + i), v = load(x + i + REG);
        a = fused(u * u, load(w + i), a);
        b = fused(v * v, load(w + i + REG), b);
    }
    double sum = add_lanes(a + b);
    for (; i < n; ++i)
        sum += (double)x[i] * (double)x[i] * (double)w[i];
    return sum;
}

static void add_scaled(float a, const float *x, float *y, size_t n)
{
    const reg factor = all_lanes(a);
    IN_PARTS(n, { store_some(y + i, left, fused(factor, load_some(x + i, left), load_some(y + i, left))); });
}

static void confident_move(const float *x, float a, float b, float late, float *mu, float *u, float *sigma, size_t n)
{
    const reg va = all_lanes(a), vb = all_lanes(b), vlate = all_lanes(late), one = all_lanes(1);
    IN_PARTS(n, {
        reg v = load_some(x + i, left), s = load_some(sigma + i, left), sx = s * v, d = va * sx;
        store_some(mu + i, left, load_some(mu + i, left) + d);
        if (u)
            store_some(u + i, left, fused(vlate, d, load_some(u + i, left)));
        store_some(sigma + i, left, s / fused(vb * sx, v, one));
    });
}

static bool all_within(const float *x, size_t n, float most)
{
    for (size_t i = 0; i < n; i += REG)
        if (!all_at_most(magnitude(load_some(x + i, n - i)), most))
            return false;
    return true;
}

/* exp of x <= 0: 2^k exp(r) with |r| <= ln 2 / 2; Taylor's polynomial of degree 7 leaves 5e-9. */
static reg exp_below(reg x)
{
    static const float factorials[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1};
    x = larger(x, all_lanes(-87));
    reg k = nearest_whole(x * all_lanes(1.44269504f));
    reg r = less_product(k, all_lanes(0x1.62e43p-1f), x), e = all_lanes(1.0f / 5040);
    r = less_product(k, all_lanes(-0x1.05c610p-29f), r);
    for (size_t i = 0; i < sizeof factorials / sizeof *factorials; ++i)
        e = fused(e, r, all_lanes(factorials[i]));
    return times_power(e, k);
}

/* The way back of both solves, for WIDE lanes; pivots are per lane, or one per row: `known`. */
static inline void solve_back(size_t n, const double *diag, const double *off, const double *pivot, bool known,
                              double *u, tnp_tri_out *out, size_t lane)
{
    wide next = all_wide(0), uu = all_wide(0), utu = all_wide(0);
    for (size_t i = n; i-- > 0;) {
        wide cross = all_wide(i + 1 < n ? off[i] : 0) * next;
        wide value = load_wide(u + i * TNP_LANES + lane) - cross;
        value *= known ? all_wide(pivot[i]) : load_wide(pivot + i * TNP_LANES + lane);
        uu = fused_wide(value, value, uu);
        cross = fused_wide(all_wide(diag[i]), value, cross + cross);
        utu = fused_wide(value, cross, utu);
        store_wide(u + i * TNP_LANES + lane, value);
        next = value;
    }
    store_wide(out->uu + lane, uu);
    store_wide(out->utu + lane, utu);
}

/* The division's latency bounds the way down; the way back is free of it. */
static void tri_solve(size_t n, const double *diag, const double *off, const double *lambda, const double *h, double *u,
                      double *pivot, tnp_tri_out *out)
{
    for (size_t lane = 0; lane < TNP_LANES; lane += WIDE) {
        const wide one = all_wide(1), shift = load_wide(lambda + lane);
        wide inverse = all_wide(0), g = all_wide(0), hu = all_wide(0);
        for (size_t i = 0; i < n; ++i) {
            wide e = all_wide(i ? off[i - 1] : 0), ratio = e * inverse;
            g = less_product_wide(ratio, g, load_wide(h + i * TNP_LANES + lane));
            inverse = one / less_product_wide(e, ratio, all_wide(diag[i]) + shift);
            hu = fused_wide(g * g, inverse, hu);
            store_wide(u + i * TNP_LANES + lane, g);
            store_wide(pivot + i * TNP_LANES + lane, inverse);
        }
        store_wide(out->hu + lane, hu);
        solve_back(n, diag, off, pivot, false, u, out, lane);
    }
}

static void tri_solve_known(size_t n, const double *diag, const double *off, const double *inverse, const double *h,
                            double *u, tnp_tri_out *out)
{
    for (size_t lane = 0; lane < TNP_LANES; lane += WIDE) {
        wide g = all_wide(0), hu = all_wide(0);
        for (size_t i = 0; i < n; ++i) {
            wide ratio = all_wide(i ? off[i - 1] * inverse[i - 1] : 0);
            g = less_product_wide(ratio, g, load_wide(h + i * TNP_LANES + lane));
            hu = fused_wide(g * g, all_wide(inverse[i]), hu);
            store_wide(u + i * TNP_LANES + lane, g);
        }
        store_wide(out->hu + lane, hu);
        solve_back(n, diag, off, inverse, true, u, out, lane);
    }
}

/* Eight values of one entry: a low + b high. */
static __m256 between(const float *low, size_t pad, float a, float b)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(b), _mm256_loadu_ps(low + pad),
                           _mm256_mul_ps(_mm256_set1_ps(a), _mm256_loadu_ps(low)));
}

#endif
