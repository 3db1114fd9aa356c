/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of a softmax in double, of its certificate and its temperature: every table of kernels against the formulas in
 * long double. */
#include "simd_tables.h"
#include "near.h"
#include "ref_dense.h"
#include "ref_random.h"

#include <float.h>
#include <math.h>

enum { MOST = 67 };

/* The formulas literally, in long double. */
typedef struct probe_sums {
    ref_real loss, off, mass[MOST], disorder[MOST], turned[MOST][TNP_LANES];
} probe_sums;

static void add_probe_row(const tnp_probe_row *a, probe_sums *to)
{
    ref_real most = a->s[0], total = 0, c = a->cost;
    for (size_t j = 1; j < a->k; ++j)
        most = fmaxl(most, a->s[j]);
    for (size_t j = 0; j < a->k; ++j)
        total += expl((ref_real)a->s[j] - most);
    to->loss += c * (logl(total) + most - a->s[a->own]);
    for (size_t j = 0; j < a->k; ++j) {
        ref_real p = expl((ref_real)a->s[j] - most) / total;
        to->mass[j] += c * p;
        to->disorder[j] += c * p * (logl(total) + most - a->s[j]);
        for (size_t l = 0; l < TNP_LANES; ++l)
            to->turned[j][l] += c * (p - (j == a->own)) * a->probed[l];
    }
    for (size_t l = 0; l < TNP_PROBES; ++l) {
        ref_real off = -(ref_real)a->probed[TNP_LANES + l];
        for (size_t j = 0; j < a->k; ++j)
            off += (ref_real)a->by_class[l * a->stride + j] * a->s[j];
        to->off += off * off;
    }
}

/* Two rows. exp is within 4 units in the last place, a sum of k numbers within k of them, scores differ by at most 40
 * eps themselves when exp is taken: 100 + 2 k eps of the largest number that is added, which is cost times 60 or what
 * is measured by it, for every sum. */
static void test_probe_row(void **state)
{
    (void)state;
    enum { STRIDE = (MOST + TNP_PROBE_PAD - 1) / TNP_PROBE_PAD * TNP_PROBE_PAD };
    for (size_t t = 0; t < table_count; ++t)
        for (size_t k = 1; k <= MOST; ++k) {
            ref_rng rng = ref_rng_of(k);
            float s[MOST];
            double probed[TNP_LANES + TNP_PROBES], by_class[TNP_PROBES * STRIDE] = {0}, scratch[2 * STRIDE];
            double loss = 0, off = 0, mass[STRIDE] = {0}, disorder[STRIDE] = {0}, turned[STRIDE * TNP_LANES] = {0};
            probe_sums want = {0};
            tnp_probe_row row = {s,       k,     STRIDE, k - 1, 2.5,      probed, by_class,
                                 scratch, &loss, &off,   mass,  disorder, turned};
            for (size_t l = 0; l < TNP_PROBES; ++l)
                for (size_t j = 0; j < k; ++j)
                    by_class[l * STRIDE + j] = ref_unit(&rng) - 0.5;
            for (int r = 0; r < 2; ++r) {
                for (size_t j = 0; j < k; ++j)
                    s[j] = (float)(20 * ref_unit(&rng) - 10 - (j == 1 ? 900 : 0));
                for (size_t l = 0; l < TNP_LANES + TNP_PROBES; ++l)
                    probed[l] = 2 * ref_unit(&rng) - 1;
                tables[t]->probe_row(&row);
                add_probe_row(&row, &want);
            }
            double eps = (100 + 2 * (double)k) * DBL_EPSILON, at = eps * 2 * 2.5 * 60, far = 1000 + 10 * (double)k;
            assert_true(fabsl(loss - want.loss) <= at);
            assert_true(fabsl(off - want.off) <= eps * 2 * TNP_PROBES * far * far);
            for (size_t j = 0; j < k; ++j) {
                assert_true(fabsl(mass[j] - want.mass[j]) <= at && fabsl(disorder[j] - want.disorder[j]) <= at);
                for (size_t l = 0; l < TNP_LANES; ++l)
                    assert_true(fabsl(turned[j * TNP_LANES + l] - want.turned[j][l]) <= at);
            }
        }
}

/* exp is within 4 units in the last place, t d has an error of one that exp multiplies by t d, sums of n numbers of one
 * sign are within n of them. A NaN and what is below exp(-708) leave nothing. */
static void test_softmax_moments(void **state)
{
    (void)state;
    const double rates[] = {1e-3, 1, 30};
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (size_t r = 0; r < sizeof rates / sizeof *rates; ++r)
                for (int holes = 0; holes < 2; ++holes) {
                    ref_rng rng = ref_rng_of(n);
                    float s[MOST], most = -INFINITY;
                    double got[3];
                    ref_real want[3] = {0}, far = 0;
                    for (size_t i = 0; i < n; ++i) {
                        s[i] = (float)(20 * ref_unit(&rng) - 10);
                        most = fmaxf(most, s[i]);
                    }
                    if (holes && n > 3) {
                        s[n / 2] = s[n / 2] == most ? most : NAN;
                        s[n / 3] = s[n / 3] == most ? most : -INFINITY;
                    }
                    for (size_t i = 0; i < n; ++i) {
                        ref_real d = (ref_real)s[i] - most, e = expl((ref_real)rates[r] * d);
                        if (!isfinite(s[i]))
                            continue;
                        want[0] += e;
                        want[1] += e * d;
                        want[2] += e * d * d;
                        far = fmaxl(far, -d * rates[r]);
                    }
                    tables[t]->softmax_moments(s, n, (double)most, rates[r], got);
                    for (int m = 0; m < 3; ++m)
                        assert_true(fabsl(got[m] - want[m]) <=
                                    (8 + (ref_real)n + 2 * far) * (ref_real)DBL_EPSILON * fabsl(want[m]) + 1e-290L);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_probe_row), cmocka_unit_test(test_softmax_moments)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
