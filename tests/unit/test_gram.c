/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gram matrices of blocks of rows with many zeros and with few, against plain sums: on whole numbers, where every order
 * of additions is exact, and on others within the rounding of sums in float. The loop over lists of every instruction
 * set against the sums it stands for. */
#include "algebra/gram.h"
#include "ctx_of.h"
#include "ref_dense.h"
#include "ref_random.h"
#include "simd_tables.h"

#include <stdlib.h>

typedef struct block {
    size_t rows, n;
    float *x;
    void *scratch;
    double *gram, *squares;
} block;

/* filled: the share of entries that are not zero; the rest of a gram is what was there before, 7. */
static block block_of(size_t rows, size_t n, double filled, bool whole)
{
    ref_rng rng = ref_rng_of(rows * 1000 + n + (uint64_t)(100 * filled));
    block b = {rows, n, ref_alloc(rows * n, 4), NULL, ref_alloc(n * n, 8), ref_alloc(n, 8)};
    for (size_t i = 0; i < rows * n; ++i) {
        float value = whole ? (float)ref_below(&rng, 7) + 1 : (float)ref_normal(&rng);
        b.x[i] = ref_unit(&rng) < filled ? value : i % 3 ? 0.0F : -0.0F;
    }
    for (size_t i = 0; i < n * n; ++i)
        b.gram[i] = 7;
    b.scratch = ref_alloc(tnp_gram_scratch(rows, n), 1);
    return b;
}

static void block_free(block *b)
{
    free(b->x);
    free(b->scratch);
    free(b->gram);
    free(b->squares);
}

static void add(tn_ctx *ctx, const block *b)
{
    assert_fine(ctx, tnp_gram_add(ctx, b->rows, b->n, b->x, b->scratch, b->gram, b->squares));
}

/* slack: of the sum of sizes of the products. Sums of at most 1024 products below 64 are exact in float. */
static void check_block(size_t rows, size_t n, double filled, bool whole, double slack)
{
    tn_ctx *ctx = ctx_of(2);
    block b = block_of(rows, n, filled, whole);
    add(ctx, &b);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            double want = 0, size = 0;
            for (size_t r = 0; r < rows && j >= i; ++r) {
                double product = (double)b.x[r * n + i] * (double)b.x[r * n + j];
                want += product;
                size += fabs(product);
            }
            if (fabs(b.gram[i * n + j] - 7 - want) > slack * size + (whole ? 0 : 1e-14) ||
                (i == j && fabs(b.squares[i] - want) > slack * size))
                fail_msg("%zu x %zu, %g filled, at (%zu, %zu): %.17g, expected %.17g", rows, n, filled, i, j,
                         b.gram[i * n + j] - 7, want);
        }
    block_free(&b);
    ctx_done(ctx);
}

/* Columns up to the last of a stripe, beyond it, and fewer than are worth lists; rows the same with chunks. */
static void whole_numbers_are_exact(void **state)
{
    (void)state;
    const size_t rows[] = {1, 63, 64, 130}, columns[] = {3, 96, 256, 288, 301};
    const double filled[] = {0, 0.02, 0.3, 0.55, 0.7, 1};
    for (size_t r = 0; r < 4; ++r)
        for (size_t c = 0; c < 5; ++c)
            for (size_t f = 0; f < 6; ++f)
                check_block(rows[r], columns[c], filled[f], true, 0);
}

/* (rows + 1) u of the sizes, u = 2^-24: each product and each sum is rounded once at most. */
static void rounding_is_that_of_float_sums(void **state)
{
    (void)state;
    check_block(257, 300, 0.4, false, 258 * 0x1p-24);
    check_block(257, 300, 0.9, false, 258 * 0x1p-24);
}

/* A stripe without a zero beside one that has nothing else: the lists of both have their place. */
static void uneven_columns_are_exact(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    block b = block_of(128, 384, 0, true);
    for (size_t r = 0; r < b.rows; ++r)
        for (size_t i = 96; i < 192; ++i)
            b.x[r * b.n + i] = (float)(r % 5 + i % 3) + 1;
    add(ctx, &b);
    for (size_t i = 0; i < b.n; ++i)
        for (size_t j = i; j < b.n; ++j) {
            double want = 7;
            for (size_t r = 0; r < b.rows; ++r)
                want += (double)b.x[r * b.n + i] * (double)b.x[r * b.n + j];
            assert_true(b.gram[i * b.n + j] == want);
        }
    block_free(&b);
    ctx_done(ctx);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    block one = block_of(200, 480, 0.35, false), more = block_of(200, 480, 0.35, false);
    tn_ctx *ctx = ctx_of(1);
    add(ctx, &one);
    ctx_done(ctx);
    for (size_t threads = 2; threads < 6; ++threads) {
        for (size_t i = 0; i < more.n * more.n; ++i)
            more.gram[i] = 7;
        ctx = ctx_of(threads);
        add(ctx, &more);
        assert_memory_equal(one.gram, more.gram, one.n * one.n * sizeof *one.gram);
        assert_memory_equal(one.squares, more.squares, one.n * sizeof *one.squares);
        ctx_done(ctx);
    }
    block_free(&one);
    block_free(&more);
}

static void a_cancel_stops_it(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    block b = block_of(64, 256, 0.3, true);
    tn_ctx_cancel(ctx);
    assert_int_equal(tnp_gram_add(ctx, b.rows, b.n, b.x, b.scratch, b.gram, b.squares), TN_ERR_INTERRUPTED);
    block_free(&b);
    ctx_done(ctx);
}

/* Lists of columns c of c % 5 entries, some with the same place. */
static void lists_add_what_they_list(void **state)
{
    (void)state;
    enum { COLUMNS = 7, PLACES = 4, MOST = 5 * COLUMNS };
    for (size_t t = 0; t < table_count; ++t) {
        ref_rng rng = ref_rng_of(t);
        float panel[PLACES * TNP_STRIPE], tile[COLUMNS * TNP_STRIPE + 1], want[COLUMNS * TNP_STRIPE + 1], values[MOST];
        uint16_t counts[COLUMNS], places[MOST];
        size_t at = 0;
        for (size_t i = 0; i < PLACES * TNP_STRIPE; ++i)
            panel[i] = (float)ref_below(&rng, 33) - 16;
        for (size_t i = 0; i <= COLUMNS * TNP_STRIPE; ++i)
            want[i] = tile[i] = (float)ref_below(&rng, 33) - 16;
        for (size_t c = 0; c < COLUMNS; ++c) {
            counts[c] = (uint16_t)(c % 5);
            for (size_t e = 0; e < counts[c]; ++e, ++at) {
                values[at] = (float)ref_below(&rng, 9) - 4;
                places[at] = (uint16_t)(ref_below(&rng, PLACES) * TNP_STRIPE);
                for (size_t j = 0; j < TNP_STRIPE; ++j)
                    want[c * TNP_STRIPE + j] += values[at] * panel[places[at] + j];
            }
        }
        tables[t]->add_listed(counts, COLUMNS, values, places, panel, tile);
        for (size_t i = 0; i <= COLUMNS * TNP_STRIPE; ++i)
            assert_true(tile[i] == want[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_exact),  cmocka_unit_test(rounding_is_that_of_float_sums),
        cmocka_unit_test(uneven_columns_are_exact), cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_cancel_stops_it),        cmocka_unit_test(lists_add_what_they_list),
    };
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
