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
    static float x[MOST], level[MOST], sum[MOST];
    uint32_t which[MOST], top[TNP_MOST_HIGHEST];
    (void)state;
    for (size_t n = 1; n <= MOST; n += n < 70 ? 1 : 37) {
        fill(x, n, n);
        for (size_t i = 0; i < n; ++i) {
            if (n % 3 == 0)
                x[i] = floorf(x[i] * 4); /* many equals */
            level[i] = 0.125F * (float)(i % 3);
            sum[i] = x[i] + level[i];
        }
        size_t best = 0, near = 0;
        for (size_t i = 1; i < n; ++i)
            best = sum[i] > sum[best] ? i : best;
        for (size_t i = 0; i < n; ++i)
            near += sum[i] >= sum[best] - 0.25F;
        for (size_t t = 0; t < count; ++t) {
            size_t wanted = n < 5 ? n : 5, last = 0;
            float most = 0;
            assert_int_equal(tables[t]->mixtures->near(x, level, n, 0.25F, which, &most), near);
            assert_true(most == sum[best]);
            for (size_t f = 0; f < near; ++f) {
                assert_true(which[f] < n && sum[which[f]] >= sum[best] - 0.25F && (f == 0 || which[f] > last));
                last = which[f];
            }
            tables[t]->mixtures->highest(x, level, n, 1, top);
            assert_int_equal(top[0], best);
            tables[t]->mixtures->highest(x, level, n, wanted, top);
            for (size_t f = 0; f < wanted;
                 ++f) { /* as many are before it as its place says: higher, or equal and first */
                size_t before = 0;
                for (size_t i = 0; i < n; ++i)
                    before += sum[i] > sum[top[f]] || (i < top[f] && !(sum[i] < sum[top[f]]));
                assert_int_equal(before, f);
            }
        }
    }
}

/* Sums of n terms below 1: n eps; of ROWS rows, each with a weight below 1. */
static void distances_and_add(void **state)
{
    enum { ROWS = 7, ALL = 11 };
    static float x[ALL * MOST], m[MOST], v[MOST], first[MOST], second[MOST], q[ROWS], out[ROWS];
    static const uint32_t rows[ROWS] = {0, 3, 3, 4, 7, 9, 10};
    (void)state;
    fill(x, ALL * MOST, 1);
    fill(m, MOST, 2);
    fill(v, MOST, 3);
    fill(q, ROWS, 4);
    for (size_t n = 1; n <= MOST; n += 13)
        for (size_t t = 0; t < count; ++t)
            for (size_t some = 0; some <= ROWS; ++some) {
                tables[t]->mixtures->distances(x, n, rows, some, m, v, out);
                for (size_t j = 0; j < some; ++j) {
                    double want = 0;
                    for (size_t i = 0; i < n; ++i)
                        want += pow((double)x[rows[j] * n + i] - (double)m[i], 2) * (double)v[i];
                    assert_near((double)out[j], want, (double)n * FLT_EPSILON);
                }
                for (size_t i = 0; i < n; ++i) {
                    first[i] = 1;
                    second[i] = 2;
                }
                tables[t]->mixtures->add(x, n, rows, q, some, m, first, second);
                for (size_t i = 0; i < n; ++i) {
                    double one = 1, two = 2;
                    for (size_t j = 0; j < some; ++j) {
                        double z = (double)x[rows[j] * n + i] - (double)m[i];
                        one += (double)q[j] * z;
                        two += (double)q[j] * z * z;
                    }
                    assert_near_at(i, (double)first[i], one, (4 + 9 * ROWS) * FLT_EPSILON);
                    assert_near_at(i, (double)second[i], two, (4 + 9 * ROWS) * FLT_EPSILON);
                }
            }
}

/* Sums of n terms below 2, each of four roundings. */
static void slopes(void **state)
{
    enum { ROWS = 7, ALL = 11 };
    static float x[ALL * MOST], m[MOST], a[MOST], b[MOST], out[ROWS], distance[ROWS];
    static const uint32_t rows[ROWS] = {0, 3, 3, 4, 7, 9, 10};
    (void)state;
    fill(x, ALL * MOST, 1);
    fill(m, MOST, 2);
    fill(a, MOST, 3);
    fill(b, MOST, 4);
    for (size_t n = 1; n <= MOST; n += 13)
        for (size_t t = 0; t < count; ++t)
            for (size_t some = 0; some <= ROWS; ++some) {
                tables[t]->mixtures->slopes(x, n, rows, some, m, a, b, out);
                for (size_t j = 0; j < some; ++j) {
                    double want = 0;
                    for (size_t i = 0; i < n; ++i) {
                        double z = (double)x[rows[j] * n + i] - (double)m[i];
                        want += z * ((double)a[i] + (double)b[i] * z);
                    }
                    assert_true(fabs((double)out[j] - want) <= (2 * (double)n + 8) * FLT_EPSILON * (double)n);
                }
                if (some == 0)
                    continue;
                tables[t]->mixtures->both(x, n, some, m, b, a, b, distance, out);
                for (size_t j = 0; j < some; ++j) {
                    double want = 0, far = 0;
                    for (size_t i = 0; i < n; ++i) {
                        double z = (double)x[j * n + i] - (double)m[i];
                        want += z * ((double)a[i] + (double)b[i] * z);
                        far += z * z * (double)b[i];
                    }
                    assert_true(fabs((double)out[j] - want) <= (2 * (double)n + 8) * FLT_EPSILON * (double)n);
                    assert_near((double)distance[j], far, (double)n * FLT_EPSILON);
                }
            }
}

