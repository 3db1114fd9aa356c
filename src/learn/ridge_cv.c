/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validated ridge regression: a tridiagonal form a fold, then every lambda of the grid at O(D) a class.
 *
 *   primal   statistics of all rows once; of a training fold: all less the fold held out
 *   dual     products of all rows once; of a training fold: the rows and columns that belong to it
 *
 * Held-out scores of the dual need no features either: x'w = sum_i v_i x'x_i. */
#include "base/blas.h"
#include "learn/cross.h"
#include "learn/ridge.h"
#include "learn/task.h"

#include <string.h>

typedef struct cv_job {
    tnp_design *x;
    const tnp_targets *y;
    const uint32_t *row_fold;
    bool intercept, dual;
    tnp_measure_fn measure;
    void *arg;
    tnp_cross *cross;
    tnp_stats *all;                             /* primal */
    double *products;                           /* dual: (rows, rows), both triangles */
    double *outside, *mean_product;             /* dual, of the fold at hand: see dual_fold_products */
    float *held;                                /* primal: the features of the fold held out */
    size_t *rows, *inside, count, inside_count; /* of the fold held out; the others */
    float *scores;                              /* (count, classes) */
    double *lambda;                             /* classes */
} cv_job;

/* Splits the rows by fold f and, in the primal, collects the features of those held out. */
static tn_status split(tn_ctx *ctx, cv_job *job, uint32_t f)
{
    size_t dim = job->x->dim;
    job->count = job->inside_count = 0;
    for (size_t b = 0; b < job->x->blocks; ++b) {
        const float *x = NULL;
        size_t start = b * job->x->block, n = tnp_min(job->x->block, job->x->rows - start);
        tn_status st = job->dual ? TN_OK : tnp_design_block(ctx, job->x, b, &x, &start, &n);
        if (st != TN_OK)
            return st;
        for (size_t i = 0; i < n; ++i) {
            if (job->row_fold[start + i] != f) {
                job->inside[job->inside_count++] = start + i;
                continue;
            }
            if (!job->dual)
                memcpy(job->held + job->count * dim, x + i * dim, dim * sizeof(float));
            job->rows[job->count++] = start + i;
        }
    }
    return TN_OK;
}

/* Scores of the held-out rows for one lambda, from the fold's ridge problem. */
static tn_status primal_scores(tn_ctx *ctx, cv_job *job, const tnp_ridge *ridge, float *weight, float *bias)
{
    size_t k = job->y->classes, dim = job->x->dim;
    tn_status st = tnp_ridge_weights(ctx, ridge, NULL, 0, job->lambda, weight, bias);
    for (size_t i = 0; st == TN_OK && i < job->count; ++i)
        memcpy(job->scores + i * k, bias, k * sizeof *bias);
    return st != TN_OK ? st : tnp_sgemm_nt(ctx, job->count, k, dim, job->held, dim, weight, dim, 1, job->scores, k);
}

/* What the dual needs of the fold: products of held-out and training rows (count, m), and each training row's mean product
 * with the training rows (m). */
static tn_status dual_fold_products(tn_ctx *ctx, cv_job *job)
{
    size_t n = job->x->rows, m = job->inside_count;
    tn_status st = tnp_alloc_raw(ctx, job->count * m, sizeof *job->outside, &job->outside);
    if (st == TN_OK)
        st = tnp_alloc(ctx, m, sizeof *job->mean_product, &job->mean_product);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < m; ++i) {
        for (size_t h = 0; h < job->count; ++h)
            job->outside[h * m + i] = job->products[job->rows[h] * n + job->inside[i]];
        for (size_t j = 0; job->intercept && j < m; ++j)
            job->mean_product[i] += job->products[job->inside[i] * n + job->inside[j]] / (double)m;
    }
    return TN_OK;
}

