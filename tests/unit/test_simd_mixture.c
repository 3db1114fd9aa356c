/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops around mixtures: every table against plain loops, on odd sizes. */
#include "near.h"
#include "simd_tables.h"

#include <float.h>

enum { MOST = 300 };

static void fill(float *x, size_t n, uint64_t seed)
{
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 0);
    for (size_t i = 0; i < n; ++i)
        x[i] = (float)tnp_rng_unit(&rng);
}

static void near_and_highest(void **state)
{
    static float x[MOST];
    uint32_t which[MOST];
    (void)state;
    for (size_t n = 1; n <= MOST; n += n < 70 ? 1 : 37) {
        fill(x, n, n);
        for (size_t i = 0; i + 1 < n && n % 3 == 0; ++i)
            x[i] = floorf(x[i] * 4); /* many equals */
        size_t best = 0, near = 0;
        for (size_t i = 1; i < n; ++i)
            best = x[i] > x[best] ? i : best;
        for (size_t i = 0; i < n; ++i)
            near += x[i] >= x[best] - 0.25F;
        for (size_t t = 0; t < count; ++t) {
            bool seen[MOST] = {false};
            assert_int_equal(tables[t]->mixtures->highest(x, n), best);
            assert_int_equal(tables[t]->mixtures->near(x, n, 0.25F, which), near);
            for (size_t f = 0; f < near; ++f) {
                assert_true(which[f] < n && x[which[f]] >= x[best] - 0.25F && !seen[which[f]]);
                seen[which[f]] = true;
            }
        }
    }
}

/* Sums of n terms below 1: n eps. */
static void distance_and_add(void **state)
{
    static float x[MOST], m[MOST], v[MOST], first[MOST], second[MOST];
    (void)state;
    fill(x, MOST, 1);
    fill(m, MOST, 2);
    fill(v, MOST, 3);
    for (size_t n = 1; n <= MOST; n += 13)
        for (size_t t = 0; t < count; ++t) {
            double want = 0;
            for (size_t i = 0; i < n; ++i) {
                want += pow((double)x[i] - (double)m[i], 2) * (double)v[i];
                first[i] = 1;
                second[i] = 2;
            }
            assert_near((double)tables[t]->mixtures->distance(x, m, v, n), want, (double)n * FLT_EPSILON);
            tables[t]->mixtures->add(x, m, 0.5F, n, first, second);
            for (size_t i = 0; i < n; ++i) {
                double z = (double)x[i] - (double)m[i];
                assert_near_at(i, (double)first[i], 1 + 0.5 * z, 4 * FLT_EPSILON);
                assert_near_at(i, (double)second[i], 2 + 0.5 * z * z, 4 * FLT_EPSILON);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_and_highest), cmocka_unit_test(distance_and_add)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
