/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How good scores are that were made without their rows: what cross-validations go by, and what few rows cannot tell.
 *
 * A row of a class that the model has never seen is wrong whatever the model learned, and so is the order of a label
 * that was the same in all its rows: such rows and labels are left out, and where nothing is left the figure does not
 * exist. Counting them as errors was refused: with one row per class every C and lambda would be 0 % right. */
#include "pipeline/parts.h"
#include "learn/head/calibrate.h"
#include "learn/head/folds.h"
#include "tenon/evaluate.h"

#include <math.h>
#include <string.h>

const char *tnp_metric_name(tn_task task)
{
    return task == TN_TASK_MULTICLASS ? "accuracy" : task == TN_TASK_MULTILABEL ? "mean_ap" : "r2";
}

/* Takes the classes that are not judged out of the labels: rows of theirs are unknown, or they have no positives. */
static void take_out(const tnp_task *task, const bool *judged, size_t count, tnp_picked *picked, bool *known)
{
    size_t left = 0;
    for (size_t i = 0, p = 0; i < count; ++i) {
        size_t end = picked->first[i + 1], from = left;
        for (; p < end; ++p)
            if (judged[picked->cls[p]])
                picked->cls[left++] = picked->cls[p];
        known[i] = left > from || task->kind == TN_TASK_MULTILABEL;
        picked->first[i + 1] = left;
    }
}

/* Share of the rows of judged classes whose own score is the largest, of equals that of the first class, as
 * tn_metrics_compute has it: which ranks all rows for every class beside, many times the work. False: a score is NaN. */
static bool accuracy(const tnp_task *task, const bool *judged, const size_t *rows, size_t count, const float *scores,
                     double *value)
{
    size_t k = task->y.classes, right = 0, all = 0;
    for (size_t i = 0; i < count; ++i) {
        const float *s = scores + i * k;
        size_t y = task->y.cls[task->y.first[rows[i]]], best = 0;
        for (size_t c = 0; c < k; ++c) {
            if (isnan(s[c]))
                return false;
            best = s[c] > s[best] ? c : best;
        }
        all += !judged || judged[y];
        right += (!judged || judged[y]) && best == y;
    }
    *value = all > 0 ? (double)right / (double)all : (double)NAN;
    return true;
}

/* The figure of each class, NaN where it has none. */
static void tell_each(const tnp_task *task, const bool *judged, const tn_metrics *metrics, double *each)
{
    for (size_t c = 0; c < task->y.classes; ++c)
        each[c] = !metrics || (judged && !judged[c]) ? (double)NAN
                  : task->kind == TN_TASK_MULTICLASS ? metrics->per_class[c].accuracy
                  : task->kind == TN_TASK_MULTILABEL ? metrics->per_class[c].ap
                                                     : metrics->per_class[c].r2;
}

/* judged (classes), or NULL: all; each (classes), or NULL. */
static tn_status measure(tn_ctx *ctx, const tnp_task *task, const bool *judged, const size_t *rows, size_t count,
                         const float *scores, double *value, double *each)
{
    tn_status st = TN_OK;
    size_t k = task->y.classes;
    tnp_picked picked = {0};
    bool *known = NULL;
    tn_metrics *metrics = NULL;
    tn_view view = {scores, count, k, k};
    if (task->kind == TN_TASK_MULTICLASS && !each && accuracy(task, judged, rows, count, scores, value))
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, count, sizeof *known, &known));
    memset(known, true, count);
    TN_TRY(tnp_picked_init(ctx, &task->y, rows, count, &picked));
    if (judged)
        take_out(task, judged, count, &picked, known);
    tn_labels labels = {.task = task->kind,
                        .rows = count,
                        .classes = k,
                        .known = known,
                        .first = picked.first,
                        .cls = picked.cls,
                        .values = picked.values};
    if (memchr(known, true, count))
        TN_TRY(tn_metrics_compute(ctx, view, &labels, 0.5, &metrics));
    *value = !metrics                            ? (double)NAN
             : labels.task == TN_TASK_MULTICLASS ? metrics->accuracy
             : labels.task == TN_TASK_MULTILABEL ? metrics->mean_ap
                                                 : metrics->r2;
    if (each)
        tell_each(task, judged, metrics, each);
done:
    tn_metrics_free(metrics);
    tnp_picked_destroy(&picked);
    tnp_free(known);
    return st;
}

/* Positives of every class among `rows` (count; NULL: all). */
static void count_positives(const tnp_targets *y, const size_t *rows, size_t count, size_t *out)
{
    for (size_t i = 0; i < count; ++i)
        for (size_t row = rows ? rows[i] : i, p = y->first[row]; p < y->first[row + 1]; ++p)
            ++out[y->cls[p]];
}

