/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gateway to BLAS and LAPACK: products against loops, the tridiagonal form against A itself, and the advice about
 * kernels as a table. */
#include "algebra/band.h"
#include "algebra/blas.h"
#include "algebra/reflect.h"
#include "ref_dense.h"
#include "ref_random.h"
#include "spectrum_of.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

/* The host's own BLAS, the same that the library uses. */
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);

typedef enum form { NN, NT, TN } form;

/* a, (m,k) or (k,m), and b, either (n,k) or (k,n); sums of k products: k u of the sum of absolute products. */
static void check_gemm(tn_ctx *ctx, size_t m, size_t n, size_t k, form f, bool doubles, double beta)
{
    typedef tn_status (*wide)(tn_ctx *, size_t, size_t, size_t, const double *, size_t, const double *, size_t, double,
                              double *, size_t);
    typedef tn_status (*narrow)(tn_ctx *, size_t, size_t, size_t, const float *, size_t, const float *, size_t, float,
                                float *, size_t);
    const wide in_double[] = {tnp_dgemm_nn, tnp_dgemm_nt, tnp_dgemm_tn};
    const narrow in_float[] = {tnp_sgemm_nn, tnp_sgemm_nt, tnp_sgemm_tn};
    bool turned = f == TN;
    size_t lda = (turned ? m : k) + 2, ldb = (f == NT ? k : n) + 3, ldc = n + 1, rows_b = f == NT ? n : k,
           rows_a = turned ? k : m;
    double *a = ref_alloc(rows_a * lda, 8), *b = ref_alloc(rows_b * ldb, 8), *c = ref_alloc(m * ldc, 8),
           *was = ref_alloc(m * ldc, 8);
    float *fa = ref_alloc(rows_a * lda, 4), *fb = ref_alloc(rows_b * ldb, 4), *fc = ref_alloc(m * ldc, 4);
    ref_rng rng = ref_rng_of(m * 100 + n * 10 + k);
    for (size_t i = 0; i < rows_a * lda; ++i)
        a[i] = (double)(fa[i] = (float)ref_normal(&rng));
    for (size_t i = 0; i < rows_b * ldb; ++i)
        b[i] = (double)(fb[i] = (float)ref_normal(&rng));
    for (size_t i = 0; i < m * ldc; ++i)
        was[i] = c[i] = (double)(fc[i] = (float)ref_normal(&rng));
    if (doubles)
        assert_fine(ctx, in_double[f](ctx, m, n, k, a, lda, b, ldb, beta, c, ldc));
    else
        assert_fine(ctx, in_float[f](ctx, m, n, k, fa, lda, fb, ldb, (float)beta, fc, ldc));
    for (size_t i = 0; i < m; ++i)
        for (size_t j = 0; j < ldc; ++j) {
            ref_real want = j < n ? beta * was[i * ldc + j] : was[i * ldc + j], size = fabsl(want);
            for (size_t p = 0; p < k && j < n; ++p) {
                ref_real term =
                    (ref_real)a[turned ? p * lda + i : i * lda + p] * (f == NT ? b[j * ldb + p] : b[p * ldb + j]);
                want += term;
                size += fabsl(term);
            }
            double got = doubles ? c[i * ldc + j] : (double)fc[i * ldc + j], u = doubles ? 0x1p-53 : 0x1p-24;
            assert_true(fabsl(got - want) <= ((double)k + 3) * u * size);
        }
    free(a);
    free(b);
    free(c);
    free(was);
    free(fa);
    free(fb);
    free(fc);
}

static void test_gemm(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 2, 33}, {40, 41, 13}};
    tn_ctx *ctx = ctx_of(2);
    for (size_t i = 0; i < 4; ++i)
        for (int way = 0; way < 12; ++way)
            check_gemm(ctx, shapes[i][0], shapes[i][1], shapes[i][2], (form)(way / 4), way & 1, way & 2 ? 1 : 0);
    ctx_done(ctx);
}

/* Products of the columns of x (rows, n), or of its rows; what was there counts by beta in both precisions, and only
 * the upper triangle is touched. */
