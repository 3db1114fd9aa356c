/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two stages to tridiagonal form against the identities they promise, A = Q1 B Q1' and A = Q T Q', in long double;
 * eigenvalues against LAPACK's of the dense matrix; the factor of the band against the dense Cholesky.
 *
 * Tolerances. n reflections in double reproduce A to c n u |A|, u = 2^-53, |A| the Frobenius norm, and Q'Q = I to c n u;
 * eigenvalues move by as much as A does. c = 4 covers the sums of 32 terms within a reflection. */
#include "algebra/band.h"
#include "algebra/blas.h"
#include "ctx_of.h"
#include "interrupt.h"
#include "ref_dense.h"
#include "ref_random.h"

#include <float.h>

static const double U = 0x1p-53;

typedef enum kind {
    GENERAL,
    REPEATED,
    NEARLY_DEPENDENT,
    LOW_RANK,
    TINY,
    HUGE_ONE,
    DIAGONAL,
    VANISHING,
    ZERO,
    KINDS
} kind;

/* x (rows, n) of a Gram, by what is the matter with its columns. */
static void columns_of(kind of, size_t rows, size_t n, double *x)
{
    ref_rng rng = ref_rng_of(n * 7 + (uint64_t)of);
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < n; ++j) {
            double value = ref_normal(&rng), *at = x + i * n + j;
            *at = value * (of == TINY ? 1e-150 : of == HUGE_ONE ? 1e150 : 1);
            if (of == REPEATED && j >= n / 2)
                *at = x[i * n + j - n / 2];
            if (of == NEARLY_DEPENDENT && j >= n / 2)
                *at = x[i * n + j - n / 2] + 1e-7 * value;
        }
}

/* The matrix with both triangles. GENERAL is indefinite; VANISHING is 1 in one corner, and elsewhere so small that
 * squares have few digits left. */
static double *matrix_of(kind of, size_t n)
{
    double *a = ref_alloc(n * n, sizeof *a);
    size_t rows = of == LOW_RANK ? n / 3 + 1 : n + 5;
    ref_rng rng = ref_rng_of(n);
    if (of == GENERAL || of == DIAGONAL || of == VANISHING || of == ZERO) {
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j <= i && of != ZERO; ++j)
                a[i * n + j] = a[j * n + i] = of == DIAGONAL && i != j ? 0 : ref_normal(&rng);
        for (size_t i = 1; i < n * n && of == VANISHING; ++i)
            a[i] *= 1e-161;
        return a;
    }
    double *x = ref_alloc(rows * n, sizeof *x);
    columns_of(of, rows, n, x);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
            for (size_t r = 0; r < rows; ++r)
                a[i * n + j] += x[r * n + i] * x[r * n + j];
    free(x);
    return a;
}

static double norm_of(const double *a, size_t n)
{
    ref_real sum = 0;
    for (size_t i = 0; i < n * n; ++i)
        sum += (ref_real)a[i] * a[i];
    return (double)sqrtl(sum);
}

static double *identity(size_t n)
{
    double *q = ref_alloc(n * n, sizeof *q);
    for (size_t i = 0; i < n; ++i)
        q[i * n + i] = 1;
    return q;
}

/* q (n,n): rows of Q. middle(i, j): B or T. Q middle Q' against a, and Q Q' against I. */
static void check_identity(size_t n, const double *q, const double *middle, const double *a)
{
    ref_real *qm = ref_alloc(n * n, sizeof *qm);
    double size = norm_of(a, n), tolerance = 4 * (double)(n + 8) * U;
    for (size_t i = 0; i < n; ++i)
        for (size_t l = 0; l < n; ++l)
            for (size_t j = 0; j < n; ++j)
                qm[i * n + j] += middle[l * n + j] != 0 ? (ref_real)q[i * n + l] * middle[l * n + j] : 0;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            ref_real sum = 0, one = 0;
            for (size_t l = 0; l < n; ++l) {
                sum += qm[i * n + l] * q[j * n + l];
                one += (ref_real)q[i * n + l] * q[j * n + l];
            }
            assert_near_at(i * n + j, (double)one, i == j, tolerance);
            if (!(fabsl(sum - a[i * n + j]) <= tolerance * size))
                fail_msg("order %zu: entry (%zu, %zu) is %g, expected %g", n, i, j, (double)sum, a[i * n + j]);
        }
    free(qm);
}

