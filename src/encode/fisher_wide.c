/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fisher vectors and their reverse pass in double: for the record, and to tell rounding from a fault. All components of
 * every descriptor are met, none is left out as too far. Formulas as in fisher_back.c. */
#include "encode/fisher_back.h"

#include <math.h>
#include <string.h>

/* One descriptor: posteriors q (K), and alpha = (x - mean) / sigma (K, d). */
static void measure(const tnp_fisher_point *p, const float *x, double *q, double *alpha)
{
    size_t d = p->dim, kd = p->count * d;
    const double *means = p->theta + p->count, *log_sigma = means + kd;
    double top = -HUGE_VAL, sum = 0;
    for (size_t k = 0; k < p->count; ++k) {
        q[k] = p->log_weight[k];
        for (size_t i = k * d; i < (k + 1) * d; ++i) {
            alpha[i] = ((double)x[i - k * d] - means[i]) / p->sigma[i];
            q[k] -= log_sigma[i] + 0.5 * alpha[i] * alpha[i];
        }
        top = fmax(top, q[k]);
    }
    for (size_t k = 0; k < p->count; ++k)
        sum += q[k] = exp(q[k] - top);
    for (size_t k = 0; k < p->count; ++k)
        q[k] /= sum;
}

/* e = dL/dq of every component into e (K); returns their mean by q. */
static double slopes_of(const tnp_fisher_point *p, const double *q, const double *alpha, const double *u,
                        const double *v, double *e)
{
    size_t d = p->dim;
    double mean = 0;
    for (size_t k = 0; k < p->count; ++k) {
        e[k] = 0;
        for (size_t i = k * d; i < (k + 1) * d; ++i)
            e[k] += alpha[i] * u[i] + (alpha[i] * alpha[i] - 1) * v[i];
        mean += q[k] * e[k];
    }
    return mean;
}

/* sums += weight[k] (1, x - mean, (x - mean)^2). */
static void add_weighted(const tnp_fisher_point *p, const double *weight, const double *alpha, tnp_mixture_sums *sums)
{
    size_t d = p->dim;
    for (size_t i = 0; i < p->count * d; ++i) {
        double z = alpha[i] * p->sigma[i];
        sums->first[i] += weight[i / d] * z;
        sums->second[i] += weight[i / d] * z * z;
    }
    for (size_t k = 0; k < p->count; ++k)
        sums->zero[k] += weight[k];
}

tn_status tnp_fisher_wide_back(tn_ctx *ctx, const tnp_fisher_point *p, const double *u, const double *v,
                               const float *rows, size_t n, double *shares, tnp_mixture_sums *sums)
{
    tn_status st = TN_OK;
    double *q = NULL, *e = NULL, *alpha = NULL;
    TN_TRY(tnp_alloc_raw(ctx, p->count, sizeof *q, &q));
    TN_TRY(tnp_alloc_raw(ctx, p->count, sizeof *e, &e));
    TN_TRY(tnp_alloc_raw(ctx, p->count * p->dim, sizeof *alpha, &alpha));
    for (size_t t = 0; t < n; ++t) {
        measure(p, rows + t * p->dim, q, alpha);
        double mean = slopes_of(p, q, alpha, u, v, e);
        for (size_t k = 0; k < p->count; ++k) {
            shares[k] += q[k];
            e[k] = q[k] * (e[k] - mean);
        }
        add_weighted(p, e, alpha, sums);
    }
done:
    tnp_free_all(q, e, alpha);
    return st;
}

/* One cell from the sums over its descriptors. */
static void write_cell(const tnp_fisher_point *p, const tnp_mixture_sums *sums, size_t rows, double *out)
{
    size_t d = p->dim, kd = p->count * d;
    for (size_t i = 0; i < kd; ++i) {
        double over = rows ? 1 / ((double)rows * sqrt(p->weight[i / d])) : 0, sigma = p->sigma[i];
        out[i] = sums->first[i] / sigma * over;
        out[kd + i] = (sums->second[i] / (sigma * sigma) - sums->zero[i / d]) * over / sqrt(2);
    }
}

tn_status tnp_fisher_wide(tn_ctx *ctx, const tn_encoder *e, const tnp_fisher_point *p, const float *rows,
                          const size_t *starts, double *out)
{
    tn_status st = TN_OK;
    size_t counts[TNP_MOST_CELLS], d = p->dim;
    double *q = NULL, *alpha = NULL;
    tnp_mixture_sums sums = {.rows = 0};
    tnp_encoder_cell_rows(e, starts, counts);
    TN_TRY(tnp_alloc_raw(ctx, p->count, sizeof *q, &q));
    TN_TRY(tnp_alloc_raw(ctx, p->count * d, sizeof *alpha, &alpha));
    TN_TRY(tnp_mixture_sums_new(ctx, &e->mixture, &sums));
    for (size_t c = 0; c < e->pyramid.cells; ++c) {
        tnp_mixture_sums_clear(&e->mixture, &sums);
        for (size_t a = 0; a < tnp_encoder_atoms(e); ++a)
            for (size_t t = starts[a]; tnp_pyramid_holds(&e->pyramid, c, a) && t < starts[a + 1]; ++t) {
                measure(p, rows + t * d, q, alpha);
                add_weighted(p, q, alpha, &sums);
            }
        write_cell(p, &sums, counts[c], out + c * tnp_encoder_cell(e));
    }
done:
    tnp_free_all(q, alpha);
    tnp_mixture_sums_free(&sums);
    return st;
}
