/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features keep their digits from the file to the score: columns of mean 1e8 and deviation 1 in double, 1e6 in float,
 * through every learner and normalisation. The oracle is the same problem moved to zero: rows prepared in long double,
 * less the head's centre, written as they are and trained on without a normalisation. */
#include "digits_of.h"
#include "ref_ridge.h"
#include "options_of.h"

static const int methods[] = {TNP_METHOD_EVIDENCE, TNP_METHOD_RIDGE_CV, TNP_METHOD_LDA,
                              TNP_METHOD_SVM,      TNP_METHOD_SVM_CV,   TNP_METHOD_LOGISTIC,
                              TNP_METHOD_PA,       TNP_METHOD_AROW,     TNP_METHOD_SCW};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct place {
    stored as;
    double offset;
} place;
static const place places[] = {{AS_F64, 1e8}, {AS_F32, 1e6}};

/* weight . (x - centre) + bias in long double, and what a float product of COLS terms may be away from it: one rounding
 * of each x and each product, COLS of sums, each half an ulp of a partial sum. */
static void check_literal(const tn_head *head, const ref_real *rows, const float *scores)
{
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t c = 0; c < CLASSES; ++c) {
            ref_real sum = (ref_real)tn_head_bias(head)[c], size = fabsl(sum);
            for (size_t j = 0; j < COLS; ++j) {
                ref_real term = (ref_real)tn_head_weight(head)[c * COLS + j] * rows[i * COLS + j];
                sum += term;
                size += fabsl(term);
            }
            assert_true(fabs((double)(sum - (ref_real)scores[i * CLASSES + c])) <=
                        (COLS + 3) * 0x1p-24 * (double)size + 1e-37);
        }
}

/* Largest difference of two sets of scores, over the largest score. */
static double apart(const float *a, const float *b)
{
    double most = 0, size = 0;
    for (size_t i = 0; i < ROWS * CLASSES; ++i) {
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
        size = fmax(size, fabs((double)a[i]));
    }
    return most / size;
}

static double same_decisions(const float *a, const float *b)
{
    size_t same = 0;
    for (size_t i = 0; i < ROWS; ++i)
        same += decided(a + i * CLASSES) == decided(b + i * CLASSES);
    return (double)same / ROWS;
}

/* One fit on far columns against the one on the rows moved to zero. */
static void check_one(const ref_problem *p, const tn_labels *labels, place at, tn_normalize kind, int method)
{
    tnp_fit_options opt = digits_options(method, tn_normalize_name(kind)), plain = digits_options(method, "none");
    bool ridge = method == TNP_METHOD_EVIDENCE || method == TNP_METHOD_RIDGE_CV || method == TNP_METHOD_LDA;
    tn_features *far = placed("far", p->x, at.offset, 1, at.as);
    double loo = NAN;
    tn_head *head = fitted(far, labels, &opt, &loo);
    assert_true((tn_head_centre(head) == NULL) == (kind == TN_NORM_ZSCORE));
    ref_real *rows = prepared(p->x, at.offset, 1, kind, tn_head_centre(head));
    tn_features *near = file_of("near", rows);
    tn_head *want = fitted(near, labels, &plain, NULL);
    assert_null(tn_head_centre(want));
    float *got_scores = scored(head, far), *want_scores = scored(want, near);
    check_literal(head, rows, got_scores);
    /* Moved only, a double is the same double: so are the bits of what is learned. A ridge has its moments of float
     * files from floats, and of the oracle's from doubles. */
    if (kind == TN_NORM_NONE && (!ridge || at.as == AS_F64)) {
        assert_memory_equal(tn_head_weight(head), tn_head_weight(want), CLASSES * COLS * sizeof(float));
        assert_memory_equal(tn_head_bias(head), tn_head_bias(want), CLASSES * sizeof(float));
    }
    /* Else rows differ by the rounding of a norm near 1 in double, 2^-52 of a value of which 1e-8 is what varies: 3e-8
     * of it. The solvers stop within 1e-4 of their optimum, on one side or the other of a last step. */
    assert_true(same_decisions(got_scores, want_scores) >= 0.99);
    assert_true(apart(got_scores, want_scores) <= (ridge ? 1e-4 : 2e-2));
    /* Other normalisations take a direction of the classes away with the norm, and leave 1e-8 of a deviation, of which
     * C = 1 and the grid of lambda make nothing: that is what they mean. */
    double right = right_rows(got_scores, p->y);
    if (kind == TN_NORM_NONE || kind == TN_NORM_ZSCORE)
        assert_true(right > 0.7);
    if (method == TNP_METHOD_EVIDENCE)
        assert_true(fabs(right - loo) < 0.05);
    free(got_scores);
    free(want_scores);
    free(rows);
    tn_head_free(head);
    tn_head_free(want);
    tn_features_close(far);
    tn_features_close(near);
}

