/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validation of whole fits: the figures of scikit-learn on its folds, everything done again without the fold,
 * rows and groups on one side only. */
#include "cv_of.h"

/* ---- scikit-learn on its own folds ---- */

static void figures_are(const tn_cv_result *r, const char *metric, const double *want, double tolerance)
{
    const double *got = tn_cv_values(r, 0, metric);
    double mean = 0, se = 0, sum = 0, square = 0;
    assert_non_null(got);
    for (size_t f = 0; f < CV_FOLDS; ++f) {
        assert_near_at(f, got[f], want[f], tolerance);
        sum += want[f] / CV_FOLDS;
    }
    for (size_t f = 0; f < CV_FOLDS; ++f)
        square += (want[f] - sum) * (want[f] - sum) / (CV_FOLDS - 1);
    assert_true(tn_cv_mean(r, 0, metric, &mean, &se));
    assert_near(mean, sum, tolerance);
    /* N rows are judged once, and train in all folds but one. */
    assert_near(se, sqrt(square * (1.0 / CV_FOLDS + 1.0 / (CV_FOLDS - 1))), 4 * tolerance);
}

/* Decisions are the same, so shares are the same doubles to rounding; probabilities are as close as the optima, whose
 * objectives agree to 1e-9 and weights, in a problem of curvature about 1, to 1e-4. */
static void multiclass_as_scikit_learn(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_LOGISTIC);
    tn_cv_result *r = run(&s, &o);
    assert_string_equal(tn_cv_metric(r, 0), "accuracy");
    figures_are(r, "accuracy", cv_accuracy, 1e-14);
    figures_are(r, "balanced_accuracy", cv_balanced, 1e-14);
    figures_are(r, "nll", cv_nll, 1e-4);
    tn_cv_free(r);
    scene_free(&s);
}

/* Closed form in both; scores are float32 of size 10: 1e-6 each, squares the same relatively. */
static void regression_as_scikit_learn(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_REGRESSION);
    tnp_cv_options o = options_of(&s, TNP_METHOD_EVIDENCE);
    tn_cv_result *r = run(&s, &o);
    assert_string_equal(tn_cv_metric(r, 0), "r2");
    figures_are(r, "r2", cv_r2, 1e-5);
    figures_are(r, "mse", cv_mse, 1e-5);
    tn_cv_free(r);
    scene_free(&s);
}

/* Ranks of held-out rows; a pair that the optimum leaves closer than 1e-4 may change places, which it does not here. */
static void multilabel_as_scikit_learn(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTILABEL);
    tnp_cv_options o = options_of(&s, TNP_METHOD_LOGISTIC);
    tn_cv_result *r = run(&s, &o);
    assert_string_equal(tn_cv_metric(r, 0), "mean_ap");
    figures_are(r, "mean_ap", cv_mean_ap, 1e-12);
    figures_are(r, "mean_auc", cv_mean_auc, 1e-12);
    tn_cv_free(r);
    scene_free(&s);
}

/* ---- against fits by hand ---- */

/* Every method of the table: the scores kept are those of a fit without the fold, to the bit (blocks of rows may differ:
 * 2^-20 of their size), and the figure is that of these scores. */
