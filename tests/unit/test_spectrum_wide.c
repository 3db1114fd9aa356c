/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ridge problem that is wide enough for the two stages to tridiagonal form: what is read off T against LAPACK's
 * Cholesky of the dense matrix, which knows nothing of either. Some columns repeat others, some nearly do.
 *
 * Tolerances. Both sides are backward stable: A is moved by c n u |A|, u = 2^-53, of which (A + lambda I)^-1 makes
 * n u cond, cond = (s + lambda) / lambda. R is a difference: right to that times y'y. */
#include "algebra/blas.h"
#include "learn/ridge/forms.h"
#include "one_ctx.h"
#include "ref_dense.h"
#include "ref_random.h"

enum { ROWS = 1700, N = 1555, K = 3, ASKED = 20 };
static const double U = 0x1p-53;

typedef struct wide {
    double *x, *a, *xty; /* (ROWS, N), (N, N) both triangles, (K, N) */
    double yy[K];
    tnp_spectrum *s;
} wide;

static wide wide_of(void)
{
    wide w = {.x = ref_alloc((size_t)ROWS * N, 8), .a = ref_alloc((size_t)N * N, 8), .xty = ref_alloc(K * N, 8)};
    double *taken = NULL, *rhs = ref_alloc(K * N, 8);
    ref_rng rng = ref_rng_of(3);
    for (size_t i = 0; i < ROWS; ++i) {
        double y[K], *row = w.x + i * N;
        for (size_t j = 0; j < N; ++j) {
            double value = ref_normal(&rng);
            row[j] = j < 1000 ? value : j < 1300 ? row[j - 1000] : row[j - 1000] + 1e-5 * value;
        }
        for (size_t c = 0; c < K; ++c) {
            y[c] = row[c] - row[c + 7] + ref_normal(&rng);
            w.yy[c] += y[c] * y[c];
            for (size_t j = 0; j < N; ++j)
                w.xty[c * N + j] += y[c] * row[j];
        }
    }
    assert_fine(ctx, tnp_dsyrk_cols(ctx, ROWS, N, w.x, N, 0, w.a));
    for (size_t i = 0; i < N; ++i)
        for (size_t j = 0; j < i; ++j)
            w.a[i * N + j] = w.a[j * N + i];
    assert_fine(ctx, tnp_alloc_raw(ctx, (size_t)N * N, 8, &taken));
    memcpy(taken, w.a, (size_t)N * N * 8);
    memcpy(rhs, w.xty, K * N * 8);
    assert_fine(ctx, tnp_spectrum_new(ctx, false, N, K, ROWS, taken, rhs, w.yy, &w.s));
    free(rhs);
    return w;
}

static void wide_free(wide *w)
{
    free(w->x);
    free(w->a);
    free(w->xty);
    tnp_spectrum_free(w->s);
}

/* r = R of A + lambda I = R'R. */
static void dense_factor(const wide *w, double lambda, double *r)
{
    memcpy(r, w->a, (size_t)N * N * 8);
    for (size_t i = 0; i < N; ++i)
        r[i * N + i] += lambda;
    assert_fine(ctx, tnp_cholesky(ctx, N, r));
}

/* b (rows, N) <- b (R'R)^-1, the way back by loops. */
static void dense_solve(const double *r, size_t rows, double *b)
{
    assert_fine(ctx, tnp_solve_right(ctx, rows, N, r, b));
    for (size_t c = 0; c < rows; ++c)
        for (size_t i = N; i-- > 0;) {
            double sum = b[c * N + i];
            for (size_t j = i + 1; j < N; ++j)
                sum -= r[i * N + j] * b[c * N + j];
            b[c * N + i] = sum / r[i * N + i];
        }
}

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < N; ++i)
        sum += x[i] * y[i];
    return sum;
}

