/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tridiagonal form against explicit ridge solutions by Cholesky and eigenvalues by Jacobi, in long double.
 *
 * Tolerances. The reduction to tridiagonal form is backward stable: what comes out is exact for a matrix that differs
 * by c eps |A|, c of order n. (A + lambda I)^-1 then moves by c eps cond, cond = (s + lambda) / lambda. The primal R is
 * y'y minus a number and is right to c eps cond y'y, not relatively. */
#include "learn/ridge/forms.h"
#include "ref_dense.h"
#include "ref_evidence.h"
#include "spectrum_of.h"

#include <float.h>
#include <stdlib.h>

typedef struct shape {
    size_t n, d, k;
} shape;

static const shape shapes[] = {{1, 3, 1},   {2, 1, 1},    {3, 8, 2},   {9, 9, 8}, {12, 30, 9},
                               {30, 12, 9}, {50, 33, 17}, {20, 64, 3}, {64, 1, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const double relative[] = {1e-6, 1e-3, 1, 1e3}; /* lambda, of the largest eigenvalue */

/* n eps cond, with the factor of a reduction of order n. */
static double bound(const tnp_spectrum *s, double lambda)
{
    return 4 * (double)(s->order + 4) * DBL_EPSILON * (s->largest + lambda) / lambda;
}

/* w (d) of class c by Cholesky of X'X + lambda I on the centred rows; also |w|^2 and |y - Xw|^2. */
static void explicit_ridge(const ref_problem *p, bool intercept, size_t c, ref_real lambda, ref_real *w, ref_real *ww,
                           ref_real *residual)
{
    size_t n = p->n, d = p->d;
    ref_real *x = ref_widen(p->x, n * d), *y = ref_alloc(n, sizeof *y), *g = ref_alloc(d * d, sizeof *g);
    for (size_t i = 0; i < n; ++i)
        y[i] = p->y[i * p->k + c];
    for (size_t j = 0; j <= d && intercept; ++j) { /* column d stands for y */
        ref_real mean = 0;
        for (size_t i = 0; i < n; ++i)
            mean += (j < d ? x[i * d + j] : y[i]) / (ref_real)n;
        for (size_t i = 0; i < n; ++i)
            *(j < d ? &x[i * d + j] : &y[i]) -= mean;
    }
    ref_gram(x, n, d, g);
    *ww = *residual = 0;
    for (size_t j = 0; j < d; ++j) {
        g[j * d + j] += lambda;
        w[j] = 0;
        for (size_t i = 0; i < n; ++i)
            w[j] += x[i * d + j] * y[i];
    }
    assert_true(ref_cholesky(g, d));
    ref_cholesky_solve(g, d, w);
    for (size_t j = 0; j < d; ++j)
        *ww += w[j] * w[j];
    for (size_t i = 0; i < n; ++i) {
        ref_real error = y[i];
        for (size_t j = 0; j < d; ++j)
            error -= x[i * d + j] * w[j];
        *residual += error * error;
    }
    free(x);
    free(y);
    free(g);
}

typedef struct probe {
    const tnp_spectrum *s;
    double lambda;
    tnp_ridge_values values[8]; /* tiles */
} probe;

static void probe_tile(void *arg, size_t tile, double *scratch)
{
    probe *job = arg;
    double lambda[TNP_LANES];
    for (size_t l = 0; l < TNP_LANES; ++l)
        lambda[l] = job->lambda;
    tnp_spectrum_eval(job->s, tnp_simd_get(), tile, lambda, scratch, &job->values[tile]);
}

static void check_values(tn_ctx *ctx, const ref_problem *p, const tnp_spectrum *s, bool intercept, double lambda)
{
    probe job = {.s = s, .lambda = lambda};
    ref_real *w = ref_alloc(p->d, sizeof *w);
    assert_true(s->tiles <= 8);
    assert_fine(ctx, tnp_spectrum_tiles(ctx, s, s->tiles, probe_tile, &job));
    for (size_t c = 0; c < p->k; ++c) {
        const tnp_ridge_values *v = &job.values[c / TNP_LANES];
        size_t l = c % TNP_LANES;
        ref_real ww = 0, residual = 0;
        explicit_ridge(p, intercept, c, lambda, w, &ww, &residual);
        double unit = s->yy[c],
               tolerance = bound(s, lambda) * (s->dual ? (double)(residual + lambda * ww) + 1e-300 : unit);
        assert_true(fabs(v->r[l] - (double)(residual + lambda * ww)) <= tolerance);
        assert_true(fabs(v->residual[l] - (double)residual) <= 2 * bound(s, lambda) * unit);
        assert_true(fabs(v->ww[l] - (double)ww) * lambda <= 2 * bound(s, lambda) * unit);
    }
    free(w);
}

static void test_values(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t i = 0; i < SHAPES; ++i)
        for (int kind = 0; kind < REF_KINDS; ++kind)
            for (int form = 0; form < 4; ++form) {
                bool dual = form & 1, intercept = form & 2;
                if (intercept && shapes[i].n < 3)
                    continue;
                ref_problem p = ref_problem_of((ref_kind)kind, shapes[i].n, shapes[i].d, shapes[i].k, i);
                tnp_spectrum *s = spectrum_of(ctx, &p, dual, intercept);
                for (size_t t = 0; t < 4 && s->largest > 0; ++t)
                    check_values(ctx, &p, s, intercept, relative[t] * s->largest);
                tnp_spectrum_free(s);
                ref_problem_free(&p);
            }
    ctx_done(ctx);
}

/* gamma, its slope, log-determinant, rank and largest from Jacobi's eigenvalues. An error e of an eigenvalue moves
 * s/(lambda + s) and log(1 + s/lambda) by e/lambda. */
static void test_eigenvalue_sums(void **state)
{
    skip_under_valgrind(); /* its long double has 53 bits: the oracle then finds another rank */
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t i = 0; i < SHAPES; ++i)
        for (int kind = 0; kind < REF_KINDS; ++kind)
            for (int dual = 0; dual < 2; ++dual) {
                ref_problem p = ref_problem_of((ref_kind)kind, shapes[i].n, shapes[i].d, shapes[i].k, i);
                ref_eigen q = ref_eigen_of(&p, false);
                tnp_spectrum *s = spectrum_of(ctx, &p, dual, false);
                size_t rank = 0;
                for (size_t j = 0; j < q.m; ++j)
                    rank += q.s[j] > 0;
                assert_int_equal(s->rank, rank);
                assert_true(fabs(s->largest - (double)q.largest) <=
                            4 * (double)(s->order + 4) * DBL_EPSILON * (double)q.largest);
                for (size_t j = 1; j < s->rank; ++j)
                    assert_true(s->values[j - 1] <= s->values[j] && s->values[0] > 0);
                for (size_t t = 0; t < 4 && rank > 0; ++t) {
                    double lambda = relative[t] * s->largest, tolerance = bound(s, lambda) * (double)s->order;
                    const ref_real h = 1e-6L;
                    ref_real slope = -(ref_gamma(&q, lambda * expl(h)) - ref_gamma(&q, lambda * expl(-h))) / (2 * h);
                    assert_near(tnp_spectrum_gamma(s, lambda), (double)ref_gamma(&q, lambda), tolerance);
                    assert_near(tnp_spectrum_logdet(s, lambda), (double)ref_logdet(&q, lambda), tolerance);
                    /* the central difference adds h^2 / 6 a term */
                    assert_near(tnp_spectrum_gamma_slope(s, lambda), (double)slope,
                                tolerance + 1e-12 * (double)s->order);
                }
                tnp_spectrum_free(s);
                ref_eigen_free(&q);
                ref_problem_free(&p);
            }
    ctx_done(ctx);
}