static void every_method_is_fitted_without_the_fold(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    static float want[CV_N * CV_K];
    for (int method = 0; method < TNP_METHOD_COUNT; ++method) {
        tnp_cv_options o = options_of(&s, method);
        o.scores = true;
        o.fit.learn.gap = 1e-4;
        tn_cv_result *r = run(&s, &o);
        const float *got = tn_cv_scores(r);
        const double *accuracy = tn_cv_values(r, 0, "accuracy");
        assert_string_equal(tn_cv_method(r, 0), tnp_method_of(method)->uses.word);
        assert_null(tn_cv_method(r, 1));
        for (size_t f = 0; f < CV_FOLDS; ++f) {
            size_t right = 0, rows = 0;
            scores_by_hand(&s, &o, f, want);
            for (size_t i = 0; i < CV_N; ++i) {
                if ((size_t)cv_fold[i] != f)
                    continue;
                size_t best = 0;
                for (size_t c = 0; c < CV_K; ++c) {
                    assert_near_at(i, (double)got[i * CV_K + c], (double)want[i * CV_K + c], 0x1p-20);
                    best = want[i * CV_K + c] > want[i * CV_K + best] ? c : best;
                }
                right += best == (size_t)cv_class[i];
                ++rows;
            }
            assert_near_at(f, accuracy[f], (double)right / (double)rows, 1e-15);
            assert_string_equal(tn_cv_selected(r, 0, f), "x");
        }
        tn_cv_free(r);
    }
    scene_free(&s);
}

/* ---- selection inside the fold ---- */

enum { NOISE_N = 60, NOISE_D = 40, NOISES = 12 };

/* Labels that nothing explains and a dozen representations of noise: the one that the evidence finds best is best on the
 * rows that chose it. */
static void noise_that_was_chosen_outside_the_fold_looks_good(void **state)
{
    (void)state;
    tn_features *features[NOISES];
    static double x[NOISE_N * NOISE_D];
    double y[NOISE_N * 2] = {0}, honest = 0, outside = 0, chance = 0, se = 0;
    tnp_rng rng;
    tnp_rng_init(&rng, 5, 77);
    for (size_t r = 0; r < NOISES; ++r) {
        char name[16];
        snprintf(name, sizeof name, "noise%zu", r);
        for (size_t i = 0; i < NOISE_N * NOISE_D; ++i)
            x[i] = tnp_rng_unit(&rng) - 0.5;
        features[r] = array_of(name, x, NOISE_N, NOISE_D, AS_F32);
    }
    for (size_t i = 0; i < NOISE_N; ++i)
        y[i * 2 + i % 2] = 1;
    tn_labels *labels = labels_of(y, NOISE_N, 2, TN_TASK_MULTICLASS);
    tnp_cv_options o;
    tnp_cv_options_default(&o);
    o.fit.method = TNP_METHOD_EVIDENCE;
    o.fit.rank.loo = 0;
    o.fit.select = TNP_SEARCH_BEST;
    o.fit.lambda = lambda_of("1");
    o.repeats = 4;
    tn_cv_result *r = NULL;
    assert_fine(test_ctx, tnp_cv(test_ctx, (const tn_features *const *)features, NOISES, labels, &o, &r));
    assert_true(tn_cv_mean(r, 0, "accuracy", &honest, &se));
    /* Selection really moves with the fold. */
    size_t others = 0;
    for (size_t j = 1; j < 20; ++j)
        others += strcmp(tn_cv_selected(r, 0, j), tn_cv_selected(r, 0, 0)) != 0;
    assert_true(others > 0);
    tn_cv_free(r);
    for (size_t f = 0; f < NOISES; ++f) { /* chosen by what it does on the same folds, as people do */
        double mean = 0;
        assert_fine(test_ctx, tnp_cv(test_ctx, (const tn_features *const *)&features[f], 1, labels, &o, &r));
        assert_true(tn_cv_mean(r, 0, "accuracy", &mean, &se));
        outside = fmax(outside, mean);
        chance += mean / NOISES;
        tn_cv_free(r);
        tn_features_close(features[f]);
    }
    /* A share of 60 rows of chance 1/2 has deviation 0.065. */
    assert_true(fabs(honest - 0.5) < 2 * 0.065);
    assert_true(fabs(chance - 0.5) < 0.065);
    assert_true(outside > 0.5 + 1.2 * 0.065);
    labels_done(labels);
}

/* ---- folds ---- */

