/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of coordinate descent of every instruction set: products against loops on whole numbers, where all of them are
 * exact, visits against the formula in double. Sizes reach every tail; what lies between rows must stay as it is. */
#include "simd_tables.h"
#include "near.h"
#include "ref_random.h"

enum { MOST = 9, WIDEST = 70, GAP = 3, APART = WIDEST + GAP };
static const size_t widths[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 65, WIDEST};
enum { WIDTHS = sizeof widths / sizeof *widths };
static const float UNTOUCHED = -77;

static float whole(ref_rng *rng)
{
    return (float)ref_below(rng, 17) - 8;
}

static void fill_whole(ref_rng *rng, float *x, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        x[i] = whole(rng);
}

static void check_row_products(const tnp_simd *table, size_t n, size_t m, size_t dim, bool add)
{
    ref_rng rng = ref_rng_of(n + 10 * m + 100 * dim);
    float x[MOST * APART], y[MOST * APART], out[MOST * (MOST + GAP)];
    fill_whole(&rng, x, MOST * APART);
    fill_whole(&rng, y, MOST * APART);
    for (size_t i = 0; i < MOST * (MOST + GAP); ++i)
        out[i] = UNTOUCHED;
    table->products->row_products(n, x, APART, m, y, APART, dim, add, out, MOST + GAP);
    for (size_t i = 0; i < MOST; ++i)
        for (size_t j = 0; j < MOST + GAP; ++j) {
            double want = (double)UNTOUCHED, got = (double)out[i * (MOST + GAP) + j];
            if (i < n && j < m && !add)
                want = 0;
            for (size_t l = 0; i < n && j < m && l < dim; ++l)
                want += (double)x[i * APART + l] * (double)y[j * APART + l];
            if (got != want)
                fail_msg("%s: %zu x %zu of %zu: %g at %zu, %zu, expected %g", table->name, n, m, dim, got, i, j, want);
        }
}

static void test_row_products(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (size_t m = 1; m <= MOST; ++m)
                for (size_t w = 0; w < 2 * WIDTHS; ++w)
                    check_row_products(tables[t], n, m, widths[w / 2], w % 2);
}

/* Every third row has moved in no column, so that it may be left out. */
static void check_add_products(const tnp_simd *table, size_t n, size_t k, size_t dim)
{
    ref_rng rng = ref_rng_of(n + 100 * k + 10000 * dim);
    float *x = malloc(n * APART * sizeof *x), *delta = malloc(n * (k + GAP) * sizeof *delta),
          *w = malloc(k * APART * sizeof *w);
    double *want = malloc(k * APART * sizeof *want);
    assert_true(x && delta && w && want);
    fill_whole(&rng, x, n * APART);
    fill_whole(&rng, delta, n * (k + GAP));
    fill_whole(&rng, w, k * APART);
    for (size_t t = 0; t < n; t += 3)
        memset(delta + t * (k + GAP), 0, k * sizeof *delta);
    for (size_t i = 0; i < k * APART; ++i)
        want[i] = (double)w[i];
    for (size_t t = 0; t < n; ++t)
        for (size_t j = 0; j < k; ++j)
            for (size_t l = 0; l < dim; ++l)
                want[j * APART + l] += (double)delta[t * (k + GAP) + j] * (double)x[t * APART + l];
    table->products->add_products(n, k, delta, k + GAP, x, APART, dim, w, APART);
    for (size_t i = 0; i < k * APART; ++i)
        if ((double)w[i] != want[i])
            fail_msg("%s: %zu rows, %zu columns of %zu: %g at %zu, expected %g", table->name, n, k, dim, (double)w[i],
                     i, want[i]);
    free(x);
    free(delta);
    free(w);
    free(want);
}

static void test_add_products(void **state)
{
    (void)state;
    const size_t rows[] = {1, 2, 16, 63, 64, 65, 130}, columns[] = {1, 3, 4, 5, 7, 8, 9, 17};
    for (size_t t = 0; t < table_count; ++t)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
            for (size_t c = 0; c < sizeof columns / sizeof *columns; ++c)
                for (size_t w = 0; w < WIDTHS; ++w)
                    check_add_products(tables[t], rows[r], columns[c], widths[w]);
}

/* ---- visits ---- */

enum { ROWS = 6, ALL = 9, COLUMNS = 37, STRIDE = COLUMNS + GAP };

typedef struct places {
    float gram[ROWS * ROWS], cost[ROWS * STRIDE], alpha[ALL * STRIDE], s[ROWS * STRIDE], delta[ROWS * STRIDE];
} places;

