/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scores against x W' + b written out after each normalisation, rows that cannot be scored, and representations that do
 * not fit the head. A float product over D columns is off by at most (D + 8) 2^-24 sum |w x|. */
#include "fixtures/problems.h"
#include "learn/head/head.h"

enum { N = 2500, DA = 7, DB = 5, D = DA + DB, K = 3 };

static double xa[N * DA], xb[N * DB];
static tn_features *a, *b, *other;
static tn_head *head;

/* A head over "a" and "b" with random numbers. */
static tn_head *head_over(tn_normalize na, tn_normalize nb)
{
    const char *const names[K] = {"p", "q", "r"};
    ref_rng rng = ref_rng_of(77);
    tn_head *h = NULL;
    assert_fine(test_ctx, tnp_head_new(test_ctx, TN_TASK_MULTICLASS, names, K, D, 2, "evidence", &h));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "a", &h->reps[0].name));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "b", &h->reps[1].name));
    h->reps[0].dim = DA;
    h->reps[0].normalize = na;
    h->reps[1].dim = DB;
    h->reps[1].normalize = nb;
    for (size_t i = 0; i < K * D; ++i)
        h->weight[i] = (float)ref_normal(&rng);
    for (size_t i = 0; i < K; ++i)
        h->bias[i] = (float)ref_normal(&rng);
    if (na == TN_NORM_ZSCORE || nb == TN_NORM_ZSCORE)
        assert_fine(test_ctx, tnp_head_add_zscore(test_ctx, h));
    for (size_t j = 0; j < D; ++j)
        if ((j < DA ? na : nb) == TN_NORM_ZSCORE) {
            h->means[j] = ref_normal(&rng);
            h->scales[j] = 0.5 + ref_unit(&rng);
        }
    return h;
}

static int setup(void **state)
{
    ref_rng rng = ref_rng_of(3);
    if (files_setup(state) != 0)
        return -1;
    for (size_t i = 0; i < N * DA; ++i)
        xa[i] = ref_normal(&rng);
    for (size_t i = 0; i < N * DB; ++i)
        xb[i] = ref_normal(&rng);
    for (size_t j = 0; j < DA; ++j)
        xa[1024 * DA + j] = 0; /* a row without direction at a block's border */
    a = features_of("a", xa, N, DA, AS_F32);
    b = features_of("b", xb, N, DB, AS_F64);
    other = features_of("other", xb, N - 3, DB, AS_F32);
    head = head_over(TN_NORM_L2, TN_NORM_ROOT);
    return 0;
}

static int teardown(void **state)
{
    tn_head_free(head);
    tn_features_close(a);
    tn_features_close(b);
    tn_features_close(other);
    return files_teardown(state);
}

/* One row as the head wants it. */
static void prepare(const tn_head *h, size_t i, double *row)
{
    memcpy(row, xa + i * DA, DA * sizeof *row);
    memcpy(row + DA, xb + i * DB, DB * sizeof *row);
    for (size_t r = 0, at = 0; r < 2; at += h->reps[r++].dim) {
        for (size_t j = at; h->reps[r].normalize == TN_NORM_ZSCORE && j < at + h->reps[r].dim; ++j)
            row[j] = (row[j] - h->means[j]) * h->scales[j];
        if (h->reps[r].normalize != TN_NORM_ZSCORE && h->reps[r].normalize != TN_NORM_NONE)
            normalise_row(row + at, h->reps[r].dim, h->reps[r].normalize);
    }
}

static void check_row(const tn_head *h, size_t i, const float *scores)
{
    double row[D];
    prepare(h, i, row);
    for (size_t k = 0; k < K; ++k) {
        double want = h->bias[k], size = fabs(want);
        for (size_t j = 0; j < D; ++j) {
            want += row[j] * (double)h->weight[k * D + j];
            size += fabs(row[j] * (double)h->weight[k * D + j]);
        }
        if (!(fabs((double)scores[k] - want) <= (D + 8) * 0x1p-24 * size)) {
            print_error("row %zu class %zu: got %.9g, want %.9g\n", i, k, (double)scores[k], want);
            fail();
        }
    }
}

static tn_scorer *scorer_of(const tn_head *h, tn_nan_policy nan)
{
    const tn_features *const features[] = {other, b, a}; /* any order, and one that the head does not know */
    tn_scorer *s = NULL;
    assert_fine(test_ctx, tn_scorer_new(test_ctx, h, features, 3, nan, &s));
    assert_int_equal(tn_scorer_rows(s), N);
    return s;
}

