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
 * Grouped columns (tasks of several classes) take the scale of their group instead: with G the representations of the
 * target that are not constant, and one more for all sources together, n the columns that are not constant,
 *
 *   sum of |z_j|^2 = n/G over each representation, and over all sources, in which every source has the same mean
 * |z_j|^2
 *
 * or s n over all sources and (1 - s) n over the representations, in equal parts, where the columns have a share s.
 * A scale for every column, the paper's, was refused there: with a few rows per class, columns that are hardly ever
 * active are blown up to the size of all others, which costs up to 9 points of accuracy (docs/math.md).
 *
 * A free intercept is u b in standardised rows, so the hat matrix of a ridge fit with it is H = u u' + I - P with
 * P = I - Z(Z'Z + lambda I)^-1 Z', and leaving row i out (columns, centring and scaling kept, intercept fitted again)
 * leaves the residual (P target)_i / (P_ii - u_i^2). Without the u_i^2 the intercept would stay at the mean that has
 * seen row i.
 *
 * Z is stored only for a method that goes over it hundreds of times: raw columns serve all labels and all weights, also
 * those that leave rows out, with a mean and a scale each. A column is constant when its scale is within the rounding
 * of its mean, rows eps max|x|. NaN is refused, not skipped: whether such a column may be left out is the reader's
 * policy, not this file's. Oracle: tests/ref/ref_transfer.c, in long double, refitting without the row. */
#include "transfer/problem.h"
#include "algebra/blas.h"

#include <float.h>
#include <math.h>
#include <string.h>

static tn_status check(tn_ctx *ctx, size_t rows, size_t cols, const double *y, const double *weights)
{
    size_t positive = 0, count = 0;
    if (cols == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "transfer: no columns: neither features nor sources");
    for (size_t i = 0; i < rows; ++i) {
        if (y[i] != 1 && y[i] != -1)
            return tnp_fail(ctx, TN_ERR_ARG, "transfer: label of row %zu is %g, expected -1 or 1", i, y[i]);
        if (weights && !(weights[i] >= 0 && isfinite(weights[i])))
            return tnp_fail(ctx, TN_ERR_ARG, "transfer: weight of row %zu is %g, expected 0 or a positive number", i,
                            weights[i]);
        bool counts = !weights || weights[i] > 0;
        count += counts;
        positive += counts && y[i] > 0;
    }
    if (positive == 0 || positive == count)
        return tnp_fail(ctx, TN_ERR_DATA, "transfer: all %zu rows are %s, both classes are needed", count,
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
    for (size_t i = 0; i < p->rows; ++i)
        p->y[i] = p->root[i] > 0 ? y[i] : 0;
    for (size_t i = 0; i < p->rows; ++i)
        mean += p->root[i] * p->root[i] * p->y[i];
    for (size_t i = 0; i < p->rows; ++i)
        square += p->root[i] * p->root[i] * (p->y[i] - mean) * (p->y[i] - mean);
    p->target_mean = mean;
    p->target_scale = sqrt(square);
    for (size_t i = 0; i < p->rows; ++i)
        p->target[i] = p->root[i] * (p->y[i] - mean) / p->target_scale;
}

/* Mean and inverse scale of the columns of tile t. */
static void measure_tile(const tnp_transfer_problem *p, size_t t)
{
    double v[TNP_TILE], mean[TNP_TILE] = {0}, largest[TNP_TILE] = {0}, square[TNP_TILE] = {0};
    for (size_t i = 0; i < p->rows; ++i) {
        double share = p->root[i] * p->root[i];
        tnp_transfer_lanes(p->columns, t, i, v);
        for (size_t l = 0; share > 0 && l < TNP_TILE; ++l) {
            double size = fabs(v[l]);
            mean[l] += share * v[l];
            largest[l] = size > largest[l] ? size : largest[l];
        }
    }
    for (size_t i = 0; i < p->rows; ++i) {
        double share = p->root[i] * p->root[i];
        tnp_transfer_lanes(p->columns, t, i, v);
        for (size_t l = 0; share > 0 && l < TNP_TILE; ++l)
            square[l] += share * (v[l] - mean[l]) * (v[l] - mean[l]);
    }
    for (size_t l = 0; l < TNP_TILE; ++l) {
        double scale = sqrt(square[l]), least = (double)p->rows * DBL_EPSILON * largest[l];
        p->mean[t * TNP_TILE + l] = mean[l];
        p->inverse[t * TNP_TILE + l] = !isfinite(scale) ? NAN : scale > least ? 1 / scale : 0;
    }
}

static void measure_run(void *arg, size_t run)
{
    const tnp_transfer_problem *p = arg;
    size_t end = tnp_min((run + 1) * TNP_TILE_RUN, p->columns->tiles);
    for (size_t t = run * TNP_TILE_RUN; t < end; ++t)
        measure_tile(p, t);
}

/* Runs body for all tiles, TNP_TILE_RUN at a time. */
static void over_tiles(tn_ctx *ctx, const tnp_transfer_columns *c, double flops_a_value,
                       void (*body)(void *arg, size_t run), void *arg)
{
    double flops = flops_a_value * (double)c->rows * (double)c->cols;
    tnp_parallel(ctx, tnp_threads_for(ctx, flops), (c->tiles + TNP_TILE_RUN - 1) / TNP_TILE_RUN, body, arg);
}

/* Columns of one group that vary: how many, and the root of their mean squared scale. */
typedef struct group_scale {
    size_t count;
    double root;
} group_scale;

static group_scale scale_of(const tnp_transfer_problem *p, size_t first, size_t end)
{
    group_scale g = {0, 0};
    double least = INFINITY, sum = 0; /* the least inverse is the largest scale: squares over it stay in range */
    for (size_t j = first; j < end; ++j)
        least = p->inverse[j] > 0 ? fmin(least, p->inverse[j]) : least;
    for (size_t j = first; j < end; ++j) {
        double ratio = p->inverse[j] > 0 ? least / p->inverse[j] : 0;
        sum += ratio * ratio;
        g.count += p->inverse[j] > 0;
    }
    g.root = g.count > 0 ? sqrt(sum / (double)g.count) / least : 0;
    return g;
}

/* How many columns vary from group `from` to group `to`, and how many of these groups have some. */
static size_t count_varying(const tnp_transfer_problem *p, size_t from, size_t to, size_t *groups)
{
    const size_t *ends = p->columns->ends;
    size_t sum = 0;
    *groups = 0;
    for (size_t g = from; g < to; ++g) {
        size_t n = scale_of(p, g ? ends[g - 1] : 0, ends[g]).count;
        sum += n;
        *groups += n > 0;
    }
    return sum;
}

/* Scales of columns to scales of their groups. */
static void share_scales(const tnp_transfer_problem *p)
{
    const tnp_transfer_columns *c = p->columns;
    size_t parts = 0, sources = 0;
    size_t own = count_varying(p, 0, c->targets, &parts), others = count_varying(p, c->targets, c->groups, &sources);
    double all = (double)(own + others), each = all / (double)(parts + (sources > 0)), theirs = each;
    if (c->share > 0 && own > 0 && others > 0) {
        theirs = all * c->share;
        each = (all - theirs) / (double)parts;
    }
    for (size_t g = 0; g < c->groups; ++g) {
        size_t first = g ? c->ends[g - 1] : 0;
        group_scale scale = scale_of(p, first, c->ends[g]);
        double inverse = sqrt(g < c->targets ? each / (double)scale.count : theirs / (double)others) / scale.root;
        for (size_t j = first; j < c->ends[g]; ++j) {
            if (!(p->inverse[j] > 0))
                continue;
            double root = inverse / p->inverse[j];
            p->power[j] = root * root;
            p->inverse[j] = inverse;
        }
    }
}

static tn_status measure(tn_ctx *ctx, tnp_transfer_problem *p)
{
    over_tiles(ctx, p->columns, 8, measure_run, p);
    for (size_t j = 0; j < p->cols; ++j)
        if (!isfinite(p->mean[j]) || isnan(p->inverse[j]))
            return tnp_fail(ctx, TN_ERR_DATA,
                            "transfer: column %zu has a value that is not finite, or larger than can be squared", j);
    if (p->power)
        share_scales(p);
    return TN_OK;
}

tn_status tnp_transfer_problem_new(tn_ctx *ctx, const tnp_transfer_columns *columns, const double *y,
                                   const double *weights, tnp_transfer_problem **out)
{
    tn_status st = TN_OK;
    tnp_transfer_problem *p = NULL;
    size_t rows = columns->rows, padded = columns->tiles * TNP_TILE;
    TN_TRY(check(ctx, rows, columns->cols, y, weights));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *p, &p));
    p->columns = columns;
    p->rows = rows;
    p->cols = columns->cols;
    TN_TRY(tnp_alloc(ctx, padded, sizeof(double), &p->mean));
    TN_TRY(tnp_alloc(ctx, padded, sizeof(double), &p->inverse));
    if (columns->groups)
        TN_TRY(tnp_alloc(ctx, padded, sizeof(double), &p->power));
    TN_TRY(tnp_alloc(ctx, rows, sizeof(double), &p->y));
    TN_TRY(tnp_alloc(ctx, rows, sizeof(double), &p->root));
    TN_TRY(tnp_alloc(ctx, rows, sizeof(double), &p->target));
    share_weight(p, weights);
    standardise_target(p, y);
    TN_TRY(measure(ctx, p));
    *out = p;
    p = NULL;
done:
    tnp_transfer_problem_free(p);
    return st;
}

