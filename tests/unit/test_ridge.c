/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ridge weights against their own certificate (the gradient of the objective is zero) and against the normal
 * equations; primal against dual; precisions against their definition.
 *
 * Weights come back as float: rounding alone moves the gradient by at most 2^-24 (|X|^2 + lambda) |w| + 2^-24 |b| |X'1|,
 * which is the bound used, times 4 for the solve. */
#include "ridge_of.h"
#include "ref_evidence.h"
#include "ref_ridge.h"

static void weights_of(const setting *s, const tnp_ridge *ridge, const double *lambda, float *w, float *b)
{
    assert_fine(test_ctx, tnp_ridge_weights(test_ctx, ridge, (const tn_feed *const *)s->feed, 2, lambda, w, b));
}

/* Half the gradient at the float weights, against the bound of the head comment. */
static void check_gradient(const setting *s, bool intercept, size_t c, double lambda, const float *w, float b)
{
    const ref_problem *p = &s->p;
    size_t d = p->d;
    ref_real *wide = ref_alloc(d, sizeof *wide), *g = ref_alloc(d + 1, sizeof *g), size = 0, square = 0;
    for (size_t j = 0; j < d; ++j) {
        wide[j] = w[j];
        size += wide[j] * wide[j];
    }
    for (size_t i = 0; i < p->n * d; ++i)
        square += (ref_real)p->x[i] * (ref_real)p->x[i]; /* |X|_F^2 >= |X|_2^2 */
    ref_ridge_gradient(p, c, lambda, wide, b, g);
    ref_real ones = sqrtl((ref_real)p->n * square);
    ref_real bound = 4 * 0x1p-24L * ((square + lambda + ones) * sqrtl(size) + ones * fabsl(b) + fabsl(b));
    for (size_t j = 0; j < d + (intercept ? 1 : 0); ++j)
        if (!(fabsl(g[j]) <= bound)) {
            print_error("N %zu D %zu class %zu lambda %g: gradient[%zu] is %Lg, bound %Lg\n", p->n, d, c, lambda, j,
                        g[j], bound);
            fail();
        }
    free(wide);
    free(g);
}

static void check_weights(const setting *s, bool dual, bool intercept, double lambda)
{
    const ref_problem *p = &s->p;
    size_t d = p->d, k = p->k;
    tnp_ridge *ridge = ridge_of(s, dual, intercept);
    float *w = ref_alloc(k * d, sizeof *w), b[8];
    ref_real *want = ref_alloc(k * d, sizeof *want), want_b[8];
    double lambdas[8];
    for (size_t c = 0; c < k; ++c)
        lambdas[c] = lambda;
    weights_of(s, ridge, lambdas, w, b);
    ref_ridge(p, intercept, lambda, want, want_b);
    for (size_t c = 0; c < k; ++c) {
        double largest = 1e-30;
        for (size_t j = 0; j < d; ++j)
            largest = fmax(largest, (double)fabsl(want[c * d + j]));
        for (size_t j = 0; j < d; ++j)
            assert_near_at(c * d + j, (double)w[c * d + j] / largest, (double)(want[c * d + j] / largest), 2e-7);
        assert_near_at(c, (double)b[c], (double)want_b[c], 1e-6);
        check_gradient(s, intercept, c, lambda, w + c * d, b[c]);
        assert_true(intercept || b[c] == 0);
    }
    free(w);
    free(want);
    tnp_ridge_free(ridge);
}

static void the_gradient_is_zero_and_primal_equals_dual(void **state)
{
    (void)state;
    const size_t sizes[][2] = {{40, 11}, {25, 24}, {24, 25}, {12, 50}, {600, 7}};
    const double lambdas[] = {1e-3, 0.7, 40, 1e5};
    for (size_t z = 0; z < 5; ++z)
        for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
            setting s = setting_of(REF_SIGNED, sizes[z][0], sizes[z][1], 3, (tn_task)task, AS_F64);
            if (task == TN_TASK_REGRESSION) /* as the task stage gives them: about zero */
                for (size_t i = 0; i < s.p.n * 3; ++i)
                    s.p.y[i] = s.labels->values[i] -= 1000;
            for (size_t l = 0; l < 4; ++l)
                for (int intercept = 0; intercept < 2; ++intercept)
                    for (int dual = 0; dual < 2; ++dual)
                        if (dual == 0 || s.p.n <= 100)
                            check_weights(&s, dual != 0, intercept != 0, lambdas[l]);
            setting_free(&s);
        }
}