static void far_columns_learn_as_if_moved_to_zero(void **state)
{
    (void)state;
    ref_problem p = units_of(3);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    for (size_t a = 0; a < sizeof places / sizeof *places; ++a)
        for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind)
            for (size_t m = 0; m < METHODS; ++m)
                check_one(&p, labels, places[a], (tn_normalize)kind, methods[m]);
    labels_done(labels);
    ref_problem_free(&p);
}

/* Ordinary columns: no centre, whatever the type, and a file of doubles that are floats is the file of floats. */
static void ordinary_heads_keep_their_bytes(void **state)
{
    (void)state;
    ref_problem p = units_of(4);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind)
        for (size_t m = 2; m < METHODS; ++m) {
            tnp_fit_options opt = digits_options(methods[m], tn_normalize_name((tn_normalize)kind));
            tn_features *wide = placed("x", p.x, 3, 1, AS_F64);
            tn_head *a = fitted(wide, labels, &opt, NULL);
            tn_features_close(wide);
            tn_features *narrow = placed("x", p.x, 3, 1, AS_F32);
            tn_head *b = fitted(narrow, labels, &opt, NULL);
            assert_true(!tn_head_centre(a) && !tn_head_centre(b));
            assert_memory_equal(tn_head_weight(a), tn_head_weight(b), CLASSES * COLS * sizeof(float));
            assert_memory_equal(tn_head_bias(a), tn_head_bias(b), CLASSES * sizeof(float));
            tn_head_free(a);
            tn_head_free(b);
            tn_features_close(narrow);
        }
    labels_done(labels);
    ref_problem_free(&p);
}

/* ---- ranges ---- */

/* Powers of two: the same numbers elsewhere. 1e38, 1e300, 1e-310 and 1e-100, about. */
static const double factors[] = {0x1p122, 0x1p996, 0x1p-1030, 0x1p-333};

static void check_range(const ref_problem *p, const tn_labels *labels, double factor, tn_normalize kind, int method)
{
    tnp_fit_options opt = digits_options(method, tn_normalize_name(kind));
    tn_features *base = placed("x", p->x, 0, 1, AS_F64);
    tn_head *usual = fitted(base, labels, &opt, NULL);
    float *want = scored(usual, base);
    tn_features_close(base);
    tn_features *features = placed("x", p->x, 0, factor, AS_F64);
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    tn_status st = fit_one(features, labels, &opt, &info, &head);
    if (kind == TN_NORM_NONE || (kind == TN_NORM_ZSCORE && factor < 0x1p-1000)) {
        assert_int_equal(st, TN_ERR_DATA);
        assert_non_null(strstr(tn_ctx_message(test_ctx), "x: "));
        assert_non_null(strstr(tn_ctx_message(test_ctx), "expected"));
        assert_null(strstr(tn_ctx_message(test_ctx), "NaN"));
    } else {
        assert_fine(test_ctx, st);
        float *got = scored(head, features);
        /* The rows are those of the base, but for the roundings of a norm, in float there and in double here. */
        assert_true(same_decisions(got, want) >= 0.99);
        assert_true(apart(got, want) <= 1e-2);
        free(got);
    }
    tn_fit_info_free(info);
    tn_head_free(head);
    tn_head_free(usual);
    free(want);
    tn_features_close(features);
}

