/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out of greedy selection and of ridge with its choice of lambda against literal ones on the rows that stay,
 * one by one and in parts; what few rows leave; the choice among prefixes. */
#include "transfer/loo.h"
#include "transfer_of.h"

/* Rows of the positive class are dealt out first, then the others. */
static void deal(const ref_transfer *r, size_t many, size_t *part)
{
    size_t next = 0;
    for (size_t i = 0; i < r->m; ++i)
        if (r->y[i] > 0)
            part[i] = next++ % many;
    for (size_t i = 0; i < r->m; ++i)
        if (r->y[i] < 0)
            part[i] = next++ % many;
}

/* Weights are solved to about rows eps times the condition of C_S + lambda I; three of many columns keep it low at
 * lambda = 0. */
static void check(tn_ctx *ctx, const ref_transfer *r, bool wide, bool balanced, double lambda, double delta,
                  size_t most)
{
    size_t many = r->m > 320 ? 10 : r->m > 32 ? 32 : r->m, *part = ref_alloc(r->m, sizeof *part);
    double *got = ref_alloc((most + 1) * r->m, sizeof *got), *rounded = ref_alloc(r->m, sizeof *rounded);
    ref_real *want = ref_alloc((most + 1) * r->m, sizeof *want);
    tnp_transfer_score *score = ref_alloc(most + 1, sizeof *score);
    tnp_transfer_columns *columns = columns_of(ctx, r, wide);
    assert_fine(ctx, tnp_leave_greedy(ctx, &(tnp_leaving){columns, r->y, balanced, r->weights}, lambda, delta, most,
                                      got, score));
    deal(r, many, part);
    for (size_t which = 0; which < many; ++which)
        ref_transfer_greedy_without(r, part, which, balanced, lambda, delta, most, want);
    for (size_t s = 0; s <= most; ++s) {
        for (size_t i = 0; i < r->m; ++i) {
            rounded[i] = (double)want[s * r->m + i];
            assert_near_at(s * r->m + i, got[s * r->m + i], rounded[i], 1e-9);
        }
        /* A balanced mean of labels is 0 but for a rounding, which decides its sign: errors are those of what was got. */
        assert_near_at(s, score[s].squares, tnp_transfer_score_of(r->m, r->y, rounded).squares, 1e-8);
        assert_near_at(s, score[s].error, tnp_transfer_score_of(r->m, r->y, got + s * r->m).error, 0);
    }
    free(part);
    free(got);
    free(rounded);
    free(want);
    free(score);
    tnp_transfer_columns_free(columns);
}

static void everything_again_without_the_row(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{3, 4}, {6, 20}, {14, 9}, {20, 40}};
    static const double lambdas[] = {0, 0.01, 1};
    tn_ctx *ctx = ctx_of(2);
    for (uint64_t seed = 0; seed < 4; ++seed)
        for (size_t shape = 0; shape < 4; ++shape)
            for (size_t l = 0; l < 3; ++l)
                for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind) {
                    ref_transfer r = ref_transfer_of((ref_columns)kind, shapes[shape][0], shapes[shape][1], l == 2,
                                                     31 * seed + shape);
                    if (seed % 2)
                        ref_transfer_narrow(&r);
                    check(ctx, &r, seed % 2 == 0, seed / 2, lambdas[l], seed == 3 ? 1e-2 : 0, lambdas[l] > 0 ? 6 : 3);
                    ref_transfer_free(&r);
                }
    ctx_done(ctx);
}

static void many_rows_go_in_parts(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (uint64_t seed = 0; seed < 4; ++seed) {
        ref_transfer r = ref_transfer_of(REF_CORRELATED,
                                         seed < 2    ? 75
                                         : seed == 2 ? 33
                                                     : 321,
                                         seed == 3 ? 5 : 12, false, seed);
        check(ctx, &r, true, seed % 2, 1, 1e-4, 4);
        ref_transfer_free(&r);
    }
    ctx_done(ctx);
}

/* The only positive row: without it the others say -1. Two rows: each is told the other's label. */
static void one_class_left(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t m = 2; m < 5; ++m) {
        ref_transfer r = ref_transfer_of(REF_PLAIN, m, 5, false, 2);
        for (size_t i = 0; i < m; ++i)
            r.y[i] = i == 1 ? 1 : -1;
        tnp_transfer_columns *columns = columns_of(ctx, &r, true);
        double got[3 * 4];
        tnp_transfer_score score[3];
        assert_fine(ctx, tnp_leave_greedy(ctx, &(tnp_leaving){columns, r.y, false, NULL}, 1, 0, 2, got, score));
        for (size_t s = 0; s < 3; ++s) {
            assert_true(got[s * m + 1] == -1 && (m > 2 || got[s * m] == 1));
            assert_true(score[s].error >= 0.5);
        }
        tnp_transfer_columns_free(columns);
        ref_transfer_free(&r);
    }
    ctx_done(ctx);
}

/* lambda with the best literal leave-one-out score of the rows that stay, the larger of equals. */
static double chosen(const ref_transfer *r, const size_t *columns, size_t count)
{
    static const double grid[] = {1e4, 1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4};
    ref_real *out = ref_alloc(r->m, sizeof *out);
    double *rounded = ref_alloc(r->m, sizeof *rounded), best = 0;
    tnp_transfer_score least = {INFINITY, INFINITY};
    for (size_t l = 0; l < 9; ++l) {
        ref_transfer_loo(r, r->y, columns, count, grid[l], out);
        for (size_t i = 0; i < r->m; ++i)
            rounded[i] = (double)out[i];
        tnp_transfer_score score = tnp_transfer_score_of(r->m, r->y, rounded);
        if (tnp_transfer_better(score, least)) {
            least = score;
            best = grid[l];
        }
    }
    free(out);
    free(rounded);
    return best;
}

