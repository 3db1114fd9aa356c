/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes by groups of rows against literal loops. Values are small whole numbers, whose products and sums floats hold
 * exactly: everything is equal, for every number of threads. */
#include "fixtures/files.h"
#include "learn/design/tiles.h"

enum { MOST_ROWS = 5000, DIM = 17, LD = 19, K = 21, CHUNK = 48, SUMS = 3, WIDE_CHUNK = 16, VALUES = 200000 };

static float x[VALUES], w[K * (DIM + 1)], s[MOST_ROWS * K], given[MOST_ROWS * K], back[K * (DIM + 1)];
static double want_s[MOST_ROWS * K], want_t[MOST_ROWS * K], want_back[K * (DIM + 1)];

static float whole(size_t i)
{
    return (float)((i * 2654435761u >> 7) % 7) - 3;
}

/* t = s less the number of the row's class, both small; scratch is written, so that it must be there. */
static double slope(double score, size_t row, size_t j)
{
    return fmod(score, 5) - (double)((row + j) % 3);
}

static void body(void *arg, const tnp_panel *at)
{
    const size_t *k = arg;
    assert_true(at->count > 0 && at->count <= CHUNK && at->start % CHUNK == 0);
    for (size_t i = 0; i < at->count; ++i)
        for (size_t j = 0; j < *k; ++j) {
            at->scratch[j] = at->s ? at->s[i * *k + j] : 4;
            at->t[i * *k + j] = (float)slope((double)at->scratch[j], at->start + i, j);
            at->sums[j % SUMS] += (double)at->t[i * *k + j];
        }
}

static void check_back(size_t rows, size_t dim, size_t k)
{
    memset(want_back, 0, sizeof want_back);
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < k; ++j) {
            for (size_t d = 0; d < dim; ++d)
                want_back[j * (dim + 1) + d] += want_t[i * k + j] * (double)x[i * LD + d];
            want_back[j * (dim + 1) + dim] += want_t[i * k + j];
        }
    for (size_t i = 0; i < k * (dim + 1); ++i)
        assert_true((double)back[i] == want_back[i]);
}

static void check_pass(size_t rows, size_t dim, size_t k)
{
    const tnp_tiled_rows of = {x, LD, rows, dim};
    double sums[SUMS] = {7, 7, 7}, want[SUMS] = {0};
    tnp_pass pass = {.k = k, .w = w, .s = s, .body = body, .arg = &k, .chunk = CHUNK, .scratch = k, .back = back};
    pass.sum_count = SUMS;
    pass.sums = sums;
    for (size_t i = 0; i < rows * k; ++i) {
        want_s[i] = (double)w[i % k * (dim + 1) + dim];
        for (size_t d = 0; d < dim; ++d)
            want_s[i] += (double)x[i / k * LD + d] * (double)w[i % k * (dim + 1) + d];
        want_t[i] = slope(want_s[i], i / k, i % k);
        want[i % k % SUMS] += want_t[i];
    }
    assert_true(tnp_tiles_suit(test_ctx, rows, dim, &pass));
    assert_fine(test_ctx, tnp_tiles_pass(test_ctx, &of, &pass));
    for (size_t i = 0; i < rows * k; ++i)
        assert_true((double)s[i] == want_s[i]);
    check_back(rows, dim, k);
    assert_memory_equal(sums, want, sizeof want);
    pass.s = NULL; /* scores that nobody keeps */
    assert_fine(test_ctx, tnp_tiles_pass(test_ctx, &of, &pass));
    check_back(rows, dim, k);
    assert_memory_equal(sums, want, sizeof want);
    /* scores that are added to, without a body: t is s */
    assert_fine(test_ctx,
                tnp_tiles_pass(test_ctx, &of, &(tnp_pass){.k = k, .w = w, .s = s, .add = true, .back = back}));
    for (size_t i = 0; i < rows * k; ++i) {
        assert_true((double)s[i] == 2 * want_s[i]);
        want_t[i] = (double)s[i];
    }
    check_back(rows, dim, k);
    /* t that is known, and a body without scores */
    assert_fine(test_ctx, tnp_tiles_pass(test_ctx, &of, &(tnp_pass){.k = k, .t = given, .back = back}));
    for (size_t i = 0; i < rows * k; ++i)
        want_t[i] = (double)given[i];
    check_back(rows, dim, k);
    pass.w = NULL;
    assert_fine(test_ctx, tnp_tiles_pass(test_ctx, &of, &pass));
    for (size_t i = 0; i < rows * k; ++i)
        want_t[i] = slope(4, i / k, i % k);
    check_back(rows, dim, k);
}

static void test_passes(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 47, 48, 49, 300, 513, 2100, MOST_ROWS};
    for (size_t i = 0; i < VALUES; ++i)
        x[i] = whole(i);
    for (size_t i = 0; i < K * (DIM + 1); ++i)
        w[i] = whole(i + 5);
    for (size_t i = 0; i < MOST_ROWS * K; ++i)
        given[i] = whole(i + 9);
    for (size_t threads = 1; threads <= 3; ++threads) {
        tn_ctx_set_threads(test_ctx, threads);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
            for (size_t part = 0; part < 4; ++part)
                check_pass(rows[r], part & 1 ? DIM : 1, part & 2 ? K : 1);
    }
}

/* ---- in double ---- */