/* Terms below 3, each of six roundings, on top of 1, once for every time that a row is named. */
static void pulls(void **state)
{
    enum { ROWS = 7, ALL = 11 };
    static float x[ALL * MOST], out[ALL * MOST], m[MOST], v[MOST], a[MOST], b[MOST], q[ROWS], s[ROWS];
    static double want[ALL * MOST];
    static const uint32_t rows[ROWS] = {0, 3, 3, 4, 7, 9, 10};
    (void)state;
    fill(x, ALL * MOST, 1);
    fill(m, MOST, 2);
    fill(v, MOST, 3);
    fill(a, MOST, 4);
    fill(b, MOST, 5);
    fill(q, ROWS, 6);
    fill(s, ROWS, 7);
    for (size_t n = 1; n <= MOST; n += 13)
        for (size_t t = 0; t < count; ++t)
            for (size_t some = 0; some <= ROWS; ++some) {
                for (size_t i = 0; i < ALL * n; ++i)
                    want[i] = out[i] = 1;
                for (size_t j = 0; j < some; ++j)
                    for (size_t i = 0; i < n; ++i) {
                        double z = (double)x[rows[j] * n + i] - (double)m[i];
                        want[rows[j] * n + i] +=
                            (double)q[j] * ((double)a[i] + 2 * (double)b[i] * z) - (double)s[j] * z * (double)v[i];
                    }
                tables[t]->mixtures->pull(x, n, rows, q, s, some, m, v, a, b, out);
                for (size_t i = 0; i < ALL * n; ++i)
                    assert_near_at(i, (double)out[i], want[i], 2 * 18 * FLT_EPSILON);
            }
}

/* One rounding of the difference, one of its square. */
static void powers(void **state)
{
    static float x[MOST], shift[MOST], out[2 * MOST];
    (void)state;
    fill(x, MOST, 5);
    fill(shift, MOST, 6);
    for (size_t n = 1; n <= MOST; n += n < 40 ? 1 : 29)
        for (size_t t = 0; t < count; ++t) {
            tables[t]->mixtures->powers(x, shift, n, out);
            for (size_t i = 0; i < n; ++i) {
                double y = (double)x[i] - (double)shift[i];
                assert_near_at(i, (double)out[i], y, FLT_EPSILON);
                assert_near_at(i, (double)out[n + i], y * y, 3 * FLT_EPSILON);
            }
        }
}

/* Within 4 units in the last place; below exp(-87) it stays there. */
static void exponentials(void **state)
{
    static float x[MOST];
    (void)state;
    for (size_t n = 1; n <= MOST; n += n < 40 ? 1 : 29)
        for (size_t t = 0; t < count; ++t) {
            for (size_t i = 0; i < n; ++i)
                x[i] = -0.37F * (float)i;
            tables[t]->mixtures->exp(x, n);
            for (size_t i = 0; i < n; ++i) {
                double want = exp(fmax(-87, (double)(-0.37F * (float)i)));
                assert_near_at(i, (double)x[i], want, 4 * FLT_EPSILON * want);
            }
        }
}

/* By the definitions: level has one rounding of a sum below 4, the exponential 4 units in the last place. */
static void few_components(void **state)
{
    static float x[MOST], most[MOST], sum[MOST], out[MOST];
    static double want[MOST];
    static uint32_t which[MOST];
    const float least = 0.2F;
    (void)state;
    for (size_t n = 1; n <= MOST; n += n < 40 ? 1 : 29)
        for (size_t t = 0; t < count; ++t) {
            size_t above = 0, found = 0;
            fill(x, n, 7);
            for (size_t i = 0; i < n; ++i) {
                want[i] = 1.5 - (double)x[i];
                x[i] *= 2;
                most[i] = i % 2 ? 9 : -HUGE_VALF;
                sum[i] = 3;
            }
            tables[t]->mixtures->level(x, n, 1.5F, most);
            for (size_t i = 0; i < n; ++i) {
                assert_near_at(i, (double)x[i], want[i], 2 * FLT_EPSILON);
                assert_true(most[i] == (i % 2 ? 9 : x[i]));
                most[i] = 1.5F;
                want[i] = exp((double)x[i] - 1.5);
                above += want[i] >= (double)least;
            }
            tables[t]->mixtures->weigh(x, n, most, least, sum);
            for (size_t i = 0; i < n; ++i) {
                assert_near_at(i, (double)x[i], want[i] >= (double)least ? want[i] : 0, 4 * FLT_EPSILON);
                assert_near_at(i, (double)sum[i], 3 + (double)x[i], 4 * FLT_EPSILON);
            }
            found = tables[t]->mixtures->select(x, n, 100, which, out);
            assert_int_equal(found, above);
            for (size_t f = 0; f < found; ++f) {
                size_t at = which[f] - 100;
                assert_true(at < n && x[at] > 0 && (f == 0 || which[f] > which[f - 1]));
                assert_true(out[f] == x[at]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_and_highest), cmocka_unit_test(distances_and_add),
                                       cmocka_unit_test(slopes),           cmocka_unit_test(pulls),
                                       cmocka_unit_test(powers),           cmocka_unit_test(exponentials),
                                       cmocka_unit_test(few_components)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
