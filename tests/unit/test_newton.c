/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method of all columns side by side, and the two levels of the softmax, against the literal optimum, and
 * against its own certificate.
 *
 * Tolerances. u = 2^-24. A score is a sum of d + 1 products in float, to which every step of the conjugate gradients adds
 * one: objectives are off by ref_smooth_rounding at (d + 3 + products) u. */
#include "design_of.h"
#include "learn/linear/margin_loss.h"
#include "learn/softmax/softmax.h"

typedef enum form { LOGISTIC, HINGE, SOFTMAX, FORMS } form;

/* A problem in both languages. */
typedef struct pair {
    setting s;
    tnp_design *x;
    side_by_side c;
    bool coupled; /* the softmax: one problem, whose objective and gap are checked once */
    tnp_softmax soft;
    tnp_loss loss;
    ref_smooth ref; /* of all columns; separate losses are cut by column_of */
    double *cost;   /* (n, columns) */
    double *y;      /* (n, columns) */
} pair;

static tnp_loss loss_of(const pair *p, form f)
{
    return f == HINGE ? tnp_squared_hinge(&p->c.columns) : tnp_binary_logistic(&p->c.columns);
}

static pair *pair_of(ref_kind kind, size_t n, form f, double cost, size_t folds, const uint32_t *fold,
                     const float *weight)
{
    enum { D = 6, CLASSES = 3 };
    pair *p = ref_alloc(1, sizeof *p);
    p->s = setting_of(kind, n, D, CLASSES, f == LOGISTIC ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS, AS_F32);
    p->x = design_of(&p->s);
    p->c = columns_of(&p->s, cost, f == SOFTMAX ? cost : 0.5 * cost, folds, fold, weight);
    p->soft = (tnp_softmax){&p->s.y, (float)cost, weight};
    p->coupled = f == SOFTMAX;
    p->loss = loss_of(p, f);
    size_t count = p->c.columns.count;
    p->cost = ref_alloc(n * count, sizeof *p->cost);
    p->y = ref_alloc(n * count, sizeof *p->y);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < count; ++j) {
            p->cost[i * count + j] = p->c.cost[j * n + i];
            p->y[i * count + j] = p->c.sign[j * n + i] > 0;
        }
    p->ref = (ref_smooth){n,
                          D,
                          count,
                          p->s.p.x,
                          p->y,
                          p->cost,
                          f == SOFTMAX ? REF_SOFTMAX : f == HINGE ? REF_SQUARED_HINGE : REF_LOGISTIC,
                          false,
                          false};
    return p;
}

static void pair_free(pair *p)
{
    tnp_design_free(p->x);
    columns_free(&p->c);
    setting_free(&p->s);
    free(p->cost);
    free(p->y);
    free(p);
}

typedef struct solved {
    float *w;
    double *objective, *gap;
    tnp_newton_info info;
} solved;

static solved room_for(const pair *p)
{
    size_t k = p->c.columns.count;
    return (solved){.w = ref_alloc(k * (p->x->dim + 1), sizeof(float)),
                    .objective = ref_alloc(k, sizeof(double)),
                    .gap = ref_alloc(k, sizeof(double))};
}

static void solved_free(solved *v)
{
    free(v->w);
    free(v->objective);
    free(v->gap);
}

static tn_status run(tn_ctx *ctx, const pair *p, tnp_design *x, const tnp_newton_options *opt, solved *v)
{
    tnp_rows rows = tnp_design_rows(x);
    return p->coupled
               ? tnp_softmax_solve(ctx, &rows, &p->soft, opt, v->w, v->objective, v->gap, &v->info)
               : tnp_newton_solve(ctx, &rows, p->c.columns.count, &p->loss, opt, v->w, v->objective, v->gap, &v->info);
}

static void again(pair *p, const tnp_newton_options *opt, solved *v)
{
    assert_fine(test_ctx, run(test_ctx, p, p->x, opt, v));
}

static solved solve(pair *p, const tnp_newton_options *opt)
{
    solved v = room_for(p);
    again(p, opt, &v);
    return v;
}

/* One column of a separate loss as a problem of its own; arrays are the caller's. */
static ref_smooth column_of(const pair *p, size_t j, double *y, double *cost)
{
    ref_smooth one = p->ref;
    for (size_t i = 0; i < one.n; ++i) {
        y[i] = p->y[i * one.k + j];
        cost[i] = p->cost[i * one.k + j];
    }
    one.k = 1;
    one.y = y;
    one.c = cost;
    return one;
}

/* f is that of w; the gap covers f - f*, and w is where the literal gradient is no longer than the gap says; within
 * `close` of the optimum, relatively. A free intercept has a gap too, see the next test. */