/* Each row once per repeat, repeats differ, and the first is that of the seed. */
static void folds_of_repeats(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_PA);
    o.fold_file = NULL;
    o.repeats = 3;
    tn_cv_result *a = run(&s, &o), *b = run(&s, &o);
    assert_int_equal(tn_cv_folds(a), 5);
    assert_int_equal(tn_cv_repeats(a), 3);
    assert_int_equal(tn_cv_rows(a), CV_N);
    assert_null(tn_cv_fold_of(a, 3));
    for (size_t n = 0; n < 3; ++n) {
        size_t count[5] = {0}, classes[5][CV_K] = {{0}};
        const uint32_t *fold = tn_cv_fold_of(a, n);
        for (size_t i = 0; i < CV_N; ++i) {
            assert_true(fold[i] < 5);
            ++count[fold[i]];
            ++classes[fold[i]][cv_class[i]];
        }
        for (size_t f = 0; f < 5; ++f) {
            assert_true(count[f] == 19 || count[f] == 20);
            for (size_t c = 0; c < CV_K; ++c)
                assert_true(classes[f][c] + 1 >= classes[0][c] && classes[f][c] <= classes[0][c] + 1);
        }
        assert_memory_equal(fold, tn_cv_fold_of(b, n), CV_N * sizeof *fold);
        assert_memory_equal(tn_cv_values(a, 0, "accuracy"), tn_cv_values(b, 0, "accuracy"), 15 * sizeof(double));
    }
    assert_memory_not_equal(tn_cv_fold_of(a, 0), tn_cv_fold_of(a, 1), CV_N * sizeof(uint32_t));
    assert_memory_not_equal(tn_cv_fold_of(a, 1), tn_cv_fold_of(a, 2), CV_N * sizeof(uint32_t));
    tn_cv_free(b);
    o.fit.rank.seed = 1; /* another seed: neither the same folds nor those of a later repeat */
    b = run(&s, &o);
    for (size_t n = 0; n < 3; ++n)
        assert_memory_not_equal(tn_cv_fold_of(a, n), tn_cv_fold_of(b, 0), CV_N * sizeof(uint32_t));
    tn_cv_free(a);
    tn_cv_free(b);
    scene_free(&s);
}

static void groups_are_never_on_both_sides(void **state)
{
    (void)state;
    enum { GROUPS = 12 };
    scene s = scene_of(TN_TASK_MULTICLASS);
    static double group[CV_N * GROUPS];
    for (size_t i = 0; i < CV_N; ++i)
        group[i * GROUPS + i * i % 7 * 12 / 7] = 1;
    tn_labels *groups = labels_of(group, CV_N, GROUPS, TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_EVIDENCE);
    o.fold_file = NULL;
    o.groups = groups;
    o.folds = 3;
    o.repeats = 2;
    tn_cv_result *r = run(&s, &o);
    for (size_t n = 0; n < 2; ++n)
        for (size_t i = 0; i < CV_N; ++i)
            for (size_t j = 0; j < i; ++j)
                if (groups->cls[i] == groups->cls[j])
                    assert_int_equal(tn_cv_fold_of(r, n)[i], tn_cv_fold_of(r, n)[j]);
    tn_cv_free(r);
    r = NULL;
    const tn_features *const *features = (const tn_features *const *)&s.features;
    o.folds = 8;
    assert_fails(test_ctx, TN_ERR_DATA, "groups for 8 folds", tnp_cv(test_ctx, features, 1, s.labels, &o, &r));
    groups->known[7] = false;
    o.folds = 3;
    assert_fails(test_ctx, TN_ERR_DATA, "row 7 has no group", tnp_cv(test_ctx, features, 1, s.labels, &o, &r));
    s.labels->known[7] = false; /* nobody asks */
    assert_fine(test_ctx, tnp_cv(test_ctx, features, 1, s.labels, &o, &r));
    assert_int_equal(tn_cv_fold_of(r, 0)[7], UINT32_MAX);
    tn_cv_free(r);
    r = NULL;
    groups->rows = CV_N - 1;
    assert_fails(test_ctx, TN_ERR_SHAPE, "95 rows, but", tnp_cv(test_ctx, features, 1, s.labels, &o, &r));
    groups->rows = CV_N;
    labels_done(groups);
    scene_free(&s);
}

