/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds: how many rows of each class every fold gets, that they are seeded, and when there can be none. */
#include "fixtures/problems.h"
#include "learn/head/folds.h"

/* Lists of classes, one a row. */
typedef struct lists {
    tnp_targets y;
    size_t *first;
    uint32_t *cls;
} lists;

/* n rows of k classes; class c has about c + 1 shares, class k - 1 a single row. */
static lists uneven(size_t n, size_t k)
{
    lists l = {.first = ref_alloc(n + 1, sizeof *l.first), .cls = ref_alloc(n, sizeof *l.cls)};
    ref_rng rng = ref_rng_of(n + k);
    for (size_t i = 0; i < n; ++i) {
        size_t c = 0, at = ref_below(&rng, k * (k - 1) / 2);
        while (at > c)
            at -= ++c;
        l.first[i + 1] = i + 1;
        l.cls[i] = (uint32_t)(i == n / 2 ? k - 1 : c);
    }
    l.y = (tnp_targets){.rows = n, .classes = k, .first = l.first, .cls = l.cls};
    return l;
}

static void lists_free(lists *l)
{
    free(l->first);
    free(l->cls);
}

/* Counts of rows: (folds, classes), and of each fold. */
static void count_rows(const tnp_targets *y, const uint32_t *fold, size_t folds, size_t *of_class, size_t *of_fold)
{
    for (size_t i = 0; i < y->rows; ++i) {
        assert_true(fold[i] < folds);
        ++of_fold[fold[i]];
        ++of_class[fold[i] * y->classes + y->cls[i]];
    }
}

/* Multi-class: in every class, and in all, folds differ by one row at most, also where there are fewer rows than
 * folds. */
static void classes_and_folds_are_even(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{10, 2, 2}, {100, 3, 5}, {97, 7, 10}, {11, 4, 11}, {1000, 13, 3}};
    for (size_t z = 0; z < 5; ++z)
        for (size_t seed = 0; seed < 4; ++seed) {
            size_t n = shapes[z][0], k = shapes[z][1], folds = shapes[z][2];
            lists l = uneven(n, k);
            uint32_t *fold = NULL;
            size_t *of_class = ref_alloc(folds * k, sizeof *of_class), *of_fold = ref_alloc(folds, sizeof *of_fold);
            assert_fine(test_ctx, tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, folds, seed, &fold));
            count_rows(&l.y, fold, folds, of_class, of_fold);
            for (size_t c = 0; c < k; ++c) {
                size_t all = 0;
                for (size_t f = 0; f < folds; ++f)
                    all += of_class[f * k + c];
                for (size_t f = 0; f < folds; ++f)
                    assert_true(of_class[f * k + c] == all / folds || of_class[f * k + c] == (all + folds - 1) / folds);
            }
            for (size_t f = 0; f < folds; ++f) {
                assert_true(of_fold[f] == n / folds || of_fold[f] == (n + folds - 1) / folds);
                assert_true(of_fold[f] > 0);
            }
            tnp_free(fold);
            free(of_class);
            free(of_fold);
            lists_free(&l);
        }
}

/* Other tasks: folds are even, rows without a label in them too. */
static void rows_of_other_tasks(void **state)
{
    (void)state;
    for (int t = 0; t < 2; ++t) {
        tn_task task = t ? TN_TASK_REGRESSION : TN_TASK_MULTILABEL;
        double y[3 * 23] = {0};
        for (size_t i = 0; i < 69; i += 4)
            y[i] = 1;
        tn_labels *l = labels_of(y, 23, 3, task);
        tnp_targets targets = targets_of(l);
        uint32_t *fold = NULL;
        size_t of_fold[5] = {0};
        assert_fine(test_ctx, tnp_folds_new(test_ctx, &targets, task, 5, 3, &fold));
        for (size_t i = 0; i < 23; ++i)
            ++of_fold[fold[i]];
        for (size_t f = 0; f < 5; ++f)
            assert_true(of_fold[f] == 4 || of_fold[f] == 5);
        tnp_free(fold);
        labels_done(l);
    }
}

/* The same seed gives the same folds, another seed others; neighbours are not dealt in the order of the file. */
static void seeds(void **state)
{
    (void)state;
    lists l = uneven(200, 4);
    uint32_t *a = NULL, *b = NULL, *c = NULL;
    size_t same = 0, in_turn = 0;
    assert_fine(test_ctx, tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 5, 1, &a));
    assert_fine(test_ctx, tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 5, 1, &b));
    assert_fine(test_ctx, tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 5, 2, &c));
    assert_memory_equal(a, b, 200 * sizeof *a);
    for (size_t i = 0; i < 200; ++i) {
        same += a[i] == c[i];
        in_turn += a[i] == i % 5;
    }
    assert_in_range(same, 10, 80); /* 40 by chance, s.d. below 6 */
    assert_in_range(in_turn, 10, 80);
    tnp_free(a);
    tnp_free(b);
    tnp_free(c);
    lists_free(&l);
}

