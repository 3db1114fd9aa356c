/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops of the reduction to band and tridiagonal form, of every instruction set, against the formulas they stand for
 * in long double. Products are of whole numbers, where all sets are exact; reflections are right to c b u of the block's
 * norm, u = 2^-53, b = TNP_BAND terms a sum. */
#include "simd_tables.h"
#include "near.h"
#include "ref_random.h"

enum { B = TNP_BAND, MOST = 50 };
static const double TOLERANCE = 8 * B * 0x1p-53;

static double whole(ref_rng *rng)
{
    return (double)ref_below(rng, 17) - 8;
}

static void check_products(const tnp_band_loops *k, size_t rows, size_t depth, size_t row, size_t step)
{
    ref_rng rng = ref_rng_of(rows + 100 * depth);
    enum { STRIDE = B + 3 };
    static double a[MOST * MOST], b[MOST * B], c[MOST * STRIDE], before[MOST * STRIDE];
    for (size_t i = 0; i < MOST * MOST; ++i)
        a[i] = whole(&rng);
    for (size_t i = 0; i < MOST * B; ++i)
        b[i] = whole(&rng);
    for (size_t i = 0; i < MOST * STRIDE; ++i)
        before[i] = c[i] = whole(&rng);
    k->block_add(rows, depth, a, row, step, b, c, STRIDE);
    for (size_t i = 0; i < MOST; ++i)
        for (size_t j = 0; j < STRIDE; ++j) {
            double want = before[i * STRIDE + j];
            for (size_t l = 0; i < rows && j < B && l < depth; ++l)
                want += a[i * row + l * step] * b[l * B + j];
            assert_true(c[i * STRIDE + j] == want);
        }
}

static void products(void **state)
{
    (void)state;
    const size_t rows[] = {0, 1, 2, 5, 6, 7, 13, 32};
    for (size_t t = 0; t < table_count; ++t)
        for (size_t r = 0; r < 8; ++r)
            for (size_t depth = 0; depth <= 41; depth += 5) {
                check_products(tables[t]->bands, rows[r], depth, depth, 1);
                check_products(tables[t]->bands, rows[r], depth, 1, MOST);
            }
}

/* w of length sqrt 2. */
static void random_reflection(ref_rng *rng, size_t n, double *w)
{
    double square = 0;
    for (size_t i = 0; i < n; ++i) {
        w[i] = ref_normal(rng);
        square += w[i] * w[i];
    }
    for (size_t i = 0; i < n; ++i)
        w[i] *= sqrt(2 / square);
}

static void lanes(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n < MOST; ++n) {
            ref_rng rng = ref_rng_of(n);
            double w[MOST], c[(MOST + 1) * TNP_LANES], before[(MOST + 1) * TNP_LANES];
            random_reflection(&rng, n, w);
            for (size_t i = 0; i < (MOST + 1) * TNP_LANES; ++i)
                before[i] = c[i] = ref_normal(&rng);
            tables[t]->bands->reflect(n, w, c);
            for (size_t l = 0; l < TNP_LANES; ++l) {
                long double sum = 0;
                for (size_t i = 0; i < n; ++i)
                    sum += (long double)w[i] * before[i * TNP_LANES + l];
                for (size_t i = 0; i <= MOST; ++i)
                    assert_near_at(i, c[i * TNP_LANES + l],
                                   (double)(before[i * TNP_LANES + l] - (i < n ? w[i] * sum : 0)), 8 * TOLERANCE);
            }
        }
}

/* Four in turn against one after the other; the last is none. */
static void four_at_once(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n < MOST; ++n) {
            ref_rng rng = ref_rng_of(n);
            double w[MOST * 4] = {0}, products[16] = {0}, one[MOST], c[(MOST + 1) * TNP_LANES];
            long double want[(MOST + 1) * TNP_LANES];
            for (size_t i = 0; i < (MOST + 1) * TNP_LANES; ++i)
                want[i] = c[i] = ref_normal(&rng);
            for (size_t q = 0; q < 3; ++q) {
                random_reflection(&rng, n, one);
                for (size_t i = 0; i < n; ++i)
                    w[i * 4 + q] = one[i];
                for (size_t l = 0; l < TNP_LANES; ++l) {
                    long double sum = 0;
                    for (size_t i = 0; i < n; ++i)
                        sum += one[i] * want[i * TNP_LANES + l];
                    for (size_t i = 0; i < n; ++i)
                        want[i * TNP_LANES + l] -= one[i] * sum;
                }
            }
            for (size_t q = 0; q < 16; ++q)
                for (size_t i = 0; i < n && q % 4 < q / 4; ++i)
                    products[q] += w[i * 4 + q / 4] * w[i * 4 + q % 4];
            tables[t]->bands->reflect_four(n, w, products, c);
            for (size_t i = 0; i < (MOST + 1) * TNP_LANES; ++i)
                assert_near_at(i, c[i], (double)want[i], 32 * TOLERANCE);
        }
}

