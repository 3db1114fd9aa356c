/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfer problems standardised as they are read against long double, columns of floats and of doubles, rows that take
 * no part; what is refused; the score that hyper-parameters are chosen by. */
#include "transfer_of.h"

#include <float.h>
#include <string.h>

/* Everything that can be asked of Z, against r.z. */
static void check_columns(tn_ctx *ctx, const tnp_transfer_problem *p, const ref_transfer *r, double slack)
{
    size_t first = r->p / 3, count = r->p - first;
    double *q = ref_alloc(r->m, sizeof *q), *t = ref_alloc(r->p + 1, sizeof *t), *z = ref_alloc(r->m, sizeof *z);
    double *x = ref_alloc(r->m * count, sizeof *x);
    tnp_tiles tiles;
    for (size_t i = 0; i < r->m; ++i)
        q[i] = sin(1.0 + 3.0 * (double)i);
    t[r->p] = 7;
    tnp_transfer_product(ctx, p, q, t);
    tnp_transfer_rows(p, first, count, x);
    assert_fine(ctx, tnp_transfer_tiles(ctx, p, &tiles));
    for (size_t j = 0; j < r->p; ++j) {
        ref_real sum = 0;
        tnp_transfer_column(p, j, z);
        for (size_t i = 0; i < r->m; ++i) {
            sum += (ref_real)q[i] * r->z[i * r->p + j];
            assert_near_at(j, z[i], (double)r->z[i * r->p + j], slack);
            assert_true(*tnp_tile_at(&tiles, i, j) == z[i]);
            assert_true(j < first || x[i * count + j - first] == z[i]);
        }
        assert_near_at(j, t[j], (double)sum, (double)r->m * slack);
    }
    assert_true(t[r->p] == 7);
    tnp_tiles_destroy(&tiles);
    free(q);
    free(t);
    free(z);
    free(x);
}

/* A mean of m products is off by at most m eps max|x|, which the scale divides; the kinds have max|x|/scale below 20. */
static void check_problem(tn_ctx *ctx, ref_columns kind, size_t m, size_t cols, bool weighted, bool wide)
{
    ref_transfer r = ref_transfer_of(kind, m, cols, weighted, m);
    tnp_transfer_problem *p = NULL;
    double slack = 40 * (double)m * DBL_EPSILON, *turned = ref_alloc(m, sizeof *turned);
    if (!wide)
        ref_transfer_narrow(&r);
    for (size_t i = 0; i < m; ++i)
        turned[i] = r.y[(i + 1) % m];
    assert_fine(ctx, tnp_transfer_problem_new(ctx, columns_of(ctx, &r, wide), turned, r.weights, &p));
    assert_fine(ctx, tnp_transfer_problem_relabel(ctx, p, r.y));
    for (size_t j = 0; j < r.p; ++j) {
        assert_near_at(j, p->mean[j], (double)r.mean[j], slack);
        assert_near_at(j, p->inverse[j] * (double)r.scale[j], r.scale[j] > 0 ? 1 : 0, slack);
        assert_true((p->inverse[j] == 0) == (kind == REF_DEAD && j % 3 == 2));
    }
    for (size_t i = 0; i < r.m; ++i) {
        assert_near_at(i, p->target[i], (double)r.t[i], slack);
        assert_near_at(i, p->root[i] * p->root[i], (double)r.share[i], slack);
    }
    assert_near(p->target_mean, (double)r.y_mean, slack);
    assert_near(p->target_scale, (double)r.y_scale, slack);
    check_columns(ctx, p, &r, slack);
    free(turned);
    problem_done(p);
    ref_transfer_free(&r);
}

static void standardised_columns(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{2, 1}, {3, 7}, {5, 8}, {12, 9}, {20, 70}, {33, 1100}};
    tn_ctx *ctx = ctx_of(2);
    for (size_t shape = 0; shape < 6; ++shape)
        for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind)
            for (int option = 0; option < 4; ++option)
                check_problem(ctx, (ref_columns)kind, shapes[shape][0], shapes[shape][1], option % 2, option / 2);
    ctx_done(ctx);
}