static const size_t rows_of[ROWS] = {4, 0, 8, 7, 1, 3};

/* One row has no length, some costs are 0, some multipliers are at a bound. */
static void fill_places(ref_rng *rng, places *p, size_t k)
{
    for (size_t i = 0; i < ROWS * ROWS; ++i)
        p->gram[i] = (float)ref_unit(rng);
    for (size_t t = 0; t < ROWS; ++t)
        p->gram[t * ROWS + t] = t == 2 ? 0 : 1 + (float)ref_unit(rng);
    for (size_t i = 0; i < ROWS * STRIDE; ++i) {
        p->cost[i] = ref_below(rng, 5) == 0 ? 0 : (float)((ref_below(rng, 2) ? 2 : -2) * (0.1 + ref_unit(rng)));
        p->s[i] = (float)(2 * ref_normal(rng));
        p->delta[i] = UNTOUCHED;
    }
    for (size_t t = 0; t < ROWS; ++t)
        for (size_t j = k; j < STRIDE; ++j)
            p->s[t * STRIDE + j] = UNTOUCHED;
    for (size_t i = 0; i < ALL * STRIDE; ++i)
        p->alpha[i] = ref_below(rng, 3) ? (float)ref_unit(rng) : 0;
}

static double clip(double x, double most)
{
    return x > most ? most : x > 0 ? x : 0;
}

/* The formula of svm_dual.c, column by column. */
static void visit_literally(const places *p, size_t j, double bias, bool squared, double *alpha, double *delta)
{
    double s[ROWS];
    for (size_t t = 0; t < ROWS; ++t)
        s[t] = (double)p->s[t * STRIDE + j];
    for (size_t t = 0; t < ROWS; ++t) {
        double a = (double)p->cost[t * STRIDE + j], c = fabs(a), y = a < 0 ? -1 : 1;
        double before = (double)p->alpha[rows_of[t] * STRIDE + j], soft = squared && c > 0 ? 1 / (2 * c) : 0;
        double curve = (double)p->gram[t * ROWS + t] + bias + soft;
        double step = (y * s[t] - 1 + before * soft) / curve;
        alpha[t] = c == 0 ? 0 : curve > 0 ? clip(before - step, squared ? INFINITY : c) : c;
        delta[t] = y * (alpha[t] - before);
        for (size_t u = t + 1; u < ROWS; ++u)
            s[u] += ((double)p->gram[t * ROWS + u] + bias) * delta[t];
    }
}

static void check_visits(const tnp_simd *table, size_t k, bool bias, bool squared)
{
    ref_rng rng = ref_rng_of(k + 1000 * bias + 2000 * squared);
    places before, p;
    double alpha[COLUMNS][ROWS], delta[COLUMNS][ROWS];
    fill_places(&rng, &before, k);
    p = before;
    table->visits(&(tnp_visits){.n = ROWS,
                                .k = k,
                                .apart = STRIDE,
                                .rows = rows_of,
                                .gram = p.gram,
                                .bias = bias ? 1 : 0,
                                .squared = squared,
                                .cost = p.cost,
                                .alpha = p.alpha,
                                .stride = STRIDE,
                                .s = p.s,
                                .delta = p.delta});
    for (size_t j = 0; j < k; ++j) {
        visit_literally(&before, j, bias ? 1 : 0, squared, alpha[j], delta[j]);
        for (size_t t = 0; t < ROWS; ++t) {
            assert_near((double)p.delta[t * STRIDE + j], delta[j][t], 1e-5);
            assert_near((double)p.alpha[rows_of[t] * STRIDE + j], alpha[j][t], 1e-5);
            before.alpha[rows_of[t] * STRIDE + j] = p.alpha[rows_of[t] * STRIDE + j];
        }
    }
    assert_memory_equal(p.alpha, before.alpha, sizeof p.alpha);
    for (size_t t = 0; t < ROWS; ++t)
        for (size_t j = k; j < STRIDE; ++j)
            assert_true(p.delta[t * STRIDE + j] == UNTOUCHED && p.s[t * STRIDE + j] == UNTOUCHED);
}

static void test_visits(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        for (size_t k = 1; k <= COLUMNS; ++k)
            for (int way = 0; way < 4; ++way)
                check_visits(tables[t], k, way & 1, way & 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_row_products), cmocka_unit_test(test_add_products),
                                       cmocka_unit_test(test_visits)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
