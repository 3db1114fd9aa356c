/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which rows take part and what their targets are: labels with gaps, bad rows in any representation, tasks with nothing
 * to learn. */
#include "fixtures/problems.h"
#include "learn/ridge/ridge.h"
#include "learn/head/task.h"

enum { N = 10, D = 3, K = 3 };

static double x[2][N * D], y[N * K];

/* Two clean representations and one class a row, 0 1 2 0 1 2 ... */
static void fill(void)
{
    for (size_t i = 0; i < N; ++i) {
        for (size_t j = 0; j < D; ++j)
            x[0][i * D + j] = x[1][i * D + j] = (double)(i * D + j);
        for (size_t c = 0; c < K; ++c)
            y[i * K + c] = i % K == c;
    }
}

static tn_status make(tn_task task, tn_nan_policy nan, bool intercept, tnp_task **out)
{
    tn_features *features[2] = {features_of("a", x[0], N, D, AS_F32), features_of("b", x[1], N, D, AS_F64)};
    tn_labels *labels = labels_of(y, N, K, task);
    tn_status st = tnp_task_new(test_ctx, (const tn_features *const *)features, 2, labels, nan, intercept, out);
    labels_done(labels);
    tn_features_close(features[0]);
    tn_features_close(features[1]);
    return st;
}

static void fails(tn_task task, tn_nan_policy nan, tn_status status, const char *part)
{
    tnp_task *const untouched = (tnp_task *)(void *)x;
    tnp_task *t = untouched;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, make(task, nan, true, &t));
    assert_ptr_equal(t, untouched);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

/* The task has exactly these rows, with their targets. */
static void expect_rows(const tnp_task *t, const size_t *rows, size_t count)
{
    assert_int_equal(t->y.rows, count);
    assert_int_equal(t->left_out, N - count);
    assert_int_equal(t->y.classes, K);
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(t->rows[i], rows[i]);
        for (size_t c = 0; c < K; ++c)
            assert_near_at(i, tnp_target(&t->y, i, c) + t->offset[c], y[rows[i] * K + c], 1e-15);
    }
}

static void all_rows_of_clean_data(void **state)
{
    (void)state;
    const size_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    fill();
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        for (int nan = TN_NAN_ERROR; nan <= TN_NAN_ZERO; ++nan) {
            tnp_task *t = NULL;
            assert_fine(test_ctx, make((tn_task)task, (tn_nan_policy)nan, true, &t));
            assert_int_equal(t->kind, task);
            expect_rows(t, rows, N);
            for (size_t c = 0; c < K; ++c)
                assert_false(t->constant[c]);
            tnp_task_free(t);
        }
}

static void unlabelled_rows_are_left_out(void **state)
{
    (void)state;
    const size_t rows[] = {1, 2, 3, 5, 6, 7, 8};
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        tnp_task *t = NULL;
        fill();
        y[0] = y[4 * K] = y[9 * K] = NAN;
        assert_fine(test_ctx, make((tn_task)task, TN_NAN_ERROR, true, &t));
        expect_rows(t, rows, 7);
        tnp_task_free(t);
    }
}

/* A row that is bad in one representation is left out of all; an unlabelled bad row counts once. */
static void bad_rows_are_dropped_across_representations(void **state)
{
    (void)state;
    const size_t rows[] = {0, 1, 3, 4, 6, 8};
    tnp_task *t = NULL;
    fill();
    x[0][2 * D + 1] = NAN;
    x[1][5 * D] = INFINITY;
    x[0][7 * D + 2] = x[1][7 * D] = -INFINITY;
    x[1][9 * D + 2] = NAN;
    y[9 * K] = NAN;
    assert_fine(test_ctx, make(TN_TASK_MULTICLASS, TN_NAN_DROP, true, &t));
    expect_rows(t, rows, 6);
    tnp_task_free(t);
    assert_fine(test_ctx, make(TN_TASK_MULTICLASS, TN_NAN_ZERO, true, &t));
    assert_int_equal(t->y.rows, 9);
    tnp_task_free(t);
}

