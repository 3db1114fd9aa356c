/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Method auto, what whole runs promise: the same head every time, none that is worse than the evidence's by more than a
 * standard error, a budget and an interrupt that are obeyed, refusals. */
#include "race_of.h"
#include "interrupt.h"
#include "learn/head/head.h"
#include "tenon/report.h"
#include "tenon/store.h"

/* To the byte with the same number of threads; BLAS rounds in another way with another (docs/threads.md), a float in
 * 2^-24 and the head of a ridge problem of condition 1e3 in 1e-4. */
static void the_same_seed_gives_the_same_head(void **state)
{
    (void)state;
    data s = data_of(15, 10, 6, 0.8, TN_TASK_MULTICLASS, 7);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    void *written[3];
    size_t size[3];
    float first[6 * 10];
    const size_t threads[] = {1, 1, 3};
    for (size_t t = 0; t < 3; ++t) {
        tn_ctx_set_threads(test_ctx, threads[t]);
        fitted f = fit(&s, &opt);
        assert_true(f.info->tried_count >= 5);
        assert_fine(test_ctx, tn_head_to_bytes(test_ctx, f.head, "test", &written[t], &size[t]));
        if (t == 0)
            memcpy(first, tn_head_weight(f.head), sizeof first);
        for (size_t i = 0; i < 60; ++i)
            assert_near((double)tn_head_weight(f.head)[i], (double)first[i], 1e-4);
        fitted_free(&f);
    }
    tn_ctx_set_threads(test_ctx, 0);
    assert_true(size[1] == size[0] && memcmp(written[1], written[0], size[0]) == 0);
    for (size_t t = 0; t < 3; ++t)
        tn_bytes_free(written[t]);
    data_free(&s);
}

/* 1, 2, 5 and 25 rows per class, near and far classes: on as many rows again. What is allowed is the standard error of
 * SOME of these tests together; five times as many are drawn, for of SOME alone two rows more or less decided, which
 * other kernels are enough for. */
static void auto_is_not_below_the_evidence_by_more_than_a_standard_error(void **state)
{
    (void)state;
    enum { SOME = 24, DRAWS = 5 * SOME, CLASSES = 8 };
    const size_t rows[] = {1, 2, 5, 25};
    for (size_t r = 0; r < 4; ++r)
        for (int far = 0; far < 2; ++far) {
            double sum = 0, n = SOME * (double)(rows[r] * CLASSES);
            for (uint64_t seed = 1; seed <= DRAWS; ++seed) {
                data s = data_of(rows[r], 12, CLASSES, far ? 1 : 0.5, TN_TASK_MULTICLASS, seed);
                tnp_fit_options opt = options_for(TNP_METHOD_AUTO), plain = options_for(TNP_METHOD_EVIDENCE);
                fitted a = fit(&s, &opt), b = fit(&s, &plain);
                sum += accuracy(&s, a.head, s.n * s.k) - accuracy(&s, b.head, s.n * s.k);
                fitted_free(&a);
                fitted_free(&b);
                data_free(&s);
            }
            assert_true(sum / DRAWS >= -0.5 / sqrt(n)); /* of a share: sqrt(p (1 - p) / n) at most */
        }
}

/* Nobody can be judged: the head goes by directions, and says so. */
static void one_row_per_class_leaves_no_race(void **state)
{
    (void)state;
    data s = data_of(1, 12, 8, 1, TN_TASK_MULTICLASS, 2);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    fitted f = fit(&s, &opt);
    char *text = NULL;
    assert_int_equal(f.info->tried_count, 0);
    assert_string_equal(f.info->method, "auto");
    assert_non_null(
        strstr(f.info->tried_note, "no row can be held out to judge by: the head goes by the directions of"));
    assert_fine(test_ctx, tn_fit_json(test_ctx, f.info, NULL, &text));
    assert_non_null(strstr(text, "\"tried\":[]"));
    tn_text_free(text);
    fitted_free(&f);
    data_free(&s);
}

