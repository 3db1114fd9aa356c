/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The greedy path against its criterion solved anew for every candidate, exhaustive search, the bound of the paper, ties,
 * degenerate shapes, threads and failing allocations. */
#include "transfer/greedy.h"
#include "transfer_of.h"

/* shared: steps go by the products of columns. */
static tnp_greedy_path *path_by(tn_ctx *ctx, const ref_transfer *r, bool shared, double lambda, double delta,
                                size_t most)
{
    tnp_transfer_problem *p = problem_of(ctx, r);
    tnp_greedy_path *path = NULL;
    if (shared)
        assert_fine(ctx, tnp_transfer_share_products(ctx, p, SIZE_MAX));
    assert_true(shared == (p->products != NULL));
    assert_fine(ctx, tnp_greedy_path_new(ctx, p, lambda, delta, most, &path));
    problem_done(p);
    return path;
}

static tnp_greedy_path *path_of(tn_ctx *ctx, const ref_transfer *r, double lambda, double delta, size_t most)
{
    return path_by(ctx, r, false, lambda, delta, most);
}

/* Picks, objectives to 1e-10, and the raw weights of the last prefix. The tolerance of the weights is that of the
 * solve: about rows eps times the condition of C_S + lambda I, 1e10 at lambda = 0 where 1e-10 of a column is enough. */
static void check_path_by(tn_ctx *ctx, const ref_transfer *r, bool wide, bool shared, double lambda, double delta,
                          size_t most)
{
    tnp_transfer_problem *p = NULL;
    tnp_greedy_path *path = NULL;
    size_t *picks = ref_alloc(most + 1, sizeof *picks);
    ref_real *objective = ref_alloc(most + 1, sizeof *objective), *want = ref_alloc(most + 1, sizeof *want), b = 0;
    size_t n = ref_transfer_greedy(r, lambda, delta, most, picks, objective);
    assert_fine(ctx, tnp_transfer_problem_new(ctx, columns_of(ctx, r, wide), r->y, r->weights, &p));
    if (shared)
        assert_fine(ctx, tnp_transfer_share_products(ctx, p, SIZE_MAX));
    assert_fine(ctx, tnp_greedy_path_new(ctx, p, lambda, delta, most, &path));
    assert_int_equal(path->count, n);
    for (size_t s = 0; s < n; ++s) {
        assert_int_equal(path->picks[s], picks[s]);
        assert_near_at(s, path->objective[s], (double)objective[s], 1e-10);
    }
    double *w = ref_alloc(most + 1, sizeof *w);
    for (size_t prefix = n; prefix + 2 > n && prefix > 0; --prefix) {
        tnp_greedy_weights(path, prefix, w);
        double intercept = tnp_transfer_unscale(p, path->picks, prefix, w);
        ref_transfer_ridge(r, r->y, picks, prefix, lambda, want, &b);
        double slack = lambda > 0 ? 1e-9 : 1e-5;
        assert_near(intercept, (double)b, slack);
        for (size_t s = 0; s < prefix; ++s)
            assert_near_at(s, w[s], (double)want[s], slack);
    }
    free(picks);
    free(objective);
    free(want);
    free(w);
    tnp_greedy_path_free(path);
    problem_done(p);
}

/* Pass by pass over the columns, and by their products. */
static void check_path(tn_ctx *ctx, const ref_transfer *r, bool wide, double lambda, double delta, size_t most)
{
    check_path_by(ctx, r, wide, false, lambda, delta, most);
    check_path_by(ctx, r, wide, true, lambda, delta, most);
}

static void picks_follow_the_literal_criterion(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{4, 9}, {6, 30}, {10, 3}, {12, 24}, {21, 17}};
    static const double lambdas[] = {0.01, 1, 30};
    tn_ctx *ctx = ctx_of(2);
    for (uint64_t seed = 0; seed < 4; ++seed)
        for (size_t shape = 0; shape < 5; ++shape)
            for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind)
                for (size_t l = 0; l < 3; ++l)
                    for (int weighted = 0; weighted < 2; ++weighted) {
                        size_t m = shapes[shape][0], p = shapes[shape][1];
                        ref_transfer r = ref_transfer_of((ref_columns)kind, m, p, weighted, 100 * seed + shape);
                        if (seed >= 2)
                            ref_transfer_narrow(&r);
                        check_path(ctx, &r, seed < 2, lambdas[l], seed % 2 ? 1e-4 : 0, seed == 3 ? 4 : 10);
                        ref_transfer_free(&r);
                    }
    ctx_done(ctx);
}

/* More picks than the path has room for at first, and more than rows. */
static void long_paths(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 30, 40, true, 17);
    check_path(ctx, &r, true, 0.5, 0, 40);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

