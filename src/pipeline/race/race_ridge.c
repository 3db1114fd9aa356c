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
#include <string.h>

void tnp_take_scores(const tnp_course *course, const tnp_round *round, const float *from, float *to)
{
    size_t k = course->task->y.classes;
    for (size_t i = 0; i < course->task->y.rows; ++i)
        for (size_t c = 0; round->fold[i] < round->folds && c < k; ++c)
            to[i * k + c] = from[i * k + c];
}

/* ---- one lambda for all classes ---- */

enum { COUNT = 11, MIDDLE = 6 }; /* that of the evidence may be too large as well as too small */

/* Scores of the rows of a round at every lambda of the grid, in the order in which folds bring them. */
typedef struct grid_search {
    tnp_course *course;
    double grid[COUNT], sum[COUNT];
    size_t judged[COUNT], stored[COUNT]; /* folds that could judge; rows */
    size_t rows, *order;                 /* of the round; (rows): which row was stored at a place */
    float *scores;                       /* (COUNT, rows, classes) */
} grid_search;

/* Powers of four about the lambda that all classes share, which is method evidence's own where classes are many; without
 * one about the largest eigenvalue. */
static tn_status search_init(tn_ctx *ctx, tnp_course *course, const tnp_round *round, grid_search *s)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = course->chosen;
    double shared = tnp_shared_or_null(c->evidence);
    s->course = course;
    shared = isfinite(shared) ? shared : c->ridge->spectrum->largest;
    shared = shared > 0 ? shared : 1; /* columns that never change: any lambda is as good */
    for (int i = 0; i < COUNT; ++i)
        s->grid[i] = ldexp(shared, 2 * (i - MIDDLE));
    for (size_t i = 0; i < course->task->y.rows; ++i)
        s->rows += round->fold[i] < round->folds;
    TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->order, &s->order));
    TN_TRY(tnp_alloc_raw(ctx, COUNT * s->rows * course->task->y.classes, sizeof *s->scores, &s->scores));
done:
    return st;
}

static void search_destroy(grid_search *s)
{
    tnp_free_all(s->order, s->scores);
}

static tn_status take_fold(tn_ctx *ctx, void *arg, size_t g, const size_t *rows, size_t count, const float *scores)
{
    grid_search *s = arg;
    const tnp_task *task = s->course->task;
    size_t k = task->y.classes;
    double value;
    tn_status st = tnp_measure_rows(ctx, (void *)(uintptr_t)task, rows, count, scores, &value);
    memcpy(s->scores + (g * s->rows + s->stored[g]) * k, scores, count * k * sizeof *scores);
    memcpy(s->order + s->stored[g], rows, count * sizeof *rows);
    s->stored[g] += count;
    s->judged[g] += st == TN_OK && !isnan(value);
    s->sum[g] += st == TN_OK && !isnan(value) ? value : 0;
    return st;
}

/* The best of the grid, of equals the largest, which is the simplest; without a fold that could judge the middle. */
static tn_status search_end(tn_ctx *ctx, const grid_search *s, const tnp_round *round)
{
    tnp_course *course = s->course;
    const tnp_task *task = course->task;
    size_t best = MIDDLE, k = task->y.classes;
    double most = -INFINITY;
    for (size_t g = 0; g < COUNT; ++g)
        if (s->judged[g] > 0 && s->sum[g] / (double)s->judged[g] >= most) {
            most = s->sum[g] / (double)s->judged[g];
            best = g;
        }
    tn_status st = tnp_alloc(ctx, task->y.rows * k, sizeof *course->ridge.scores, &course->ridge.scores);
    for (size_t i = 0; st == TN_OK && i < s->rows; ++i)
        for (size_t c = 0; c < k; ++c)
            course->ridge.scores[s->order[i] * k + c] = task->constant[c] ? 0 : s->scores[(best * s->rows + i) * k + c];
    course->ridge.lambda = s->grid[best];
    course->ridge.fold = st == TN_OK ? round->fold : NULL;
    return st;
}

/* ---- scores of a round ---- */

/* Held-out scores at these lambdas and this share of class means; in the first round the one lambda is found with them. */
static tn_status hold_out_at(tn_ctx *ctx, tnp_course *course, const tnp_round *round, const double *lambda,
                             double share, float *scores)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = course->chosen;
    tnp_selection raced = *c->selection;
    size_t k = course->task->y.classes;
    double *wide = NULL;
    grid_search search = {.course = NULL};
    bool first = !course->ridge.fold && share < 1;
    raced.task = course->task;
    const tnp_left_out l = {&raced, course->feeds, course->feed_count, c->ridge, lambda, NULL, share};
    const tnp_also also = {search.grid, COUNT, take_fold, &search};
    TN_TRY(tnp_alloc_raw(ctx, course->task->y.rows * k, sizeof *wide, &wide));
    if (first)
        TN_TRY(search_init(ctx, course, round, &search));
    TN_TRY(tnp_left_out_folds(ctx, &l, first ? &also : NULL, round->fold, round->folds, wide));
    if (first)
        TN_TRY(search_end(ctx, &search, round));
    for (size_t i = 0; i < course->task->y.rows; ++i)
        for (size_t j = 0; round->fold[i] < round->folds && j < k; ++j)
            scores[i * k + j] = (float)wide[i * k + j];
done:
    search_destroy(&search);
    tnp_free(wide);
    return st;
}

tn_status tnp_hold_out_evidence(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    const tn_fit_info *info = course->chosen->info;
    return hold_out_at(ctx, course, round, info->lambda, info->class_means, entry->scores);
}

tn_status tnp_hold_out_ridge(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    tn_status st = TN_OK;
    size_t k = course->task->y.classes;
    double *lambda = NULL;
    TN_TRY(tnp_alloc(ctx, k, sizeof *lambda, &lambda));
    for (size_t c = 0; c < k; ++c)
        lambda[c] = course->task->constant[c] || isnan(entry->value) ? INFINITY : entry->value;
    if (course->ridge.fold != round->fold)
        TN_TRY(hold_out_at(ctx, course, round, lambda, 0, entry->scores));
    if (isnan(entry->value)) {
        entry->value = course->ridge.lambda;
        tnp_take_scores(course, round, course->ridge.scores, entry->scores);
    }
done:
    tnp_free(lambda);
    return st;
}
