/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validation where few rows cannot tell, and what makes no sense. */
#include "cv_of.h"
#include "tenon/report.h"

static void fails(const scene *s, const tnp_cv_options *o, tn_status status, const char *part)
{
    tn_cv_result *const untouched = (tn_cv_result *)(void *)test_folder, *r = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part,
                 tnp_cv(test_ctx, (const tn_features *const *)&s->features, 1, s->labels, o, (tn_cv_result **)&r));
    assert_ptr_equal(r, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

/* Only the first of each class is left. */
static void one_row_per_class_is_refused(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_EVIDENCE);
    bool seen[CV_K] = {false};
    o.fold_file = NULL;
    for (size_t i = 0; i < CV_N; ++i) {
        s.labels->known[i] = !seen[cv_class[i]];
        seen[cv_class[i]] = true;
    }
    fails(&s, &o, TN_ERR_DATA, "labels.npy: every class has one row");
    o.fold_file = s.folds; /* whatever the folds */
    fails(&s, &o, TN_ERR_DATA, "no fold holds a class");
    scene_free(&s);
}

/* A class of one row is absent outside its fold: the row is not judged, and nothing else changes for it. */
static void a_class_of_one_row_is_not_judged(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_LOGISTIC);
    size_t only = 0, right = 0, rows = 0;
    static float scores[CV_N * CV_K];
    while (cv_class[only] != 2)
        ++only;
    for (size_t i = 0; i < CV_N; ++i)
        s.labels->known[i] = cv_class[i] != 2 || i == only;
    tn_cv_result *r = run(&s, &o);
    size_t f = (size_t)cv_fold[only];
    scores_by_hand(&s, &o, f, scores);
    for (size_t i = 0; i < CV_N; ++i)
        if ((size_t)cv_fold[i] == f && s.labels->known[i] && i != only) {
            const float *row = scores + i * CV_K;
            size_t best = row[1] > row[0];
            right += (row[2] > row[best] ? 2 : best) == (size_t)cv_class[i];
            ++rows;
        }
    assert_near(tn_cv_values(r, 0, "accuracy")[f], (double)right / (double)rows, 1e-15);
    tn_cv_free(r);
    scene_free(&s);
}

/* A label that all rows outside a fold share is left out of its figures with its column: the others are those of labels
 * without it. */
static void a_label_that_all_others_share_is_not_judged(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTILABEL);
    tnp_cv_options o = options_of(&s, TNP_METHOD_LOGISTIC);
    o.fit.learn.calibrate = TNP_CALIBRATE_NO;
    double y[CV_N * CV_K], two[CV_N * 2];
    for (size_t i = 0; i < CV_N; ++i) {
        y[i * CV_K] = two[i * 2] = cv_several[i * CV_K];
        y[i * CV_K + 1] = cv_fold[i] == 2 ? (double)(i % 2) : 0; /* only rows of fold 2 have it */
        y[i * CV_K + 2] = two[i * 2 + 1] = cv_several[i * CV_K + 2];
    }
    labels_done(s.labels);
    s.labels = labels_of(y, CV_N, CV_K, TN_TASK_MULTILABEL);
    tn_cv_result *r = run(&s, &o);
    labels_done(s.labels);
    s.labels = labels_of(two, CV_N, 2, TN_TASK_MULTILABEL);
    tn_cv_result *without = run(&s, &o);
    static const char *const metrics[] = {"mean_ap", "mean_auc", "accuracy", "balanced_accuracy", "nll", "ece"};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; ++i)
        assert_near_at(i, tn_cv_values(r, 0, metrics[i])[2], tn_cv_values(without, 0, metrics[i])[2], 1e-6);
    tn_cv_free(r);
    tn_cv_free(without);
    scene_free(&s);
}

