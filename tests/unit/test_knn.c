/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nearest neighbours against double loops over all pairs with a sort of their own, and against scikit-learn.
 *
 * Tolerance. u is a row divided by its length and rounded to float, a product of two of them is off by at most
 * e = (d + 4) 2^-24. A weight is a difference of two, so 2 e, of which there are k in a mean whose weights sum to w:
 * |error of p| <= 4 k e / w. Whoever is at the border has a weight below that, so that it does not matter who it is. */
#include "ridge_of.h"
#include "fixtures/knn/sklearn_knn.h"
#include "select/knn.h"

typedef struct pair {
    double near;
    size_t row;
} pair;

/* Nearest first, ties to the lower row. */
static int by_nearness(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->near != y->near)
        return x->near < y->near ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static double cosine(const double *a, const double *b, size_t d)
{
    double aa = 0, bb = 0, ab = 0;
    for (size_t j = 0; j < d; ++j) {
        aa += a[j] * a[j];
        bb += b[j] * b[j];
        ab += a[j] * b[j];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : 0;
}

/* p (classes) of a row from its definition; the sum of its weights. */
static double loops(const ref_problem *p, const double *weight, size_t row, size_t k, double *out)
{
    pair *all = ref_alloc(p->n, sizeof *all);
    size_t n = 0;
    double sum = 0, plain = 0;
    for (size_t i = 0; i < p->n; ++i)
        if (i != row)
            all[n++] = (pair){cosine(p->x + row * p->d, p->x + i * p->d, p->d), i};
    qsort(all, n, sizeof *all, by_nearness);
    double border = all[n > k ? k : n - 1].near;
    memset(out, 0, p->k * sizeof *out);
    for (size_t i = 0; i < n && i < k; ++i) {
        double w = all[i].near - border + 0x1p-20, g = weight ? weight[all[i].row] : 1;
        for (size_t c = 0; c < p->k; ++c)
            out[c] += w * g * p->y[all[i].row * p->k + c];
        sum += w * g;
        plain += w;
    }
    for (size_t c = 0; c < p->k; ++c)
        out[c] /= sum;
    free(all);
    return plain;
}

/* The largest |y|: an error of p is one of the weights times that. */
static double largest(const ref_problem *p)
{
    double most = 1;
    for (size_t i = 0; i < p->n * p->k; ++i)
        most = fmax(most, fabs(p->y[i]));
    return most;
}

/* exact: products of rows have no rounding. */
static void check_rows(const ref_problem *p, tnp_targets y, tn_feed *const *feeds, size_t count, const double *weight,
                       size_t most, size_t k, bool exact)
{
    tnp_sample *sample = NULL;
    y.weight = weight;
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &y, TN_TASK_MULTILABEL, most, 1, &sample));
    double *got = ref_alloc(sample->count * p->k, sizeof *got), *want = ref_alloc(p->k, sizeof *want);
    double e = (double)(p->d + 4) * 0x1p-24;
    assert_fine(test_ctx, tnp_knn_predict(test_ctx, (const tn_feed *const *)feeds, count, &y, sample, k, got));
    for (size_t i = 0; i < sample->count; ++i) {
        double sum = loops(p, weight, sample->rows[i], k, want);
        double tolerance = exact ? 1e-12 : 4 * (double)k * e / sum * largest(p);
        for (size_t c = 0; c < p->k; ++c)
            assert_true(fabs(got[i * p->k + c] - want[c]) <= tolerance);
    }
    free(got);
    free(want);
    tnp_sample_free(sample);
}

static void check_setting(const setting *s, const double *weight, size_t most, size_t k)
{
    check_rows(&s->p, s->y, s->feed, 2, weight, most, k, false);
}

static void neighbours_equal_double_loops(void **state)
{
    (void)state;
    const size_t sizes[][3] = {{40, 6, 5}, {25, 30, 1}, {60, 9, 10}, {12, 4, 20}, {2, 4, 3}, {11, 8, 10}};
    for (size_t z = 0; z < 6; ++z)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
            setting s = setting_of(REF_SIGNED, sizes[z][0], sizes[z][1], 3, (tn_task)task, AS_F32);
            check_setting(&s, NULL, z % 2 ? SIZE_MAX : s.p.n / 2, sizes[z][2]);
            setting_free(&s);
        }
}

