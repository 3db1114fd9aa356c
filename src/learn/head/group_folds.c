/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of one patient, scene or video resemble one another: a model that has seen one knows the others, and a figure
 * from folds that part them is too good. Whole groups are dealt here, large ones first, each to the fold f with the
 * least
 *
 *   cost_f = sum over rows i of the group, classes c of i, of n_fc / n_c   +   |group| n_f / n
 *
 * n_f, n_fc: rows in the fold so far, and those of class c; n, n_c: of all. It is what the group adds to the sum over
 * folds of n_fc^2 / n_c and n_f^2 / n, which is least where classes and folds are even. An empty fold costs nothing, so
 * that no fold stays empty. Groups of about one size, the same power of two, come in seeded random order: in strict
 * order of size every repeat would deal the same where no two groups are alike. Regressions have the second term only. */
#include "learn/head/group_folds.h"

typedef struct deal {
    const tnp_targets *y;
    const uint32_t *group;
    size_t groups, folds;
    size_t *start;  /* (groups + 1): of a group's rows */
    size_t *member; /* (rows) */
    size_t *order;  /* (groups): as they are dealt */
    size_t *rows;   /* (folds): n_f */
    size_t *inside; /* (folds, classes): n_fc */
    size_t *all;    /* (classes): n_c */
} deal;

static size_t size_of(const deal *d, size_t g)
{
    return d->start[g + 1] - d->start[g];
}

static void list_members(deal *d)
{
    for (size_t i = 0; i < d->y->rows; ++i)
        ++d->start[d->group[i] + 1];
    for (size_t g = 0; g < d->groups; ++g)
        d->start[g + 1] += d->start[g];
    for (size_t i = d->y->rows; i-- > 0;)
        d->member[--d->start[d->group[i] + 1]] = i;
    for (size_t g = 0; g < d->groups; ++g) /* the ends went down to the beginnings */
        d->start[g] = d->start[g + 1];
    d->start[d->groups] = d->y->rows;
}

/* Binary digits of the size: 0 for a group without rows. */
static size_t magnitude(size_t size)
{
    size_t digits = 0;
    for (; size > 0; size >>= 1)
        ++digits;
    return digits;
}

/* Shuffled, then the large before the small; scratch (groups). */
static void put_in_order(deal *d, size_t seed, size_t *scratch)
{
    enum { MOST = 64, STREAM = 3 };
    size_t place[MOST + 2] = {0};
    tnp_rng rng;
    for (size_t g = 0; g < d->groups; ++g) {
        scratch[g] = g;
        ++place[MOST - magnitude(size_of(d, g)) + 1];
    }
    for (size_t m = 1; m < MOST + 2; ++m)
        place[m] += place[m - 1];
    tnp_rng_init(&rng, seed, STREAM);
    tnp_rng_shuffle(&rng, scratch, d->groups);
    for (size_t i = 0; i < d->groups; ++i)
        d->order[place[MOST - magnitude(size_of(d, scratch[i]))]++] = scratch[i];
}

static double cost_of(const deal *d, size_t g, size_t f)
{
    const tnp_targets *y = d->y;
    double cost = (double)size_of(d, g) * (double)d->rows[f] / (double)y->rows;
    for (size_t m = d->start[g]; y->first && m < d->start[g + 1]; ++m)
        for (size_t p = y->first[d->member[m]]; p < y->first[d->member[m] + 1]; ++p)
            cost += (double)d->inside[f * y->classes + y->cls[p]] / (double)d->all[y->cls[p]];
    return cost;
}

static void put(deal *d, size_t g, size_t f, uint32_t *fold)
{
    const tnp_targets *y = d->y;
    d->rows[f] += size_of(d, g);
    for (size_t m = d->start[g]; m < d->start[g + 1]; ++m) {
        size_t row = d->member[m];
        fold[row] = (uint32_t)f;
        for (size_t p = y->first ? y->first[row] : 0; y->first && p < y->first[row + 1]; ++p)
            ++d->inside[f * y->classes + y->cls[p]];
    }
}

static void deal_all(deal *d, uint32_t *fold)
{
    for (size_t i = 0; i < d->groups; ++i) {
        size_t g = d->order[i], best = 0;
        double least = cost_of(d, g, 0);
        for (size_t f = 1; f < d->folds; ++f) {
            double cost = cost_of(d, g, f);
            if (cost < least) {
                least = cost;
                best = f;
            }
        }
        put(d, g, best, fold);
    }
}

static tn_status allocate(tn_ctx *ctx, deal *d)
{
    tn_status st = TN_OK;
    const tnp_targets *y = d->y;
    TN_TRY(tnp_alloc(ctx, d->groups + 1, sizeof *d->start, &d->start));
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *d->member, &d->member));
    TN_TRY(tnp_alloc(ctx, d->groups, sizeof *d->order, &d->order));
    TN_TRY(tnp_alloc(ctx, d->folds, sizeof *d->rows, &d->rows));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *d->all, &d->all));
    TN_TRY(tnp_alloc(ctx, d->folds * y->classes, sizeof *d->inside, &d->inside));
done:
    return st;
}

static void deal_destroy(deal *d)
{
    tnp_free_all(d->start, d->member, d->order, d->rows, d->inside, d->all);
}

tn_status tnp_group_folds_new(tn_ctx *ctx, const tnp_targets *y, const uint32_t *group, size_t groups, size_t folds,
                              size_t seed, uint32_t **out)
{
    tn_status st = TN_OK;
    deal d = {.y = y, .group = group, .groups = groups, .folds = folds};
    size_t *scratch = NULL, used = 0;
    uint32_t *fold = NULL;
    TN_TRY(allocate(ctx, &d));
    TN_TRY(tnp_alloc(ctx, groups, sizeof *scratch, &scratch));
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *fold, &fold));
    list_members(&d);
    for (size_t g = 0; g < groups; ++g)
        used += size_of(&d, g) > 0;
    if (used < folds)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "cross-validation: %zu group%s for %zu folds, expected at least one per fold",
                        used, used == 1 ? "" : "s", folds));
    for (size_t p = 0; y->first && p < y->first[y->rows]; ++p)
        ++d.all[y->cls[p]];
    put_in_order(&d, seed, scratch);
    deal_all(&d, fold);
    *out = fold;
    fold = NULL;
done:
    deal_destroy(&d);
    tnp_free_all(scratch, fold);
    return st;
}
