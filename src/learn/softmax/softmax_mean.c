/* SPDX-License-Identifier: BSD-3-Clause
 *
 * At no weights every probability is 1/k, and but for the mean of the classes, along which there is only the ridge, the
 * second derivative is the same for all of them:
 *
 *   M = I + sum_i c_i / k (x_i - m)(x_i - m)'   for the weights,   sum_i c_i / k   for the intercept b + m'w
 *
 * m the mean of the rows with their costs. So one factor makes the first step Newton's own for all classes, and the next
 * ones nearly so while C is small. It costs dim / 2k of a product with the weights of all classes: where dim is at most
 * MANY times the classes, LEAST of them or more: of few each has more of the rows, and other curvature soon. (5994 x
 * 128, 200 classes) at C = 1 is within 2e-4 after two rounds, where the subspace of the class means took as long as
 * eight.
 *
 * Groups of rows are summed side by side, and added in their order. Oracle: ref_logistic, by the heads that come of
 * it. */
#include "learn/softmax/softmax_mean.h"
#include "algebra/blas.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { LEAST = 32, MANY = 3, WIDEST = 1024, GROUPS = 4, PANEL = 128, CLASSES = 16 };
static const float MOST = 3e5f; /* of the diagonal: its rounding is 2 per cent of the ridge */

bool tnp_mean_curve_pays(size_t dim, size_t k)
{
    return k >= LEAST && dim <= WIDEST && dim <= MANY * k;
}

size_t tnp_mean_curve_bytes(size_t dim, size_t k)
{
    return 4 * (dim * dim * (2 + GROUPS) + GROUPS * PANEL * dim + k * dim + 3 * dim + 1) + 8 * dim + 512;
}

typedef struct gram_job {
    const tnp_softmax *loss;
    const tnp_block_rows *rows;
    const float *mean;
    size_t dim, k;
    float *panel, *part; /* (GROUPS, PANEL, dim), (GROUPS, dim, dim) */
} gram_job;

static double cost_of(const tnp_softmax *loss, const tnp_block_rows *rows, size_t i)
{
    return (double)rows->stride * tnp_softmax_cost(loss, i * rows->stride);
}

static void sum_group(void *arg, size_t group)
{
    const gram_job *job = arg;
    const tnp_block_rows *rows = job->rows;
    size_t dim = job->dim, end = (group + 1) * rows->count / GROUPS;
    float *v = job->panel + group * PANEL * dim, *part = job->part + group * dim * dim;
    memset(part, 0, dim * dim * sizeof *part);
    for (size_t from = group * rows->count / GROUPS, n; from < end; from += n) {
        n = tnp_min(PANEL, end - from);
        for (size_t i = 0; i < n; ++i)
            tnp_simd_get()->shift_scale(rows->x + (from + i) * rows->ld, job->mean,
                                        (float)sqrt(cost_of(job->loss, rows, from + i) / (double)job->k), v + i * dim,
                                        dim);
        tnp_ssyrk_cols_alone(n, dim, v, dim, 1, part);
    }
}

/* The mean of the rows, and the sum of their costs. */
static tn_status find_mean(tn_ctx *ctx, const tnp_softmax *loss, const tnp_block_rows *rows, size_t dim, bool bias,
                           tnp_row_moment *m)
{
    tn_status st = TN_OK;
    double *sum = NULL;
    TN_TRY(tnp_alloc(ctx, tnp_max(1, dim), sizeof *sum, &sum));
    for (size_t i = 0; i < rows->count; ++i) {
        double cost = cost_of(loss, rows, i);
        m->cost += cost;
        for (size_t j = 0; bias && j < dim; ++j)
            sum[j] += cost * (double)rows->x[i * rows->ld + j];
    }
    for (size_t j = 0; bias && m->cost > 0 && j < dim; ++j)
        m->mean[j] = (float)(sum[j] / m->cost);
done:
    tnp_free(sum);
    return st;
}

tn_status tnp_row_moment_make(tn_ctx *ctx, const tnp_softmax *loss, const tnp_block_rows *rows, size_t dim, bool bias,
                              tnp_row_moment *m)
{
    tn_status st = TN_OK;
    gram_job job = {.loss = loss, .rows = rows, .dim = dim, .k = loss->y->classes};
    TN_TRY(tnp_alloc(ctx, tnp_max(1, dim), sizeof *m->mean, &m->mean));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, dim * dim), sizeof *m->a, &m->a));
    TN_TRY(tnp_alloc_raw(ctx, GROUPS * PANEL * dim, sizeof *job.panel, &job.panel));
    TN_TRY(tnp_alloc_raw(ctx, GROUPS * dim * dim, sizeof *job.part, &job.part));
    TN_TRY(find_mean(ctx, loss, rows, dim, bias, m));
    job.mean = m->mean;
    tnp_blas_begin_alone();
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)rows->count * (double)(dim * dim) / 16), GROUPS, sum_group, &job);
    tnp_blas_end_alone();
    memcpy(m->a, job.part, dim * dim * sizeof *m->a);
    for (size_t g = 1; g < GROUPS; ++g)
        tnp_simd_get()->add_scaled(1, job.part + g * dim * dim, m->a, dim * dim);