/* Many factors: the running product of tnp_spectrum_logdet must neither overflow nor lose small ratios. */
static void test_logdet_range(void **state)
{
    (void)state;
    enum { RANK = 400 };
    double values[RANK];
    tnp_spectrum s = {.order = RANK, .rank = RANK, .values = values};
    for (int span = 1; span <= 300; span += 23) {
        ref_real want = 0;
        for (size_t i = 0; i < RANK; ++i) {
            values[i] = pow(10, span * ((double)i / RANK - 0.5));
            want += log1pl((ref_real)values[i]);
        }
        /* 400 factors, rounded twice each, then at most 400 logarithms */
        assert_near(tnp_spectrum_logdet(&s, 1), (double)want, 4 * RANK * DBL_EPSILON);
    }
    for (double lambda = 1e3; lambda < 1e20; lambda *= 1e4) { /* ratios below eps still count */
        ref_real want = 0;
        for (size_t i = 0; i < RANK; ++i) {
            values[i] = 1 + (double)i / RANK;
            want += log1pl(values[i] / (ref_real)lambda);
        }
        /* a ratio above 1e-4 is added to 1 before the logarithm: right to eps / ratio */
        double slack = lambda < 1e5 ? 1e4 * DBL_EPSILON : 4 * RANK * DBL_EPSILON;
        assert_near(tnp_spectrum_logdet(&s, lambda) / (double)want, 1, slack);
    }
}

