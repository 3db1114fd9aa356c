/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ridge heads in a race. A tridiagonal form per fold gives every lambda, so that all of them cost little more than one.
 *
 *   evidence      the head of method evidence as it is: lambda of all rows, with the class means' share that it has
 *   ridge-cv      one lambda for all classes, the best of a grid about that of the evidence
 *   lda           linear discriminants of the same ridge problems (learn/ridge/discriminant.c), the best of the grid
 *
 * Lambda of the evidence is found from all rows, those judged among them: one number of thousands of rows, which no
 * figure here can tell from one without them. Closed-form leave-one-out was refused as its figure: its models have all
 * rows but one, those of the others four fifths. */
#include "pipeline/race/race.h"

#include <float.h>
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

/* Scores of the rows of a round at every lambda of a grid, in the order in which folds bring them. */
typedef struct grid_search {
    tnp_course *course;
    size_t count;
    double grid[COUNT], sum[COUNT];
    size_t judged[COUNT], stored[COUNT]; /* folds that could judge; rows */
    size_t rows, *order;                 /* of the round; (rows): which row was stored at a place */
    float *scores;                       /* (count, rows, classes) */
} grid_search;

/* Powers of four about the lambda that all classes share, which is method evidence's own where classes are many; without
 * one about the largest eigenvalue. Every second of them is enough for discriminants. */
static void fill_grid(const tnp_course *course, bool discriminants, grid_search *s)
{
    const tnp_chosen *c = course->chosen;
    double shared = tnp_shared_or_null(c->evidence);
    shared = isfinite(shared) ? shared : c->ridge->spectrum->largest;
    shared = shared > 0 ? shared : 1; /* columns that never change: any lambda is as good */
    for (int i = 0; i < COUNT; i += discriminants ? 2 : 1)
        s->grid[s->count++] = ldexp(shared, 2 * (i - MIDDLE));
}

/* What its grid needs. */
static tn_status search_init(tn_ctx *ctx, tnp_course *course, const tnp_round *round, grid_search *s)
{
    tn_status st = TN_OK;
    s->course = course;
    for (size_t i = 0; i < course->task->y.rows; ++i)
        s->rows += round->fold[i] < round->folds;
    TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->order, &s->order));
    TN_TRY(tnp_alloc_raw(ctx, s->count * s->rows * course->task->y.classes, sizeof *s->scores, &s->scores));
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

/* The best of the grid, of equals the largest, which is the simplest; without a fold that could judge the middle. Of
 * lambdas at which no row, or not all, could be scored none. */
static tn_status search_end(tn_ctx *ctx, const grid_search *s, const tnp_round *round, tnp_found *found)
{
    const tnp_task *task = s->course->task;
    size_t best = s->count, k = task->y.classes;
    double most = -INFINITY;
    for (size_t g = 0; g < s->count; ++g) {
        double mean = s->judged[g] > 0                 ? s->sum[g] / (double)s->judged[g]
                      : g == MIDDLE * s->count / COUNT ? -DBL_MAX
                                                       : -INFINITY;
        if (s->stored[g] == s->rows && mean > -INFINITY && mean >= most) {
            most = mean;
            best = g;
        }
    }
    if (best == s->count)
        return TN_OK;
    tn_status st = tnp_alloc(ctx, task->y.rows * k, sizeof *found->scores, &found->scores);
    for (size_t i = 0; st == TN_OK && i < s->rows; ++i)
        for (size_t c = 0; c < k; ++c)
            found->scores[s->order[i] * k + c] = task->constant[c] ? 0 : s->scores[(best * s->rows + i) * k + c];
    found->lambda = s->grid[best];
    found->fold = st == TN_OK ? round->fold : NULL;
    return st;
}

/* ---- scores of a round ---- */

/* Whether discriminants are to be had. Without two rows per class, those judged not counted, nothing is known of how rows
 * lie about their class mean. For every lambda and fold a matrix of classes by classes is made, inverted and applied,
 * which with thousands of classes takes longer than all the rest. */