static void check_syrk(tn_ctx *ctx, size_t rows, size_t n, bool by_rows, double beta)
{
    size_t ld = n + 2, order = by_rows ? rows : n, terms = by_rows ? n : rows, row = by_rows ? ld : 1,
           step = by_rows ? 1 : ld;
    float *x = ref_alloc(rows * ld, 4), *g = ref_alloc(order * order, 4);
    double *w = ref_alloc(rows * ld, 8), *h = ref_alloc(order * order, 8);
    ref_rng rng = ref_rng_of(n);
    for (size_t i = 0; i < rows * ld; ++i)
        w[i] = (double)(x[i] = (float)ref_normal(&rng));
    for (size_t i = 0; i < order * order; ++i)
        h[i] = (double)(g[i] = 1000);
    assert_fine(ctx, (by_rows ? tnp_ssyrk_rows : tnp_ssyrk_cols)(ctx, rows, n, x, ld, (float)beta, g));
    assert_fine(ctx, (by_rows ? tnp_dsyrk_rows : tnp_dsyrk_cols)(ctx, rows, n, w, ld, beta, h));
    for (size_t i = 0; i < order; ++i)
        for (size_t j = 0; j < order; ++j) {
            ref_real want = j < i ? 1000 : 1000 * beta, size = want;
            for (size_t r = 0; r < terms && j >= i; ++r) {
                ref_real term = (ref_real)w[i * row + r * step] * w[j * row + r * step];
                want += term;
                size += fabsl(term);
            }
            assert_true(fabsl((ref_real)g[i * order + j] - want) <= ((double)terms + 1) * 0x1p-24 * size);
            assert_true(fabsl(h[i * order + j] - want) <= ((double)terms + 1) * 0x1p-53 * size);
        }
    free(x);
    free(g);
    free(w);
    free(h);
}

static void syrk_has_one_meaning_of_beta(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    for (size_t n = 1; n < 40; n += 6)
        for (int way = 0; way < 4; ++way)
            check_syrk(ctx, 50 - n, n, way & 1, way & 2 ? 1 : 0);
    ctx_done(ctx);
}

/* A = Q T Q': Q from its rows (the identity sent through tnp_apply_q), T from diag and off. The reduction is backward
 * stable: |A - Q T Q'| <= c n eps |A|, and Q is orthogonal to n eps. Only the upper triangle of A may be read. */
static void check_tridiagonal(tn_ctx *ctx, size_t n)
{
    double *full = ref_alloc(n * n, 8), *a = ref_alloc(n * n, 8), *q = ref_alloc(n * n, 8), *back = ref_alloc(n * n, 8);
    double *diag = ref_alloc(n, 8), *off = ref_alloc(n, 8), *tau = ref_alloc(n, 8), *values = ref_alloc(n, 8), size = 0;
    ref_rng rng = ref_rng_of(n);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j)
            full[i * n + j] = full[j * n + i] = ref_normal(&rng);
    for (size_t i = 0; i < n * n; ++i) {
        size += full[i] * full[i];
        a[i] = i % n >= i / n ? full[i] : NAN;
        q[i] = i % n == i / n;
    }
    double bound = 4 * (double)(n + 4) * DBL_EPSILON;
    assert_fine(ctx, tnp_tridiagonalise(ctx, n, a, diag, off, tau));
    assert_fine(ctx, tnp_apply_q(ctx, n, a, tau, false, n, q)); /* row i: Q e_i, so q[i][j] = Q_ji */
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            ref_real sum = 0, dot = 0;
            for (size_t p = 0; p < n; ++p) { /* (Q T Q')_ij = sum over p of Q_ip (T Q')_pj */
                ref_real tq = (ref_real)diag[p] * q[p * n + j];
                tq += p > 0 ? (ref_real)off[p - 1] * q[(p - 1) * n + j] : 0;
                tq += p + 1 < n ? (ref_real)off[p] * q[(p + 1) * n + j] : 0;
                sum += q[p * n + i] * tq;
                dot += (ref_real)q[i * n + p] * q[j * n + p];
            }
            assert_true(fabsl(sum - full[i * n + j]) <= bound * sqrt(size));
            assert_true(fabsl(dot - (i == j)) <= bound);
        }
    memcpy(back, q, n * n * sizeof *back);
    assert_fine(ctx, tnp_apply_q(ctx, n, a, tau, true, n, back)); /* Q'Q e_i = e_i */
    for (size_t i = 0; i < n * n; ++i)
        assert_true(fabs(back[i] - (i % n == i / n)) <= bound);
    double first = diag[0];
    ref_real *wide = ref_widen(full, n * n), *vectors = ref_alloc(n * n, sizeof *vectors),
             *jacobi = ref_alloc(n, sizeof *jacobi);
    ref_jacobi(wide, n, jacobi, vectors);
    assert_fine(ctx, tnp_tridiagonal_values(ctx, n, diag, off, values));
    assert_true(diag[0] == first);
    for (size_t i = 0; i < n; ++i) {
        size_t below = 0;
        assert_true(i == 0 || values[i] >= values[i - 1]);
        for (size_t j = 0; j < n; ++j) /* the i-th smallest by counting */
            below += jacobi[j] <= values[i] + bound * sqrt(size);
        assert_true(below >= i + 1);
        below = 0;
        for (size_t j = 0; j < n; ++j)
            below += jacobi[j] < values[i] - bound * sqrt(size);
        assert_true(below <= i);
    }
    free(full);
    free(a);
    free(q);
    free(back);
    free(diag);
    free(off);
    free(tau);
    free(values);
    free(wide);
    free(vectors);
    free(jacobi);
}