/* Pieces of a row come in any order; floats go into doubles, with the same means and scales; the same bits with any
 * number of threads. */
static void pieces_and_threads_change_nothing(void **state)
{
    (void)state;
    ref_transfer r = ref_transfer_of(REF_DEAD, 9, 40001, true, 5);
    ref_transfer_narrow(&r);
    tn_ctx *ctx = ctx_of(1);
    float *x = ref_alloc(r.p, sizeof *x);
    double *q[2] = {ref_alloc(r.p, sizeof **q), ref_alloc(r.p, sizeof **q)}, *t = ref_alloc(r.p, sizeof *t);
    tnp_transfer_problem *whole[2] = {NULL, NULL};
    for (int wide = 0; wide < 2; ++wide) {
        assert_fine(ctx, tnp_transfer_problem_new(ctx, columns_of(ctx, &r, wide), r.y, r.weights, &whole[wide]));
        tnp_transfer_product(ctx, whole[wide], r.y, q[wide]);
    }
    static const size_t threads[] = {1, 2, 3, 7};
    for (size_t k = 0; k < 4; ++k) {
        tn_ctx *other = ctx_of(threads[k]);
        tnp_transfer_columns *columns = NULL;
        tnp_transfer_problem *p = NULL;
        assert_fine(other, tnp_transfer_columns_new(other, r.m, r.p, k % 2, &columns));
        for (size_t i = r.m; i-- > 0;) {
            for (size_t j = 0; j < r.p; ++j)
                x[j] = (float)r.x[i * r.p + j];
            tnp_transfer_put(columns, i, 5, r.p - 5, x + 5);
            tnp_transfer_put(columns, i, 0, 5, x);
        }
        assert_fine(other, tnp_transfer_problem_new(other, columns, r.y, r.weights, &p));
        tnp_transfer_product(other, p, r.y, t);
        assert_memory_equal(p->mean, whole[0]->mean, r.p * sizeof(double));
        assert_memory_equal(p->inverse, whole[1]->inverse, r.p * sizeof(double));
        assert_memory_equal(t, q[k % 2], r.p * sizeof *t);
        problem_done(p);
        ctx_done(other);
    }
    for (int wide = 0; wide < 2; ++wide) {
        problem_done(whole[wide]);
        free(q[wide]);
    }
    ctx_done(ctx);
    free(x);
    free(t);
    ref_transfer_free(&r);
}

/* A row of weight 0 changes nothing, however far away it lies. */
static void rows_without_weight_take_no_part(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_DEAD, 11, 20, true, 8);
    r.weights[4] = r.weights[7] = 0;
    for (size_t j = 0; j < r.p; ++j)
        r.x[4 * r.p + j] = 1e6;
    double *x = ref_alloc(9 * r.p, sizeof *x), *y = ref_alloc(9, sizeof *y), *weights = ref_alloc(9, sizeof *weights);
    for (size_t i = 0, n = 0; i < r.m; ++i)
        if (r.weights[i] > 0) {
            memcpy(x + n * r.p, r.x + i * r.p, r.p * sizeof *x);
            y[n] = r.y[i];
            weights[n++] = r.weights[i];
        }
    ref_transfer fewer = ref_transfer_from(9, r.p, x, y, weights);
    tnp_transfer_problem *p = problem_of(ctx, &r), *q = problem_of(ctx, &fewer);
    assert_memory_equal(p->mean, q->mean, r.p * sizeof(double));
    for (size_t j = 0; j < r.p; ++j) /* the least scale counts rows, those without weight too */
        assert_true(p->inverse[j] == q->inverse[j]);
    assert_true(p->target_mean == q->target_mean && p->target_scale == q->target_scale);
    assert_true(p->root[4] == 0 && p->target[7] == 0 && p->root[10] == q->root[8]);
    problem_done(p);
    problem_done(q);
    ref_transfer_free(&r);
    ref_transfer_free(&fewer);
    ctx_done(ctx);
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
        double *q = ref_alloc(m, sizeof *q), *t = ref_alloc(p + 1, sizeof *t), *z = ref_alloc(m, sizeof *z);
        assert_fine(ctx, tnp_tiles_init(ctx, m, p, &tiles));
        for (size_t i = 0; i < m; ++i) {
            q[i] = (double)ref_below(&rng, 100) - 50;
            for (size_t j = 0; j < p; ++j)
                *tnp_tile_at(&tiles, i, j) = (double)ref_below(&rng, 100) - 50;
        }
        t[p] = 7;
        tnp_tiles_product(ctx, &tiles, q, t);
        for (size_t j = 0; j < p; ++j) {
            double want = 0; /* whole numbers: exact */
            tnp_tiles_column(&tiles, j, z);
            for (size_t i = 0; i < m; ++i) {
                want += q[i] * *tnp_tile_at(&tiles, i, j);
                assert_true(z[i] == *tnp_tile_at(&tiles, i, j));
            }
            assert_true(t[j] == want);
        }
        assert_true(t[p] == 7);
        tnp_tiles_destroy(&tiles);
        free(q);
        free(t);
        free(z);
        ctx_done(ctx);
    }
}