/* Rows without a fold train always: one fold and its complement are a hold-out. */
static void rows_without_a_fold_only_train(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_LOGISTIC);
    double mean = 0, se = 0;
    for (size_t i = 0; i < CV_N; ++i)
        s.folds->known[i] = cv_fold[i] == 1;
    o.scores = true;
    tn_cv_result *r = run(&s, &o);
    const double *values = tn_cv_values(r, 0, "accuracy");
    assert_near(values[1], cv_accuracy[1], 1e-14);
    assert_true(isnan(values[0]) && isnan(values[2]) && isnan(values[3]));
    assert_null(tn_cv_selected(r, 0, 0));
    assert_true(tn_cv_mean(r, 0, "accuracy", &mean, &se));
    assert_true(mean == values[1] && isnan(se));
    for (size_t i = 0; i < CV_N; ++i) {
        assert_int_equal(tn_cv_fold_of(r, 0)[i], cv_fold[i] == 1 ? 1 : UINT32_MAX);
        assert_int_equal(isnan(tn_cv_scores(r)[i * CV_K]) != 0, cv_fold[i] != 1);
    }
    tn_cv_free(r);
    scene_free(&s);
}

/* ---- two methods ---- */

/* Figures of each are those it has alone, options go to the method that has a use for them, and the difference is
 * theirs. */
static void two_methods_on_the_same_folds(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tn_options *o = NULL;
    tn_cv_result *both = NULL, *alone[2] = {NULL};
    static const char *const words[] = {"evidence", "svm"};
    const tn_features *const *features = (const tn_features *const *)&s.features;
    double difference = 0, se = 0, p = 0, a = 0, b = 0;
    for (size_t m = 0; m < 3; ++m) {
        assert_fine(test_ctx, tn_options_new(test_ctx, "cv", &o));
        assert_fine(test_ctx, tn_options_set(test_ctx, o, "method", words[m % 2]));
        assert_fine(test_ctx, tn_options_set(test_ctx, o, "repeats", "2"));
        if (m == 2)
            assert_fine(test_ctx, tn_options_set(test_ctx, o, "against", "svm"));
        if (m != 1)
            assert_fine(test_ctx, tn_options_set(test_ctx, o, "lambda", "0.5"));
        if (m != 0)
            assert_fine(test_ctx, tn_options_set(test_ctx, o, "C", "0.01"));
        assert_true(tn_options_of_use(o, "C") == (m != 0));
        assert_fine(test_ctx, tn_cv(test_ctx, features, 1, s.labels, o, m == 2 ? &both : &alone[m]));
        tn_options_free(o);
    }
    for (size_t m = 0; m < 2; ++m)
        assert_memory_equal(tn_cv_values(both, m, "accuracy"), tn_cv_values(alone[m], 0, "accuracy"),
                            10 * sizeof(double));
    assert_true(tn_cv_compare(both, "accuracy", &difference, &se, &p));
    assert_false(tn_cv_compare(alone[0], "accuracy", &difference, &se, &p));
    assert_false(tn_cv_compare(both, "r2", &difference, &se, &p));
    assert_false(tn_cv_mean(both, 2, "accuracy", &a, &b));
    assert_null(tn_cv_values(both, 0, "beauty"));
    assert_true(tn_cv_mean(both, 0, "accuracy", &a, &se) && tn_cv_mean(both, 1, "accuracy", &b, &se));
    assert_near(difference, a - b, 1e-14);
    assert_true(p >= 0 && p <= 1);
    tn_cv_free(both);
    tn_cv_free(alone[0]);
    tn_cv_free(alone[1]);
    scene_free(&s);
}

