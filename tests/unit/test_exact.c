/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whole Hessians in double where C times the squared length of a row is beyond 1e9: columns of sizes from 1e-3 to 1e3,
 * which no learner in float solves, and which Newton's method takes hundreds of steps for when it begins at C
 * itself. */
#include "design_of.h"
#include "learn/linear/exact.h"

enum { N = 240, D = 30, K = 3, MOST_PASSES = 300 };
static const double TOLERANCE = 1e-4, COST = 1000;

static setting columns_of_many_sizes(void)
{
    setting s = {.p = ref_problem_of(REF_SIGNED, N, D, K, 12)};
    for (size_t i = 0; i < N * D; ++i)
        s.p.x[i] *= pow(10, 6.0 * (double)(i % D) / (D - 1) - 3);
    round_values(s.p.x, N * D, AS_F32);
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F32);
    return s;
}

/* The bound is below what any weights reach, and the weights are as good as the reference's; the objective is theirs, in
 * sums of doubles. */
static void check(const setting *s, const side_by_side *c, tnp_margin loss, size_t j, const float *w, double objective,
                  double gap)
{
    ref_smooth p = {N, D, 1, s->p.x, NULL, c->cost + j * N, REF_LOGISTIC, true, true};
    double *y = ref_alloc(N, sizeof *y);
    ref_real *best = ref_alloc(D + 1, sizeof *best), *own = widened(w + j * (D + 1), D + 1);
    for (size_t i = 0; i < N; ++i)
        y[i] = c->sign[j * N + i] > 0;
    p.y = y;
    p.loss = loss == TNP_LOGISTIC ? REF_LOGISTIC : REF_SQUARED_HINGE;
    double other = (double)ref_smooth_solve(&p, best), f = (double)ref_smooth_objective(&p, own),
           rounding = (double)ref_smooth_rounding(&p, own, (D + 3) * U * U);
    if (!(gap <= TOLERANCE * objective))
        print_error("loss %d, column %zu: f %.10g, gap %.3g, the reference has %.10g\n", loss, j, objective, gap,
                    other);
    assert_true(gap <= TOLERANCE * objective);
    assert_true(fabs(objective - f) <= rounding + 1e-12 * f);
    assert_true(objective - gap <= other * (1 + 1e-12));
    assert_true(objective <= other * (1 + TOLERANCE));
    free(y);
    free(best);
    free(own);
}

/* From no weights, and from some that are far off. */
static void columns_of_many_sizes_at_a_large_cost(void **state)
{
    (void)state;
    setting s = columns_of_many_sizes();
    side_by_side c = columns_of(&s, COST, COST, 1, NULL, NULL);
    tnp_design *x = design_of(&s);
    tnp_rows rows = tnp_design_rows(x);
    for (int way = 0; way < 4; ++way) {
        tnp_margin loss = way % 2 ? TNP_LOGISTIC : TNP_SQUARED_HINGE;
        tnp_exact_options options = {loss, true, true, TOLERANCE, 1000};
        float w[K * (D + 1)];
        double objective[K], gap[K];
        size_t passes = 0, cols[K] = {0, 1, 2};
        for (size_t i = 0; i < K * (D + 1); ++i)
            w[i] = way < 2 ? 0 : 1e-3f * (float)(i % 7);
        for (size_t j = 0; j < K; ++j)
            objective[j] = gap[j] = INFINITY;
        assert_fine(test_ctx,
                    tnp_exact_solve(test_ctx, &rows, &c.columns, cols, K, &options, NULL, w, objective, gap, &passes));
        for (size_t j = 0; j < K; ++j)
            check(&s, &c, loss, j, w, objective[j], gap[j]);
        if (passes > MOST_PASSES)
            print_error("loss %d: %zu passes\n", loss, passes);
        assert_true(passes <= MOST_PASSES);
    }
    tnp_design_free(x);
    columns_free(&c);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_of_many_sizes_at_a_large_cost)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
