/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The grid's results, and the support vector machine's way along it. */
#include "learn/head/cross.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

tn_status tnp_cross_new(tn_ctx *ctx, const double *grid, size_t count, size_t folds, tnp_cross **out)
{
    tn_status st = TN_OK;
    tnp_cross *c = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    c->count = count;
    c->folds = folds;
    TN_TRY(tnp_alloc(ctx, count, sizeof *c->grid, &c->grid));
    TN_TRY(tnp_alloc(ctx, count * folds, sizeof *c->value, &c->value));
    TN_TRY(tnp_alloc(ctx, count, sizeof *c->mean, &c->mean));
    TN_TRY(tnp_alloc(ctx, count, sizeof *c->se, &c->se));
    memcpy(c->grid, grid, count * sizeof *grid);
    qsort(c->grid, count, sizeof *c->grid, ascending);
    *out = c;
    c = NULL;
done:
    tnp_cross_free(c);
    return st;
}

void tnp_cross_free(tnp_cross *c)
{
    if (!c)
        return;
    tnp_free(c->grid);
    tnp_free(c->value);
    tnp_free(c->mean);
    tnp_free(c->se);
    tnp_free(c);
}

/* Over the folds that have a value: NaN says that the fold could not judge. */
static void summarise(tnp_cross *c, size_t g)
{
    const double *v = c->value + g * c->folds;
    double n = 0, square = 0;
    c->mean[g] = 0;
    for (size_t f = 0; f < c->folds; ++f)
        n += !isnan(v[f]);
    for (size_t f = 0; f < c->folds; ++f)
        c->mean[g] += isnan(v[f]) ? 0 : v[f] / n;
    for (size_t f = 0; f < c->folds; ++f)
        square += isnan(v[f]) ? 0 : (v[f] - c->mean[g]) * (v[f] - c->mean[g]);
    c->mean[g] = n > 0 ? c->mean[g] : (double)NAN;
    c->se[g] = n > 1 ? sqrt(square / (n * (n - 1))) : (double)NAN;
}

void tnp_cross_finish(tnp_cross *c, bool more_is_simpler)
{
    double best = -INFINITY;
    c->best = SIZE_MAX;
    for (size_t g = 0; g < c->count; ++g) {
        summarise(c, g);
        if (c->mean[g] > best || (more_is_simpler && c->mean[g] == best)) {
            best = c->mean[g];
            c->best = g;
        }
    }
}

/* Value of every fold from the scores of all rows; rows and part are scratch for one fold. */
static tn_status measure_folds(tn_ctx *ctx, const tnp_linear *l, tnp_measure_fn measure, void *arg, const float *scores,
                               size_t *rows, float *part, double *value)
{
    size_t k = l->task->y.classes;
    for (size_t f = 0; f < l->folds; ++f) {
        size_t n = 0;
        for (size_t i = 0; i < l->task->y.rows; ++i)
            if (l->row_fold[i] == f) {
                memcpy(part + n * k, scores + i * k, k * sizeof *part);
                rows[n++] = i;
            }
        tn_status st = measure(ctx, arg, rows, n, part, &value[f]);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

tn_status tnp_svm_cv(tn_ctx *ctx, const tnp_linear *l, tnp_measure_fn measure, void *arg, tnp_cross *c, float *w,
                     float *scores)
{
    tn_status st = TN_OK;
    float *now = NULL, *part = NULL;
    size_t *rows = NULL, size = l->task->y.rows * l->task->y.classes;
    double best = -INFINITY;
    tnp_share whole = tnp_progress_now(ctx);
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *now, &now));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *part, &part));
    TN_TRY(tnp_alloc(ctx, l->task->y.rows, sizeof *rows, &rows));
    for (size_t g = 0; g < c->count; ++g) {
        tnp_training training;
        TN_TRY(tnp_progress_step(ctx, whole, "cross-validation", g, c->count));
        TN_TRY(tnp_linear_train(ctx, l, c->grid[g], w, &training));
        TN_TRY(tnp_linear_held_out(ctx, l, w, now));
        TN_TRY(measure_folds(ctx, l, measure, arg, now, rows, part, c->value + g * c->folds));
        summarise(c, g);
        if (c->mean[g] > best) {
            best = c->mean[g];
            memcpy(scores, now, size * sizeof *scores);
        }
    }
    tnp_cross_finish(c, false);
done:
    tnp_free(now);
    tnp_free(part);
    tnp_free(rows);
    return st;
}
