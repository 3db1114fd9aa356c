/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weak duality, which asks nothing of how w was found: for multipliers alpha within their bounds
 *
 *   f(w) >= min f >= D(alpha) = sum_i dual(alpha_i) - 1/2 |sum_i y_i alpha_i x_i|^2,    gap = f(w) - D(alpha)
 *
 * and also min f >= 0. With a free intercept the bound is one only if also sum_i y_i alpha_i = 0. Multipliers that w
 * implies, -c loss'(margin), have that sum equal to minus the derivative in b: they are made to fit by shrinking those
 * of the heavier side, which keeps them within their bounds. 1/2 |gradient|^2 is the same gap where everything is
 * penalised; at another b than the best for w it bounds nothing, and a column of mean 30 sigma then hides errors of per
 * cents.
 *
 * Scores and sums are double throughout: those of floats over thousands of terms are off by more than the gaps that are
 * asked for. Columns come in groups, so that the memory is bounded. Oracles: ref_svm, ref_logistic. */
#include "learn/linear/certify.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { GROUP = 128, CHUNK = 16 };

double tnp_certify_rounding(double size)
{
    return 16 * DBL_EPSILON * size;
}

typedef struct work {
    tn_ctx *ctx;
    const tnp_claim *claim;
    const size_t *cols; /* k: of this group */
    size_t k;
    double *w, *back; /* (k, dim + 1) */
    double *shrink;   /* (k, 2): of the multipliers of negative rows, then of positive ones */
    double *sums;     /* (k, 4): losses, dual terms, multipliers of negative and of positive rows */
} work;

static void measure(void *arg, const tnp_wide_panel *at)
{
    const work *g = arg;
    const tnp_claim *c = g->claim;
    float *costs = (float *)(void *)at->scratch;
    for (size_t i = 0; i < at->count; ++i) {
        tnp_signed_costs(c->columns, at->start + i, g->cols, g->k, costs);
        for (size_t j = 0; j < g->k; ++j) {
            double a = (double)costs[j], cost = fabs(a), y = a < 0 ? -1 : 1, s = at->s[i * g->k + j];
            double alpha = c->alpha ? (double)c->alpha[(at->start + i) * c->columns->count + g->cols[j]]
                                    : tnp_margin_multiplier(c->loss, cost, y * s);
            alpha = cost == 0 ? 0 : c->loss == TNP_SQUARED_HINGE ? alpha : fmin(alpha, cost);
            alpha *= g->shrink[2 * j + (a > 0)];
            at->sums[4 * j] += tnp_margin_value(c->loss, cost, y * s);
            at->sums[4 * j + 1] += tnp_margin_dual(c->loss, cost, alpha);
            at->sums[4 * j + 2 + (a > 0)] += alpha;
            at->t[i * g->k + j] = -y * alpha;
        }
    }
}

/* Shrinks the heavier side of every column; false when none needs it. */
static bool balance(const work *g)
{
    bool any = false;
    for (size_t j = 0; j < g->k; ++j) {
        double negative = g->sums[4 * j + 2], positive = g->sums[4 * j + 3];
        g->shrink[2 * j] = positive < negative ? positive / negative : 1;
        g->shrink[2 * j + 1] = negative < positive ? negative / positive : 1;
        any |= negative != positive;
    }
    return any;
}

static tn_status one_group(const work *g, const tnp_rows *x, double *objective, double *gap)
{
    tn_status st = TN_OK;
    const tnp_claim *c = g->claim;
    size_t width = x->dim + 1, counted = x->dim + (c->bias && c->penalised);
    tnp_wide_pass pass = {.k = g->k,
                          .w = g->w,
                          .body = measure,
                          .arg = (void *)(uintptr_t)g,
                          .chunk = CHUNK,
                          .work = 32 * (double)g->k,
                          .scratch = g->k,
                          .back = g->back,
                          .sum_count = 4 * g->k,
                          .sums = g->sums};
    for (size_t i = 0; i < g->k * width; ++i)
        g->w[i] = (double)c->w[g->cols[i / width] * width + i % width];
    for (size_t j = 0; j < g->k; ++j)
        g->shrink[2 * j] = g->shrink[2 * j + 1] = 1;
    TN_TRY(tnp_rows_wide_pass(g->ctx, x, &pass));
    if (c->bias && !c->penalised && balance(g))
        TN_TRY(tnp_rows_wide_pass(g->ctx, x, &pass));
    for (size_t j = 0; j < g->k; ++j) {
        const double *w = g->w + j * width, *back = g->back + j * width, dual = g->sums[4 * j + 1];
        double primal = g->sums[4 * j] + tnp_dot_wide(w, w, counted) / 2,
               square = tnp_dot_wide(back, back, counted) / 2;
        objective[g->cols[j]] = primal;
        gap[g->cols[j]] =
            fmin(primal, fmax(0, primal - (dual - square))) + tnp_certify_rounding(primal + fabs(dual) + square);
    }
done:
    return st;
}

size_t tnp_certify_bytes(size_t dim, size_t columns)
{
    size_t k = tnp_min(columns, GROUP);
    return tnp_wide_pass_bytes(dim, k, CHUNK, 5 * k) + 16 * k * (dim + 1) + 48 * k;
}

tn_status tnp_certify(tn_ctx *ctx, const tnp_rows *x, const tnp_claim *claim, double *objective, double *gap)
{
    tn_status st = TN_OK;
    work g = {.ctx = ctx, .claim = claim};
    size_t most = tnp_min(claim->count, GROUP), width = x->dim + 1;
    if (claim->count == 0)
        return TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, most * width, sizeof *g.w, &g.w));
    TN_TRY(tnp_alloc_raw(ctx, most * width, sizeof *g.back, &g.back));
    TN_TRY(tnp_alloc(ctx, 2 * most, sizeof *g.shrink, &g.shrink));
    TN_TRY(tnp_alloc(ctx, 4 * most, sizeof *g.sums, &g.sums));
    for (size_t at = 0; at < claim->count; at += GROUP) {
        g.cols = claim->cols + at;
        g.k = tnp_min(GROUP, claim->count - at);
        TN_TRY(one_group(&g, x, objective, gap));
    }
done:
    tnp_free_all(g.w, g.back, g.shrink, g.sums);
    return st;
}