/* Rows of part `which` by ridge on the others, want (m). */
static void ridge_without(const ref_transfer *r, const size_t *part, size_t which, bool balanced, size_t count,
                          double *want)
{
    ref_transfer others = ref_transfer_without(r, part, which, balanced);
    size_t *columns = ref_alloc(count, sizeof *columns);
    ref_real *w = ref_alloc(count, sizeof *w), b = others.y[0];
    bool both = others.y_scale > 0;
    for (size_t j = 0; j < count; ++j)
        columns[j] = j;
    if (both)
        ref_transfer_ridge(&others, others.y, columns, count, chosen(&others, columns, count), w, &b);
    for (size_t i = 0; i < r->m; ++i) {
        ref_real sum = b;
        for (size_t j = 0; j < count; ++j)
            sum += w[j] * (ref_real)r->x[i * r->p + j];
        want[i] = part[i] == which ? (double)sum : want[i];
    }
    free(columns);
    free(w);
    ref_transfer_free(&others);
}

/* Columns of features alone, fewer or more than rows, and all columns. Weights of raw columns have condition 1e4/1e-4
 * at worst. */
static void ridge_chooses_again_without_the_row(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{4, 5, 3}, {9, 14, 4}, {12, 20, 15}, {40, 10, 6}};
    tn_ctx *ctx = ctx_of(1);
    for (size_t shape = 0; shape < 4; ++shape)
        for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind)
            for (int option = 0; option < (shape < 3 ? 8 : 4); ++option) {
                bool all = option % 2, balanced = option / 2 % 2;
                size_t m = shapes[shape][0], many = tnp_min(m, 32);
                ref_transfer r = ref_transfer_of((ref_columns)kind, m, shapes[shape][1], option >= 4, shape);
                size_t *part = ref_alloc(m, sizeof *part), count = all ? r.p : shapes[shape][2];
                double *got = ref_alloc(m, sizeof *got), *want = ref_alloc(m, sizeof *want);
                tnp_transfer_columns *columns = columns_of(ctx, &r, true);
                tnp_transfer_score score;
                assert_fine(ctx,
                            tnp_leave_ridge(ctx, &(tnp_leaving){columns, r.y, balanced, r.weights}, shapes[shape][2],
                                            all ? TNP_TRANSFER_RLS : TNP_TRANSFER_NONE, got, &score));
                deal(&r, many, part);
                for (size_t which = 0; which < many; ++which)
                    ridge_without(&r, part, which, balanced, count, want);
                for (size_t i = 0; i < m; ++i)
                    assert_near_at(i, got[i], want[i], 1e-8);
                assert_near(score.squares, tnp_transfer_score_of(m, r.y, got).squares, 0);
                free(part);
                free(got);
                free(want);
                tnp_transfer_columns_free(columns);
                ref_transfer_free(&r);
            }
    ctx_done(ctx);
}

/* Noise alone, more columns than rows: the closed form for picks that have seen the row would say that it can be told,
 * and about half is the truth: 40 draws of 20 rows, whose share of errors has a standard deviation of 0.018. */
static void noise_cannot_be_told(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    double error = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
        ref_rng rng = ref_rng_of(seed);
        ref_transfer r = ref_transfer_of(REF_PLAIN, 20, 300, false, seed);
        for (size_t i = 0; i < 20 * 300; ++i)
            r.x[i] = ref_normal(&rng);
        tnp_transfer_columns *columns = columns_of(ctx, &r, true);
        double got[11 * 20];
        tnp_transfer_score score[11];
        assert_fine(ctx, tnp_leave_greedy(ctx, &(tnp_leaving){columns, r.y, true, NULL}, 1, 0, 10, got, score));
        error += score[10].error / 40;
        tnp_transfer_columns_free(columns);
        ref_transfer_free(&r);
    }
    assert_true(error > 0.42);
    ctx_done(ctx);
}

static void best_prefix(void **state)
{
    (void)state;
    static const tnp_transfer_score score[4] = {{0.5, 1}, {0.2, 0.9}, {0.2, 0.4}, {0.2, 0.4}};
    assert_int_equal(tnp_greedy_best(score, 3), 2);
    assert_int_equal(tnp_greedy_best(score, 0), 0);
}

static void failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 4, 9, false, 3);
    tnp_transfer_columns *columns = columns_of(ctx, &r, true);
    double got[3 * 4];
    tnp_transfer_score score[3];
    size_t blocks = tnp_live_blocks(ctx), k = 1;
    for (tn_status st = TN_ERR_MEMORY; st != TN_OK; ++k) {
        tnp_fail_allocation(ctx, k);
        st = tnp_leave_greedy(ctx, &(tnp_leaving){columns, r.y, false, NULL}, 1, 0, 2, got, score);
        tnp_fail_allocation(ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
    }
    assert_true(k > 30);
    tnp_transfer_columns_free(columns);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_again_without_the_row),
        cmocka_unit_test(many_rows_go_in_parts),
        cmocka_unit_test(one_class_left),
        cmocka_unit_test(ridge_chooses_again_without_the_row),
        cmocka_unit_test(noise_cannot_be_told),
        cmocka_unit_test(best_prefix),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
