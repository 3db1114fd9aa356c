/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From labels to compact targets of the rows that take part. A class that is always or never present among them is
 * constant: it is kept in its place, left out of every sum, and scored by its constant. */
#include "learn/head/task.h"
#include "base/team.h"

#include <string.h>

/* keep[i]: labelled, not of weight 0 and, when bad rows are dropped, finite in every representation. */
static tn_status choose_rows(tn_ctx *ctx, tnp_task *task, const tn_features *const *features, size_t count,
                             const tn_labels *labels, tn_nan_policy nan)
{
    tn_status st = TN_OK;
    bool *keep = NULL;
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *keep, &keep));
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *task->rows, &task->rows));
    for (size_t i = 0; i < labels->rows; ++i) /* a multi-class row without a class says nothing, known or not */
        keep[i] = labels->known[i] && (labels->task != TN_TASK_MULTICLASS || labels->first[i + 1] > labels->first[i]) &&
                  !(labels->weights && labels->weights[i] == 0);
    for (size_t s = 0; nan == TN_NAN_DROP && s < count; ++s)
        TN_TRY(tn_rows_finite(ctx, features[s], keep));
    for (size_t i = 0; i < labels->rows; ++i)
        if (keep[i])
            task->rows[task->y.rows++] = i;
    task->left_out = labels->rows - task->y.rows;
done:
    tnp_free(keep);
    return st;
}

static tn_status copy_lists(tn_ctx *ctx, tnp_task *task, const tn_labels *labels)
{
    tn_status st = TN_OK;
    size_t total = 0;
    TN_TRY(tnp_alloc(ctx, task->y.rows + 1, sizeof *task->first, &task->first));
    for (size_t i = 0; i < task->y.rows; ++i) {
        size_t row = task->rows[i];
        task->first[i] = total;
        total += labels->first[row + 1] - labels->first[row];
    }
    task->first[task->y.rows] = total;
    TN_TRY(tnp_alloc(ctx, total, sizeof *task->cls, &task->cls));
    for (size_t i = 0; i < task->y.rows; ++i)
        memcpy(task->cls + task->first[i], labels->cls + labels->first[task->rows[i]],
               (task->first[i + 1] - task->first[i]) * sizeof *task->cls);
    task->y.first = task->first;
    task->y.cls = task->cls;
done:
    return st;
}

static tn_status copy_values(tn_ctx *ctx, tnp_task *task, const tn_labels *labels, bool intercept)
{
    size_t k = labels->classes, n = task->y.rows;
    tn_status st = tnp_alloc(ctx, n * k, sizeof *task->values, &task->values);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < n; ++i)
        for (size_t c = 0; c < k; ++c) {
            task->values[i * k + c] = labels->values[task->rows[i] * k + c];
            task->offset[c] += intercept ? task->values[i * k + c] / (double)n : 0;
        }
    for (size_t i = 0; i < n * k; ++i)
        task->values[i] -= task->offset[i % k];
    task->y.values = task->values;
    return TN_OK;
}

static tn_status find_constant(tn_ctx *ctx, tnp_task *task)
{
    size_t n = task->y.rows, k = task->y.classes, *seen = NULL;
    tn_status st = tnp_alloc(ctx, k, sizeof *seen, &seen);
    if (st != TN_OK)
        return st;
    for (size_t p = 0; task->first && p < task->first[n]; ++p)
        ++seen[task->cls[p]];
    for (size_t c = 0; c < k; ++c) {
        task->constant[c] = task->first ? seen[c] == 0 || seen[c] == n : true;
        for (size_t i = 1; task->values && i < n; ++i)
            task->constant[c] &= task->values[i * k + c] == task->values[c];
    }
    tnp_free(seen);
    return TN_OK;
}

static tn_status check_classes(tn_ctx *ctx, const tnp_task *task)
{
    const tn_labels *labels = task->labels;
    size_t useful = 0;
    for (size_t c = 0; c < task->y.classes; ++c)
        useful += !task->constant[c];
    if (useful > 0)
        return TN_OK;
    if (task->kind == TN_TASK_MULTICLASS)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: one class only ('%s'), expected at least 2", labels->path,
                        labels->classes ? labels->names[task->cls[0]] : "");
    return tnp_fail(ctx, TN_ERR_DATA, "%s: every target is constant, there is nothing to learn", labels->path);
}

