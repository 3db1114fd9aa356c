/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every kernel table that this processor runs, against loops in long double: sizes 0 .. 67 reach every tail of an 8- or
 * 16-wide loop, odd offsets every misalignment, and canaries behind the output catch writes beyond n. */
#define _POSIX_C_SOURCE 200809L
#include "simd_tables.h"
#include "near.h"
#include "ref_dense.h"
#include "ref_pq.h"
#include "ref_random.h"

#include <float.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 67, PAD = 16, ROOM = MOST + 2 * PAD };

/* Values of many magnitudes and both signs, or small whole numbers. */
static void fill(float *x, size_t n, bool whole, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < n; ++i)
        x[i] =
            whole ? (float)ref_below(&rng, 2001) - 1000 : (float)(ref_normal(&rng) * pow(10, 6 * ref_unit(&rng) - 3));
}

/* n additions in double, each within eps of the sum so far, which is at most the sum of absolute values. */
static void test_sums(void **state)
{
    (void)state;
    float buffer[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (size_t offset = 0; offset < 5; ++offset)
                for (int whole = 0; whole < 2; ++whole) {
                    const float *x = buffer + offset;
                    ref_real squares = 0, magnitudes = 0;
                    fill(buffer, ROOM, whole, n * 10 + offset);
                    for (size_t i = 0; i < n; ++i) {
                        squares += (ref_real)x[i] * x[i];
                        magnitudes += fabsl(x[i]);
                    }
                    double slack = whole ? 0 : (double)n * DBL_EPSILON;
                    assert_true(fabsl(tables[t]->sum_squares(x, n) - squares) <= slack * squares);
                    assert_true(fabsl(tables[t]->sum_abs(x, n) - magnitudes) <= slack * magnitudes);
                }
}

/* One rounding an element: equal bits in every table. */
static void test_add_to_double(void **state)
{
    (void)state;
    float buffer[ROOM];
    double acc[ROOM], want[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (size_t offset = 0; offset < 4; ++offset) {
                fill(buffer, ROOM, false, n);
                for (size_t i = 0; i < ROOM; ++i)
                    want[i] = acc[i] = 1 / (double)(i + 1);
                for (size_t i = 0; i < n; ++i)
                    want[3 + i] += (double)buffer[offset + i];
                tables[t]->add_to_double(buffer + offset, acc + 3, n);
                assert_memory_equal(acc, want, sizeof acc);
            }
}

/* A product rounded once, a root and a product each rounded once: equal bits, also in place and for -0. */
static void test_scale(void **state)
{
    (void)state;
    float x[ROOM], y[ROOM], want[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (int root = 0; root < 2; ++root) {
                void (*scale)(const float *, float, float *, size_t) = root ? tables[t]->scale_root : tables[t]->scale;
                fill(x, ROOM, false, n);
                x[4] = -0.0f;
                for (size_t i = 0; i < ROOM; ++i)
                    want[i] = y[i] = 5;
                for (size_t i = 0; i < n; ++i) {
                    float size = root ? (float)sqrt(fabs((double)x[3 + i])) : fabsf(x[3 + i]);
                    want[2 + i] = copysignf(size, x[3 + i]) * 1.7f;
                }
                scale(x + 3, 1.7f, y + 2, n);
                assert_memory_equal(y, want, sizeof y);
                scale(x + 3, 1.7f, x + 3, n);
                assert_memory_equal(x + 3, want + 2, n * sizeof *x);
            }
}

/* A sum and a root, each rounded once: equal bits, also in place. */
static void test_roots(void **state)
{
    (void)state;
    float from[ROOM];
    double x[ROOM], y[ROOM], want[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (int more = 0; more < 2; ++more) {
                fill(from, ROOM, false, n);
                from[4] = -0.0f;
                for (size_t i = 0; i < ROOM; ++i) {
                    x[i] = (double)from[i] / 3;
                    want[i] = y[i] = 5;
                }
                for (size_t i = 0; i < n; ++i)
                    want[2 + i] = sqrt(fabs(x[3 + i]) + 0.1 * more);
                tables[t]->roots(x + 3, 0.1 * more, y + 2, n);
                assert_memory_equal(y, want, sizeof y);
                tables[t]->roots(x + 3, 0.1 * more, x + 3, n);
                assert_memory_equal(x + 3, want + 2, n * sizeof *x);
            }
}

/* A subtraction and a product, each rounded once: equal bits, also in place. */
static void test_shift_scale(void **state)
{
    (void)state;
    float x[ROOM], shift[ROOM], y[ROOM], want[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (size_t offset = 0; offset < 4; ++offset) {
                fill(x, ROOM, false, n);
                fill(shift, ROOM, false, n + 1000);
                memcpy(want, x, sizeof want);
                for (size_t i = 0; i < n; ++i) {
                    volatile float difference = x[offset + i] - shift[1 + i];
                    want[offset + i] = difference * 0.3f;
                }
                memcpy(y, x, sizeof y);
                tables[t]->shift_scale(x + offset, shift + 1, 0.3f, y + offset, n);
                assert_memory_equal(y, want, sizeof y);
                tables[t]->shift_scale(x + offset, shift + 1, 0.3f, x + offset, n);
                assert_memory_equal(x, want, sizeof x);
            }
}

/* Positive weights beside values of both signs; whole: so small that sums of 67 products stay below 2^24. */
static void fill_pair(float *x, float *w, bool whole, uint64_t seed)
{
    fill(x, ROOM, whole, seed);
    fill(w, ROOM, whole, seed + 5000);
    for (size_t i = 0; i < ROOM; ++i) {
        x[i] = whole ? fmodf(x[i], 41) : x[i];
        w[i] = whole ? fmodf(fabsf(w[i]), 41) + 1 : fabsf(w[i]);
    }
}

/* Lanes of 8 floats or more, two of them joined: at most n / 16 + 2 additions of products that were rounded at most
 * twice, each within half an eps of the sum of magnitudes; the rest is double. */
static void test_products(void **state)
{
    (void)state;
    float left[ROOM], right[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (size_t offset = 0; offset < 5; ++offset)
                for (int whole = 0; whole < 2; ++whole) {
                    const float *x = left + offset, *w = right + 3;
                    ref_real dot = 0, squares = 0, size = 0;
                    fill_pair(left, right, whole, n * 10 + offset);
                    for (size_t i = 0; i < n; ++i) {
                        dot += (ref_real)x[i] * w[i];
                        size += fabsl((ref_real)x[i] * w[i]);
                        squares += (ref_real)x[i] * x[i] * w[i];
                    }
                    double slack = whole ? 0 : ((double)n / 16 + 4) * (double)FLT_EPSILON / 2;
                    assert_true(fabsl(tables[t]->dot(x, w, n) - dot) <= slack * size);
                    assert_true(fabsl(tables[t]->weighted_squares(x, w, n) - squares) <= slack * squares);
                }
}

/* A product and a sum, or both in one rounding; nothing outside n is touched. */
static void test_add_scaled(void **state)
{
    (void)state;
    float x[ROOM], y[ROOM], before[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (size_t offset = 0; offset < 5; ++offset)
                for (int whole = 0; whole < 2; ++whole) {
                    float a = whole ? -3.0f : 0.3f;
                    fill(x, ROOM, whole, n);
                    fill(before, ROOM, whole, n + 1000);
                    memcpy(y, before, sizeof y);
                    tables[t]->add_scaled(a, x + 1, y + offset, n);
                    for (size_t i = 0; i < ROOM; ++i) {
                        bool inside = i >= offset && i < offset + n;
                        ref_real move = inside ? (ref_real)a * x[1 + i - offset] : 0, want = before[i] + move;
                        ref_real slack = whole || !inside ? 0 : (ref_real)FLT_EPSILON / 2 * (fabsl(move) + fabsl(want));
                        assert_true(fabsl(y[i] - want) <= slack * 1.0001L);
                    }
                }
}

typedef struct confident {
    float x[ROOM], mu[ROOM], u[ROOM], sigma[ROOM];
} confident;

/* d has two roundings, mu three, u four; sigma is divided by a number of at most four, and rounded. Half an eps each,
 * of what is added. Whole numbers are exact but for the quotient, which is rounded once. */
static void check_confident(const confident *was, const confident *is, float a, float b, float late, size_t offset,
                            size_t n, bool whole, bool averaged)
{
    const ref_real half = whole ? 0 : (ref_real)FLT_EPSILON / 2 * 1.0001L;
    for (size_t i = 0; i < ROOM; ++i) {
        bool inside = i >= offset && i < offset + n;
        ref_real x = inside ? was->x[i] : 0, d = a * (ref_real)was->sigma[i] * x;
        ref_real mu = was->mu[i] + d, u = was->u[i] + (averaged ? late * d : 0);
        ref_real sigma = 1 / (1 / (ref_real)was->sigma[i] + b * x * x);
        assert_true(fabsl(is->mu[i] - mu) <= half * (2 * fabsl(d) + (inside ? fabsl(mu) : 0)));
        assert_true(fabsl(is->u[i] - u) <= half * (3 * fabsl(late * d) + (inside && averaged ? fabsl(u) : 0)));
        if (whole || !inside)
            assert_true(is->sigma[i] == (float)sigma);
        else
            assert_true(fabsl(is->sigma[i] - sigma) <= 5 * half * sigma);
    }
}

static void test_confident_move(void **state)
{
    (void)state;
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n)
            for (size_t mode = 0; mode < 8; ++mode) {
                bool whole = mode & 1, averaged = mode & 2;
                size_t offset = mode & 4 ? 3 : 1;
                float a = whole ? -3.0f : 0.7f, b = whole ? 2.0f : 0.4f, late = 12345;
                confident was, is;
                fill_pair(was.x, was.sigma, whole, n);
                fill_pair(was.mu, was.u, whole, n + 300);
                for (size_t i = 0; whole && i < ROOM; ++i)
                    was.sigma[i] = 1;
                is = was;
                tables[t]->confident_move(is.x + offset, a, b, late, is.mu + offset, averaged ? is.u + offset : NULL,
                                          is.sigma + offset, n);
                assert_memory_equal(is.x, was.x, sizeof was.x);
                check_confident(&was, &is, a, b, late, offset, n, whole, averaged);
            }
}

/* One value too large or no number at every place of every size, and such values just outside that must not be seen. */
static void test_all_within(void **state)
{
    (void)state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY}, good[] = {FLT_MAX, -FLT_MAX, FLT_MIN / 8, -0.0f};
    float buffer[ROOM];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n) {
            size_t offset = n % 5;
            float *x = buffer + PAD + offset;
            for (size_t i = 0; i < ROOM; ++i)
                buffer[i] = NAN;
            for (size_t i = 0; i < n; ++i)
                x[i] = good[i % 4];
            assert_true(tables[t]->all_within(x, n, FLT_MAX));
            assert_true(tables[t]->all_within(x, n, 0x1p50f) == (n == 0));
            for (size_t i = 0; i < n; ++i) {
                x[i] = bad[(i + n) % 4];
                assert_false(tables[t]->all_within(x, n, FLT_MAX));
                x[i] = good[i % 4];
            }
            for (size_t i = 0; i < n; ++i)
                x[i] = i % 2 ? -0x1p50f : 0x1p50f;
            assert_true(tables[t]->all_within(x, n, 0x1p50f));
            for (size_t i = 0; i < n; ++i) {
                x[i] = nextafterf(x[i], 2 * x[i]);
                assert_false(tables[t]->all_within(x, n, 0x1p50f));
                x[i] = 0;
            }
        }
}

/* The value of a half by its definition: (-1)^s 2^(e-15) (1 + f/1024), or 2^-14 f/1024 for e = 0. */
static double half_by_definition(unsigned bits)
{
    unsigned e = bits >> 10 & 31, f = bits & 1023;
    double sign = bits & 0x8000 ? -1 : 1;
    if (e == 31)
        return f ? (double)NAN : sign * (double)INFINITY;
    return sign * (e == 0 ? ldexp((double)f, -24) : ldexp(1 + (double)f / 1024, (int)e - 15));
}

static void test_half(void **state)
{
    (void)state;
    uint16_t *in = ref_alloc(65536 + 3, sizeof *in);
    float *scalar = ref_alloc(65536, sizeof *scalar), *out = ref_alloc(65536, sizeof *out);
    for (size_t i = 0; i < 65536; ++i)
        in[i + 1] = (uint16_t)i;
    tnp_simd_scalar()->half_to_float(in + 1, scalar, 65536);
    for (size_t i = 0; i < 65536; ++i) {
        double want = half_by_definition((unsigned)i);
        assert_true(isnan(want) ? isnan(scalar[i]) != 0 : (double)scalar[i] == want);
        assert_true(isnan(want) || (signbit(scalar[i]) != 0) == (signbit(want) != 0));
    }
    for (size_t t = 1; t < table_count; ++t) {
        tables[t]->half_to_float(in + 1, out, 65536);
        for (size_t i = 0; i < 65536; ++i)
            assert_true(isnan(scalar[i]) ? isnan(out[i]) != 0 : memcmp(&out[i], &scalar[i], sizeof *out) == 0);
    }
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 0; n <= MOST; ++n) {
            memset(out, 0x5a, ROOM * sizeof *out);
            float canary = out[0];
            tables[t]->half_to_float(in + 1 + 0x3c00 + n, out + 1, n);
            for (size_t i = 0; i < n; ++i)
                assert_true(out[i + 1] == scalar[0x3c00 + n + i]);
            assert_memory_equal(&out[0], &canary, sizeof canary);
            assert_memory_equal(&out[n + 1], &canary, sizeof canary);
        }
    free(in);
    free(scalar);
    free(out);
}

typedef struct tridiagonal {
    size_t n;
    double diag[MOST + 1], off[MOST + 1], lambda[TNP_LANES], h[(MOST + 1) * TNP_LANES];
} tridiagonal;

/* Positive definite by dominance: diag > |off| on both sides. Whole: T unit lower bidiagonal products, so that every
 * pivot is 1 and every number an integer below 2^53. */
static tridiagonal tri_of(size_t n, bool whole, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed);
    tridiagonal t = {.n = n};
    for (size_t i = 0; i < n; ++i)
        t.off[i] = whole ? (double)ref_below(&rng, 3) - 1 : ref_normal(&rng);
    for (size_t i = 0; i < n; ++i) {
        double before = i ? t.off[i - 1] : 0;
        t.diag[i] = whole ? before * before : fabs(before) + fabs(t.off[i]) + ref_unit(&rng);
    }
    for (size_t l = 0; l < TNP_LANES; ++l)
        t.lambda[l] = whole ? 1 : pow(10, 4 * ref_unit(&rng) - 2);
    for (size_t i = 0; i < n * TNP_LANES; ++i)
        t.h[i] = whole ? (double)ref_below(&rng, 5) - 2 : ref_normal(&rng);
    return t;
}

static void exact_solve(const tridiagonal *t, size_t l, ref_real *u, ref_real *hu, ref_real *uu, ref_real *utu)
{
    size_t n = t->n;
    ref_real *a = ref_alloc(n * n, sizeof *a);
    for (size_t i = 0; i < n; ++i) {
        a[i * n + i] = (ref_real)t->diag[i] + t->lambda[l];
        if (i + 1 < n)
            a[i * n + i + 1] = a[(i + 1) * n + i] = t->off[i];
        u[i] = t->h[i * TNP_LANES + l];
    }
    assert_true(ref_cholesky(a, n));
    ref_cholesky_solve(a, n, u);
    *hu = *uu = *utu = 0;
    for (size_t i = 0; i < n; ++i) {
        *hu += u[i] * t->h[i * TNP_LANES + l];
        *uu += u[i] * u[i];
        *utu += t->diag[i] * u[i] * u[i] + (i + 1 < n ? 2 * t->off[i] * u[i] * u[i + 1] : 0);
    }
    free(a);
}

/* Whole: the recurrences only multiply and subtract whole numbers, so every table is exact as long as they stay
 * below 2^53; u grows at most like the Fibonacci numbers, hence n <= 24 there. Else: backward stable with about
 * ten roundings a row, so relative to cond <= (4 max diag + lambda) / lambda. */
static void test_tri_solve(void **state)
{
    (void)state;
    static double h[(MOST + 1) * TNP_LANES + 1], u[(MOST + 1) * TNP_LANES + 1], pivot[(MOST + 1) * TNP_LANES + 1];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t n = 1; n <= MOST; ++n)
            for (int whole = 0; whole < (n <= 24 ? 2 : 1); ++whole) {
                tridiagonal p = tri_of(n, whole, n);
                tnp_tri_out out;
                double most = 0;
                memcpy(h + 1, p.h, n * TNP_LANES * sizeof *h);
                u[1 + n * TNP_LANES < sizeof u / sizeof *u ? 1 + n * TNP_LANES : 0] = 77;
                tables[t]->tri_solve(n, p.diag, p.off, p.lambda, h + 1, u + 1, pivot + 1, &out);
                for (size_t i = 0; i < n; ++i)
                    most = fmax(most, p.diag[i]);
                for (size_t l = 0; l < TNP_LANES; ++l) {
                    ref_real want[MOST], hu, uu, utu;
                    exact_solve(&p, l, want, &hu, &uu, &utu);
                    double slack = whole ? 0 : 10 * DBL_EPSILON * (4 * most + p.lambda[l]) / p.lambda[l];
                    ref_real size = sqrtl(uu), tiny = whole ? 1e-6L : 0; /* long double solves by roots, not exactly */
                    for (size_t i = 0; i < n; ++i)
                        assert_true(fabsl(u[1 + i * TNP_LANES + l] - want[i]) <= slack * size + tiny);
                    assert_true(fabsl(out.hu[l] - hu) <= slack * fabsl(hu) + tiny);
                    assert_true(fabsl(out.uu[l] - uu) <= 2 * slack * uu + tiny);
                    assert_true(fabsl(out.utu[l] - utu) <= 2 * slack * (utu + p.lambda[l] * uu) + tiny);
                    assert_true(!whole || (out.hu[l] == floor(out.hu[l]) && out.utu[l] == floor(out.utu[l])));
                }
                assert_true(u[1 + n * TNP_LANES < sizeof u / sizeof *u ? 1 + n * TNP_LANES : 0] == 77);
            }
}

/* Whole numbers of one digit: sums are exact, ties are frequent, so the code must be the oracle's. Else each of d squares
 * is rounded three times at most and added once: the distance is within 4 d eps of the exact one, and that of the chosen
 * centroid within twice that of the least. Centroids of 3, 16, 17, 250 and 256 leave every kind of rest. */
static void test_nearest(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 3, 16, 17, 250, 256};
    enum { ROWS = 11, WIDEST = 9, STRIDE = 13, STEP = 3 };
    static float x[ROWS * STRIDE], centers[TNP_CODES * WIDEST], lanes[WIDEST * TNP_CODES];
    for (size_t t = 0; t < table_count; ++t)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k)
            for (size_t d = 1; d <= WIDEST; ++d)
                for (size_t n = 0; n <= ROWS; ++n) {
                    bool whole = n % 2 == 0;
                    uint8_t code[ROWS * STEP + 1];
                    float distance[ROWS + 1];
                    memset(code, 99, sizeof code);
                    distance[n] = -77;
                    fill(x, ROWS * STRIDE, false, n);
                    fill(centers, counts[k] * d, false, d);
                    for (size_t i = 0; whole && i < ROWS * STRIDE; ++i)
                        x[i] = (float)((int)(fabsf(x[i]) * 1000) % 4);
                    for (size_t i = 0; whole && i < counts[k] * d; ++i)
                        centers[i] = (float)((int)(fabsf(centers[i]) * 1000) % 4);
                    for (size_t j = 0; j < d; ++j)
                        for (size_t c = 0; c < TNP_CODES; ++c)
                            lanes[j * TNP_CODES + c] = c < counts[k] ? centers[c * d + j] : INFINITY;
                    tables[t]->nearest(x, STRIDE, n, d, lanes, (counts[k] + 15) / 16 * 16, code, STEP, distance);
                    for (size_t i = 0; i < n; ++i) {
                        size_t want = ref_nearest(x + i * STRIDE, centers, counts[k], d), got = code[i * STEP];
                        ref_real least = ref_distance(x + i * STRIDE, centers + want * d, d),
                                 slack = 4 * (ref_real)d * FLT_EPSILON;
                        assert_true(got < counts[k]);
                        assert_true(!whole || got == want);
                        assert_true(ref_distance(x + i * STRIDE, centers + got * d, d) <= least * (1 + 2 * slack));
                        assert_true(fabsl(distance[i] - least) <= (whole ? 0 : slack) * least);
                        assert_int_equal(code[i * STEP + 1], 99);
                    }
                    assert_true(distance[n] == -77);
                }
}

