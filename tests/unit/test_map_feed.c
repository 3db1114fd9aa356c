/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Feeds with a map: the rows of a file, brought to the map's axis, mapped and normalised by literal loops. */
#include "fixtures/problems.h"
#include "ref_map.h"
#include "tenon/transform.h"
#include "transform/feed.h"
#include "transform/map.h"

enum { ROWS = 70, COLS = 13, RANK = 5, MAPS = 10 };

static const char *const named[] = {"hellinger", "chi2", "intersection", "js"};
static double weight[TN_BASIS_SIZE * RANK];

/* Maps 0 to 3: learned, by basis and sign; 4 to 7 named, odd; 8 and 9 hellinger and chi2, split. */
static tn_map *map_of(int form)
{
    tn_map *map = NULL;
    ref_rng rng = ref_rng_of(12);
    for (size_t i = 0; i < TN_BASIS_SIZE * RANK; ++i)
        weight[i] = ref_normal(&rng) / (1 + (double)(i / RANK));
    tn_map_spec spec = {
        .basis = (tn_basis)(form & 1), .sign = (tn_signed)(form >> 1 & 1), .rank = RANK, .scale = 6, .weight = weight};
    if (form < 4)
        assert_fine(test_ctx, tn_map_new_learned(test_ctx, &spec, &map));
    else
        assert_fine(test_ctx, tn_map_new_named(test_ctx, named[form % 4], (tn_signed)(form > 7), &map));
    return map;
}

/* Row after row: scale x / |x|_1, then phi of every entry side by side. Owned by the test. */
static double *mapped(const double *x, size_t rows, size_t cols, int form, size_t width)
{
    double *out = ref_alloc(rows * cols * width, sizeof *out);
    for (size_t i = 0; i < rows; ++i) {
        ref_real sum = 0, values[TN_MAP_MOST];
        for (size_t j = 0; j < cols; ++j)
            sum += fabsl((ref_real)x[i * cols + j]);
        for (size_t j = 0; j < cols; ++j) {
            ref_real v = sum > 0 ? (ref_real)x[i * cols + j] / sum : 0;
            if (form < 4)
                ref_map_learned(form & 1, form >> 1, weight, RANK, 6 * v, values);
            else
                ref_map_named(form % 4, form > 7, v, values);
            for (size_t k = 0; k < width; ++k)
                out[(i * cols + j) * width + k] = (double)values[k];
        }
    }
    return out;
}

/* Both signs, many magnitudes, zeros; row 3 all zero, row 4 with one entry; column 2 constant. */
static double *values_of(size_t rows, size_t cols)
{
    double *x = ref_alloc(rows * cols, sizeof *x);
    ref_rng rng = ref_rng_of(77);
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) {
            x[i * cols + j] = ref_below(&rng, 3) ? ref_normal(&rng) * pow(10, -3 * ref_unit(&rng)) : 0;
            if (j == 2)
                x[i * cols + j] = 0;
            if (i == 3 || (i == 4 && j != 5))
                x[i * cols + j] = 0;
        }
    return x;
}

/* Narrow and wide within 1e-5 of the literal values; z-scores of mapped columns multiply that by the column's scale. */
static void check_feed(const tn_feed *feed, const double *want, size_t stride)
{
    size_t cols = tn_feed_cols(feed);
    float *narrow = ref_alloc(ROWS * stride, sizeof *narrow);
    double *wide = ref_alloc(ROWS * stride, sizeof *wide);
    for (size_t i = 0; i < ROWS * stride; ++i)
        wide[i] = narrow[i] = -77;
    assert_fine(test_ctx, tn_feed_read(test_ctx, feed, 0, ROWS, narrow, stride));
    assert_fine(test_ctx, tn_feed_read_wide(test_ctx, feed, 0, ROWS, wide, stride));
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t j = 0; j < stride; ++j) {
            double truth = j < cols ? want[i * cols + j] : -77;
            double steep = j < cols && tn_feed_scales(feed) ? tn_feed_scales(feed)[j] : 1;
            assert_near_at(i * stride + j, wide[i * stride + j], truth, 1e-5 * fmax(1, steep));
            assert_near_at(i * stride + j, (double)narrow[i * stride + j], truth, 1e-5 * fmax(1, steep));
        }
    free(narrow);
    free(wide);
}

static void test_every_map_and_normalisation(void **state)
{
    (void)state;
    for (int as = AS_F64; as <= AS_F32; ++as) {
        double *x = values_of(ROWS, COLS);
        tn_features *features = features_of("x", x, ROWS, COLS, (stored)as);
        for (int form = 0; form < MAPS; ++form) {
            tn_map *map = map_of(form);
            size_t width = tn_map_width(map);
            double *phi = mapped(x, ROWS, COLS, form, width);
            for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind) {
                double *want = normalised(phi, ROWS, COLS * width, (tn_normalize)kind);
                tn_feed *feed = NULL;
                /* the literal mean of equal numbers is not that number: constant columns are 0 by definition */
                for (size_t i = 0; i < ROWS * width && kind == TN_NORM_ZSCORE; ++i)
                    want[i / width * COLS * width + 2 * width + i % width] = 0;
                assert_fine(test_ctx,
                            tn_feed_new(test_ctx, features, NULL, ROWS, (tn_normalize)kind, TN_NAN_ERROR, map, &feed));
                assert_true(tn_feed_cols(feed) == COLS * width && tn_feed_map(feed) == map);
                check_feed(feed, want, COLS * width);
                check_feed(feed, want, COLS * width + 3);
                tn_feed_free(feed);
                free(want);
            }
            free(phi);
            tn_map_free(map);
        }
        tn_features_close(features);
        free(x);
    }
}

