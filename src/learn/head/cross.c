/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The grid of a cross-validation and its results. */
#include "learn/head/cross.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

tn_status tnp_cross_sized(tn_ctx *ctx, size_t capacity, size_t folds, tnp_cross **out)
{
    tn_status st = TN_OK;
    tnp_cross *c = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    c->capacity = capacity;
    c->folds = folds;
    TN_TRY(tnp_alloc(ctx, capacity, sizeof *c->grid, &c->grid));
    TN_TRY(tnp_alloc(ctx, capacity * folds, sizeof *c->value, &c->value));
    TN_TRY(tnp_alloc(ctx, capacity, sizeof *c->mean, &c->mean));
    TN_TRY(tnp_alloc(ctx, capacity, sizeof *c->se, &c->se));
    TN_TRY(tnp_alloc(ctx, capacity, sizeof *c->judged, &c->judged));
    for (size_t g = 0; g < capacity; ++g)
        c->se[g] = NAN;
    *out = c;
    c = NULL;
done:
    tnp_cross_free(c);
    return st;
}

tn_status tnp_cross_new(tn_ctx *ctx, const double *grid, size_t count, size_t folds, tnp_cross **out)
{
    tnp_cross *c = NULL;
    tn_status st = tnp_cross_sized(ctx, count, folds, &c);
    if (st != TN_OK)
        return st;
    c->count = c->planned = count;
    memcpy(c->grid, grid, count * sizeof *grid);
    qsort(c->grid, count, sizeof *c->grid, ascending);
    *out = c;
    return TN_OK;
}

tn_status tnp_cross_want_loss(tn_ctx *ctx, tnp_cross *c)
{
    tn_status st = tnp_alloc(ctx, c->capacity, sizeof *c->log_loss, &c->log_loss);
    return st == TN_OK ? tnp_alloc(ctx, c->capacity, sizeof *c->temperature, &c->temperature) : st;
}

void tnp_cross_free(tnp_cross *c)
{
    if (!c)
        return;
    tnp_free_all(c->grid, c->value, c->mean, c->se, c->judged, c->log_loss, c->temperature, c);
}

void tnp_cross_summarise(tnp_cross *c, size_t g)
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
    if (c->folds > 1)
        c->se[g] = n > 1 ? sqrt(square / (n * (n - 1))) : (double)NAN;
}

void tnp_cross_finish(tnp_cross *c, bool more_is_simpler)
{
    double best = -INFINITY;
    c->best = SIZE_MAX;
    for (size_t g = 0; g < c->count; ++g) {
        tnp_cross_summarise(c, g);
        if (c->judged[g] > 0 && c->judged[g] < c->folds)
            continue;
        if (c->mean[g] > best || (more_is_simpler && c->mean[g] == best)) {
            best = c->mean[g];
            c->best = g;
        }
    }
}
