/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics against values worked out by hand and scikit-learn's answers, and their failures. The metrics of a ranking
 * have tests of their own, test_ranking_metrics.c. */
#include "fixtures/metrics/sklearn_metrics.h"
#include "metrics_set.h"

/* ---- by hand ---- */

static void confusion_table_by_hand(void **state)
{
    /* true 0: guessed 0, 0, 1;  true 1: guessed 1;  true 2: guessed 0, 2;  the last row is unlabelled.
     * accuracy 4/6; recalls 2/3, 1, 1/2; their mean 13/18. */
    const float scores[] = {3, 1, 2, 9, 8, 7, 1, 2, 0, 0, 1, 0, 5, 4, 3, -3, -2, -1, 1, 1, 1};
    const int y[] = {0, 0, 0, 1, 2, 2, -1};
    set s = set_of(7, 3, scores, y);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_int_equal(m->task, TN_TASK_MULTICLASS);
    assert_int_equal(m->rows, 6);
    assert_int_equal(m->classes, 3);
    assert_near(m->accuracy, 4.0 / 6, TOLERANCE);
    assert_near(m->mean_class_accuracy, 13.0 / 18, TOLERANCE);
    assert_near(m->balanced_accuracy, 13.0 / 18, TOLERANCE);
    assert_near(m->per_class[0].accuracy, 2.0 / 3, TOLERANCE);
    assert_near(m->per_class[1].accuracy, 1, 0);
    assert_near(m->per_class[2].accuracy, 0.5, 0);
    assert_int_equal(m->per_class[0].positives, 3);
    assert_true(isnan(m->top5_accuracy) && isnan(m->r2) && isnan(m->mse));
    assert_true(isnan(m->per_class[0].balanced_accuracy) && isnan(m->per_class[0].r2) && isnan(m->per_class[0].mse));
    tn_metrics_free(m);
    set_free(&s);
}

static void ties_go_to_the_lower_class(void **state)
{
    /* All seven scores equal: the guess is class 0, the five best are classes 0 to 4.
     * Rows of class 0, 4, 5, 6: accuracy 1/4, top 5 2/4. Every row ties: auc 1/2, ap = precision = 1/4. */
    const float scores[28] = {0};
    const int y[] = {0, 4, 5, 6};
    set s = set_of(4, 7, scores, y);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_near(m->accuracy, 0.25, 0);
    assert_near(m->top5_accuracy, 0.5, 0);
    assert_near(m->mean_auc, 0.5, 0);
    assert_near(m->mean_ap, 0.25, 0);
    assert_near(m->mean_ap_voc07, 0.25, TOLERANCE);
    assert_true(isnan(m->per_class[1].accuracy) && isnan(m->per_class[1].auc));
    tn_metrics_free(m);
    set_free(&s);
}

static void regression_by_hand(void **state)
{
    /* y 1 2 3 6, predicted 1 2 4 4: squared errors 0 0 1 4, mse 5/4; mean 3, spread 4 + 1 + 0 + 9; r2 1 - 5/14. */
    const double y[] = {1, 2, 3, 6};
    const float guess[] = {1, 2, 4, 4};
    set s = set_new(TN_TASK_REGRESSION, 4, 1, 1);
    memcpy(s.labels.values, y, sizeof y);
    memcpy(s.scores, guess, sizeof guess);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_near(m->mse, 1.25, TOLERANCE);
    assert_near(m->r2, 9.0 / 14, TOLERANCE);
    assert_true(isnan(m->accuracy) && isnan(m->mean_ap) && isnan(m->mean_auc) && isnan(m->balanced_accuracy));
    tn_metrics_free(m);
    set_free(&s);
}

static void constant_target_is_seen_exactly(void **state)
{
    /* The mean of ten times 0.1 is not 0.1 in double: the spread is not zero, the target is constant all the same. */
    set s = set_new(TN_TASK_REGRESSION, 10, 1, 1);
    for (size_t i = 0; i < 10; ++i)
        s.labels.values[i] = 0.1;
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_near(m->r2, 0, 0);
    assert_near(m->mse, 0.01, TOLERANCE);
    tn_metrics_free(m);
    set_free(&s);
}

static void single_row(void **state)
{
    const float scores[] = {1, 2};
    const int y[] = {1};
    set s = set_of(1, 2, scores, y);
    tn_metrics *m = metrics_of(*state, &s, 0);
    assert_near(m->accuracy, 1, 0);
    assert_near(m->balanced_accuracy, 1, 0);
    assert_true(isnan(m->mean_ap) && isnan(m->mean_ap_voc07) && isnan(m->mean_auc));
    assert_true(isnan(m->per_class[0].accuracy));
    tn_metrics_free(m);
    set_free(&s);
    set r = set_new(TN_TASK_REGRESSION, 1, 1, 1);
    r.labels.values[0] = 3;
    m = metrics_of(*state, &r, 0);
    assert_near(m->mse, 9, 0);
    assert_true(isnan(m->r2));
    tn_metrics_free(m);
    set_free(&r);
}

