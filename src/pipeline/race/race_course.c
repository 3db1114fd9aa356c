/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of a race. Of many rows a sample is raced, in which every class has its share: which method suits the
 * features shows on some ten thousand rows, and the time of all of them is for the head. */
#include "pipeline/race/race.h"
#include "learn/head/folds.h"
#include "transform/feed.h"

#include <math.h>

/* Every `stride`-th row of the task, dealt class by class. */
static tn_status sample_task(tn_ctx *ctx, const tnp_task *whole, size_t stride, size_t seed, tnp_task **out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &whole->y;
    uint32_t *part = NULL;
    size_t *rows = NULL, n = 0;
    tnp_task *task = NULL;
    tnp_picked picked = {0};
    TN_TRY(tnp_folds_new(ctx, y, whole->kind, stride, seed, &part));
    TN_TRY(tnp_alloc(ctx, y->rows / stride + y->classes + 1, sizeof *rows, &rows));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *task, &task));
    TN_TRY(tnp_alloc(ctx, y->rows / stride + y->classes + 1, sizeof *task->rows, &task->rows));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *task->constant, &task->constant));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *task->offset, &task->offset));
    for (size_t i = 0; i < y->rows; ++i)
        if (part[i] == 0) {
            task->rows[n] = whole->rows[i];
            rows[n++] = i;
        }
    TN_TRY(tnp_picked_init(ctx, y, rows, n, &picked));
    task->labels = whole->labels;
    task->kind = whole->kind;
    task->y = picked.y;
    task->first = picked.first;
    task->cls = picked.cls;
    task->values = picked.values;
    task->weight = picked.weight;
    picked = (tnp_picked){0}; /* the task's now */
    TN_TRY(tnp_task_settle(ctx, task));
    *out = task;
    task = NULL;
done:
    tnp_picked_destroy(&picked);
    tnp_task_free(task);
    tnp_free_all(part, rows);
    return st;
}

/* The feeds of the set over the rows of the course. */
static tn_status take_feeds(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, tnp_course *course)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, count, sizeof *course->own, &course->own));
    TN_TRY(tnp_alloc(ctx, count, sizeof *course->feeds, &course->feeds));
    for (size_t m = 0; m < count; ++m) {
        course->own[m] = *feeds[m]; /* prepared as the whole is */
        course->own[m].rows = course->task->rows;
        course->own[m].count = course->task->y.rows;
        course->feeds[m] = &course->own[m];
        course->dim += tn_feed_cols(feeds[m]);
    }
    course->feed_count = count;
done:
    return st;
}

tn_status tnp_course_new(tn_ctx *ctx, const tnp_chosen *c, size_t most, tnp_course **out)
{
    tn_status st = TN_OK;
    const tnp_task *whole = c->selection->task;
    tnp_course *course = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *course, &course));
    course->chosen = c;
    course->task = whole;
    if (most < whole->y.rows) {
        TN_TRY(sample_task(ctx, whole, (whole->y.rows + most - 1) / most, c->options->rank.seed, &course->sampled));
        course->task = course->sampled;
    }
    TN_TRY(take_feeds(ctx, c->feeds, c->count, course));
    TN_TRY(tnp_row_weights(ctx, course->task, &c->options->learn, &course->row_weight));
    *out = course;
    course = NULL;
done:
    tnp_course_free(course);
    return st;
}

void tnp_course_free(tnp_course *course)
{
    if (!course)
        return;
    tnp_design_free(course->design);
    tnp_free_all(course->row_weight, course->ridge.scores, course->lda.scores, course->feeds, course->own);
    tnp_task_free(course->sampled);
    tnp_free(course);
}