static const tn_tried *chosen_of(const tn_fit_info *info)
{
    const tn_tried *found = NULL;
    for (size_t i = 0; i < info->tried_count; ++i)
        if (info->tried[i]->chosen) {
            assert_null(found);
            found = info->tried[i];
        }
    assert_non_null(found);
    return found;
}

/* Tasks other than many classes, and weights. */
static void every_task_has_its_race(void **state)
{
    (void)state;
    const tn_task tasks[] = {TN_TASK_MULTILABEL, TN_TASK_REGRESSION};
    for (size_t t = 0; t < 2; ++t) {
        data s = data_of(20, 8, 4, 0.7, tasks[t], 3);
        tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
        fitted f = fit(&s, &opt);
        assert_string_equal(f.info->tried_metric, t ? "r2" : "mean_ap");
        assert_true(chosen_of(f.info)->mean > 0.5);
        for (size_t i = 0; i < f.info->tried_count; ++i)
            assert_true(!t || strcmp(f.info->tried[i]->method, "evidence") == 0 ||
                        strcmp(f.info->tried[i]->method, "ridge-cv") == 0);
        assert_true((tn_head_thresholds(f.head) != NULL) == (tasks[t] == TN_TASK_MULTILABEL));
        fitted_free(&f);
        data_free(&s);
    }
    data s = data_of(20, 8, 4, 0.7, TN_TASK_MULTICLASS, 3);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    opt.learn.class_weight = TNP_WEIGHT_BALANCED;
    fitted f = fit(&s, &opt);
    assert_true(chosen_of(f.info)->mean > 0.5);
    fitted_free(&f);
    data_free(&s);
}

/* Of 12,000 rows some 6000 race, a fifth of them judge, and the head has seen all. */
static void many_rows_race_on_a_sample(void **state)
{
    (void)state;
    data s = data_of(4000, 6, 3, 0.7, TN_TASK_MULTICLASS, 4);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    fitted f = fit(&s, &opt);
    const tn_tried *chosen = chosen_of(f.info);
    assert_true(chosen->rows >= 1000 && chosen->rows <= 2001);
    assert_near(accuracy(&s, f.head, s.n * s.k), chosen->mean, 4 * chosen->se);
    fitted_free(&f);
    data_free(&s);
}

/* Of two representations one is noise: the evidence takes the other, and the race is run with all and with it alone. */
static void other_sets_race_where_the_winner_is_no_ridge(void **state)
{
    (void)state;
    data s = data_of(30, 16, 8, 0.6, TN_TASK_MULTICLASS, 9);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    opt.select = TNP_SEARCH_GREEDY;
    fitted f = fit(&s, &opt);
    const tn_tried *chosen = chosen_of(f.info);
    char joined[64] = "";
    for (size_t i = 0; i < f.info->selected_count; ++i)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? " + " : "", f.info->selected[i]);
    assert_string_equal(joined, chosen->set);
    assert_int_equal(tn_head_rep_count(f.head), f.info->selected_count);
    if (strstr(chosen->method, "evidence") != chosen->method || strstr(chosen->method, "+"))
        assert_true(strcmp(f.info->tried[0]->set, f.info->tried[f.info->tried_count - 1]->set) != 0);
    fitted_free(&f);
    data_free(&s);
}

/* ---- budget, interrupt, refusals ---- */

static void a_budget_that_is_used_up_leaves_the_head_of_the_evidence(void **state)
{
    (void)state;
    data s = data_of(20, 8, 4, 0.7, TN_TASK_MULTICLASS, 3);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO), plain = options_for(TNP_METHOD_EVIDENCE);
    opt.budget = 1e-9;
    fitted a = fit(&s, &opt), b = fit(&s, &plain);
    assert_string_equal(a.info->tried_note, "the budget was used up");
    assert_false(a.info->interrupted);
    assert_memory_equal(tn_head_weight(a.head), tn_head_weight(b.head), s.d * s.k * sizeof(float));
    fitted_free(&a);
    fitted_free(&b);
    data_free(&s);
}

/* Cancels at a stage of this name, or, with `race`, of the race. */
typedef struct stop {
    const char *at;
    bool race, done;
} stop;