/* Two classes, one of them of one row: its fold leaves one class to learn from, and has no figure. */
static void a_fold_that_leaves_one_class_has_no_figure(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_EVIDENCE);
    char *text = NULL;
    size_t only = 0;
    while (cv_class[only] != 2)
        ++only;
    for (size_t i = 0; i < CV_N; ++i)
        s.labels->known[i] = cv_class[i] == 1 || i == only;
    tn_cv_result *r = run(&s, &o);
    for (size_t f = 0; f < CV_FOLDS; ++f)
        assert_int_equal(isnan(tn_cv_values(r, 0, "accuracy")[f]) != 0, f == (size_t)cv_fold[only]);
    assert_fine(test_ctx, tn_cv_table(test_ctx, r, NULL, false, &text));
    assert_non_null(strstr(text, "1 of 4 folds have no figure"));
    tn_text_free(text);
    assert_fine(test_ctx, tn_cv_json(test_ctx, r, NULL, &text));
    assert_non_null(strstr(text, "null"));
    tn_text_free(text);
    tn_cv_free(r);
    scene_free(&s);
}

/* ---- what makes no sense ---- */

static void arguments_without_sense(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_EVIDENCE);
    o.repeats = 2;
    fails(&s, &o, TN_ERR_ARG, "option fold-file says where every row stands; got option repeats");
    o.repeats = 1;
    o.groups = s.folds;
    fails(&s, &o, TN_ERR_ARG, "got option groups");
    o = options_of(&s, TNP_METHOD_EVIDENCE);
    o.against = 1 + TNP_METHOD_EVIDENCE;
    fails(&s, &o, TN_ERR_ARG, "evidence, which is the method itself");
    o.against = 0;
    o.inner_folds = 3;
    fails(&s, &o, TN_ERR_ARG, "option inner-folds is for methods");
    o.against = 1 + TNP_METHOD_SVM_CV;
    o.inner_folds = 1;
    fails(&s, &o, TN_ERR_ARG, "got 1, expected 0 or at least 2");
    o = options_of(&s, TNP_METHOD_PA);
    o.fit.online.checkpoint = "c";
    fails(&s, &o, TN_ERR_ARG, "option checkpoint is for one fit");
    o = options_of(&s, TNP_METHOD_EVIDENCE);
    o.folds = 1;
    fails(&s, &o, TN_ERR_ARG, "option folds");
    o = options_of(&s, TNP_METHOD_EVIDENCE);
    o.fold_file = NULL;
    o.folds = CV_N + 1;
    fails(&s, &o, TN_ERR_DATA, "96 rows for 97 folds");
    o.folds = 5;
    o.fit.rank.loo = 0;
    o.fit.lambda = lambda_of("loo");
    fails(&s, &o, TN_ERR_ARG, "option lambda loo needs");
    scene_free(&s);
}

/* What only one fold's fit can say names the fold. */
static void a_fit_that_fails_names_its_fold(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_SVM);
    o.fit.learn.calibrate = TNP_CALIBRATE_YES;
    /* One row of class 1 in fold 0, one of class 2 in folds 1 and 2: outside fold 1 every class has one row. */
    bool taken[CV_FOLDS] = {false};
    for (size_t i = 0; i < CV_N; ++i) {
        s.labels->known[i] = !taken[cv_fold[i]] && cv_fold[i] < 3 && cv_class[i] == (cv_fold[i] == 0 ? 1 : 2);
        taken[cv_fold[i]] |= s.labels->known[i];
    }
    fails(&s, &o, TN_ERR_DATA, "without fold 2 of 4: option calibrate yes: too few rows");
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_per_class_is_refused),
        cmocka_unit_test(a_class_of_one_row_is_not_judged),
        cmocka_unit_test(a_label_that_all_others_share_is_not_judged),
        cmocka_unit_test(a_fold_that_leaves_one_class_has_no_figure),
        cmocka_unit_test(arguments_without_sense),
        cmocka_unit_test(a_fit_that_fails_names_its_fold),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