static void nothing_to_learn(void **state)
{
    (void)state;
    fill();
    for (size_t i = 0; i < N; ++i)
        for (size_t c = 0; c < K; ++c)
            y[i * K + c] = c == 1;
    fails(TN_TASK_MULTICLASS, TN_NAN_ERROR, TN_ERR_DATA, "one class only ('class1')");
    fails(TN_TASK_MULTILABEL, TN_NAN_ERROR, TN_ERR_DATA, "every target is constant");
    fails(TN_TASK_REGRESSION, TN_NAN_ERROR, TN_ERR_DATA, "every target is constant");
    for (size_t i = 0; i < N; ++i)
        y[i * K] = NAN;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        fails((tn_task)task, TN_NAN_ERROR, TN_ERR_DATA, "labels.npy: no labelled rows");
    fill();
    for (size_t i = 1; i < N; ++i)
        y[i * K] = NAN;
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task)
        fails((tn_task)task, TN_NAN_ERROR, TN_ERR_DATA, "1 labelled row");
    fill();
    for (size_t i = 0; i < N; ++i)
        x[1][i * D] = NAN;
    fails(TN_TASK_MULTICLASS, TN_NAN_DROP, TN_ERR_DATA, "no labelled rows");
}

/* Dropping rows can leave one class only. */
static void one_class_left_after_dropping(void **state)
{
    (void)state;
    fill();
    for (size_t i = 0; i < N; ++i)
        if (i % K != 2)
            x[0][i * D] = NAN;
    fails(TN_TASK_MULTICLASS, TN_NAN_DROP, TN_ERR_DATA, "one class only ('class2')");
}

/* A part of the data may hold one class or one row; that is for its merger to judge. */
static void parts_may_be_poor(void **state)
{
    (void)state;
    fill();
    for (size_t i = 1; i < N; ++i)
        y[i * K] = NAN;
    tn_features *features = features_of("a", x[0], N, D, AS_F32);
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        tn_labels *labels = labels_of(y, N, K, (tn_task)task);
        tnp_task *t = NULL;
        assert_fine(test_ctx,
                    tnp_task_rows(test_ctx, (const tn_features *const *)&features, 1, labels, TN_NAN_ERROR, &t));
        assert_int_equal(t->y.rows, 1);
        for (size_t c = 0; c < K; ++c) {
            assert_true(t->offset[c] == 0); /* an offset of its own would not merge */
            assert_true(t->constant[c]);
        }
        tnp_task_free(t);
        labels_done(labels);
    }
    tn_features_close(features);
}

static void constant_classes_are_marked(void **state)
{
    (void)state;
    tnp_task *t = NULL;
    fill();
    for (size_t i = 0; i < N; ++i) {
        y[i * K + 1] = 0;
        y[i * K + 2] = 1;
    }
    assert_fine(test_ctx, make(TN_TASK_MULTILABEL, TN_NAN_ERROR, true, &t));
    assert_false(t->constant[0]);
    assert_true(t->constant[1]);
    assert_true(t->constant[2]);
    tnp_task_free(t);
    /* a class whose only positive row is unlabelled in training */
    fill();
    y[2 * K] = y[5 * K] = y[8 * K] = NAN;
    assert_fine(test_ctx, make(TN_TASK_MULTICLASS, TN_NAN_ERROR, true, &t));
    assert_false(t->constant[0]);
    assert_false(t->constant[1]);
    assert_true(t->constant[2]);
    tnp_task_free(t);
}

static void multi_label_rows_keep_their_lists(void **state)
{
    (void)state;
    const size_t rows[] = {0, 1, 2, 4, 5, 6, 7, 8, 9};
    tnp_task *t = NULL;
    fill();
    memset(y, 0, sizeof y);
    y[1 * K] = y[1 * K + 2] = y[4 * K] = y[4 * K + 1] = y[4 * K + 2] = y[9 * K + 1] = 1;
    y[3 * K] = NAN;
    assert_fine(test_ctx, make(TN_TASK_MULTILABEL, TN_NAN_ERROR, false, &t));
    expect_rows(t, rows, 9);
    assert_int_equal(t->first[9], 6);
    tnp_task_free(t);
}