/* Solutions in the original coordinates: w of the primal; of the dual w = X'v. */
static void test_solve(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    for (size_t i = 0; i < SHAPES; ++i)
        for (int dual = 0; dual < 2; ++dual) {
            ref_problem p = ref_problem_of(REF_SIGNED, shapes[i].n, shapes[i].d, shapes[i].k, i);
            tnp_spectrum *s = spectrum_of(ctx, &p, dual, false);
            double *out = ref_alloc(p.k * s->order, sizeof *out), *lambda = ref_alloc(p.k, sizeof *lambda);
            ref_real *w = ref_alloc(p.d, sizeof *w), ww = 0, residual = 0;
            for (size_t c = 0; c < p.k; ++c)
                lambda[c] = c == 2 ? INFINITY : s->largest * pow(10, -(double)(c % 5));
            assert_fine(ctx, tnp_spectrum_solve(ctx, s, lambda, true, out));
            for (size_t c = 0; c < p.k; ++c) {
                if (c != 2)
                    explicit_ridge(&p, false, c, lambda[c], w, &ww, &residual);
                for (size_t j = 0; j < p.d; ++j) {
                    ref_real got = dual ? 0 : out[c * s->order + j];
                    for (size_t r = 0; dual && r < p.n; ++r)
                        got += p.x[r * p.d + j] * out[c * s->order + r];
                    /* |w| <= |y| sqrt(s) / lambda at most, each entry right to the bound of the whole */
                    double size = sqrt(s->yy[c] * s->largest) / lambda[c];
                    assert_true(c == 2 ? got == 0 : fabsl(got - w[j]) <= bound(s, lambda[c]) * size);
                }
            }
            free(out);
            free(lambda);
            free(w);
            tnp_spectrum_free(s);
            ref_problem_free(&p);
        }
    ctx_done(ctx);
}

/* x'(A + lambda I)^-1 x for rows of X, rotated by the library's own Q, against Cholesky. */
static void test_forms(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    for (size_t i = 0; i < SHAPES; ++i) {
        ref_problem p = ref_problem_of(REF_SIGNED, shapes[i].n, shapes[i].d, shapes[i].k, i);
        size_t n = p.n, d = p.d;
        tnp_spectrum *s = spectrum_of(ctx, &p, false, false);
        tnp_forms *forms = NULL;
        double *rows = NULL, *out = ref_alloc(n, sizeof *out), lambda = 1e-3 * s->largest;
        ref_real *x = ref_widen(p.x, n * d), *g = ref_alloc(d * d, sizeof *g), *v = ref_alloc(d, sizeof *v);
        assert_fine(ctx, tnp_alloc(ctx, n * d, sizeof *rows, &rows));
        memcpy(rows, p.x, n * d * sizeof *rows);
        assert_fine(ctx, tnp_forms_new(ctx, s, n, rows, &forms));
        assert_fine(ctx, tnp_forms_at(ctx, forms, lambda, out));
        ref_gram(x, n, d, g);
        for (size_t j = 0; j < d; ++j)
            g[j * d + j] += lambda;
        assert_true(ref_cholesky(g, d));
        for (size_t r = 0; r < n; ++r) {
            ref_real want = 0;
            memcpy(v, x + r * d, d * sizeof *v);
            ref_cholesky_solve(g, d, v);
            for (size_t j = 0; j < d; ++j)
                want += v[j] * x[r * d + j];
            assert_near_at(r, out[r] / (double)want, 1, bound(s, lambda));
        }
        tnp_forms_free(forms);
        free(out);
        free(x);
        free(g);
        free(v);
        tnp_spectrum_free(s);
        ref_problem_free(&p);
    }
    ctx_done(ctx);
}

