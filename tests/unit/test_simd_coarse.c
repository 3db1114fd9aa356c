/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels around coarse scores, of every instruction set, against loops: whole numbers, so everything is exact. */
#include "simd_tables.h"
#include "near.h"
#include "ref_random.h"

enum { MOST_ROWS = 21, MOST_PAIRS = 70, STRIDE = 2 * MOST_PAIRS + 6 };

/* Rows and samples in all sizes; `most` 32766 in two values, or fewer in many, reaches the largest sums there are. */
static void products(const tnp_simd *k, ref_rng *rng, size_t rows, size_t pairs, size_t most)
{
    static int16_t w[MOST_ROWS * STRIDE], lanes[2 * TNP_BUNDLE * MOST_PAIRS];
    int32_t out[MOST_ROWS * TNP_BUNDLE + 1];
    for (size_t i = 0; i < MOST_ROWS * STRIDE; ++i)
        w[i] = (int16_t)((int)ref_below(rng, 2 * most + 1) - (int)most);
    for (size_t i = 0; i < 2 * TNP_BUNDLE * pairs; ++i)
        lanes[i] = i % 3 == 0 ? (int16_t)most : (int16_t)((int)ref_below(rng, 2 * most + 1) - (int)most);
    for (size_t p = 0; p < 2 * pairs; ++p)
        w[p] = (int16_t)(p % 2 == 0 ? -(int)most : (int)most);
    out[rows * TNP_BUNDLE] = 7;
    k->pair_products(w, STRIDE, rows, lanes, pairs, out);
    for (size_t i = 0; i < rows; ++i)
        for (size_t l = 0; l < TNP_BUNDLE; ++l) {
            int64_t sum = 0;
            for (size_t j = 0; j < 2 * pairs; ++j)
                sum += (int64_t)w[i * STRIDE + j] * lanes[(j / 2 * TNP_BUNDLE + l) * 2 + j % 2];
            if (out[i * TNP_BUNDLE + l] != sum)
                fail_msg("%s: row %zu of %zu, sample %zu, %zu pairs: %d, expected %lld", k->name, i, rows, l, pairs,
                         (int)out[i * TNP_BUNDLE + l], (long long)sum);
        }
    assert_int_equal(out[rows * TNP_BUNDLE], 7);
}

static void products_are_exact(void **state)
{
    (void)state;
    static const size_t pairs[] = {0, 1, 2, 5, 16, 33, MOST_PAIRS};
    for (size_t t = 0; t < table_count; ++t) {
        ref_rng rng = ref_rng_of(3);
        for (size_t rows = 0; rows <= MOST_ROWS; ++rows)
            for (size_t p = 0; p < sizeof pairs / sizeof *pairs; ++p)
                products(tables[t], &rng, rows, pairs[p],
                         pairs[p] < 2 ? 32766 : (size_t)sqrt(0x1p31 / (2 * (double)pairs[p]) - 1));
    }
}

/* Values in quarters of a step; halves may go either way. */
static void values_are_rounded_to_steps(void **state)
{
    (void)state;
    enum { N = 77 };
    for (size_t t = 0; t < table_count; ++t) {
        ref_rng rng = ref_rng_of(5);
        for (size_t n = 0; n <= N; ++n) {
            float x[N + 1];
            int16_t out[N + 1];
            for (size_t i = 0; i < n; ++i)
                x[i] = i == 3 ? 32766 : i == 7 ? -32766 : (float)ref_below(&rng, 4000) / 4 - 500;
            for (size_t i = 0; i < n; ++i)
                x[i] *= 8;
            out[n] = 7;
            tables[t]->round_steps(x, 0.125f, out, n);
            for (size_t i = 0; i < n; ++i)
                assert_true(fabs((double)out[i] - (double)x[i] / 8) <= 0.5);
            assert_int_equal(out[n], 7);
        }
    }
}

static void the_largest_size(void **state)
{
    (void)state;
    enum { N = 50 };
    for (size_t t = 0; t < table_count; ++t)
        for (size_t at = 0; at < N; ++at) {
            float x[N] = {0};
            assert_true(tables[t]->largest_size(x, at) == 0);
            for (size_t i = 0; i < N; ++i)
                x[i] = (float)(i % 7) - 3;
            x[at] = -5;
            assert_true(tables[t]->largest_size(x, N) == 5);
            x[at] = -INFINITY;
            assert_true(isinf(tables[t]->largest_size(x, N)));
            x[at] = NAN;
            assert_true(isnan(tables[t]->largest_size(x, N)));
        }
}

/* Bounds in small whole numbers, many of them equal; some are no numbers. */
static void check_guesses(const tnp_simd *k, ref_rng *rng, size_t n, bool strange)
{
    enum { N = 100 };
    float s[N], off[N], reach[N], most = -HUGE_VALF;
    uint32_t found[N + 1];
    size_t at = 0;
    for (size_t c = 0; c < n; ++c) {
        s[c] = (float)ref_below(rng, 30) - 15;
        off[c] = strange && c % 11 == 4 ? HUGE_VALF : (float)ref_below(rng, 3);
        reach[c] = strange && c % 13 == 5 ? NAN : (float)ref_below(rng, 3);
    }
    const tnp_score_bounds guess = {s, off, reach, 2, 1};
    for (size_t c = 0; c < n; ++c) {
        float low = s[c] - (2 * off[c] + reach[c]);
        most = low > most ? low : most;
    }
    assert_true(k->highest_floor(&guess, n) == most);
    found[n] = 7;
    size_t got = k->may_reach(&guess, most, n, found);
    for (size_t c = 0; c < n; ++c)
        if (!(s[c] + 2 * off[c] + reach[c] < most)) {
            assert_true(at < got);
            assert_int_equal(found[at++], c);
        }
    assert_int_equal(at, got);
    assert_true(got == n || found[n] == 7);
}

static void guesses_that_may_reach_the_highest_floor(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t) {
        ref_rng rng = ref_rng_of(9);
        for (size_t n = 1; n <= 100; ++n) {
            check_guesses(tables[t], &rng, n, false);
            check_guesses(tables[t], &rng, n, true);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(values_are_rounded_to_steps),
        cmocka_unit_test(the_largest_size),
        cmocka_unit_test(guesses_that_may_reach_the_highest_floor),
    };
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