static void no_positive_anywhere(void **state)
{
    set s = set_new(TN_TASK_MULTILABEL, 3, 2, 2);
    free(s.labels.cls);
    s.labels.cls = NULL;
    tn_metrics *m = metrics_of(*state, &s, 0.5);
    assert_near(m->accuracy, 1, 0);
    assert_true(isnan(m->mean_ap) && isnan(m->balanced_accuracy));
    tn_metrics_free(m);
    set_free(&s);
}

/* ---- scikit-learn ---- */

static set set_of_case(const metrics_case *k)
{
    /* a stride wider than the columns, filled with what must not be read */
    set s = set_new(k->task, k->rows, k->classes, k->classes + 3);
    bool *truth = array_of(k->rows * k->classes, sizeof *truth);
    for (size_t i = 0; i < k->rows; ++i) {
        s.labels.known[i] = k->known[i];
        for (size_t c = 0; c < s.stride; ++c)
            s.scores[i * s.stride + c] = c < k->classes ? (float)k->scores[i * k->classes + c] / 64 : NAN;
        for (size_t c = 0; c < k->classes; ++c) {
            if (k->task == TN_TASK_MULTICLASS)
                truth[i * k->classes + c] = k->labels[i] == (short)c;
            else if (k->task == TN_TASK_MULTILABEL)
                truth[i * k->classes + c] = k->labels[i * k->classes + c] != 0;
            else
                s.labels.values[i * k->classes + c] = k->labels[i * k->classes + c] / 64.0;
        }
        if (!k->known[i])
            s.scores[i * s.stride] = NAN; /* an unlabelled row is not looked at */
    }
    if (k->task != TN_TASK_REGRESSION)
        set_truth(&s, truth);
    free(truth);
    return s;
}

static void equals_scikit_learn(void **state)
{
    for (size_t j = 0; j < sizeof metrics_cases / sizeof *metrics_cases; ++j) {
        const metrics_case *k = &metrics_cases[j];
        set s = set_of_case(k);
        tn_metrics *m = metrics_of(*state, &s, k->threshold);
        const double total[] = {m->accuracy,
                                m->top5_accuracy,
                                m->mean_class_accuracy,
                                m->mean_ap,
                                m->mean_ap_voc07,
                                m->mean_auc,
                                m->balanced_accuracy,
                                m->r2,
                                m->mse};
        for (size_t e = 0; e < 9; ++e)
            assert_same(1000 * j + e, total[e], k->total[e]);
        for (size_t c = 0; c < k->classes; ++c) {
            const tn_class_metrics *p = &m->per_class[c];
            const double each[] = {p->accuracy, p->ap, p->ap_voc07, p->auc, p->balanced_accuracy, p->r2, p->mse};
            for (size_t e = 0; e < 7; ++e)
                assert_same(1000 * j + 10 * c + e, each[e], k->each[7 * c + e]);
        }
        tn_metrics_free(m);
        set_free(&s);
    }
}

/* ---- what must not matter ---- */

static void threads_leave_no_trace(void **state)
{
    tn_ctx *ctx = *state;
    const size_t threads[] = {2, 3, 7};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        set s = random_set((tn_task)task, 3000, 40, 500, 5);
        tn_ctx_set_threads(ctx, 1);
        tn_metrics *one = metrics_of(ctx, &s, 2);
        for (size_t t = 0; t < 3; ++t) {
            tn_ctx_set_threads(ctx, threads[t]);
            tn_metrics *several = metrics_of(ctx, &s, 2);
            assert_identical(several, one);
            tn_metrics_free(several);
        }
        tn_metrics_free(one);
        set_free(&s);
    }
}

/* ---- failures ---- */

static void allocation_failures_leave_nothing(void **state)
{
    tn_ctx *ctx = *state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        set s = random_set((tn_task)task, 50, 4, 30, 2);
        tn_status st = TN_ERR_MEMORY;
        size_t k = 0;
        for (tn_metrics *m = NULL; st != TN_OK; ++k) {
            tnp_fail_allocation(ctx, k + 1);
            st = tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m);
            tnp_fail_allocation(ctx, 0);
            assert_true(st == TN_OK || (st == TN_ERR_MEMORY && !m && tnp_live_blocks(ctx) == 0));
            tn_metrics_free(m);
        }
        assert_true(k > 3);
        set_free(&s);
    }
}

