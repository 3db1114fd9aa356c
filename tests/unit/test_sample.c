/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The leave-one-out sample: its shares and weights by their definition, and that a weighted mean over it is right on
 * average over seeds. */
#include "fixtures/problems.h"
#include "learn/ridge/loo.h"

/* A row's class: class c has sizes[c] rows, spread over the rows by a shuffle. */
static tn_labels *labels_with(const size_t *sizes, size_t k, uint64_t seed)
{
    size_t n = 0;
    ref_rng rng = ref_rng_of(seed);
    for (size_t c = 0; c < k; ++c)
        n += sizes[c];
    size_t *cls = ref_alloc(n, sizeof *cls), at = 0;
    double *y = ref_alloc(n * k, sizeof *y);
    for (size_t c = 0; c < k; ++c)
        for (size_t i = 0; i < sizes[c]; ++i)
            cls[at++] = c;
    for (size_t i = n; i > 1; --i) {
        size_t other = ref_below(&rng, i), keep = cls[i - 1];
        cls[i - 1] = cls[other];
        cls[other] = keep;
    }
    for (size_t i = 0; i < n; ++i)
        y[i * k + cls[i]] = 1;
    tn_labels *l = labels_of(y, n, k, TN_TASK_MULTICLASS);
    free(cls);
    free(y);
    return l;
}

static tnp_sample *sample_of(const tn_labels *l, size_t most, size_t seed)
{
    tnp_targets y = targets_of(l);
    tnp_sample *s = NULL;
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &y, l->task, most, seed, &s));
    return s;
}

static void check_rows(const tnp_sample *s, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; ++i) {
        assert_true(s->rows[i] < n);
        assert_true(i == 0 || s->rows[i] > s->rows[i - 1]);
        sum += s->weight[i];
    }
    assert_near(sum, 1, 1e-12);
}

/* Counts by trying every share, weights by n_k / (N m_k). */
static void check_balance(const size_t *sizes, size_t k, size_t most)
{
    tn_labels *l = labels_with(sizes, k, most);
    size_t share = 0, taken[8] = {0};
    for (size_t s = 0; s <= l->rows; ++s) {
        size_t sum = 0;
        for (size_t c = 0; c < k; ++c)
            sum += sizes[c] < s ? sizes[c] : s;
        share = sum <= most ? s : share;
    }
    tnp_sample *s = sample_of(l, most, 5);
    check_rows(s, l->rows);
    for (size_t i = 0; i < s->count; ++i)
        ++taken[l->cls[l->first[s->rows[i]]]];
    for (size_t c = 0; c < k; ++c)
        assert_int_equal(taken[c], sizes[c] < share ? sizes[c] : share);
    for (size_t i = 0; i < s->count; ++i) {
        size_t c = l->cls[l->first[s->rows[i]]];
        assert_near(s->weight[i], (double)sizes[c] / ((double)l->rows * (double)taken[c]), 1e-15);
    }
    tnp_sample_free(s);
    labels_done(l);
}

static void classes_have_equal_shares(void **state)
{
    (void)state;
    const size_t even[] = {40, 40, 40}, uneven[] = {3, 100, 17, 30}, absent[] = {20, 0, 50}, two[] = {1, 99};
    check_balance(even, 3, 30);
    check_balance(even, 3, 31);
    check_balance(uneven, 4, 8);
    check_balance(uneven, 4, 50);
    check_balance(uneven, 4, 149);
    check_balance(absent, 3, 6);
    check_balance(absent, 3, 40);
    check_balance(two, 2, 4);
    check_balance(two, 2, 60);
}

static void all_rows(void **state)
{
    (void)state;
    const size_t sizes[] = {3, 50, 17};
    tn_labels *l = labels_with(sizes, 3, 1);
    const size_t most[] = {SIZE_MAX, 70, 71};
    for (size_t m = 0; m < 3; ++m)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
            l->task = (tn_task)task;
            tnp_sample *s = sample_of(l, most[m], 9);
            assert_int_equal(s->count, 70);
            for (size_t i = 0; i < 70; ++i) {
                assert_int_equal(s->rows[i], i);
                assert_near_at(i, s->weight[i], 1.0 / 70, 1e-15);
            }
            tnp_sample_free(s);
        }
    labels_done(l);
}

/* Too small for two of every class, or another task: plain, exactly `most` rows, equal weights. */
static void plain_samples(void **state)
{
    (void)state;
    const size_t sizes[] = {30, 30, 30, 30};
    tn_labels *l = labels_with(sizes, 4, 2);
    const size_t small[] = {1, 2, 7};
    for (size_t m = 0; m < 3; ++m) {
        tnp_sample *s = sample_of(l, small[m], 3);
        assert_int_equal(s->count, small[m]);
        check_rows(s, 120);
        tnp_sample_free(s);
    }
    l->task = TN_TASK_MULTILABEL;
    tnp_sample *s = sample_of(l, 57, 3);
    assert_int_equal(s->count, 57);
    check_rows(s, 120);
    for (size_t i = 0; i < 57; ++i)
        assert_near(s->weight[i], 1.0 / 57, 1e-15);
    tnp_sample_free(s);
    labels_done(l);
}