/* 0.1 has no exact mean: a constant column stays one with weights and at any size. Small variation on a large offset is
 * none. */
static void constant_is_constant(void **state)
{
    (void)state;
    static const double y[7] = {1, -1, 1, -1, -1, 1, 1}, weights[7] = {0.3, 1.7, 0.9, 1, 2.2, 0.1, 0.7};
    tn_ctx *ctx = ctx_of(1);
    tnp_transfer_columns *columns = NULL;
    double z[7];
    assert_fine(ctx, tnp_transfer_columns_new(ctx, 7, 4, true, &columns));
    for (size_t i = 0; i < 7; ++i) {
        double x[4] = {0.1, -1e17 / 3, 0, 1e9 + (i == 2 ? 1e-3 : 0)};
        tnp_transfer_put_wide(columns, i, 0, 4, x);
    }
    for (int weighted = 0; weighted < 2; ++weighted) {
        tnp_transfer_problem *p = NULL;
        assert_fine(ctx, tnp_transfer_problem_new(ctx, columns, y, weighted ? weights : NULL, &p));
        for (size_t j = 0; j < 4; ++j) {
            assert_true((p->inverse[j] > 0) == (j == 3));
            tnp_transfer_column(p, j, z);
            for (size_t i = 0; i < 7 && j < 3; ++i)
                assert_true(z[i] == 0);
        }
        tnp_transfer_problem_free(p);
    }
    tnp_transfer_columns_free(columns);
    ctx_done(ctx);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    tnp_transfer_columns *three = NULL, *empty = NULL, *bare = NULL;
    tnp_transfer_problem *p = NULL;
    const double ones[3] = {1, 1, 1}, minus[3] = {-1, -1, -1}, odd[3] = {1, -1, 0}, fine[3] = {1, -1, 1};
    const double left[3] = {1, 0, 1}, weights[3] = {1, -1, 1}, endless[3] = {1, INFINITY, 1};
    assert_fine(ctx, tnp_transfer_columns_new(ctx, 3, 11, true, &three));
    assert_fine(ctx, tnp_transfer_columns_new(ctx, 0, 4, false, &empty));
    assert_fine(ctx, tnp_transfer_columns_new(ctx, 3, 0, false, &bare));
    assert_fails(ctx, TN_ERR_DATA, "all 3 rows are positive", tnp_transfer_problem_new(ctx, three, ones, NULL, &p));
    assert_fails(ctx, TN_ERR_DATA, "all 3 rows are negative", tnp_transfer_problem_new(ctx, three, minus, NULL, &p));
    assert_fails(ctx, TN_ERR_DATA, "all 2 rows are positive", tnp_transfer_problem_new(ctx, three, fine, left, &p));
    assert_fails(ctx, TN_ERR_DATA, "both classes", tnp_transfer_problem_new(ctx, empty, ones, NULL, &p));
    assert_fails(ctx, TN_ERR_ARG, "row 2 is 0", tnp_transfer_problem_new(ctx, three, odd, NULL, &p));
    assert_fails(ctx, TN_ERR_ARG, "row 1 is -1", tnp_transfer_problem_new(ctx, three, fine, weights, &p));
    assert_fails(ctx, TN_ERR_ARG, "row 1 is inf", tnp_transfer_problem_new(ctx, three, fine, endless, &p));
    assert_fails(ctx, TN_ERR_ARG, "no columns", tnp_transfer_problem_new(ctx, bare, fine, NULL, &p));
    assert_null(p);
    assert_fine(ctx, tnp_transfer_problem_new(ctx, three, fine, NULL, &p));
    assert_fails(ctx, TN_ERR_DATA, "all 3 rows are positive", tnp_transfer_problem_relabel(ctx, p, ones));
    assert_fails(ctx, TN_ERR_ARG, "row 2 is 0", tnp_transfer_problem_relabel(ctx, p, odd));
    assert_memory_equal(p->y, fine, sizeof fine);
    tnp_transfer_problem_free(p);
    p = NULL;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    for (size_t b = 0; b < 4; ++b) {
        tnp_transfer_put_wide(three, 1, 9, 1, &bad[b]);
        assert_fails(ctx, TN_ERR_DATA, "column 9 has a value", tnp_transfer_problem_new(ctx, three, fine, NULL, &p));
    }
    assert_null(p);
    tnp_transfer_columns_free(three);
    tnp_transfer_columns_free(empty);
    tnp_transfer_columns_free(bare);
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
    double weights[5] = {1, 1, 1, 1, 1}, fewer[5] = {0, 1, 1, 1, 0};
    tnp_transfer_balance(5, y, weights);
    tnp_transfer_balance(5, y, fewer);
    for (size_t i = 0; i < 5; ++i)
        assert_near_at(i, weights[i], i < 3 ? 5.0 / 6 : 5.0 / 4, 1e-15);
    double uneven[5] = {1, 2, 0, 4, 2}; /* 3 and 6 of 9 */
    const double even[5] = {1.5, 3, 0, 3, 1.5};
    tnp_transfer_balance(5, y, uneven);
    for (size_t i = 0; i < 5; ++i)
        assert_near_at(i, uneven[i], even[i], 1e-15);
    assert_true(fewer[0] == 0 && fewer[4] == 0 && fewer[1] == 0.75 && fewer[2] == 0.75 && fewer[3] == 1.5);
}