/* Entries of the band or of T as a dense matrix. */
static double *dense_of(size_t n, const double *band, size_t height, size_t width)
{
    double *b = ref_alloc(n * n, sizeof *b);
    for (size_t j = 0; j < n; ++j)
        for (size_t d = 0; d <= width && j + d < n; ++d)
            b[j * n + j + d] = b[(j + d) * n + j] = band[j * height + d];
    return b;
}

static const size_t orders[] = {1, 2, 3, 31, 32, 33, 34, 64, 65, 97, 100, 210};
enum { ORDERS = sizeof orders / sizeof *orders };

static void band_reproduces_the_matrix(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < ORDERS; ++z) {
        size_t n = orders[z];
        double *a = matrix_of(GENERAL, n), *kept = ref_alloc(n * n, sizeof *kept), *q = identity(n);
        double *band = ref_alloc(tnp_band_columns(n) * TNP_BAND_HEIGHT, sizeof *band);
        double *factors = ref_alloc(n * TNP_BAND, sizeof *factors);
        for (size_t i = 0; i < n * n; ++i)
            kept[i] = i / n <= i % n ? a[i] : NAN; /* the lower triangle is not looked at */
        assert_fine(ctx, tnp_band_reduce(ctx, n, kept, band, factors));
        for (size_t j = 0; j < tnp_band_columns(n); ++j)
            for (size_t d = 0; d < TNP_BAND_HEIGHT; ++d)
                assert_true((d <= TNP_BAND && j + d < n) || band[j * TNP_BAND_HEIGHT + d] == 0);
        double *b = dense_of(n, band, TNP_BAND_HEIGHT, TNP_BAND);
        assert_fine(ctx, tnp_band_apply(ctx, n, kept, factors, true, n, q));
        check_identity(n, q, b, a);
        assert_fine(ctx, tnp_band_apply(ctx, n, kept, factors, false, n, q));
        for (size_t i = 0; i < n * n; ++i)
            assert_near_at(i, q[i], i / n == i % n, 8 * (double)(n + 8) * U);
        free(a);
        free(kept);
        free(q);
        free(band);
        free(factors);
        free(b);
    }
    ctx_done(ctx);
}

typedef struct stages {
    double *a, *diag, *off, *factors, *band;
} stages;

static stages stages_of(tn_ctx *ctx, size_t n, const double *a)
{
    stages s = {ref_alloc(n * n, sizeof *a), ref_alloc(n, sizeof *a), ref_alloc(n, sizeof *a),
                ref_alloc(n * TNP_BAND, sizeof *a), ref_alloc(n * (TNP_BAND + 1), sizeof *a)};
    memcpy(s.a, a, n * n * sizeof *a);
    assert_fine(ctx, tnp_two_stage(ctx, n, s.a, s.diag, s.off, s.factors, s.band));
    return s;
}

static void stages_free(stages *s)
{
    free(s->a);
    free(s->diag);
    free(s->off);
    free(s->factors);
    free(s->band);
}

static void tridiagonal_form_reproduces_the_matrix(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    for (int of = 0; of < KINDS; ++of)
        for (size_t z = 0; z < ORDERS; z += of == GENERAL ? 1 : 3) {
            size_t n = orders[z];
            double *a = matrix_of((kind)of, n), *q = identity(n), *t = ref_alloc(n * n, sizeof *t);
            stages s = stages_of(ctx, n, a);
            for (size_t i = 0; i < n; ++i) {
                t[i * n + i] = s.diag[i];
                if (i + 1 < n)
                    t[i * n + i + 1] = t[(i + 1) * n + i] = s.off[i];
            }
            assert_fine(ctx, tnp_two_stage_apply(ctx, n, s.a, s.factors, true, n, q));
            check_identity(n, q, t, a);
            assert_fine(ctx, tnp_two_stage_apply(ctx, n, s.a, s.factors, false, n, q));
            for (size_t i = 0; i < n * n; ++i)
                assert_near_at(i, q[i], i / n == i % n, 8 * (double)(n + 8) * U);
            free(a);
            free(q);
            free(t);
            stages_free(&s);
        }
    ctx_done(ctx);
}