done:
    tnp_free_all(job.panel, job.part);
    return st;
}

void tnp_row_moment_destroy(tnp_row_moment *m)
{
    tnp_free_all(m->mean, m->a);
    *m = (tnp_row_moment){.cost = 0};
}

static tn_status factor(tnp_mean_curve *c, const tnp_row_moment *moment, double scale, bool *found)
{
    tn_status st = TN_OK;
    size_t dim = c->dim;
    *found = true;
    tnp_simd_get()->scale(moment->a, (float)scale, c->t, dim * dim);
    for (size_t i = 0; i < dim; ++i) {
        *found &= c->t[i * dim + i] <= MOST;
        c->t[i * dim + i] += 1;
    }
    if (*found)
        st = tnp_cholesky_float(c->ctx, dim, c->t);
    *found &= st == TN_OK;
    return st == TN_ERR_NUMERIC ? TN_OK : st;
}

tn_status tnp_mean_curve_init(tn_ctx *ctx, const tnp_softmax *loss, const tnp_row_moment *moment,
                              const tnp_block_rows *rows, size_t dim, bool bias, bool penalised, tnp_mean_curve *c)
{
    tn_status st = TN_OK;
    tnp_row_moment own = {.cost = 0};
    double all = tnp_softmax_costs(loss);
    bool found = false;
    *c = (tnp_mean_curve){.ctx = ctx, .k = loss->y->classes, .dim = dim, .bias = bias, .penalised = penalised};
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, dim), sizeof *c->mean, &c->mean));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, dim * dim), sizeof *c->t, &c->t));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, c->k * dim), sizeof *c->apart, &c->apart));
    TN_TRY(tnp_alloc(ctx, dim + 1, sizeof *c->common, &c->common));
    if (!moment)
        TN_TRY(tnp_row_moment_make(ctx, loss, rows, dim, bias, &own));
    moment = moment ? moment : &own;
    memcpy(c->mean, moment->mean, dim * sizeof *c->mean);
    double last = all / (double)c->k + (penalised ? 1 : 0);
    c->last = bias && last > 0 ? (float)(1 / last) : 0;
    TN_TRY(factor(c, moment, moment->cost > 0 ? all / moment->cost : 0, &found));
    if (!found) {
        tnp_free(c->t);
        c->t = NULL;
    }
done:
    tnp_row_moment_destroy(&own);
    return st;
}

void tnp_mean_curve_destroy(tnp_mean_curve *c)
{
    tnp_free_all(c->mean, c->t, c->apart, c->common);
    *c = (tnp_mean_curve){.ctx = NULL};
}

typedef struct apply_job {
    const tnp_mean_curve *c;
    const float *in;
    float *out;
} apply_job;

/* CLASSES classes from number CLASSES part on. */
static void apply_part(void *arg, size_t part)
{
    const apply_job *job = arg;
    const tnp_mean_curve *c = job->c;
    const tnp_simd *simd = tnp_simd_get();
    size_t dim = c->dim, first = part * CLASSES, end = tnp_min(c->k, first + CLASSES);
    for (size_t j = first; j < end; ++j) {
        const float *in = job->in + j * (dim + 1);
        float *apart = c->apart + j * dim;
        simd->shift_scale(in, c->common, 1, apart, dim);
        simd->add_scaled(c->common[dim] - in[dim], c->mean, apart, dim);
    }
    tnp_solve_factored_float_alone(end - first, dim, c->t, c->apart + first * dim);
    for (size_t j = first; j < end; ++j) {
        const float *apart = c->apart + j * dim;
        float *out = job->out + j * (dim + 1), last = job->in[j * (dim + 1) + dim] - c->common[dim];
        for (size_t i = 0; i < dim; ++i)
            out[i] = apart[i] + c->common[i];
        out[dim] = c->last * last - (float)simd->dot(c->mean, apart, dim) + (c->penalised ? c->common[dim] : 0);
    }
}

void tnp_mean_curve_apply(const tnp_mean_curve *c, const float *in, float *out)
{
    size_t width = c->dim + 1, parts = (c->k + CLASSES - 1) / CLASSES;
    memset(c->common, 0, width * sizeof *c->common);
    for (size_t j = 0; j < c->k; ++j)
        tnp_simd_get()->add_scaled(1 / (float)c->k, in + j * width, c->common, width);
    tnp_blas_begin_alone();
    tnp_parallel(c->ctx, tnp_threads_for(c->ctx, (double)(c->k * c->dim * c->dim) / 4), parts, apply_part,
                 &(apply_job){c, in, out});
    tnp_blas_end_alone();
}