/* TN_SIMD lowers the level and never raises it. The choice is remembered for the life of the process: each wish gets a
 * process of its own, and nothing else here asks for the choice. */
static void check_pick(const char *wish, const char *want)
{
    int how = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (wish)
            setenv("TN_SIMD", wish, 1);
        _exit(strcmp(tnp_simd_get()->name, want) == 0 && tnp_simd_get() == tnp_simd_get() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

static void test_pick(void **state)
{
    (void)state;
    const char *best = tables[table_count - 1]->name;
    check_pick(NULL, best);
    check_pick("scalar", "scalar");
    check_pick("avx2", tables[table_count > 1 ? 1 : 0]->name);
    check_pick("avx512", best);
    check_pick("nonsense", best);
}

int main(void)
{
    unsetenv("TN_SIMD");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),       cmocka_unit_test(test_add_to_double),  cmocka_unit_test(test_shift_scale),
        cmocka_unit_test(test_all_within), cmocka_unit_test(test_half),           cmocka_unit_test(test_tri_solve),
        cmocka_unit_test(test_nearest),    cmocka_unit_test(test_pick),           cmocka_unit_test(test_products),
        cmocka_unit_test(test_add_scaled), cmocka_unit_test(test_confident_move), cmocka_unit_test(test_scale),
        cmocka_unit_test(test_roots),
    };
    return cmocka_run_group_tests(tests, find_tables, NULL);
}