static void folds_that_cannot_be(void **state)
{
    (void)state;
    lists l = uneven(6, 2);
    uint32_t *const untouched = (uint32_t *)(void *)test_folder;
    uint32_t *fold = untouched;
    assert_fails(test_ctx, TN_ERR_ARG, "option folds: got 0",
                 tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 0, 0, &fold));
    assert_fails(test_ctx, TN_ERR_ARG, "option folds: got 1, expected at least 2",
                 tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 1, 0, &fold));
    assert_fails(test_ctx, TN_ERR_DATA, "6 rows for 7 folds",
                 tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 7, 0, &fold));
    assert_fails(test_ctx, TN_ERR_DATA, "6 rows for 1000000 folds",
                 tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTILABEL, 1000000, 0, &fold));
    for (size_t k = 1; k < 4; ++k) {
        tnp_fail_allocation(test_ctx, k);
        assert_int_equal(tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 3, 0, &fold), TN_ERR_MEMORY);
        tnp_fail_allocation(test_ctx, 0);
    }
    assert_ptr_equal(fold, untouched);
    assert_fine(test_ctx,
                tnp_folds_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 6, 0, &fold)); /* one row a fold is enough */
    tnp_free(fold);
    lists_free(&l);
}

/* More folds than rows can have: as many as there are rows, half of them in a regression, none where no fold could
 * judge. */
static void folds_of_few_rows(void **state)
{
    (void)state;
    const struct {
        size_t n, k, asked, folds;
        tn_task task;
        const char *y; /* classes of the rows */
    } cases[] = {
        {3, 2, 5, 3, TN_TASK_MULTICLASS, "001"},
        {3, 3, 5, 0, TN_TASK_MULTICLASS, "012"},
        {2, 2, 2, 0, TN_TASK_MULTICLASS, "01"},
        {6, 2, 5, 5, TN_TASK_MULTICLASS, "010101"},
        {4, 1, 5, 0, TN_TASK_MULTILABEL, "0..."},
        {4, 1, 5, 0, TN_TASK_MULTILABEL, "000."},
        {4, 1, 5, 4, TN_TASK_MULTILABEL, "00.."},
        {3, 1, 5, 0, TN_TASK_REGRESSION, "123"},
        {4, 1, 5, 2, TN_TASK_REGRESSION, "1234"},
        {9, 1, 3, 3, TN_TASK_REGRESSION, "123456789"},
        {10, 2, 11, 11, TN_TASK_MULTICLASS, "0101010101"}, /* what folds_new refuses */
    };
    for (size_t z = 0; z < sizeof cases / sizeof *cases; ++z) {
        double y[20] = {0};
        size_t folds = 77, k = cases[z].k;
        for (size_t i = 0; i < cases[z].n; ++i) {
            int c = cases[z].y[i] - '0';
            if (cases[z].task == TN_TASK_REGRESSION)
                y[i] = c;
            else if (c >= 0)
                y[i * k + (size_t)c] = 1;
        }
        tn_labels *l = labels_of(y, cases[z].n, k, cases[z].task);
        tnp_targets targets = targets_of(l);
        assert_fine(test_ctx, tnp_folds_for(test_ctx, &targets, cases[z].task, cases[z].asked, &folds));
        if (folds != cases[z].folds)
            print_error("case %zu: got %zu folds, want %zu\n", z, folds, cases[z].folds);
        assert_int_equal(folds, cases[z].folds);
        labels_done(l);
    }
}

/* NaN exactly where the rows outside the fold all have the class, or none has it, and in rows of no fold, which count as
 * outside of all. */
static void scores_of_unseen_classes(void **state)
{
    (void)state;
    enum { N = 14, K = 3, FOLDS = 4 };
    ref_rng rng = ref_rng_of(17);
    for (int t = 0; t < 20; ++t) {
        double y[N * K];
        uint32_t fold[N];
        float scores[N * K] = {0};
        for (size_t i = 0; i < N * K; ++i)
            y[i] = ref_below(&rng, 6) < (i % K == 0 ? 1u : i % K == 1 ? 5u : 3u);
        for (size_t i = 0; i < N; ++i)
            fold[i] = (uint32_t)ref_below(&rng, t < 10 ? FOLDS : FOLDS + 2);
        for (size_t i = 0; i < N; ++i)
            fold[i] = fold[i] > FOLDS ? TNP_NO_FOLD : fold[i];
        tn_labels *l = labels_of(y, N, K, TN_TASK_MULTILABEL);
        tnp_targets targets = targets_of(l);
        assert_fine(test_ctx, tnp_folds_hide(test_ctx, &targets, fold, FOLDS, scores));
        for (size_t i = 0; i < N * K; ++i) {
            size_t with = 0, rows = 0;
            for (size_t r = 0; r < N; ++r)
                if (fold[r] != fold[i / K]) {
                    with += y[r * K + i % K] == 1;
                    ++rows;
                }
            assert_int_equal(isnan(scores[i]) != 0, fold[i / K] >= FOLDS || with == 0 || with == rows);
        }
        labels_done(l);
    }
}

