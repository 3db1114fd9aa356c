/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of rows: every row once a pass, in a new order each, the same for the same seed; long files in runs that
 * are mixed over the whole file. Rows of many bytes make few rows a long file: nothing is read here. */
#include "one_ctx.h"

#include "learn/online/visit_order.h"

#include <stdlib.h>
#include <string.h>

enum { KB = 1024, MB = 1024 * 1024 };

/* Plain, long with runs of 64 rows, of 2 rows, of one; rows that divide into runs and rows that do not; one row more
 * than a stretch; rows that are longer than a stretch; none and one. */
static const struct shape {
    size_t rows, row_bytes;
} shapes[] = {{0, 4},          {1, 4},           {2, 4},           {1000, 4},       {65536, 4 * KB},
              {65537, 4 * KB}, {100001, 4 * KB}, {4097, 128 * KB}, {513, 512 * KB}, {600, MB},
              {17, 300 * MB},  {1, 300 * MB},    {70000, 5000},    {9, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static tnp_visit_order order_of(size_t i, bool shuffle)
{
    tnp_visit_order o;
    assert_fine(ctx, tnp_visit_order_init(ctx, shapes[i].rows, shapes[i].row_bytes, shuffle, &o));
    return o;
}

static void every_row_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; ++i)
        for (size_t pass = 0; pass < 3; ++pass) {
            tnp_visit_order o = order_of(i, true);
            unsigned char *seen = calloc(o.rows + 1, 1);
            tnp_visit_order_draw(&o, 5, pass);
            for (size_t r = 0; r < o.rows; ++r) {
                assert_true(o.order[r] < o.rows);
                assert_int_equal(seen[o.order[r]]++, 0);
            }
            free(seen);
            tnp_visit_order_destroy(&o);
        }
}

static void file_order_without_shuffle(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; ++i) {
        tnp_visit_order o = order_of(i, false);
        tnp_visit_order_draw(&o, 5, 1);
        for (size_t r = 0; r < o.rows; ++r)
            assert_int_equal(o.order[r], r);
        tnp_visit_order_destroy(&o);
    }
}

/* Another pass or seed is another draw: of n rows about one stands where it stood, (n = 1000) 20 with a chance below
 * 1e-18. */
static void drawn_by_seed_and_pass_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; ++i) {
        tnp_visit_order a = order_of(i, true), b = order_of(i, true);
        size_t bytes = a.rows * sizeof *a.order, still = 0, same_pass = 0;
        tnp_visit_order_draw(&a, 7, 4);
        tnp_visit_order_draw(&b, 7, 3); /* what was drawn before does not matter */
        tnp_visit_order_draw(&b, 7, 4);
        assert_memory_equal(a.order, b.order, bytes);
        tnp_visit_order_draw(&b, 7, 5);
        for (size_t r = 0; r < a.rows; ++r)
            still += a.order[r] == b.order[r];
        tnp_visit_order_draw(&b, 8, 4);
        for (size_t r = 0; r < a.rows; ++r)
            same_pass += a.order[r] == b.order[r];
        assert_true(a.rows < 500 || (still < 20 && same_pass < 20));
        tnp_visit_order_destroy(&a);
        tnp_visit_order_destroy(&b);
    }
}

/* Runs of whole 256 KB and stretches of whole runs; the rows of a stretch come from at most as many runs, wherever the
 * short run fell: one more. */
static void a_stretch_is_a_thousand_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; ++i) {
        tnp_visit_order o = order_of(i, true);
        assert_true(o.run >= 1 && (o.stretch % o.run == 0 || !o.runs));
        assert_true((o.runs != NULL) == (shapes[i].rows * shapes[i].row_bytes > (size_t)256 * MB));
        tnp_visit_order_draw(&o, 11, 0);
        for (size_t start = 0; o.runs && start < o.rows; start += o.stretch) {
            unsigned char *used = calloc(o.run_count, 1);
            size_t different = 0, end = tnp_min(o.rows, start + o.stretch);
            for (size_t r = start; r < end; ++r) {
                different += used[o.order[r] / o.run] == 0;
                used[o.order[r] / o.run] = 1;
            }
            assert_true(different <= o.stretch / o.run + 2);
            free(used);
        }
        tnp_visit_order_destroy(&o);
    }
}

/* A file sorted by class, half and half, four stretches of R = 1024 runs each: a stretch has a hypergeometric number of
 * runs of class 0, mean R/2, deviation below sqrt(R)/2 = 16, and within it rows are shuffled. So in every window of W =
 * 1024 rows of a stretch the share of class 0 lies within 6 (1/(2 sqrt R) + 1/(2 sqrt W)) = 0.19 of a half but for a
 * chance of 1e-8. File order would give 0 or 1, and whole stretches of neighbours too. */
static void a_sorted_file_is_mixed(void **state)
{
    (void)state;
    enum { ROWS = 4 * 65536, WINDOW = 1024 };
    tnp_visit_order o;
    assert_fine(ctx, tnp_visit_order_init(ctx, ROWS, 4 * KB, true, &o));
    assert_int_equal(o.run, 64);
    assert_int_equal(o.stretch, 65536);
    for (size_t pass = 0; pass < 3; ++pass) {
        tnp_visit_order_draw(&o, 3, pass);
        for (size_t start = 0; start < ROWS; start += WINDOW) {
            double low = 0;
            for (size_t r = start; r < start + WINDOW; ++r)
                low += o.order[r] < ROWS / 2;
            assert_true(fabs(low / WINDOW - 0.5) < 6 * (0.5 / sqrt(1024) + 0.5 / sqrt(WINDOW)));
        }
    }
    tnp_visit_order_destroy(&o);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t i = 3; i < 5; ++i)
        for (size_t k = 1;; ++k) {
            size_t before = tnp_live_blocks(ctx);
            tnp_visit_order o = {.rows = 77};
            tnp_fail_allocation(ctx, k);
            tn_status st = tnp_visit_order_init(ctx, 100000, i == 3 ? 4 : 4 * KB, true, &o);
            tnp_fail_allocation(ctx, 0);
            if (st == TN_OK) {
                assert_true(k > 1);
                tnp_visit_order_destroy(&o);
                break;
            }
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_int_equal(o.rows, 77);
            assert_int_equal(tnp_live_blocks(ctx), before);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_once),
        cmocka_unit_test(file_order_without_shuffle),
        cmocka_unit_test(drawn_by_seed_and_pass_only),
        cmocka_unit_test(a_stretch_is_a_thousand_runs),
        cmocka_unit_test(a_sorted_file_is_mixed),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