/* As tnp_measure_rows where alone is false: a class is judged if the rows outside tell it from others. Else each of the
 * rows was left out by itself. */
static tn_status measure_held_out(tn_ctx *ctx, const tnp_task *task, bool alone, const size_t *rows, size_t count,
                                  const float *scores, double *value, double *each)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &task->y;
    size_t k = y->classes, *all = NULL, *here = NULL;
    bool *judged = NULL;
    if (task->kind == TN_TASK_REGRESSION)
        return measure(ctx, task, NULL, rows, count, scores, value, each);
    TN_TRY(tnp_alloc(ctx, k, sizeof *all, &all));
    TN_TRY(tnp_alloc(ctx, k, sizeof *here, &here));
    TN_TRY(tnp_alloc(ctx, k, sizeof *judged, &judged));
    count_positives(y, NULL, y->rows, all);
    count_positives(y, rows, count, here);
    for (size_t c = 0; c < k; ++c) {
        size_t positives = alone ? tnp_min(all[c], 1) : here[c];
        size_t negatives = alone ? tnp_min(y->rows - all[c], 1) : count - here[c];
        judged[c] = all[c] > positives && (task->kind == TN_TASK_MULTICLASS || y->rows - all[c] > negatives);
    }
    TN_TRY(measure(ctx, task, judged, rows, count, scores, value, each));
done:
    tnp_free_all(all, here, judged);
    return st;
}

tn_status tnp_measure_rows(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores, double *value)
{
    return measure_held_out(ctx, arg, false, rows, count, scores, value, NULL);
}

tn_status tnp_measure_each(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count, const float *scores,
                           double *each)
{
    double all;
    return measure_held_out(ctx, task, false, rows, count, scores, &all, each);
}

tn_status tnp_measure_valid(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores,
                            double *value)
{
    return measure(ctx, arg, NULL, rows, count, scores, value, NULL);
}

tn_status tnp_measure_left_out(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count, const float *scores,
                               double *value)
{
    return measure_held_out(ctx, task, true, rows, count, scores, value, NULL);
}

tn_status tnp_precisions_left_out(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count,
                                  const float *scores, double *each)
{
    double mean;
    return measure_held_out(ctx, task, true, rows, count, scores, &mean, each);
}

tn_status tnp_hide_left_out(tn_ctx *ctx, const tnp_task *task, const size_t *rows, size_t count, float *scores)
{
    const tnp_targets *y = &task->y;
    size_t *positives = NULL;
    tn_status st = tnp_alloc(ctx, y->classes, sizeof *positives, &positives);
    if (st != TN_OK)
        return st;
    count_positives(y, NULL, y->rows, positives);
    for (size_t i = 0; i < count; ++i)
        for (size_t c = 0; c < y->classes; ++c) {
            size_t others = positives[c] - (tnp_target(y, rows[i], c) > 0.5);
            if (others == 0 || others == y->rows - 1)
                scores[i * y->classes + c] = NAN;
        }
    tnp_free(positives);
    return TN_OK;
}

tn_status tnp_count_small(tn_ctx *ctx, const tnp_task *task, size_t most, size_t *count)
{
    size_t *positives = NULL;
    *count = 0;
    if (task->kind != TN_TASK_MULTICLASS || !task->y.first)
        return TN_OK;
    tn_status st = tnp_alloc(ctx, task->y.classes, sizeof *positives, &positives);
    if (st != TN_OK)
        return st;
    count_positives(&task->y, NULL, task->y.rows, positives);
    for (size_t c = 0; c < task->y.classes; ++c)
        *count += positives[c] > 0 && positives[c] <= most;
    tnp_free(positives);
    return TN_OK;
}

bool tnp_wants_f1(const tnp_chosen *c)
{
    int rule = c->options->threshold.word;
    bool f1 = rule == TNP_THRESHOLD_F1 || (rule == TNP_THRESHOLD_AUTO && c->options->method == TNP_METHOD_AUTO);
    return f1 && c->selection->task->kind == TN_TASK_MULTILABEL;
}