tn_status tnp_transfer_problem_relabel(tn_ctx *ctx, tnp_transfer_problem *problem, const double *y)
{
    tn_status st = check(ctx, problem->rows, problem->cols, y, problem->root);
    if (st == TN_OK)
        standardise_target(problem, y);
    return st;
}

void tnp_transfer_problem_free(tnp_transfer_problem *problem)
{
    if (!problem)
        return;
    tnp_free_all(problem->mean, problem->inverse, problem->power, problem->y, problem->root, problem->target,
                 problem->products, problem);
}

/* ---- standardised columns ---- */

typedef struct product_job {
    const tnp_transfer_problem *problem;
    const double *q;
    double *t;
} product_job;

static void product_run(void *arg, size_t run)
{
    const product_job *job = arg;
    const tnp_transfer_columns *c = job->problem->columns;
    size_t first = run * TNP_TILE_RUN, count = tnp_min(TNP_TILE_RUN, c->tiles - first);
    double t[TNP_TILE_RUN * TNP_TILE];
    tnp_transfer_tiles_product(job->problem, first, count, job->q, t);
    memcpy(job->t + first * TNP_TILE, t, tnp_min(count * TNP_TILE, c->cols - first * TNP_TILE) * sizeof *t);
}

void tnp_transfer_product(tn_ctx *ctx, const tnp_transfer_problem *problem, const double *q, double *t)
{
    product_job job = {problem, q, t};
    over_tiles(ctx, problem->columns, 3, product_run, &job);
}

