/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   BFGS   two loops over the pairs (Nocedal and Wright, Algorithm 7.4), H0 = s'y / y'y of the newest
 *   Adam   m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g^2,
 *          step = -rate (m / (1 - 0.9^t)) / (sqrt(v / (1 - 0.999^t)) + 1e-8) */
#include "pipeline/refine/steps.h"

#include <math.h>
#include <string.h>

tn_status tnp_steps_new(tn_ctx *ctx, size_t size, tnp_steps *out)
{
    tn_status st = TN_OK;
    out->size = size;
    TN_TRY(tnp_alloc(ctx, TNP_STEPS_MEMORY * size, sizeof *out->s, &out->s));
    TN_TRY(tnp_alloc(ctx, TNP_STEPS_MEMORY * size, sizeof *out->y, &out->y));
    TN_TRY(tnp_alloc(ctx, size, sizeof *out->mean, &out->mean));
    TN_TRY(tnp_alloc(ctx, size, sizeof *out->square, &out->square));
done:
    return st;
}

void tnp_steps_free(tnp_steps *steps)
{
    tnp_free_all(steps->s, steps->y, steps->mean, steps->square);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

static void add(double a, const double *x, size_t n, double *y)
{
    for (size_t i = 0; i < n; ++i)
        y[i] += a * x[i];
}

void tnp_steps_direction(const tnp_steps *steps, const double *g, double *out)
{
    double alpha[TNP_STEPS_MEMORY];
    size_t n = steps->size;
    for (size_t i = 0; i < n; ++i)
        out[i] = -g[i];
    for (size_t p = steps->count; p-- > 0;) {
        const double *s = steps->s + p * n, *y = steps->y + p * n;
        alpha[p] = dot(s, out, n) / dot(s, y, n);
        add(-alpha[p], y, n, out);
    }
    if (steps->count) {
        const double *s = steps->s + (steps->count - 1) * n, *y = steps->y + (steps->count - 1) * n;
        double scale = dot(s, y, n) / dot(y, y, n);
        for (size_t i = 0; i < n; ++i)
            out[i] *= scale;
    }
    for (size_t p = 0; p < steps->count; ++p) {
        const double *s = steps->s + p * n, *y = steps->y + p * n;
        add(alpha[p] - dot(y, out, n) / dot(s, y, n), s, n, out);
    }
}

void tnp_steps_keep(tnp_steps *steps, const double *s, const double *y)
{
    size_t n = steps->size;
    if (!(dot(s, y, n) > 1e-8 * sqrt(dot(s, s, n) * dot(y, y, n))))
        return;
    if (steps->count == TNP_STEPS_MEMORY) {
        memmove(steps->s, steps->s + n, (TNP_STEPS_MEMORY - 1) * n * sizeof *steps->s);
        memmove(steps->y, steps->y + n, (TNP_STEPS_MEMORY - 1) * n * sizeof *steps->y);
        --steps->count;
    }
    memcpy(steps->s + steps->count * n, s, n * sizeof *s);
    memcpy(steps->y + steps->count * n, y, n * sizeof *y);
    ++steps->count;
}

void tnp_steps_adam(tnp_steps *steps, const double *g, double rate, double *out)
{
    double t = (double)++steps->taken, first = 1 - pow(0.9, t), second = 1 - pow(0.999, t);
    for (size_t i = 0; i < steps->size; ++i) {
        steps->mean[i] = 0.9 * steps->mean[i] + 0.1 * g[i];
        steps->square[i] = 0.999 * steps->square[i] + 0.001 * g[i] * g[i];
        out[i] = -rate * (steps->mean[i] / first) / (sqrt(steps->square[i] / second) + 1e-8);
    }
}
