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

static void highest(void **state)
{
    static float x[MOST], level[MOST], sum[MOST];
    uint32_t top[TNP_MOST_HIGHEST];
    (void)state;
    for (size_t n = 1; n <= MOST; n += n < 70 ? 1 : 37) {
        fill(x, n, n);
        for (size_t i = 0; i < n; ++i) {
            if (n % 3 == 0)
                x[i] = floorf(x[i] * 4); /* many equals */
            level[i] = 0.125F * (float)(i % 3);
            sum[i] = x[i] + level[i];
        }
        size_t best = 0, wanted = n < 5 ? n : 5;
        for (size_t i = 1; i < n; ++i)
            best = sum[i] > sum[best] ? i : best;
        for (size_t t = 0; t < table_count; ++t) {
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

static void highest_of_what_are_no_numbers(void **state)
{
    static float x[MOST], level[MOST];
    uint32_t top[3];
    (void)state;
    for (size_t n = 3; n <= 70; ++n)
        for (size_t t = 0; t < table_count; ++t) {
            for (size_t i = 0; i < n; ++i)
                x[i] = NAN;
            x[n - 1] = -HUGE_VALF;
            memset(top, 0xff, sizeof top);
            tables[t]->mixtures->highest(x, level, n, 3, top);
            assert_int_equal(top[0], n - 1);
            assert_int_equal(top[1], 0);
            assert_int_equal(top[2], 0);
        }
}

/* Sums of n terms below 1: n eps; of ROWS rows, each with a weight below 1. */
static void add(void **state)
{
    enum { ROWS = 7, ALL = 11 };
    static float x[ALL * MOST], m[MOST], first[MOST], second[MOST], q[ROWS];
    static const uint32_t rows[ROWS] = {0, 3, 3, 4, 7, 9, 10};
    (void)state;
    fill(x, ALL * MOST, 1);
    fill(m, MOST, 2);
    fill(q, ROWS, 4);
    for (size_t n = 1; n <= MOST; n += 13)
        for (size_t t = 0; t < table_count; ++t)
            for (size_t some = 0; some <= ROWS; ++some) {
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

/* Sums of n terms below 2, each of four roundings, and a level below 1. Four pairs are met at once: rows behind the last
 * are looked at, and results behind the last written, up to the next multiple of four. */
static void slopes(void **state)
{
    enum { ROWS = 7, ALL = 11 };
    static float x[ALL * MOST], m[MOST], a[MOST], b[MOST], out[ROWS + 2];
    static const uint32_t rows[ROWS + 1] = {0, 3, 3, 4, 7, 9, 10, 5};
    const float level = 0.75F;
    (void)state;
    fill(x, ALL * MOST, 1);
    fill(m, MOST, 2);
    fill(a, MOST, 3);
    fill(b, MOST, 4);
    for (size_t n = 1; n <= MOST; n += n < 36 ? 1 : 13)
        for (size_t t = 0; t < table_count; ++t)
            for (size_t some = 0; some <= ROWS; ++some) {
                out[(some + 3) / 4 * 4] = -9;
                tables[t]->mixtures->slopes(x, n, rows, some, m, a, b, level, out);
                assert_true(out[(some + 3) / 4 * 4] == -9);
                for (size_t j = 0; j < some; ++j) {
                    double want = -(double)level;
                    for (size_t i = 0; i < n; ++i) {
                        double z = (double)x[rows[j] * n + i] - (double)m[i];
                        want += z * ((double)a[i] + (double)b[i] * z);
                    }
                    assert_true(fabs((double)out[j] - want) <= (2 * (double)n + 9) * FLT_EPSILON * (double)(n + 1));
                }
            }
}

/* Pairs of one in `apart` of n rows, and of those beyond n none. Means are sums of two numbers below 1, of a product and
 * a sum rounded once each; what is bent is a product of numbers below 1 and 3, of three roundings; their sum has as many
 * roundings as there are pairs. */
static void check_bends(const tnp_mixture_loops *loops, size_t n, size_t apart)
{
    enum { LARGE = 4 * TNP_ABREAST, SLACK = 16 };
    static float q[LARGE + SLACK], slope[LARGE + SLACK], mean[LARGE], before[LARGE], out[LARGE + SLACK];
    uint32_t places[LARGE], near[LARGE / TNP_ABREAST] = {0};
    size_t count = 0;
    float total = 0.5F;
    double sum = 0.5;
    for (size_t i = n % apart; i < n; i += 1 + (i * 7) % (2 * apart - 1)) {
        near[i / TNP_ABREAST] |= 1U << i % TNP_ABREAST;
        places[count++] = (uint32_t)i;
    }
    fill(q, LARGE + SLACK, 1 + n);
    fill(slope, LARGE + SLACK, 2 + n);
    fill(mean, LARGE, 3 + n);
    memcpy(before, mean, sizeof mean);
    q[count] = slope[count] = NAN; /* nobody's */
    loops->spread(q, slope, places, count, near, n, mean);
    for (size_t i = 0, j = 0; i < n; ++i) {
        bool has = j < count && places[j] == i;
        assert_near_at(i, (double)mean[i], (double)before[i] + (has ? (double)q[j] * (double)slope[j] : 0),
                       2 * FLT_EPSILON);
        assert_true(has || mean[i] == before[i]);
        j += has;
    }
    loops->bend(q, slope, places, count, near, n, mean, out, &total);
    for (size_t j = 0; j < count; ++j) {
        double want = (double)q[j] * ((double)slope[j] - (double)mean[places[j]]);
        assert_near_at(j, (double)out[j], want, 6 * FLT_EPSILON);
        sum += want;
    }
    assert_near((double)total, sum, 6 * (double)(count + 1) * FLT_EPSILON);
}

static void means_and_bends(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= (size_t)4 * TNP_ABREAST; ++n)
            for (size_t apart = 1; apart <= 32; apart *= 2)
                check_bends(tables[t]->mixtures, n, apart);
}

enum { PULLED = 7, ROWS_OF_PULL = 11 };

/* Terms below 5, each of seven roundings, on top of 1, once for every time that a row is named; sums of PULLED terms
 * below 1, each of four roundings. */
static void check_pulls(const tnp_mixture_loops *loops, const float *x, size_t n, size_t some, const tnp_pull *p)
{
    static const uint32_t rows[PULLED] = {0, 3, 3, 4, 7, 9, 10};
    static double want[ROWS_OF_PULL * MOST];
    for (size_t i = 0; i < ROWS_OF_PULL * n; ++i)
        want[i] = p->out[i] = 1;
    for (size_t i = 0; i < n; ++i)
        p->first[i] = p->second[i] = 2;
    loops->pull(x, n, rows, some, p);
    for (size_t i = 0; i < n; ++i) {
        double first = 2, second = 2;
        for (size_t j = 0; j < some; ++j) {
            double z = (double)x[rows[j] * n + i] - (double)p->m[i], q = (double)p->q[j];
            double bent = q * ((double)p->slope[j] - (double)p->mean[rows[j]]);
            want[rows[j] * n + i] += q * ((double)p->a[i] + 2 * (double)p->b[i] * z) - bent * z * (double)p->inverse[i];
            first += bent * z;
            second += bent * z * z;
        }
        assert_near_at(i, (double)p->first[i], first, (4 + 9 * PULLED) * FLT_EPSILON);
        assert_near_at(i, (double)p->second[i], second, (4 + 9 * PULLED) * FLT_EPSILON);
    }
    for (size_t i = 0; i < ROWS_OF_PULL * n; ++i)
        assert_near_at(i, (double)p->out[i], want[i], 2 * 35 * FLT_EPSILON);
}

static void pulls(void **state)
{
    static float x[ROWS_OF_PULL * MOST], out[ROWS_OF_PULL * MOST], of[4][MOST], sums[2][MOST];
    float q[PULLED], slope[PULLED], mean[ROWS_OF_PULL];
    const tnp_pull p = {q, slope, mean, of[0], of[1], of[2], of[3], sums[0], sums[1], out};
    (void)state;
    fill(x, ROWS_OF_PULL * MOST, 1);
    for (size_t i = 0; i < 4; ++i)
        fill(of[i], MOST, 2 + i);
    fill(q, PULLED, 6);
    fill(slope, PULLED, 7);
    fill(mean, ROWS_OF_PULL, 8);
    for (size_t n = 1; n <= MOST; n += n < 36 ? 1 : 13)
        for (size_t t = 0; t < table_count; ++t)
            for (size_t some = 0; some <= PULLED; ++some)
                check_pulls(tables[t]->mixtures, x, n, some, &p);
}

enum { GAUSSIANS = 7, APART = TNP_ABREAST + 5 };

/* One panel against the definitions. Terms are below 1 and of four roundings, added up 16 at a time and then these sums:
 * 20 + n / 16 roundings of a sum below n, and one of a difference below n + 1. */
static void check_densities(const tnp_mixture_loops *loops, const float *x, size_t rows, size_t n, size_t components)
{
    static float panel[MOST * TNP_ABREAST], means[GAUSSIANS * MOST], inverse[GAUSSIANS * MOST];
    static float whole[GAUSSIANS], logs[GAUSSIANS * APART];
    float most[TNP_ABREAST], top[TNP_ABREAST];
    fill(means, components * n, 2);
    fill(inverse, components * n, 3);
    fill(whole, components, 4);
    for (size_t i = 0; i < TNP_ABREAST; ++i)
        top[i] = most[i] = i % 2 ? 1e30F : -HUGE_VALF;
    loops->turn(x, rows, n, panel);
    for (size_t i = 0; i < TNP_ABREAST; ++i)
        for (size_t j = 0; j < n; ++j)
            assert_true(panel[j * TNP_ABREAST + i] == x[(i < rows ? i : rows - 1) * n + j]);
    loops->densities(panel, n, components, means, inverse, whole, APART, logs, most);
    for (size_t k = 0; k < components; ++k)
        for (size_t i = 0; i < TNP_ABREAST; ++i) {
            double want = (double)whole[k];
            for (size_t j = 0; j < n; ++j)
                want -= 0.5 * pow((double)panel[j * TNP_ABREAST + i] - (double)means[k * n + j], 2) *
                        (double)inverse[k * n + j];
            double bound = (double)n * (24 + (double)n / 16) * FLT_EPSILON / 2;
            assert_true(fabs((double)logs[k * APART + i] - want) <= bound);
            top[i] = fmaxf(top[i], logs[k * APART + i]);
        }
    assert_memory_equal(most, top, sizeof most);
}

static void panels_and_densities(void **state)
{
    static float x[TNP_ABREAST * MOST];
    static const size_t rows[] = {1, 2, 5, 31, TNP_ABREAST};
    (void)state;
    fill(x, TNP_ABREAST * MOST, 1);
    for (size_t n = 1; n <= MOST; n += n < 36 ? 1 : 53)
        for (size_t t = 0; t < table_count; ++t)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
                check_densities(tables[t]->mixtures, x, rows[r], n, 1 + (n + r) % GAUSSIANS);
}

/* By the definitions; the exponential is within 4 units in the last place, the sum of up to n products has n roundings.
 * Rows without a component, whose highest is -infinity, get nothing, and neither do places beyond n. */
static void weigh_and_share(void **state)
{
    enum { LARGE = 10 * TNP_ABREAST, BASE = 100 };
    static float x[LARGE], most[LARGE], sum[LARGE], factor[LARGE], out[LARGE + 15];
    static double want[LARGE];
    static uint32_t which[LARGE + 15];
    uint32_t near[LARGE / TNP_ABREAST];
    const float reach = 3;
    (void)state;
    for (size_t n = 1; n <= LARGE; n += n < 2 * TNP_ABREAST ? 1 : 37)
        for (size_t t = 0; t < table_count; ++t) {
            size_t above = 0;
            float total = 0.5F;
            double shares = 0.5;
            fill(x, LARGE, n);
            for (size_t i = 0; i < LARGE; ++i) {
                x[i] = i % 50 == 7 ? -HUGE_VALF : -5 * x[i] - (i > n / 2 ? 90 : 0); /* half of it far from the rest */
                most[i] = i % 50 == 7 ? -HUGE_VALF : (i % 4 || i > n / 2 ? 0 : x[i]);
                sum[i] = 3;
                factor[i] = i < n ? 0.25F : 0;
                bool has = i < n && i % 50 != 7 && x[i] - most[i] >= -reach;
                want[i] = has ? exp((double)x[i] - (double)most[i]) : 0;
                above += has;
                shares += want[i] * 0.25;
            }
            tables[t]->mixtures->weigh(x, n, most, reach, near, sum);
            for (size_t i = 0; i < n; ++i) {
                bool has = near[i / TNP_ABREAST] >> i % TNP_ABREAST & 1;
                assert_int_equal(has, want[i] > 0);
                if (has)
                    assert_near_at(i, (double)x[i], want[i], 4 * FLT_EPSILON);
                assert_near_at(i, (double)sum[i], 3 + want[i], 4 * FLT_EPSILON);
            }
            assert_int_equal(tables[t]->mixtures->share(x, n, factor, near, BASE, which, out, &total), above);
            assert_near((double)total, shares, (double)n * FLT_EPSILON);
            for (size_t f = 0; f < above; ++f) {
                size_t at = which[f] - BASE;
                assert_true(at < n && want[at] > 0 && (f == 0 || which[f] > which[f - 1]));
                assert_true(out[f] == x[at] * factor[at]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(highest),
                                       cmocka_unit_test(highest_of_what_are_no_numbers),
                                       cmocka_unit_test(add),
                                       cmocka_unit_test(slopes),
                                       cmocka_unit_test(means_and_bends),
                                       cmocka_unit_test(pulls),
                                       cmocka_unit_test(panels_and_densities),
                                       cmocka_unit_test(weigh_and_share)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
