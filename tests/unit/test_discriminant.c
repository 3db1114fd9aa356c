/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linear discriminants through a ridge problem, primal, dual and from singular values, against scatter, inverse and
 * scores by loops in long double.
 *
 * Tolerance: the ridge's scores are floats of size 1, wrong by 2^-23 (1 + sum |w_j x_j|) each; the discriminants' are
 * sums of these by rows of the map, so that row k may be wrong by sum_b |map_kb| of that. What the map itself loses in
 * double is 2^-52 times its condition, K (N / lambda) at most here, and stays below. */
#include "ridge_of.h"
#include "learn/ridge/discriminant.h"
#include "ref_lda.h"

typedef enum how { PRIMAL, DUAL, ROOT } how;

static tnp_ridge *problem_of(const setting *s, how by)
{
    tnp_ridge *ridge = NULL;
    if (by != ROOT)
        return ridge_of(s, by == DUAL, true);
    assert_fine(test_ctx, tnp_ridge_root(test_ctx, (const tn_feed *const *)s->feed, 2, &s->y, true, &ridge));
    return ridge;
}

static void check(const setting *s, how by, double lambda)
{
    size_t n = s->p.n, d = s->p.d, k = s->p.k;
    tnp_ridge *ridge = problem_of(s, by);
    tnp_discriminant *map = NULL;
    float *w = ref_alloc(k * d, sizeof *w), *b = ref_alloc(k, sizeof *b), *scores = ref_alloc(n * k, sizeof *scores);
    double *lambdas = ref_alloc(k, sizeof *lambdas), *size = ref_alloc(n * k, sizeof *size);
    ref_real *want = ref_alloc(n * k, sizeof *want);
    for (size_t c = 0; c < k; ++c)
        lambdas[c] = lambda;
    assert_fine(test_ctx, tnp_ridge_weights(test_ctx, ridge, (const tn_feed *const *)s->feed, 2, lambdas, w, b));
    for (size_t i = 0; i < n; ++i)
        for (size_t c = 0; c < k; ++c) {
            double sum = (double)b[c];
            size[i * k + c] = 1 + fabs(sum);
            for (size_t j = 0; j < d; ++j) {
                sum += (double)w[c * d + j] * s->p.x[i * d + j];
                size[i * k + c] += fabs((double)w[c * d + j] * s->p.x[i * d + j]);
            }
            scores[i * k + c] = (float)sum;
        }
    assert_fine(test_ctx, tnp_discriminant_new(test_ctx, ridge, lambda, &map));
    assert_fine(test_ctx, tnp_discriminant_scores(test_ctx, map, n, scores));
    assert_fine(test_ctx, tnp_discriminant_weights(test_ctx, map, d, w, b));
    ref_lda(&s->p, s->y.weight, (ref_real)lambda, s->p.x, n, want, NULL);
    for (size_t i = 0; i < n; ++i)
        for (size_t c = 0; c < k; ++c) {
            double head = (double)b[c], most = 1 + fabs((double)b[c]);
            for (size_t j = 0; j < d; ++j) {
                head += (double)w[c * d + j] * s->p.x[i * d + j];
                most += fabs((double)w[c * d + j] * s->p.x[i * d + j]);
            }
            for (size_t e = 0; e < k; ++e)
                most += fabs(map->map[c * k + e]) * size[i * k + e];
            assert_near_at(i, (double)scores[i * k + c], (double)want[i * k + c], 0x1p-23 * most);
            assert_near_at(i, head, (double)want[i * k + c], 0x1p-23 * most);
        }
    tnp_discriminant_free(map);
    tnp_ridge_free(ridge);
    free(w);
    free(b);
    free(scores);
    free(lambdas);
    free(size);
    free(want);
}

static void discriminants_by_loops(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{30, 6, 3}, {60, 9, 11}, {200, 12, 4}};
    for (size_t z = 0; z < 3; ++z)
        for (double lambda = 0.1; lambda < 200; lambda *= 10) {
            setting s = setting_of(REF_SIGNED, shapes[z][0], shapes[z][1], shapes[z][2], TN_TASK_MULTICLASS, AS_F64);
            check(&s, PRIMAL, lambda);
            check(&s, ROOT, lambda);
            setting_free(&s);
        }
}

