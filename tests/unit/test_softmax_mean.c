/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The curvature at no weights: the second derivative of the loss there, times what the preconditioner makes of a vector,
 * is that vector. The derivative by its formula in double, row by row.
 *
 * Tolerance. Diagonals of M are below 1 + C N |x|^2 / K, about 60 here, and so is its condition: solutions are off by 60
 * dim u of themselves, products with M by as much again. */
#include "fixtures/files.h"
#include "learn/softmax/softmax_mean.h"
#include "ref_random.h"

enum { N = 203, DIM = 7, K = 40, WIDTH = DIM + 1 };
static const double U = 0x1p-24;

static float x[N * DIM], weight[N];
static size_t first[N + 1];
static uint32_t cls[N];

/* out = H v at no weights, in which all probabilities are 1/K: row i gives c_i/K (z - mean of z) (x_i, 1). */
static void multiply(float cost, bool weights, bool bias, bool penalised, const float *v, double *out)
{
    for (size_t i = 0; i < K * WIDTH; ++i)
        out[i] = i % WIDTH < DIM || penalised ? (double)v[i] : 0;
    for (size_t r = 0; r < N; ++r) {
        double z[K], mean = 0, c = (double)cost * (weights ? (double)weight[r] : 1) / K;
        for (size_t j = 0; j < K; ++j) {
            z[j] = bias ? (double)v[j * WIDTH + DIM] : 0;
            for (size_t d = 0; d < DIM; ++d)
                z[j] += (double)v[j * WIDTH + d] * (double)x[r * DIM + d];
            mean += z[j] / K;
        }
        for (size_t j = 0; j < K; ++j)
            for (size_t d = 0; d < WIDTH; ++d)
                out[j * WIDTH + d] += c * (z[j] - mean) * (d < DIM ? (double)x[r * DIM + d] : bias ? 1 : 0);
    }
}

static void is_the_inverse(void **state)
{
    (void)state;
    static float in[K * WIDTH], out[K * WIDTH];
    static double back[K * WIDTH];
    const tnp_targets y = {.rows = N, .classes = K, .first = first, .cls = cls};
    ref_rng rng = ref_rng_of(3);
    for (size_t i = 0; i < N; ++i) {
        first[i + 1] = i + 1;
        cls[i] = (uint32_t)(i % K);
        weight[i] = i % 5 ? (float)(1 + i % 3) : 0;
        for (size_t d = 0; d < DIM; ++d)
            x[i * DIM + d] = (float)(ref_normal(&rng) / 3 + 0.5);
    }
    for (int way = 0; way < 6; ++way)
        for (size_t threads = 1; threads <= 3; ++threads) {
            bool bias = way % 3 > 0, penalised = way % 3 == 2, weights = way >= 3;
            tnp_softmax loss = {&y, 2, weights ? weight : NULL};
            tnp_block_rows rows = {x, DIM, 1, N};
            tnp_row_moment moment = {.cost = 0};
            tnp_mean_curve curve = {.ctx = NULL};
            double most = 0, sum = 0;
            tn_ctx_set_threads(test_ctx, threads);
            for (size_t i = 0; i < K * WIDTH; ++i)
                in[i] = bias || i % WIDTH < DIM ? (float)ref_normal(&rng) : 0;
            for (size_t j = 0; j < K; ++j)
                sum += (double)in[j * WIDTH + DIM] / K;
            for (size_t j = 0; bias && j < K; ++j) /* as slopes in b are: nothing is felt along their mean */
                in[j * WIDTH + DIM] -= penalised ? 0 : (float)sum;
            tnp_softmax other = {&y, 7, loss.row_weight}; /* the moment serves for every C */
            assert_fine(test_ctx, tnp_row_moment_make(test_ctx, &other, &rows, DIM, bias, &moment));
            assert_fine(test_ctx, tnp_mean_curve_init(test_ctx, &loss, threads == 2 ? &moment : NULL, &rows, DIM, bias,
                                                      penalised, &curve));
            assert_non_null(curve.t);
            tnp_mean_curve_apply(&curve, in, out);
            multiply(loss.cost, weights, bias, penalised, out, back);
            for (size_t i = 0; i < K * WIDTH; ++i)
                most = fmax(most, fabs((double)in[i]));
            /* a penalised intercept is not the one about the mean: M has m m' too little there, and is off by that */
            for (size_t i = 0; !penalised && i < K * WIDTH; ++i)
                assert_true(fabs(back[i] - (double)in[i]) <= 2 * 60 * DIM * 60 * U * most);
            tnp_mean_curve_apply(&curve, in, in);
            assert_memory_equal(in, out, sizeof in);
            tnp_mean_curve_destroy(&curve);
            tnp_row_moment_destroy(&moment);
        }
}

/* Rows so long that floats cannot hold the ridge beside them: there is no factor, which is not an error. */
static void no_factor_of_long_rows(void **state)
{
    (void)state;
    const tnp_targets y = {.rows = N, .classes = K, .first = first, .cls = cls};
    tnp_softmax loss = {&y, 1e9f, NULL};
    tnp_block_rows rows = {x, DIM, 1, N};
    tnp_mean_curve curve = {.ctx = NULL};
    assert_fine(test_ctx, tnp_mean_curve_init(test_ctx, &loss, NULL, &rows, DIM, true, false, &curve));
    assert_null(curve.t);
    tnp_mean_curve_destroy(&curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_inverse), cmocka_unit_test(no_factor_of_long_rows)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