static void lambdas_of_their_own(void **state)
{
    (void)state;
    setting s = setting_of(REF_NONNEG, 50, 9, 4, TN_TASK_MULTICLASS, AS_F64);
    const double lambdas[4] = {0.01, INFINITY, 3, 500};
    for (int dual = 0; dual < 2; ++dual)
        for (int intercept = 0; intercept < 2; ++intercept) {
            tnp_ridge *ridge = ridge_of(&s, dual != 0, intercept != 0);
            float w[36], b[4];
            ref_real want[36], want_b[4];
            weights_of(&s, ridge, lambdas, w, b);
            for (size_t c = 0; c < 4; ++c) {
                ref_ridge(&s.p, intercept != 0, lambdas[c], want, want_b);
                for (size_t j = 0; j < 9; ++j) {
                    assert_near_at(c * 9 + j, (double)w[c * 9 + j], (double)want[c * 9 + j], 1e-6);
                    if (isinf(lambdas[c]))
                        assert_true(w[c * 9 + j] == 0);
                }
                assert_near_at(c, (double)b[c], (double)want_b[c], 1e-6);
            }
            tnp_ridge_free(ridge);
        }
    setting_free(&s);
}

/* All classes without weights: nothing but means, exactly those of the targets. */
static void infinite_lambda_gives_the_means(void **state)
{
    (void)state;
    setting s = setting_of(REF_SIGNED, 20, 6, 3, TN_TASK_MULTICLASS, AS_F32);
    const double lambdas[3] = {INFINITY, INFINITY, INFINITY};
    for (int dual = 0; dual < 2; ++dual)
        for (int intercept = 0; intercept < 2; ++intercept) {
            tnp_ridge *ridge = ridge_of(&s, dual != 0, intercept != 0);
            float w[18], b[3];
            weights_of(&s, ridge, lambdas, w, b);
            for (size_t c = 0; c < 3; ++c) {
                double mean = 0;
                for (size_t i = 0; i < 20; ++i)
                    mean += s.p.y[i * 3 + c] / 20;
                assert_near(b[c], intercept ? mean : 0, 1e-7);
            }
            for (size_t i = 0; i < 18; ++i)
                assert_true(w[i] == 0);
            tnp_ridge_free(ridge);
        }
    setting_free(&s);
}

static void precisions_by_definition(void **state)
{
    (void)state;
    const size_t sizes[][2] = {{40, 11}, {12, 50}};
    for (size_t z = 0; z < 2; ++z) {
        setting s = setting_of(REF_SIGNED, sizes[z][0], sizes[z][1], 3, TN_TASK_MULTICLASS, AS_F64);
        for (int intercept = 0; intercept < 2; ++intercept)
            for (int dual = 0; dual < 2; ++dual) {
                const double lambdas[3] = {0.5, INFINITY, 30};
                double alpha[3], beta[3], dof = (double)s.p.n - intercept;
                tnp_ridge *ridge = ridge_of(&s, dual != 0, intercept != 0);
                ref_eigen q = ref_eigen_of(&s.p, intercept != 0);
                assert_fine(test_ctx, tnp_ridge_precisions(test_ctx, ridge, lambdas, alpha, beta));
                for (size_t c = 0; c < 3; ++c) {
                    double want = dof / (double)ref_r(&q, c, lambdas[c]);
                    assert_near_at(c, beta[c], want, 1e-9);
                    if (isinf(lambdas[c]))
                        assert_true(isinf(alpha[c]) && alpha[c] > 0);
                    else
                        assert_near_at(c, alpha[c], lambdas[c] * want, 1e-9);
                }
                ref_eigen_free(&q);
                tnp_ridge_free(ridge);
            }
        setting_free(&s);
    }
}