static void the_dual_where_columns_interpolate(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{12, 40, 3}, {30, 31, 8}, {9, 20, 4}};
    for (size_t z = 0; z < 3; ++z)
        for (double lambda = 0.01; lambda < 200; lambda *= 10) {
            setting s = setting_of(REF_SIGNED, shapes[z][0], shapes[z][1], shapes[z][2], TN_TASK_MULTICLASS, AS_F64);
            check(&s, DUAL, lambda);
            check(&s, ROOT, lambda);
            setting_free(&s);
        }
}

static void weights_of_rows_are_counts(void **state)
{
    (void)state;
    double weight[40];
    ref_rng rng = ref_rng_of(5);
    setting s = setting_of(REF_SIGNED, 40, 7, 4, TN_TASK_MULTICLASS, AS_F64);
    for (size_t i = 0; i < 40; ++i)
        weight[i] = 0.25 * (double)(1 + ref_below(&rng, 20));
    s.y.weight = weight;
    check(&s, PRIMAL, 1);
    check(&s, DUAL, 1);
    check(&s, ROOT, 1);
    setting_free(&s);
}

/* A class that no row has gets the mean score of the others, less what half a row is worth, and changes nothing for
 * them. */
static void a_class_without_rows(void **state)
{
    (void)state;
    setting s = {.p = ref_problem_of(REF_SIGNED, 30, 5, 4, 77)};
    for (size_t i = 0; i < 30; ++i)
        for (size_t c = 0; c < 4; ++c)
            s.p.y[i * 4 + c] = c == i % 3;
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F64);
    check(&s, PRIMAL, 1);
    check(&s, ROOT, 1);
    setting_free(&s);
}

/* Half way between two distant classes every score is far below 0, where a third class, which no row has, must be too. */
static void a_class_without_rows_is_not_taken(void **state)
{
    (void)state;
    setting s = {.p = ref_problem_of(REF_SIGNED, 40, 5, 3, 78)};
    for (size_t i = 0; i < 40; ++i) {
        s.p.x[i * 5] += i % 2 ? 30 : -30;
        for (size_t c = 0; c < 3; ++c)
            s.p.y[i * 3 + c] = c == i % 2;
    }
    setting_fill(&s, TN_TASK_MULTICLASS, AS_F64);
    tnp_ridge *ridge = ridge_of(&s, false, true);
    tnp_discriminant *d = NULL;
    float scores[3];
    for (size_t c = 0; c < 3; ++c) /* of the mean of all rows */
        scores[c] = (float)ridge->ymean[c];
    assert_fine(test_ctx, tnp_discriminant_new(test_ctx, ridge, 1, &d));
    assert_fine(test_ctx, tnp_discriminant_scores(test_ctx, d, 1, scores));
    assert_true(scores[0] < -20 && scores[1] < -20);
    assert_true(scores[2] < scores[0] && scores[2] < scores[1]);
    tnp_discriminant_free(d);
    tnp_ridge_free(ridge);
    setting_free(&s);
}

static void failing_allocations(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 20, 5, 3, TN_TASK_MULTICLASS, AS_F64);
    tnp_ridge *ridge = ridge_of(&s, false, true);
    size_t tries = 0;
    for (tn_status st = TN_ERR_MEMORY; st != TN_OK;) {
        tnp_discriminant *d = NULL;
        float scores[6] = {0}, w[15] = {0}, b[3] = {0};
        tnp_fail_allocation(test_ctx, ++tries);
        st = tnp_discriminant_new(test_ctx, ridge, 1, &d);
        st = st == TN_OK ? tnp_discriminant_scores(test_ctx, d, 2, scores) : st;
        st = st == TN_OK ? tnp_discriminant_weights(test_ctx, d, 5, w, b) : st;
        tnp_fail_allocation(test_ctx, 0);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
        tnp_discriminant_free(d);
    }
    assert_true(tries > 10);
    tnp_ridge_free(ridge);
    setting_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(discriminants_by_loops),
        cmocka_unit_test(the_dual_where_columns_interpolate),
        cmocka_unit_test(weights_of_rows_are_counts),
        cmocka_unit_test(a_class_without_rows),
        cmocka_unit_test(a_class_without_rows_is_not_taken),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
