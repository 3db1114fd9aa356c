/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Standardised transfer problems against long double, handed over whole and in pieces; what is refused; the score that
 * hyper-parameters are chosen by. */
#include "transfer_of.h"

#include <float.h>

/* A mean of m products is off by at most m eps max|x|, which the scale divides; the kinds have max|x|/scale below 20. */
static void standardised_columns(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{2, 1}, {3, 7}, {5, 8}, {12, 9}, {20, 70}, {33, 1100}};
    tn_ctx *ctx = ctx_of(2);
    for (size_t shape = 0; shape < 6; ++shape)
        for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind)
            for (int weighted = 0; weighted < 2; ++weighted) {
                ref_transfer r =
                    ref_transfer_of((ref_columns)kind, shapes[shape][0], shapes[shape][1], weighted, shape);
                tnp_transfer_problem *p = shape % 2 ? turned_problem_of(ctx, &r) : problem_of(ctx, &r);
                if (shape % 2)
                    assert_fine(ctx, tnp_transfer_problem_relabel(ctx, p, r.y));
                double slack = 40 * (double)r.m * DBL_EPSILON;
                for (size_t j = 0; j < r.p; ++j) {
                    assert_near_at(j, p->mean[j], (double)r.mean[j], slack);
                    assert_near_at(j, p->scale[j], (double)r.scale[j], slack);
                    assert_true((p->scale[j] == 0) == (kind == REF_DEAD && j % 3 == 2));
                    for (size_t i = 0; i < r.m; ++i)
                        assert_near_at(j, *tnp_tile_at(&p->z, i, j), (double)r.z[i * r.p + j], slack);
                }
                for (size_t i = 0; i < r.m; ++i) {
                    assert_near_at(i, p->target[i], (double)r.t[i], slack);
                    assert_near_at(i, p->root[i] * p->root[i], (double)r.share[i], slack);
                }
                assert_near(p->target_mean, (double)r.y_mean, slack);
                assert_near(p->target_scale, (double)r.y_scale, slack);
                tnp_transfer_problem_free(p);
                ref_transfer_free(&r);
            }
    ctx_done(ctx);
}

/* The same bits however the columns arrive and with any number of threads. */
static void pieces_and_threads_change_nothing(void **state)
{
    (void)state;
    ref_transfer r = ref_transfer_of(REF_DEAD, 9, 40001, true, 5);
    tn_ctx *ctx = ctx_of(1);
    tnp_transfer_problem *whole = problem_of(ctx, &r);
    static const size_t threads[] = {1, 2, 3, 7};
    for (size_t t = 0; t < 4; ++t) {
        tn_ctx *other = ctx_of(threads[t]);
        tnp_transfer_problem *p = NULL;
        assert_fine(other, tnp_transfer_problem_new(other, r.m, r.p, r.y, r.weights, &p));
        for (size_t done = 0, n; done < r.p; done += n) {
            n = tnp_min(r.p - done, done == 0 ? 3 : done == 3 ? 2 : 19993);
            assert_fine(other, tnp_transfer_problem_add(other, p, r.x + done, r.p, n));
        }
        assert_memory_equal(p->z.data, whole->z.data, whole->z.count * r.m * TNP_TILE * sizeof(double));
        assert_memory_equal(p->mean, whole->mean, r.p * sizeof(double));
        assert_memory_equal(p->scale, whole->scale, r.p * sizeof(double));
        assert_fails(other, TN_ERR_SHAPE, "1 columns after 40001 of 40001",
                     tnp_transfer_problem_add(other, p, r.x, r.p, 1));
        tnp_transfer_problem_free(p);
        ctx_done(other);
    }
    tnp_transfer_problem_free(whole);
    ctx_done(ctx);
    ref_transfer_free(&r);
}

