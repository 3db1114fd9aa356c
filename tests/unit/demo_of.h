/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The demo's files, opened with a context of the caller's, and heads fitted to them. */
#ifndef TN_TESTS_DEMO_OF_H
#define TN_TESTS_DEMO_OF_H

#include "ctx_of.h"
#include "tenon/tenon.h"

enum { DEMO_REPS = 2 };

typedef struct demo {
    tn_features *features[DEMO_REPS];
    tn_labels *labels;
} demo;

static inline demo demo_of(tn_ctx *ctx)
{
    demo d;
    assert_fine(ctx, tn_features_open(ctx, TN_SOURCE_DIR "/data/demo/squeezenet.train.npy", &d.features[0]));
    assert_fine(ctx, tn_features_open(ctx, TN_SOURCE_DIR "/data/demo/doodle.train.npy", &d.features[1]));
    assert_fine(ctx, tn_labels_open(ctx, TN_SOURCE_DIR "/data/demo/labels.train.txt", TN_TASK_AUTO, &d.labels));
    return d;
}

static inline void demo_free(demo *d)
{
    for (size_t i = 0; i < DEMO_REPS; ++i)
        tn_features_close(d->features[i]);
    tn_labels_free(d->labels);
}

static inline const tn_features *const *demo_features(const demo *d)
{
    return (const tn_features *const *)d->features;
}

/* A head by this method; the caller asks the status, children of a fork cannot use cmocka. */
static inline tn_status demo_fit(tn_ctx *ctx, const demo *d, const char *method, tn_head **head)
{
    tn_options *options = NULL;
    tn_fit_info *info = NULL;
    tn_status st = tn_options_new(ctx, "fit", &options);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "method", method);
    if (st == TN_OK)
        st = tn_options_set(ctx, options, "loo", "0");
    if (st == TN_OK)
        st = tn_fit(ctx, demo_features(d), DEMO_REPS, d->labels, options, &info, head);
    tn_fit_info_free(info);
    tn_options_free(options);
    return st;
}

/* Scores of every training row, from malloc. */
static inline tn_status demo_scores(tn_ctx *ctx, const demo *d, const tn_head *head, float **out)
{
    tn_scorer *scorer = NULL;
    tn_status st = tn_scorer_new(ctx, head, demo_features(d), DEMO_REPS, TN_NAN_ERROR, &scorer);
    if (st != TN_OK)
        return st;
    size_t rows = tn_scorer_rows(scorer);
    float *scores = malloc(rows * tn_head_classes(head) * sizeof *scores);
    st = scores ? tn_scorer_read(ctx, scorer, 0, rows, scores) : TN_ERR_MEMORY;
    tn_scorer_free(scorer);
    *out = scores;
    return st;
}

#endif