/* The rows of an intercept problem may lie anywhere: moving all by one vector moves the bias only. */
static void an_intercept_absorbs_a_common_vector(void **state)
{
    (void)state;
    enum { N = 30, D = 8, K = 2 };
    const double lambdas[K] = {0.3, 4};
    float w[2][K * D], b[2][K];
    for (int dual = 0; dual < 2; ++dual) {
        for (int moved = 0; moved < 2; ++moved) {
            setting s = setting_of(REF_SIGNED, N, D, K, TN_TASK_MULTICLASS, AS_F64);
            double x[N * D];
            for (size_t i = 0; i < N * D; ++i)
                x[i] = s.p.x[i] + (moved ? 100.0 + (double)(i % D) : 0);
            tn_features *features = array_of("moved", x, N, D, AS_F64);
            tn_feed *feed = feed_of(features, TN_NORM_NONE);
            tnp_ridge *ridge = NULL;
            if (dual) {
                double *k = NULL;
                assert_fine(test_ctx, tnp_alloc(test_ctx, N * N, sizeof *k, &k));
                assert_fine(test_ctx, tnp_gather_products(test_ctx, feed, true, k));
                assert_fine(test_ctx, tnp_ridge_dual(test_ctx, k, &s.y, D, true, &ridge));
            } else {
                tnp_moments *moments = NULL;
                tnp_range all = {0, D};
                assert_fine(test_ctx, tnp_gather_moments(test_ctx, (const tn_feed *const *)&feed, 1, &s.y, &moments));
                assert_fine(test_ctx, tnp_ridge_primal(test_ctx, moments, &all, 1, true, &ridge));
                tn_moments_free(moments);
            }
            assert_fine(test_ctx, tnp_ridge_weights(test_ctx, ridge, (const tn_feed *const *)&feed, 1, lambdas,
                                                    w[moved], b[moved]));
            tnp_ridge_free(ridge);
            tn_feed_free(feed);
            tn_features_close(features);
            setting_free(&s);
        }
        for (size_t c = 0; c < K; ++c) {
            double shift = 0;
            for (size_t j = 0; j < D; ++j) {
                assert_near_at(c * D + j, w[1][c * D + j], w[0][c * D + j], 1e-6);
                shift += (100 + (double)j) * (double)w[0][c * D + j];
            }
            assert_near_at(c, (double)b[1][c], (double)b[0][c] - shift, 1e-5);
        }
    }
}

/* w = X'v of uncentred rows is right only when v sums to zero to the last digit: what is left of the sum is multiplied
 * by the mean of the rows, here a thousand times their spread. */
static void dual_weights_of_rows_far_from_zero(void **state)
{
    (void)state;
    enum { N = 20, D = 40, K = 2 };
    const double lambdas[K] = {1e-6, 1e-6};
    ref_problem p = ref_problem_of(REF_SIGNED, N, D, K, 7);
    for (size_t i = 0; i < N * D; ++i)
        p.x[i] = round(0x1p20 * p.x[i]) / 0x1p20 + 1024; /* so that taking 1024 off again is exact */
    tn_features *features = features_of("far", p.x, N, D, AS_F64);
    tn_feed *feed = feed_of(features, TN_NORM_NONE);
    tn_labels *labels = labels_of(p.y, N, K, TN_TASK_MULTICLASS);
    tnp_targets y = targets_of(labels);
    double *products = NULL, largest = 0;
    tnp_ridge *ridge = NULL;
    float w[K * D], b[K];
    ref_real want[K * D], want_b[K];
    assert_fine(test_ctx, tnp_alloc(test_ctx, N * N, sizeof *products, &products));
    assert_fine(test_ctx, tnp_gather_products(test_ctx, feed, true, products));
    assert_fine(test_ctx, tnp_ridge_dual(test_ctx, products, &y, D, true, &ridge));
    assert_fine(test_ctx, tnp_ridge_weights(test_ctx, ridge, (const tn_feed *const *)&feed, 1, lambdas, w, b));
    for (size_t i = 0; i < N * D; ++i)
        p.x[i] -= 1024; /* the weights do not change, and the oracle keeps its digits */
    ref_ridge(&p, true, 1e-6L, want, want_b);
    for (size_t i = 0; i < K * D; ++i)
        largest = fmax(largest, (double)fabsl(want[i]));
    tnp_ridge_free(ridge);
    tn_feed_free(feed);
    tn_features_close(features);
    labels_done(labels);
    ref_problem_free(&p);
    for (size_t i = 0; i < K * D; ++i)
        assert_near_at(i, (double)w[i] / largest, (double)want[i] / largest, 2e-7);
}

static void targets_by_row_and_class(void **state)
{
    (void)state;
    ref_problem p = ref_problem_of(REF_SIGNED, 12, 3, 4, 1);
    for (int task = TN_TASK_MULTICLASS; task <= TN_TASK_REGRESSION; ++task) {
        retarget(&p, (tn_task)task, 3);
        tn_labels *l = labels_of(p.y, 12, 4, (tn_task)task);
        tnp_targets y = targets_of(l);
        for (size_t i = 0; i < 12; ++i)
            for (size_t c = 0; c < 4; ++c)
                assert_true(tnp_target(&y, i, c) == p.y[i * 4 + c]);
        labels_done(l);
    }
    ref_problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_is_zero_and_primal_equals_dual),
        cmocka_unit_test(lambdas_of_their_own),
        cmocka_unit_test(infinite_lambda_gives_the_means),
        cmocka_unit_test(precisions_by_definition),
        cmocka_unit_test(an_intercept_absorbs_a_common_vector),
        cmocka_unit_test(dual_weights_of_rows_far_from_zero),
        cmocka_unit_test(targets_by_row_and_class),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