/* Members of a team have read the labels each for itself. */
static tn_status same_for_all(tn_ctx *ctx, const tnp_task *task)
{
    const tnp_targets *y = &task->y;
    tn_status st = tnp_team_same(ctx, task->labels->path, task->rows, y->rows * sizeof *task->rows);
    if (st == TN_OK && task->first)
        st = tnp_team_same(ctx, task->labels->path, task->cls, task->first[y->rows] * sizeof *task->cls);
    if (st == TN_OK && task->values)
        st = tnp_team_same(ctx, task->labels->path, task->values, y->rows * y->classes * sizeof *task->values);
    return st;
}

static tn_status task_new(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                          tn_nan_policy nan, bool centre, bool may_be_empty, tnp_task **out)
{
    tn_status st = TN_OK;
    tnp_task *task = NULL;
    TN_TRY(tn_rows_agree(ctx, features, count, labels));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *task, &task));
    task->labels = labels;
    task->kind = labels->task;
    task->y.classes = labels->classes;
    TN_TRY(choose_rows(ctx, task, features, count, labels, nan));
    if (task->y.rows == 0 && !may_be_empty)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no labelled rows%s to learn from", labels->path,
                        labels->weights ? " of a weight above 0" : ""));
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *task->constant, &task->constant));
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *task->offset, &task->offset));
    if (labels->task == TN_TASK_REGRESSION)
        TN_TRY(copy_values(ctx, task, labels, centre));
    else
        TN_TRY(copy_lists(ctx, task, labels));
    TN_TRY(find_constant(ctx, task));
    TN_TRY(same_for_all(ctx, task));
    *out = task;
    task = NULL;
done:
    tnp_task_free(task);
    return st;
}

tn_status tnp_task_settle(tn_ctx *ctx, tnp_task *task)
{
    if (task->y.rows < 2)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: %zu labelled row%s, expected at least 2", task->labels->path,
                        task->y.rows, task->y.rows == 1 ? "" : "s");
    tn_status st = find_constant(ctx, task);
    return st == TN_OK ? check_classes(ctx, task) : st;
}

tn_status tnp_task_chunk(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                         tn_nan_policy nan, tnp_task **out)
{
    return task_new(ctx, features, count, labels, nan, false, true, out);
}

tn_status tnp_task_rows(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                        tn_nan_policy nan, tnp_task **out)
{
    return task_new(ctx, features, count, labels, nan, false, false, out);
}

tn_status tnp_task_new(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                       tn_nan_policy nan, bool intercept, tnp_task **out)
{
    tn_status st = TN_OK;
    tnp_task *task = NULL;
    TN_TRY(task_new(ctx, features, count, labels, nan, intercept, false, &task));
    TN_TRY(tnp_task_settle(ctx, task));
    *out = task;
    task = NULL;
done:
    tnp_task_free(task);
    return st;
}

void tnp_task_free(tnp_task *task)
{
    if (!task)
        return;
    tnp_free_all(task->rows, task->constant, task->offset, task->first, task->cls, task->values, task->weight, task);
}

tn_status tnp_picked_init(tn_ctx *ctx, const tnp_targets *y, const size_t *rows, size_t count, tnp_picked *out)
{
    tn_status st = TN_OK;
    size_t total = 0, k = y->classes;
    *out = (tnp_picked){.y = {.rows = count, .classes = k}};
    if (y->weight) {
        TN_TRY(tnp_alloc(ctx, count, sizeof *out->weight, &out->weight));
        for (size_t i = 0; i < count; ++i)
            out->weight[i] = y->weight[rows[i]];
    }
    if (y->values) {
        TN_TRY(tnp_alloc(ctx, count * k, sizeof *out->values, &out->values));
        for (size_t i = 0; i < count; ++i)
            memcpy(out->values + i * k, y->values + rows[i] * k, k * sizeof *out->values);
    } else {
        for (size_t i = 0; i < count; ++i)
            total += y->first[rows[i] + 1] - y->first[rows[i]];
        TN_TRY(tnp_alloc(ctx, count + 1, sizeof *out->first, &out->first));
        TN_TRY(tnp_alloc(ctx, total, sizeof *out->cls, &out->cls));
        for (size_t i = 0, at = 0; i < count; out->first[++i] = at)
            for (size_t p = y->first[rows[i]]; p < y->first[rows[i] + 1]; ++p)
                out->cls[at++] = y->cls[p];
    }
    out->y.first = out->first;
    out->y.cls = out->cls;
    out->y.values = out->values;
    out->y.weight = out->weight;
done:
    return st;
}

void tnp_picked_destroy(tnp_picked *picked)
{
    tnp_free_all(picked->first, picked->cls, picked->values, picked->weight);
}