enum { BROAD = 1500 };
static double wide_w[K * (BROAD + 1)], wide_s[MOST_ROWS * K], wide_back[K * (BROAD + 1)], wide_want[BROAD + 1];

static void wide_body(void *arg, const tnp_wide_panel *at)
{
    const size_t *k = arg;
    assert_true(at->count > 0 && at->count <= WIDE_CHUNK && at->start % WIDE_CHUNK == 0);
    for (size_t i = 0; i < at->count * *k; ++i) {
        at->scratch[2 * *k - 1] = at->s[i];
        at->t[i] = slope(at->scratch[2 * *k - 1], at->start + i / *k, i % *k);
        at->sums[i % *k % SUMS] += at->t[i];
    }
}

static void check_wide_back(size_t rows, size_t dim, size_t ld, size_t k)
{
    for (size_t j = 0; j < k; ++j) {
        memset(wide_want, 0, sizeof wide_want);
        for (size_t i = 0; i < rows; ++i)
            for (size_t d = 0; d <= dim; ++d)
                wide_want[d] += want_t[i * k + j] * (d < dim ? (double)x[i * ld + d] : 1);
        assert_memory_equal(wide_back + j * (dim + 1), wide_want, (dim + 1) * sizeof *wide_want);
    }
}

/* Weights are multiples of 2^-30 that floats do not hold; all sums are below 2^23, so that doubles hold them exactly. */
static void check_wide(size_t rows, size_t dim, size_t ld, size_t k)
{
    const tnp_tiled_rows of = {x, ld, rows, dim};
    double sums[SUMS] = {7, 7, 7}, want[SUMS] = {0}, longest = 0, most = 0;
    tnp_wide_pass pass = {.k = k, .w = wide_w, .s = wide_s, .body = wide_body, .arg = &k, .chunk = WIDE_CHUNK};
    pass.scratch = 2 * k;
    pass.back = wide_back;
    pass.sum_count = SUMS;
    pass.sums = sums;
    pass.longest = &longest;
    for (size_t i = 0; i < k * (dim + 1); ++i)
        wide_w[i] = (double)whole(i + 5) * (1 + 0x1p-30);
    assert_true(tnp_tiles_suit_wide(test_ctx, rows, dim, &pass));
    assert_fine(test_ctx, tnp_tiles_wide_pass(test_ctx, &of, &pass));
    for (size_t i = 0; i < rows; ++i) {
        double square = 0;
        for (size_t d = 0; d < dim; ++d)
            square += (double)x[i * ld + d] * (double)x[i * ld + d];
        most = square > most ? square : most;
        for (size_t j = 0; j < k; ++j) {
            double score = wide_w[j * (dim + 1) + dim];
            for (size_t d = 0; d < dim; ++d)
                score += (double)x[i * ld + d] * wide_w[j * (dim + 1) + d];
            assert_true(wide_s[i * k + j] == score);
            want_t[i * k + j] = slope(score, i, j);
            want[j % SUMS] += want_t[i * k + j];
        }
    }
    assert_true(longest == most);
    assert_memory_equal(sums, want, sizeof want);
    check_wide_back(rows, dim, ld, k);
}

static void test_wide_passes(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 15, 16, 17, 300, 2100};
    for (size_t i = 0; i < VALUES; ++i)
        x[i] = whole(i);
    for (size_t threads = 1; threads <= 3; ++threads) {
        tn_ctx_set_threads(test_ctx, threads);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
            for (size_t part = 0; part < 4; ++part)
                check_wide(rows[r], part & 1 ? DIM : 1, LD, part & 2 ? K : 1);
        check_wide(VALUES / BROAD, BROAD, BROAD, K); /* more than one tile per group */
    }
}

/* Sums of real numbers depend on their order, which the threads do not change. */
static void test_threads_change_no_bit(void **state)
{
    (void)state;
    static float first[K * (DIM + 1)];
    const tnp_tiled_rows of = {x, LD, MOST_ROWS, DIM};
    for (size_t i = 0; i < VALUES; ++i)
        x[i] = whole(i) / 3 + 1e-3f * whole(3 * i + 1);
    for (size_t threads = 1; threads <= 5; ++threads) {
        tn_ctx_set_threads(test_ctx, threads);
        assert_fine(test_ctx, tnp_tiles_pass(test_ctx, &of, &(tnp_pass){.k = K, .t = given, .back = back}));
        if (threads == 1)
            memcpy(first, back, sizeof back);
        assert_memory_equal(first, back, sizeof back);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    size_t k = K, fine = 0;
    const tnp_tiled_rows of = {x, LD, 300, DIM};
    double sums[SUMS];
    tnp_pass pass = {.k = k, .w = w, .body = body, .arg = &k, .chunk = CHUNK, .scratch = k, .back = back};
    pass.sum_count = SUMS;
    pass.sums = sums;
    for (size_t n = 1; n < 20 && fine == 0; ++n) {
        tnp_fail_allocation(test_ctx, n);
        fine = tnp_tiles_pass(test_ctx, &of, &pass) == TN_OK ? n : 0;
        tnp_fail_allocation(test_ctx, 0);
    }
    assert_true(fine > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_passes), cmocka_unit_test(test_wide_passes),
                                       cmocka_unit_test(test_threads_change_no_bit),
                                       cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
