/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The outer product of every instruction set against loops, on whole numbers, where all of them are exact. */
#include "simd_tables.h"
#include "near.h"
#include "ref_random.h"

enum { ROWS = 40, MOST = 39 };

static double whole(ref_rng *rng)
{
    return (double)ref_below(rng, 17) - 8;
}

static void check_kernels(const tnp_simd *k)
{
    ref_rng rng = ref_rng_of(4);
    const size_t ranks[] = {1, 2, 7, 23, MOST};
    for (size_t r = 0; r < 5; ++r)
        for (size_t n = 0; n < 12; ++n) {
            float a[12 * MOST], b[MOST * TNP_PANEL], tile[ROWS * TNP_PANEL];
            double want[ROWS * TNP_PANEL];
            uint16_t place[12];
            for (size_t i = 0; i < n * ranks[r]; ++i)
                a[i] = (float)whole(&rng);
            for (size_t i = 0; i < ranks[r] * TNP_PANEL; ++i)
                b[i] = (float)whole(&rng);
            for (size_t i = 0; i < n; ++i)
                place[i] = (uint16_t)(3 * i + n % 3);
            for (size_t i = 0; i < ROWS * TNP_PANEL; ++i)
                want[i] = tile[i] = (float)whole(&rng);
            for (size_t i = 0; i < n; ++i)
                for (size_t l = 0; l < TNP_PANEL; ++l)
                    for (size_t m = 0; m < ranks[r]; ++m)
                        want[place[i] * (size_t)TNP_PANEL + l] +=
                            (double)a[i * ranks[r] + m] * (double)b[m * TNP_PANEL + l];
            k->outer_add(a, place, n, ranks[r], b, tile);
            for (size_t i = 0; i < ROWS * TNP_PANEL; ++i)
                if ((double)tile[i] != want[i])
                    fail_msg("%s: rank %zu, %zu rows: %g at %zu, expected %g", k->name, ranks[r], n, (double)tile[i], i,
                             want[i]);
        }
}

static void every_table(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        check_kernels(tables[t]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_table)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
