/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moments of candidates and of sets of them.
 *
 *   primal   the joint Gram of all candidates holds X_a'X_b of every pair; a set is some of its rows and columns
 *   dual     XX' of a set is the sum of its members' XX'
 *
 * A set of D_S columns is solved in the dual when D_S >= N, or N - 1 with an intercept, where it is cheaper and more
 * exact. Both are read before the search starts: at most two passes over each file, whatever the number of sets, but
 * for sets that need more digits than moments hold (refine.c), and for XX' where there is no memory for all of them: ten
 * candidates of 15,000 rows would take 18 GB. They are then made for each set that is solved in the dual, from its files.
 *
 * Moments of rows that are elsewhere make an ensemble too: without feeds there is no dual, and no second look. */
#include "select/ensemble_inside.h"

#include <math.h>
#include <string.h>

typedef struct reading_plan {
    bool *need_products; /* count */
    size_t bytes;
} reading_plan;

bool tnp_ensemble_is_dual(const tnp_ensemble *e, size_t cols)
{
    return cols + (e->intercept ? 1 : 0) >= e->rows;
}

static size_t moments_bytes(size_t primal, size_t widest, size_t classes, bool wide)
{
    return tnp_moments_bytes(primal, classes, wide) +
           tnp_moments_block(primal, wide) * ((primal + widest) * (wide ? 8 : 4) + 1);
}

/* Which moments the sets will need, and the memory for them with the largest problem beside, which begins where the
 * scratch of reading ends. */
static void make_plan(const tnp_ensemble *e, bool sets, reading_plan *plan)
{
    size_t total = 0, primal = 0, widest = 0, n = e->y->rows, k = e->y->classes, products = 0, band = 0;
    bool wide = e->y->weight != NULL;
    for (size_t c = 0; c < e->count; ++c) {
        size_t cols = tn_feed_cols(e->feeds[c]);
        total += cols;
        primal += tnp_ensemble_is_dual(e, cols) ? 0 : cols;
        widest = tnp_max(widest, cols);
        wide |= tn_features_is_wide(tn_feed_features(e->feeds[c]));
    }
    for (size_t c = 0; c < e->count; ++c) {
        plan->need_products[c] =
            tnp_ensemble_is_dual(e, tn_feed_cols(e->feeds[c])) || (sets && tnp_ensemble_is_dual(e, total));
        products += plan->need_products[c];
        if (plan->need_products[c])
            band = tnp_max(band, tnp_gather_products_bytes(e->feeds[c]));
    }
    size_t order = tnp_min(sets ? total : widest, n);
    bool copied = !e->once || products > 0;
    if (e->later)
        products = tnp_min(products, 1);
    plan->bytes = 8 * (products * n * n + (copied ? order * order : 0)) + tnp_spectrum_bytes(order, k);
    if (primal > 0)
        plan->bytes +=
            tnp_max(moments_bytes(primal, widest, k, true), wide ? 0 : moments_bytes(primal, widest, k, false)) -
            tnp_min(tnp_moments_scratch(primal, wide), tnp_spectrum_bytes(order, k));
    plan->bytes += band;
}

static tn_status gather(tn_ctx *ctx, tnp_ensemble *e, const reading_plan *plan)
{
    tn_status st = TN_OK;
    if (e->narrow_count > 0)
        TN_TRY(tnp_gather_moments(ctx, e->narrow, e->narrow_count, e->y, &e->owned));
    e->moments = e->owned;
    for (size_t c = 0; c < e->count; ++c) {
        size_t square = 0;
        if (!plan->need_products[c] || e->later)
            continue;
        TN_TRY(tnp_mul(ctx, e->y->rows, e->y->rows, &square));
        TN_TRY(tnp_alloc_raw(ctx, square, sizeof(double), &e->products[c]));
        TN_TRY(tnp_gather_products(ctx, e->feeds[c], e->intercept, e->products[c]));
    }
done:
    return st;
}

