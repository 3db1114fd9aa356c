/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Feeds over arrays in memory: row order, stride, normalisation, z-scores, bad values. */
#include "ref_dense.h"
#include "ref_random.h"
#include "spectrum_of.h"
#include "tenon/transform.h"
#include "transform/feed.h"

#include <float.h>
#include <stdlib.h>

typedef struct fixture {
    tn_ctx *ctx;
    tn_features *features;
    float *x;
    double *wide;
    size_t rows, cols;
} fixture;

/* The features are doubles or floats; both arrays hold their numbers. */
static fixture fixture_of(size_t rows, size_t cols, bool doubles, double offset, uint64_t seed)
{
    fixture t = {ctx_of(2), NULL, ref_alloc(rows * cols, sizeof(float)), ref_alloc(rows * cols, sizeof(double)),
                 rows,      cols};
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < rows * cols; ++i) {
        t.x[i] = (float)(offset + ref_normal(&rng));
        t.wide[i] = doubles ? offset + ref_normal(&rng) : (double)t.x[i];
        t.x[i] = (float)t.wide[i];
    }
    return t;
}

static void fixture_open(fixture *t, bool doubles)
{
    tn_array array = doubles ? tn_array_compact(t->wide, TN_F64, t->rows, t->cols)
                             : tn_array_compact(t->x, TN_F32, t->rows, t->cols);
    assert_fine(t->ctx, tn_features_from_array(t->ctx, "x", &array, &t->features));
}

static void fixture_free(fixture *t)
{
    tn_features_close(t->features);
    free(t->x);
    free(t->wide);
    ctx_done(t->ctx);
}

static double literal(tn_normalize kind, const double *x, size_t n, size_t j)
{
    ref_real sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += kind == TN_NORM_L2 ? (ref_real)x[i] * x[i] : fabsl(x[i]);
    switch (kind) {
    case TN_NORM_L2:
        return (double)(x[j] / sqrtl(sum));
    case TN_NORM_ROOT:
        return (double)((x[j] < 0 ? -1 : 1) * sqrtl(fabsl(x[j]) / sum));
    case TN_NORM_L1:
        return (double)(x[j] / sum);
    default:
        return x[j];
    }
}

/* Chosen rows, out of order and repeated, with a stride wider than the row: the gap is not touched. */
static void test_rows_and_stride(void **state)
{
    (void)state;
    enum { ROWS = 90, COLS = 37, STRIDE = 41, TAKEN = 70 };
    static float out[TAKEN * STRIDE];
    static double out_wide[TAKEN * STRIDE];
    for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind) {
        if (kind == TN_NORM_ZSCORE)
            continue;
        for (int form = 0; form < 4; ++form) {
            fixture t = fixture_of(ROWS, COLS, form & 1, 0, 1);
            size_t index[TAKEN], stride = form & 2 ? STRIDE : COLS;
            tn_feed *feed = NULL;
            fixture_open(&t, form & 1);
            for (size_t i = 0; i < TAKEN; ++i)
                index[i] = i * 53 % ROWS;
            index[5] = index[6];
            assert_fine(t.ctx,
                        tn_feed_new(t.ctx, t.features, index, TAKEN, (tn_normalize)kind, TN_NAN_ERROR, NULL, &feed));
            assert_true(tn_feed_rows(feed) == TAKEN && tn_feed_cols(feed) == COLS &&
                        tn_feed_features(feed) == t.features);
            assert_true(tn_feed_normalize(feed) == (tn_normalize)kind && !tn_feed_means(feed) && !tn_feed_scales(feed));
            for (size_t i = 0; i < TAKEN * STRIDE; ++i)
                out_wide[i] = out[i] = -77;
            assert_fine(t.ctx, tn_feed_read(t.ctx, feed, 3, TAKEN - 3, out, stride));
            assert_fine(t.ctx, tn_feed_read_wide(t.ctx, feed, 3, TAKEN - 3, out_wide, stride));
            for (size_t i = 0; i < TAKEN - 3; ++i)
                for (size_t j = 0; j < stride; ++j) {
                    const double *row = t.wide + index[i + 3] * COLS;
                    double want = j < COLS ? literal((tn_normalize)kind, row, COLS, j) : -77;
                    /* narrow: the value, the norm's inverse, the root and the product each rounded to float */
                    assert_true(fabs((double)out[i * stride + j] - want) <= 6 * 0x1p-24 * fabs(want));
                    assert_true(fabs(out_wide[i * stride + j] - want) <= (COLS + 8) * 0x1p-53 * fabs(want));
                }
            tn_feed_free(feed);
            fixture_free(&t);
        }
    }
}