/* Every class gives its share to a row, the whole too, and no class all its rows; seeded. */
static void holdouts_are_shares_of_classes(void **state)
{
    (void)state;
    const double shares[] = {0.2, 0.5, 0.03, 0.97};
    for (size_t z = 0; z < 4; ++z)
        for (size_t seed = 0; seed < 3; ++seed) {
            enum { N = 311, K = 6 };
            lists l = uneven(N, K);
            uint32_t *fold = NULL, *again = NULL;
            size_t held = 0, counted = 0, of_class[K] = {0}, all[K] = {0};
            assert_fine(test_ctx, tnp_holdout_new(test_ctx, &l.y, TN_TASK_MULTICLASS, shares[z], seed, &fold, &held));
            assert_fine(test_ctx, tnp_holdout_new(test_ctx, &l.y, TN_TASK_MULTICLASS, shares[z], seed, &again, &held));
            assert_memory_equal(fold, again, N * sizeof *fold);
            for (size_t i = 0; i < N; ++i) {
                assert_true(fold[i] == 0 || fold[i] == TNP_NO_FOLD);
                counted += fold[i] == 0;
                of_class[l.cls[i]] += fold[i] == 0;
                ++all[l.cls[i]];
            }
            assert_int_equal(counted, held);
            assert_true(fabs((double)held - shares[z] * N) <= 0.5 + K); /* a class that keeps its last row lacks one */
            for (size_t c = 0; c < K; ++c) {
                assert_true(of_class[c] < all[c]);
                assert_true(fabs((double)of_class[c] - shares[z] * (double)all[c]) <= 1 || of_class[c] + 1 == all[c]);
            }
            tnp_free(fold);
            tnp_free(again);
            lists_free(&l);
        }
}

static void holdouts_that_cannot_be(void **state)
{
    (void)state;
    double y[4] = {1, 2, 3, 4};
    size_t held = 77;
    uint32_t *fold = NULL;
    lists l = uneven(30, 3);
    for (size_t i = 0; i < 3; ++i)
        l.cls[i] = (uint32_t)i; /* the first three rows: one of each class */
    l.y.rows = 3;
    assert_fails(test_ctx, TN_ERR_DATA, "option holdout 0.5: of 3 rows 0 can be held out",
                 tnp_holdout_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 0.5, 0, &fold, &held));
    l.y.rows = 30;
    assert_fails(test_ctx, TN_ERR_DATA, "option holdout 0.01: of 30 rows 0 can be held out",
                 tnp_holdout_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 0.01, 0, &fold, &held));
    for (size_t k = 1; k < 5; ++k) {
        tnp_fail_allocation(test_ctx, k);
        assert_int_equal(tnp_holdout_new(test_ctx, &l.y, TN_TASK_MULTICLASS, 0.5, 0, &fold, &held), TN_ERR_MEMORY);
        tnp_fail_allocation(test_ctx, 0);
    }
    lists_free(&l);
    tn_labels *values = labels_of(y, 4, 1, TN_TASK_REGRESSION);
    tnp_targets targets = targets_of(values);
    assert_fails(test_ctx, TN_ERR_DATA, "of 4 rows 1 can be held out, expected at least 2",
                 tnp_holdout_new(test_ctx, &targets, TN_TASK_REGRESSION, 0.25, 0, &fold, &held));
    assert_null(fold);
    assert_int_equal(held, 77);
    assert_fine(test_ctx, tnp_holdout_new(test_ctx, &targets, TN_TASK_REGRESSION, 0.5, 0, &fold, &held));
    assert_int_equal(held, 2);
    tnp_free(fold);
    labels_done(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_and_folds_are_even),
        cmocka_unit_test(rows_of_other_tasks),
        cmocka_unit_test(seeds),
        cmocka_unit_test(folds_that_cannot_be),
        cmocka_unit_test(folds_of_few_rows),
        cmocka_unit_test(scores_of_unseen_classes),
        cmocka_unit_test(holdouts_are_shares_of_classes),
        cmocka_unit_test(holdouts_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