static void neighbours_of_weighted_rows(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 30, 7, 3, TN_TASK_MULTICLASS, AS_F32);
    double weight[30];
    for (size_t i = 0; i < 30; ++i)
        weight[i] = 0.5 + (double)(i % 4);
    check_setting(&s, weight, SIZE_MAX, 6);
    setting_free(&s);
}

/* Rows in one file with a class each. */
typedef struct rows {
    ref_problem p;
    tn_labels *labels;
    tn_features *features;
    tn_feed *feed;
} rows;

/* Takes x (n,d); the class of row i is cls(i). */
static rows rows_of(double *x, size_t n, size_t d, size_t k, stored as, size_t (*cls)(size_t i))
{
    rows r = {.p = {n, d, k, x, ref_alloc(n * k, sizeof(double))}};
    for (size_t i = 0; i < n; ++i)
        r.p.y[i * k + cls(i)] = 1;
    r.features = features_of("x", x, n, d, as);
    r.feed = feed_of(r.features, TN_NORM_NONE);
    r.labels = labels_of(r.p.y, n, k, TN_TASK_MULTICLASS);
    return r;
}

static void rows_free(rows *r)
{
    tn_feed_free(r->feed);
    tn_features_close(r->features);
    labels_done(r->labels);
    ref_problem_free(&r->p);
}

static size_t every_third(size_t i)
{
    return i % 3;
}

/* Rows of four entries that are 1 or -1, the others 0: products are quarters, without rounding, and many are equal.
 * Every fourth row repeats an earlier one under another label; two rows are all zeros. */
static double *quarters(size_t n, size_t d)
{
    ref_rng rng = ref_rng_of(5);
    double *x = ref_alloc(n * d, sizeof *x);
    for (size_t i = 0; i < n; ++i) {
        double *row = x + i * d;
        if (i % 4 == 3)
            memcpy(row, x + (i / 2) * d, d * sizeof *row);
        for (size_t left = i % 4 == 3 || i == 5 || i + 2 == n ? 0 : 4; left > 0;) {
            size_t j = ref_below(&rng, d);
            left -= row[j] == 0;
            row[j] = row[j] == 0 ? (ref_below(&rng, 2) ? 1 : -1) : row[j];
        }
    }
    return x;
}

static void ties_go_to_the_lower_row_and_repeated_rows_count(void **state)
{
    (void)state;
    const size_t asked[] = {1, 4, 10, 39, 80};
    rows r = rows_of(quarters(48, 6), 48, 6, 3, AS_F64, every_third);
    for (size_t a = 0; a < sizeof asked / sizeof *asked; ++a)
        check_rows(&r.p, targets_of(r.labels), &r.feed, 1, NULL, SIZE_MAX, asked[a], true);
    rows_free(&r);
}

/* More rows that are all the same than are asked: all count alike, those with the lowest numbers. */
static void rows_that_are_all_the_same(void **state)
{
    (void)state;
    enum { N = 20, NEAREST = 6 };
    double *x = ref_alloc((size_t)N * 2, sizeof *x), *p = ref_alloc((size_t)N * 3, sizeof *p);
    for (size_t i = 0; i < N; ++i)
        x[2 * i] = 4;
    rows r = rows_of(x, N, 2, 3, AS_F32, every_third);
    tnp_targets y = targets_of(r.labels);
    tnp_sample *sample = NULL;
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &y, TN_TASK_MULTICLASS, SIZE_MAX, 0, &sample));
    assert_fine(test_ctx, tnp_knn_predict(test_ctx, (const tn_feed *const *)&r.feed, 1, &y, sample, NEAREST, p));
    for (size_t i = NEAREST + 1; i < N; ++i)
        for (size_t c = 0; c < 3; ++c)
            assert_near_at(i, p[i * 3 + c], 1.0 / 3, 1e-12);
    for (size_t c = 0; c < 3; ++c) /* row 0 asks rows 1 to 6, which are classes 1 2 0 1 2 0 */
        assert_near_at(c, p[c], 1.0 / 3, 1e-12);
    free(p);
    tnp_sample_free(sample);
    rows_free(&r);
}

static size_t sk_label(size_t i)
{
    return (size_t)sk_labels[i];
}