/* v (classes, m): score = sum_i v_i x'x_i, less its mean over the training rows, plus the mean of y. */
static tn_status dual_scores(tn_ctx *ctx, cv_job *job, const tnp_ridge *ridge, double *v, double *raw)
{
    tn_status st = TN_OK;
    size_t k = job->y->classes, m = job->inside_count;
    TN_TRY(tnp_spectrum_solve(ctx, ridge->spectrum, job->lambda, true, v));
    TN_TRY(tnp_dgemm_nt(ctx, job->count, k, m, job->outside, m, v, m, 0, raw, k));
    for (size_t c = 0; c < k; ++c) {
        double mean = 0;
        for (size_t i = 0; i < m; ++i)
            mean += v[c * m + i] * job->mean_product[i];
        for (size_t h = 0; h < job->count; ++h)
            job->scores[h * k + c] = (float)(raw[h * k + c] - mean + ridge->ymean[c]);
    }
done:
    return st;
}

/* Every lambda of the grid on the fold's problem. */
static tn_status walk_grid(tn_ctx *ctx, cv_job *job, const tnp_ridge *ridge, size_t f)
{
    tn_status st = TN_OK;
    float *weight = NULL, *bias = NULL;
    double *v = NULL, *raw = NULL;
    size_t k = job->y->classes;
    TN_TRY(tnp_alloc_raw(ctx, job->dual ? 1 : k * job->x->dim, sizeof *weight, &weight));
    TN_TRY(tnp_alloc(ctx, k, sizeof *bias, &bias));
    TN_TRY(tnp_alloc_raw(ctx, job->dual ? k * job->inside_count : 1, sizeof *v, &v));
    TN_TRY(tnp_alloc_raw(ctx, job->dual ? k * job->count : 1, sizeof *raw, &raw));
    for (size_t g = 0; g < job->cross->count; ++g) {
        for (size_t c = 0; c < k; ++c)
            job->lambda[c] = job->cross->grid[g];
        if (job->dual)
            TN_TRY(dual_scores(ctx, job, ridge, v, raw));
        else
            TN_TRY(primal_scores(ctx, job, ridge, weight, bias));
        TN_TRY(job->measure(ctx, job->arg, job->rows, job->count, job->scores,
                            &job->cross->value[g * job->cross->folds + f]));
    }
done:
    tnp_free(weight);
    tnp_free(bias);
    tnp_free(v);
    tnp_free(raw);
    return st;
}

/* Statistics of the rows held out, in blocks; x is used up as scratch, so they come from a copy. */
static tn_status held_stats(tn_ctx *ctx, const cv_job *job, tnp_stats **out)
{
    tn_status st = TN_OK;
    tnp_stats *stats = NULL;
    tnp_picked held = {0};
    size_t dim = job->x->dim, block = tnp_stats_block(dim, false);
    float *copy = NULL;
    TN_TRY(tnp_picked_init(ctx, job->y, job->rows, job->count, &held));
    TN_TRY(tnp_stats_new(ctx, dim, job->y->classes, false, &stats));
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(block, job->count) * dim, sizeof *copy, &copy));
    for (size_t start = 0; start < job->count; start += block) {
        size_t n = tnp_min(block, job->count - start);
        memcpy(copy, job->held + start * dim, n * dim * sizeof *copy);
        TN_TRY(tnp_stats_add(ctx, stats, copy, &held.y, start, n));
    }
    *out = stats;
    stats = NULL;
done:
    tn_stats_free(stats);
    tnp_picked_destroy(&held);
    tnp_free(copy);
    return st;
}

static tn_status primal_fold(tn_ctx *ctx, cv_job *job, size_t f)
{
    tn_status st = TN_OK;
    tnp_stats *held = NULL;
    tnp_ridge *ridge = NULL;
    tnp_range all = {0, job->x->dim};
    TN_TRY(held_stats(ctx, job, &held));
    tnp_stats_subtract(job->all, held);
    st = tnp_ridge_primal(ctx, job->all, &all, 1, job->intercept, &ridge);
    if (st == TN_OK)
        st = tn_stats_merge(ctx, job->all, held);
    if (st == TN_OK)
        st = walk_grid(ctx, job, ridge, f);
done:
    tn_stats_free(held);
    tnp_ridge_free(ridge);
    return st;
}