/* m <- m - (m w) w', or the same from the left. */
static void reflect_block(long double m[B][B], const double *w, bool left)
{
    for (size_t i = 0; i < B; ++i) {
        long double sum = 0;
        for (size_t j = 0; j < B; ++j)
            sum += w[j] * (left ? m[j][i] : m[i][j]);
        for (size_t j = 0; j < B; ++j)
            *(left ? &m[j][i] : &m[i][j]) -= sum * w[j];
    }
}

static void check_reflection(const tnp_band_loops *k, double first, double others, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    double x[B] = {first}, before[B], w[B];
    long double norm = 0, along = 0, square = 0;
    for (size_t i = 1; i < B; ++i)
        x[i] = others * ref_normal(&rng);
    memcpy(before, x, sizeof x);
    k->reflection(x, w);
    for (size_t i = 0; i < B; ++i) {
        norm += (long double)before[i] * before[i];
        along += (long double)w[i] * before[i];
        square += (long double)w[i] * w[i];
        assert_true(i == 0 || x[i] == 0);
    }
    double size = (double)sqrtl(norm);
    assert_true(square == 0 || fabsl(square - 2) <= TOLERANCE);
    for (size_t i = 0; i < B; ++i)
        assert_true(fabsl(before[i] - along * w[i] - x[i]) <= TOLERANCE * size);
}

static void reflections(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t) {
        const tnp_band_loops *k = tables[t]->bands;
        check_reflection(k, 1, 1, 1);
        check_reflection(k, -1, 1e-9, 2);
        check_reflection(k, 0, 1, 3);
        check_reflection(k, 3, 0, 4);
        check_reflection(k, 0, 0, 5);
        check_reflection(k, 1e-60, 1e-60, 6);
        check_reflection(k, 1, 1e-200, 7); /* squares that vanish: nothing is to do, to the last digit of the norm */
    }
}

static void check_chase(const tnp_band_loops *k, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    static double storage[2 * B * TNP_CHASE], before[2 * B * TNP_CHASE];
    double w[B], next[B], norm = B, *e = storage + B; /* norm of a block of normal numbers */
    long double want[B][B];
    random_reflection(&rng, B, w);
    for (size_t i = 0; i < 2 * B * TNP_CHASE; ++i)
        before[i] = storage[i] = ref_normal(&rng);
    for (size_t i = 0; i < B; ++i)
        for (size_t j = 0; j < B; ++j)
            want[i][j] = before[B + j * TNP_CHASE + i];
    k->chase_below(e, w, next);
    reflect_block(want, w, false);
    reflect_block(want, next, true);
    for (size_t i = 0; i < B; ++i)
        for (size_t j = 0; j < B; ++j)
            assert_true(fabsl(e[j * TNP_CHASE + i] - want[i][j]) <= TOLERANCE * norm);
    for (size_t i = 1; i < B; ++i)
        assert_true(e[i] == 0);
    memcpy(storage, before, sizeof storage);
    for (size_t i = 0; i < B; ++i)
        for (size_t j = 0; j < B; ++j)
            want[i][j] = before[B + (i < j ? i : j) * TNP_CHASE + (i < j ? j : i)];
    k->chase_diagonal(e, w);
    reflect_block(want, w, false);
    reflect_block(want, w, true);
    for (size_t i = 0; i < 2 * B * TNP_CHASE; ++i) {
        size_t at = i - B, row = at % TNP_CHASE, column = at / TNP_CHASE;
        if (i >= B && column < B && row >= column && row < B)
            assert_true(fabsl(storage[i] - want[row][column]) <= TOLERANCE * norm);
        else
            assert_true(storage[i] == before[i]); /* what else lies between the columns stays */
    }
}

static void chases(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        for (uint64_t seed = 0; seed < 5; ++seed)
            check_chase(tables[t]->bands, seed);
}

/* One QL step in long double by the formulas at the head of algebra/values.c. */
static void ref_step(size_t n, long double x, long double *d, long double *b)
{
    long double c = 1, s = 0, g = d[n - 1] - x, p = g * g;
    for (size_t i = n - 1; i-- > 0;) {
        long double r = p + b[i], next, at = d[i];
        if (i + 2 < n)
            b[i + 1] = s * r;
        long double before = c;
        c = p / r;
        s = b[i] / r;
        next = c * (at - x) - s * g;
        d[i + 1] = g + at - next;
        p = c != 0 ? next * next / c : before * b[i];
        g = next;
    }
    b[0] = s * p;
    d[0] = x + g;
}

