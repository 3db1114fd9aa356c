/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validated ridge regression: a tridiagonal form a fold, then every lambda of the grid at O(D) a class.
 *
 *   primal   statistics of all rows once; of a training fold: all less the fold held out
 *   dual     products of all rows once; of a training fold: the rows and columns that belong to it
 *
 * Held-out scores of the dual need no features either: x'w = sum_i v_i x'x_i. Of weighted rows the training has
 * weighted squares; the quality of what is held out counts every row alike. Of a team every member holds a part of the
 * rows that are held out; the dual, which has few rows, is done by all. */
#include "algebra/blas.h"
#include "base/team.h"
#include "learn/head/cross.h"
#include "learn/ridge/ridge.h"
#include "learn/head/task.h"
#include "transform/feed.h"

#include <string.h>

typedef struct cv_job {
    tnp_design
        *x; /* where the rows are: those held out are wanted in double, and products of rows, as the files have them */
    tnp_rows all_rows;
    const tnp_targets *y;
    const uint32_t *row_fold;
    bool intercept, dual, wide;
    tnp_measure_fn measure;
    void *arg;
    tnp_cross *cross;
    tnp_moments *all;                           /* primal */
    double *products;                           /* dual: (rows, rows), both triangles */
    double *outside, *mean_product;             /* dual, of the fold at hand: see dual_fold_products */
    float *held;                                /* primal: the features of this member's part of the fold held out, */
    double *held_wide;                          /* or these, less the shift of all */
    size_t *rows, *inside, count, inside_count; /* of the fold held out; the others */
    size_t from, own;                           /* rows[from .. from + own) are this member's */
    float *scores;                              /* (count, classes) */
    double *lambda;                             /* classes */
} cv_job;

/* Collects the features of the rows held out: as float, or the feeds' rows in double. */
static tn_status read_held(tn_ctx *ctx, cv_job *job)
{
    const tnp_design *x = job->x;
    const size_t *rows = job->rows + job->from;
    tn_status st = TN_OK;
    if (!job->wide && !tnp_team_shares(ctx))
        return job->all_rows.ops->pick(ctx, job->x, rows, job->own, job->held);
    for (size_t f = 0, at = 0; !job->wide && st == TN_OK && f < x->feed_count; at += tn_feed_cols(x->feeds[f++]))
        st = tnp_feed_pick(ctx, x->feeds[f], rows, job->own, job->held + at, x->dim);
    return job->wide ? tnp_feeds_pick_wide(ctx, x->feeds, x->feed_count, rows, job->own, NULL, job->held_wide) : st;
}

/* Splits the rows by fold f and, in the primal, collects the features of those held out. */
static tn_status split(tn_ctx *ctx, cv_job *job, uint32_t f)
{
    job->count = job->inside_count = 0;
    for (size_t i = 0; i < job->x->rows; ++i)
        if (job->row_fold[i] == f)
            job->rows[job->count++] = i;
        else
            job->inside[job->inside_count++] = i;
    job->from = 0;
    job->own = job->count;
    if (job->dual)
        return TN_OK;
    size_t to;
    tnp_team_part(ctx, job->count, tnp_moments_block(job->x->dim, job->wide), &job->from, &to);
    job->own = to - job->from;
    return read_held(ctx, job);
}

/* Scores of the held-out rows for one lambda, from the fold's ridge problem. */
static tn_status primal_scores(tn_ctx *ctx, cv_job *job, const tnp_ridge *ridge, float *weight, float *bias)
{
    size_t k = job->y->classes, dim = job->x->dim;
    float *scores = job->scores + job->from * k;
    tn_status st = tnp_ridge_weights(ctx, ridge, NULL, 0, job->lambda, weight, bias);
    for (size_t i = 0; st == TN_OK && i < job->own; ++i)
        memcpy(scores + i * k, bias, k * sizeof *bias);
    return st != TN_OK ? st : tnp_sgemm_nt(ctx, job->own, k, dim, job->held, dim, weight, dim, 1, scores, k);
}

