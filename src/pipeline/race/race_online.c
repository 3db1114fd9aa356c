/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners in a race: one per fold, on the rows outside it, with as many passes and the order of rows that the
 * head itself would have. Rows are read from their files: nothing grows with them but what a pass holds anyway. */
#include "algebra/blas.h"
#include "learn/online/online_search.h"
#include "pipeline/online.h"
#include "pipeline/race/race.h"
#include "transform/feed.h"

#include <string.h>

enum { BLOCK = 1024 };

/* The rows outside a fold, as feeds and targets of their own; and those in it. */
typedef struct split {
    size_t *inside, *outside, *places, inside_count, outside_count; /* places: of the outside rows in the files */
    tn_feed *feeds;
    const tn_feed **views;
    tnp_picked picked;
    float *weight;
} split;

static void split_free(split *s)
{
    tnp_free_all(s->inside, s->outside, s->places, s->feeds, s->views, s->weight);
    tnp_picked_destroy(&s->picked);
}

static tn_status split_rows(tn_ctx *ctx, const tnp_course *course, const tnp_round *round, size_t f, split *s)
{
    tn_status st = TN_OK;
    size_t n = course->task->y.rows;
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->inside, &s->inside));
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->outside, &s->outside));
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->places, &s->places));
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->weight, &s->weight));
    TN_TRY(tnp_alloc(ctx, course->feed_count, sizeof *s->feeds, &s->feeds));
    TN_TRY(tnp_alloc(ctx, course->feed_count, sizeof *s->views, &s->views));
    for (size_t i = 0; i < n; ++i) {
        if (round->fold[i] == f) {
            s->inside[s->inside_count++] = i;
            continue;
        }
        s->places[s->outside_count] = course->task->rows[i];
        s->weight[s->outside_count] = course->row_weight ? course->row_weight[i] : 1;
        s->outside[s->outside_count++] = i;
    }
    TN_TRY(tnp_picked_init(ctx, &course->task->y, s->outside, s->outside_count, &s->picked));
    for (size_t m = 0; m < course->feed_count; ++m) {
        s->feeds[m] = *course->feeds[m]; /* prepared as the whole is, over fewer rows */
        s->feeds[m].rows = s->places;
        s->feeds[m].count = s->outside_count;
        s->views[m] = &s->feeds[m];
    }
done:
    return st;
}

/* Scores of the rows of the fold by weights (classes, stride), block by block. */
static tn_status score_inside(tn_ctx *ctx, const tnp_course *course, const split *s, const float *w, size_t stride,
                              float *scores)
{
    tn_status st = TN_OK;
    size_t dim = course->dim, k = course->task->y.classes;
    float *x = NULL, *out = NULL;
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(BLOCK, s->inside_count) * dim, sizeof *x, &x));
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(BLOCK, s->inside_count) * k, sizeof *out, &out));
    for (size_t start = 0; start < s->inside_count; start += BLOCK) {
        size_t n = tnp_min(BLOCK, s->inside_count - start);
        for (size_t m = 0, at = 0; m < course->feed_count; at += tn_feed_cols(course->feeds[m++]))
            TN_TRY(tnp_feed_pick(ctx, course->feeds[m], s->inside + start, n, x + at, dim));
        for (size_t i = 0; i < n; ++i)
            for (size_t c = 0; c < k; ++c)
                out[i * k + c] = w[c * stride + dim];
        TN_TRY(tnp_sgemm_nt(ctx, n, k, dim, x, dim, w, stride, 1, out, k));
        for (size_t i = 0; i < n; ++i)
            memcpy(scores + s->inside[start + i] * k, out + i * k, k * sizeof *out);
    }
done:
    tnp_free_all(x, out);
    return st;
}

static tn_status one_fold(tn_ctx *ctx, const tnp_course *course, const tnp_round *round, size_t f,
                          const tnp_online_plan *plan, float *scores)
{
    tn_status st = TN_OK;
    const tnp_fit_options *o = course->chosen->options;
    split s = {0};
    tnp_passes *passes = NULL;
    tnp_online_search *search = NULL;
    bool balance = o->learn.class_weight == TNP_WEIGHT_BALANCED && course->task->kind == TN_TASK_MULTILABEL;
    TN_TRY(split_rows(ctx, course, round, f, &s));
    const float *weight = course->row_weight ? s.weight : NULL;
    const tnp_online_data data = {s.views, course->feed_count, &s.picked.y, weight, balance, NULL};
    TN_TRY(tnp_online_search_new(ctx, plan, &search));
    TN_TRY(tnp_passes_new(ctx, &data, &o->online, o->rank.seed, plan->shape.block, &passes));
    TN_TRY(tnp_online_search_run(ctx, plan, passes, search));
    TN_TRY(score_inside(ctx, course, &s, search->best, tnp_row_stride(course->dim + 1), scores));
done:
    tnp_passes_free(passes);
    tnp_online_search_free(search);
    split_free(&s);
    return st;
}

tn_status tnp_hold_out_online(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry)
{
    tn_status st = TN_OK;
    const tnp_fit_options *o = course->chosen->options;
    const tnp_online_plan plan = {.rule = tnp_method_of(entry->who->method)->rule,
                                  .shape =
                                      tnp_online_shape_of(o, course->task->kind, course->task->y.classes, course->dim),
                                  .cost = &o->learn.cost,
                                  .eta = &o->online.eta,
                                  .trials = 1,
                                  .epochs = course->epochs};
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t f = 0; f < round->folds; ++f) {
        (void)tnp_progress_part(ctx, whole, (double)f / (double)round->folds, (double)(f + 1) / (double)round->folds);
        TN_TRY(one_fold(ctx, course, round, f, &plan, entry->scores));
    }
done:
    return st;
}