static void stop_at(void *user, const char *stage, double share)
{
    stop *s = user;
    bool race = strncmp(stage, "race: ", 6) == 0;
    (void)share;
    if (!s->done && race == s->race && strstr(stage, s->at)) {
        s->done = true;
        tn_ctx_cancel(test_ctx);
    }
}

/* With a budget the best so far is the head, of the race or, while the winner is trained, that of the evidence; without
 * one there is none. */
static void an_interrupt_keeps_the_best_so_far_with_a_budget_and_nothing_without(void **state)
{
    (void)state;
    data s = data_of(20, 8, 4, 0.7, TN_TASK_MULTICLASS, 3);
    for (int i = 0; i < 4; ++i) {
        bool budget = i % 2, race = i < 2;
        tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
        stop when = {race ? "svm" : "logistic", race, false};
        fitted f;
        opt.budget = budget ? 1e6 : 0;
        tn_ctx_set_progress(test_ctx, stop_at, &when);
        tn_status st = try_fit(&s, &opt, &f);
        tn_ctx_set_progress(test_ctx, NULL, NULL);
        tn_ctx_reset(test_ctx);
        assert_true(when.done);
        assert_int_equal(st, budget ? TN_OK : TN_ERR_INTERRUPTED);
        assert_true((f.head != NULL) == budget);
        if (budget) {
            assert_true(f.info->interrupted && f.info->tried_count > 0);
            (void)chosen_of(f.info);
            if (!race)
                assert_string_equal(f.info->method, "evidence");
            fitted_free(&f);
        }
    }
    data_free(&s);
}

/* Rows of one positive column are all the same once they have length 1: there is no eigenvalue to put a grid about. */
static void columns_that_never_change_have_a_race(void **state)
{
    (void)state;
    data s = data_of(5, 2, 2, 1, TN_TASK_MULTICLASS, 4);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    opt.rank.normalize = "l2";
    for (size_t i = 0; i < 2 * s.n * s.k * s.d; ++i)
        s.x[i] = fabs(s.x[i]) + 1;
    for (size_t f = 0; f < 2; ++f) {
        tn_features_close(s.features[f]);
        s.features[f] = array_of(f ? "b" : "a", s.x, s.n * s.k, 1, AS_F32);
    }
    fitted got = fit(&s, &opt);
    for (size_t c = 0; c < s.k; ++c)
        assert_true(isfinite(tn_head_bias(got.head)[c]));
    fitted_free(&got);
    data_free(&s);
}

static void options_of_one_family_are_refused_with_the_methods_that_have_them(void **state)
{
    (void)state;
    const char *const given[][3] = {
        {"lambda", "0.1", "evidence"}, {"C", "2", "svm"}, {"eta", "0.7", "perceptron to scw2"}};
    data s = data_of(5, 8, 3, 1, TN_TASK_MULTICLASS, 3);
    for (size_t i = 0; i < sizeof given / sizeof *given; ++i) {
        tn_options *o = NULL;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        assert_fine(test_ctx, tn_options_new(test_ctx, "fit", &o));
        assert_fine(test_ctx, tn_options_set(test_ctx, o, given[i][0], given[i][1]));
        assert_fails(test_ctx, TN_ERR_ARG, given[i][2],
                     tn_fit(test_ctx, (const tn_features *const *)s.features, 2, s.labels, o, &info, &head));
        tn_options_free(o);
    }
    data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_head),
        cmocka_unit_test(auto_is_not_below_the_evidence_by_more_than_a_standard_error),
        cmocka_unit_test(one_row_per_class_leaves_no_race),
        cmocka_unit_test(every_task_has_its_race),
        cmocka_unit_test(many_rows_race_on_a_sample),
        cmocka_unit_test(other_sets_race_where_the_winner_is_no_ridge),
        cmocka_unit_test(a_budget_that_is_used_up_leaves_the_head_of_the_evidence),
        cmocka_unit_test(an_interrupt_keeps_the_best_so_far_with_a_budget_and_nothing_without),
        cmocka_unit_test(columns_that_never_change_have_a_race),
        cmocka_unit_test(options_of_one_family_are_refused_with_the_methods_that_have_them),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
