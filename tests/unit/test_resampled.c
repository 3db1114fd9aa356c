/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Means and t-tests of figures from folds, against scipy (tests/fixtures/make_cv.py) and by hand. */
#include "near.h"
#include "evaluate/resampled.h"
#include "fixtures/cv/sklearn_cv.h"

/* p is 1 less a sum of df/2 terms below 1: as many roundings, and those of sine and arctangent. */
static double p_tolerance(size_t df)
{
    return (double)(df + 8) * 0x1p-53;
}

static void student_as_scipy(void **state)
{
    (void)state;
    size_t at = 0;
    for (size_t i = 0; i < sizeof student_t / sizeof *student_t; ++i)
        for (size_t d = 0; d < sizeof student_df / sizeof *student_df; ++d, ++at) {
            size_t df = (size_t)student_df[d];
            assert_near_at(at, tnp_student_p(student_t[i], df), student_p[at], p_tolerance(df));
            assert_near_at(at, tnp_student_p(-student_t[i], df), student_p[at], p_tolerance(df));
        }
    assert_true(tnp_student_p(INFINITY, 4) >= 0 && tnp_student_p(INFINITY, 4) < 1e-15);
    assert_true(tnp_student_p(INFINITY, 5) >= 0 && tnp_student_p(INFINITY, 5) < 1e-15);
}

static void pairs_as_scipy(void **state)
{
    (void)state;
    static const struct {
        const double *a, *b;
    } pairs[] = {{test_a_2, test_b_2},
                 {test_a_5, test_b_5},
                 {test_a_10, test_b_10},
                 {test_a_15, test_b_15},
                 {test_a_50, test_b_50}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        const double *want = test_want + 6 * i; /* J, ratio, mean, se, t, p */
        tnp_resampled got = tnp_resample_pairs(pairs[i].a, pairs[i].b, (size_t)want[0], want[1]);
        assert_int_equal(got.count, (size_t)want[0]);
        /* Differences of numbers near 0.8 are known to 2^-53; their mean is 100 times smaller and t as well. */
        assert_near_at(i, got.mean, want[2], 1e-14);
        assert_near_at(i, got.se, want[3], 1e-14);
        assert_near_at(i, got.t, want[4], 1e-11);
        assert_near_at(i, got.p, want[5], 1e-11);
    }
}

/* 1, 2, 6 by hand: mean 3, variance 7, se^2 = 7 (1/3 + 1/2); folds without a figure do not count. */
static void by_hand(void **state)
{
    (void)state;
    const double v[] = {1, NAN, 2, 6, NAN}, b[] = {0, 1, 0, 0, NAN}, none[] = {NAN, NAN};
    tnp_resampled r = tnp_resample(v, 5, 0.5);
    assert_int_equal(r.count, 3);
    assert_true(r.mean == 3);
    assert_near(r.se, sqrt(7 * (1 / 3. + 0.5)), 1e-15);
    tnp_resampled same = tnp_resample_pairs(v, b, 5, 0.5);
    assert_true(same.count == 3 && same.mean == r.mean && same.se == r.se && same.p == r.p);
    r = tnp_resample(none, 2, 0.5);
    assert_true(r.count == 0 && isnan(r.mean) && isnan(r.se) && isnan(r.p));
    r = tnp_resample(v, 2, 0.5);
    assert_true(r.count == 1 && r.mean == 1 && isnan(r.se) && isnan(r.p));
}

/* Two methods that never differ are no reason for either; a difference without variance is certain. */
static void no_variance(void **state)
{
    (void)state;
    const double a[] = {0.5, 0.75, 0.25}, b[] = {0.25, 0.5, 0};
    tnp_resampled r = tnp_resample_pairs(a, a, 3, 0.5);
    assert_true(r.mean == 0 && r.se == 0 && r.p == 1);
    r = tnp_resample_pairs(a, b, 3, 0.5);
    assert_true(r.mean == 0.25 && r.se == 0 && r.p < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student_as_scipy),
        cmocka_unit_test(pairs_as_scipy),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(no_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
