/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Standardisation of a transfer problem, its undoing, and the leave-one-out error of whatever was fitted to it.
 *
 *   u_i = sqrt(weight_i / sum weight)       mean_j = sum_i u_i^2 x_ij       scale_j^2 = sum_i u_i^2 (x_ij - mean_j)^2
 *   z_ij = u_i (x_ij - mean_j) / scale_j    target_i = u_i (y_i - mean_y) / scale_y
 *
 * so that Z'Z is the (weighted) correlation matrix with unit diagonal, Z'target the correlations with y, and both are
 * orthogonal to u. With equal weights u_i = 1/sqrt(rows). A model w of standardised columns scores a raw row x by
 *
 *   mean_y + sum_j w_j scale_y / scale_j (x_j - mean_j)
 *
 * A free intercept is u b in standardised rows, so the hat matrix of a ridge fit with it is H = u u' + I - P with
 * P = I - Z(Z'Z + lambda I)^-1 Z', and leaving row i out (columns, centring and scaling kept, intercept fitted again)
 * leaves the residual (P target)_i / (P_ii - u_i^2). Without the u_i^2 the intercept would stay at the mean that has seen
 * row i. A column is constant when its scale is within the rounding of its mean, rows eps max|x|. NaN is refused, not
 * skipped: whether such a column may be left out is the reader's policy, not this file's.
 * Oracle: tests/ref/ref_transfer.c, in long double, refitting without the row. */
#include "select/transfer_problem.h"

#include <float.h>
#include <math.h>
#include <string.h>

static tn_status check(tn_ctx *ctx, size_t rows, size_t cols, const double *y, const double *weights)
{
    size_t positive = 0;
    if (cols == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "transfer: no columns: neither features nor sources");
    for (size_t i = 0; i < rows; ++i) {
        if (y[i] != 1 && y[i] != -1)
            return tnp_fail(ctx, TN_ERR_ARG, "transfer: label of row %zu is %g, expected -1 or 1", i, y[i]);
        if (weights && !(weights[i] > 0 && isfinite(weights[i])))
            return tnp_fail(ctx, TN_ERR_ARG, "transfer: weight of row %zu is %g, expected a positive number", i,
                            weights[i]);
        positive += y[i] > 0;
    }
    if (positive == 0 || positive == rows)
        return tnp_fail(ctx, TN_ERR_DATA, "transfer: all %zu rows are %s, both classes are needed", rows,
                        positive == 0 ? "negative" : "positive");
    return TN_OK;
}

static void share_weight(tnp_transfer_problem *p, const double *weights)
{
    double total = 0;
    for (size_t i = 0; i < p->rows; ++i)
        total += weights ? weights[i] : 1;
    for (size_t i = 0; i < p->rows; ++i)
        p->root[i] = sqrt((weights ? weights[i] : 1) / total);
}

static void standardise_target(tnp_transfer_problem *p, const double *y)
{
    double mean = 0, square = 0;
    memcpy(p->y, y, p->rows * sizeof *y);
    for (size_t i = 0; i < p->rows; ++i)
        mean += p->root[i] * p->root[i] * p->y[i];
    for (size_t i = 0; i < p->rows; ++i)
        square += p->root[i] * p->root[i] * (p->y[i] - mean) * (p->y[i] - mean);
    p->target_mean = mean;
    p->target_scale = sqrt(square);
    for (size_t i = 0; i < p->rows; ++i)
        p->target[i] = p->root[i] * (p->y[i] - mean) / p->target_scale;
}

tn_status tnp_transfer_problem_new(tn_ctx *ctx, size_t rows, size_t cols, const double *y, const double *weights,
                                   tnp_transfer_problem **out)
{
    tn_status st = TN_OK;
    tnp_transfer_problem *p = NULL;
    TN_TRY(check(ctx, rows, cols, y, weights));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *p, &p));
    p->rows = rows;
    p->cols = cols;
    TN_TRY(tnp_tiles_init(ctx, rows, cols, &p->z));
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &p->mean));
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &p->scale));
    TN_TRY(tnp_alloc(ctx, rows, sizeof(double), &p->y));
    TN_TRY(tnp_alloc(ctx, rows, sizeof(double), &p->root));
    TN_TRY(tnp_alloc(ctx, rows, sizeof(double), &p->target));
    share_weight(p, weights);
    standardise_target(p, y);
    *out = p;
    p = NULL;
done:
    tnp_transfer_problem_free(p);
    return st;
}

tn_status tnp_transfer_problem_relabel(tn_ctx *ctx, tnp_transfer_problem *problem, const double *y)
{
    tn_status st = check(ctx, problem->rows, problem->cols, y, NULL);
    if (st == TN_OK)
        standardise_target(problem, y);
    return st;
}

void tnp_transfer_problem_free(tnp_transfer_problem *problem)
{
    if (!problem)
        return;
    tnp_tiles_destroy(&problem->z);
    tnp_free(problem->mean);
    tnp_free(problem->scale);
    tnp_free(problem->y);
    tnp_free(problem->root);
    tnp_free(problem->target);
    tnp_free(problem);
}

typedef struct add_job {
    tnp_transfer_problem *problem;
    const double *x;
    size_t stride, first, end; /* columns [first, end); x begins at first */
} add_job;