/* Regression with an intercept: the mean over the rows that take part is taken off and remembered. */
static void regression_targets_lose_their_mean(void **state)
{
    (void)state;
    tnp_task *t = NULL;
    fill();
    double mean[K] = {0};
    for (size_t i = 0; i < N; ++i)
        for (size_t c = 0; c < K; ++c) {
            y[i * K + c] = 1e6 * (double)(c + 1) + (double)((i * 7 + c) % 5);
            mean[c] += i == 3 ? 0 : y[i * K + c] / (N - 1);
        }
    y[3 * K] = NAN;
    assert_fine(test_ctx, make(TN_TASK_REGRESSION, TN_NAN_ERROR, true, &t));
    for (size_t c = 0; c < K; ++c) {
        double sum = 0;
        assert_near(t->offset[c], mean[c], 1e-14);
        for (size_t i = 0; i < t->y.rows; ++i) {
            sum += tnp_target(&t->y, i, c);
            assert_near(tnp_target(&t->y, i, c), y[t->rows[i] * K + c] - t->offset[c], 0);
        }
        assert_near(sum, 0, 1e-8);
    }
    tnp_task_free(t);
    assert_fine(test_ctx, make(TN_TASK_REGRESSION, TN_NAN_ERROR, false, &t));
    for (size_t c = 0; c < K; ++c)
        assert_true(t->offset[c] == 0);
    tnp_task_free(t);
}

static void rows_must_agree(void **state)
{
    (void)state;
    tnp_task *t = NULL;
    fill();
    tn_features *features[2] = {features_of("a", x[0], N, D, AS_F32), features_of("b", x[1], N - 1, D, AS_F32)};
    tn_labels *labels = labels_of(y, N, K, TN_TASK_MULTICLASS);
    assert_fails(test_ctx, TN_ERR_SHAPE, "b: 9 rows",
                 tnp_task_new(test_ctx, (const tn_features *const *)features, 2, labels, TN_NAN_ERROR, true, &t));
    assert_null(t);
    labels_done(labels);
    tn_features_close(features[0]);
    tn_features_close(features[1]);
}

/* Any rows, in any order, some twice: their lists or values, one by one. */
static void picked_rows_keep_their_targets(void **state)
{
    (void)state;
    static const size_t starts[5] = {0, 2, 2, 3, 6}, rows[5] = {3, 0, 1, 3, 2};
    static const uint32_t cls[6] = {0, 2, 1, 0, 1, 2};
    static const double values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const tnp_targets lists = {.rows = 4, .classes = 3, .first = starts, .cls = cls},
                      numbers = {.rows = 4, .classes = 2, .values = values};
    for (size_t count = 0; count <= 5; ++count) {
        tnp_picked p;
        assert_fine(test_ctx, tnp_picked_init(test_ctx, &lists, rows, count, &p));
        assert_true(p.y.rows == count && p.y.classes == 3 && !p.y.values && p.y.first[0] == 0);
        for (size_t i = 0; i < count; ++i)
            for (size_t c = 0; c < 3; ++c)
                assert_true(tnp_target(&p.y, i, c) == tnp_target(&lists, rows[i], c));
        tnp_picked_destroy(&p);
        assert_fine(test_ctx, tnp_picked_init(test_ctx, &numbers, rows, count, &p));
        assert_true(p.y.rows == count && p.y.classes == 2 && !p.y.first);
        for (size_t i = 0; i < 2 * count; ++i)
            assert_true(p.y.values[i] == values[rows[i / 2] * 2 + i % 2]);
        tnp_picked_destroy(&p);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    tn_features *features = NULL;
    fill();
    features = features_of("a", x[0], N, D, AS_F32);
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        tn_labels *labels = labels_of(y, N, K, (tn_task)task);
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        tnp_task *t = NULL;
        for (;; ++k) {
            tnp_fail_allocation(test_ctx, k);
            tn_status st =
                tnp_task_new(test_ctx, (const tn_features *const *)&features, 1, labels, TN_NAN_DROP, true, &t);
            tnp_fail_allocation(test_ctx, 0);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_null(t);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(k > 6);
        tnp_task_free(t);
        labels_done(labels);
    }
    tn_features_close(features);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_of_clean_data),
        cmocka_unit_test(unlabelled_rows_are_left_out),
        cmocka_unit_test(bad_rows_are_dropped_across_representations),
        cmocka_unit_test(nothing_to_learn),
        cmocka_unit_test(one_class_left_after_dropping),
        cmocka_unit_test(parts_may_be_poor),
        cmocka_unit_test(constant_classes_are_marked),
        cmocka_unit_test(multi_label_rows_keep_their_lists),
        cmocka_unit_test(regression_targets_lose_their_mean),
        cmocka_unit_test(rows_must_agree),
        cmocka_unit_test(picked_rows_keep_their_targets),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