static void test_pack(void **state)
{
    (void)state;
    enum { COUNT = 11, N = 5 };
    double rows[COUNT * N], tiles[2 * N * TNP_LANES];
    for (size_t i = 0; i < COUNT * N; ++i)
        rows[i] = (double)i + 1;
    memset(tiles, 0x7f, sizeof tiles);
    tnp_pack_tiles(rows, COUNT, N, TNP_LANES, tiles);
    for (size_t r = 0; r < 16; ++r)
        for (size_t i = 0; i < N; ++i)
            assert_true(tiles[(r / 8 * N + i) * 8 + r % 8] == (r < COUNT ? rows[r * N + i] : 0));
}

/* A Gram with the noise of float products is indefinite: what lies within the noise is not rank, and lambda never goes
 * where T + lambda I may be indefinite. The most negative eigenvalue is asked of Jacobi. */
static void test_indefinite(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    enum { N = 24, TRUE_RANK = 5 };
    for (uint64_t seed = 0; seed < 5; ++seed) {
        ref_rng rng = ref_rng_of(seed);
        double x[TRUE_RANK * N], rhs[N], yy[1] = {1}, *a = NULL;
        ref_real gram[N * N], values[N], vectors[N * N], least = 0;
        tnp_spectrum *s = NULL;
        probe job = {0};
        assert_fine(ctx, tnp_alloc(ctx, N * N, sizeof *a, &a));
        for (size_t i = 0; i < TRUE_RANK * N; ++i)
            x[i] = ref_normal(&rng);
        for (size_t i = 0; i < N; ++i)
            rhs[i] = x[i] / 100;
        for (size_t i = 0; i < N; ++i)
            for (size_t j = i; j < N; ++j) {
                for (size_t r = 0; r < TRUE_RANK; ++r)
                    a[i * N + j] += x[r * N + i] * x[r * N + j];
                a[i * N + j] += 1e-6 * ref_normal(&rng);
                gram[i * N + j] = gram[j * N + i] = a[i * N + j];
            }
        ref_jacobi(gram, N, values, vectors);
        for (size_t i = 0; i < N; ++i)
            least = fminl(least, values[i]);
        assert_true(least < -1e-7L);
        assert_fine(ctx, tnp_spectrum_new(ctx, false, N, 1, 30, a, rhs, yy, &s));
        assert_true(s->values[0] >= -1.999L * least && s->rank >= TRUE_RANK && s->rank < TRUE_RANK + 6);
        assert_true(s->floor > -2 * least);
        job.s = s;
        job.lambda = s->floor;
        assert_fine(ctx, tnp_spectrum_tiles(ctx, s, 1, probe_tile, &job));
        assert_true(job.values[0].r[0] > 0 && job.values[0].r[0] <= 1 && job.values[0].ww[0] > 0);
        tnp_spectrum_free(s);
    }
    ctx_done(ctx);
}

/* Features that are all zero: rank 0, nothing to divide by. A matrix that is not finite is refused with its column. */
static void test_zero_and_overflow(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    double *a = NULL, rhs[3] = {0, 0, 0}, yy[1] = {2};
    tnp_spectrum *s = NULL;
    assert_fine(ctx, tnp_alloc(ctx, 9, sizeof *a, &a));
    assert_fine(ctx, tnp_spectrum_new(ctx, false, 3, 1, 5, a, rhs, yy, &s));
    assert_int_equal(s->rank, 0);
    assert_true(s->largest == 0 && tnp_spectrum_gamma(s, 1) == 0 && tnp_spectrum_logdet(s, 1) == 0);
    tnp_spectrum_free(s);
    s = NULL;
    assert_fine(ctx, tnp_alloc(ctx, 9, sizeof *a, &a));
    a[4] = INFINITY;
    assert_fails(ctx, TN_ERR_NUMERIC, "column 1", tnp_spectrum_new(ctx, false, 3, 1, 5, a, rhs, yy, &s));
    assert_null(s);
    tnp_free(a);
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_eigenvalue_sums),
        cmocka_unit_test(test_logdet_range),
        cmocka_unit_test(test_solve),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_zero_and_overflow),
        cmocka_unit_test(test_indefinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
