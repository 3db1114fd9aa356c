/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of a cross-validation: those of a fit, and which of two methods they go to. */
#include "fixtures/problems.h"
#include "options_by_name.h"
#include "options_of.h"

/* But for the file of one fit, and for rows beside moments; folds are those of the cross-validation, of use to every
 * method. */
static void cv_has_the_options_of_fit(void **state)
{
    (void)state;
    tn_options *fit = options_new("fit"), *cv = options_new("cv");
    for (size_t i = 0; i < tn_options_count(fit); ++i) {
        const char *name = tn_options_field(fit, i)->name;
        bool there = tn_options_text(cv, name) != NULL;
        bool of_one = strcmp(name, "checkpoint") == 0 || strcmp(name, "rows") == 0 || strcmp(name, "labels") == 0;
        assert_int_equal(there, !of_one);
        if (there && strcmp(name, "folds") != 0) {
            assert_string_equal(tn_options_text(cv, name), tn_options_text(fit, name));
            assert_int_equal(tn_options_of_use(cv, name), tn_options_of_use(fit, name));
        }
    }
    set(fit, "method", "evidence");
    set(cv, "method", "evidence");
    assert_null(tn_options_methods(cv, "folds"));
    assert_true(tn_options_of_use(cv, "folds") && !tn_options_of_use(fit, "folds"));
    assert_false(tn_options_of_use(cv, "C"));
    set(cv, "against", "svm");
    assert_true(tn_options_of_use(cv, "C") && tn_options_of_use(cv, "lambda") && !tn_options_of_use(cv, "tune"));
    set(cv, "method", "pa");
    assert_true(tn_options_of_use(cv, "tune") && !tn_options_of_use(cv, "lambda"));
    tn_options_free(fit);
    tn_options_free(cv);
}

/* What a method has no use for is at its default, the rest as it was: objects, words, numbers, texts. */
static void options_for_a_method(void **state)
{
    (void)state;
    tnp_fit_options o, got;
    tn_labels labels = {.rows = 0};
    const tn_features *const features[] = {NULL};
    tnp_fit_options_default(&o);
    o.lambda = lambda_of("2");
    o.learn.cost = 7;
    o.learn.folds = 3;
    o.online.tune = true;
    o.valid = (tnp_valid){features, 1, &labels};
    o.from = (const tn_head *)(const void *)test_folder;
    o.rank.normalize = "root";
    tnp_fit_options_for(&o, TNP_METHOD_SVM, &got);
    assert_true(got.method == TNP_METHOD_SVM && got.learn.cost == 7 && got.learn.folds == 3 && !got.online.tune);
    assert_true(got.from == NULL && got.valid.count == 1 && got.valid.labels == &labels);
    assert_true(got.lambda.word == TNP_LAMBDA_AUTO && strcmp(got.rank.normalize, "root") == 0);
    tnp_fit_options_for(&o, TNP_METHOD_EVIDENCE, &got);
    assert_true(got.lambda.value == 2 && got.learn.cost == 1 && got.learn.folds == 5 && !got.online.tune);
    tnp_fit_options_for(&o, TNP_METHOD_SCW, &got);
    assert_true(got.online.tune && got.from == o.from && got.learn.cost == 7 && got.lambda.word == TNP_LAMBDA_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cv_has_the_options_of_fit),
        cmocka_unit_test(options_for_a_method),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