static void the_seed_decides(void **state)
{
    (void)state;
    const size_t sizes[] = {60, 60};
    tn_labels *l = labels_with(sizes, 2, 2);
    tnp_sample *a = sample_of(l, 20, 7), *b = sample_of(l, 20, 7), *c = sample_of(l, 20, 8);
    assert_memory_equal(a->rows, b->rows, 20 * sizeof *a->rows);
    assert_memory_not_equal(a->rows, c->rows, 20 * sizeof *a->rows);
    tn_ctx_set_threads(test_ctx, 3);
    tnp_sample *d = sample_of(l, 20, 7);
    assert_memory_equal(a->rows, d->rows, 20 * sizeof *a->rows);
    tnp_sample_free(a);
    tnp_sample_free(b);
    tnp_sample_free(c);
    tnp_sample_free(d);
    labels_done(l);
}

/* Mean over seeds of the weighted mean of a known quantity, and how often each row is taken. Five standard errors:
 * with fixed seeds the outcome is the same every time. */
static void check_unbiased(tn_task task, size_t most)
{
    enum { SEEDS = 4000, N = 100 };
    const size_t sizes[] = {8, 70, 22};
    tn_labels *l = labels_with(sizes, 3, 11);
    double value[N], truth = 0, sum = 0, square = 0, taken[N] = {0};
    ref_rng rng = ref_rng_of(4);
    l->task = task;
    for (size_t i = 0; i < N; ++i) {
        value[i] = ref_normal(&rng) + 3 * l->cls[l->first[i]];
        truth += value[i] / N;
    }
    for (size_t seed = 0; seed < SEEDS; ++seed) {
        tnp_sample *s = sample_of(l, most, seed);
        double estimate = 0;
        for (size_t i = 0; i < s->count; ++i) {
            estimate += s->weight[i] * value[s->rows[i]];
            taken[s->rows[i]] += s->weight[i];
        }
        sum += estimate / SEEDS;
        square += estimate * estimate / SEEDS;
        tnp_sample_free(s);
    }
    assert_near(sum, truth, 5 * sqrt((square - sum * sum) / SEEDS));
    /* A row taken at rate p with weight 1 / (N p) weighs 1/N on average, with deviation sqrt((1 - p) / p) / N: at most
     * 0.06, two of a class of 70. */
    for (size_t i = 0; i < N; ++i)
        assert_near_at(i, taken[i] / SEEDS, 1.0 / N, 5 * 0.06 / sqrt(SEEDS));
    labels_done(l);
}

static void estimates_are_right_on_average(void **state)
{
    (void)state;
    check_unbiased(TN_TASK_MULTICLASS, 24);
    check_unbiased(TN_TASK_MULTICLASS, 6);
    check_unbiased(TN_TASK_MULTICLASS, 5);
    check_unbiased(TN_TASK_MULTILABEL, 24);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const size_t sizes[] = {30, 30};
    tn_labels *l = labels_with(sizes, 2, 2);
    tnp_targets y = targets_of(l);
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_MULTILABEL; ++task) {
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        tnp_sample *s = NULL;
        for (;; ++k) {
            tnp_fail_allocation(test_ctx, k);
            tn_status st = tnp_sample_new(test_ctx, &y, (tn_task)task, 10, 0, &s);
            tnp_fail_allocation(test_ctx, 0);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_null(s);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        }
        assert_true(k > 3);
        tnp_sample_free(s);
    }
    labels_done(l);
}

/* Rows that are alone in their class leave the sample; the others keep their proportions, and weights sum to 1. None
 * left: no sample. */
static void rows_that_are_alone_in_their_class(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 6, 1, 3}, single[] = {1, 1, 1};
    for (size_t most = 4; most <= 11; most += 7) {
        tn_labels *l = labels_with(sizes, 4, most);
        tnp_targets y = targets_of(l);
        tnp_sample *all = sample_of(l, most, 5), *s = sample_of(l, most, 5);
        size_t at = 0;
        double total = 0;
        assert_fine(test_ctx, tnp_sample_judged(test_ctx, &y, TN_TASK_MULTICLASS, &s));
        check_rows(s, l->rows);
        for (size_t i = 0; i < all->count; ++i)
            total += l->cls[all->rows[i]] % 2 ? all->weight[i] : 0;
        for (size_t i = 0; i < all->count; ++i)
            if (l->cls[all->rows[i]] % 2) { /* classes 1 and 3 */
                assert_int_equal(s->rows[at], all->rows[i]);
                assert_near(s->weight[at++], all->weight[i] / total, 1e-15);
            }
        assert_int_equal(s->count, at);
        tnp_sample_free(all);
        tnp_sample_free(s);
        labels_done(l);
    }
    tn_labels *l = labels_with(single, 3, 1);
    tnp_targets y = targets_of(l);
    tnp_sample *s = sample_of(l, 3, 5);
    assert_fine(test_ctx, tnp_sample_judged(test_ctx, &y, TN_TASK_MULTICLASS, &s));
    assert_null(s);
    labels_done(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_equal_shares),
        cmocka_unit_test(all_rows),
        cmocka_unit_test(plain_samples),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(estimates_are_right_on_average),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(rows_that_are_alone_in_their_class),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