static void check_solutions(const wide *w, double lambda, double *r, double tolerance)
{
    double *want = ref_alloc(K * N, 8), *got = ref_alloc(K * N, 8), lambdas[K] = {lambda, lambda, lambda}, logdet = 0;
    double all[TNP_LANES], *scratch = ref_alloc(4 * N * TNP_LANES, 8);
    tnp_ridge_values v;
    dense_factor(w, lambda, r);
    for (size_t i = 0; i < N; ++i)
        logdet += 2 * log(r[i * N + i] / sqrt(lambda));
    assert_near(tnp_spectrum_logdet(w->s, lambda), logdet, N * tolerance);
    memcpy(want, w->xty, K * N * 8);
    dense_solve(r, K, want);
    assert_fine(ctx, tnp_spectrum_solve(ctx, w->s, lambdas, true, got));
    for (size_t l = 0; l < TNP_LANES; ++l)
        all[l] = lambda;
    tnp_spectrum_eval(w->s, tnp_simd_get(), 0, all, scratch, &v);
    for (size_t c = 0; c < K; ++c) {
        double ww = dot(want + c * N, want + c * N);
        for (size_t j = 0; j < N; ++j)
            assert_near_at(j, got[c * N + j] / sqrt(ww), want[c * N + j] / sqrt(ww), tolerance);
        assert_near_at(c, v.ww[c] / ww, 1, 2 * tolerance);
        assert_near_at(c, v.r[c] / w->yy[c], 1 - dot(want + c * N, w->xty + c * N) / w->yy[c], tolerance);
    }
    free(want);
    free(got);
    free(scratch);
}

/* x'(A + lambda I)^-1 x and x'w of some rows; r: the dense factor at lambda. */
static void check_forms(const wide *w, tnp_forms *forms, double lambda, const double *r, double tolerance)
{
    double *solved = ref_alloc(ASKED * N, 8), got[ASKED], scores[ASKED * K], lambdas[K] = {lambda, INFINITY, lambda};
    memcpy(solved, w->x, ASKED * N * 8);
    dense_solve(r, ASKED, solved);
    assert_fine(ctx, tnp_forms_at(ctx, forms, lambda, got));
    assert_fine(ctx, tnp_forms_scores(ctx, forms, lambdas, scores));
    for (size_t i = 0; i < ASKED; ++i) {
        double form = dot(solved + i * N, w->x + i * N);
        assert_near_at(i, got[i] / form, 1, tolerance);
        for (size_t c = 0; c < K; ++c) {
            double want = c == 1 ? 0 : dot(solved + i * N, w->xty + c * N);
            assert_near_at(i, scores[i * K + c], want, tolerance * sqrt(form * w->s->largest));
        }
    }
    free(solved);
}

static void what_a_lambda_gives(void **state)
{
    (void)state;
    wide w = wide_of();
    double *r = ref_alloc((size_t)N * N, 8), *rows[2] = {NULL, NULL};
    tnp_forms *forms[2] = {NULL, NULL};
    assert_non_null(w.s->band);           /* or the order is too small for this test */
    assert_int_equal(w.s->rank, N - 300); /* those that repeat; 1e-5 squared is above the rounding */
    for (size_t f = 0; f < 2; ++f) {
        assert_fine(ctx, tnp_alloc_raw(ctx, ASKED * N, 8, &rows[f]));
        memcpy(rows[f], w.x, ASKED * N * 8);
        assert_fine(ctx, tnp_forms_new(ctx, w.s, ASKED, rows[f], &forms[f]));
    }
    assert_fine(ctx, tnp_forms_expect(ctx, forms[0], 1));
    assert_fine(ctx, tnp_forms_expect(ctx, forms[1], N));
    for (double relative = 1e-7; relative < 10; relative *= 100) {
        double lambda = relative * w.s->largest, tolerance = 4 * N * U * (1 + 1 / relative);
        check_solutions(&w, lambda, r, tolerance);
        for (size_t f = 0; f < 2; ++f)
            check_forms(&w, forms[f], lambda, r, tolerance);
    }
    tnp_forms_free(forms[0]);
    tnp_forms_free(forms[1]);
    free(r);
    wide_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_lambda_gives)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