static void values_beyond_float_are_right_or_refused(void **state)
{
    (void)state;
    ref_problem p = units_of(5);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    for (size_t f = 0; f < sizeof factors / sizeof *factors; ++f)
        for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind)
            for (size_t m = 0; m < METHODS; m += m == 0 || m == 2 ? 2 : 1)
                check_range(&p, labels, factors[f], (tn_normalize)kind, methods[m]);
    labels_done(labels);
    ref_problem_free(&p);
}

/* A head of ordinary rows meets such values: refused by prediction as by training, or, too small for a float, rightly
 * zero. */
static void prediction_refuses_what_training_refuses(void **state)
{
    (void)state;
    static const tn_normalize kinds[] = {TN_NORM_NONE, TN_NORM_ZSCORE};
    ref_problem p = units_of(6);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    for (size_t k = 0; k < 2; ++k)
        for (size_t f = 0; f < sizeof factors / sizeof *factors; ++f) {
            tnp_fit_options opt = digits_options(TNP_METHOD_EVIDENCE, tn_normalize_name(kinds[k]));
            tn_features *base = placed("x", p.x, 0, 1, AS_F64);
            tn_head *head = fitted(base, labels, &opt, NULL);
            tn_features_close(base);
            tn_features *features = placed("x", p.x, 0, factors[f], AS_F64);
            tn_scorer *scorer = NULL;
            float scores[CLASSES];
            assert_fine(test_ctx,
                        tn_scorer_new(test_ctx, head, (const tn_features *const *)&features, 1, TN_NAN_ERROR, &scorer));
            if (factors[f] > 1)
                assert_fails(test_ctx, TN_ERR_DATA,
                             "x: row 0, column 0: ", tn_scorer_read(test_ctx, scorer, 0, 1, scores));
            else
                assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, 1, scores));
            for (size_t c = 0; c < CLASSES && factors[f] < 1 && kinds[k] == TN_NORM_NONE; ++c)
                assert_true(scores[c] == tn_head_bias(head)[c]);
            tn_scorer_free(scorer);
            tn_head_free(head);
            tn_features_close(features);
        }
    labels_done(labels);
    ref_problem_free(&p);
}

/* Squares of 2^60 are no floats: learners that sum them refuse what a ridge, in double, learns. */
static void float_learners_refuse_squares_beyond_float(void **state)
{
    (void)state;
    ref_problem p = units_of(7);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tn_features *features = placed("x", p.x, 0, 0x1p60, AS_F64);
    for (size_t m = 0; m < METHODS; ++m) {
        tnp_fit_options opt = digits_options(methods[m], "none");
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        if (methods[m] == TNP_METHOD_EVIDENCE || methods[m] == TNP_METHOD_LDA) {
            head = fitted(features, labels, &opt, NULL);
            float *scores = scored(head, features);
            assert_true(right_rows(scores, p.y) > 0.7);
            free(scores);
        } else if (methods[m] != TNP_METHOD_RIDGE_CV) {
            assert_fails(test_ctx, TN_ERR_DATA, "expected at most 1.13e+15",
                         fit_one(features, labels, &opt, &info, &head));
        }
        tn_head_free(head);
    }
    tn_features_close(features);
    labels_done(labels);
    ref_problem_free(&p);
}

/* Regression: scores are float, so that outputs of mean 1e8 and deviation 1 have none that say anything. What is
 * accepted is predicted as well as leave-one-out says. */