/* Rows are about 1 and shifts far from eigenvalues, where a step is a rotation that is well determined: every rounding
 * moves the result by itself, n TNP_LANES of them. */
static void sweeps_are_steps_in_turn(void **state)
{
    (void)state;
    const size_t sizes[] = {2 * TNP_LANES, 2 * TNP_LANES + 1, 40, 97};
    for (size_t t = 0; t < table_count; ++t)
        for (size_t z = 0; z < sizeof sizes / sizeof *sizes; ++z) {
            size_t n = sizes[z];
            ref_rng rng = ref_rng_of(n);
            double d[100], b[100] = {0}, shifts[TNP_LANES];
            long double want_d[100], want_b[100] = {0};
            for (size_t i = 0; i < n; ++i) {
                want_d[i] = d[i] = 1 + ref_unit(&rng);
                want_b[i] = b[i] = i + 1 < n ? 0.1 + 0.1 * ref_unit(&rng) : 0;
            }
            for (size_t q = 0; q < TNP_LANES; ++q) {
                shifts[q] = (q % 2 ? 4 : -2) + 0.3 * (double)q;
                ref_step(n, shifts[q], want_d, want_b);
            }
            tables[t]->bands->sweeps(n, shifts, d, b);
            for (size_t i = 0; i < n; ++i) {
                assert_near_at(i, d[i], (double)want_d[i], (double)(8 * n) * TNP_LANES * 0x1p-52);
                assert_near_at(i, b[i], (double)want_b[i], (double)(8 * n) * TNP_LANES * 0x1p-52);
            }
        }
}

/* A shift that is an eigenvalue of all rows behind gives p = 0 on the way: T of ones and a zero row. */
static void sweeps_meet_a_shift_that_is_an_entry(void **state)
{
    (void)state;
    enum { N = 24 };
    for (size_t t = 0; t < table_count; ++t) {
        double d[N], b[N] = {0}, shifts[TNP_LANES], trace = 0, squares = 0;
        for (size_t i = 0; i < N; ++i) {
            d[i] = 2;
            b[i] = i + 1 < N ? 1 : 0;
        }
        for (size_t q = 0; q < TNP_LANES; ++q)
            shifts[q] = q % 2 ? 2 : 1;
        tables[t]->bands->sweeps(N, shifts, d, b);
        for (size_t i = 0; i < N; ++i) { /* what orthogonal steps leave as it is */
            trace += d[i];
            squares += d[i] * d[i] + 2 * b[i];
        }
        assert_near_at(t, trace, 2 * N, 1e3 * 0x1p-52 * N);
        assert_near_at(t, squares, 4 * N + 2 * (N - 1), 1e3 * 0x1p-52 * N);
    }
}

/* The same shift again and again: the first step leaves a zero beside the first row, or a row of roundings, which the
 * others meet. */
static void sweeps_meet_rows_that_have_parted(void **state)
{
    (void)state;
    enum { N = 20 };
    for (size_t t = 0; t < table_count; ++t)
        for (int of = 0; of < 2; ++of) {
            double d[N], b[N] = {0}, shifts[TNP_LANES], trace = 0;
            for (size_t i = 0; i < N; ++i) {
                d[i] = of && i < 8 ? 0 : (double)(i + 1);
                b[i] = i + 1 < N && !(of && i < 8) ? 0.25 : 0;
                trace += d[i];
            }
            for (size_t q = 0; q < TNP_LANES; ++q)
                shifts[q] = of ? 0 : 0.75; /* near the smallest eigenvalue, or the one that is there eight times */
            for (int round = 0; round < 20; ++round)
                tables[t]->bands->sweeps(N, shifts, d, b);
            for (size_t i = 0; i < N; ++i) {
                assert_true(isfinite(d[i]) && b[i] >= 0);
                trace -= d[i];
            }
            assert_near_at(t, trace, 0, 1e5 * 0x1p-52);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products),
                                       cmocka_unit_test(lanes),
                                       cmocka_unit_test(four_at_once),
                                       cmocka_unit_test(reflections),
                                       cmocka_unit_test(chases),
                                       cmocka_unit_test(sweeps_are_steps_in_turn),
                                       cmocka_unit_test(sweeps_meet_a_shift_that_is_an_entry),
                                       cmocka_unit_test(sweeps_meet_rows_that_have_parted)};
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
