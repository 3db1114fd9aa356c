/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of dense descriptors: every table against the scalar one, on odd sizes. Sums of `taps` terms are within taps
 * eps of each other in any order; everything here is below 1, and below TAPS after the first of two sums. */
#include "near.h"
#include "simd_tables.h"

#include <float.h>

enum { N = 75, TAPS = 11, COLUMNS = 60, LENGTH = (N + 16) * 8, MOST_LINE = 16 * 8 };

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
        for (size_t t = 1; t < table_count; ++t) {
            tables[0]->patches->orient(x, x + N, x + 2 * N, 0.5F, n, a);
            tables[t]->patches->orient(x, x + N, x + 2 * N, 0.5F, n, b);
            assert_same(b, a, n * 8, 20 * FLT_EPSILON);
        }
}

static void across_and_down_agree(void **state)
{
    static float cells[COLUMNS * LENGTH], weights[TAPS], a[N * MOST_LINE], b[N * MOST_LINE], c[9 * MOST_LINE],
        d[9 * MOST_LINE];
    (void)state;
    fill(cells, COLUMNS * LENGTH, 2);
    fill(weights, TAPS, 3);
    for (size_t bins = 2; bins <= 16; bins += 2)
        for (size_t t = 1; t < table_count; ++t) {
            size_t line = 8 * bins;
            tables[0]->patches->across(cells, LENGTH, weights, TAPS, 3, bins, N, line, a);
            tables[t]->patches->across(cells, LENGTH, weights, TAPS, 3, bins, N, line, b);
            assert_same(b, a, N * line, 2 * TAPS * FLT_EPSILON);
            tables[0]->patches->down(a, line, weights, TAPS, 5, 9, c);
            tables[t]->patches->down(a, line, weights, TAPS, 5, 9, d);
            assert_same(d, c, 9 * line, 2 * TAPS * TAPS * FLT_EPSILON);
        }
}

/* By hand: what is summed, and where it goes. */
static void sums_are_their_sentences(void **state)
{
    static float cells[COLUMNS * LENGTH], weights[TAPS], out[N * MOST_LINE], down[9 * MOST_LINE];
    enum { LINE = 6 * 8, STEP = 7 };
    (void)state;
    fill(cells, COLUMNS * LENGTH, 4);
    fill(weights, TAPS, 5);
    for (size_t t = 0; t < table_count; ++t) {
        tables[t]->patches->across(cells, LENGTH, weights, TAPS, STEP, 6, N, LINE, out);
        tables[t]->patches->down(out, LINE, weights, TAPS, STEP, 9, down);
        for (size_t y = 0; y < N; y += 37)
            for (size_t i = 0; i < LINE; ++i) {
                double want = 0;
                for (size_t k = 0; k < TAPS; ++k)
                    want += (double)weights[k] * (double)cells[(i / 8 * STEP + k) * LENGTH + y * 8 + i % 8];
                assert_near((double)out[y * LINE + i], want, 2 * TAPS * FLT_EPSILON);
            }
        for (size_t r = 0; r < 9; ++r)
            for (size_t i = 0; i < LINE; ++i) {
                double want = 0;
                for (size_t k = 0; k < TAPS; ++k)
                    want += (double)weights[k] * (double)out[(r * STEP + k) * LINE + i];
                assert_near((double)down[r * LINE + i], want, 2 * TAPS * TAPS * FLT_EPSILON);
            }
    }
}

static void gather_copies_bins(void **state)
{
    static float from[40 * 8], out[3 * 130];
    size_t at[16];
    (void)state;
    fill(from, 40 * 8, 7);
    for (size_t b = 0; b < 16; ++b)
        at[b] = 8 * (b * 5 % 37);
    for (size_t t = 0; t < table_count; ++t) {
        memset(out, 0, sizeof out);
        tables[t]->patches->gather(from, at, 3, 130, out);
        for (size_t g = 0; g < 3; ++g)
            for (size_t i = 0; i < 128; ++i)
                assert_true(out[g * 130 + i] == from[at[i / 8] + 8 * g + i % 8]);
        assert_true(out[128] == 0 && out[129] == 0);
    }
}

static void unit_agrees(void **state)
{
    static float x[128], a[128], b[128], window[128];
    (void)state;
    fill(x, 128, 6);
    fill(window, 128, 8);
    window[5] = 1;
    x[5] = 7; /* to be cut */
    for (size_t t = 0; t < table_count; ++t) {
        float sum = 0, total = 0;
        double squares = 0;
        memcpy(a, x, sizeof a);
        memcpy(b, x, sizeof b);
        tables[0]->patches->unit(a, window, 1e-6F, 0.2F, 0.5F, &total);
        tables[t]->patches->unit(b, window, 1e-6F, 0.2F, 0.5F, &sum);
        assert_same(b, a, 128, 130 * FLT_EPSILON);
        for (size_t i = 0; i < 128; ++i)
            squares += (double)b[i] * (double)b[i];
        assert_near(squares, 0.25, 130 * FLT_EPSILON);
        assert_near((double)sum, (double)total, 130 * FLT_EPSILON);
        memset(b, 0, sizeof b);
        tables[t]->patches->unit(b, window, 1e-6F, 0.2F, 1, &sum);
        assert_true(b[0] == 0 && sum == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orient_agrees), cmocka_unit_test(across_and_down_agree),
                                       cmocka_unit_test(sums_are_their_sentences), cmocka_unit_test(gather_copies_bins),
                                       cmocka_unit_test(unit_agrees)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