/* The same in double: mean(y) + (x - mean)'w, so that an offset costs no digits. */
static tn_status primal_scores_wide(tn_ctx *ctx, cv_job *job, const tnp_ridge *ridge, double *w, double *raw)
{
    tn_status st = TN_OK;
    size_t k = job->y->classes, dim = job->x->dim;
    TN_TRY(tnp_spectrum_solve(ctx, ridge->spectrum, job->lambda, true, w));
    TN_TRY(tnp_dgemm_nt(ctx, job->own, k, dim, job->held_wide, dim, w, dim, 0, raw, k));
    for (size_t c = 0; c < k; ++c) {
        double mean = 0; /* what is held is less the shift of all rows */
        for (size_t j = 0; j < dim; ++j)
            mean += w[c * dim + j] * (ridge->mean[j] - job->all->shift[j]);
        for (size_t h = 0; h < job->own; ++h)
            job->scores[(job->from + h) * k + c] = (float)(ridge->ymean[c] + raw[h * k + c] - mean);
    }
done:
    return st;
}

/* What the dual needs of the fold: products of held-out and training rows (count, m), and each training row's mean
 * product with the training rows (m). */
static tn_status dual_fold_products(tn_ctx *ctx, cv_job *job)
{
    size_t n = job->x->rows, m = job->inside_count;
    tn_status st = tnp_alloc_raw(ctx, job->count * m, sizeof *job->outside, &job->outside);
    if (st == TN_OK)
        st = tnp_alloc(ctx, m, sizeof *job->mean_product, &job->mean_product);
    double total = 0;
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < m; ++i) {
        for (size_t h = 0; h < job->count; ++h)
            job->outside[h * m + i] = job->products[job->rows[h] * n + job->inside[i]];
        for (size_t j = 0; job->intercept && j < m; ++j) {
            double weight = job->y->weight ? job->y->weight[job->inside[j]] : 1;
            job->mean_product[i] += weight * job->products[job->inside[i] * n + job->inside[j]];
            total += i == 0 ? weight : 0;
        }
        job->mean_product[i] /= job->intercept ? total : 1;
    }
    return TN_OK;
}