tn_status tnp_plan_folds(tn_ctx *ctx, const tnp_chosen *c)
{
    const tnp_task *task = c->selection->task;
    tn_fit_info *info = c->info;
    bool cv = tnp_chooses(c->options);
    size_t few = 0;
    if (cv && c->options->learn.holdout > 0) {
        info->folds = 1;
        return TN_OK;
    }
    tn_status st = tnp_folds_for(ctx, &task->y, task->kind, c->options->learn.folds, &info->folds);
    if (st != TN_OK)
        return st;
    if (cv && info->folds == 0)
        info->grid_note = task->kind == TN_TASK_MULTICLASS   ? "every class has one row: held out, its class is unseen"
                          : task->kind == TN_TASK_MULTILABEL ? "no label has two rows with it and two without it"
                                                             : "fewer than 4 rows";
    else if (cv && info->folds < c->options->learn.folds)
        info->grid_note = "fewer folds than asked for: there are too few rows";
    if (info->folds == 0)
        return tnp_say_no_probabilities(ctx, c, 0);
    st = tnp_count_small(ctx, task, info->folds - 1, &few);
    if (st == TN_OK && cv && !info->grid_note && 2 * few > task->y.classes)
        info->grid_note =
            "most classes have fewer rows: one that is held out has fewer left to learn from than others, "
            "and the figures are lower than on new rows";
    return st;
}

tn_status tnp_make_folds(tn_ctx *ctx, const tnp_chosen *c, uint32_t **out)
{
    const tnp_task *task = c->selection->task;
    size_t seed = c->options->rank.seed, folds = c->info->folds;
    if (folds > 1)
        return tnp_folds_new(ctx, &task->y, task->kind, folds, seed, out);
    return tnp_holdout_new(ctx, &task->y, task->kind, c->options->learn.holdout, seed, out, &c->info->validation_rows);
}

void tnp_keep_validation(tn_fit_info *info, const char *by, tn_task task, size_t rows)
{
    double p = info->validation_value;
    info->validation = by;
    info->validation_metric = tnp_metric_name(task);
    info->validation_rows = rows;
    if (task == TN_TASK_MULTICLASS && isnan(info->validation_se)) /* a share of rows that are right */
        info->validation_se = sqrt(p * (1 - p) / (double)rows);
}

/* The figure of rows that are no folds is that of the best value. */
static void keep_best(const tnp_chosen *c, const tnp_cross *cross, size_t rows)
{
    tn_fit_info *info = c->info;
    info->validation_value = cross->best < cross->count ? cross->mean[cross->best] : (double)NAN;
    info->validation_se = cross->best < cross->count ? cross->se[cross->best] : (double)NAN;
    tnp_keep_validation(info, c->options->valid.count > 0 ? "valid" : "holdout", c->selection->task->kind, rows);
}

void tnp_keep_cross(const tnp_chosen *c, tnp_cross *cross, size_t rows)
{
    tn_fit_info *info = c->info;
    if (rows > 0)
        keep_best(c, cross, rows);
    info->grid_skipped = cross->skipped;
    info->grid_added = cross->added;
    info->grid_found = c->options->learn.grid.count == 0 && cross->capacity > cross->planned;
    info->grid_count = cross->count;
    info->grid_best = cross->best;
    info->grid = cross->grid;
    info->grid_mean = cross->mean;
    info->grid_se = cross->se;
    info->grid_folds = cross->judged;
    info->grid_metric = tnp_metric_name(c->selection->task->kind);
    if (cross->best == SIZE_MAX)
        info->grid_note = rows > 0 ? "no row that was held out can judge"
                                   : "no fold holds a class that the rows outside it tell from others";
    cross->grid = cross->mean = cross->se = NULL; /* the info's now */
    cross->judged = NULL;
}

tn_status tnp_held_out_temperature(tn_ctx *ctx, const tnp_chosen *c, const tnp_task *valid, const uint32_t *fold,
                                   float *scores, tn_head *head)
{
    tn_status st = TN_OK;
    const tnp_task *task = valid ? valid : c->selection->task;
    if (!valid)
        TN_TRY(tnp_folds_hide(ctx, &task->y, fold, c->info->folds, scores));
    TN_TRY(tnp_temperature_fit(ctx, &task->y, task->kind, head->threshold, NULL, task->y.rows, NULL, scores,
                               &head->temperature));
done:
    return st;
}

tn_status tnp_say_no_probabilities(tn_ctx *ctx, const tnp_chosen *c, double temperature)
{
    static const char why[] = "too few rows of a class to leave one out and see how sure the head is";
    if (temperature > 0 || c->selection->task->kind == TN_TASK_REGRESSION)
        return TN_OK;
    if (c->options->learn.calibrate == TNP_CALIBRATE_YES)
        return tnp_fail(ctx, TN_ERR_DATA, "option calibrate yes: %s", why);
    if (c->options->learn.calibrate == TNP_CALIBRATE_AUTO)
        c->info->temperature_note = why;
    return TN_OK;
}