static void outputs_that_float_cannot_hold_are_refused(void **state)
{
    (void)state;
    ref_problem p = units_of(14);
    tn_features *features = placed("x", p.x, 0, 1, AS_F64);
    tnp_fit_options opt = digits_options(TNP_METHOD_EVIDENCE, "none");
    double y[ROWS];
    ref_rng rng = ref_rng_of(14);
    for (size_t i = 0; i < ROWS; ++i)
        y[i] = p.x[i * COLS] / 4 + p.x[i * COLS + 1] / 4 + 0.5 * ref_normal(&rng);
    for (int far = 0; far < 2; ++far) {
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        for (size_t i = 0; i < ROWS; ++i)
            y[i] += far ? 1e8 : 1e5;
        tn_labels *labels = labels_of(y, ROWS, 1, TN_TASK_REGRESSION);
        tn_status st = fit_one(features, labels, &opt, &info, &head);
        if (far)
            assert_fails(test_ctx, TN_ERR_DATA, "labels.npy: output class0 has mean 1e+08", st);
        else {
            assert_fine(test_ctx, st);
            ref_real mean = 0, total = 0, error = 0;
            float scores[ROWS];
            tn_scorer *scorer = NULL;
            assert_fine(test_ctx,
                        tn_scorer_new(test_ctx, head, (const tn_features *const *)&features, 1, TN_NAN_ERROR, &scorer));
            assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, scores));
            for (size_t i = 0; i < ROWS; ++i)
                mean += (ref_real)y[i] / ROWS;
            for (size_t i = 0; i < ROWS; ++i) {
                total += ((ref_real)y[i] - mean) * ((ref_real)y[i] - mean);
                error += ((ref_real)y[i] - (ref_real)scores[i]) * ((ref_real)y[i] - (ref_real)scores[i]);
            }
            assert_near(1 - (double)(error / total), info->chosen->loo_r2, 0.05);
            tn_scorer_free(scorer);
        }
        tn_fit_info_free(info);
        tn_head_free(head);
        labels_done(labels);
    }
    tn_features_close(features);
    ref_problem_free(&p);
}

/* ---- no intercept ---- */

/* A ridge without intercept has w c in its bias, from the weights before they are rounded: with those of float it would
 * be off by 2^-24 of COLS terms of 1e5. Against the normal equations in long double. */
static void ridge_without_intercept_keeps_its_digits(void **state)
{
    (void)state;
    const double offset = 100000;
    ref_problem p = units_of(8);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tn_features *features = placed("x", p.x, offset, 1, AS_F64);
    tnp_fit_options opt = digits_options(TNP_METHOD_EVIDENCE, "none");
    opt.rank.evidence.intercept = false;
    opt.lambda = lambda_of("10");
    tn_head *head = fitted(features, labels, &opt, NULL);
    assert_non_null(tn_head_centre(head));
    float *scores = scored(head, features);
    ref_real w[CLASSES * COLS], b[CLASSES];
    for (size_t i = 0; i < ROWS * COLS; ++i)
        p.x[i] += offset;
    ref_ridge(&p, false, 10, w, b);
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t c = 0; c < CLASSES; ++c) {
            ref_real sum = 0;
            for (size_t j = 0; j < COLS; ++j)
                sum += w[c * COLS + j] * p.x[i * COLS + j];
            assert_near_at(i, (double)scores[i * CLASSES + c], (double)sum, 2e-5);
        }
    free(scores);
    tn_head_free(head);
    tn_features_close(features);
    labels_done(labels);
    ref_problem_free(&p);
}

static void float_learners_without_intercept_refuse_far_columns(void **state)
{
    (void)state;
    ref_problem p = units_of(9);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    tn_features *features = placed("x", p.x, 1e6, 1, AS_F32);
    for (size_t m = 3; m < METHODS; ++m) { /* but for the ridges */
        tnp_fit_options opt = digits_options(methods[m], "none");
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        opt.rank.evidence.intercept = false;
        assert_fails(test_ctx, TN_ERR_DATA, "expected option intercept yes",
                     fit_one(features, labels, &opt, &info, &head));
    }
    tn_features_close(features);
    labels_done(labels);
    ref_problem_free(&p);
}