/* Against dsyevd, which knows nothing of bands; order 401 has several runs of tiles and chunks of steps. */
static void eigenvalues_are_those_of_the_matrix(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    const size_t sizes[] = {65, 401};
    for (int of = 0; of < KINDS; ++of)
        for (size_t z = 0; z < 2; ++z) {
            size_t n = sizes[z];
            double *a = matrix_of((kind)of, n), *values = ref_alloc(n, sizeof *values),
                   *want = ref_alloc(n, sizeof *want);
            double size = norm_of(a, n);
            stages s = stages_of(ctx, n, a);
            assert_fine(ctx, tnp_tridiagonal_values(ctx, n, s.diag, s.off, values));
            assert_fine(ctx, tnp_eigen(ctx, n, a, want));
            for (size_t i = 0; i < n; ++i)
                if (!(fabs(values[i] - want[i]) <= 8 * (double)n * U * size))
                    fail_msg("order %zu, kind %d: eigenvalue %zu is %.17g, expected %.17g", n, of, i, values[i],
                             want[i]);
            free(a);
            free(values);
            free(want);
            stages_free(&s);
        }
    ctx_done(ctx);
}

/* log det(A + lambda I) and x'(A + lambda I)^-1 x by dense Cholesky in long double. Both are right to n u cond: the
 * matrix is moved by c n u |A|, of which the inverse makes cond = (s + lambda) / lambda. */
static void factor_of_the_band_is_that_of_the_matrix(void **state)
{
    (void)state;
    enum { COUNT = 45 };
    tn_ctx *ctx = ctx_of(2);
    const kind of[] = {REPEATED, NEARLY_DEPENDENT, LOW_RANK};
    const double relative[] = {1e-7, 1e-3, 1, 1e3};
    for (size_t z = 0; z < 3 * 4; ++z) {
        size_t n = z < 6 ? 70 : 96;
        double *a = matrix_of(of[z % 3], n), *x = ref_alloc(COUNT * n, sizeof *x), size = norm_of(a, n), logdet = 0;
        double lambda = relative[z / 3] * size, forms[COUNT], tolerance = 8 * (double)n * U * (size + lambda) / lambda;
        double *tiles = ref_alloc(2 * TNP_BAND * n, sizeof *tiles);
        ref_real *l = ref_widen(a, n * n), *solved = ref_alloc(n, sizeof *solved);
        ref_rng rng = ref_rng_of(z);
        tnp_band_factor *factor = NULL;
        stages s = stages_of(ctx, n, a);
        for (size_t i = 0; i < COUNT * n; ++i)
            tiles[(i / n / TNP_BAND * n + i % n) * TNP_BAND + i / n % TNP_BAND] = x[i] = ref_normal(&rng);
        double *z1 = ref_alloc(COUNT * n, sizeof *z1);
        memcpy(z1, x, COUNT * n * sizeof *z1);
        assert_fine(ctx, tnp_band_apply(ctx, n, s.a, s.factors, true, COUNT, z1));
        for (size_t i = 0; i < COUNT * n; ++i)
            tiles[(i / n / TNP_BAND * n + i % n) * TNP_BAND + i / n % TNP_BAND] = z1[i];
        assert_fine(ctx, tnp_band_factor_new(ctx, n, s.band, &factor));
        assert_fine(ctx, tnp_band_factor_at(ctx, factor, lambda, &logdet));
        tnp_band_forms(ctx, factor, tiles, COUNT, forms);
        for (size_t i = 0; i < n; ++i)
            l[i * n + i] += lambda;
        assert_true(ref_cholesky(l, n));
        assert_near(logdet, (double)ref_cholesky_logdet(l, n), (double)n * tolerance);
        for (size_t c = 0; c < COUNT; ++c) {
            ref_real want = 0;
            for (size_t i = 0; i < n; ++i)
                solved[i] = x[c * n + i];
            ref_cholesky_solve(l, n, solved);
            for (size_t i = 0; i < n; ++i)
                want += solved[i] * x[c * n + i];
            assert_near_at(c, forms[c] / (double)want, 1, tolerance);
        }
        if (of[z % 3] == LOW_RANK)
            assert_fails(ctx, TN_ERR_NUMERIC, "not positive definite",
                         tnp_band_factor_at(ctx, factor, -size / 2, &logdet));
        tnp_band_factor_free(factor);
        free(a);
        free(x);
        free(z1);
        free(tiles);
        free(l);
        free(solved);
        stages_free(&s);
    }
    ctx_done(ctx);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    enum { N = 550, ROWS = 50 };
    double *a = matrix_of(NEARLY_DEPENDENT, N), *first_c = NULL;
    stages first = {0};
    for (size_t threads = 1; threads <= 5; threads += 2) {
        tn_ctx *ctx = ctx_of(threads);
        stages s = stages_of(ctx, N, a);
        double *c = ref_alloc(ROWS * N, sizeof *c);
        memcpy(c, a, ROWS * N * sizeof *c);
        assert_fine(ctx, tnp_chase_apply(ctx, N, s.a, true, ROWS, c));
        if (threads == 1) {
            first = s;
            first_c = c;
        } else {
            assert_memory_equal(s.diag, first.diag, N * sizeof *s.diag);
            assert_memory_equal(s.off, first.off, (N - 1) * sizeof *s.off);
            assert_memory_equal(s.band, first.band, N * (TNP_BAND + 1) * sizeof *s.band);
            assert_memory_equal(c, first_c, ROWS * N * sizeof *c);
            stages_free(&s);
            free(c);
        }
        ctx_done(ctx);
    }
    stages_free(&first);
    free(first_c);
    free(a);
}

