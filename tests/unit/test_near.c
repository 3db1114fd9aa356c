/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The comparisons of tests themselves: what they must refuse. */
#include "near.h"

static const double odd[] = {INFINITY, -INFINITY, NAN};

static void two_equal_infinities_are_not_near(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j) {
            assert_false(is_near(odd[i], odd[j], INFINITY));
            assert_false(is_near(odd[i], 1, INFINITY) || is_near(1, odd[j], INFINITY));
        }
}

static void near_is_relative_above_one_and_absolute_below(void **state)
{
    (void)state;
    assert_true(is_near(1024.5, 1024, ldexp(1, -11)) && is_near(0.5, 0, 0.5) && is_near(3, 3, 0));
    assert_false(is_near(1025, 1024, ldexp(1, -11)) || is_near(0.5, 0, 0.25) || is_near(3, nextafter(3, 4), 0));
}

static void infinities_and_nan_are_equal_only_to_their_like(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; ++i) {
        assert_not_finite(odd[i], odd[i]);
        assert_false(is_not_finite(1, odd[i]) || is_not_finite(odd[i], 1) || is_not_finite(odd[i], odd[(i + 1) % 3]));
    }
    assert_false(is_not_finite(1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_equal_infinities_are_not_near),
                                       cmocka_unit_test(near_is_relative_above_one_and_absolute_below),
                                       cmocka_unit_test(infinities_and_nan_are_equal_only_to_their_like)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