/* No column is 128 deviations from zero, but the label hangs on the difference of two, 1e-4 of each: a bias of 2e6 in
 * float is off by a tenth. Tolerance: 1e-3 of noise, its largest in 240 rows 4e-3; weights of 1e4 rounded to 2^-25, on
 * deviations of up to 4, twice, 2e-3; the same in the products of the scores. */
static void a_ridge_of_large_weights_keeps_its_bias(void **state)
{
    (void)state;
    ref_rng rng = ref_rng_of(11);
    double *x = ref_alloc(ROWS * 2, sizeof *x), *y = ref_alloc(ROWS, sizeof *y);
    for (size_t i = 0; i < ROWS; ++i) {
        double common = ref_normal(&rng), small = ref_normal(&rng);
        x[i * 2] = 100 + common;
        x[i * 2 + 1] = common + 1e-4 * small - 100;
        y[i] = small + 1e-3 * ref_normal(&rng);
    }
    tn_features *features = features_of("difference", x, ROWS, 2, AS_F64);
    tn_labels *labels = labels_of(y, ROWS, 1, TN_TASK_REGRESSION);
    tnp_fit_options opt = digits_options(TNP_METHOD_EVIDENCE, "none");
    tn_head *head = fitted(features, labels, &opt, NULL);
    tn_scorer *scorer = NULL;
    float scores[ROWS];
    assert_fine(test_ctx,
                tn_scorer_new(test_ctx, head, (const tn_features *const *)&features, 1, TN_NAN_ERROR, &scorer));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, scorer, 0, ROWS, scores));
    for (size_t i = 0; i < ROWS; ++i)
        assert_true(fabs((double)scores[i] - y[i]) <= 1e-2);
    tn_scorer_free(scorer);
    tn_head_free(head);
    labels_done(labels);
    tn_features_close(features);
    free(x);
    free(y);
}

static void count_alike(void *user, const char *text)
{
    size_t *told = user;
    *told += strstr(text, "rows differ by only") && strstr(text, "give option normalize zscore or none");
}

/* Brought to one length, rows far from zero differ by 1e-6: a fixed cost makes nothing of that, and the most frequent
 * class was predicted in silence. */
static void rows_that_a_normalisation_makes_alike_are_told_of(void **state)
{
    (void)state;
    ref_problem p = units_of(9);
    tn_labels *labels = labels_of(p.y, ROWS, CLASSES, TN_TASK_MULTICLASS);
    for (int far = 0; far < 2; ++far)
        for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind)
            for (size_t m = 0; m < METHODS; ++m) {
                size_t told = 0;
                tnp_fit_options opt = digits_options(methods[m], tn_normalize_name((tn_normalize)kind));
                tn_features *features = placed("rows", p.x, far ? 1e6 : 0, 1, AS_F32);
                tn_ctx_set_warning(test_ctx, count_alike, &told);
                tn_head_free(fitted(features, labels, &opt, NULL));
                tn_ctx_set_warning(test_ctx, NULL, NULL);
                bool alike = far && kind != TN_NORM_NONE && kind != TN_NORM_ZSCORE;
                assert_int_equal(told, alike && methods[m] != TNP_METHOD_EVIDENCE && methods[m] != TNP_METHOD_LDA);
                tn_features_close(features);
            }
    labels_done(labels);
    ref_problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_columns_learn_as_if_moved_to_zero),
        cmocka_unit_test(ordinary_heads_keep_their_bytes),
        cmocka_unit_test(values_beyond_float_are_right_or_refused),
        cmocka_unit_test(prediction_refuses_what_training_refuses),
        cmocka_unit_test(float_learners_refuse_squares_beyond_float),
        cmocka_unit_test(outputs_that_float_cannot_hold_are_refused),
        cmocka_unit_test(ridge_without_intercept_keeps_its_digits),
        cmocka_unit_test(float_learners_without_intercept_refuse_far_columns),
        cmocka_unit_test(a_ridge_of_large_weights_keeps_its_bias),
        cmocka_unit_test(rows_that_a_normalisation_makes_alike_are_told_of),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
