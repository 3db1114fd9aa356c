/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the softmax of many classes begins: at the curvature of no weights, or at a smaller C from which it climbs. Both
 * end at the optimum of a literal Newton's method, and are no further from it than their certificate says; with the rows
 * in memory, in several blocks, and read again at each pass.
 *
 * Tolerances. u = 2^-24. A score is a sum of d + 1 products in float, to which every product with all rows adds one:
 * objectives are off by ref_smooth_rounding at (d + 3 + products) u. */
#include "design_of.h"
#include "learn/softmax/softmax.h"
#include "learn/softmax/softmax_mean.h"

enum { CLASSES = 32, D = 2, WIDTH = D + 1, WEIGHTS = CLASSES * WIDTH };
static const double GAP = 1e-4,
                    LOWEST = 20; /* C times the mean squared distance from the mean, above which it climbs */

typedef enum place { IN_MEMORY, IN_BLOCKS, STREAMED, PLACES } place;

typedef struct many {
    setting s;
    double *cost; /* (n, CLASSES), as the reference wants it */
    ref_smooth ref;
    ref_real *best;
    double optimum;
} many;

/* Rows `far` from the origin, in every column. */
static many many_of(ref_kind kind, size_t n, double far, double cost, int intercept)
{
    many m = {.s = {.p = ref_problem_of(kind, n, D, CLASSES, n + (size_t)kind)},
              .cost = ref_alloc(n * CLASSES, sizeof(double)),
              .best = ref_alloc(WEIGHTS, sizeof(ref_real))};
    for (size_t i = 0; i < n * D; ++i)
        m.s.p.x[i] += far;
    round_values(m.s.p.x, n * D, AS_F32);
    setting_fill(&m.s, TN_TASK_MULTICLASS, AS_F32);
    for (size_t i = 0; i < n * CLASSES; ++i)
        m.cost[i] = cost;
    m.ref = (ref_smooth){n, D, CLASSES, m.s.p.x, m.s.p.y, m.cost, REF_SOFTMAX, intercept > 0, intercept == 2};
    m.optimum = (double)ref_smooth_solve(&m.ref, m.best);
    return m;
}

static void many_free(many *m)
{
    setting_free(&m->s);
    free(m->cost);
    free(m->best);
}

static tnp_design *design_in(const many *m, place where)
{
    tnp_design *x = design_of(&m->s);
    if (where != IN_MEMORY)
        cut(x, m->s.p.n / 3 + 1, where == IN_BLOCKS);
    return x;
}

/* Solves it there, and holds what is claimed against the optimum. */
static void check(const many *m, place where, size_t threads)
{
    float w[WEIGHTS] = {0};
    double objective = 0, gap = 0;
    tnp_newton_info info = {0};
    tnp_newton_options opt = {GAP, 200, m->ref.bias, m->ref.penalised, 5};
    tnp_softmax loss = {&m->s.y, (float)m->cost[0], NULL};
    tnp_design *x = design_in(m, where);
    tnp_rows rows = tnp_design_rows(x);
    tn_ctx_set_threads(test_ctx, threads);
    assert_fine(test_ctx, tnp_softmax_solve(test_ctx, &rows, &loss, &opt, w, &objective, &gap, &info));
    ref_real *wide = widened(w, WEIGHTS);
    double f = (double)ref_smooth_objective(&m->ref, wide), above = f - m->optimum,
           rounding = (double)ref_smooth_rounding(&m->ref, wide, (D + 3 + (double)info.products) * U);
    if (!info.converged || !(above <= gap + rounding) || !(fabs(objective - f) <= rounding))
        print_error("C %g, bias %d %d, place %d: f %.10g, said %.10g, optimum %.10g, gap %.3g, rounding %.3g, %zu\n",
                    m->cost[0], m->ref.bias, m->ref.penalised, where, f, objective, m->optimum, gap, rounding,
                    info.iterations);
    assert_true(info.converged);
    assert_true(gap <= GAP * objective);
    assert_true(fabs(objective - f) <= rounding);
    assert_true(f >= m->optimum * (1 - 1e-15));
    assert_true(above <= gap + rounding);
    free(wide);
    tnp_design_free(x);
}