void tnp_transfer_column(const tnp_transfer_problem *problem, size_t column, double *z)
{
    double mean = problem->mean[column], inverse = problem->inverse[column];
    for (size_t i = 0; i < problem->rows; ++i)
        z[i] = problem->root[i] * (tnp_transfer_value(problem->columns, i, column) - mean) * inverse;
}

/* One row of a tile of Z. */
static inline void standardised_lanes(const tnp_transfer_problem *p, size_t tile, size_t row, double z[TNP_TILE])
{
    const double *mean = p->mean + tile * TNP_TILE, *inverse = p->inverse + tile * TNP_TILE;
    tnp_transfer_lanes(p->columns, tile, row, z);
    for (size_t l = 0; l < TNP_TILE; ++l)
        z[l] = p->root[row] * (z[l] - mean[l]) * inverse[l];
}

void tnp_transfer_rows(const tnp_transfer_problem *problem, size_t first, size_t count, double *x)
{
    for (size_t j = 0, run; j < count; j += run) {
        size_t lane = (first + j) % TNP_TILE;
        double z[TNP_TILE];
        run = tnp_min(TNP_TILE - lane, count - j);
        for (size_t i = 0; i < problem->rows; ++i) {
            standardised_lanes(problem, (first + j) / TNP_TILE, i, z);
            memcpy(x + i * count + j, z + lane, run * sizeof *x);
        }
    }
}

