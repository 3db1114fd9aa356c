/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of maps, every table of instructions that this processor runs, over knots that hold random numbers: the
 * cell of an entry and the straight line in it, in long double. */
#include "simd_tables.h"
#include "near.h"
#include "ref_dense.h"
#include "ref_random.h"

enum { MOST = 41, FRONT = 3, BITS = 4, OCTAVES = 5, LOWEST = 127 - 3 };

/* 64 equal cells of [0, 1], or 16 cells an octave of [1/8, 4). The values of the padding are not zero: they must not
 * show. */
static tnp_knots knots_of(size_t rank, bool octaves, bool split, bool zero, uint64_t seed)
{
    tnp_knots knots = {.rank = rank, .pad = (rank + 7) / 8 * 8, .cells = 64, .split = split, .zero = zero};
    if (octaves) {
        knots.shift = 23 - BITS;
        knots.first = LOWEST << BITS;
        knots.cells = OCTAVES << BITS;
    }
    ref_rng rng = ref_rng_of(seed);
    float *rows = ref_alloc((knots.cells + 2) * knots.pad, sizeof *rows);
    for (size_t i = 0; i < (knots.cells + 2) * knots.pad; ++i)
        rows[i] = (float)ref_normal(&rng);
    for (size_t k = 0; k < rank && zero; ++k)
        rows[k] = 0;
    knots.rows = rows;
    return knots;
}

/* The line through the knots around size >= 0, value k; -1 when size has no cell. */
static int line_at(const tnp_knots *knots, double size, size_t k, ref_real *value, ref_real *scale)
{
    size_t cell = 0;
    ref_real t = 0;
    if (!knots->shift) {
        t = fmin(size, 1) * (double)knots->cells;
        cell = (size_t)t;
        t -= (ref_real)cell;
    } else if (size != 0 && (size < 0.125 || size >= 4)) {
        *value = (ref_real)knots->rows[k];
        *scale = fabsl(*value);
        return -1;
    } else if (size != 0) {
        int octave = (int)floor(log2(size));
        ref_real at = (size / ldexp(1, octave) - 1) * 16;
        cell = 1 + (size_t)(octave + 3) * 16 + (size_t)at;
        t = at - floorl(at);
    }
    ref_real low = (ref_real)knots->rows[cell * knots->pad + k],
             high = (ref_real)knots->rows[(cell + 1) * knots->pad + k];
    *value = t > 0 ? (1 - t) * low + t * high : low;
    *scale = fabsl(low) + (t > 0 ? fabsl(high) : 0);
    return 0;
}

/* x: both signs, zeros alone and in runs, knots, the ends of the table and beyond. */
static void fill(float *x, size_t n, uint64_t seed)
{
    static const float special[] = {0,       -0.0f,      1,           -1,     0.125f, 4,    -4,
                                    0.0625f, 3.9999998f, 0.12499999f, 1e-30f, 1e30f,  0.5f, 2};
    ref_rng rng = ref_rng_of(seed);
    for (size_t j = 0; j < n; ++j)
        x[j] = j % 20 < 16 && j / 20 % 2 ? 0
               : ref_below(&rng, 3)      ? (float)(ref_normal(&rng))
                                         : special[ref_below(&rng, sizeof special / sizeof *special)];
}

/* 1 - t, two products and a sum, each rounded once. Zero gives the first knot exactly; entries without a cell are
 * counted. */
static void check_row(const tnp_simd *kernels, const tnp_knots *knots, size_t n, float factor)
{
    static float x[MOST + 8], out[MOST * 80 + 16];
    const size_t parts = knots->split ? 2 : 1, values = n * parts * knots->rank;
    size_t outside = 0;
    fill(x, MOST + 8, n + knots->rank);
    for (size_t i = 0; i < values + 16 + FRONT; ++i)
        out[i] = 99;
    size_t got = kernels->map_entries(knots, x + FRONT, factor, n, out + FRONT);
    for (size_t j = 0; j < n; ++j)
        for (size_t part = 0; part < parts; ++part) {
            double v = (double)(float)(x[FRONT + j] * factor), sign = !knots->split && v < 0 ? -1 : 1;
            double size = !knots->split ? fabs(v) : fmax(part ? -v : v, 0);
            for (size_t k = 0; k < knots->rank; ++k) {
                ref_real want, scale;
                int cell = line_at(knots, size, k, &want, &scale);
                outside += k == 0 && cell < 0;
                ref_real value = (ref_real)out[FRONT + (j * parts + part) * knots->rank + k];
                assert_true(fabsl(value - sign * want) <= (size == 0 ? 0 : 3 * 0x1p-24L * scale));
            }
        }
    assert_int_equal(got, outside);
    for (size_t i = 0; i < FRONT; ++i)
        assert_true(out[i] == 99);
    for (size_t i = FRONT + values; i < values + 16 + FRONT; ++i)
        assert_true(out[i] == 99);
}

static void test_lines(void **state)
{
    (void)state;
    static const size_t ranks[] = {1, 2, 5, 7, 8, 9, 16, 23, 39};
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r)
        for (int form = 0; form < 8; ++form) {
            tnp_knots knots = knots_of(ranks[r], form & 1, form & 2, form & 4, 11 * r + 1);
            for (size_t t = 0; t < table_count; ++t)
                for (size_t n = 0; n <= MOST; ++n)
                    check_row(tables[t], &knots, n, n % 3 ? 1.0f : 0.7f);
            free((void *)(uintptr_t)knots.rows);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