/* Two literal passes; columns 2 (constant) and 3 (constant and large) get scale 0. An offset of 1e4 must not cost the
 * deviation its digits: n u of the sum of squares, not of the sum of raw squares. */
static void test_zscore(void **state)
{
    (void)state;
    enum { ROWS = 2500, COLS = 6 }; /* more than two of the feed's internal blocks */
    for (int doubles = 0; doubles < 2; ++doubles) {
        fixture t = fixture_of(ROWS, COLS, doubles, 1e4, 2);
        static double out[ROWS * COLS];
        tn_feed *feed = NULL;
        for (size_t i = 0; i < ROWS; ++i) {
            t.x[i * COLS + 2] = 0.1f;
            t.x[i * COLS + 3] = 123456.789f;
            t.wide[i * COLS + 2] = doubles ? 0.1 : (double)0.1f; /* in double the sum of these is not exact */
            t.wide[i * COLS + 3] = doubles ? 123456.789 : (double)123456.789f;
        }
        fixture_open(&t, doubles);
        assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, NULL, ROWS, TN_NORM_ZSCORE, TN_NAN_ERROR, NULL, &feed));
        assert_fine(t.ctx, tn_feed_read_wide(t.ctx, feed, 0, ROWS, out, COLS));
        for (size_t j = 0; j < COLS; ++j) {
            ref_real mean = 0, square = 0, got = 0, got_square = 0;
            for (size_t i = 0; i < ROWS; ++i)
                mean += (ref_real)t.wide[i * COLS + j] / ROWS;
            for (size_t i = 0; i < ROWS; ++i)
                square += (t.wide[i * COLS + j] - mean) * (t.wide[i * COLS + j] - mean) / ROWS;
            bool constant = j == 2 || j == 3;
            assert_true(fabsl(tn_feed_means(feed)[j] - mean) <= ROWS * 0x1p-53L * fabsl(mean));
            assert_true(constant ? tn_feed_scales(feed)[j] == 0
                                 : fabsl(tn_feed_scales(feed)[j] * sqrtl(square) - 1) <= 2 * ROWS * 0x1p-53L);
            for (size_t i = 0; i < ROWS; ++i) {
                got += out[i * COLS + j] / ROWS;
                got_square += out[i * COLS + j] * out[i * COLS + j] / ROWS;
            }
            /* the mean is off by ROWS u 1e4, in deviations of 1 */
            assert_true(fabsl(got) <= ROWS * 0x1p-53L * 1.1e4L && fabsl(got_square - (constant ? 0 : 1)) <= 1e-11L);
        }
        tn_feed_free(feed);
        fixture_free(&t);
    }
}

static void test_set_zscore(void **state)
{
    (void)state;
    fixture t = fixture_of(8, 3, false, 5, 3);
    const double means[] = {5, 4, 3}, scales[] = {1, 0, 2};
    double out[24];
    tn_feed *feed = NULL;
    fixture_open(&t, false);
    assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, NULL, 8, TN_NORM_L2, TN_NAN_ERROR, NULL, &feed));
    assert_fine(t.ctx, tn_feed_set_zscore(t.ctx, feed, means, scales));
    assert_int_equal(tn_feed_normalize(feed), TN_NORM_ZSCORE);
    assert_fine(t.ctx, tn_feed_read_wide(t.ctx, feed, 0, 8, out, 3));
    for (size_t i = 0; i < 24; ++i)
        assert_true(out[i] == ((double)t.x[i] - means[i % 3]) * scales[i % 3]);
    tn_feed_free(feed);
    fixture_free(&t);
}

