/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that are compiled for every instruction set from the same loops, against literal ones: on whole numbers and
 * powers of two, where all sums are exact, so that any order of them is the same. */
#include "simd_tables.h"
#include "near.h"
#include "ref_random.h"

#include <float.h>

enum { ROWS = 21, TILES = 5, COLS = TILES * TNP_LANES };

static double whole(ref_rng *rng)
{
    return (double)ref_below(rng, 33) - 16;
}

static void products(const tnp_simd *k, ref_rng *rng, size_t rows, size_t tiles)
{
    double x[ROWS * COLS], q[ROWS], u[ROWS], mean[COLS], inverse[COLS], plain[COLS + 1], centred[COLS + 1];
    float narrow[ROWS * COLS];
    for (size_t i = 0; i < rows * tiles * TNP_LANES; ++i)
        narrow[i] = (float)(x[i] = whole(rng));
    for (size_t i = 0; i < rows; ++i) {
        q[i] = whole(rng);
        u[i] = ldexp(1, (int)ref_below(rng, 4));
    }
    for (size_t j = 0; j < COLS; ++j) {
        mean[j] = whole(rng);
        inverse[j] = j % 5 == 0 ? 0 : ldexp(1, -(int)ref_below(rng, 5));
    }
    plain[tiles * TNP_LANES] = centred[tiles * TNP_LANES] = 7;
    k->tile_products(x, tiles, rows, q, plain);
    k->centred_products(narrow, tiles, rows, q, u, mean, inverse, centred);
    for (size_t j = 0; j < tiles * TNP_LANES; ++j) {
        double sum = 0, of_centred = 0;
        for (size_t i = 0; i < rows; ++i) {
            double value = x[(j / TNP_LANES * rows + i) * TNP_LANES + j % TNP_LANES];
            sum += q[i] * value;
            of_centred += q[i] * u[i] * (value - mean[j]);
        }
        if (plain[j] != sum || centred[j] != of_centred * inverse[j])
            fail_msg("%s: column %zu of %zu rows: %g and %g, expected %g and %g", k->name, j, rows, plain[j],
                     centred[j], sum, of_centred * inverse[j]);
    }
    assert_true(plain[tiles * TNP_LANES] == 7 && centred[tiles * TNP_LANES] == 7);
}

/* c is infinite where a column is out, and least where nothing is left of it. */
static void gains(const tnp_simd *k, ref_rng *rng, size_t n, double lambda)
{
    double t[COLS] = {0}, g[COLS] = {0}, c[COLS] = {0}, want_g[COLS], want_c[COLS], most = 0, least = 0.25;
    for (size_t j = 0; j < n; ++j) {
        t[j] = whole(rng);
        g[j] = whole(rng);
        c[j] = j % 7 == 3 ? INFINITY : j % 5 == 1 ? t[j] * t[j] / 4 - lambda + least : 100 + whole(rng);
        want_g[j] = g[j] - t[j] * 0.5;
        want_c[j] = c[j] - t[j] * t[j] * 0.25;
        double den = lambda + want_c[j];
        if (den > least)
            most = fmax(most, want_g[j] * want_g[j] / den);
    }
    double got = k->greedy_gains(n, t, 0.5, 0.25, lambda, least, g, c);
    for (size_t j = 0; j < n; ++j)
        assert_true(g[j] == want_g[j] && c[j] == want_c[j]);
    if (got != most)
        fail_msg("%s: %zu columns: %.17g, expected %.17g", k->name, n, got, most);
}

/* One round, coordinate by coordinate; sums are rounded in another order. */
static void descent(const tnp_simd *k, ref_rng *rng, size_t columns, size_t rows)
{
    enum { MOST = 12, STRIDE = 24 };
    double a[MOST * STRIDE], bent[MOST * STRIDE], gradient[MOST], w[MOST], inverse[MOST], next[MOST], move[STRIDE];
    double want_next[MOST], want_move[STRIDE], largest = 0;
    for (size_t i = 0; i < columns * rows; ++i) {
        a[i] = ref_normal(rng);
        bent[i] = a[i] * (0.1 + ref_unit(rng));
    }
    for (size_t j = 0; j < columns; ++j) {
        gradient[j] = ref_normal(rng);
        w[j] = next[j] = want_next[j] = j % 3 == 0 ? 0 : ref_normal(rng);
        inverse[j] = j % 5 == 4 ? 0 : 1 / ((double)rows + ref_unit(rng));
    }
    for (size_t i = 0; i < rows; ++i)
        move[i] = want_move[i] = ref_normal(rng);
    for (size_t j = 0; j < columns; ++j) {
        double sum = gradient[j] + 0.3 * (want_next[j] - w[j]), before = want_next[j];
        if (inverse[j] == 0)
            continue;
        for (size_t i = 0; i < rows; ++i)
            sum += bent[j * rows + i] * want_move[i];
        double at = before - sum * inverse[j], by = 0.7 * inverse[j];
        want_next[j] = fabs(at) <= by ? 0 : at - copysign(by, at);
        for (size_t i = 0; i < rows; ++i)
            want_move[i] += (want_next[j] - before) * a[j * rows + i];
        largest = fmax(largest, fabs(want_next[j] - before) / inverse[j]);
    }
    tnp_descent d = {columns, rows, a, bent, gradient, w, inverse, 0.3, 0.7, next, move};
    assert_near(k->descend(&d), largest, 1e-11);
    for (size_t j = 0; j < columns; ++j)
        assert_near_at(j, next[j], want_next[j], 1e-13);
    for (size_t i = 0; i < rows; ++i)
        assert_near_at(i, move[i], want_move[i], 1e-12);
}

static void check_kernels(const tnp_simd *k)
{
    ref_rng rng = ref_rng_of(11);
    for (size_t rows = 0; rows <= ROWS; ++rows)
        for (size_t tiles = 0; tiles <= TILES; ++tiles)
            products(k, &rng, rows, tiles);
    for (size_t n = 0; n <= COLS; n += TNP_LANES)
        for (size_t repeat = 0; repeat < 20; ++repeat)
            gains(k, &rng, n, (double)(repeat % 3));
    for (size_t columns = 0; columns <= 12; ++columns)
        for (size_t rows = TNP_LANES; rows <= 24; rows += TNP_LANES)
            descent(k, &rng, columns, rows);
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
