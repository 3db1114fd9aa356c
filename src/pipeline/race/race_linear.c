/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Support vector machines and logistic regression in a race. The search for C begins at the value that suits most
 * features (about 10 for logistic and 1 for svm on rows of length 1, whose mean squared distance from their mean is about
 * 0.55; C goes with 1 over that) and climbs from there by half powers of ten while the quality rises, upwards first. It
 * keeps the usual value unless the best is better by more than a standard error of the difference, row by row: with few
 * rows a cross-validation that takes the largest figure loses more by chance than the usual value loses by being usual
 * (docs/results/heads.md).
 *
 * A hundredth of the objective is as near as the search needs: it moves fewer decisions than one fold instead of another
 * does. The head itself is trained to the gap that was asked for. */
#include "pipeline/race/race.h"
#include "learn/head/path.h"

#include <math.h>
#include <string.h>

static const double GAP = 1e-2;

tn_status tnp_course_design(tn_ctx *ctx, tnp_course *course, size_t reserve)
{
    return course->design ? TN_OK : tnp_design_new(ctx, course->feeds, course->feed_count, reserve, &course->design);
}

/* What every training of a race needs besides the folds; decides how rows are multiplied. */
static tn_status prepare(tn_ctx *ctx, tnp_course *course, const tnp_round *round, const tnp_learn_options *learn,
                         bool logistic, tnp_linear *out)
{
    tn_status st = TN_OK;
    const tnp_task *task = course->task;
    bool bias = course->chosen->options->rank.evidence.intercept;
    size_t rows = task->y.rows, k = task->y.classes, columns = k * round->folds, dim = course->dim;
    size_t kept = 4 * (5 * rows * k + columns * (dim + 1) + rows * columns);
    tnp_linear_method method = tnp_linear_method_of(learn, logistic, bias, task->kind);
    method = tnp_linear_method_for(ctx, learn, method, rows, dim, columns, kept);
    size_t bytes = tnp_linear_bytes(rows, dim, method == TNP_BY_SOFTMAX ? k : columns, method) + kept;
    TN_TRY(tnp_course_design(ctx, course, bytes));
    *out = (tnp_linear){.rows = tnp_design_rows(course->design),
                        .design = tnp_design_here(course->design),
                        .task = task,
                        .options = learn,
                        .logistic = logistic,
                        .bias = bias,
                        .gram = method == TNP_BY_GRAM,
                        .seed = course->chosen->options->rank.seed,
                        .row_weight = course->row_weight,
                        .row_fold = round->fold,
                        .folds = round->folds};
done:
    return st;
}

/* ---- the search ---- */

typedef struct climb {
    const tnp_course *course;
    const tnp_round *round;
    tnp_linear linear;
    float *w, *alpha;           /* where the next training starts */
    tnp_entry usual, best, now; /* value, scores and units of three C at most */
} climb;

/* C over the mean squared distance of some of the rows from their mean: what rows have in common is no margin. */
static tn_status scale_cost(tn_ctx *ctx, const tnp_rows *rows, double cost, double *out)
{
    enum { SOME = 512 };
    const float *x = NULL;
    float *kept = NULL;
    size_t stride = tnp_max(1, rows->rows / SOME), count = (rows->rows + stride - 1) / stride, ld = 0;
    double square = 0;
    tn_status st = rows->ops->sample(ctx, rows->self, stride, &x, &ld, &kept);
    for (size_t j = 0; st == TN_OK && j < rows->dim; ++j) {
        double mean = 0;
        for (size_t i = 0; i < count; ++i)
            mean += (double)x[i * ld + j] / (double)count;
        for (size_t i = 0; i < count; ++i)
            square += ((double)x[i * ld + j] - mean) * ((double)x[i * ld + j] - mean) / (double)count;
    }
    tnp_free(kept);
    *out = cost / (square > 0 ? square : 1);
    return st;
}

static tn_status entry_new(tn_ctx *ctx, const climb *c, tnp_entry *e)
{
    const tnp_task *task = c->course->task;
    tn_status st = tnp_alloc(ctx, task->y.rows * task->y.classes, sizeof *e->scores, &e->scores);
    return st == TN_OK ? tnp_alloc(ctx, tnp_round_units(task, c->round), sizeof *e->unit, &e->unit) : st;
}

static void entry_destroy(tnp_entry *e)
{
    tnp_free_all(e->scores, e->unit);
}

