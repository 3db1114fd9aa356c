/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validated ridge regression from moments per fold. Of fold f, with weights w and intercept b from all other folds,
 * the squared error of class k over its n rows needs no row either:
 *
 *   sum_i (y_i - b - w'x_i)^2 = yy - 2 w'xty + w'G w + n (mean y - b - w'mean x)^2
 *
 * G, xty, yy: of fold f about its own means, where nothing cancels. R^2 = 1 - that / yy, mean over the classes that
 * fold f has rows with and without. Accuracy and average precision go by single rows, which are not there: for 0/1
 * targets R^2 is the Brier score of the fold on another scale. Oracle: tests/unit/test_tally_fit.c, rows and a solver
 * of its own. */
#include "algebra/blas.h"
#include "pipeline/moments/moments.h"

#include <math.h>

/* The fold held out, on the columns of the set. */
typedef struct held_out {
    size_t rows, dim, classes;
    double weight;
    double *gram; /* (dim,dim), both triangles */
    double *xty, *yy, *mean, *ymean;
} held_out;

static void held_destroy(held_out *h)
{
    tnp_free_all(h->gram, h->xty, h->yy, h->mean, h->ymean);
}

static tn_status held_init(tn_ctx *ctx, const tnp_moments *fold, const tnp_range *parts, size_t count, held_out *h)
{
    tn_status st = TN_OK;
    size_t d = 0, k = fold->classes;
    for (size_t p = 0; p < count; ++p)
        d += parts[p].to - parts[p].from;
    h->rows = fold->rows;
    h->weight = fold->weight;
    h->dim = d;
    h->classes = k;
    TN_TRY(tnp_alloc_raw(ctx, d * d, sizeof *h->gram, &h->gram));
    TN_TRY(tnp_alloc_raw(ctx, k * d, sizeof *h->xty, &h->xty));
    TN_TRY(tnp_alloc(ctx, k, sizeof *h->yy, &h->yy));
    TN_TRY(tnp_alloc(ctx, d, sizeof *h->mean, &h->mean));
    TN_TRY(tnp_alloc(ctx, k, sizeof *h->ymean, &h->ymean));
    tnp_moments_of(fold, parts, count, true, h->gram, h->xty, h->yy, h->mean, h->ymean);
    for (size_t i = 0; i < d; ++i)
        for (size_t j = 0; j < i; ++j)
            h->gram[i * d + j] = h->gram[j * d + i];
done:
    return st;
}

/* w (K,d), its product with G in gw. */
static double r2(const held_out *h, const tnp_ridge *ridge, const double *w, const double *gw, const bool *constant)
{
    double sum = 0;
    size_t judged = 0, d = h->dim;
    for (size_t k = 0; k < h->classes; ++k) {
        double error = h->yy[k], off = h->ymean[k] - ridge->ymean[k];
        for (size_t j = 0; j < d; ++j) {
            error += w[k * d + j] * (gw[k * d + j] - 2 * h->xty[k * d + j]);
            off -= w[k * d + j] * (h->mean[j] - ridge->mean[j]);
        }
        error += h->weight * off * off;
        if (constant[k] || !(h->yy[k] > 1e-13 * h->weight * h->ymean[k] * h->ymean[k]) || h->yy[k] <= 0)
            continue;
        sum += 1 - error / h->yy[k];
        ++judged;
    }
    return judged ? sum / (double)judged : (double)NAN;
}

static tn_status judge_fold(tn_ctx *ctx, const tnp_ridge *ridge, const held_out *h, const bool *constant, size_t f,
                            tnp_cross *cross)
{
    tn_status st = TN_OK;
    size_t k = h->classes, d = h->dim;
    double *lambda = NULL, *w = NULL, *gw = NULL;
    TN_TRY(tnp_alloc(ctx, k, sizeof *lambda, &lambda));
    TN_TRY(tnp_alloc_raw(ctx, k * d, sizeof *w, &w));
    TN_TRY(tnp_alloc_raw(ctx, k * d, sizeof *gw, &gw));
    for (size_t g = 0; g < cross->count; ++g) {
        for (size_t c = 0; c < k; ++c)
            lambda[c] = cross->grid[g];
        TN_TRY(tnp_spectrum_solve(ctx, ridge->spectrum, lambda, true, w));
        TN_TRY(tnp_dgemm_nn(ctx, k, d, d, w, d, h->gram, d, 0, gw, d));
        cross->value[g * cross->folds + f] = r2(h, ridge, w, gw, constant);
    }
done:
    tnp_free_all(lambda, w, gw);
    return st;
}

/* Moments of all folds but one. Added up rather than subtracted: nothing is lost, and a tally has few folds. */
static tn_status others(tn_ctx *ctx, const tn_tally *tally, bool raw_targets, size_t f, tnp_moments **out)
{
    tn_status st = TN_OK;
    tnp_moments *sum = NULL;
    TN_TRY(tnp_moments_new(ctx, tally->like->dim, tally->like->classes, true, &sum));
    for (size_t i = 0; i < tally->folds; ++i)
        if (i != f)
            TN_TRY(tn_moments_merge(ctx, sum, tally->fold[i]));
    if (raw_targets)
        tnp_moments_move_targets(sum, tally->offset);
    *out = sum;
    sum = NULL;
done:
    tn_moments_free(sum);
    return st;
}

static tn_status one_fold(tn_ctx *ctx, const tn_tally *tally, const tnp_range *parts, size_t count, bool intercept,
                          const bool *constant, size_t f, tnp_cross *cross)
{
    tn_status st = TN_OK;
    tnp_moments *train = NULL;
    tnp_ridge *ridge = NULL;
    held_out held = {.rows = 0};
    TN_TRY(others(ctx, tally, !intercept, f, &train));
    TN_TRY(held_init(ctx, tally->fold[f], parts, count, &held));
    for (size_t k = 0; !intercept && k < held.classes; ++k)
        held.ymean[k] += tally->offset[k];
    if (train->rows <= held.dim + 1)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "cross-validation: %zu rows outside a fold of %zu columns, expected more rows than columns",
                        train->rows, held.dim));
    TN_TRY(tnp_ridge_primal(ctx, train, parts, count, intercept, &ridge));
    TN_TRY(judge_fold(ctx, ridge, &held, constant, f, cross));
done:
    tn_moments_free(train);
    tnp_ridge_free(ridge);
    held_destroy(&held);
    return st;
}

tn_status tnp_ridge_cv_tally(tn_ctx *ctx, const tn_tally *tally, const tnp_range *parts, size_t count, bool intercept,
                             const bool *constant, tnp_cross *cross)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t f = 0; f < tally->folds; ++f) {
        TN_TRY(tnp_progress_step(ctx, whole, "cross-validation", f, tally->folds));
        for (size_t g = 0; g < cross->count; ++g)
            cross->value[g * cross->folds + f] = NAN;
        if (tally->fold[f]->rows > 0)
            TN_TRY(one_fold(ctx, tally, parts, count, intercept, constant, f, cross));
    }
    tnp_cross_finish(cross, true);
done:
    return st;
}
