/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Normalisation of rows against the formulas, in long double.
 *
 * Tolerances. Wide: a norm of n terms is right to (n + 4) u, u = 2^-53, then a root and a division. Narrow: the norm
 * is summed in double; its inverse, a root and the product are rounded to float: 4 roundings of 2^-24. */
#include "ctx_of.h"
#include "ref_random.h"
#include "transform/normalize.h"

#include <float.h>

enum { MOST = 70 };

static long double literal(tn_normalize kind, const double *x, size_t n, size_t j)
{
    long double sum = 0, v = fabsl((long double)x[j]), sign = x[j] < 0 ? -1 : 1;
    for (size_t i = 0; i < n; ++i)
        sum += kind == TN_NORM_L2 ? (long double)x[i] * x[i] : fabsl((long double)x[i]);
    if (kind == TN_NORM_NONE || sum == 0)
        return x[j];
    return kind == TN_NORM_L2 ? x[j] / sqrtl(sum) : kind == TN_NORM_ROOT ? sign * sqrtl(v / sum) : x[j] / sum;
}

/* One row in both precisions, apart and in place. floor: what a subnormal result may be off by. */
static void check_row(tn_normalize kind, const double *x, size_t n, double floor_narrow)
{
    const tnp_simd *k = tnp_simd_get();
    double wide[MOST], same_wide[MOST];
    float narrow[MOST], out[MOST], same[MOST];
    for (size_t j = 0; j < n; ++j)
        narrow[j] = same[j] = (float)x[j];
    memcpy(same_wide, x, n * sizeof *x);
    tnp_normalize_row_wide(kind, NULL, NULL, x, wide, n);
    tnp_normalize_row_wide(kind, NULL, NULL, same_wide, same_wide, n);
    tnp_normalize_row(k, kind, NULL, NULL, narrow, out, n);
    tnp_normalize_row(k, kind, NULL, NULL, same, same, n);
    for (size_t j = 0; j < n; ++j) {
        long double want = literal(kind, x, n, j);
        assert_true(fabsl(wide[j] - want) <= ((double)n + 8) * 0x1p-53 * fabsl(want));
        assert_true(fabsl(out[j] - want) <= 5 * 0x1p-24 * fabsl(want) + floor_narrow);
        assert_true(same[j] == out[j] && same_wide[j] == wide[j]);
        assert_true(want == 0 || (out[j] < 0) == (want < 0) || fabsl(want) < FLT_MIN);
    }
}

static void test_formulas(void **state)
{
    (void)state;
    static const tn_normalize kinds[] = {TN_NORM_L2, TN_NORM_ROOT, TN_NORM_L1, TN_NORM_NONE};
    ref_rng rng = ref_rng_of(1);
    for (size_t i = 0; i < 4; ++i)
        for (size_t n = 0; n <= MOST; ++n) {
            double x[MOST];
            for (size_t j = 0; j < n; ++j)
                x[j] =
                    ref_below(&rng, 5) == 0 ? 0 : (double)(float)(ref_normal(&rng) * pow(10, 6 * ref_unit(&rng) - 3));
            check_row(kinds[i], x, n, 0);
        }
}

/* Squares of 1e38 and of 1e-40 are outside float's range; 1e-40 is itself subnormal. */
static void test_extremes(void **state)
{
    (void)state;
    static const tn_normalize kinds[] = {TN_NORM_L2, TN_NORM_ROOT, TN_NORM_L1, TN_NORM_NONE};
    static const double rows[][4] = {{1e38, -3e38, 2e38, 1e38}, {1e-40, 2e-40, -1e-40, 0},
                                     {1e-45, 0, 0, 0},          {3.4e38, 3.4e38, 3.4e38, 1},
                                     {1e38, 1e-40, -1, 0},      {-1e-38, 1e-38, 1e-38, 1e-38}};
    for (size_t i = 0; i < 4; ++i)
        for (size_t r = 0; r < 6; ++r) {
            double x[4];
            for (size_t j = 0; j < 4; ++j)
                x[j] = (double)(float)rows[r][j];
            check_row(kinds[i], x, 4, 0x1p-149);
        }
}

