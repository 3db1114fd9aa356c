/* SPDX-License-Identifier: BSD-3-Clause
 *
 * F and its slope at every lambda of the scan for all classes. gamma and the log-determinant are the same for every
 * class and are taken once a point, and so are the pivots of T + lambda I; each tile of eight classes then costs one
 * tridiagonal solve without a division. */
#include "select/scan.h"

#include <math.h>

double tnp_log_evidence(const tnp_spectrum *s, double logdet, double r)
{
    return s->dof / 2 * (log(s->dof) - 1 - log(2 * 3.14159265358979323846) - log(r)) - logdet / 2 + s->offset;
}

typedef struct scan_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const tnp_scan *scan;
    double gamma[TNP_SCAN_MOST], logdet[TNP_SCAN_MOST];
    double *inverse; /* (points, order): pivots of every point, the same for all classes */
} scan_job;

static void scan_tile(void *arg, size_t tile, double *scratch)
{
    const scan_job *job = arg;
    const tnp_spectrum *s = job->s;
    for (size_t g = 0; g < job->scan->count; ++g) {
        double lambda = exp(job->scan->x[g]);
        tnp_ridge_values v;
        tnp_spectrum_eval_known(s, job->k, tile, lambda, job->inverse + g * s->order, scratch, &v);
        for (size_t l = 0; l < TNP_LANES; ++l) {
            size_t at = (tile * job->scan->count + g) * TNP_LANES + l;
            job->scan->f[at] = tnp_log_evidence(s, job->logdet[g], v.r[l]);
            job->scan->slope[at] = (job->gamma[g] - s->dof * lambda * v.ww[l] / v.r[l]) / 2;
        }
    }
}

tn_status tnp_scan_init(tn_ctx *ctx, const tnp_spectrum *s, tnp_scan *scan)
{
    tn_status st = TN_OK;
    scan_job job = {.s = s, .k = tnp_simd_get(), .scan = scan};
    double low = log(s->floor), high = log(1e6 * s->largest);
    double more = 2 * (log10(1e-12 * s->largest) - log10(s->floor));
    size_t points = TNP_SCAN + (size_t)ceil(fmin(fmax(more - 1e-9, 0), TNP_SCAN_MOST - TNP_SCAN));
    scan->f = scan->slope = NULL;
    scan->count = points;
    TN_TRY(tnp_alloc(ctx, s->tiles * points * TNP_LANES, sizeof(double), &scan->f));
    TN_TRY(tnp_alloc(ctx, s->tiles * points * TNP_LANES, sizeof(double), &scan->slope));
    TN_TRY(tnp_alloc_raw(ctx, points * s->order, sizeof *job.inverse, &job.inverse));
    for (size_t g = 0; g < points; ++g) {
        scan->x[g] = low + (high - low) * (double)g / (double)(points - 1);
        job.gamma[g] = tnp_spectrum_gamma(s, exp(scan->x[g]));
        job.logdet[g] = tnp_spectrum_logdet(s, exp(scan->x[g]));
        tnp_spectrum_pivots(s, exp(scan->x[g]), job.inverse + g * s->order);
    }
    TN_TRY(tnp_spectrum_tiles(ctx, s, s->tiles, scan_tile, &job));
done:
    tnp_free(job.inverse);
    if (st != TN_OK)
        tnp_scan_destroy(scan);
    return st;
}

void tnp_scan_destroy(tnp_scan *scan)
{
    tnp_free_all(scan->f, scan->slope);
    scan->f = scan->slope = NULL;
}