static bool discriminates(const tnp_course *course, const tnp_round *round)
{
    const double most = 1e11;                     /* flops, a second or two */
    size_t rows = course->task->y.rows, held = 0; /* rows of the first fold: folds are as even as can be */
    for (size_t i = 0; i < rows; ++i)
        held += round->fold[i] == 0;
    double k = (double)course->task->y.classes, order = (double)tnp_min(rows - held, course->dim);
    double each = k * k * (3 * k + 2 * order + 2 * (double)held);
    return course->task->kind == TN_TASK_MULTICLASS && course->chosen->ridge->intercept &&
           rows - held >= 2 * course->task->y.classes && each * (COUNT + 1) / 2 * (double)round->folds < most;
}

static tn_status left_out(tn_ctx *ctx, const tnp_course *course, const tnp_round *round, const double *lambda,
                          double share, const tnp_also *also, size_t count, double *out)
{
    const tnp_chosen *c = course->chosen;
    tnp_selection raced = *c->selection;
    raced.task = course->task;
    const tnp_left_out l = {&raced, course->feeds, course->feed_count, c->ridge, lambda, NULL, share};
    return tnp_left_out_folds(ctx, &l, also, count, round->fold, round->folds, out);
}

/* Held-out scores at these lambdas and this share of class means; in the first round the one lambda of the ridge, and
 * that of its discriminants, are found with them. */
static tn_status hold_out_at(tn_ctx *ctx, tnp_course *course, const tnp_round *round, const double *lambda,
                             double share, float *scores)
{
    tn_status st = TN_OK;
    size_t k = course->task->y.classes, asked = 0;
    double *wide = NULL;
    grid_search ridge = {.course = NULL}, lda = {.course = NULL};
    fill_grid(course, false, &ridge);
    fill_grid(course, true, &lda);
    const tnp_also also[] = {{ridge.grid, ridge.count, false, take_fold, &ridge},
                             {lda.grid, lda.count, true, take_fold, &lda}};
    if (!course->ridge.fold && share < 1)
        asked = discriminates(course, round) ? 2 : 1;
    TN_TRY(tnp_alloc_raw(ctx, course->task->y.rows * k, sizeof *wide, &wide));
    for (size_t i = 0; i < asked; ++i)
        TN_TRY(search_init(ctx, course, round, also[i].arg));
    TN_TRY(left_out(ctx, course, round, lambda, share, also, asked, wide));
    for (size_t i = 0; i < asked; ++i)
        TN_TRY(search_end(ctx, also[i].arg, round, i == 0 ? &course->ridge : &course->lda));
    for (size_t i = 0; i < course->task->y.rows; ++i)
        for (size_t j = 0; round->fold[i] < round->folds && j < k; ++j)
            scores[i * k + j] = (float)wide[i * k + j];
done:
    search_destroy(&ridge);
    search_destroy(&lda);
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

/* Discriminants at the lambda that was found before, in another round. */
static tn_status discriminate_at(tn_ctx *ctx, tnp_course *course, const tnp_round *round, double lambda, float *scores)
{
    tn_status st = TN_OK;
    size_t k = course->task->y.classes;
    double *none = NULL, *unused = NULL;
    tnp_found found = {.fold = NULL};
    grid_search one = {.count = 1, .grid = {lambda}};
    const tnp_also also = {one.grid, 1, true, take_fold, &one};
    TN_TRY(tnp_alloc_raw(ctx, k, sizeof *none, &none));
    TN_TRY(tnp_alloc_raw(ctx, course->task->y.rows * k, sizeof *unused, &unused));
    for (size_t c = 0; c < k; ++c)
        none[c] = INFINITY;
    TN_TRY(search_init(ctx, course, round, &one));
    TN_TRY(left_out(ctx, course, round, none, 0, &also, 1, unused));
    TN_TRY(search_end(ctx, &one, round, &found));
    if (!found.fold)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "no discriminants of some rows"));
    tnp_take_scores(course, round, found.scores, scores);
done:
    search_destroy(&one);
    tnp_free_all(none, unused, found.scores);
    return st;
}

tn_status tnp_hold_out_lda(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    if (!isnan(entry->value))
        return discriminate_at(ctx, course, round, entry->value, entry->scores);
    if (course->lda.fold != round->fold)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "no discriminants of some rows");
    entry->value = course->lda.lambda;
    tnp_take_scores(course, round, course->lda.scores, entry->scores);
    return TN_OK;
}