/* Doubles whose squares overflow or vanish. */
static void test_extremes_wide(void **state)
{
    (void)state;
    skip_under_valgrind(); /* the oracle needs the range of long double, which is that of double there */
    static const double rows[][3] = {
        {1e300, -1e300, 0}, {1e-300, 2e-300, -3e-300}, {1e308, 1e308, 1e308}, {5e-324, 0, 0}};
    static const tn_normalize kinds[] = {TN_NORM_L2, TN_NORM_ROOT, TN_NORM_L1};
    for (size_t i = 0; i < 3; ++i)
        for (size_t r = 0; r < 4; ++r) {
            double y[3];
            tnp_normalize_row_wide(kinds[i], NULL, NULL, rows[r], y, 3);
            for (size_t j = 0; j < 3; ++j) {
                long double want = literal(kinds[i], rows[r], 3, j);
                assert_true(fabsl(y[j] - want) <= 16 * 0x1p-53 * fabsl(want));
            }
        }
}

static void test_zero_row(void **state)
{
    (void)state;
    for (int kind = TN_NORM_L2; kind <= TN_NORM_NONE; ++kind) {
        const double zeros[5] = {0}, ones[5] = {1, 1, 1, 1, 1};
        float x[5] = {0, -0.0f, 0, 0, 0}, y[5] = {9, 9, 9, 9, 9};
        double wide[5] = {9, 9, 9, 9, 9};
        tnp_normalize_row(tnp_simd_get(), (tn_normalize)kind, zeros, ones, x, y, 5);
        tnp_normalize_row_wide((tn_normalize)kind, zeros, ones, zeros, wide, 5);
        for (size_t j = 0; j < 5; ++j)
            assert_true(y[j] == 0 && wide[j] == 0);
    }
}

static void test_zscore(void **state)
{
    (void)state;
    const double means[] = {1e4, -2, 0, 7}, scales[] = {2, 0.5, 0, 1e3}, wide[] = {1e4 + 1, 2, 5, 7.001};
    const float narrow[] = {1e4f + 1, 2, 5, 7.001f};
    double y[4];
    float z[4];
    tnp_normalize_row_wide(TN_NORM_ZSCORE, means, scales, wide, y, 4);
    tnp_normalize_row(tnp_simd_get(), TN_NORM_ZSCORE, means, scales, narrow, z, 4);
    for (size_t j = 0; j < 4; ++j) {
        assert_true(y[j] == (wide[j] - means[j]) * scales[j]);
        assert_true(z[j] == (float)(((double)narrow[j] - means[j]) * scales[j]));
    }
    assert_true(y[2] == 0 && z[2] == 0);
}

static void test_parse(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(0);
    tn_normalize kinds[TN_NORMALIZE_COUNT] = {0};
    size_t count = 99;
    assert_fine(ctx, tn_normalize_parse(ctx, "zscore", kinds, &count));
    assert_true(count == 1 && kinds[0] == TN_NORM_ZSCORE);
    assert_fine(ctx, tn_normalize_parse(ctx, "none,l1,root,l2,zscore", kinds, &count));
    assert_true(count == 5 && kinds[0] == TN_NORM_NONE && kinds[1] == TN_NORM_L1 && kinds[4] == TN_NORM_ZSCORE);
    static const char *const bad[] = {"",   "l3",  "l2,",     ",l2",        "l2,,root",
                                      "L2", "l2 ", "l2;root", "l2,root,l2", "l2,l2,l2,l2,l2,l2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        count = 99;
        assert_fails(ctx, TN_ERR_ARG, "option normalize", tn_normalize_parse(ctx, bad[i], kinds, &count));
        assert_true(count == 99 && kinds[0] == TN_NORM_NONE);
    }
    assert_fails(ctx, TN_ERR_ARG, "'l2' is named twice", tn_normalize_parse(ctx, "l2,root,l2", kinds, &count));
    for (int kind = 0; kind < TN_NORMALIZE_COUNT; ++kind) {
        assert_fine(ctx, tn_normalize_parse(ctx, tn_normalize_name((tn_normalize)kind), kinds, &count));
        assert_true(count == 1 && kinds[0] == (tn_normalize)kind);
    }
    tn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas), cmocka_unit_test(test_extremes), cmocka_unit_test(test_extremes_wide),
        cmocka_unit_test(test_zero_row), cmocka_unit_test(test_zscore),   cmocka_unit_test(test_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