/* ---- candidates of a ranking ---- */

/* Representations, transforms and normalisations in the order that a ranking counts them. */
static void candidates_of_a_ranking(void **state)
{
    (void)state;
    static const char *const transforms[] = {"none", "hellinger"}, *const kinds[] = {"zscore", "l2", "none"};
    scene s = scene_of(TN_TASK_MULTICLASS), t = scene_of(TN_TASK_MULTICLASS);
    tn_features_close(t.features);
    static double y[CV_N * 2];
    for (size_t i = 0; i < CV_N * 2; ++i)
        y[i] = cv_values64[i] / 64.0;
    t.features = array_of("y", y, CV_N, 2, AS_F32);
    const tn_features *const features[] = {s.features, t.features};
    tnp_rank_options rank;
    tnp_rank_options_default(&rank);
    rank.transform = "none,hellinger";
    rank.normalize = "zscore,l2,none";
    for (size_t c = 0; c < 12; ++c) {
        tnp_cv_options o;
        tn_cv_result *got = NULL;
        tnp_cv_options_default(&o);
        o.fit.method = TNP_METHOD_EVIDENCE;
        o.folds = 3;
        o.fit.rank.transform = transforms[c / 3 % 2];
        o.fit.rank.normalize = kinds[c % 3];
        o.scores = true;
        tn_cv_result *want = run(c < 6 ? &s : &t, &o);
        assert_fine(test_ctx, tnp_cv_candidate(test_ctx, features, s.labels, &rank, c, TNP_METHOD_EVIDENCE, 3, &got));
        assert_memory_equal(tn_cv_values(got, 0, "accuracy"), tn_cv_values(want, 0, "accuracy"), 3 * sizeof(double));
        assert_memory_equal(tn_cv_scores(got), tn_cv_scores(want), CV_N * CV_K * sizeof(float));
        tn_cv_free(got);
        tn_cv_free(want);
    }
    scene_free(&s);
    scene_free(&t);
}

/* A file that is bad is named as everywhere, without a fold. */
static void a_bad_row_is_that_of_its_file(void **state)
{
    (void)state;
    scene s = scene_of(TN_TASK_MULTICLASS);
    tnp_cv_options o = options_of(&s, TNP_METHOD_SVM);
    static double x[CV_N * CV_D];
    for (size_t i = 0; i < CV_N * CV_D; ++i)
        x[i] = i == 7 * CV_D ? (double)NAN : cv_x64[i] / 64.0;
    tn_features_close(s.features);
    s.features = array_of("x", x, CV_N, CV_D, AS_F32);
    tn_cv_result *r = NULL;
    assert_fails(test_ctx, TN_ERR_DATA, "x: row 7",
                 tnp_cv(test_ctx, (const tn_features *const *)&s.features, 1, s.labels, &o, &r));
    assert_null(strstr(tn_ctx_message(test_ctx), "fold"));
    o.fit.rank.nan = TN_NAN_DROP;
    o.scores = true;
    r = run(&s, &o);
    assert_true(isnan(tn_cv_scores(r)[7 * CV_K]) && tn_cv_fold_of(r, 0)[7] == UINT32_MAX);
    tn_cv_free(r);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiclass_as_scikit_learn),
        cmocka_unit_test(regression_as_scikit_learn),
        cmocka_unit_test(multilabel_as_scikit_learn),
        cmocka_unit_test(every_method_is_fitted_without_the_fold),
        cmocka_unit_test(noise_that_was_chosen_outside_the_fold_looks_good),
        cmocka_unit_test(folds_of_repeats),
        cmocka_unit_test(groups_are_never_on_both_sides),
        cmocka_unit_test(rows_without_a_fold_only_train),
        cmocka_unit_test(two_methods_on_the_same_folds),
        cmocka_unit_test(candidates_of_a_ranking),
        cmocka_unit_test(a_bad_row_is_that_of_its_file),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