static void products_with_all_columns(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{1, 1}, {3, 8}, {20, 1000}, {7, 30011}};
    for (size_t shape = 0; shape < 4; ++shape) {
        size_t m = shapes[shape][0], p = shapes[shape][1];
        tn_ctx *ctx = ctx_of(shape + 1);
        tnp_tiles tiles;
        ref_rng rng = ref_rng_of(shape);
        double *q = ref_alloc(m, sizeof *q), *t = ref_alloc(p + 1, sizeof *t), *x = ref_alloc(m * p, sizeof *x);
        double *z = ref_alloc(m, sizeof *z);
        assert_fine(ctx, tnp_tiles_init(ctx, m, p, &tiles));
        for (size_t i = 0; i < m; ++i) {
            q[i] = (double)ref_below(&rng, 100) - 50;
            for (size_t j = 0; j < p; ++j)
                *tnp_tile_at(&tiles, i, j) = (double)ref_below(&rng, 100) - 50;
        }
        t[p] = 7;
        tnp_tiles_product(ctx, &tiles, q, t);
        size_t first = p / 3, count = p - first;
        tnp_tiles_rows(&tiles, first, count, x);
        for (size_t j = 0; j < p; ++j) {
            double want = 0; /* whole numbers: exact */
            tnp_tiles_column(&tiles, j, z);
            for (size_t i = 0; i < m; ++i) {
                want += q[i] * *tnp_tile_at(&tiles, i, j);
                assert_true(z[i] == *tnp_tile_at(&tiles, i, j));
                assert_true(j < first || x[i * count + j - first] == z[i]);
            }
            assert_true(t[j] == want);
        }
        assert_true(t[p] == 7);
        tnp_tiles_destroy(&tiles);
        free(q);
        free(t);
        free(x);
        free(z);
        ctx_done(ctx);
    }
}

/* 0.1 has no exact mean: a constant column stays one with weights and at any size. Small variation on a large offset is none. */
static void constant_is_constant(void **state)
{
    (void)state;
    static const double y[7] = {1, -1, 1, -1, -1, 1, 1}, weights[7] = {0.3, 1.7, 0.9, 1, 2.2, 0.1, 0.7};
    tn_ctx *ctx = ctx_of(1);
    double x[7][4];
    for (size_t i = 0; i < 7; ++i) {
        x[i][0] = 0.1;
        x[i][1] = -1e17 / 3;
        x[i][2] = 0;
        x[i][3] = 1e9 + (i == 2 ? 1e-3 : 0);
    }
    for (int weighted = 0; weighted < 2; ++weighted) {
        tnp_transfer_problem *p = NULL;
        assert_fine(ctx, tnp_transfer_problem_new(ctx, 7, 4, y, weighted ? weights : NULL, &p));
        assert_fine(ctx, tnp_transfer_problem_add(ctx, p, x[0], 4, 4));
        for (size_t j = 0; j < 4; ++j) {
            assert_true((p->scale[j] > 0) == (j == 3));
            for (size_t i = 0; i < 7 && j < 3; ++i)
                assert_true(*tnp_tile_at(&p->z, i, j) == 0);
        }
        tnp_transfer_problem_free(p);
    }
    ctx_done(ctx);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    tnp_transfer_problem *p = NULL;
    const double ones[3] = {1, 1, 1}, minus[3] = {-1, -1, -1}, odd[3] = {1, -1, 0}, fine[3] = {1, -1, 1};
    const double weights[3] = {1, 0, 1}, endless[3] = {1, INFINITY, 1};
    assert_fails(ctx, TN_ERR_DATA, "all 3 rows are positive", tnp_transfer_problem_new(ctx, 3, 4, ones, NULL, &p));
    assert_fails(ctx, TN_ERR_DATA, "all 3 rows are negative", tnp_transfer_problem_new(ctx, 3, 4, minus, NULL, &p));
    assert_fails(ctx, TN_ERR_DATA, "both classes", tnp_transfer_problem_new(ctx, 0, 4, ones, NULL, &p));
    assert_fails(ctx, TN_ERR_ARG, "row 2 is 0", tnp_transfer_problem_new(ctx, 3, 4, odd, NULL, &p));
    assert_fails(ctx, TN_ERR_ARG, "row 1 is 0", tnp_transfer_problem_new(ctx, 3, 4, fine, weights, &p));
    assert_fails(ctx, TN_ERR_ARG, "row 1 is inf", tnp_transfer_problem_new(ctx, 3, 4, fine, endless, &p));
    assert_fails(ctx, TN_ERR_ARG, "no columns", tnp_transfer_problem_new(ctx, 3, 0, fine, NULL, &p));
    assert_null(p);
    assert_fine(ctx, tnp_transfer_problem_new(ctx, 3, 4, fine, NULL, &p));
    assert_fails(ctx, TN_ERR_DATA, "all 3 rows are positive", tnp_transfer_problem_relabel(ctx, p, ones));
    assert_fails(ctx, TN_ERR_ARG, "row 2 is 0", tnp_transfer_problem_relabel(ctx, p, odd));
    assert_memory_equal(p->y, fine, sizeof fine);
    tnp_transfer_problem_free(p);
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    for (size_t b = 0; b < 4; ++b) {
        double x[3 * 11] = {0};
        x[1 * 11 + 9] = bad[b];
        assert_fine(ctx, tnp_transfer_problem_new(ctx, 3, 11, fine, NULL, &p));
        assert_fails(ctx, TN_ERR_DATA, "column 9 has a value", tnp_transfer_problem_add(ctx, p, x, 11, 11));
        tnp_transfer_problem_free(p);
    }
    ctx_done(ctx);
}