static void failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    const double y[2] = {1, -1};
    for (size_t k = 1, done = 0; !done; ++k) {
        tnp_transfer_columns *columns = NULL;
        tnp_transfer_problem *p = NULL;
        tnp_fail_allocation(ctx, k);
        tn_status st = tnp_transfer_columns_new(ctx, 2, 3, k % 2, &columns);
        if (st == TN_OK)
            st = tnp_transfer_problem_new(ctx, columns, y, NULL, &p);
        tnp_fail_allocation(ctx, 0);
        done = st == TN_OK;
        assert_int_equal(st, done ? TN_OK : TN_ERR_MEMORY);
        assert_true((p != NULL) == done && (!done || k > 8));
        tnp_transfer_problem_free(p);
        tnp_transfer_columns_free(columns);
        assert_int_equal(tnp_live_blocks(ctx), 0);
    }
    tnp_transfer_columns *columns = NULL;
    assert_fails(ctx, TN_ERR_MEMORY, "too large", tnp_transfer_columns_new(ctx, 2, SIZE_MAX / 8, false, &columns));
    assert_null(columns);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standardised_columns),
        cmocka_unit_test(pieces_and_threads_change_nothing),
        cmocka_unit_test(rows_without_weight_take_no_part),
        cmocka_unit_test(products_with_all_columns),
        cmocka_unit_test(constant_is_constant),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(scores_by_hand),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
