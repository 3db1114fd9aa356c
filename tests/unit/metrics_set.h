/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scores with labels, for the tests of the metrics. */
#ifndef TN_TESTS_METRICS_SET_H
#define TN_TESTS_METRICS_SET_H

#include "ctx_of.h"
#include "read/labels/labels.h"
#include "tenon/evaluate.h"

#include <stdlib.h>

/* Quotients of whole numbers and means of at most a few thousand terms: c n eps with n eps = 1e3 * 2e-16. */
#define TOLERANCE 1e-12

/* Labels built by hand, with their scores. */
typedef struct set {
    tn_labels labels;
    float *scores;
    size_t stride;
} set;

static inline void *array_of(size_t count, size_t size)
{
    void *array = calloc(count + 1, size);
    assert_non_null(array);
    return array;
}

static inline set set_new(tn_task task, size_t rows, size_t classes, size_t stride)
{
    set s = {.labels = {.task = task, .rows = rows, .classes = classes}, .stride = stride};
    s.scores = array_of(rows * stride, sizeof(float));
    s.labels.known = array_of(rows, sizeof(bool));
    memset(s.labels.known, 1, rows * sizeof(bool));
    if (task == TN_TASK_REGRESSION) {
        s.labels.values = array_of(rows * classes, sizeof(double));
    } else {
        s.labels.first = array_of(rows + 1, sizeof(size_t));
        s.labels.cls = array_of(rows * classes, sizeof(uint32_t));
    }
    return s;
}

static inline void set_free(set *s)
{
    free(s->scores);
    free(s->labels.known);
    free(s->labels.values);
    free(s->labels.first);
    free(s->labels.cls);
}

static inline tn_view view_of(const set *s)
{
    return (tn_view){s->scores, s->labels.rows, s->labels.classes, s->stride};
}

/* Lists from a rows x classes table of truth. */
static inline void set_truth(set *s, const bool *truth)
{
    tn_labels *l = &s->labels;
    size_t used = 0;
    for (size_t i = 0; i < l->rows; ++i) {
        for (size_t c = 0; c < l->classes; ++c)
            if (truth[i * l->classes + c])
                l->cls[used++] = (uint32_t)c;
        l->first[i + 1] = used;
    }
}

/* Multi-class set of compact scores; y[i] < 0: no label. */
static inline set set_of(size_t rows, size_t classes, const float *scores, const int *y)
{
    set s = set_new(TN_TASK_MULTICLASS, rows, classes, classes);
    memcpy(s.scores, scores, rows * classes * sizeof *scores);
    size_t used = 0;
    for (size_t i = 0; i < rows; ++i) {
        s.labels.known[i] = y[i] >= 0;
        if (y[i] >= 0)
            s.labels.cls[used++] = (uint32_t)y[i];
        s.labels.first[i + 1] = used;
    }
    return s;
}

/* One class with the given scores and truth. */
static inline set column_of(size_t rows, const float *scores, const bool *truth)
{
    set s = set_new(TN_TASK_MULTILABEL, rows, 1, 1);
    memcpy(s.scores, scores, rows * sizeof *scores);
    set_truth(&s, truth);
    return s;
}

static inline tn_metrics *metrics_of(tn_ctx *ctx, const set *s, double threshold)
{
    tn_metrics *m = NULL;
    assert_fine(ctx, tn_metrics_compute(ctx, view_of(s), &s->labels, threshold, &m));
    return m;
}

/* NaN where NaN is wanted. */
static inline void assert_same(size_t at, double got, double want)
{
    if (isnan(want))
        assert_true(isnan(got));
    else
        assert_near_at(at, got, want, TOLERANCE);
}

/* Scores of `levels` values; row i's truth follows class c with its own frequency, multi-class rows have one. */
static inline set random_set(tn_task task, size_t rows, size_t classes, size_t levels, uint64_t seed)
{
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 0);
    set s = set_new(task, rows, classes, classes + 1);
    bool *truth = array_of(rows * classes, sizeof *truth);
    for (size_t i = 0; i < rows; ++i) {
        s.labels.known[i] = tnp_rng_below(&rng, 9) != 0;
        size_t y = tnp_rng_below(&rng, classes);
        for (size_t c = 0; c < classes; ++c) {
            bool yes = task == TN_TASK_MULTICLASS ? c == y : tnp_rng_below(&rng, classes + 1) <= c;
            truth[i * classes + c] = yes;
            size_t shift = yes ? levels / 4 : 0;
            s.scores[i * s.stride + c] = (float)(tnp_rng_below(&rng, levels) + shift) / 64;
            if (s.labels.values)
                s.labels.values[i * classes + c] = (double)s.scores[i * s.stride + c] + tnp_rng_unit(&rng);
        }
    }
    if (task != TN_TASK_REGRESSION)
        set_truth(&s, truth);
    free(truth);
    return s;
}

static inline void assert_identical(const tn_metrics *a, const tn_metrics *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_memory_equal(&a->accuracy, &b->accuracy, offsetof(tn_metrics, per_class) - offsetof(tn_metrics, accuracy));
    assert_memory_equal(a->per_class, b->per_class, a->classes * sizeof *a->per_class);
}

#define with_context(test) cmocka_unit_test_setup_teardown(test, ctx_setup, ctx_teardown)

#endif
