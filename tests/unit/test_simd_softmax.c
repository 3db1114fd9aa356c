/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of the softmax and of its derivatives: every table of kernels against the formulas in long double, at sizes that
 * reach every tail, with canaries behind the outputs. */
#include "simd_tables.h"
#include "near.h"
#include "ref_dense.h"
#include "ref_random.h"

#include <float.h>
#include <math.h>

enum { MOST = 67, PAD = 16, ROOM = MOST + 2 * PAD };
static const double u = FLT_EPSILON / 2;
static const double scales[] = {0.01, 5, 300};
enum { SCALES = sizeof scales / sizeof *scales };

static void fill(float *x, double scale, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < ROOM; ++i)
        x[i] = (float)(ref_normal(&rng) * scale);
}

/* p (n) = softmax of s + t z in long double; returns log sum exp. */
static ref_real exact(const float *s, float t, const float *z, size_t n, ref_real *p)
{
    ref_real most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; ++i)
        most = fmaxl(most, p[i] = (ref_real)s[i] + (ref_real)t * (ref_real)z[i]);
    for (size_t i = 0; i < n; ++i)
        sum += p[i] = expl(p[i] - most);
    for (size_t i = 0; i < n; ++i)
        p[i] /= sum;
    return most + logl(sum);
}

/* exp within 4 units in the last place, or below exp(-87) of the largest; the sum of n in double; then one product. */
static void test_softmax(void **state)
{
    (void)state;
    float s[ROOM], p[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (int scale = 0; scale < 3; ++scale) {
                ref_rng rng = ref_rng_of(n);
                ref_real sum = 0, most = -INFINITY;
                for (size_t i = 0; i < ROOM; ++i) {
                    s[i] = (float)(ref_normal(&rng) * (scale == 0 ? 0.01 : scale == 1 ? 5 : 300));
                    p[i] = -7;
                }
                for (size_t i = 1; i <= n; ++i)
                    most = fmaxl(most, (ref_real)s[i]);
                for (size_t i = 1; i <= n; ++i)
                    sum += expl((ref_real)s[i] - most);
                double got = tables[t]->softmax(s + 1, p + 1, n);
                /* s - most is rounded to u of itself, which exp turns into that share of the value */
                for (size_t i = 1; i <= n; ++i) {
                    ref_real below = (ref_real)s[i] - most, want = expl(below) / sum;
                    assert_true(fabsl((ref_real)p[i] - want) <= (8 + 2 * fabsl(below)) * u * want + expl(-86.9L));
                }
                assert_true(fabsl((ref_real)got - most - logl(sum)) <= 16 * u * (1 + fabsl(logl(sum))));
                assert_true(p[0] == -7 && p[n + 1] == -7);
                tables[t]->softmax(s + 1, s + 1, n);
                assert_memory_equal(s + 1, p + 1, n * sizeof *s);
            }
}

/* The probabilities of test_softmax; one product more for g; what is added to the sums is g itself, and g (1 - p) with
 * two roundings. Rows of other costs beside each other, from one to as many as there may be. */
static void test_slope(void **state)
{
    (void)state;
    static float s[TNP_SLOPE_ROWS * ROOM], p[TNP_SLOPE_ROWS * ROOM], g[TNP_SLOPE_ROWS * ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (size_t rows = 1; rows <= TNP_SLOPE_ROWS; rows += n % 2 ? 5 : TNP_SLOPE_ROWS - 1) {
                float cost[TNP_SLOPE_ROWS];
                double slope[ROOM], weight[ROOM], sum[ROOM], bend[ROOM], slack[ROOM] = {0}, whole[TNP_SLOPE_ROWS];
                for (size_t i = 0; i < TNP_SLOPE_ROWS * ROOM; ++i)
                    p[i] = g[i] = -7;
                for (size_t i = 0; i < ROOM; ++i)
                    slope[i] = weight[i] = sum[i] = bend[i] = 2;
                for (size_t r = rows; r-- > 0;) { /* what is written behind one row is what the next begins with */
                    fill(s + r * n, scales[r % SCALES], 100 * n + r);
                    cost[r] = 3.7f + (float)r;
                }
                tnp_slope_rows job = {rows, n, s, cost, p, g, slope, weight, whole};
                tables[t]->softmax_slope(&job);
                for (size_t r = 0; r < rows; ++r) {
                    const float *own_p = p + r * n, *own_g = g + r * n, *own_s = s + r * n;
                    ref_real want[ROOM], all = exact(own_s, 0, own_s, n, want), most = -INFINITY;
                    for (size_t i = 0; i < n; ++i)
                        most = fmaxl(most, (ref_real)own_s[i]);
                    assert_true(fabsl((ref_real)whole[r] - all) <= 16 * u * (1 + fabsl(all - most)));
                    for (size_t i = 0; i < n; ++i) {
                        ref_real by = (ref_real)cost[r],
                                 off = (10 + 2 * (most - (ref_real)own_s[i])) * u * want[i] + expl(-86.9L);
                        assert_true(fabsl((ref_real)own_p[i] - want[i]) <= off);
                        assert_true(fabsl((ref_real)own_g[i] - by * want[i]) <= by * off);
                        sum[i] += (double)own_g[i];
                        bend[i] += (double)own_g[i] * (1 - (double)own_p[i]);
                        slack[i] += 2 * u * (double)own_g[i];
                    }
                }
                for (size_t i = 0; i < n; ++i) {
                    assert_true(fabs(slope[i] - sum[i]) <= (double)(rows + 2) * DBL_EPSILON * sum[i]);
                    assert_true(fabs(weight[i] - bend[i]) <= slack[i] + (double)(rows + 2) * DBL_EPSILON * sum[i]);
                }
                for (size_t i = n; i < ROOM; ++i)
                    assert_true(slope[i] == 2 && weight[i] == 2);
                for (size_t i = rows * n; i < TNP_SLOPE_ROWS * ROOM; ++i)
                    assert_true(p[i] == -7 && g[i] == -7);
                job.p = job.g = s;
                tables[t]->softmax_slope(&job);
                assert_memory_equal(s, g, rows * n * sizeof *s);
            }
}

/* s + t z is off by 2 u of its terms, less the largest by u of the difference, exp by 4 units: together `off` of each
 * probability before they are divided by their sum, and a mean moves by as much as they do. */
static void test_line(void **state)
{
    (void)state;
    const float step = 0.6f;
    float s[ROOM], z[ROOM];
    ref_real p[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (int scale = 0; scale < SCALES; ++scale) {
                ref_real first = 0, second = 0, slack[2] = {0}, most = -INFINITY;
                double got[2];
                fill(s, scales[scale], n);
                fill(z, scales[scale], n + 100);
                exact(s, step, z, n, p);
                for (size_t i = 0; i < n; ++i) {
                    first += p[i] * (ref_real)z[i];
                    second += p[i] * (ref_real)z[i] * (ref_real)z[i];
                    most = fmaxl(most, (ref_real)s[i] + (ref_real)step * (ref_real)z[i]);
                }
                for (size_t i = 0; i < n; ++i) {
                    ref_real x = (ref_real)z[i], size = fabsl((ref_real)s[i]) + fabsl((ref_real)step * x);
                    ref_real off = (8 + 2 * size + 2 * (most - (ref_real)s[i] - (ref_real)step * x)) * u;
                    ref_real weight = 1.01L * (p[i] * off + expl(-86.9L));
                    slack[0] += weight * (fabsl(x) + fabsl(first));
                    slack[1] += weight * (x * x + second);
                }
                tables[t]->softmax_line(s, z, step, n, got);
                assert_true(fabsl((ref_real)got[0] - first) <= slack[0]);
                assert_true(fabsl((ref_real)got[1] - second) <= slack[1]);
            }
}

/* The mean by n additions in float; the rest is a difference and two products. */
static void test_curve(void **state)
{
    (void)state;
    const float cost = 3.7f;
    float s[ROOM], p[ROOM], z[ROOM], was[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (int scale = 0; scale < SCALES; ++scale) {
                ref_real mean = 0, size = 0;
                fill(s, scales[scale], n);
                fill(z, 2, n + 100);
                memcpy(was, z, sizeof z);
                tables[t]->softmax(s, p, n);
                for (size_t i = 0; i < n; ++i) {
                    mean += (ref_real)p[i] * (ref_real)z[i];
                    size += fabsl((ref_real)p[i] * (ref_real)z[i]);
                }
                tables[t]->softmax_curve(p, cost, z, n);
                for (size_t i = 0; i < n; ++i) {
                    ref_real apart = (ref_real)was[i] - mean, by = (ref_real)cost * (ref_real)p[i];
                    ref_real slack = ((ref_real)(n + 3) * size + 4 * fabsl(apart)) * u;
                    assert_true(fabsl((ref_real)z[i] - by * apart) <= 1.01L * by * slack + 1e-37L);
                }
                assert_memory_equal(z + n, was + n, (ROOM - n) * sizeof *z);
            }
}

/* As test_curve, of rows beside each other, whose results are summed. */
static void test_curve_sums(void **state)
{
    (void)state;
    static float s[TNP_SLOPE_ROWS * ROOM], p[TNP_SLOPE_ROWS * ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (size_t rows = 1; rows <= TNP_SLOPE_ROWS; rows += n % 2 ? 5 : TNP_SLOPE_ROWS - 1) {
                float z[ROOM], cost[TNP_SLOPE_ROWS];
                double sum[ROOM];
                ref_real want[ROOM] = {0}, slack[ROOM] = {0};
                fill(z, 2, n + 100);
                for (size_t i = 0; i < ROOM; ++i)
                    sum[i] = 2;
                for (size_t r = rows; r-- > 0;) {
                    ref_real mean = 0, size = 0;
                    float *own = p + r * n;
                    fill(s + r * n, scales[r % SCALES], 100 * n + r);
                    tables[t]->softmax(s + r * n, own, n);
                    cost[r] = 3.7f + (float)r;
                    for (size_t i = 0; i < n; ++i) {
                        mean += (ref_real)own[i] * (ref_real)z[i];
                        size += fabsl((ref_real)own[i] * (ref_real)z[i]);
                    }
                    for (size_t i = 0; i < n; ++i) {
                        ref_real apart = (ref_real)z[i] - mean, by = (ref_real)cost[r] * (ref_real)own[i];
                        want[i] += by * apart;
                        slack[i] += 1.01L * by * ((ref_real)(n + 3) * size + 4 * fabsl(apart)) * u + 1e-37L;
                    }
                }
                tables[t]->softmax_curve_sums(&(tnp_curve_rows){rows, n, p, cost, z, sum});
                for (size_t i = 0; i < n; ++i)
                    assert_true(fabsl((ref_real)sum[i] - 2 - want[i]) <=
                                slack[i] + (ref_real)(rows + 2) * (ref_real)DBL_EPSILON * (2 + fabsl(want[i])));
                for (size_t i = n; i < ROOM; ++i)
                    assert_true(sum[i] == 2);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax), cmocka_unit_test(test_slope),
                                       cmocka_unit_test(test_line), cmocka_unit_test(test_curve),
                                       cmocka_unit_test(test_curve_sums)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