static void scores_by_hand(void **state)
{
    (void)state;
    const double y[5] = {1, 1, 1, -1, -1}, a[5] = {0.5, -1, 2, -1, 0}, b[5] = {0.5, NAN, 2, -1, -1};
    tnp_transfer_score s = tnp_transfer_score_of(5, y, a), t = tnp_transfer_score_of(5, y, b);
    /* One of three and one of two are wrong; squares (0.25 + 4 + 1)/3 and (0 + 1)/2. */
    assert_near(s.error, (1.0 / 3 + 0.5) / 2, 1e-15);
    assert_near(s.squares, (5.25 / 3 + 0.5) / 2, 1e-15);
    assert_near(t.error, 1.0 / 6, 1e-15);
    assert_true(isinf(t.squares));
    assert_true(tnp_transfer_better(t, s) && !tnp_transfer_better(s, t) && !tnp_transfer_better(s, s));
    tnp_transfer_score u = {s.error + 1e-16, s.squares / 2};
    assert_true(tnp_transfer_better(u, s) && !tnp_transfer_better(s, u));
    double weights[5];
    tnp_transfer_balance(5, y, weights);
    for (size_t i = 0; i < 5; ++i)
        assert_near_at(i, weights[i], i < 3 ? 5.0 / 6 : 5.0 / 4, 1e-15);
}

static void failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const double y[2] = {1, -1};
    tnp_transfer_problem *p = NULL;
    size_t k = 1;
    for (;; ++k) {
        tnp_fail_allocation(ctx, k);
        tn_status st = tnp_transfer_problem_new(ctx, 2, 3, y, NULL, &p);
        tnp_fail_allocation(ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(p);
        assert_int_equal(tnp_live_blocks(ctx), 0);
    }
    assert_true(k > 5);
    tnp_transfer_problem_free(p);
    p = NULL;
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tnp_transfer_problem_new(ctx, 2, SIZE_MAX / 8, y, NULL, &p));
    assert_null(p);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standardised_columns),      cmocka_unit_test(pieces_and_threads_change_nothing),
        cmocka_unit_test(products_with_all_columns), cmocka_unit_test(constant_is_constant),
        cmocka_unit_test(bad_input_is_refused),      cmocka_unit_test(scores_by_hand),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
