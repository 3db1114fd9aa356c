/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights of rows: those that the labels bring, times N / (K n_class) where the classes of a multi-class task are
 * balanced.
 *
 * For the methods that go by least squares, evidence and ridge-cv, a row of weight g has noise of precision
 * g beta (docs/math.md, 1.8); for lda it counts as g rows. One weight for all classes of a row leaves one matrix of
 * moments for all classes, which is what makes these methods quick; balanced multi-label classes, each with two weights
 * of its own, would need one for each, and are refused. */
#include "learn/head/task.h"

#include <math.h>
#include <string.h>

/* Multiplies w by the weight that the labels give each of the task's rows. */
static tn_status add_sample_weights(tn_ctx *ctx, const tnp_task *task, float *w)
{
    const tn_labels *labels = task->labels;
    for (size_t i = 0; i < task->y.rows; ++i) {
        float value = (float)labels->weights[task->rows[i]];
        if (!(value >= 0) || !isfinite(value))
            return tnp_fail(ctx, TN_ERR_DATA, "%s: the weight of row %zu is %g, expected a number from 0 up",
                            labels->weights_path, task->rows[i], (double)value);
        w[i] *= value;
    }
    return TN_OK;
}

tn_status tnp_row_weights(tn_ctx *ctx, const tnp_task *task, const tnp_learn_options *options, float **out)
{
    tn_status st = TN_OK;
    float *w = NULL;
    size_t *sizes = NULL, n = task->y.rows, present = 0;
    bool balance = options->class_weight == TNP_WEIGHT_BALANCED && task->kind == TN_TASK_MULTICLASS;
    if (*options->sample_weight && !task->labels->weights)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option sample-weight %s: the labels have no weights; tn_labels_open_weights reads them",
                        options->sample_weight);
    if (!balance && !task->labels->weights) {
        *out = NULL;
        return TN_OK;
    }
    TN_TRY(tnp_alloc(ctx, n, sizeof *w, &w));
    TN_TRY(tnp_alloc(ctx, task->y.classes, sizeof *sizes, &sizes));
    for (size_t i = 0; i < n; ++i)
        present += sizes[balance ? task->cls[task->first[i]] : 0]++ == 0;
    for (size_t i = 0; i < n; ++i)
        w[i] = balance ? (float)n / ((float)present * (float)sizes[task->cls[task->first[i]]]) : 1.0f;
    if (task->labels->weights)
        TN_TRY(add_sample_weights(ctx, task, w));
    *out = w;
    w = NULL;
done:
    tnp_free_all(w, sizes);
    return st;
}

/* ---- least squares ---- */

static tn_status check(tn_ctx *ctx, const tnp_task *task, const tnp_learn_options *options)
{
    if (options->class_weight != TNP_WEIGHT_BALANCED || task->kind == TN_TASK_MULTICLASS)
        return TN_OK;
    if (task->kind == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "option class-weight balanced needs classes, but the task is a regression");
    return tnp_fail(ctx, TN_ERR_ARG,
                    "option class-weight balanced: least squares (option method evidence, ridge-cv) has one weight a "
                    "row, multi-label "
                    "classes need one each; use option method svm or logistic, or option sample-weight");
}

/* Moves what belongs to the rows with a weight together. */
static void drop_weightless(tnp_task *task, const float *weight)
{
    size_t n = 0, total = 0, k = task->y.classes;
    for (size_t i = 0; i < task->y.rows; ++i) {
        size_t from = task->first ? task->first[i] : 0, to = task->first ? task->first[i + 1] : 0;
        if (!(weight[i] > 0))
            continue;
        task->rows[n] = task->rows[i];
        if (task->first)
            task->first[n] = total;
        for (size_t p = from; p < to; ++p)
            task->cls[total++] = task->cls[p];
        if (task->values)
            memmove(task->values + n * k, task->values + i * k, k * sizeof *task->values);
        ++n;
    }
    if (task->first)
        task->first[n] = total;
    task->left_out += task->y.rows - n;
    task->y.rows = n;
}

tn_status tnp_task_weigh(tn_ctx *ctx, tnp_task *task, const tnp_learn_options *options)
{
    tn_status st = TN_OK;
    float *weight = NULL;
    TN_TRY(check(ctx, task, options));
    TN_TRY(tnp_row_weights(ctx, task, options, &weight));
    if (!weight)
        goto done;
    size_t before = task->y.rows;
    drop_weightless(task, weight);
    if (task->y.rows < before) {
        TN_TRY(tnp_task_settle(ctx, task));
        tnp_free(weight);
        weight = NULL;
        TN_TRY(tnp_row_weights(ctx, task, options, &weight)); /* classes are balanced over the rows that count */
    }
    TN_TRY(tnp_alloc(ctx, task->y.rows, sizeof *task->weight, &task->weight));
    for (size_t i = 0; i < task->y.rows; ++i)
        task->weight[i] = (double)weight[i];
    task->y.weight = task->weight;
done:
    tnp_free(weight);
    return st;
}