/* The message names the file and the row of the file, the lowest bad one of the block. */
static void test_bad_rows(void **state)
{
    (void)state;
    enum { ROWS = 200, COLS = 9 };
    for (int doubles = 0; doubles < 2; ++doubles) {
        fixture t = fixture_of(ROWS, COLS, doubles, 0, 4);
        static float out[ROWS * COLS];
        static double out_wide[ROWS * COLS];
        bool keep[ROWS];
        size_t index[ROWS];
        tn_feed *feed = NULL;
        t.wide[150 * COLS + 8] = (double)(t.x[150 * COLS + 8] = NAN);
        t.wide[77 * COLS] = (double)(t.x[77 * COLS] = -INFINITY);
        fixture_open(&t, doubles);
        memset(keep, 1, sizeof keep);
        keep[3] = false;
        assert_fine(t.ctx, tn_rows_finite(t.ctx, t.features, keep));
        for (size_t i = 0; i < ROWS; ++i) {
            assert_true(keep[i] == (i != 150 && i != 77 && i != 3));
            index[i] = ROWS - 1 - i;
        }
        for (int policy = TN_NAN_ERROR; policy <= TN_NAN_DROP; ++policy) {
            assert_fine(t.ctx,
                        tn_feed_new(t.ctx, t.features, NULL, ROWS, TN_NORM_L2, (tn_nan_policy)policy, NULL, &feed));
            assert_fails(t.ctx, TN_ERR_DATA, "x: row 77 ", tn_feed_read(t.ctx, feed, 0, ROWS, out, COLS));
            assert_fails(t.ctx, TN_ERR_DATA, "row 77 ", tn_feed_read_wide(t.ctx, feed, 50, 40, out_wide, COLS));
            assert_fails(t.ctx, TN_ERR_DATA, "row 150 ", tn_feed_read(t.ctx, feed, 100, 100, out, COLS));
            assert_fine(t.ctx, tn_feed_read(t.ctx, feed, 0, 77, out, COLS));
            tn_feed_free(feed);
        }
        assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, index, ROWS, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feed));
        assert_fails(t.ctx, TN_ERR_DATA, "row 150 ", tn_feed_read(t.ctx, feed, 0, ROWS, out, COLS));
        tn_feed_free(feed);
        feed = NULL;
        assert_fails(t.ctx, TN_ERR_DATA, "row 77 ",
                     tn_feed_new(t.ctx, t.features, NULL, ROWS, TN_NORM_ZSCORE, TN_NAN_ERROR, NULL, &feed));
        assert_null(feed);
        fixture_free(&t);
    }
}

/* zero: the bad values become 0, then the row is normalised; in place and with a stride. */
static void test_nan_zero(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 5 };
    fixture t = fixture_of(ROWS, COLS, false, 0, 5);
    float out[ROWS * (COLS + 1)];
    double wide[ROWS * COLS];
    tn_feed *feed = NULL;
    for (size_t i = 0; i < ROWS; i += 3)
        t.x[i * COLS + i % COLS] = i % 2 ? NAN : INFINITY;
    for (size_t j = 0; j < COLS; ++j)
        t.x[9 * COLS + j] = NAN;
    fixture_open(&t, false);
    for (size_t i = 0; i < ROWS * COLS; ++i)
        t.wide[i] = isfinite(t.x[i]) ? (double)t.x[i] : 0;
    assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, NULL, ROWS, TN_NORM_L1, TN_NAN_ZERO, NULL, &feed));
    for (size_t stride = COLS; stride <= COLS + 1; ++stride) {
        assert_fine(t.ctx, tn_feed_read(t.ctx, feed, 0, ROWS, out, stride));
        assert_fine(t.ctx, tn_feed_read_wide(t.ctx, feed, 0, ROWS, wide, COLS));
        for (size_t i = 0; i < ROWS * COLS; ++i) {
            double want = i / COLS == 9 ? 0 : literal(TN_NORM_L1, t.wide + i / COLS * COLS, COLS, i % COLS);
            assert_true(fabs((double)out[i / COLS * stride + i % COLS] - want) <= 5 * 0x1p-24 * fabs(want));
            assert_true(fabs(wide[i] - want) <= 16 * 0x1p-53 * fabs(want));
        }
    }
    tn_feed_free(feed);
    fixture_free(&t);
}

static void test_too_many_rows(void **state)
{
    (void)state;
    fixture t = fixture_of(4, 2, false, 0, 6);
    float out[8];
    size_t index[] = {0, 4};
    tn_feed *feed = NULL;
    fixture_open(&t, false);
    assert_fails(t.ctx, TN_ERR_ARG,
                 "x: ", tn_feed_new(t.ctx, t.features, NULL, 5, TN_NORM_L2, TN_NAN_ERROR, NULL, &feed));
    assert_null(feed);
    assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, index, 2, TN_NORM_L2, TN_NAN_ERROR, NULL, &feed));
    assert_fails(t.ctx, TN_ERR_ARG, "x: ", tn_feed_read(t.ctx, feed, 0, 2, out, 2));
    tn_feed_free(feed);
    assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, NULL, 0, TN_NORM_ZSCORE, TN_NAN_ERROR, NULL, &feed));
    assert_int_equal(tn_feed_rows(feed), 0);
    tn_feed_free(feed);
    fixture_free(&t);
}

/* Rows picked in any order are the bytes that reading them one by one gives, advice or not; the gap of a wider stride
 * stays. */