static tn_status dual_fold(tn_ctx *ctx, cv_job *job, size_t f)
{
    tn_status st = TN_OK;
    tnp_ridge *ridge = NULL;
    tnp_picked picked = {0};
    size_t m = job->inside_count, n = job->x->rows;
    double *inside = NULL;
    TN_TRY(tnp_picked_init(ctx, job->y, job->inside, m, &picked));
    TN_TRY(tnp_alloc_raw(ctx, m * m, sizeof *inside, &inside));
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < m; ++j)
            inside[i * m + j] = job->products[job->inside[i] * n + job->inside[j]];
    st = tnp_ridge_dual(ctx, inside, &picked.y, job->x->dim, job->intercept, &ridge);
    inside = NULL; /* taken over, also on failure */
    if (st == TN_OK)
        st = dual_fold_products(ctx, job);
    if (st == TN_OK)
        st = walk_grid(ctx, job, ridge, f);
done:
    tnp_free(job->outside);
    tnp_free(job->mean_product);
    job->outside = job->mean_product = NULL;
    tnp_ridge_free(ridge);
    tnp_picked_destroy(&picked);
    tnp_free(inside);
    return st;
}

/* Products of all rows, summed over the feeds, both triangles filled. */
static tn_status all_products(tn_ctx *ctx, cv_job *job)
{
    tn_status st = TN_OK;
    double *one = NULL;
    size_t n = job->x->rows;
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *job->products, &job->products));
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *one, &one));
    for (size_t f = 0; f < job->x->feed_count; ++f) {
        TN_TRY(tnp_gather_products(ctx, job->x->feeds[f], job->intercept, one));
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i; j < n; ++j)
                job->products[i * n + j] += one[i * n + j];
    }
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < i; ++j)
            job->products[i * n + j] = job->products[j * n + i];
done:
    tnp_free(one);
    return st;
}

tn_status tnp_ridge_cv(tn_ctx *ctx, tnp_design *design, const tnp_targets *y, bool intercept, const uint32_t *row_fold,
                       tnp_measure_fn measure, void *arg, tnp_cross *cross)
{
    tn_status st = TN_OK;
    cv_job job = {.x = design,
                  .y = y,
                  .row_fold = row_fold,
                  .intercept = intercept,
                  .measure = measure,
                  .arg = arg,
                  .cross = cross};
    size_t least = y->rows - (y->rows + cross->folds - 1) / cross->folds; /* rows of the smallest training fold */
    size_t most = 0;
    job.dual = design->dim + 1 >= least;
    for (size_t f = 0; f < cross->folds; ++f) {
        size_t n = 0;
        for (size_t i = 0; i < y->rows; ++i)
            n += row_fold[i] == f;
        most = tnp_max(most, n);
    }
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *job.rows, &job.rows));
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *job.inside, &job.inside));
    TN_TRY(tnp_alloc(ctx, most * y->classes, sizeof *job.scores, &job.scores));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *job.lambda, &job.lambda));
    if (job.dual) {
        TN_TRY(all_products(ctx, &job));
    } else {
        TN_TRY(tnp_alloc_raw(ctx, most * design->dim, sizeof *job.held, &job.held));
        TN_TRY(tnp_gather_stats(ctx, design->feeds, design->feed_count, y, &job.all));
    }
    for (size_t f = 0; f < cross->folds; ++f) {
        TN_TRY(tnp_progress(ctx, "cross-validation", f, cross->folds));
        TN_TRY(split(ctx, &job, (uint32_t)f));
        TN_TRY(job.dual ? dual_fold(ctx, &job, f) : primal_fold(ctx, &job, f));
    }
    tnp_cross_finish(cross, true);
done:
    tn_stats_free(job.all);
    tnp_free(job.products);
    tnp_free(job.held);
    tnp_free(job.rows);
    tnp_free(job.inside);
    tnp_free(job.scores);
    tnp_free(job.lambda);
    return st;
}