/* lambda = 0: least squares, and a column that has become dependent is not picked, so m - 1 columns are the most. */
static void forward_regression(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{5, 12}, {8, 5}, {12, 24}, {20, 16}};
    tn_ctx *ctx = ctx_of(1);
    for (uint64_t seed = 0; seed < 6; ++seed)
        for (size_t shape = 0; shape < 4; ++shape)
            for (int kind = 0; kind < REF_COLUMN_KINDS; ++kind) {
                size_t m = shapes[shape][0], p = shapes[shape][1];
                ref_transfer r = ref_transfer_of((ref_columns)kind, m, p, seed % 2, 7 * seed + shape);
                check_path(ctx, &r, true, 0, 1e-4, p);
                tnp_greedy_path *path = path_of(ctx, &r, 0, 0, p);
                assert_true(path->count <= m - 1);
                tnp_greedy_path_free(path);
                ref_transfer_free(&r);
            }
    ctx_done(ctx);
}

static ref_transfer tied(size_t m, size_t p, double (*value)(size_t i, size_t j))
{
    double *x = ref_alloc(m * p, sizeof *x), *y = ref_alloc(m, sizeof *y);
    for (size_t i = 0; i < m; ++i) {
        y[i] = i % 2 ? 1 : -1;
        for (size_t j = 0; j < p; ++j)
            x[i * p + j] = value(i, j);
    }
    return ref_transfer_from(m, p, x, y, NULL);
}

/* Column 0 is noise; all the others are the same but for a factor, a sign and an offset. */
static double multiples(size_t i, size_t j)
{
    double base = (i % 2 ? 1 : -1) + 0.37 * sin(1.0 + (double)i);
    return j == 0 ? sin(1.3 * (double)(i * i)) : base * (j % 2 ? 1.0 : -0.7) * (double)(1 + j % 7) + (double)j / 3;
}

static void ties_go_to_the_lower_column(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    ref_transfer r = tied(9, 1500, multiples);
    static const double lambdas[] = {0, 0.1, 1};
    for (size_t l = 0; l < 6; ++l) {
        tnp_greedy_path *path = path_by(ctx, &r, l >= 3, lambdas[l % 3], 0, 5);
        assert_int_equal(path->picks[0], 1);
        for (size_t s = 1; s < path->count; ++s) /* then its likes in order, the noise once */
            assert_true(path->picks[s] == 0 || path->picks[s] <= s + 1);
        assert_int_equal(path->count, lambdas[l % 3] > 0 ? 5 : 2);
        tnp_greedy_path_free(path);
    }
    ref_transfer_free(&r);
    ctx_done(ctx);
}

static double hadamard(size_t i, size_t j)
{
    size_t both = i & (j + 1), sign = 0;
    for (; both; both >>= 1)
        sign ^= both & 1;
    return sign ? -1 : 1;
}

/* One column: always the best one. Orthogonal columns: the best set of every size. Others: never better than the best. */
static void exhaustive_search(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (uint64_t seed = 0; seed < 40; ++seed) {
        bool orthogonal = seed % 4 == 3;
        ref_transfer r = orthogonal ? tied(8, 7, hadamard) : ref_transfer_of(seed % 3, 7, 8, seed % 2, seed);
        if (orthogonal) {
            ref_rng rng = ref_rng_of(seed);
            double *x = r.x, *y = r.y;
            for (size_t i = 0; i < 8; ++i)
                y[i] = i == 0 ? 1 : i == 1 || ref_unit(&rng) > 0.4 ? -1 : 1;
            r.x = r.y = NULL;
            ref_transfer_free(&r);
            r = ref_transfer_from(8, 7, x, y, NULL);
        }
        tnp_greedy_path *path = path_of(ctx, &r, 0.5, 0, 4);
        for (size_t n = 1; n <= path->count; ++n) {
            double best = (double)ref_transfer_exhaustive(&r, n, 0.5L);
            if (orthogonal || n == 1)
                assert_near_at(n, path->objective[n - 1], best, 1e-12);
            assert_true(path->objective[n - 1] <= best + 1e-12);
        }
        tnp_greedy_path_free(path);
        ref_transfer_free(&r);
    }
    ctx_done(ctx);
}

/* Corollary 1: with correlations of at most gamma < (1 + lambda)/(6k) the regularised error is at most
 * (1 + 16 (k+1)^2 gamma/(1 + lambda)) OPT - 16 (k+1)^2 gamma lambda/(1 + lambda)^2. The error of a set is 1 less its
 * objective. */
static void bound_of_the_paper(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    size_t held = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
        ref_transfer r = ref_transfer_of(seed % 2 ? REF_PLAIN : REF_CORRELATED, 40, 7, false, seed);
        ref_real gamma = 0, lambda = powl(10, (ref_real)(seed % 3) - 1);
        for (size_t i = 0; i < 7; ++i)
            for (size_t j = 0; j < i; ++j) {
                ref_real c = 0;
                for (size_t row = 0; row < r.m; ++row)
                    c += r.z[row * 7 + i] * r.z[row * 7 + j];
                gamma = fmaxl(gamma, fabsl(c));
            }
        tnp_greedy_path *path = path_of(ctx, &r, (double)lambda, 0, 4);
        for (size_t k = 1; k <= path->count; ++k)
            if (gamma < (1 + lambda) / (6 * (ref_real)k)) {
                ref_real factor = 16 * (ref_real)((k + 1) * (k + 1)) * gamma / (1 + lambda);
                ref_real best = 1 - ref_transfer_exhaustive(&r, k, lambda);
                assert_true(1 - path->objective[k - 1] <=
                            (1 + factor) * best - factor * lambda / (1 + lambda) + 1e-12L);
                ++held;
            }
        tnp_greedy_path_free(path);
        ref_transfer_free(&r);
    }
    assert_true(held > 60);
    ctx_done(ctx);
}

