/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of two representations, whole and cut into chunks, for the tests of learners that are given chunks. */
#ifndef TN_TESTS_CHUNKS_OF_H
#define TN_TESTS_CHUNKS_OF_H

#include "fixtures/problems.h"
#include "tenon/store.h"
#include "tenon/tenon.h"
#include "pipeline/methods.h"
#include "pipeline/online.h"
#include "pipeline/options.h"

enum { ROWS = 150, LEFT = 7, RIGHT = 6, WIDE = LEFT + RIGHT, CLASSES = 5, REPS = 2 };

typedef struct chunk {
    size_t from, rows;
    tn_features *features[REPS];
    tn_labels *labels;
} chunk;

typedef struct rows {
    tn_task task;
    double *x[REPS], *y;
    chunk whole;
} rows;

static inline const tn_features *const *features_in(const chunk *c)
{
    return (const tn_features *const *)c->features;
}

/* Rows [from, from + count) as files of their own, under the same names as all of them. */
static inline chunk chunk_of(const rows *r, size_t from, size_t count)
{
    static const char *const names[REPS] = {"a", "b"};
    static const size_t cols[REPS] = {LEFT, RIGHT};
    chunk c = {.from = from, .rows = count};
    for (int i = 0; i < REPS; ++i) {
        char file[64], rep[700];
        snprintf(file, sizeof file, "%s.%zu.%zu.npy", names[i], from, count);
        snprintf(rep, sizeof rep, "%s=%s", names[i],
                 write_matrix(file, r->x[i] + from * cols[i], count, cols[i], AS_F32));
        c.features[i] = open_features(rep);
    }
    c.labels = labels_of(r->y + from * CLASSES, count, CLASSES, r->task);
    return c;
}

static inline void chunk_free(chunk *c)
{
    for (int i = 0; i < REPS; ++i)
        tn_features_close(c->features[i]);
    labels_done(c->labels);
}

static inline rows rows_of(tn_task task)
{
    ref_problem a = ref_problem_of(REF_SIGNED, ROWS, LEFT, CLASSES, 5),
                b = ref_problem_of(REF_NONNEG, ROWS, RIGHT, CLASSES, 6);
    rows r = {.task = task, .x = {a.x, b.x}};
    retarget(&a, task, 9);
    r.y = a.y;
    free(b.y);
    round_values(r.x[0], ROWS * LEFT, AS_F32);
    round_values(r.x[1], ROWS * RIGHT, AS_F32);
    r.whole = chunk_of(&r, 0, ROWS);
    return r;
}

static inline void rows_free(rows *r)
{
    chunk_free(&r->whole);
    free(r->x[0]);
    free(r->x[1]);
    free(r->y);
}

/* All rows, in chunks of `size` but the first, which has `first`. *count receives how many. */
static inline chunk *cut(const rows *r, size_t first, size_t size, size_t *count)
{
    chunk *list = ref_alloc(ROWS, sizeof *list);
    *count = 0;
    for (size_t from = 0, n = first; from < ROWS; from += n, n = size) {
        n = tnp_min(n, ROWS - from);
        list[(*count)++] = chunk_of(r, from, n);
    }
    return list;
}

static inline void cut_free(chunk *list, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        chunk_free(&list[i]);
    free(list);
}

static inline tnp_fit_options online_of(int method, int multiclass)
{
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.select = TNP_SEARCH_ALL;
    opt.online.multiclass = multiclass;
    opt.online.shuffle = false;
    opt.online.epochs = 1;
    opt.online.eta = 0.8;
    opt.online.ratio = 1.7;
    opt.learn.cost = 0.5;
    opt.rank.seed = 11;
    return opt;
}

static inline tn_online *learner_of(const rows *r, const tnp_fit_options *opt)
{
    tn_online *o = NULL;
    assert_fine(test_ctx,
                tnp_online_begin(test_ctx, opt, r->task, (const char *const *)r->whole.labels->names, CLASSES, &o));
    return o;
}

/* Tells the learner of the classes of all rows. */
static inline void expect_all(tn_online *o, const rows *r)
{
    size_t positives[CLASSES] = {0};
    for (size_t i = 0; i < ROWS * CLASSES; ++i)
        positives[i % CLASSES] += r->y[i] > 0.5;
    assert_fine(test_ctx, tn_online_expect(test_ctx, o, ROWS, positives));
}

static inline tn_status update(tn_online *o, const chunk *c, const float *weights)
{
    double wide[ROWS];
    for (size_t i = 0; weights && i < c->rows; ++i)
        wide[i] = (double)weights[c->from + i];
    assert_fine(test_ctx, tn_labels_set_weights(test_ctx, c->labels, weights ? wide : NULL, weights ? c->rows : 0));
    return tn_online_update(test_ctx, o, features_in(c), REPS, c->labels);
}

#endif
