/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weak duality, which asks nothing of how w was found: for multipliers alpha within their bounds
 *
 *   f(w) >= min f >= D(alpha) = sum_i dual(alpha_i) - 1/2 |sum_i y_i alpha_i x_i|^2,    gap = f(w) - D(alpha)
 *
 * and also min f >= 0. With a free intercept the bound is one only if also sum_i y_i alpha_i = 0. Multipliers that w implies, -c loss'(margin), have that sum
 * equal to minus the derivative in b: they are made to fit by shrinking those of the heavier side, which keeps them within
 * their bounds. 1/2 |gradient|^2 is the same gap where everything is penalised; at another b than the best for w it bounds
 * nothing, and a column of mean 30 sigma then hides errors of per cents.
 *
 * Scores and sums are double throughout: those of floats over thousands of terms are off by more than the gaps that are asked
 * for. Columns come in groups, so that the memory is bounded. Oracles: ref_svm, ref_logistic. */
#include "learn/linear/certify.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { GROUP = 128, MOST = 256 };

double tnp_certify_rounding(double size)
{
    return 16 * DBL_EPSILON * size;
}

typedef struct work {
    tn_ctx *ctx;
    const tnp_claim *claim;
    const size_t *cols; /* k: of this group */
    size_t k;
    double *shrink; /* (2, k): of the multipliers of negative rows, then of positive ones */
    float *cost;    /* (MOST, k) */
    size_t start, count;
    const double *s;
    double *t, *sums; /* (count, k); (k, 4): losses, dual terms, multipliers of negative and of positive rows */
} work;

/* Column j of a panel. */
static void measure_column(void *arg, size_t j)
{
    work *g = arg;
    const tnp_claim *c = g->claim;
    double *sums = g->sums + 4 * j;
    for (size_t i = 0; i < g->count; ++i) {
        double a = (double)g->cost[i * g->k + j], cost = fabs(a), y = a < 0 ? -1 : 1, s = g->s[i * g->k + j];
        double alpha = c->alpha ? (double)c->alpha[(g->start + i) * c->columns->count + g->cols[j]]
                                : tnp_margin_multiplier(c->loss, cost, y * s);
        alpha = cost == 0 ? 0 : c->loss == TNP_SQUARED_HINGE ? alpha : fmin(alpha, cost);
        alpha *= g->shrink[2 * j + (a > 0)];
        sums[0] += tnp_margin_value(c->loss, cost, y * s);
        sums[1] += tnp_margin_dual(c->loss, cost, alpha);
        sums[2 + (a > 0)] += alpha;
        g->t[i * g->k + j] = -y * alpha;
    }
}

static void measure(void *arg, size_t start, size_t count, const double *s, double *t, double *sums)
{
    work *g = arg;
    g->start = start;
    g->count = count;
    g->s = s;
    g->t = t;
    g->sums = sums;
    for (size_t i = 0; i < count; ++i)
        tnp_signed_costs(g->claim->columns, start + i, g->cols, g->k, g->cost + i * g->k);
    tnp_parallel(g->ctx, tnp_threads_for(g->ctx, 32.0 * (double)count * (double)g->k), g->k, measure_column, g);
}

/* |a|^2 of dim weights, and the last when it counts. */
static double square_of(const double *a, size_t dim, bool last)
{
    double sum = last ? a[dim] * a[dim] : 0;
    for (size_t i = 0; i < dim; ++i)
        sum += a[i] * a[i];
    return sum;
}

/* Shrinks the heavier side of every column; false when none needs it. */
static bool balance(const work *g, const double *sums)
{
    bool any = false;
    for (size_t j = 0; j < g->k; ++j) {
        double negative = sums[4 * j + 2], positive = sums[4 * j + 3];
        g->shrink[2 * j] = positive < negative ? positive / negative : 1;
        g->shrink[2 * j + 1] = negative < positive ? negative / positive : 1;
        any |= negative != positive;
    }
    return any;
}

typedef struct arrays {
    double *w, *back; /* (k, dim + 1) */
    double *sums;     /* (k, 4) */
} arrays;

static tn_status one_group(work *g, const tnp_rows *x, const arrays *at, double *objective, double *gap)
{
    tn_status st = TN_OK;
    const tnp_claim *c = g->claim;
    const double *sums = at->sums;
    size_t dim = x->dim, width = dim + 1;
    bool last = c->bias && c->penalised;
    tnp_wide_pass pass = {.k = g->k,
                          .most = MOST,
                          .w = at->w,
                          .body = measure,
                          .arg = g,
                          .back = at->back,
                          .sum_count = 4 * g->k,
                          .sums = at->sums};
    for (size_t i = 0; i < g->k * width; ++i)
        at->w[i] = (double)c->w[g->cols[i / width] * width + i % width];
    for (size_t j = 0; j < g->k; ++j)
        g->shrink[2 * j] = g->shrink[2 * j + 1] = 1;
    TN_TRY(tnp_rows_wide_pass(g->ctx, x, &pass));
    if (c->bias && !c->penalised && balance(g, sums))
        TN_TRY(tnp_rows_wide_pass(g->ctx, x, &pass));
    for (size_t j = 0; j < g->k; ++j, sums += 4) {
        double primal = sums[0] + square_of(at->w + j * width, dim, last) / 2,
               square = square_of(at->back + j * width, dim, last) / 2;
        objective[g->cols[j]] = primal;
        gap[g->cols[j]] =
            fmin(primal, fmax(0, primal - (sums[1] - square))) + tnp_certify_rounding(primal + fabs(sums[1]) + square);
    }
done:
    return st;
}

size_t tnp_certify_bytes(size_t dim, size_t columns)
{
    size_t k = tnp_min(columns, GROUP);
    return tnp_wide_pass_bytes(dim, k) + 16 * k * (dim + 1) + 48 * k + 4 * k * MOST;
}

tn_status tnp_certify(tn_ctx *ctx, const tnp_rows *x, const tnp_claim *claim, double *objective, double *gap)
{
    tn_status st = TN_OK;
    work g = {.ctx = ctx, .claim = claim};
    arrays at = {0};
    size_t most = tnp_min(claim->count, GROUP), width = x->dim + 1;
    if (claim->count == 0)
        return TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, most * width, sizeof *at.w, &at.w));
    TN_TRY(tnp_alloc_raw(ctx, most * width, sizeof *at.back, &at.back));
    TN_TRY(tnp_alloc(ctx, 4 * most, sizeof *at.sums, &at.sums));
    TN_TRY(tnp_alloc(ctx, 2 * most, sizeof *g.shrink, &g.shrink));
    TN_TRY(tnp_alloc_raw(ctx, MOST * most, sizeof *g.cost, &g.cost));
    for (size_t from = 0; from < claim->count; from += GROUP) {
        g.cols = claim->cols + from;
        g.k = tnp_min(GROUP, claim->count - from);
        TN_TRY(one_group(&g, x, &at, objective, gap));
    }
done:
    tnp_free(at.w);
    tnp_free(at.back);
    tnp_free(at.sums);
    tnp_free(g.shrink);
    tnp_free(g.cost);
    return st;
}
