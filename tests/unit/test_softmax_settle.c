/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Intercepts that are settled, from near and from scores that are certain of the wrong classes: one step lowers the
 * literal loss in long double, many leave slopes that sum to what was asked for, scores move with their intercepts,
 * and a class without rows does not rise.
 *
 * Tolerance. Slopes are sums of N probabilities that float has to 10 u of themselves, and scores are moved by rounded
 * steps: N c 100 u. What take_steps expects of its last step is a rule, not a bound: three times `enough` may be left. */
#include "fixtures/files.h"
#include "learn/softmax/softmax_settle.h"
#include "ref_dense.h"
#include "ref_random.h"

#include <math.h>

enum { N = 700, K = 23, EMPTY = 5, STRIDE = 3, STEPS = 12 };
static const double U = 0x1p-24;

static float s[N * K], weight[N];
static size_t first[N + 1];
static uint32_t cls[N];

/* The loss, and its derivatives in the intercepts. */
static ref_real exact(float cost, const float *scores, ref_real *slope)
{
    ref_real loss = 0;
    for (size_t j = 0; j < K; ++j)
        slope[j] = 0;
    for (size_t i = 0; i < N; ++i) {
        const float *row = scores + i * K;
        ref_real most = row[0], sum = 0, c = (ref_real)cost * (ref_real)weight[i];
        for (size_t j = 1; j < K; ++j)
            most = fmaxl(most, (ref_real)row[j]);
        for (size_t j = 0; j < K; ++j)
            sum += expl((ref_real)row[j] - most);
        for (size_t j = 0; j < K; ++j)
            slope[j] += c * (expl((ref_real)row[j] - most) / sum - (j == cls[i] ? 1 : 0));
        loss += c * (most + logl(sum) - (ref_real)row[cls[i]]);
    }
    return loss;
}

static double total(const ref_real *slope)
{
    ref_real sum = 0;
    for (size_t j = 0; j < K; ++j)
        sum += fabsl(slope[j]);
    return (double)sum;
}

/* Scores of `spread`, rows mostly of the class that has the largest, other intercepts `off` away. */
static void fill(double spread, double off, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    double intercept[K];
    for (size_t j = 0; j < K; ++j)
        intercept[j] = j == EMPTY ? -off - 9 * spread : off * ref_normal(&rng);
    for (size_t i = 0; i < N; ++i) {
        size_t most = 0;
        for (size_t j = 0; j < K; ++j) {
            s[i * K + j] = (float)(spread * ref_normal(&rng));
            most = j != EMPTY && s[i * K + j] > s[i * K + most] ? j : most;
        }
        cls[i] = (uint32_t)(i % 3 ? most : (i / 3) % K == EMPTY ? 0 : (i / 3) % K);
        first[i + 1] = i + 1;
        weight[i] = i % 7 ? (float)(1 + i % 3) : 0;
        for (size_t j = 0; j < K; ++j)
            s[i * K + j] += (float)intercept[j];
    }
}

/* near: the steps are enough. */
static void settle(size_t steps, float cost, double enough, bool near)
{
    const tnp_targets y = {.rows = N, .classes = K, .first = first, .cls = cls};
    const tnp_softmax loss = {&y, cost, weight};
    static float before[N * K];
    float b[K * STRIDE];
    tnp_softmax_rows rows;
    ref_real slope[K], was = exact(cost, s, slope);
    double left, mass = 0, began = total(slope);
    for (size_t i = 0; i < N; ++i)
        mass += (double)cost * (double)weight[i];
    for (size_t j = 0; j < K * STRIDE; ++j)
        b[j] = -7;
    memcpy(before, s, sizeof s);
    assert_fine(test_ctx, tnp_softmax_rows_init(test_ctx, &loss, &rows));
    assert_fine(test_ctx, tnp_softmax_settle(&rows, steps, enough, s, b, STRIDE));
    tnp_softmax_rows_destroy(&rows);
    ref_real is = exact(cost, s, slope);
    left = total(slope);
    assert_true((double)(is - was) <= 100 * U * mass);
    if (began > 2 * enough + 100 * U * mass)
        assert_true(is < was);
    if (near)
        assert_true(left <= 3 * enough + 100 * U * mass);
    assert_true(b[EMPTY * STRIDE] <= -7);
    for (size_t j = 0; j < K * STRIDE; ++j)
        assert_true(j % STRIDE == 0 || b[j] == -7);
    for (size_t i = 0; i < N * K; ++i) {
        double by = (double)b[i % K * STRIDE] + 7, size = fabs((double)before[i]) + fabs(by) + 7;
        assert_true(fabs((double)s[i] - (double)before[i] - by) <= 4 * STEPS * U * size);
    }
}

static void settles(void **state)
{
    (void)state;
    const double spreads[] = {0.3, 3, 30}, offs[] = {0, 0.5, 5};
    for (size_t threads = 1; threads <= 3; threads += 2)
        for (size_t a = 0; a < sizeof spreads / sizeof *spreads; ++a)
            for (size_t o = 0; o < sizeof offs / sizeof *offs; ++o)
                for (int way = 0; way < 4; ++way) {
                    double enough = way == 3 ? 20 : way == 2 ? 0.5 : 0;
                    tn_ctx_set_threads(test_ctx, threads);
                    fill(spreads[a], offs[o], a * 10 + o);
                    for (int step = 0; way == 0 && step < STEPS; ++step)
                        settle(1, 0.75f, 0, false);
                    if (way > 0)
                        settle(STEPS, 0.75f, enough, o < 2);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(settles)};
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