tn_status tnp_ensemble_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y, bool intercept,
                           bool sets, tnp_ensemble **out)
{
    tn_status st = TN_OK;
    tnp_ensemble *e = NULL;
    reading_plan plan = {NULL, 0};
    TN_TRY(tnp_alloc(ctx, 1, sizeof *e, &e));
    e->feeds = feeds;
    e->count = count;
    e->y = y;
    e->rows = y->rows;
    e->classes = y->classes;
    e->intercept = intercept;
    e->once = count == 1 && !sets;
    TN_TRY(tnp_alloc(ctx, count, sizeof *e->columns, &e->columns));
    TN_TRY(tnp_alloc(ctx, count, sizeof *e->products, &e->products));
    TN_TRY(tnp_alloc(ctx, count, sizeof *e->own, &e->own));
    TN_TRY(tnp_alloc(ctx, count, sizeof *plan.need_products, &plan.need_products));
    TN_TRY(tnp_alloc(ctx, count, sizeof *e->narrow, &e->narrow));
    for (size_t c = 0, at = 0; c < count; ++c) {
        size_t cols = tn_feed_cols(feeds[c]);
        if (tnp_ensemble_is_dual(e, cols))
            continue;
        e->columns[c] = (tnp_range){at, at + cols};
        at += cols;
        e->narrow[e->narrow_count++] = feeds[c];
    }
    make_plan(e, sets && count > 1, &plan);
    if (plan.bytes > tnp_budget_left(ctx)) {
        e->later = true;
        make_plan(e, sets && count > 1, &plan);
    }
    TN_TRY(tnp_need(ctx, plan.bytes, count == 1 ? tn_features_path(tn_feed_features(feeds[0])) : "ensemble"));
    TN_TRY(gather(ctx, e, &plan));
    *out = e;
    e = NULL;
done:
    tnp_ensemble_free(e);
    tnp_free(plan.need_products);
    return st;
}

tn_status tnp_ensemble_of_moments(tn_ctx *ctx, const tnp_moments *moments, const tnp_range *columns, size_t count,
                                  bool intercept, tnp_ensemble **out)
{
    tn_status st = TN_OK;
    tnp_ensemble *e = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *e, &e));
    e->count = count;
    e->rows = moments->rows;
    e->classes = moments->classes;
    e->intercept = intercept;
    e->moments = moments;
    TN_TRY(tnp_alloc(ctx, count, sizeof *e->columns, &e->columns));
    TN_TRY(tnp_alloc(ctx, count, sizeof *e->own, &e->own));
    memcpy(e->columns, columns, count * sizeof *columns);
    *out = e;
    e = NULL;
done:
    tnp_ensemble_free(e);
    return st;
}

void tnp_ensemble_free(tnp_ensemble *e)
{
    if (!e)
        return;
    tnp_ensemble_forget(e);
    for (size_t c = 0; e->products && c < e->count; ++c)
        tnp_free(e->products[c]);
    tnp_free(e->products);
    tn_moments_free(e->owned);
    tnp_free_all(e->columns, e->own, e->narrow, e);
}

/* sum (n,n) += the products of a candidate's rows, upper triangle; where they are not kept they are made in one (n,n). */
static tn_status add_products(tn_ctx *ctx, const tnp_ensemble *e, size_t member, double *one, double *sum)
{
    tn_status st = TN_OK;
    size_t n = e->y->rows;
    const double *products = one ? one : e->products[member];
    if (one)
        TN_TRY(tnp_gather_products(ctx, e->feeds[member], e->intercept, one));
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j)
            sum[i * n + j] += products[i * n + j];
done:
    return st;
}

static tn_status dual_ridge(tn_ctx *ctx, const tnp_ensemble *e, const size_t *members, size_t count, size_t dim,
                            tnp_ridge **out)
{
    tn_status st = TN_OK;
    size_t n = e->y->rows;
    double *sum = NULL, *one = NULL;
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *sum, &sum));
    if (e->later)
        TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *one, &one));
    for (size_t m = 0; m < count; ++m)
        TN_TRY(add_products(ctx, e, members[m], one, sum));
    tnp_free(one);
    one = NULL; /* before the form takes memory of its own */
    st = tnp_ridge_dual(ctx, sum, e->y, dim, e->intercept, out);
    sum = NULL; /* taken over, also on failure */
done:
    tnp_free_all(sum, one);
    return st;
}

size_t tnp_ensemble_columns(const tnp_ensemble *e, const size_t *members, size_t count)
{
    size_t dim = 0;
    for (size_t m = 0; m < count; ++m)
        dim += e->feeds ? tn_feed_cols(e->feeds[members[m]]) : e->columns[members[m]].to - e->columns[members[m]].from;
    return dim;
}