static void test_pick(void **state)
{
    (void)state;
    enum { ROWS = 90, COLS = 37, STRIDE = 41, TAKEN = 70, PICKED = 33 };
    static float out[PICKED * STRIDE], one[COLS];
    for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind)
        for (int form = 0; form < 4; ++form) {
            fixture t = fixture_of(ROWS, COLS, form & 1, 0, 1);
            size_t index[TAKEN], picked[PICKED], stride = kind & 1 ? STRIDE : COLS;
            tn_feed *feed = NULL;
            fixture_open(&t, form & 1);
            for (size_t i = 0; i < TAKEN; ++i)
                index[i] = i + i / 4;
            for (size_t i = 0; i < PICKED; ++i)
                picked[i] = i * 53 % TAKEN;
            picked[7] = picked[8];
            assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, form & 2 ? index : NULL, TAKEN, (tn_normalize)kind,
                                           TN_NAN_ERROR, NULL, &feed));
            for (size_t i = 0; i < PICKED * STRIDE; ++i)
                out[i] = -77;
            tnp_feed_expect(feed, 0, TAKEN, true);
            tnp_feed_expect(feed, TAKEN - 1, 1, false);
            tnp_feed_expect(feed, 5, 0, true);
            tnp_feed_expect(feed, 0, TAKEN, false);
            assert_fine(t.ctx, tnp_feed_pick(t.ctx, feed, picked, PICKED, out, stride));
            for (size_t i = 0; i < PICKED; ++i) {
                assert_fine(t.ctx, tn_feed_read(t.ctx, feed, picked[i], 1, one, COLS));
                assert_memory_equal(out + i * stride, one, sizeof one);
                for (size_t j = COLS; j < stride; ++j)
                    assert_true(out[i * stride + j] == -77);
            }
            tn_feed_free(feed);
            fixture_free(&t);
        }
}

/* A picked row with NaN is named by its place in the file. */
static void test_pick_bad_row(void **state)
{
    (void)state;
    fixture t = fixture_of(20, 3, false, 0, 1);
    const size_t index[] = {2, 4, 11, 19}, picked[] = {3, 2};
    float out[6];
    tn_feed *feed = NULL;
    t.x[11 * 3 + 1] = NAN;
    fixture_open(&t, false);
    assert_fine(t.ctx, tn_feed_new(t.ctx, t.features, index, 4, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feed));
    assert_fails(t.ctx, TN_ERR_DATA, "row 11 ", tnp_feed_pick(t.ctx, feed, picked, 2, out, 3));
    assert_fine(t.ctx, tnp_feed_pick(t.ctx, feed, picked, 1, out, 3));
    tn_feed_free(feed);
    fixture_free(&t);
}

/* Rows do not depend on each other: any number of threads gives the same bits. 1500 x 300 is work for four. */
static void test_threads(void **state)
{
    (void)state;
    enum { ROWS = 1500, COLS = 300 };
    static float one[ROWS * COLS], many[ROWS * COLS];
    for (int kind = TN_NORM_L2; kind <= TN_NORM_ZSCORE; ++kind) {
        fixture t = fixture_of(ROWS, COLS, false, 1, 7);
        tn_feed *feed = NULL;
        fixture_open(&t, false);
        for (size_t threads = 1; threads <= 7; threads += 3) {
            tn_ctx_set_threads(t.ctx, threads);
            assert_fine(t.ctx,
                        tn_feed_new(t.ctx, t.features, NULL, ROWS, (tn_normalize)kind, TN_NAN_ERROR, NULL, &feed));
            assert_fine(t.ctx, tn_feed_read(t.ctx, feed, 0, ROWS, threads == 1 ? one : many, COLS));
            if (threads > 1)
                assert_memory_equal(one, many, sizeof one);
            tn_feed_free(feed);
        }
        fixture_free(&t);
    }
}

/* The k-th allocation fails, for every k that there is: the status says so, nothing leaks, the output is untouched. */
static void test_no_memory(void **state)
{
    (void)state;
    fixture t = fixture_of(20, 4, false, 0, 8);
    fixture_open(&t, false);
    size_t live = tnp_live_blocks(t.ctx), k = 1;
    for (;; ++k) {
        tn_feed *feed = NULL;
        tnp_fail_allocation(t.ctx, k);
        tn_status st = tn_feed_new(t.ctx, t.features, NULL, 20, TN_NORM_ZSCORE, TN_NAN_ERROR, NULL, &feed);
        tnp_fail_allocation(t.ctx, 0);
        if (st == TN_OK) {
            tn_feed_free(feed);
            break;
        }
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(feed);
        assert_int_equal(tnp_live_blocks(t.ctx), live);
    }
    assert_true(k > 4); /* the feed, means, scales, a block at least */
    fixture_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_stride), cmocka_unit_test(test_zscore),    cmocka_unit_test(test_set_zscore),
        cmocka_unit_test(test_bad_rows),        cmocka_unit_test(test_nan_zero),  cmocka_unit_test(test_too_many_rows),
        cmocka_unit_test(test_threads),         cmocka_unit_test(test_no_memory), cmocka_unit_test(test_pick),
        cmocka_unit_test(test_pick_bad_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