static bool repays_products(const tn_ctx *ctx, size_t cols, size_t paths)
{
    enum {
        STEPS = 64
    }; /* of a path; a flop of the products, which are one matrix product, costs less than one of a scan */
    double bytes = (double)cols * (double)cols * sizeof(double);
    return cols / STEPS < paths && bytes <= fmin(0x1p27, (double)tnp_budget_left(ctx) / 4);
}

tn_status tnp_transfer_share_products(tn_ctx *ctx, tnp_transfer_problem *problem, size_t paths)
{
    enum { BLOCK = 256 }; /* rows */
    tn_status st = TN_OK;
    size_t cols = problem->columns->tiles * TNP_TILE;
    double *x = NULL, *products = NULL;
    if (problem->products || !repays_products(ctx, cols, paths))
        return TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, BLOCK * cols, sizeof *x, &x));
    TN_TRY(tnp_alloc(ctx, cols * cols, sizeof *products, &products));
    for (size_t start = 0, n; start < problem->rows; start += n) {
        n = tnp_min(BLOCK, problem->rows - start);
        TN_TRY(tnp_cancelled(ctx));
        for (size_t i = 0; i < n; ++i)
            for (size_t t = 0; t < problem->columns->tiles; ++t)
                standardised_lanes(problem, t, start + i, x + i * cols + t * TNP_TILE);
        TN_TRY(tnp_dsyrk_cols(ctx, n, cols, x, cols, 1, products));
    }
    for (size_t i = 0; i < cols; ++i)
        for (size_t j = 0; j < i; ++j)
            products[i * cols + j] = products[j * cols + i];
    problem->products = products;
    products = NULL;
done:
    tnp_free_all(x, products);
    return st;
}

tn_status tnp_transfer_tiles(tn_ctx *ctx, const tnp_transfer_problem *problem, tnp_tiles *out)
{
    tn_status st = tnp_tiles_init(ctx, problem->rows, problem->cols, out);
    for (size_t t = 0; st == TN_OK && t < out->count; ++t)
        for (size_t i = 0; i < problem->rows; ++i)
            standardised_lanes(problem, t, i, tnp_tile(out, t) + i * TNP_TILE);
    return st;
}

/* ---- what is made of a fit ---- */

void tnp_transfer_balance(size_t rows, const double *y, double *weights)
{
    double side[2] = {0};
    for (size_t i = 0; i < rows; ++i)
        side[y[i] > 0] += weights[i];
    for (size_t i = 0; i < rows; ++i)
        if (weights[i] > 0)
            weights[i] *= (side[0] + side[1]) / (2 * side[y[i] > 0]);
}

double tnp_transfer_unscale(const tnp_transfer_problem *problem, const size_t *picks, size_t count, double *w)
{
    double intercept = problem->target_mean;
    for (size_t s = 0; s < count; ++s) {
        size_t j = picks ? picks[s] : s;
        w[s] *= problem->target_scale * problem->inverse[j];
        intercept -= w[s] * problem->mean[j];
    }
    return intercept;
}

void tnp_transfer_loo(const tnp_transfer_problem *problem, const double *t, double unit, const double *r,
                      const double *left, double *predicted)
{
    for (size_t i = 0; i < problem->rows; ++i)
        predicted[i] = left[i] > 0 && problem->root[i] > 0 ? t[i] - unit * r[i] / (left[i] * problem->root[i]) : NAN;
}

tnp_transfer_score tnp_transfer_score_of(size_t rows, const double *y, const double *predicted)
{
    double count[2] = {0}, wrong[2] = {0}, square[2] = {0};
    for (size_t i = 0; i < rows; ++i) {
        if (y[i] == 0)
            continue;
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