tn_status tnp_ensemble_ridge(tn_ctx *ctx, tnp_ensemble *e, const size_t *members, size_t count, tnp_ridge **out)
{
    size_t dim = tnp_ensemble_columns(e, members, count);
    if (tnp_ensemble_is_dual(e, dim) && !e->feeds)
        return tnp_fail(ctx, TN_ERR_DATA,
                        "moments: %zu rows of %zu columns, expected more rows than columns; give the rows", e->rows,
                        dim);
    if (tnp_ensemble_is_dual(e, dim))
        return dual_ridge(ctx, e, members, count, dim, out);
    if (e->once)
        return tnp_ridge_primal_take(ctx, e->owned, e->intercept, out);
    tnp_range *parts = NULL;
    tn_status st = tnp_alloc(ctx, count, sizeof *parts, &parts);
    if (st != TN_OK)
        return st;
    for (size_t m = 0; m < count; ++m)
        parts[m] = e->columns[members[m]];
    st = tnp_ridge_primal(ctx, e->moments, parts, count, e->intercept, out);
    tnp_free(parts);
    return st;
}

bool tnp_ensemble_can_widen(const tnp_ensemble *e)
{
    const tnp_moments *s = e->moments;
    double moved = 0;
    if (!s || !e->feeds || (s->wide && s->framed))
        return false;
    for (size_t j = 0; j < s->dim; ++j)
        moved += s->sum[j] * s->sum[j] / s->weight;
    return !s->wide || (e->intercept && !(moved < s->trace / 2));
}

void tnp_ensemble_root_cost(const tnp_ensemble *e, const size_t *members, size_t count, double *flops, double *bytes)
{
    tnp_ridge_root_cost(e->rows, tnp_ensemble_columns(e, members, count), e->classes, e->intercept, flops, bytes);
    if (!e->feeds)
        *flops = INFINITY;
}

tn_status tnp_ensemble_root(tn_ctx *ctx, const tnp_ensemble *e, const size_t *members, size_t count, tnp_ridge **out)
{
    const tn_feed **feeds = NULL;
    tn_status st = tnp_alloc(ctx, count, sizeof *feeds, &feeds);
    if (st != TN_OK)
        return st;
    for (size_t m = 0; m < count; ++m)
        feeds[m] = e->feeds[members[m]];
    st = tnp_ridge_root(ctx, feeds, count, e->y, e->intercept, out);
    tnp_free(feeds);
    return st;
}

/* The means of columns [from, to) as the moments have them; *finite: whether they are numbers. */
static tn_status means_of(tn_ctx *ctx, const tnp_moments *s, tnp_range columns, double **mean, bool *finite)
{
    size_t dim = columns.to - columns.from;
    tn_status st = tnp_alloc(ctx, dim, sizeof **mean, mean);
    *finite = true;
    for (size_t j = 0; st == TN_OK && j < dim; ++j) {
        (*mean)[j] = s->shift[columns.from + j] + s->sum[columns.from + j] / s->weight;
        *finite &= isfinite((*mean)[j]) != 0;
    }
    return st;
}

tn_status tnp_ensemble_widen(tn_ctx *ctx, tnp_ensemble *e)
{
    tn_status st = TN_OK;
    double *mean = NULL;
    bool finite = true;
    TN_TRY(means_of(ctx, e->moments, (tnp_range){0, e->moments->dim}, &mean, &finite));
    tnp_ensemble_forget(e);
    tn_moments_free(e->owned);
    e->moments = e->owned = NULL;
    TN_TRY(tnp_gather_moments_wide(ctx, e->narrow, e->narrow_count, e->y, finite ? mean : NULL, &e->owned));
    e->moments = e->owned;
done:
    tnp_free(mean);
    return st;
}

bool tnp_ensemble_within_budget(const tn_ctx *ctx, const tnp_ensemble *e, size_t member)
{
    size_t dim = tn_feed_cols(e->feeds[member]);
    return dim < e->moments->dim &&
           moments_bytes(dim, dim, e->y->classes, true) + tnp_spectrum_bytes(dim, e->y->classes) <=
               tnp_budget_left(ctx);
}

tn_status tnp_ensemble_widen_one(tn_ctx *ctx, const tnp_ensemble *e, size_t member, tnp_ridge **out)
{
    tn_status st = TN_OK;
    double *mean = NULL;
    tnp_moments *moments = NULL;
    bool finite = true;
    TN_TRY(means_of(ctx, e->moments, e->columns[member], &mean, &finite));
    TN_TRY(tnp_gather_moments_wide(ctx, &e->feeds[member], 1, e->y, finite ? mean : NULL, &moments));
    TN_TRY(tnp_ridge_primal_take(ctx, moments, e->intercept, out));
done:
    tnp_free(mean);
    tn_moments_free(moments);
    return st;
}