static void the_same_as_scikit_learn(void **state)
{
    (void)state;
    double *x = ref_alloc(SK_ROWS * SK_DIM, sizeof *x), p[SK_ROWS * SK_CLASSES];
    for (size_t i = 0; i < SK_ROWS * SK_DIM; ++i)
        x[i] = sk_rows[i] / 64.0;
    rows r = rows_of(x, SK_ROWS, SK_DIM, SK_CLASSES, AS_F32, sk_label);
    tnp_targets y = targets_of(r.labels);
    tnp_sample *sample = NULL;
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &y, TN_TASK_MULTICLASS, SIZE_MAX, 0, &sample));
    assert_fine(test_ctx, tnp_knn_predict(test_ctx, (const tn_feed *const *)&r.feed, 1, &y, sample, SK_NEAREST, p));
    for (size_t i = 0; i < SK_ROWS * SK_CLASSES; ++i) /* weights sum to 0.02 at least: 4 k e / 0.02 */
        assert_near_at(i, p[i], sk_means[i], 4 * SK_NEAREST * (SK_DIM + 4) * 0x1p-24 / 0.02);
    tnp_sample_free(sample);
    rows_free(&r);
}

/* Rows so long that their squares are no floats, as the ridge allows them. */
static void long_rows(void **state)
{
    (void)state;
    ref_problem p = ref_problem_of(REF_SIGNED, 30, 5, 3, 8);
    for (size_t i = 0; i < 30 * 5; ++i)
        p.x[i] = ldexp(p.x[i], 90);
    rows r = rows_of(p.x, 30, 5, 3, AS_F32, every_third);
    free(p.y);
    check_rows(&r.p, targets_of(r.labels), &r.feed, 1, NULL, SIZE_MAX, 5, false);
    rows_free(&r);
}

/* Several blocks and, with little memory, several bands; the same whatever the threads. */
static void blocks_bands_and_threads(void **state)
{
    (void)state;
    enum { N = 600, D = 4200, K3 = 3, MANY = 40 };
    ref_problem p = ref_problem_of(REF_NONNEG, N, D, K3, 3);
    rows r = rows_of(p.x, N, D, K3, AS_F32, every_third);
    tnp_targets y = targets_of(r.labels);
    tnp_sample *sample = NULL;
    double got[3][MANY * K3], want[K3];
    free(p.y);
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &y, TN_TASK_MULTILABEL, MANY, 0, &sample));
    for (int way = 0; way < 3; ++way) {
        tn_ctx_set_threads(test_ctx, way == 1 ? 1 : 3);
        tn_ctx_set_memory(test_ctx, way == 2 ? tn_ctx_memory_now(test_ctx) + (5 << 20) : 0);
        assert_fine(test_ctx, tnp_knn_predict(test_ctx, (const tn_feed *const *)&r.feed, 1, &y, sample, 10, got[way]));
    }
    tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + (1 << 20));
    assert_fails(test_ctx, TN_ERR_BUDGET, "nearest neighbours",
                 tnp_knn_predict(test_ctx, (const tn_feed *const *)&r.feed, 1, &y, sample, 10, got[2]));
    tn_ctx_set_memory(test_ctx, 0);
    tn_ctx_set_threads(test_ctx, 0);
    for (size_t i = 0; i < MANY; i += 7) {
        double sum = loops(&r.p, NULL, sample->rows[i], 10, want);
        for (size_t c = 0; c < K3; ++c)
            for (int way = 0; way < 2; ++way)
                assert_true(fabs(got[way][i * K3 + c] - want[c]) <= 40 * (D + 4) * 0x1p-24 / sum);
    }
    tnp_sample_free(sample);
    rows_free(&r);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    rows r = rows_of(quarters(20, 6), 20, 6, 3, AS_F64, every_third);
    tnp_targets y = targets_of(r.labels);
    tnp_sample *sample = NULL;
    double out[20 * 3];
    assert_fine(test_ctx, tnp_sample_new(test_ctx, &y, TN_TASK_MULTICLASS, SIZE_MAX, 0, &sample));
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_knn_predict(test_ctx, (const tn_feed *const *)&r.feed, 1, &y, sample, 4, out);
        tnp_fail_allocation(test_ctx, 0);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 5);
    tnp_sample_free(sample);
    rows_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_equal_double_loops),
        cmocka_unit_test(neighbours_of_weighted_rows),
        cmocka_unit_test(ties_go_to_the_lower_row_and_repeated_rows_count),
        cmocka_unit_test(rows_that_are_all_the_same),
        cmocka_unit_test(the_same_as_scikit_learn),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(blocks_bands_and_threads),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
