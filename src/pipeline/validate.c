/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Honest figures of a fit: rows that the head has not seen, those of option valid or a part of the rows at hand.
 *
 *   method that chooses (svm-cv, ridge-cv, lda, ...)      its grid is chosen on them, in linear.c and train.c
 *   any other                                             the same fit without them is judged by them: with everything
 *                                                         that goes by rows, the choice among representations too
 *
 * After a hold-out the head is trained on all rows, for more rows make better heads; its figure is that of a head with
 * fewer. Rows of option valid are never trained on. The figure of a method that chooses is the best of a grid, and the
 * better for it than new rows will be. */
#include "pipeline/parts.h"
#include "learn/head/folds.h"

#include <math.h>
#include <string.h>

tn_status tnp_valid_open(tn_ctx *ctx, const tnp_chosen *c, tnp_task **out)
{
    tn_status st = TN_OK;
    const tnp_valid *valid = &c->options->valid;
    tnp_task *task = NULL;
    TN_TRY(tnp_valid_check(ctx, valid, c->labels));
    TN_TRY(
        tnp_task_chunk(ctx, valid->features, valid->count, valid->labels, (tn_nan_policy)c->options->rank.nan, &task));
    if (task->y.rows == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no row has a label, expected some to validate by", valid->labels->path));
    *out = task;
    task = NULL;
done:
    tnp_task_free(task);
    return st;
}

tn_status tnp_valid_check(tn_ctx *ctx, const tnp_valid *valid, const tn_labels *labels)
{
    tn_status st = TN_OK;
    TN_TRY(tn_rows_agree(ctx, valid->features, valid->count, valid->labels));
    if (valid->labels->task != labels->task)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: %s labels, but those of the training rows are %s", valid->labels->path,
                        tn_task_name(valid->labels->task), tn_task_name(labels->task)));
    TN_TRY(tn_labels_map(ctx, valid->labels, (const char *const *)labels->names, labels->classes));
done:
    return st;
}

tn_status tnp_valid_scores(tn_ctx *ctx, const tnp_valid *valid, const tnp_task *task, const tn_head *head,
                           float *scores)
{
    size_t k = task->y.classes;
    tn_status st =
        tnp_heads_score(ctx, &head, 1, valid->features, valid->count, task->rows, task->y.rows, TN_NAN_ZERO, scores);
    for (size_t i = 0; st == TN_OK && task->values && i < task->y.rows * k; ++i)
        scores[i] =
            (float)((double)scores[i] - task->offset[i % k]); /* targets of a regression are less their offset */
    return st;
}

tn_status tnp_valid_judge(tn_ctx *ctx, const tnp_valid *valid, tnp_task *task, const tn_head *head, float *scores,
                          double *value)
{
    tn_status st = TN_OK;
    size_t *rows = NULL;
    TN_TRY(tnp_alloc_raw(ctx, task->y.rows, sizeof *rows, &rows));
    for (size_t i = 0; i < task->y.rows; ++i)
        rows[i] = i;
    TN_TRY(tnp_valid_scores(ctx, valid, task, head, scores));
    TN_TRY(tnp_measure_valid(ctx, task, rows, task->y.rows, scores, value));
done:
    tnp_free(rows);
    return st;
}

/* ---- the figure of methods that choose nothing ---- */

/* By all rows of option valid. */
static tn_status judge_valid(tn_ctx *ctx, const tnp_fit_options *o, const tn_labels *labels, const tn_head *head,
                             tn_fit_info *info)
{
    tn_status st = TN_OK;
    const tnp_chosen c = {.labels = labels, .options = o};
    tnp_task *task = NULL;
    float *scores = NULL;
    TN_TRY(tnp_valid_open(ctx, &c, &task));
    TN_TRY(tnp_alloc_raw(ctx, task->y.rows * task->y.classes, sizeof *scores, &scores));
    TN_TRY(tnp_valid_judge(ctx, &o->valid, task, head, scores, &info->validation_value));
    tnp_keep_validation(info, "valid", task->kind, task->y.rows);
done:
    tnp_task_free(task);
    tnp_free(scores);
    return st;
}

/* What a fit is given. */
typedef struct given {
    const tn_features *const *features;
    size_t count;
    const tn_labels *labels;
    const tnp_fit_options *options;
} given;