static void check_problem(const ref_smooth *p, const solved *v, size_t j, double close)
{
    size_t m = p->k * (p->d + 1);
    ref_real *w = widened(v->w + j * (p->d + 1), m), *best = ref_alloc(m, sizeof *best), *g = ref_alloc(m, sizeof *g);
    double optimum = (double)ref_smooth_solve(p, best), f = (double)ref_smooth_objective(p, w), square = 0;
    double rounding = (double)ref_smooth_rounding(p, w, ((double)p->d + 3 + (double)v->info.products) * U);
    ref_smooth_gradient(p, w, g);
    for (size_t i = 0; i < m; ++i)
        square += (double)(g[i] * g[i]);
    if (!(f - optimum <= v->gap[j] + rounding) || !(f - optimum <= close * optimum + rounding))
        print_error("loss %d, column %zu: f %.10g, optimum %.10g, gap %.3g, rounding %.3g\n", p->loss, j, f, optimum,
                    v->gap[j], rounding);
    assert_true(fabs(v->objective[j] - f) <= rounding);
    assert_true(f >= optimum * (1 - 1e-15));
    assert_true(f - optimum <= v->gap[j] + rounding);
    assert_true(f - optimum <= close * optimum + rounding);
    assert_true(square / 2 <= v->gap[j] * (1 + 1e-3) + rounding);
    for (size_t k = 0; k < p->k && !p->bias; ++k)
        assert_true(v->w[(j + k) * (p->d + 1) + p->d] == 0);
    free(w);
    free(best);
    free(g);
}

static void check(pair *p, const tnp_newton_options *opt, const solved *v, double close)
{
    p->ref.bias = opt->bias;
    p->ref.penalised = opt->bias_penalised;
    assert_true(v->info.converged);
    if (p->coupled) {
        check_problem(&p->ref, v, 0, close);
        return;
    }
    double *y = ref_alloc(p->ref.n, sizeof *y), *cost = ref_alloc(p->ref.n, sizeof *cost);
    for (size_t j = 0; j < p->ref.k; ++j) {
        ref_smooth one = column_of(p, j, y, cost);
        check_problem(&one, v, j, close);
    }
    free(y);
    free(cost);
}

/* Every loss, every kind of data, small and large costs, intercept none (0), free (1), penalised (2). */
static void optimum_and_certificate(void **state)
{
    (void)state;
    const double costs[] = {0.05, 1, 20};
    for (int kind = 0; kind < REF_KINDS; ++kind)
        for (int f = 0; f < FORMS; ++f)
            for (size_t z = 0; z < 3; ++z)
                for (int intercept = 0; intercept < 3; ++intercept) {
                    if (kind == REF_CONSTANT && f == LOGISTIC && intercept == 1)
                        continue; /* a class has all rows: its free intercept has no optimum */
                    pair *p = pair_of((ref_kind)kind, 30, (form)f, costs[z], 1, NULL, NULL);
                    /* the softmax certifies in double what float has found: 1e-5 is what its sums leave everywhere */
                    double tolerance = p->coupled ? 1e-5 : 1e-7;
                    tnp_newton_options opt = {tolerance, 200, intercept > 0, intercept == 2, 5};
                    solved v = solve(p, &opt);
                    if (!v.info.converged)
                        print_error("%s, loss %d, C %g, intercept %d: gaps %.3g %.3g %.3g of f after %zu steps\n",
                                    ref_kind_name((ref_kind)kind), f, costs[z], intercept, v.gap[0] / v.objective[0],
                                    v.gap[1] / v.objective[1], v.gap[2] / v.objective[2], v.info.iterations);
                    check(p, &opt, &v, intercept == 1 ? 10 * tolerance : tolerance);
                    assert_true(p->coupled ? v.info.products >= 1 + 2 * v.info.iterations /* the start may be enough */
                                           : v.info.iterations > 0 && v.info.products >= 2 * v.info.iterations);
                    solved_free(&v);
                    pair_free(p);
                }
}

/* Without an intercept there is none: the preconditioner, which knows a constant column, must not invent one. */
static void no_intercept_stays_none(void **state)
{
    (void)state;
    bool none = true;
    for (int f = 0; f < FORMS; ++f) {
        pair *p = pair_of(REF_NONNEG, 60, (form)f, 5, 1, NULL, NULL);
        tnp_newton_options opt = {1e-6, 200, false, false, 5};
        solved v = solve(p, &opt);
        for (size_t j = 0; j < 3; ++j)
            none = none && v.w[j * 7 + 6] == 0;
        solved_free(&v);
        pair_free(p);
    }
    assert_true(none);
}

