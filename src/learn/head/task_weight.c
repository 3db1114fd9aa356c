/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights of rows for the methods that go by least squares, evidence and ridge-cv: a row of weight g has noise of precision
 * g beta (docs/math.md, 1.8). One weight for all classes of a row leaves one matrix of moments for all classes, which is what
 * makes these methods quick; balanced multi-label classes, each with two weights of its own, would need one for each, and are refused. */
#include "learn/linear/linear.h"

#include <string.h>

static tn_status check(tn_ctx *ctx, const tnp_task *task, const tn_learn_options *options)
{
    if (options->class_weight != TN_WEIGHT_BALANCED || task->kind == TN_TASK_MULTICLASS)
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

tn_status tnp_task_weigh(tn_ctx *ctx, tnp_task *task, const tn_labels *labels, const tn_learn_options *options)
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
        TN_TRY(tnp_task_settle(ctx, task, labels));
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