static void interrupt_ends_either_stage(void **state)
{
    (void)state;
    enum { N = 200 };
    double *a = matrix_of(GENERAL, N), *b = ref_alloc(N * N, sizeof *b), *d = ref_alloc(N, sizeof *d);
    double *off = ref_alloc(N, sizeof *off), *factors = ref_alloc(N * TNP_BAND, sizeof *factors);
    double *band = ref_alloc(N * (TNP_BAND + 1), sizeof *band);
    size_t calls = 0;
    for (size_t at = 1; at == 1 || at <= calls; ++at) {
        tn_ctx *ctx = ctx_of(2);
        interrupt i = {ctx, 0, at};
        tn_ctx_set_progress(ctx, cancel_at, &i);
        memcpy(b, a, N * N * sizeof *b);
        assert_fails(ctx, TN_ERR_INTERRUPTED, "", tnp_two_stage(ctx, N, b, d, off, factors, band));
        assert_int_equal(i.calls, at);
        if (at == 1) {
            i = (interrupt){ctx, 0, 0};
            tn_ctx_reset(ctx);
            memcpy(b, a, N * N * sizeof *b);
            assert_fine(ctx, tnp_two_stage(ctx, N, b, d, off, factors, band));
            calls = i.calls;
            assert_true(calls > N / TNP_BAND + 1);
        }
        ctx_done(ctx);
    }
    free(a);
    free(b);
    free(d);
    free(off);
    free(factors);
    free(band);
}

/* 2 - 2 cos(k pi / (n+1)), by the table: rows all alike, of which no end is the small one; and the same by a power of two
 * from row to row, where the smallest eigenvalues keep their digits against their neighbours alone: sums over a long
 * block and over its parts. */