/* A constant feature alone in its row of unit norm: its mapped columns do not vary, their z-scores are 0. */
static void test_constant_columns(void **state)
{
    (void)state;
    double x[12 * 2], out[12 * 14];
    for (size_t i = 0; i < 12; ++i) {
        x[2 * i] = 0.25 * (i % 2 ? 1 : 3);
        x[2 * i + 1] = x[2 * i]; /* half of every row */
    }
    tn_features *features = features_of("x", x, 12, 2, AS_F64);
    tn_map *map = map_of(5);
    tn_feed *feed = NULL;
    assert_fine(test_ctx, tn_feed_new(test_ctx, features, NULL, 12, TN_NORM_ZSCORE, TN_NAN_ERROR, map, &feed));
    assert_fine(test_ctx, tn_feed_read_wide(test_ctx, feed, 0, 12, out, 14));
    for (size_t i = 0; i < 12 * 14; ++i)
        assert_true(out[i] == 0);
    for (size_t j = 0; j < 14; ++j)
        assert_true(tn_feed_scales(feed)[j] == 0);
    tn_feed_free(feed);
    tn_map_free(map);
    tn_features_close(features);
}

/* error names the row; zero maps what is left of it, as if the file had zeros there. */
static void test_bad_values(void **state)
{
    (void)state;
    double *x = values_of(ROWS, COLS);
    x[20 * COLS + 4] = NAN;
    x[31 * COLS] = -INFINITY;
    tn_features *features = features_of("x", x, ROWS, COLS, AS_F32);
    tn_map *map = map_of(1);
    tn_feed *feed = NULL;
    size_t cols = COLS * RANK;
    float *out = ref_alloc(ROWS * cols, sizeof *out);
    double *out_wide = ref_alloc(ROWS * cols, sizeof *out_wide);
    assert_fine(test_ctx, tn_feed_new(test_ctx, features, NULL, ROWS, TN_NORM_L2, TN_NAN_ERROR, map, &feed));
    assert_fails(test_ctx, TN_ERR_DATA, "row 20 ", tn_feed_read(test_ctx, feed, 0, ROWS, out, cols));
    assert_fails(test_ctx, TN_ERR_DATA, "row 31 ", tn_feed_read_wide(test_ctx, feed, 25, 20, out_wide, cols));
    tn_feed_free(feed);
    x[20 * COLS + 4] = x[31 * COLS] = 0;
    double *phi = mapped(x, ROWS, COLS, 1, RANK), *want = normalised(phi, ROWS, cols, TN_NORM_L2);
    assert_fine(test_ctx, tn_feed_new(test_ctx, features, NULL, ROWS, TN_NORM_L2, TN_NAN_ZERO, map, &feed));
    check_feed(feed, want, cols);
    tn_feed_free(feed);
    free(phi);
    free(want);
    free(out);
    free(out_wide);
    tn_map_free(map);
    tn_features_close(features);
    free(x);
}

/* Any number of threads, rows picked one by one, and rows read in pieces: the same bytes. 600 x 37 entries become work
 * for all of the threads by their 7 values. */
static void test_threads_and_picks(void **state)
{
    (void)state;
    enum { MANY = 600, WIDE = 37 };
    static float one[MANY * WIDE * 7], many[MANY * WIDE * 7], picked[WIDE * 7];
    double *x = values_of(MANY, WIDE);
    tn_features *features = features_of("x", x, MANY, WIDE, AS_F64);
    tn_map *map = map_of(5);
    tn_feed *feed = NULL;
    for (int kind = TN_NORM_L2; kind <= TN_NORM_ZSCORE; kind += TN_NORM_ZSCORE)
        for (size_t threads = 1; threads <= 7; threads += 3) {
            tn_ctx_set_threads(test_ctx, threads);
            assert_fine(test_ctx,
                        tn_feed_new(test_ctx, features, NULL, MANY, (tn_normalize)kind, TN_NAN_ERROR, map, &feed));
            assert_fine(test_ctx, tn_feed_read(test_ctx, feed, 0, MANY, threads == 1 ? one : many, WIDE * 7));
            if (threads > 1)
                assert_memory_equal(one, many, sizeof one);
            for (size_t i = 3; i < MANY; i += 97) {
                assert_fine(test_ctx, tnp_feed_pick(test_ctx, feed, &i, 1, picked, WIDE * 7));
                assert_memory_equal(picked, one + i * WIDE * 7, sizeof picked);
            }
            tn_feed_free(feed);
        }
    tn_ctx_set_threads(test_ctx, 2);
    tn_map_free(map);
    tn_features_close(features);
    free(x);
}

/* The k-th allocation fails, for every k that there is: in making a feed with z-scores and in reading it. */
static void test_no_memory(void **state)
{
    (void)state;
    double *x = values_of(ROWS, COLS);
    tn_features *features = features_of("x", x, ROWS, COLS, AS_F64);
    tn_map *map = map_of(0);
    static float out[ROWS * COLS * RANK];
    size_t live = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tn_feed *feed = NULL;
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tn_feed_new(test_ctx, features, NULL, ROWS, TN_NORM_ZSCORE, TN_NAN_ERROR, map, &feed);
        if (st == TN_OK)
            st = tn_feed_read(test_ctx, feed, 0, ROWS, out, COLS * RANK);
        tnp_fail_allocation(test_ctx, 0);
        tn_feed_free(feed);
        assert_int_equal(tnp_live_blocks(test_ctx), live + (map->table != NULL));
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 7); /* the feed, the map's table, means, scales, a block, raw rows and marks of each reading */
    tn_map_free(map);
    tn_features_close(features);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_map_and_normalisation),
        cmocka_unit_test(test_constant_columns),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_threads_and_picks),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