/* A free intercept has no ridge, so that half the squared gradient bounds nothing when its curvature is below 1: with
 * costs that sum to less than 1 the start may look solved. What is reported as certain must be. */
static void the_certificate_of_a_free_intercept(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (int f = 0; f < FORMS; ++f)
        for (double cost = 1e-5; cost < 0.1; cost *= 10) {
            pair *p = pair_of(REF_NONNEG, 40, (form)f, cost, 1, NULL, NULL);
            tnp_newton_options opt = {1e-3, 200, true, false, 5};
            solved v = solve(p, &opt);
            double *y = ref_alloc(40, sizeof *y), *c = ref_alloc(40, sizeof *c);
            p->ref.bias = true;
            for (size_t j = 0; j < (p->coupled ? 1 : p->ref.k); ++j) {
                ref_smooth one = p->coupled ? p->ref : column_of(p, j, y, c);
                ref_real *w = widened(v.w + j * 7, one.k * 7), *best = ref_alloc(one.k * 7, sizeof *best);
                double optimum = (double)ref_smooth_solve(&one, best),
                       excess = (double)ref_smooth_objective(&one, w) - optimum;
                double rounding = (double)ref_smooth_rounding(&one, w, (9 + (double)v.info.products) * U);
                if (excess > v.gap[j] + rounding) {
                    print_error("loss %d, C %g, column %zu: %.3g of f above the optimum, the gap says %.3g\n", f, cost,
                                j, excess / optimum, v.gap[j] / optimum);
                    ++wrong;
                }
                free(w);
                free(best);
            }
            free(y);
            free(c);
            solved_free(&v);
            pair_free(p);
        }
    assert_int_equal(wrong, 0);
}

/* Folds and row weights: a literal training on what remains, with its costs. */
static void folds_and_weights(void **state)
{
    (void)state;
    uint32_t fold[40];
    float weight[40];
    for (size_t i = 0; i < 40; ++i) {
        fold[i] = (uint32_t)(i * 7 % 3);
        weight[i] = (float)(i % 4); /* some rows weigh nothing */
    }
    for (int f = 0; f < FORMS; ++f) {
        pair *p = pair_of(REF_SIGNED, 40, (form)f, 2, f == SOFTMAX ? 1 : 3, f == SOFTMAX ? NULL : fold, weight);
        tnp_newton_options opt = {1e-7, 200, true, true, 5};
        solved v = solve(p, &opt);
        check(p, &opt, &v, 1e-7);
        solved_free(&v);
        pair_free(p);
    }
}

/* From the solution at another cost, in blocks, streamed: one optimum. Columns that need more steps than others do not
 * disturb them. */
static void warm_blocked_and_streamed(void **state)
{
    (void)state;
    for (int f = 0; f < FORMS; ++f)
        for (int way = 0; way < 3; ++way) {
            pair *p = pair_of(REF_NONNEG, 90, (form)f, 1, 1, NULL, NULL);
            tnp_newton_options opt = {1e-7, 200, true, true, 5};
            if (way)
                cut(p->x, 23, way == 1);
            solved v = solve(p, &opt);
            check(p, &opt, &v, 1e-7);
            const double costs[] = {8, 0.01, 300};
            for (size_t j = 0; j < 3; ++j) {
                double cost = f == SOFTMAX ? 8 : costs[j];
                p->c.positive[j] = p->c.negative[j] = (float)cost;
                for (size_t i = 0; i < 90; ++i)
                    p->cost[i * 3 + j] = (double)(float)cost;
            }
            p->soft.cost = 8;
            size_t cold = 0;
            solved fresh = solve(p, &opt);
            cold = fresh.info.iterations;
            check(p, &opt, &fresh, 1e-7);
            again(p, &opt, &v);
            check(p, &opt, &v, 1e-7);
            again(p, &opt, &v); /* from the solution: nothing left to do */
            assert_int_equal(v.info.iterations, 0);
            assert_true(cold > 0);
            check(p, &opt, &v, 1e-7);
            solved_free(&fresh);
            solved_free(&v);
            pair_free(p);
        }
}

/* More rows than a sample has, with weights and streamed; and a sample of rows that are zero, without intercepts, which
 * knows no curvature, so that steps are too long and have to be taken back. */
