/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of the softmax and of its derivatives, for AVX2 and AVX-512; simd_scalar.c says what they compute. Behind the last
 * value of a row registers hold anything: what is summed is read back from where it was stored without it. */
#ifndef TNP_SIMD_SOFTMAX_H
#define TNP_SIMD_SOFTMAX_H

#include "simd/simd_loops.h"

/* p = exp(s - *shift), *shift the largest s; returns their sum. */
static inline double exp_row_below(const float *s, float *p, size_t n, float *shift)
{
    reg most = all_lanes(s[0]);
    wide a = all_wide(0), b = all_wide(0);
    for (size_t i = 0; i < n; i += REG)
        most = larger(most, load_over(most, s + i, n - i));
    *shift = largest_lane(most);
    const reg largest = all_lanes(*shift);
    IN_PARTS(n, {
        store_some(p + i, left, exp_below(load_some(s + i, left) - largest));
        reg e = load_some(p + i, left);
        a += low_half(e);
        b += high_half(e);
    });
    return add_up(a + b);
}

static double softmax(const float *s, float *p, size_t n)
{
    float shift;
    double sum = exp_row_below(s, p, n, &shift);
    scale(p, (float)(1 / sum), p, n);
    return (double)shift + log(sum);
}

static inline void add_wide(double *to, reg x)
{
    store_wide(to, load_wide(to) + low_half(x));
    store_wide(to + WIDE, load_wide(to + WIDE) + high_half(x));
}

static double softmax_slope(const tnp_slope_row *row)
{
    float shift;
    double sum = exp_row_below(row->s, row->p, row->k, &shift);
    const reg by = all_lanes((float)(1 / sum)), cost = all_lanes(row->cost);
    IN_PARTS(row->k, {
        reg p = load_some(row->p + i, left) * by, g = p * cost;
        store_some(row->p + i, left, p);
        store_some(row->g + i, left, g);
        add_wide(row->slope + i, g);
        add_wide(row->weight + i, less_product(g, p, g));
    });
    return (double)shift + log(sum);
}

static void softmax_line(const float *s, const float *z, float t, size_t n, double *out)
{
    const reg step = all_lanes(t);
    reg most = all_lanes(s[0] + t * z[0]);
    wide sum = all_wide(0), first = sum, second = sum;
    for (size_t i = 0; i < n; i += REG)
        most = larger(most, fused(step, load_some(z + i, n - i), load_over(most, s + i, n - i)));
    const float shift = largest_lane(most);
    const reg largest = all_lanes(shift), nothing = all_lanes(-INFINITY); /* e^-87 */
    IN_PARTS(n, {
        reg x = load_some(z + i, left), own = load_over(nothing, s + i, left);
        reg e = exp_below(fused(step, x, own) - largest);
        wide low = low_half(e) * low_half(x), high = high_half(e) * high_half(x);
        sum += low_half(e) + high_half(e);
        first += low + high;
        second = fused_wide(low, low_half(x), fused_wide(high, high_half(x), second));
    });
    double total = add_up(sum);
    out[0] = add_up(first) / total;
    out[1] = add_up(second) / total;
}

static inline reg mean_of(const float *p, const float *z, size_t n)
{
    reg sum = all_lanes(0);
    IN_PARTS(n, { sum = fused(load_some(p + i, left), load_some(z + i, left), sum); });
    return all_lanes((float)add_lanes(sum));
}

static void softmax_curve(const float *p, float cost, float *z, size_t n)
{
    const reg mean = mean_of(p, z, n), by = all_lanes(cost);
    IN_PARTS(n, { store_some(z + i, left, by * load_some(p + i, left) * (load_some(z + i, left) - mean)); });
}

static void softmax_curve_sums(const float *p, float cost, const float *z, size_t n, double *sum)
{
    const reg mean = mean_of(p, z, n), by = all_lanes(cost);
    IN_PARTS(n, { add_wide(sum + i, by * load_some(p + i, left) * (load_some(z + i, left) - mean)); });
}

#endif