/* The head of a fit without some rows of the task, places (count) of the labels. */
static tn_status fit_without(tn_ctx *ctx, const given *g, const size_t *places, size_t count, tn_head **head)
{
    tn_status st = TN_OK;
    bool *known = NULL;
    tn_fit_info *info = NULL;
    tn_labels part = *g->labels;
    tnp_fit_options options = *g->options;
    TN_TRY(tnp_alloc_raw(ctx, part.rows, sizeof *known, &known));
    memcpy(known, part.known, part.rows * sizeof *known);
    for (size_t i = 0; i < count; ++i)
        known[places[i]] = false;
    part.known = known;
    options.learn.calibrate = TNP_CALIBRATE_NO; /* changes no decision */
    TN_TRY(tnp_fit_rows(ctx, g->features, g->count, &part, &options, &info, head));
done:
    tn_fit_info_free(info);
    tnp_free(known);
    return st;
}

/* By a part of the rows, and the fit without them. */
static tn_status judge_holdout(tn_ctx *ctx, const given *g, double *value, size_t *held)
{
    tn_status st = TN_OK;
    const tnp_rank_options *o = &g->options->rank;
    tnp_task *task = NULL;
    tn_head *head = NULL;
    uint32_t *fold = NULL;
    size_t *rows = NULL, *places = NULL, n = 0;
    float *scores = NULL;
    TN_TRY(tnp_task_new(ctx, g->features, g->count, g->labels, (tn_nan_policy)o->nan, o->evidence.intercept, &task));
    TN_TRY(tnp_holdout_new(ctx, &task->y, task->kind, g->options->learn.holdout, o->seed, &fold, held));
    TN_TRY(tnp_alloc_raw(ctx, *held, sizeof *rows, &rows));
    TN_TRY(tnp_alloc_raw(ctx, *held, sizeof *places, &places));
    TN_TRY(tnp_alloc_raw(ctx, *held * task->y.classes, sizeof *scores, &scores));
    for (size_t i = 0; i < task->y.rows; ++i)
        if (fold[i] == 0) {
            rows[n] = i;
            places[n++] = task->rows[i];
        }
    TN_TRY(fit_without(ctx, g, places, n, &head));
    TN_TRY(
        tnp_heads_score(ctx, (const tn_head *const *)&head, 1, g->features, g->count, places, n, TN_NAN_ZERO, scores));
    for (size_t i = 0; task->values && i < n * task->y.classes; ++i)
        scores[i] = (float)((double)scores[i] - task->offset[i % task->y.classes]);
    TN_TRY(tnp_measure_rows(ctx, task, rows, n, scores, value));
done:
    tnp_task_free(task);
    tn_head_free(head);
    tnp_free_all(fold, rows, places, scores);
    return st;
}

tn_status tnp_fit(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                  const tnp_fit_options *options, tn_fit_info **info_out, tn_head **head_out)
{
    tn_status st = TN_OK;
    const given g = {features, count, labels, options};
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    double begin = tnp_seconds(), value = NAN;
    size_t held = 0;
    tnp_share whole = tnp_progress_begin(ctx);
    TN_TRY(tnp_check_fit(ctx, options));
    TN_TRY(tnp_check_no_sample(ctx, &options->rank));
    bool judged = !tnp_chooses(options) && tnp_method_of(options->method)->uses.family != TNP_FAMILY_ONLINE;
    (void)tnp_progress_part(ctx, whole, 0, 0.5);
    if (judged && options->learn.holdout > 0)
        TN_TRY(judge_holdout(ctx, &g, &value, &held));
    (void)tnp_progress_part(ctx, whole, held > 0 ? 0.5 : 0, 1);
    TN_TRY(tnp_fit_rows(ctx, features, count, labels, options, &info, &head));
    if (held > 0) {
        info->validation_value = value;
        tnp_keep_validation(info, "holdout", labels->task, held);
    }
    if (judged && options->valid.count > 0)
        TN_TRY(judge_valid(ctx, options, labels, head, info));
    TN_TRY(tnp_progress_end(ctx));
    info->seconds = info->ranking->seconds = tnp_seconds() - begin;
    *info_out = info;
    *head_out = head;
    info = NULL;
    head = NULL;
done:
    tn_fit_info_free(info);
    tn_head_free(head);
    return st;
}