static double nothing(size_t i, size_t j)
{
    (void)i;
    return (double)j + 0.1;
}

static double opposite(size_t i, size_t j)
{
    return j == 0 ? 3 : i == 0 ? 1 : 2;
}

/* Two rows: every column that differs is +-1/sqrt 2, and all tie. */
static void smallest_shapes(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = tied(2, 5, opposite);
    tnp_greedy_path *path = path_of(ctx, &r, 1, 0, 100);
    assert_int_equal(path->count, 4);
    for (size_t s = 0; s < 4; ++s) {
        assert_int_equal(path->picks[s], s + 1);
        assert_near(path->objective[s], (double)(s + 1) / (double)(s + 2), 1e-14); /* n copies: n/(n + lambda) */
    }
    tnp_greedy_path_free(path);
    path = path_of(ctx, &r, 0, 0, 100); /* least squares through both points */
    assert_int_equal(path->count, 1);
    tnp_greedy_path_free(path);
    ref_transfer_free(&r);
    r = tied(6, 3, nothing);
    path = path_of(ctx, &r, 1, 0, 3);
    assert_int_equal(path->count, 0);
    tnp_greedy_path_free(path);
    path = path_of(ctx, &r, 1, 0, 0);
    assert_int_equal(path->count, 0);
    tnp_greedy_path_free(path);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

/* The paper's stop at delta makes no promise for the first pick: it is made however little it gains. */
static void delta_counts_from_the_second_pick(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 10, 6, false, 3);
    tnp_greedy_path *path = path_of(ctx, &r, 1, 2, 6);
    assert_int_equal(path->count, 1);
    tnp_greedy_path_free(path);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

static void bad_lambda_is_refused(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 5, 6, false, 3);
    tnp_transfer_problem *p = problem_of(ctx, &r);
    tnp_greedy_path *path = NULL;
    static const double bad[] = {-1, 1e-9, NAN, INFINITY};
    for (size_t b = 0; b < 4; ++b)
        assert_fails(ctx, TN_ERR_ARG, "expected 0 or a number from 1e-6",
                     tnp_greedy_path_new(ctx, p, bad[b], 0, 3, &path));
    assert_null(path);
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

/* 40 picks, so that the path grows; many columns, so that there is work for seven. */
static void threads_change_nothing(void **state)
{
    (void)state;
    static const size_t threads[] = {2, 3, 7};
    ref_transfer r = ref_transfer_of(REF_TWINS, 12, 70001, true, 11);
    tn_ctx *ctx = ctx_of(1);
    tnp_greedy_path *one = path_of(ctx, &r, 0.1, 0, 40);
    assert_int_equal(one->count, 40);
    for (size_t t = 0; t < 3; ++t) {
        tn_ctx *other = ctx_of(threads[t]);
        tnp_greedy_path *path = path_of(other, &r, 0.1, 0, 40);
        assert_int_equal(path->count, 40);
        assert_memory_equal(path->picks, one->picks, 40 * sizeof *one->picks);
        assert_memory_equal(path->objective, one->objective, 40 * sizeof(double));
        assert_memory_equal(path->solved, one->solved, 40 * sizeof(double));
        tnp_greedy_path_free(path);
        ctx_done(other);
    }
    tnp_greedy_path_free(one);
    ctx_done(ctx);
    ref_transfer_free(&r);
}

static void failing_allocations(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    ref_transfer r = ref_transfer_of(REF_PLAIN, 6, 50, false, 3);
    tnp_transfer_problem *p = problem_of(ctx, &r);
    tnp_greedy_path *path = NULL;
    size_t blocks = tnp_live_blocks(ctx), k = 1;
    for (;; ++k) {
        tnp_fail_allocation(ctx, k);
        tn_status st = tnp_greedy_path_new(ctx, p, 1, 0, 40, &path);
        tnp_fail_allocation(ctx, 0);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
        assert_null(path);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
    }
    assert_true(k > 16); /* the growth at 32 picks among them */
    tnp_greedy_path_free(path);
    problem_done(p);
    ref_transfer_free(&r);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_follow_the_literal_criterion),
        cmocka_unit_test(long_paths),
        cmocka_unit_test(forward_regression),
        cmocka_unit_test(ties_go_to_the_lower_column),
        cmocka_unit_test(exhaustive_search),
        cmocka_unit_test(bound_of_the_paper),
        cmocka_unit_test(smallest_shapes),
        cmocka_unit_test(delta_counts_from_the_second_pick),
        cmocka_unit_test(bad_lambda_is_refused),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