static void steps_searched_on_a_sample(void **state)
{
    (void)state;
    enum { N = 2500, STRIDE = 3 };
    static float weight[N];
    size_t taken_back[4] = {0};
    for (size_t i = 0; i < N; ++i)
        weight[i] = i % STRIDE ? 4 : 1e-3f;
    for (int way = 0; way < 4; ++way) {
        pair *p = pair_of(REF_SIGNED, N, SOFTMAX, 1, 1, NULL, way == 1 ? weight : NULL);
        tnp_newton_options opt = {1e-7, 200, way < 3, way < 3, 5};
        if (way == 2)
            cut(p->x, 400, false);
        for (size_t i = 0; way == 3 && i < N * 6; ++i)
            if (i / 6 % STRIDE == 0) {
                p->x->data[i] = 0;
                p->s.p.x[i] = 0;
            }
        solved v = solve(p, &opt);
        check(p, &opt, &v, 1e-7);
        taken_back[way] = v.info.products - 1 - 2 * v.info.iterations;
        solved_free(&v);
        pair_free(p);
    }
    assert_true(taken_back[0] == 0 && taken_back[3] > 0);
}

/* One step only: not converged is a fact, and the figures are those of the weights returned. */
static void steps_that_run_out(void **state)
{
    (void)state;
    for (int f = 0; f < FORMS; ++f) {
        pair *p = pair_of(REF_SIGNED, 60, (form)f, 10, 1, NULL, NULL);
        tnp_newton_options opt = {1e-9, 1, true, true, 5};
        solved v = solve(p, &opt);
        assert_false(v.info.converged);
        assert_int_equal(v.info.iterations, 1);
        v.info.converged = true; /* for check: everything else holds */
        check(p, &opt, &v, INFINITY);
        solved_free(&v);
        pair_free(p);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int f = 0; f < FORMS; ++f) {
        pair *p = pair_of(REF_SIGNED, 20, (form)f, 1, 1, NULL, NULL);
        tnp_newton_options opt = {1e-3, 50, true, true, 5};
        solved v = room_for(p);
        size_t blocks = tnp_live_blocks(test_ctx), k = 1;
        for (;; ++k) {
            tnp_fail_allocation(test_ctx, k);
            tn_status st = run(test_ctx, p, p->x, &opt, &v);
            tnp_fail_allocation(test_ctx, 0);
            assert_int_equal(tnp_live_blocks(test_ctx), blocks);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_true(v.info.iterations == 0 && v.info.products == 0);
            memset(v.w, 0, 3 * 7 * sizeof *v.w);
        }
        assert_true(k > 30);
        solved_free(&v);
        pair_free(p);
    }
}

static void a_cancel_stops_it(void **state)
{
    (void)state;
    pair *p = pair_of(REF_SIGNED, 20, SOFTMAX, 1, 1, NULL, NULL);
    tn_ctx *other = ctx_of(0);
    tnp_design *x = NULL;
    tnp_newton_options opt = {0, 50, true, true, 5};
    solved v = room_for(p);
    assert_fine(other, tnp_design_new(other, (const tn_feed *const *)p->s.feed, 2, 0, &x));
    tn_ctx_cancel(other);
    assert_fails(other, TN_ERR_INTERRUPTED, "", run(other, p, x, &opt, &v));
    tnp_design_free(x);
    ctx_done(other);
    solved_free(&v);
    pair_free(p);
}

/* What the solve says it needs covers what it takes: few rows, and blocks of many short rows. */
static void the_estimate_covers_the_memory(void **state)
{
    (void)state;
    const size_t rows[] = {20, 300, 9000};
    size_t refused = 0;
    for (size_t z = 0; z < 6; ++z) {
        size_t n = rows[z / 2];
        pair *p = pair_of(REF_SIGNED, n, z % 2 ? SOFTMAX : HINGE, 1, 1, NULL, NULL);
        tnp_newton_options opt = {1e-2, 3, true, true, 5};
        solved v = room_for(p);
        tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) +
                                        (z % 2 ? tnp_softmax_bytes(n, 6, 3) : tnp_newton_bytes(n, 6, 3)));
        tn_status st = run(test_ctx, p, p->x, &opt, &v);
        tn_ctx_set_memory(test_ctx, 0);
        if (st != TN_OK)
            print_error("%zu rows: %s\n", n, tn_ctx_message(test_ctx));
        refused += st != TN_OK;
        solved_free(&v);
        pair_free(p);
    }
    assert_int_equal(refused, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimum_and_certificate),
        cmocka_unit_test(no_intercept_stays_none),
        cmocka_unit_test(the_certificate_of_a_free_intercept),
        cmocka_unit_test(folds_and_weights),
        cmocka_unit_test(warm_blocked_and_streamed),
        cmocka_unit_test(steps_searched_on_a_sample),
        cmocka_unit_test(steps_that_run_out),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_cancel_stops_it),
        cmocka_unit_test(the_estimate_covers_the_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