static void nan_is_named_by_row_and_column(void **state)
{
    tn_ctx *ctx = *state;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        set s = random_set((tn_task)task, 700, 5, 30, 2);
        tn_metrics *m = NULL;
        s.labels.known[611] = s.labels.known[650] = true;
        s.scores[611 * s.stride + 3] = s.scores[650 * s.stride + 1] = NAN;
        assert_fails(ctx, TN_ERR_DATA, "score at row 611, column 3 is nan",
                     tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
        assert_null(m);
        set_free(&s);
    }
}

static void regression_wants_finite_numbers(void **state)
{
    tn_ctx *ctx = *state;
    set s = random_set(TN_TASK_REGRESSION, 20, 2, 30, 2);
    tn_metrics *m = NULL;
    memset(s.labels.known, 1, 20 * sizeof(bool));
    s.labels.values[2 * 7 + 1] = (double)NAN;
    assert_fails(ctx, TN_ERR_DATA, "target at row 7, column 1 is nan",
                 tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    s.scores[s.stride * 4] = INFINITY;
    assert_fails(ctx, TN_ERR_DATA, "score at row 4, column 0 is inf",
                 tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    s.scores[s.stride * 4] = 0;
    s.labels.values[2 * 7 + 1] = 1e200;
    assert_fails(ctx, TN_ERR_NUMERIC, "output 1", tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    assert_null(m);
    set_free(&s);
}

static void shapes_must_agree(void **state)
{
    tn_ctx *ctx = *state;
    set s = random_set(TN_TASK_MULTICLASS, 20, 4, 30, 2);
    tn_metrics *m = NULL;
    tn_view v = view_of(&s);
    v.rows = 19;
    assert_fails(ctx, TN_ERR_SHAPE, "19 rows, labels 20", tn_metrics_compute(ctx, v, &s.labels, 0, &m));
    v = view_of(&s);
    v.cols = 3;
    assert_fails(ctx, TN_ERR_SHAPE, "3 columns, labels 4", tn_metrics_compute(ctx, v, &s.labels, 0, &m));
    v = view_of(&s);
    v.stride = 2;
    assert_fails(ctx, TN_ERR_SHAPE, "stride 2", tn_metrics_compute(ctx, v, &s.labels, 0, &m));
    assert_null(m);
    set_free(&s);
}

static void the_threshold_must_be_a_number(void **state)
{
    tn_ctx *ctx = *state;
    const bool truth[] = {true, true, false, false, false, true};
    set s = set_new(TN_TASK_MULTILABEL, 2, 3, 3);
    tn_metrics *m = NULL;
    set_truth(&s, truth);
    assert_fails(ctx, TN_ERR_ARG, "threshold", tn_metrics_compute(ctx, view_of(&s), &s.labels, (double)NAN, &m));
    assert_null(m);
    set_free(&s);
}

static void something_must_be_known(void **state)
{
    tn_ctx *ctx = *state;
    const float scores[] = {1, 2, 3, 4};
    const int y[] = {-1, -1};
    tn_metrics *m = NULL;
    set s = set_of(2, 2, scores, y);
    assert_fails(ctx, TN_ERR_DATA, "none of the 2 rows", tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    memset(s.labels.known, 1, 2 * sizeof(bool)); /* known, but of no class: skipped all the same */
    assert_fails(ctx, TN_ERR_DATA, "none of the 2 rows", tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    s.labels.rows = 0;
    assert_fails(ctx, TN_ERR_DATA, "none of the 0 rows", tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    s.labels.classes = 0;
    assert_fails(ctx, TN_ERR_DATA, "no class", tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    assert_null(m);
    set_free(&s);
}

static void cancel_stops(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    set s = random_set(TN_TASK_MULTICLASS, 20, 4, 30, 2);
    tn_metrics *m = NULL;
    tn_ctx_cancel(ctx);
    assert_fails(ctx, TN_ERR_INTERRUPTED, "", tn_metrics_compute(ctx, view_of(&s), &s.labels, 0, &m));
    assert_null(m);
    ctx_done(ctx);
    set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_context(confusion_table_by_hand),
        with_context(ties_go_to_the_lower_class),
        with_context(regression_by_hand),
        with_context(constant_target_is_seen_exactly),
        with_context(single_row),
        with_context(no_positive_anywhere),
        with_context(equals_scikit_learn),
        with_context(threads_leave_no_trace),
        with_context(allocation_failures_leave_nothing),
        with_context(nan_is_named_by_row_and_column),
        with_context(regression_wants_finite_numbers),
        with_context(shapes_must_agree),
        with_context(the_threshold_must_be_a_number),
        with_context(something_must_be_known),
        cmocka_unit_test(cancel_stops),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