static void eigenvalues_of_long_blocks_are_known(void **state)
{
    (void)state;
    enum { N = 700 };
    tn_ctx *ctx = ctx_of(1);
    double diag[N], off[N], values[N], sum = 0, want = 0, pivot = 1;
    for (size_t i = 0; i < N; ++i) {
        diag[i] = 2;
        off[i] = -1;
    }
    assert_fine(ctx, tnp_tridiagonal_values(ctx, N, diag, off, values));
    for (size_t i = 0; i < N; ++i)
        assert_near_at(i, values[i], 2 - 2 * cos((double)(i + 1) * acos(-1) / (N + 1)), 8 * N * U);
    for (size_t i = 0; i < N; ++i) {
        diag[i] = ldexp(2, -(int)i / 4);
        off[i] = ldexp(0.25, -(int)i / 4);
    }
    assert_fine(ctx, tnp_tridiagonal_values(ctx, N, diag, off, values));
    for (size_t i = 0; i < N; ++i) { /* the logarithm of the determinant, by pivots */
        pivot = diag[i] - (i ? off[i - 1] * off[i - 1] / pivot : 0);
        want += log(pivot);
        sum += log(values[i]);
    }
    assert_near_at(0, sum, want, 64 * N * U * N);
    ctx_done(ctx);
}

/* Between any two eigenvalues: of two blocks the first is found, then the interrupt is heard. Entries that are not finite
 * are refused. */
static void eigenvalues_may_be_interrupted_and_refused(void **state)
{
    (void)state;
    const double off[3] = {1, 0, 1}, broken[3] = {1, NAN, 1}, diag[4] = {2, 2, 5, 5}, want[4] = {1, 3, 4, 6};
    double values[4];
    tn_ctx *ctx = ctx_of(1);
    assert_fine(ctx, tnp_tridiagonal_values(ctx, 4, diag, off, values));
    for (size_t i = 0; i < 4; ++i)
        assert_near_at(i, values[i], want[i], 16 * U);
    assert_fails(ctx, TN_ERR_NUMERIC, "not finite", tnp_tridiagonal_values(ctx, 4, diag, broken, values));
    tn_ctx_cancel(ctx);
    assert_fails(ctx, TN_ERR_INTERRUPTED, "", tnp_tridiagonal_values(ctx, 4, diag, off, values));
    ctx_done(ctx);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    enum { N = 70 };
    tn_ctx *ctx = ctx_of(2);
    double *a = matrix_of(GENERAL, N), *b = ref_alloc(N * N, sizeof *b), *d = ref_alloc(N, sizeof *d);
    double *off = ref_alloc(N, sizeof *off), *factors = ref_alloc(N * TNP_BAND, sizeof *factors);
    double *band = ref_alloc(N * (TNP_BAND + 1), sizeof *band), *c = identity(N);
    size_t blocks = tnp_live_blocks(ctx), k = 1;
    for (tn_status st = TN_ERR_MEMORY; st != TN_OK; ++k) {
        tnp_band_factor *factor = NULL;
        memcpy(b, a, N * N * sizeof *b);
        tnp_fail_allocation(ctx, k);
        st = tnp_two_stage(ctx, N, b, d, off, factors, band);
        if (st == TN_OK)
            st = tnp_two_stage_apply(ctx, N, b, factors, true, N, c);
        if (st == TN_OK)
            st = tnp_band_factor_new(ctx, N, band, &factor);
        tnp_fail_allocation(ctx, 0);
        tnp_band_factor_free(factor);
        assert_int_equal(tnp_live_blocks(ctx), blocks);
        assert_true(st == TN_OK || st == TN_ERR_MEMORY);
    }
    assert_true(k > 14);
    free(a);
    free(b);
    free(d);
    free(off);
    free(factors);
    free(band);
    free(c);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(band_reproduces_the_matrix),
        cmocka_unit_test(tridiagonal_form_reproduces_the_matrix),
        cmocka_unit_test(eigenvalues_are_those_of_the_matrix),
        cmocka_unit_test(factor_of_the_band_is_that_of_the_matrix),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(interrupt_ends_either_stage),
        cmocka_unit_test(eigenvalues_of_long_blocks_are_known),
        cmocka_unit_test(eigenvalues_may_be_interrupted_and_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
