/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ridge heads in a race. A tridiagonal form per fold gives every lambda, so that all of them cost little more than one.
 *
 *   evidence      the head of method evidence as it is: lambda of all rows, with the class means' share that it has
 *   ridge-cv      one lambda for all classes, the best of a grid about that of the evidence
 *
 * Lambda of the evidence is found from all rows, those judged among them: one number of thousands of rows, which no
 * figure here can tell from one without them. Closed-form leave-one-out was refused as its figure: its models have all
 * rows but one, those of the others four fifths. */
#include "pipeline/race/race.h"

#include <math.h>

void tnp_take_scores(const tnp_course *course, const tnp_round *round, const float *from, float *to)
{
    size_t k = course->task->y.classes;
    for (size_t i = 0; i < course->task->y.rows; ++i)
        for (size_t c = 0; round->fold[i] < round->folds && c < k; ++c)
            to[i * k + c] = from[i * k + c];
}

/* Held-out scores at these lambdas and this share of class means. */
static tn_status hold_out_at(tn_ctx *ctx, const tnp_course *course, const tnp_round *round, const double *lambda,
                             double share, float *scores)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = course->chosen;
    tnp_selection raced = *c->selection;
    size_t k = course->task->y.classes;
    double *wide = NULL;
    raced.task = course->task;
    const tnp_left_out l = {&raced, course->feeds, course->feed_count, c->ridge, lambda, NULL, share};
    TN_TRY(tnp_alloc_raw(ctx, course->task->y.rows * k, sizeof *wide, &wide));
    TN_TRY(tnp_left_out_folds(ctx, &l, round->fold, round->folds, wide));
    for (size_t i = 0; i < course->task->y.rows; ++i)
        for (size_t j = 0; round->fold[i] < round->folds && j < k; ++j)
            scores[i * k + j] = (float)wide[i * k + j];
done:
    tnp_free(wide);
    return st;
}

tn_status tnp_hold_out_evidence(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    const tn_fit_info *info = course->chosen->info;
    return hold_out_at(ctx, course, round, info->lambda, info->class_means, entry->scores);
}

/* The grid: powers of four about the lambda that all classes share, which is method evidence's own where classes are
 * many; without one about the largest eigenvalue. */
static tn_status search_lambda(tn_ctx *ctx, tnp_course *course, const tnp_round *round, double *lambda)
{
    enum { COUNT = 11, MIDDLE = 6 }; /* that of the evidence may be too large as well as too small */
    tn_status st = TN_OK;
    const tnp_chosen *c = course->chosen;
    const tnp_ridge *ridge = c->ridge;
    double grid[COUNT], shared = tnp_shared_or_null(c->evidence);
    tnp_cross *cross = NULL;
    tnp_design *design = NULL;
    shared = isfinite(shared) ? shared : ridge->spectrum->largest;
    shared = shared > 0 ? shared : 1; /* columns that never change: any lambda is as good */
    for (int i = 0; i < COUNT; ++i)
        grid[i] = ldexp(shared, 2 * (i - MIDDLE));
    TN_TRY(tnp_cross_new(ctx, grid, COUNT, round->folds, &cross));
    TN_TRY(tnp_design_new(ctx, course->feeds, course->feed_count, 0, &design));
    TN_TRY(tnp_ridge_cv_wide(ctx, design, &course->task->y, ridge->intercept, ridge->wide ? ridge->mean : NULL,
                             round->fold, tnp_measure_rows, (void *)(uintptr_t)course->task, cross));
    *lambda = cross->best < cross->count ? cross->grid[cross->best] : shared;
done:
    tnp_cross_free(cross);
    tnp_design_free(design);
    return st;
}

tn_status tnp_hold_out_ridge(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    tn_status st = TN_OK;
    size_t k = course->task->y.classes;
    double *lambda = NULL;
    if (isnan(entry->value))
        TN_TRY(search_lambda(ctx, course, round, &entry->value));
    TN_TRY(tnp_alloc(ctx, k, sizeof *lambda, &lambda));
    for (size_t c = 0; c < k; ++c)
        lambda[c] = course->task->constant[c] ? INFINITY : entry->value;
    TN_TRY(hold_out_at(ctx, course, round, lambda, 0, entry->scores));
done:
    tnp_free(lambda);
    return st;
}
