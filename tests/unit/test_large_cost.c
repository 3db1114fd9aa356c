/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The softmax where C is large: rows are nearly decided, the curvature differs from class to class, and a method that
 * starts from one multiple of the identity needs hundreds of products. Against the optimum of Newton's method in long
 * double, and against its own certificate. More columns than the subspace of the start has directions, so that it is not
 * solved there. */
#include "design_of.h"
#include "learn/softmax/softmax.h"
#include "learn/softmax/softmax_exact.h"

enum { MOST_PRODUCTS = 100 };

typedef struct problem {
    setting s;
    tnp_design *x;
    double *cost;
} problem;

static problem problem_of(ref_kind kind, size_t n, size_t d, size_t classes)
{
    problem p = {.s = setting_of(kind, n, d, classes, TN_TASK_MULTICLASS, AS_F32)};
    p.x = design_of(&p.s);
    p.cost = ref_alloc(n * classes, sizeof *p.cost);
    return p;
}

static void problem_free(problem *p)
{
    tnp_design_free(p->x);
    setting_free(&p->s);
    free(p->cost);
}

typedef struct answer {
    double f, gap;
    tnp_newton_info info;
} answer;

static answer solve(const problem *p, double cost, double tolerance, float *w)
{
    answer a = {0};
    tnp_rows rows = tnp_design_rows(p->x);
    tnp_softmax loss = {&p->s.y, (float)cost, NULL};
    tnp_newton_options opt = {tolerance, 200, true, false, 5};
    assert_fine(test_ctx, tnp_softmax_solve(test_ctx, &rows, &loss, &opt, w, &a.f, &a.gap, &a.info));
    return a;
}

/* The optimum, and what rounding may move f by: a score is a sum of d + 1 products of float, added to once a round. */
static double optimum(problem *p, double cost, const float *w, double *rounding)
{
    size_t k = p->s.p.k, m = k * (p->s.p.d + 1);
    ref_real *best = ref_alloc(m, sizeof *best), *wide = ref_alloc(m, sizeof *wide);
    for (size_t i = 0; i < p->s.p.n * k; ++i)
        p->cost[i] = (double)(float)cost;
    for (size_t i = 0; i < m; ++i)
        wide[i] = (ref_real)w[i];
    ref_smooth ref = {p->s.p.n, p->s.p.d, k, p->s.p.x, p->s.p.y, p->cost, REF_SOFTMAX, true, false};
    double f = (double)ref_smooth_solve(&ref, best);
    *rounding = (double)ref_smooth_rounding(&ref, wide, ((double)p->s.p.d + 3) * U * U); /* certified in double */
    free(best);
    free(wide);
    return f;
}

static void check(problem *p, double cost, double tolerance, const float *w, const answer *a)
{
    double rounding, best = optimum(p, cost, w, &rounding);
    if (!a->info.converged || a->info.products > MOST_PRODUCTS)
        print_error("C %g: gap %.3g of f after %zu products\n", cost, a->gap / a->f, a->info.products);
    assert_true(a->info.converged && a->info.products <= MOST_PRODUCTS);
    assert_true(a->f >= best * (1 - 1e-9));
    assert_true(a->f - best <= a->gap + rounding);
    assert_true(a->gap <= tolerance * a->f);
}

/* More rows than columns, rectified, and fewer, with labels that say nothing; and as many classes as climb to their C by
 * smaller ones. */
static void large_costs_reach_the_optimum(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{150, 52, 3}, {30, 60, 3}, {120, 5, 33}};
    const ref_kind kinds[] = {REF_NONNEG, REF_NOISE, REF_NOISE};
    const double costs[][2] = {{100, 1e4}, {100, 1e4}, {30, 300}};
    for (size_t z = 0; z < 3; ++z) {
        size_t k = shapes[z][2];
        problem p = problem_of(kinds[z], shapes[z][0], shapes[z][1], k);
        for (size_t c = 0; c < 2; ++c) {
            float *w = ref_alloc(k * (p.s.p.d + 1), sizeof *w);
            answer a = solve(&p, costs[z][c], 1e-3, w);
            check(&p, costs[z][c], 1e-3, w, &a);
            free(w);
        }
        problem_free(&p);
    }
}

