/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of the softmax and of its derivatives, for AVX2 and AVX-512; simd_scalar.c says what they compute. Behind the last
 * value of a row registers hold anything: what is summed is read back from where it was stored without it. */
#ifndef TNP_SIMD_SOFTMAX_H
#define TNP_SIMD_SOFTMAX_H

#include "simd/simd_loops.h"

/* Behind the last value minus infinity, of which exp_below makes e^-87: nothing beside a sum that is 1 or more. */
static inline reg load_or_nothing(const float *x, size_t left)
{
    return left >= REG ? load(x) : load_over(all_lanes(-INFINITY), x, left);
}

/* p = exp(s - *shift), *shift the largest s; returns their sum. */
static inline double exp_row_below(const float *s, float *p, size_t n, float *shift)
{
    reg most = all_lanes(-INFINITY);
    wide a = all_wide(0), b = all_wide(0);
    IN_PARTS(n, { most = larger(most, load_or_nothing(s + i, left)); });
    *shift = largest_lane(most);
    const reg largest = all_lanes(*shift);
    IN_PARTS(n, {
        reg e = exp_below(load_or_nothing(s + i, left) - largest);
        store_some(p + i, left, e);
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

static inline void add_wide(double *to, wide low, wide high)
{
    store_wide(to, load_wide(to) + low);
    store_wide(to + WIDE, load_wide(to + WIDE) + high);
}

static void softmax_slope(const tnp_slope_rows *a)
{
    float by[TNP_SLOPE_ROWS];
    for (size_t r = 0; r < a->rows; ++r) {
        float shift;
        double sum = exp_row_below(a->s + r * a->k, a->p + r * a->k, a->k, &shift);
        by[r] = (float)(1 / sum);
        a->whole[r] = (double)shift + log(sum);
    }
    IN_PARTS(a->k, {
        wide low = all_wide(0), high = low, weight_low = low, weight_high = low;
        for (size_t at = i, r = 0; r < a->rows; ++r, at += a->k) {
            reg p = load_some(a->p + at, left) * all_lanes(by[r]), g = p * all_lanes(a->cost[r]);
            reg bend = less_product(g, p, g);
            store_some(a->p + at, left, p);
            store_some(a->g + at, left, g);
            low += low_half(g);
            high += high_half(g);
            weight_low += low_half(bend);
            weight_high += high_half(bend);
        }
        add_wide(a->slope + i, low, high);
        add_wide(a->weight + i, weight_low, weight_high);
    });
}

static void softmax_line(const float *s, const float *z, float t, size_t n, double *out)
{
    const reg step = all_lanes(t);
    reg most = all_lanes(s[0] + t * z[0]);
    wide sum = all_wide(0), first = sum, second = sum;
    for (size_t i = 0; i < n; i += REG)
        most = larger(most, fused(step, load_some(z + i, n - i), load_over(most, s + i, n - i)));
    const float shift = largest_lane(most);
    const reg largest = all_lanes(shift);
    IN_PARTS(n, {
        reg x = load_some(z + i, left), own = load_or_nothing(s + i, left);
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

static void softmax_curve_sums(const tnp_curve_rows *a)
{
    reg mean[TNP_SLOPE_ROWS];
    for (size_t r = 0; r < a->rows; ++r)
        mean[r] = mean_of(a->p + r * a->k, a->z, a->k);
    IN_PARTS(a->k, {
        const reg z = load_some(a->z + i, left);
        wide low = all_wide(0), high = low;
        for (size_t at = i, r = 0; r < a->rows; ++r, at += a->k) {
            reg bend = all_lanes(a->cost[r]) * load_some(a->p + at, left) * (z - mean[r]);
            low += low_half(bend);
            high += high_half(bend);
        }
        add_wide(a->sum + i, low, high);
    });
}

#endif