static void scores_equal_the_formula(void **state)
{
    (void)state;
    float *scores = ref_alloc(N * K, sizeof *scores);
    for (int na = 0; na < TN_NORMALIZE_COUNT; ++na)
        for (int nb = 0; nb < TN_NORMALIZE_COUNT; ++nb) {
            tn_head *h = head_over((tn_normalize)na, (tn_normalize)nb);
            tn_scorer *s = scorer_of(h, TN_NAN_ERROR);
            assert_fine(test_ctx, tn_scorer_read(test_ctx, s, 0, N, scores));
            for (size_t i = 0; i < N; ++i)
                check_row(h, i, scores + i * K);
            tn_scorer_free(s);
            tn_head_free(h);
        }
    free(scores);
}

static void any_range_of_rows(void **state)
{
    (void)state;
    const size_t ranges[][2] = {{0, 1},       {0, 1024},  {0, 1025}, {1023, 2}, {1024, 1},
                                {1000, 1100}, {N - 1, 1}, {N, 0},    {17, 0},   {3, 2048}};
    float *scores = ref_alloc(N * K + 1, sizeof *scores);
    tn_scorer *s = scorer_of(head, TN_NAN_ERROR);
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; ++r) {
        size_t count = ranges[r][1];
        scores[count * K] = 12345;
        assert_fine(test_ctx, tn_scorer_read(test_ctx, s, ranges[r][0], count, scores));
        for (size_t i = 0; i < count; ++i)
            check_row(head, ranges[r][0] + i, scores + i * K);
        assert_true(scores[count * K] == 12345);
    }
    assert_fails(test_ctx, TN_ERR_ARG, "2500", tn_scorer_read(test_ctx, s, 0, N + 1, scores));
    assert_fails(test_ctx, TN_ERR_ARG, "2500", tn_scorer_read(test_ctx, s, N + 1, 0, scores));
    assert_fails(test_ctx, TN_ERR_ARG, "2500", tn_scorer_read(test_ctx, s, 1, SIZE_MAX, scores));
    tn_scorer_free(s);
    free(scores);
}

/* Both normalisations of one file in one head: each finds it by the name. */
static void one_file_twice(void **state)
{
    (void)state;
    tn_head *h = head_over(TN_NORM_L1, TN_NORM_L2);
    const tn_features *const features[] = {b};
    tn_scorer *s = NULL;
    float scores[K];
    double row[2 * DB];
    h->reps[0].dim = DB; /* the first D columns of weights, of which 2 DB are used */
    h->reps[0].name[0] = 'b';
    h->dim = 2 * DB;
    assert_fine(test_ctx, tn_scorer_new(test_ctx, h, features, 1, TN_NAN_ERROR, &s));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, s, 9, 1, scores));
    memcpy(row, xb + 9 * DB, DB * sizeof *row);
    memcpy(row + DB, xb + 9 * DB, DB * sizeof *row);
    normalise_row(row, DB, TN_NORM_L1);
    normalise_row(row + DB, DB, TN_NORM_L2);
    for (size_t k = 0; k < K; ++k) {
        double want = h->bias[k];
        for (size_t j = 0; j < 2 * DB; ++j)
            want += row[j] * (double)h->weight[k * 2 * DB + j];
        assert_near(scores[k], want, 1e-5);
    }
    tn_scorer_free(s);
    tn_head_free(h);
}

static void refuse(const tn_features *const *features, size_t count, tn_status status, const char *part)
{
    tn_scorer *s = NULL;
    size_t blocks = tnp_live_blocks(test_ctx);
    assert_fails(test_ctx, status, part, tn_scorer_new(test_ctx, head, features, count, TN_NAN_ERROR, &s));
    assert_null(s);
    assert_int_equal(tnp_live_blocks(test_ctx), blocks);
}

static void representations_that_do_not_fit(void **state)
{
    (void)state;
    const tn_features *missing[] = {a, other};
    refuse(missing, 2, TN_ERR_ARG, "named 'b'");
    refuse(missing, 0, TN_ERR_ARG, "named 'a'");
    tn_features *wrong_width = array_of("a", xb, N, DB, AS_F64);
    const tn_features *width[] = {wrong_width, b};
    refuse(width, 2, TN_ERR_SHAPE, "5 columns, but the head's 'a' has 7");
    tn_features *short_one = array_of("b", xb, N - 3, DB, AS_F32);
    const tn_features *rows[] = {a, short_one};
    refuse(rows, 2, TN_ERR_SHAPE, "2497 rows");
    tn_features_close(wrong_width);
    tn_features_close(short_one);
}