static tn_status train_at(tn_ctx *ctx, climb *c, double cost, tnp_entry *e)
{
    tn_status st = TN_OK;
    tnp_training training;
    e->value = cost;
    TN_TRY(tnp_linear_train(ctx, &c->linear, cost, c->w, &training));
    TN_TRY(tnp_linear_held_out(ctx, &c->linear, c->w, e->scores));
    TN_TRY(tnp_judge_units(ctx, c->course->task, c->round, e));
done:
    return st;
}

/* From the best so far by this factor, for as long as that gains more than half a standard error: six steps would else be
 * taken for a row or two each, the last of them the longest. */
static tn_status walk(tn_ctx *ctx, climb *c, double factor)
{
    enum { MOST = 6 };
    tn_status st = TN_OK;
    size_t units = tnp_round_units(c->course->task, c->round);
    for (int i = 0; i < MOST; ++i) {
        double lead, se;
        TN_TRY(train_at(ctx, c, c->best.value * factor, &c->now));
        tnp_lead(&c->now, &c->best, units, &lead, &se);
        if (!(lead > se / 2))
            break;
        tnp_entry was = c->best;
        c->best = c->now;
        c->now = was;
    }
done:
    return st;
}

static void copy_entry(const climb *c, const tnp_entry *from, tnp_entry *to)
{
    const tnp_task *task = c->course->task;
    to->value = from->value;
    to->mean = from->mean;
    memcpy(to->scores, from->scores, task->y.rows * task->y.classes * sizeof *to->scores);
    memcpy(to->unit, from->unit, tnp_round_units(task, c->round) * sizeof *to->unit);
}

static tn_status search_cost(tn_ctx *ctx, climb *c, tnp_entry *found)
{
    const double step = sqrt(10);
    tn_status st = TN_OK;
    const tnp_targets *y = &c->course->task->y;
    size_t columns = c->linear.folds * y->classes;
    double lead, se;
    TN_TRY(entry_new(ctx, c, &c->usual));
    TN_TRY(entry_new(ctx, c, &c->best));
    TN_TRY(entry_new(ctx, c, &c->now));
    TN_TRY(tnp_alloc(ctx, y->rows * columns, sizeof *c->alpha, &c->alpha));
    c->linear.alpha = c->alpha;
    TN_TRY(scale_cost(ctx, &c->linear.rows, c->linear.logistic ? TNP_USUAL_LOGISTIC : TNP_USUAL_SVM, &c->usual.value));
    TN_TRY(train_at(ctx, c, c->usual.value, &c->usual));
    copy_entry(c, &c->usual, &c->best);
    bool flawless = c->usual.mean == 1; /* of accuracy, mean AP and R^2 none is larger */
    if (!flawless)
        TN_TRY(walk(ctx, c, step));
    if (!flawless &&
        c->best.value == c->usual.value) { /* multipliers of a larger C may be out of bounds at a smaller one */
        memset(c->alpha, 0, y->rows * columns * sizeof *c->alpha);
        TN_TRY(walk(ctx, c, 1 / step));
    }
    tnp_lead(&c->best, &c->usual, tnp_round_units(c->course->task, c->round), &lead, &se);
    const tnp_entry *chosen = lead > se ? &c->best : &c->usual;
    found->value = chosen->value;
    tnp_take_scores(c->course, c->round, chosen->scores, found->scores);
done:
    c->linear.alpha = NULL;
    return st;
}

/* ---- the contenders ---- */

static tn_status hold_out(tn_ctx *ctx, tnp_course *course, const tnp_round *round, bool logistic, tnp_entry *entry)
{
    tn_status st = TN_OK;
    size_t k = course->task->y.classes;
    tnp_learn_options learn = course->chosen->options->learn;
    climb c = {.course = course,
               .round = round,
               .usual = {.who = entry->who},
               .best = {.who = entry->who},
               .now = {.who = entry->who}};
    learn.gap = fmax(learn.gap, GAP);
    TN_TRY(prepare(ctx, course, round, &learn, logistic, &c.linear));
    TN_TRY(tnp_alloc(ctx, round->folds * k * (course->dim + 1), sizeof *c.w, &c.w));
    if (isnan(entry->value)) {
        TN_TRY(search_cost(ctx, &c, entry));
    } else {
        TN_TRY(entry_new(ctx, &c, &c.now));
        TN_TRY(train_at(ctx, &c, entry->value, &c.now));
        tnp_take_scores(course, round, c.now.scores, entry->scores);
    }
done:
    entry_destroy(&c.usual);
    entry_destroy(&c.best);
    entry_destroy(&c.now);
    tnp_free_all(c.w, c.alpha);
    return st;
}

tn_status tnp_hold_out_svm(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    return hold_out(ctx, course, round, false, entry);
}

tn_status tnp_hold_out_logistic(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    return hold_out(ctx, course, round, true, entry);
}