/* Fifty rows per class, or twenty, and labels that say nothing. The route in double, whose steps are Newton's, ends at
 * the same objective. */
static void many_classes_end_where_newton_does(void **state)
{
    (void)state;
    enum { N = 1000, D = 90 };
    const size_t classes[] = {20, 50};
    const float costs[] = {30, 3};
    for (size_t z = 0; z < 2; ++z) {
        size_t k = classes[z], passes = 0;
        problem p = problem_of(REF_NOISE, N, D, k);
        tnp_rows rows = tnp_design_rows(p.x);
        tnp_softmax loss = {&p.s.y, costs[z], NULL};
        float *w = ref_alloc(k * (D + 1), sizeof *w), *other = ref_alloc(k * (D + 1), sizeof *other);
        double f = INFINITY, gap = INFINITY;
        answer a = solve(&p, (double)costs[z], 1e-3, w);
        assert_true(a.info.converged && a.info.products <= MOST_PRODUCTS);
        assert_fine(test_ctx, tnp_softmax_exact(test_ctx, &rows, &loss, true, 1e-4, 1000, other, &f, &gap, &passes));
        assert_true(gap <= 1e-4 * f && fabs(a.f - f) <= a.gap + gap);
        free(w);
        free(other);
        problem_free(&p);
    }
}

/* Steps are counted on the way up too: with few of them it ends where they end, and says so. */
static void a_climb_of_few_steps(void **state)
{
    (void)state;
    enum { K = 40, D = 30 };
    problem p = problem_of(REF_NOISE, 400, D, K);
    tnp_rows rows = tnp_design_rows(p.x);
    tnp_softmax loss = {&p.s.y, 1000, NULL};
    tnp_newton_options opt = {1e-6, 2, true, false, 5};
    float *w = ref_alloc(K * (D + 1), sizeof *w);
    answer a = {0};
    assert_fine(test_ctx, tnp_softmax_solve(test_ctx, &rows, &loss, &opt, w, &a.f, &a.gap, &a.info));
    assert_int_equal(a.info.iterations, 2);
    assert_true(!a.info.converged && a.gap > 1e-6 * a.f);
    free(w);
    problem_free(&p);
}

/* Along C from model to model: where a start from nothing ends, within the gaps of both. */
static void a_path_ends_where_cold_starts_do(void **state)
{
    (void)state;
    problem p = problem_of(REF_NONNEG, 150, 52, 3);
    size_t m = 3 * (p.s.p.d + 1);
    float *warm = ref_alloc(m, sizeof *warm);
    for (double cost = 0.1; cost < 2e4; cost *= 10) {
        float *cold = ref_alloc(m, sizeof *cold);
        answer a = solve(&p, cost, 1e-4, warm), b = solve(&p, cost, 1e-4, cold);
        assert_true(a.info.converged && b.info.converged);
        assert_true(fabs(a.f - b.f) <= a.gap + b.gap);
        free(cold);
    }
    free(warm);
    problem_free(&p);
}

/* Blocks are for budgets that have room for them; without, the optimum is reached by more products. */
static void no_room_for_blocks(void **state)
{
    (void)state;
    enum { K = 6, N = 200, D = 60 };
    size_t products[2];
    for (int more = 0; more < 2; ++more) {
        problem p = problem_of(REF_NOISE, N, D, K);
        float *w = ref_alloc(K * (D + 1), sizeof *w);
        size_t room = tnp_softmax_bytes(N, D, K) + (more ? tnp_softmax_more_bytes(N, D, K) : 0);
        tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + room);
        answer a = solve(&p, 30, 1e-2, w);
        tn_ctx_set_memory(test_ctx, 0);
        products[more] = a.info.products;
        free(w);
        problem_free(&p);
    }
    assert_true(products[0] != products[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_costs_reach_the_optimum),
        cmocka_unit_test(many_classes_end_where_newton_does),
        cmocka_unit_test(a_climb_of_few_steps),
        cmocka_unit_test(a_path_ends_where_cold_starts_do),
        cmocka_unit_test(no_room_for_blocks),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