/* Bad values in row 5 of a and row 1500 of b. */
static void rows_with_nan(void **state)
{
    (void)state;
    double keep_a = xa[5 * DA + 1], keep_b = xb[1500 * DB];
    float *scores = ref_alloc(N * K, sizeof *scores);
    tn_features *bad[2];
    tn_scorer *s = NULL;
    xa[5 * DA + 1] = NAN;
    xb[1500 * DB] = -INFINITY;
    bad[0] = array_of("bad_a", xa, N, DA, AS_F32);
    bad[1] = array_of("bad_b", xb, N, DB, AS_F64);
    tn_head *h = head_over(TN_NORM_L2, TN_NORM_ZSCORE);
    tnp_free(h->reps[0].name);
    tnp_free(h->reps[1].name);
    assert_fine(test_ctx, tnp_strdup(test_ctx, "bad_a", &h->reps[0].name));
    assert_fine(test_ctx, tnp_strdup(test_ctx, "bad_b", &h->reps[1].name));
    assert_fine(test_ctx, tn_scorer_new(test_ctx, h, (const tn_features *const *)bad, 2, TN_NAN_ERROR, &s));
    assert_fails(test_ctx, TN_ERR_DATA, "bad_a: row 5", tn_scorer_read(test_ctx, s, 0, 10, scores));
    assert_fails(test_ctx, TN_ERR_DATA, "bad_b: row 1500", tn_scorer_read(test_ctx, s, 6, N - 6, scores));
    assert_fine(test_ctx, tn_scorer_read(test_ctx, s, 6, 1400, scores));
    tn_scorer_free(s);
    assert_fine(test_ctx, tn_scorer_new(test_ctx, h, (const tn_features *const *)bad, 2, TN_NAN_DROP, &s));
    assert_int_equal(tn_scorer_rows(s), N);
    assert_fine(test_ctx, tn_scorer_read(test_ctx, s, 0, N, scores));
    for (size_t i = 0; i < N; ++i)
        for (size_t k = 0; k < K; ++k)
            assert_int_equal(isnan(scores[i * K + k]) != 0, i == 5 || i == 1500);
    check_row(h, 4, scores + 4 * K);
    check_row(h, 1501, scores + 1501 * K);
    assert_fine(test_ctx, tn_scorer_read(test_ctx, s, 1500, 2, scores)); /* rows are counted from the file's start */
    assert_true(isnan(scores[0]) && !isnan(scores[K]));
    tn_scorer_free(s);
    assert_fine(test_ctx, tn_scorer_new(test_ctx, h, (const tn_features *const *)bad, 2, TN_NAN_ZERO, &s));
    xa[5 * DA + 1] = xb[1500 * DB] = 0;
    assert_fine(test_ctx, tn_scorer_read(test_ctx, s, 0, N, scores));
    for (size_t i = 0; i < N; ++i)
        check_row(h, i, scores + i * K);
    tn_scorer_free(s);
    xa[5 * DA + 1] = keep_a;
    xb[1500 * DB] = keep_b;
    tn_head_free(h);
    tn_features_close(bad[0]);
    tn_features_close(bad[1]);
    free(scores);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    float *one = ref_alloc(N * K, sizeof *one), *many = ref_alloc(N * K, sizeof *many);
    const size_t threads[] = {1, 2, 3, 7};
    for (size_t t = 0; t < 4; ++t) {
        tn_ctx_set_threads(test_ctx, threads[t]);
        tn_scorer *s = scorer_of(head, TN_NAN_ERROR);
        assert_fine(test_ctx, tn_scorer_read(test_ctx, s, 0, N, t ? many : one));
        for (size_t i = 0; t && i < N * K; ++i)
            assert_near_at(i, many[i], one[i], 1e-6);
        tn_scorer_free(s);
    }
    tn_ctx_set_threads(test_ctx, 0);
    free(one);
    free(many);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const tn_features *const features[] = {a, b};
    size_t blocks = tnp_live_blocks(test_ctx), k = 1;
    tn_head *h = head_over(TN_NORM_ZSCORE, TN_NORM_L2);
    blocks = tnp_live_blocks(test_ctx);
    for (;; ++k) {
        tn_scorer *s = NULL;
        float scores[2 * K];
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_scorer_new(test_ctx, h, features, 2, TN_NAN_DROP, &s);
        assert_true(st == TN_OK || s == NULL);
        if (st == TN_OK)
            st = tn_scorer_read(test_ctx, s, 0, 2, scores);
        tnp_fail_allocation(test_ctx, 0);
        tn_scorer_free(s);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 6);
    tn_head_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_equal_the_formula),
        cmocka_unit_test(any_range_of_rows),
        cmocka_unit_test(one_file_twice),
        cmocka_unit_test(representations_that_do_not_fit),
        cmocka_unit_test(rows_with_nan),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