static void test_tridiagonal(void **state)
{
    (void)state;
    static const size_t orders[] = {1, 2, 3, 8, 33, 65, 70, 131};
    tn_ctx *ctx = ctx_of(2);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i)
        check_tridiagonal(ctx, orders[i]);
    double nothing = 0;
    assert_fine(ctx, tnp_apply_q(ctx, 1, &nothing, &nothing, true, 0, NULL));
    ctx_done(ctx);
}

/* A side that int cannot count is refused before anything is touched. */
static void test_too_large(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    size_t big = (size_t)INT_MAX + 1;
    assert_fails(ctx, TN_ERR_SHAPE, "2147483648", tnp_sgemm_nt(ctx, big, 1, 1, NULL, 1, NULL, 1, 0, NULL, 1));
    assert_fails(ctx, TN_ERR_SHAPE, "2147483648", tnp_dgemm_nn(ctx, 1, 1, 1, NULL, big, NULL, 1, 0, NULL, 1));
    assert_fails(ctx, TN_ERR_SHAPE, "2147483648", tnp_ssyrk_cols(ctx, big, 1, NULL, 1, 0, NULL));
    assert_fails(ctx, TN_ERR_SHAPE, "2147483648", tnp_tridiagonalise(ctx, big, NULL, NULL, NULL, NULL));
    assert_fails(ctx, TN_ERR_SHAPE, "2147483648", tnp_reflect(ctx, true, 1, 1, NULL, 1, NULL, big, NULL, 1, NULL));
    ctx_done(ctx);
}

/* Contexts that hold the gate multiply with one thread, another of one thread beside them; the host's count is put back
 * when all have left. */
static void test_gate_is_held(void **state)
{
    (void)state;
    enum { HOST = 2 };
    tn_ctx *held[] = {ctx_of(1), ctx_of(1)}, *other = ctx_of(1);
    openblas_set_num_threads(HOST);
    tnp_blas_hold(held, 2);
    assert_int_equal(openblas_get_num_threads(), 1);
    for (size_t i = 0; i < 2; ++i) {
        check_gemm(held[i], 7, 5, 3, NT, false, 1);
        assert_int_equal(openblas_get_num_threads(), 1);
    }
    check_gemm(other, 7, 5, 3, TN, false, 0);
    assert_int_equal(openblas_get_num_threads(), 1);
    tnp_blas_release(held, 2);
    assert_int_equal(openblas_get_num_threads(), HOST);
    check_gemm(held[0], 7, 5, 3, NN, true, 1);
    assert_int_equal(openblas_get_num_threads(), HOST);
    ctx_done(held[0]);
    ctx_done(held[1]);
    ctx_done(other);
}

static void test_advice(void **state)
{
    (void)state;
    static const char dynamic[] = "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Prescott MAX_THREADS=64";
    static const char fixed[] = "OpenBLAS 0.3.21 NO_LAPACKE NO_AFFINITY Prescott MAX_THREADS=64";
    static const struct {
        const char *config, *kernels;
        bool avx2, avx512, intel;
        const char *want;
    } table[] = {
        {dynamic, "Prescott", true, true, true, "SkylakeX"},  {dynamic, "Prescott", true, false, true, "Haswell"},
        {dynamic, "Prescott", true, false, false, "Haswell"}, {dynamic, "Prescott", false, false, true, NULL},
        {dynamic, "Cooperlake", true, true, true, NULL},      {dynamic, "SapphireRapids", true, true, true, NULL},
        {dynamic, "SkylakeX", true, true, true, NULL},        {dynamic, "Haswell", true, true, true, "SkylakeX"},
        {dynamic, "Haswell", true, false, true, NULL},        {dynamic, "Zen", true, true, false, NULL},
        {dynamic, "Zen", true, false, false, NULL},           {dynamic, "Sandybridge", true, false, true, "Haswell"},
        {dynamic, "Prescott", true, true, false, "SkylakeX"}, {fixed, "Prescott", true, true, true, NULL},
        {fixed, "Haswell", true, true, true, NULL},           {"", "", true, true, true, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
        const char *got =
            tnp_blas_advice(table[i].config, table[i].kernels, table[i].avx2, table[i].avx512, table[i].intel);
        if ((got == NULL) != (table[i].want == NULL) || (got && strcmp(got, table[i].want) != 0))
            fail_msg("row %zu (%s): got %s, want %s", i, table[i].kernels, got ? got : "none",
                     table[i].want ? table[i].want : "none");
    }
    assert_true(strlen(tnp_blas_config()) > 0 && strlen(tnp_blas_kernels()) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),         cmocka_unit_test(syrk_has_one_meaning_of_beta),
        cmocka_unit_test(test_tridiagonal),  cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_gate_is_held), cmocka_unit_test(test_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