/* v (classes, m): score = sum_i v_i x'x_i, less its mean over the training rows, plus the mean of y. */
static tn_status dual_scores(tn_ctx *ctx, cv_job *job, const tnp_ridge *ridge, double *v, double *raw)
{
    tn_status st = TN_OK;
    size_t k = job->y->classes, m = job->inside_count;
    TN_TRY(tnp_spectrum_solve(ctx, ridge->spectrum, job->lambda, true, v));
    for (size_t i = 0; ridge->root && i < k * m; ++i)
        v[i] *= ridge->root[i % m];
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

/* Scores of all rows held out. */
static tn_status gather_scores(tn_ctx *ctx, const cv_job *job)
{
    size_t unit = tnp_moments_block(job->x->dim, job->wide);
    return job->dual ? TN_OK
                     : tnp_team_gather(ctx, job->scores, job->count, unit, job->y->classes * sizeof *job->scores);
}

/* Every lambda of the grid on the fold's problem. */
static tn_status walk_grid(tn_ctx *ctx, cv_job *job, const tnp_ridge *ridge, size_t f)
{
    tn_status st = TN_OK;
    float *weight = NULL, *bias = NULL;
    double *v = NULL, *raw = NULL;
    size_t k = job->y->classes, width = job->dual ? job->inside_count : job->x->dim;
    bool narrow = !job->dual && !job->wide;
    TN_TRY(tnp_alloc_raw(ctx, narrow ? k * width : 1, sizeof *weight, &weight));
    TN_TRY(tnp_alloc(ctx, k, sizeof *bias, &bias));
    TN_TRY(tnp_alloc_raw(ctx, narrow ? 1 : k * width, sizeof *v, &v));
    TN_TRY(tnp_alloc_raw(ctx, narrow ? 1 : k * job->count, sizeof *raw, &raw));
    job->cross->ridge = ridge;
    for (size_t g = 0; g < job->cross->count; ++g) {
        job->cross->trying = job->cross->grid[g];
        for (size_t c = 0; c < k; ++c)
            job->lambda[c] = job->cross->grid[g];
        if (job->dual)
            TN_TRY(dual_scores(ctx, job, ridge, v, raw));
        else if (job->wide)
            TN_TRY(primal_scores_wide(ctx, job, ridge, v, raw));
        else
            TN_TRY(primal_scores(ctx, job, ridge, weight, bias));
        TN_TRY(gather_scores(ctx, job));
        TN_TRY(job->measure(ctx, job->arg, job->rows, job->count, job->scores,
                            &job->cross->value[g * job->cross->folds + f]));
    }
done:
    job->cross->ridge = NULL;
    tnp_free_all(weight, bias, v, raw);
    return st;
}

/* Statistics of the rows held out, in blocks; x is used up as scratch, so they come from a copy. Wide ones are about
 * the shift of all rows, which is left taken off held_wide. */
static tn_status held_moments(tn_ctx *ctx, const cv_job *job, tnp_moments **out)
{
    tn_status st = TN_OK;
    tnp_moments *moments = NULL;
    tnp_picked held = {0};
    size_t dim = job->x->dim, block = tnp_moments_block(dim, job->wide), most = tnp_min(block, job->own);
    float *copy = NULL;
    double *copy_wide = NULL;
    TN_TRY(tnp_picked_init(ctx, job->y, job->rows + job->from, job->own, &held));
    TN_TRY(tnp_moments_new(ctx, dim, job->y->classes, job->wide, &moments));
    TN_TRY(tnp_alloc_raw(ctx, job->wide ? 1 : most * dim, sizeof *copy, &copy));
    TN_TRY(tnp_alloc_raw(ctx, job->wide ? most * dim : 1, sizeof *copy_wide, &copy_wide));
    if (job->wide)
        tnp_moments_frame(moments, job->all->shift);
    else if (job->from > 0)
        TN_TRY(tnp_moments_share_frame(ctx, moments));
    for (size_t start = 0; start < job->own; start += block) {
        size_t n = tnp_min(block, job->own - start);
        if (job->wide) {
            memcpy(copy_wide, job->held_wide + start * dim, n * dim * sizeof *copy_wide);
            TN_TRY(tnp_moments_add_wide(ctx, moments, copy_wide, &held.y, start, n));
        } else {
            memcpy(copy, job->held + start * dim, n * dim * sizeof *copy);
            TN_TRY(tnp_moments_add(ctx, moments, copy, &held.y, start, n));
        }
        if (!job->wide && job->from + start == 0)
            TN_TRY(tnp_moments_share_frame(ctx, moments));
    }
    TN_TRY(tnp_moments_sum(ctx, moments));
    for (size_t i = 0; job->wide && i < job->own * dim; ++i)
        job->held_wide[i] -= job->all->shift[i % dim];
    *out = moments;
    moments = NULL;
done:
    tn_moments_free(moments);
    tnp_picked_destroy(&held);
    tnp_free_all(copy, copy_wide);
    return st;
}

static tn_status primal_fold(tn_ctx *ctx, cv_job *job, size_t f)
{
    tn_status st = TN_OK;
    tnp_moments *held = NULL;
    tnp_ridge *ridge = NULL;
    tnp_range all = {0, job->x->dim};
    TN_TRY(held_moments(ctx, job, &held));
    tnp_moments_subtract(job->all, held);
    st = tnp_ridge_primal(ctx, job->all, &all, 1, job->intercept, &ridge);
    if (st == TN_OK)
        st = tn_moments_merge(ctx, job->all, held);
    if (st == TN_OK)
        st = walk_grid(ctx, job, ridge, f);
done:
    tn_moments_free(held);
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
    tnp_free_all(job->outside, job->mean_product);
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

/* Rows of the largest fold. */
static size_t largest_fold(const uint32_t *row_fold, size_t rows, size_t folds)
{
    size_t most = 0;
    for (size_t f = 0; f < folds; ++f) {
        size_t n = 0;
        for (size_t i = 0; i < rows; ++i)
            n += row_fold[i] == f;
        most = tnp_max(most, n);
    }
    return most;
}

/* Moments of all rows, and arrays for the fold held out. */
static tn_status begin(tn_ctx *ctx, cv_job *job, const double *mean)
{
    tn_status st = TN_OK;
    const tnp_design *x = job->x;
    size_t most = largest_fold(job->row_fold, job->y->rows, job->cross->folds), block, own;
    TN_TRY(tnp_alloc(ctx, job->y->rows, sizeof *job->rows, &job->rows));
    TN_TRY(tnp_alloc(ctx, job->y->rows, sizeof *job->inside, &job->inside));
    TN_TRY(tnp_alloc(ctx, most * job->y->classes, sizeof *job->scores, &job->scores));
    TN_TRY(tnp_alloc(ctx, job->y->classes, sizeof *job->lambda, &job->lambda));
    if (job->dual)
        return all_products(ctx, job);
    TN_TRY(job->all_rows.ops->moments(ctx, job->all_rows.self, job->y, mean, &job->all));
    job->wide = job->all->wide;
    block = tnp_moments_block(x->dim, job->wide);
    own = tnp_min(most, most / tnp_team_size(ctx) + block); /* no part of any fold is larger */
    if (job->wide)
        TN_TRY(tnp_alloc_raw(ctx, own * x->dim, sizeof *job->held_wide, &job->held_wide));
    else
        TN_TRY(tnp_alloc_raw(ctx, own * x->dim, sizeof *job->held, &job->held));
done:
    return st;
}

tn_status tnp_ridge_cv_wide(tn_ctx *ctx, tnp_design *design, const tnp_targets *y, bool intercept, const double *mean,
                            const uint32_t *row_fold, tnp_measure_fn measure, void *arg, tnp_cross *cross)
{
    tn_status st = TN_OK;
    cv_job job = {.x = design,
                  .all_rows = tnp_design_rows(design),
                  .y = y,
                  .row_fold = row_fold,
                  .intercept = intercept,
                  .measure = measure,
                  .arg = arg,
                  .cross = cross};
    size_t least = y->rows - largest_fold(row_fold, y->rows, cross->folds); /* rows of the smallest training */
    job.dual = design->dim + 1 >= least;
    tnp_share whole = tnp_progress_now(ctx), folds;
    (void)tnp_progress_part(ctx, whole, 0, 0.2);
    TN_TRY(begin(ctx, &job, mean));
    folds = tnp_progress_part(ctx, whole, 0.2, 1);
    for (size_t f = 0; f < cross->folds; ++f) {
        TN_TRY(tnp_progress_step(ctx, folds, "cross-validation", f, cross->folds));
        TN_TRY(split(ctx, &job, (uint32_t)f));
        TN_TRY(job.dual ? dual_fold(ctx, &job, f) : primal_fold(ctx, &job, f));
    }
    tnp_cross_finish(cross, true);
done:
    tn_moments_free(job.all);
    tnp_free_all(job.products, job.held, job.held_wide, job.rows, job.inside, job.scores, job.lambda);
    return st;
}

tn_status tnp_ridge_cv(tn_ctx *ctx, tnp_design *design, const tnp_targets *y, bool intercept, const uint32_t *row_fold,
                       tnp_measure_fn measure, void *arg, tnp_cross *cross)
{
    return tnp_ridge_cv_wide(ctx, design, y, intercept, NULL, row_fold, measure, arg, cross);
}
