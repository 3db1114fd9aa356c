/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One lambda for all classes: the maximum of sum_k F_k(lambda).
 *
 * With an arg-max over classes, lambdas of their own make scores incomparable: on CUB-200 the shared one is worth eight
 * points of accuracy. It is a zero of the summed slope between two points of the scan, found by the Illinois
 * method: a secant that halves the weight of an end which stays, so that it cannot stall. */
#include "select/scan.h"

#include <math.h>

typedef struct shared_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const bool *constant;
    size_t counted; /* classes that are not constant */
    double x;
    double *inverse;             /* order: pivots at x */
    double *r_part, *slope_part; /* tiles: sums over the tile's classes */
} shared_job;

static void shared_tile(void *arg, size_t tile, double *scratch)
{
    const shared_job *job = arg;
    const tnp_spectrum *s = job->s;
    double lambda = exp(job->x);
    tnp_ridge_values v;
    tnp_spectrum_eval_known(s, job->k, tile, lambda, job->inverse, scratch, &v);
    job->r_part[tile] = job->slope_part[tile] = 0;
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t c = tile * TNP_LANES + l;
        if (c >= s->classes || job->constant[c])
            continue;
        job->r_part[tile] += tnp_log_evidence(s, 0, v.r[l]);
        job->slope_part[tile] -= s->dof * lambda * v.ww[l] / v.r[l] / 2;
    }
}

/* Sums of F and of its slope at x. */
static tn_status shared_at(tn_ctx *ctx, shared_job *job, double x, double *f, double *slope)
{
    const tnp_spectrum *s = job->s;
    job->x = x;
    tnp_spectrum_pivots(s, exp(x), job->inverse);
    tn_status st = tnp_spectrum_tiles(ctx, s, s->tiles, shared_tile, job);
    if (st != TN_OK)
        return st;
    *f = -(double)job->counted * tnp_spectrum_logdet(s, exp(x)) / 2;
    *slope = (double)job->counted * tnp_spectrum_gamma(s, exp(x)) / 2;
    for (size_t t = 0; t < s->tiles; ++t) {
        *f += job->r_part[t];
        *slope += job->slope_part[t];
    }
    return TN_OK;
}

/* Sums of the scan at point g over the classes that count. */
static void scan_sums(const shared_job *job, const tnp_scan *scan, size_t g, double *f, double *slope)
{
    *f = *slope = 0;
    for (size_t c = 0; c < job->s->classes; ++c) {
        size_t at = (c / TNP_LANES * scan->count + g) * TNP_LANES + c % TNP_LANES;
        *f += job->constant[c] ? 0 : scan->f[at];
        *slope += job->constant[c] ? 0 : scan->slope[at];
    }
}

/* Bracket [a, b] with the slopes at its ends, shrunk around the zero until it or the step is within tolerance; nothing
 * is done where the slope does not turn from rising to falling. *x and *best are the best point seen. */
static tn_status illinois(tn_ctx *ctx, shared_job *job, double a, double b, double ga, double gb, double tolerance,
                          double *x, double *best)
{
    double last = INFINITY;
    for (int i = 0; i < 60 && ga > 0 && gb < 0 && b - a > tolerance; ++i) {
        double c = b - gb * (b - a) / (gb - ga), f = 0, g = 0;
        tn_status st = shared_at(ctx, job, c, &f, &g);
        if (st != TN_OK)
            return st;
        if (f > *best) {
            *best = f;
            *x = c;
        }
        if (fabs(c - last) <= tolerance)
            break;
        last = c;
        if (g > 0) {
            a = c;
            ga = g;
            gb /= 2;
        } else {
            b = c;
            gb = g;
            ga /= 2;
        }
    }
    return TN_OK;
}

tn_status tnp_shared_lambda(tn_ctx *ctx, const tnp_spectrum *s, const tnp_scan *scan, const bool *constant,
                            double tolerance, tn_evidence *out)
{
    tn_status st = TN_OK;
    shared_job job = {s, tnp_simd_get(), constant, s->classes - out->degenerate_classes, 0, NULL, NULL, NULL};
    double f[TNP_SCAN_MOST] = {0}, slope[TNP_SCAN_MOST];
    size_t best = 0;
    TN_TRY(tnp_alloc(ctx, s->order, sizeof(double), &job.inverse));
    TN_TRY(tnp_alloc(ctx, s->tiles, sizeof(double), &job.r_part));
    TN_TRY(tnp_alloc(ctx, s->tiles, sizeof(double), &job.slope_part));
    for (size_t g = 0; g < scan->count; ++g) {
        scan_sums(&job, scan, g, &f[g], &slope[g]);
        best = f[g] > f[best] ? g : best;
    }
    double x = scan->x[best], value = f[best];
    for (size_t g = 0; g + 1 < scan->count; ++g) /* F may have two maxima: each turn of the slope is tried */
        TN_TRY(illinois(ctx, &job, scan->x[g], scan->x[g + 1], slope[g], slope[g + 1], tolerance, &x, &value));
    out->lambda_shared = value > out->log_null ? exp(x) : INFINITY;
    out->log_evidence_shared = fmax(value, out->log_null);
done:
    tnp_free_all(job.inverse, job.r_part, job.slope_part);
    return st;
}
