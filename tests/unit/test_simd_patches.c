/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of dense descriptors: every table against the scalar one, on odd sizes. Sums of `taps` terms are within taps
 * eps of each other in any order; everything here is below 1. */
#include "near.h"
#include "simd_tables.h"

#include <float.h>

enum { N = 75, TAPS = 11, COLUMNS = 60, LENGTH = (N + 8) * 8 };

static void fill(float *x, size_t n, uint64_t seed)
{
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 0);
    for (size_t i = 0; i < n; ++i)
        x[i] = (float)tnp_rng_unit(&rng);
}

static void assert_same(const float *got, const float *want, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; ++i)
        assert_near_at(i, (double)got[i], (double)want[i], tolerance);
}

static void orient_agrees(void **state)
{
    static float x[3 * N], a[N * 8], b[N * 8];
    (void)state;
    fill(x, 3 * N, 1);
    for (size_t n = 1; n <= N; n += n < 10 ? 1 : 13)
        for (size_t t = 1; t < count; ++t) {
            tables[0]->patches->orient(x, x + N, x + 2 * N, 0.5F, n, a);
            tables[t]->patches->orient(x, x + N, x + 2 * N, 0.5F, n, b);
            assert_same(b, a, n * 8, 20 * FLT_EPSILON);
        }
}

static void across_and_down_agree(void **state)
{
    static float cells[COLUMNS * LENGTH], weights[4 * TAPS], a[N * 9 * 32], b[N * 9 * 32], c[9 * 128], d[9 * 128];
    const float *rows[TAPS];
    const size_t first[4] = {0, 5, 9, 14};
    (void)state;
    fill(cells, COLUMNS * LENGTH, 2);
    fill(weights, 4 * TAPS, 3);
    for (size_t patches = 1; patches <= 9; ++patches)
        for (size_t t = 1; t < count; ++t) {
            memset(c, 0, sizeof c);
            memset(d, 0, sizeof d);
            tables[0]->patches->across(cells, LENGTH, weights, TAPS, first, 3, patches, N, a);
            tables[t]->patches->across(cells, LENGTH, weights, TAPS, first, 3, patches, N, b);
            assert_same(b, a, N * patches * 32, 2 * TAPS * FLT_EPSILON);
            for (size_t k = 0; k < TAPS; ++k)
                rows[k] = a + k * patches * 32;
            tables[0]->patches->down(rows, weights, TAPS, patches, 128, c);
            tables[t]->patches->down(rows, weights, TAPS, patches, 128, d);
            assert_same(d, c, 9 * 128, 2 * TAPS * FLT_EPSILON);
        }
}

/* By hand for one row of cells: what is summed, and where it goes. */
static void across_is_its_sentence(void **state)
{
    static float cells[COLUMNS * LENGTH], weights[4 * TAPS], out[N * 2 * 32];
    const size_t first[4] = {1, 5, 9, 14};
    (void)state;
    fill(cells, COLUMNS * LENGTH, 4);
    fill(weights, 4 * TAPS, 5);
    for (size_t t = 0; t < count; ++t) {
        tables[t]->patches->across(cells, LENGTH, weights, TAPS, first, 7, 2, N, out);
        for (size_t y = 0; y < N; y += 37)
            for (size_t g = 0; g < 2; ++g)
                for (size_t b = 0; b < 4; ++b)
                    for (size_t o = 0; o < 8; ++o) {
                        double want = 0;
                        for (size_t k = 0; k < TAPS; ++k)
                            want += (double)weights[b * TAPS + k] *
                                    (double)cells[(first[b] + g * 7 + k) * LENGTH + y * 8 + o];
                        assert_near((double)out[((y * 2 + g) * 4 + b) * 8 + o], want, 2 * TAPS * FLT_EPSILON);
                    }
    }
}

static void unit_agrees(void **state)
{
    static float x[128], a[128], b[128];
    (void)state;
    fill(x, 128, 6);
    x[5] = 7; /* to be cut */
    for (size_t t = 0; t < count; ++t) {
        float sum = 0, total = 0;
        double squares = 0;
        memcpy(a, x, sizeof a);
        memcpy(b, x, sizeof b);
        tables[0]->patches->unit(a, 1e-6F, 0.2F, 0.5F, &total);
        tables[t]->patches->unit(b, 1e-6F, 0.2F, 0.5F, &sum);
        assert_same(b, a, 128, 130 * FLT_EPSILON);
        for (size_t i = 0; i < 128; ++i)
            squares += (double)b[i] * (double)b[i];
        assert_near(squares, 0.25, 130 * FLT_EPSILON);
        assert_near((double)sum, (double)total, 130 * FLT_EPSILON);
        memset(b, 0, sizeof b);
        tables[t]->patches->unit(b, 1e-6F, 0.2F, 1, &sum);
        assert_true(b[0] == 0 && sum == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orient_agrees), cmocka_unit_test(across_and_down_agree),
                                       cmocka_unit_test(across_is_its_sentence), cmocka_unit_test(unit_agrees)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
