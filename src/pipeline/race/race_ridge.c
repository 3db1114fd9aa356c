/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ridge heads in a race. They share a tridiagonal form per fold (pipeline/lambda_search.c).
 *
 *   evidence      the head of method evidence as it is: lambda of all rows, with the class means' share that it has
 *   ridge-cv      one lambda for all classes, the best of a grid about that of the evidence
 *   lda           linear discriminants of the same ridge problems (learn/ridge/discriminant.c), the best of the grid
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
           rows - held >= 2 * course->task->y.classes &&
           each * (TNP_LAMBDA_COUNT + 1) / 2 * (double)round->folds < most;
}

/* A search over the rows of a round; lambda NULL: about the middle of the usual grid. */
static tn_status search_begin(tn_ctx *ctx, const tnp_course *course, const tnp_round *round, bool discriminants,
                              const double *lambda, tnp_lambda_search *s)
{
    tn_status st = TN_OK;
    double grid[TNP_LAMBDA_COUNT];
    size_t count = lambda ? 1 : tnp_lambdas_about(tnp_middle_lambda(course->chosen), discriminants, grid);
    *s = (tnp_lambda_search){.task = course->task, .fold = round->fold, .discriminants = discriminants, .keep = true};
    TN_TRY(tnp_cross_new(ctx, lambda ? lambda : grid, count, round->folds, &s->cross));
    TN_TRY(tnp_lambda_search_init(ctx, s));
done:
    return st;
}

/* What it has found: the best lambda, without a fold that could judge the middle; nothing where that has not scored all
 * rows. */
static tn_status search_end(tn_ctx *ctx, const tnp_round *round, tnp_lambda_search *s, tnp_found *found)
{
    tn_status st = TN_OK;
    size_t k = s->task->y.classes, count = s->cross->count, best;
    tnp_lambda_search_end(s);
    best = s->cross->best < count ? s->cross->best : TNP_LAMBDA_MIDDLE * count / TNP_LAMBDA_COUNT;
    TN_TRY(tnp_lambda_search_scores(ctx, s, best, &found->scores));
    for (size_t i = 0; found->scores && !s->discriminants && i < s->task->y.rows * k; ++i)
        found->scores[i] = s->task->constant[i % k] ? 0 : found->scores[i];
    found->lambda = s->cross->grid[best];
    found->fold = found->scores ? round->fold : NULL;
done:
    return st;
}

static void search_free(tnp_lambda_search *s)
{
    tnp_lambda_search_destroy(s);
    tnp_cross_free(s->cross);
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
    tnp_lambda_search searches[2] = {{.task = NULL}, {.task = NULL}}; /* ridge, lda */
    tnp_also also[2];
    if (!course->ridge.fold && share < 1)
        asked = discriminates(course, round) ? 2 : 1;
    TN_TRY(tnp_alloc_raw(ctx, course->task->y.rows * k, sizeof *wide, &wide));
    for (size_t i = 0; i < asked; ++i) {
        TN_TRY(search_begin(ctx, course, round, i == 1, NULL, &searches[i]));
        also[i] = tnp_lambda_search_asks(&searches[i]);
    }
    TN_TRY(left_out(ctx, course, round, lambda, share, also, asked, wide));
    for (size_t i = 0; i < asked; ++i)
        TN_TRY(search_end(ctx, round, &searches[i], i == 0 ? &course->ridge : &course->lda));
    for (size_t i = 0; i < course->task->y.rows; ++i)
        for (size_t j = 0; round->fold[i] < round->folds && j < k; ++j)
            scores[i * k + j] = (float)wide[i * k + j];
done:
    search_free(&searches[0]);
    search_free(&searches[1]);
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
    tnp_found found = {.fold = NULL};
    tnp_lambda_search one = {.task = NULL};
    TN_TRY(search_begin(ctx, course, round, true, &lambda, &one));
    const tnp_also asks = tnp_lambda_search_asks(&one);
    TN_TRY(tnp_ridge_folds(ctx, course->chosen->ridge, course->feeds, course->feed_count, &course->task->y, &asks, 1,
                           round->fold, round->folds));
    TN_TRY(search_end(ctx, round, &one, &found));
    if (!found.fold)
        TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "no discriminants of some rows"));
    tnp_take_scores(course, round, found.scores, scores);
done:
    search_free(&one);
    tnp_free(found.scores);
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
