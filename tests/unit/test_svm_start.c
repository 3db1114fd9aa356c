/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where dual coordinate descent starts, and what it says of itself without a certificate. */
#include "dual_of.h"

#include <float.h>

/* From the multipliers of a larger C, and from nothing but weights of it: the optimum of the smaller one, as far
 * as either is certified. What a rough solve
 * says of itself is what is certain of it, but for the rounding of float sums over 60 rows and 7 columns: 67 u each of
 * terms that are at most the objective. */
static void starts_of_another_cost(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 60, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    for (int gram = 0; gram < 2; ++gram) {
        tnp_design *x = design_of(&s);
        side_by_side large = columns_of(&s, 4, 4, 1, NULL, NULL), small = columns_of(&s, 0.25, 0.25, 1, NULL, NULL);
        tnp_dual_options opt = {true, true, 1e-4, 5000, 4, gram, false, false}, rough = opt;
        rough.rough = true;
        for (int by_weights = 0; by_weights < 2; ++by_weights) {
            solved v = solve(x, &large, &opt), cold = solve(x, &small, &opt), said = solve(x, &small, &rough);
            if (by_weights)
                memset(v.alpha, 0, 60 * 3 * sizeof *v.alpha);
            assert_fine(test_ctx,
                        tnp_dual_solve(test_ctx, x, &small.columns, &opt, v.alpha, v.w, v.objective, v.gap, &v.info));
            assert_true(v.info.converged && cold.info.converged && said.info.converged);
            for (size_t j = 0; j < 3; ++j) {
                double off = fabs(cold.objective[j] - v.objective[j]),
                       rounding = fabs(said.objective[j] - cold.objective[j]);
                assert_true(off <= 1e-4 * v.objective[j]);
                assert_true(rounding <= 67 * FLT_EPSILON * cold.objective[j]);
                assert_true(said.gap[j] <= 1e-4 * said.objective[j]);
            }
            solved_free(&v);
            solved_free(&cold);
            solved_free(&said);
        }
        columns_free(&large);
        columns_free(&small);
        tnp_design_free(x);
    }
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(starts_of_another_cost)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
