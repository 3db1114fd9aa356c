/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One lambda for all classes by other rules than the evidence: generalised cross-validation here, leave-one-out in
 * learn/ridge/loo.c.
 *
 *   GCV(lambda) = N sum_k |y_k - X w_k|^2 / (N - gamma - 1)^2        (the 1 is the intercept's)
 *
 * It costs nothing beside the evidence, and it breaks down for D > N, where both the residual and N - gamma go to
 * zero with lambda: the ratio is then decided by rounding near the floor. */
#include "select/evidence.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { GOLDEN_STEPS = 24 };

tn_status tnp_minimise_lambda(tn_ctx *ctx, const tnp_spectrum *s,
                              tn_status (*f)(tn_ctx *ctx, void *arg, double lambda, double *value), void *arg,
                              double *lambda, double *value)
{
    const double ratio = 0.61803398874989484820;
    double low = log(s->floor), high = log(1e6 * s->largest);
    int points = (int)ceil((high - low) / log(10) * 4 / 3 - 1e-9) + 1; /* three quarters of a decade apart */
    double step = (high - low) / (points - 1);
    double best = low, best_value = INFINITY, v = 0, c, d, fc = 0, fd = 0;
    tn_status st = TN_OK;
    for (int g = 0; g < points; ++g) {
        double x = low + step * g;
        TN_TRY(f(ctx, arg, exp(x), &v));
        if (v < best_value) {
            best_value = v;
            best = x;
        }
    }
    double a = fmax(low, best - step), b = fmin(high, best + step);
    c = b - ratio * (b - a);
    d = a + ratio * (b - a);
    TN_TRY(f(ctx, arg, exp(c), &fc));
    TN_TRY(f(ctx, arg, exp(d), &fd));
    for (int i = 0; i < GOLDEN_STEPS; ++i) {
        if (fc < fd) {
            b = d;
            d = c;
            fd = fc;
            c = b - ratio * (b - a);
            TN_TRY(f(ctx, arg, exp(c), &fc));
        } else {
            a = c;
            c = d;
            fc = fd;
            d = a + ratio * (b - a);
            TN_TRY(f(ctx, arg, exp(d), &fd));
        }
    }
    TN_TRY(f(ctx, arg, exp((a + b) / 2), &v));
    *lambda = exp(v < best_value ? (a + b) / 2 : best);
    *value = fmin(v, best_value);
done:
    return st;
}

typedef struct gcv_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const bool *constant;
    double lambda, rows, taken; /* taken: degrees of freedom of the intercept */
    double *residual;           /* tiles */
} gcv_job;

static void gcv_tile(void *arg, size_t tile, double *scratch)
{
    const gcv_job *job = arg;
    double lambda[TNP_LANES];
    tnp_ridge_values v;
    for (size_t l = 0; l < TNP_LANES; ++l)
        lambda[l] = job->lambda;
    tnp_spectrum_eval(job->s, job->k, tile, lambda, scratch, &v);
    job->residual[tile] = 0;
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t c = tile * TNP_LANES + l;
        if (c < job->s->classes && !job->constant[c])
            job->residual[tile] += v.residual[l];
    }
}

static tn_status gcv_at(tn_ctx *ctx, void *arg, double lambda, double *value)
{
    gcv_job *job = arg;
    job->lambda = lambda;
    tn_status st = tnp_spectrum_tiles(ctx, job->s, job->s->tiles, gcv_tile, job);
    if (st != TN_OK)
        return st;
    double sum = 0, left = job->rows - job->taken - tnp_spectrum_gamma(job->s, lambda);
    for (size_t t = 0; t < job->s->tiles; ++t)
        sum += job->residual[t];
    *value = left > 0 ? job->rows * sum / (left * left) : INFINITY;
    return TN_OK;
}

tn_status tnp_gcv_lambda(tn_ctx *ctx, const tnp_spectrum *s, size_t rows, bool intercept, const bool *constant,
                         double *lambda)
{
    tn_status st = TN_OK;
    gcv_job job = {s, tnp_simd_get(), constant, 0, (double)rows, intercept ? 1 : 0, NULL};
    double best = INFINITY, value = INFINITY, null = 0;
    TN_TRY(tnp_alloc(ctx, s->tiles, sizeof(double), &job.residual));
    for (size_t c = 0; c < s->classes; ++c)
        null += constant[c] ? 0 : s->yy[c];
    null *= job.rows / ((job.rows - job.taken) * (job.rows - job.taken));
    if (s->rank > 0)
        TN_TRY(tnp_minimise_lambda(ctx, s, gcv_at, &job, &best, &value));
    /* With two rows every lambda is the same, but for the rounding of N - gamma, which is of the order of lambda over
     * the largest eigenvalue. */
    double noise = 1e-6 + 64 * DBL_EPSILON * job.rows * s->largest / best;
    *lambda = value < null * (1 - noise) ? best : INFINITY;
done:
    tnp_free(job.residual);
    return st;
}

tn_status tnp_loo_lambda(tn_ctx *ctx, tnp_loo *loo, const tnp_spectrum *spectrum, double *lambda)
{
    double best = INFINITY, value = INFINITY, null = INFINITY;
    tn_status st = tnp_loo_squared_error(ctx, loo, INFINITY, &null);
    if (st == TN_OK && spectrum->rank > 0)
        st = tnp_minimise_lambda(ctx, spectrum, tnp_loo_squared_error, loo, &best, &value);
    if (st == TN_OK)
        *lambda = value < null ? best : INFINITY;
    return st;
}