/* Columns of one tile, lanes [low, high): called with constants 0 and 8 but for the tiles at the ends. */
static inline void standardise(const add_job *job, size_t t, size_t low, size_t high)
{
    tnp_transfer_problem *p = job->problem;
    const double *x = job->x + (t * TNP_TILE + low - job->first);
    double *z = tnp_tile(&p->z, t) + low, mean[TNP_TILE] = {0}, largest[TNP_TILE] = {0}, square[TNP_TILE] = {0};
    double inverse[TNP_TILE];
    size_t n = high - low;
    for (size_t i = 0; i < p->rows; ++i)
        for (size_t l = 0; l < n; ++l) {
            double v = x[i * job->stride + l], size = fabs(v);
            z[i * TNP_TILE + l] = v;
            mean[l] += p->root[i] * p->root[i] * v;
            largest[l] = size > largest[l] ? size : largest[l];
        }
    for (size_t i = 0; i < p->rows; ++i)
        for (size_t l = 0; l < n; ++l) {
            double v = z[i * TNP_TILE + l] - mean[l];
            z[i * TNP_TILE + l] = v;
            square[l] += p->root[i] * p->root[i] * v * v;
        }
    for (size_t l = 0; l < n; ++l) {
        double scale = sqrt(square[l]);
        if (scale <= (double)p->rows * DBL_EPSILON * largest[l])
            scale = 0;
        inverse[l] = scale > 0 ? 1 / scale : 0;
        p->mean[t * TNP_TILE + low + l] = mean[l];
        p->scale[t * TNP_TILE + low + l] = scale;
    }
    for (size_t i = 0; i < p->rows; ++i)
        for (size_t l = 0; l < n; ++l)
            z[i * TNP_TILE + l] *= p->root[i] * inverse[l];
}

static void add_run(void *arg, size_t run)
{
    const add_job *job = arg;
    size_t base = job->first / TNP_TILE + run * TNP_TILE_RUN, last = (job->end - 1) / TNP_TILE;
    for (size_t t = base; t < base + TNP_TILE_RUN && t <= last; ++t) {
        size_t low = t * TNP_TILE < job->first ? job->first - t * TNP_TILE : 0;
        size_t high = tnp_min(TNP_TILE, job->end - t * TNP_TILE);
        if (low == 0 && high == TNP_TILE)
            standardise(job, t, 0, TNP_TILE);
        else
            standardise(job, t, low, high);
    }
}

tn_status tnp_transfer_problem_add(tn_ctx *ctx, tnp_transfer_problem *problem, const double *x, size_t stride,
                                   size_t count)
{
    size_t first = problem->filled, end = first + count;
    if (count > problem->cols - first)
        return tnp_fail(ctx, TN_ERR_SHAPE, "transfer: got %zu columns after %zu of %zu", count, first, problem->cols);
    if (count == 0)
        return TN_OK;
    add_job job = {problem, x, stride, first, end};
    size_t tiles = (end - 1) / TNP_TILE - first / TNP_TILE + 1, runs = (tiles + TNP_TILE_RUN - 1) / TNP_TILE_RUN;
    double flops = 8.0 * (double)problem->rows * (double)count;
    tnp_parallel(ctx, tnp_threads_for(ctx, flops), runs, add_run, &job);
    for (size_t j = first; j < end; ++j)
        if (!isfinite(problem->scale[j]) || !isfinite(problem->mean[j]))
            return tnp_fail(ctx, TN_ERR_DATA,
                            "transfer: column %zu has a value that is not finite, or larger than can be squared", j);
    problem->filled = end;
    return TN_OK;
}

void tnp_transfer_balance(size_t rows, const double *y, double *weights)
{
    size_t positive = 0;
    for (size_t i = 0; i < rows; ++i)
        positive += y[i] > 0;
    for (size_t i = 0; i < rows; ++i)
        weights[i] = (double)rows / (2 * (double)(y[i] > 0 ? positive : rows - positive));
}

double tnp_transfer_unscale(const tnp_transfer_problem *problem, const size_t *picks, size_t count, double *w)
{
    double intercept = problem->target_mean;
    for (size_t s = 0; s < count; ++s) {
        size_t j = picks ? picks[s] : s;
        w[s] = problem->scale[j] > 0 ? w[s] * problem->target_scale / problem->scale[j] : 0;
        intercept -= w[s] * problem->mean[j];
    }
    return intercept;
}

void tnp_transfer_loo(const tnp_transfer_problem *problem, const double *t, double unit, const double *r,
                      const double *left, double *predicted)
{
    for (size_t i = 0; i < problem->rows; ++i)
        predicted[i] = left[i] > 0 ? t[i] - unit * r[i] / (left[i] * problem->root[i]) : NAN;
}

tnp_transfer_score tnp_transfer_score_of(size_t rows, const double *y, const double *predicted)
{
    double count[2] = {0}, wrong[2] = {0}, square[2] = {0};
    for (size_t i = 0; i < rows; ++i) {
        int side = y[i] > 0;
        double off = y[i] - predicted[i];
        count[side] += 1;
        wrong[side] += !(y[i] * predicted[i] > 0);
        square[side] += isnan(off) ? INFINITY : off * off;
    }
    return (tnp_transfer_score){(wrong[0] / count[0] + wrong[1] / count[1]) / 2,
                                (square[0] / count[0] + square[1] / count[1]) / 2};
}

bool tnp_transfer_better(tnp_transfer_score a, tnp_transfer_score b)
{
    return fabs(a.error - b.error) > 1e-12 ? a.error < b.error : a.squares < b.squares;
}
