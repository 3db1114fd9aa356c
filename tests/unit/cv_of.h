/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cross-validation of the problem that scikit-learn has figures of, and fits by hand on the same folds. */
#ifndef TN_TESTS_CV_OF_H
#define TN_TESTS_CV_OF_H

#include "fixtures/problems.h"
#include "fixtures/cv/sklearn_cv.h"
#include "options_of.h"

/* The problem of the fixture, as features and as labels of each task. */
typedef struct scene {
    tn_features *features;
    tn_labels *labels, *folds;
} scene;

static inline scene scene_of(tn_task task)
{
    static double x[CV_N * CV_D];
    scene s = {NULL, NULL, NULL};
    size_t k = task == TN_TASK_REGRESSION ? 2 : CV_K;
    double y[CV_N * CV_K] = {0}, fold[CV_N * CV_FOLDS] = {0};
    for (size_t i = 0; i < CV_N * CV_D; ++i)
        x[i] = cv_x64[i] / 64.0;
    for (size_t i = 0; i < CV_N; ++i) {
        fold[i * CV_FOLDS + (size_t)cv_fold[i]] = 1;
        if (task == TN_TASK_MULTICLASS)
            y[i * k + (size_t)cv_class[i]] = 1;
        for (size_t c = 0; task != TN_TASK_MULTICLASS && c < k; ++c)
            y[i * k + c] = task == TN_TASK_MULTILABEL ? cv_several[i * k + c] : cv_values64[i * k + c] / 64.0;
    }
    s.features = array_of("x", x, CV_N, CV_D, AS_F32);
    s.labels = labels_of(y, CV_N, k, task);
    s.folds = labels_of(fold, CV_N, CV_FOLDS, TN_TASK_MULTICLASS);
    return s;
}

static inline void scene_free(scene *s)
{
    tn_features_close(s->features);
    labels_done(s->labels);
    labels_done(s->folds);
}

/* Options for figures that scikit-learn has too. */
static inline tnp_cv_options options_of(const scene *s, int method)
{
    tnp_cv_options o;
    tnp_cv_options_default(&o);
    o.fit.method = method;
    o.fit.rank.normalize = "none";
    o.fit.learn.cost = CV_COST;
    o.fit.learn.gap = 1e-9;
    o.fit.learn.max_passes = 100000;
    o.fit.lambda = (tnp_real_or_word){TNP_LAMBDA_FIXED, CV_LAMBDA};
    o.fit.online.epochs = 2;
    o.fold_file = s->folds;
    return o;
}

static inline tn_cv_result *run(const scene *s, const tnp_cv_options *o)
{
    tn_cv_result *r = NULL;
    assert_fine(test_ctx, tnp_cv(test_ctx, (const tn_features *const *)&s->features, 1, s->labels, o, &r));
    return r;
}

/* Scores of the rows of fold f by a head of all others, as a user would make them: tn_fit and tn_scorer. */
static inline void scores_by_hand(const scene *s, const tnp_cv_options *o, size_t f, float *out)
{
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_scorer *scorer = NULL;
    bool known[CV_N];
    memcpy(known, s->labels->known, sizeof known);
    for (size_t i = 0; i < CV_N; ++i)
        if ((size_t)cv_fold[i] == f)
            tn_labels_forget(s->labels, i);
    const tn_features *const *features = (const tn_features *const *)&s->features;
    assert_fine(test_ctx, tnp_fit(test_ctx, features, 1, s->labels, &o->fit, &info, &head));
    assert_fine(test_ctx, tn_scorer_new(test_ctx, head, features, 1, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, CV_N, out));
    memcpy(s->labels->known, known, sizeof known);
    tn_scorer_free(scorer);
    tn_fit_info_free(info);
    tn_head_free(head);
}

#endif