static bool climbs(const many *m)
{
    double spread = 0;
    tnp_design *x = design_of(&m->s);
    assert_fine(test_ctx, tnp_spread(test_ctx, x->data, D, x->rows, D, m->ref.bias, &spread));
    tnp_design_free(x);
    return m->cost[0] * spread > LOWEST;
}

/* Every intercept: none (0), free (1), penalised (2). */
static void many_classes_reach_the_literal_optimum(void **state)
{
    (void)state;
    const ref_kind kinds[] = {REF_NONNEG, REF_CONSTANT};
    size_t climbed = 0, began = 0;
    assert_true(tnp_mean_curve_pays(D, CLASSES));
    for (size_t kind = 0; kind < 2; ++kind)
        for (double cost = 1; cost <= 100; cost *= 100)
            for (int intercept = 0; intercept < 3; ++intercept) {
                many m = many_of(kinds[kind], 64, 0, cost, intercept);
                *(climbs(&m) ? &climbed : &began) += 1;
                for (int where = 0; where < PLACES; ++where)
                    check(&m, (place)where, 1 + (size_t)where % 2);
                many_free(&m);
            }
    assert_true(climbed >= 3 && began >= 3);
}

/* A mean that is some twenty times as long as what tells the classes apart. */
static void many_classes_far_from_the_origin(void **state)
{
    (void)state;
    for (double cost = 1; cost <= 100; cost *= 100) {
        many m = many_of(REF_NONNEG, 64, 10, cost, 1);
        for (int where = 0; where < PLACES; ++where)
            check(&m, (place)where, 2);
        many_free(&m);
    }
}

/* Steps and curvature of every other row. */
static void many_classes_with_more_rows_than_a_sample(void **state)
{
    (void)state;
    many m = many_of(REF_NONNEG, 1100, 0, 100, 1);
    assert_true(climbs(&m));
    check(&m, IN_MEMORY, 2);
    check(&m, STREAMED, 2);
    many_free(&m);
}

/* A budget with memory for the plainest way has it for whatever is begun within it. */
static void a_start_leaves_memory_for_what_comes_after_it(void **state)
{
    (void)state;
    enum { N = 5000, DIM = 48, K = 100, STEPS = 10 };
    float *w = ref_alloc(K * (DIM + 1), sizeof *w);
    setting s = setting_of(REF_NONNEG, N, DIM, K, TN_TASK_MULTICLASS, AS_F32);
    size_t least = tnp_softmax_bytes(N, DIM, K), more = tnp_softmax_more_bytes(N, DIM, K);
    for (size_t step = 0; step < STEPS; ++step) {
        double objective, gap;
        tnp_newton_info info = {0};
        tnp_newton_options opt = {1e-5, 200, true, false, 5};
        tnp_softmax loss = {&s.y, 100, NULL};
        tnp_design *x = design_of(&s);
        if (step % 2)
            cut(x, N / 3 + 1, false);
        tnp_rows rows = tnp_design_rows(x);
        memset(w, 0, K * (DIM + 1) * sizeof *w);
        tn_ctx_set_memory(test_ctx, tn_ctx_memory_now(test_ctx) + least + more * step / STEPS);
        assert_fine(test_ctx, tnp_softmax_solve(test_ctx, &rows, &loss, &opt, w, &objective, &gap, &info));
        tn_ctx_set_memory(test_ctx, 0);
        tnp_design_free(x);
    }
    setting_free(&s);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_classes_reach_the_literal_optimum),
        cmocka_unit_test(many_classes_far_from_the_origin),
        cmocka_unit_test(many_classes_with_more_rows_than_a_sample),
        cmocka_unit_test(a_start_leaves_memory_for_what_comes_after_it),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
