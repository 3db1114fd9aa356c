/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of a softmax in double, for AVX2 and AVX-512: those of its certificate and of its temperature; simd_scalar.c says
 * what they compute. */
#ifndef TNP_SIMD_PROBE_H
#define TNP_SIMD_PROBE_H

#include "simd/simd.h"
#include "simd/simd_reg.h"

#include <math.h>

/* exp of x <= 0: 2^k exp(r) with |r| <= ln 2 / 2; Taylor's polynomial of degree 13 leaves 5e-18. Below -708 it stays
 * there. */
static inline wide exp_below_wide(wide x)
{
    static const double factorials[] = {
        1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1,           1};
    x = larger_wide(x, all_wide(-708));
    wide k = nearest_whole_wide(x * all_wide(0x1.71547652b82fep+0));
    wide r = less_product_wide(k, all_wide(0x1.62e42fefa39efp-1), x), e = all_wide(1.0 / 6227020800.0);
    r = less_product_wide(k, all_wide(0x1.abc9e3b39803fp-56), r);
    for (size_t i = 0; i < sizeof factorials / sizeof *factorials; ++i)
        e = fused_wide(e, r, all_wide(factorials[i]));
    return times_power_wide(e, k);
}

/* Into the scratch: exp(s - shift), then s - shift, which is -800 behind k. Returns the sum of the first. */
static double exp_row(const tnp_probe_row *a, float shift, double *along)
{
    double *e = a->scratch, *x = e + a->stride;
    wide total = all_wide(0), sum[TNP_PROBES];
    for (size_t l = 0; l < TNP_PROBES; ++l)
        sum[l] = total;
    for (size_t i = 0; i < a->k; i += REG) {
        reg s = load_over(all_lanes(shift), a->s + i, a->k - i);
        wide half[2] = {low_half(s), high_half(s)};
        for (size_t h = 0; h < 2; ++h) {
            size_t at = i + h * WIDE;
            for (size_t l = 0; l < TNP_PROBES; ++l)
                sum[l] = fused_wide(load_wide(a->by_class + l * a->stride + at), half[h], sum[l]);
            store_wide(x + at, half[h] - all_wide((double)shift));
        }
    }
    for (size_t i = a->k; i < a->stride; ++i)
        x[i] = -800;
    for (size_t i = 0; i < a->k; i += WIDE) {
        wide value = exp_below_wide(load_wide(x + i));
        store_wide(e + i, value);
        total += value;
    }
    for (size_t l = 0; l < TNP_PROBES; ++l)
        along[l] = add_up(sum[l]);
    return add_up(total);
}

static void probe_row(const tnp_probe_row *a)
{
    double *theta = a->scratch, *x = theta + a->stride, along[TNP_PROBES];
    reg most = all_lanes(a->s[0]);
    for (size_t i = 0; i < a->k; i += REG)
        most = larger(most, load_over(most, a->s + i, a->k - i));
    const float shift = largest_lane(most);
    const double total = exp_row(a, shift, along), whole = log(total);
    const wide by = all_wide(a->cost / total);
    for (size_t i = 0; i < a->k; i += WIDE) {
        wide p = load_wide(theta + i) * by;
        store_wide(a->mass + i, load_wide(a->mass + i) + p);
        store_wide(a->disorder + i, fused_wide(p, all_wide(whole) - load_wide(x + i), load_wide(a->disorder + i)));
        store_wide(theta + i, p);
    }
    theta[a->own] -= a->cost;
    for (size_t j = 0; j < a->k; ++j)
        for (size_t l = 0; l < TNP_LANES; l += WIDE) {
            double *to = a->turned + j * TNP_LANES + l;
            store_wide(to, fused_wide(all_wide(theta[j]), load_wide(a->probed + l), load_wide(to)));
        }
    *a->loss += a->cost * (whole - x[a->own]);
    for (size_t l = 0; l < TNP_PROBES; ++l)
        *a->off += (along[l] - a->probed[TNP_LANES + l]) * (along[l] - a->probed[TNP_LANES + l]);
}

static void softmax_moments(const float *s, size_t n, double most, double t, double *out)
{
    const wide top = all_wide(most), by = all_wide(t), least = all_wide(-708 / t);
    wide total = all_wide(0), mean = total, square = total;
    for (size_t i = 0; i < n; i += REG) {
        reg x = load_over(all_lanes(-INFINITY), s + i, n - i);
        wide half[2] = {low_half(x), high_half(x)};
        for (size_t h = 0; h < 2; ++h) {
            wide d = larger_wide(half[h] - top, least), e = exp_below_wide(by * d); /* NaN becomes least */
            total += e;
            mean = fused_wide(e, d, mean);
            square = fused_wide(e * d, d, square);
        }
    }
    out[0] = add_up(total);
    out[1] = add_up(mean);
    out[2] = add_up(square);
}

#endif
