/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gateway's factorizations: Cholesky and its triangular solve, eigenvectors, and the product with a transposed left
 * factor, each against the identity it promises, in long double.
 *
 * Tolerances. A backward stable factorization of order n in double reproduces A to c n u |A|, u = 2^-53. */
#include "algebra/blas.h"
#include "ref_dense.h"
#include "ref_random.h"
#include "spectrum_of.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

static const double D = 0x1p-53;

/* A (n,n) = B B' + shift, with B (n, rank). */
static double *definite(size_t n, size_t rank, double shift, uint64_t seed)
{
    double *b = ref_alloc(n * rank, sizeof *b), *a = ref_alloc(n * n, sizeof *a);
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < n * rank; ++i)
        b[i] = ref_normal(&rng);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j) {
            for (size_t k = 0; k < rank; ++k)
                a[i * n + j] += b[i * rank + k] * b[j * rank + k];
            a[i * n + j] += i == j ? shift : 0;
        }
    free(b);
    return a;
}

static double norm_of(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n * n; ++i)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* R'R = A, from the upper triangle only; then B R^-1 R = B. */
static void cholesky_and_solve(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 2, 5, 33, 100};
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < 5; ++z) {
        size_t n = sizes[z], rows = 7;
        double *a = definite(n, n + 3, 1, n), *r = ref_alloc(n * n, sizeof *r), size = norm_of(a, n);
        double *b = ref_alloc(rows * n, sizeof *b), *x = ref_alloc(rows * n, sizeof *x);
        ref_rng rng = ref_rng_of(9);
        for (size_t i = 0; i < n * n; ++i)
            r[i] = i / n <= i % n ? a[i] : 1e30; /* the lower triangle is not looked at */
        assert_fine(ctx, tnp_cholesky(ctx, n, r));
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i; j < n; ++j) {
                ref_real sum = 0;
                for (size_t k = 0; k <= i; ++k)
                    sum += (ref_real)r[k * n + i] * (ref_real)r[k * n + j];
                assert_true(fabsl(sum - (ref_real)a[i * n + j]) <= 4 * (double)n * D * size);
            }
        for (size_t i = 0; i < rows * n; ++i)
            x[i] = b[i] = ref_normal(&rng);
        assert_fine(ctx, tnp_solve_right(ctx, rows, n, r, x));
        for (size_t i = 0; i < rows; ++i)
            for (size_t j = 0; j < n; ++j) {
                ref_real sum = 0, terms = 0;
                for (size_t k = 0; k <= j; ++k) {
                    sum += (ref_real)x[i * n + k] * (ref_real)r[k * n + j];
                    terms += fabsl((ref_real)x[i * n + k] * (ref_real)r[k * n + j]);
                }
                assert_true(fabsl(sum - (ref_real)b[i * n + j]) <= ((double)n + 3) * D * terms);
            }
        free(a);
        free(r);
        free(b);
        free(x);
    }
    ctx_done(ctx);
}

/* A A^-1 = I, from the upper triangle only. R^-1 is off by
 * n u |R^-1| |R| |R^-1| and the product by n u more, so that A A^-1 is off by a few n u |A| |A^-1|. */
static void inverse_of_definite(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 2, 5, 33, 100};
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < 5; ++z) {
        size_t n = sizes[z];
        double *a = definite(n, n + 3, 1, n), *upper = ref_alloc(n * n, 8), *inverse = ref_alloc(n * n, 8);
        for (size_t i = 0; i < n * n; ++i)
            upper[i] = i / n <= i % n ? a[i] : 1e30;
        assert_fine(ctx, tnp_invert(ctx, n, upper, inverse));
        double bound = 8 * (double)n * D * norm_of(a, n) * norm_of(inverse, n);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j) {
                ref_real sum = -(ref_real)(i == j);
                for (size_t k = 0; k < n; ++k)
                    sum += (ref_real)a[i * n + k] * (ref_real)inverse[k * n + j];
                assert_true(fabsl(sum) <= bound);
            }
        free(a);
        free(upper);
        free(inverse);
    }
    ctx_done(ctx);
}

/* R'R = A in floats. An entry is a sum of at most n products, each rounded, of rows of R that are no longer than the
 * roots of the diagonal: (n + 2) u sqrt(a_ii a_jj), and as much for the rounding of A to floats. */
static void cholesky_of_floats(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 2, 5, 33, 100};
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < 5; ++z) {
        size_t n = sizes[z];
        double *a = definite(n, n + 3, 1, n);
        float *r = ref_alloc(n * n, sizeof *r);
        for (size_t i = 0; i < n * n; ++i)
            r[i] = i / n <= i % n ? (float)a[i] : 1e30f;
        assert_fine(ctx, tnp_cholesky_float(ctx, n, r));
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i; j < n; ++j) {
                ref_real sum = 0;
                for (size_t k = 0; k <= i; ++k)
                    sum += (ref_real)r[k * n + i] * (ref_real)r[k * n + j];
                assert_true(fabsl(sum - (ref_real)a[i * n + j]) <=
                            2 * ((double)n + 2) * 0x1p-24 * sqrt(a[i * n + i] * a[j * n + j]));
            }
        free(a);
        free(r);
    }
    ctx_done(ctx);
}

/* x R'R = b in floats, the lower triangle not looked at: each of the two solves is exact for a triangle that is off by
 * (n + 1) u of its own entries, so that x R'R is off b by 2 (n + 1) u of |x| |R'| |R|, and a little for u^2. */
static void solve_of_floats(void **state)
{
    (void)state;
    enum { ROWS = 7 };
    const size_t sizes[] = {1, 2, 5, 33, 100};
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < 5; ++z) {
        size_t n = sizes[z];
        ref_rng rng = ref_rng_of(n);
        float *r = ref_alloc(n * n, sizeof *r), *b = ref_alloc(ROWS * n, sizeof *b),
              *x = ref_alloc(ROWS * n, sizeof *x);
        for (size_t i = 0; i < n * n; ++i)
            r[i] = i / n < i % n ? (float)(ref_normal(&rng) / sqrt((double)n)) : i / n == i % n ? 1.5f : 1e30f;
        for (size_t i = 0; i < ROWS * n; ++i)
            x[i] = b[i] = (float)ref_normal(&rng);
        assert_fine(ctx, tnp_solve_factored_float(ctx, ROWS, n, r, x));
        for (size_t row = 0; row < ROWS; ++row)
            for (size_t j = 0; j < n; ++j) {
                ref_real sum = 0, size = 0;
                for (size_t i = 0; i < n; ++i)
                    for (size_t k = 0; k <= (i < j ? i : j); ++k) {
                        ref_real term = (ref_real)x[row * n + i] * (ref_real)r[k * n + i] * (ref_real)r[k * n + j];
                        sum += term;
                        size += fabsl(term);
                    }
                assert_true(fabsl(sum - (ref_real)b[row * n + j]) <= 2.1 * ((double)n + 1) * 0x1p-24 * (double)size);
            }
        free(r);
        free(b);
        free(x);
    }
    ctx_done(ctx);
}

static void not_positive_definite(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    double a[9] = {1, 2, 0, 2, 1, 0, 0, 0, 1}, zero[4] = {0};
    float narrow[9] = {1, 2, 0, 2, 1, 0, 0, 0, 1};
    assert_fails(ctx, TN_ERR_NUMERIC, "not positive definite at column 2", tnp_cholesky_float(ctx, 3, narrow));
    assert_fails(ctx, TN_ERR_NUMERIC, "not positive definite at column 2", tnp_cholesky(ctx, 3, a));
    assert_fails(ctx, TN_ERR_NUMERIC, "not positive definite", tnp_cholesky(ctx, 2, zero));
    assert_fails(ctx, TN_ERR_NUMERIC, "not positive definite", tnp_invert(ctx, 2, zero, a));
    ctx_done(ctx);
}

/* Rows v of a: A v = value v, orthonormal, values ascending; repeated and zero eigenvalues too. */
static void eigenvectors(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{1, 1}, {2, 5}, {7, 3}, {40, 10}, {64, 80}};
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < 5; ++z) {
        size_t n = shapes[z][0];
        double *a = definite(n, shapes[z][1], 0, n), *v = ref_alloc(n * n, sizeof *v),
               *values = ref_alloc(n, sizeof *values);
        double size = norm_of(a, n);
        for (size_t i = 0; i < n * n; ++i)
            v[i] = i / n <= i % n ? a[i] : 1e30;
        assert_fine(ctx, tnp_eigen(ctx, n, v, values));
        for (size_t r = 0; r < n; ++r) {
            assert_true(r == 0 || values[r] >= values[r - 1]);
            for (size_t i = 0; i < n; ++i) {
                ref_real sum = -(ref_real)values[r] * (ref_real)v[r * n + i], dot = 0;
                for (size_t j = 0; j < n; ++j) {
                    sum += (ref_real)a[i * n + j] * (ref_real)v[r * n + j];
                    dot += (ref_real)v[r * n + j] * (ref_real)v[i * n + j];
                }
                assert_true(fabsl(sum) <= 16 * (double)n * D * size);
                assert_true(fabsl(dot - (r == i ? 1 : 0)) <= 16 * (double)n * D);
            }
        }
        for (size_t r = 0; r + shapes[z][1] < n; ++r) /* rank less than n: the first are 0 */
            assert_true(fabs(values[r]) <= 16 * (double)n * D * size);
        free(a);
        free(v);
        free(values);
    }
    ctx_done(ctx);
}

/* c = a'b + beta c with strides; what lies beyond n columns of c is not touched. */
static void transposed_product(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 2, 33}, {40, 41, 13}};
    tn_ctx *ctx = ctx_of(2);
    for (size_t z = 0; z < 4; ++z)
        for (int beta = 0; beta < 2; ++beta) {
            size_t m = shapes[z][0], n = shapes[z][1], k = shapes[z][2], lda = m + 2, ldb = n + 3, ldc = n + 1;
            float *a = ref_alloc(k * lda, 4), *b = ref_alloc(k * ldb, 4), *c = ref_alloc(m * ldc, 4),
                  *was = ref_alloc(m * ldc, 4);
            ref_rng rng = ref_rng_of(z);
            for (size_t i = 0; i < k * lda; ++i)
                a[i] = (float)ref_normal(&rng);
            for (size_t i = 0; i < k * ldb; ++i)
                b[i] = (float)ref_normal(&rng);
            for (size_t i = 0; i < m * ldc; ++i)
                was[i] = c[i] = (float)ref_normal(&rng);
            if (beta == 0)
                c[0] = NAN; /* overwritten, not multiplied by 0 */
            assert_fine(ctx, tnp_sgemm_tn(ctx, m, n, k, a, lda, b, ldb, (float)beta, c, ldc));
            for (size_t i = 0; i < m; ++i)
                for (size_t j = 0; j < ldc; ++j) {
                    ref_real want = j < n ? (ref_real)beta * (ref_real)was[i * ldc + j] : (ref_real)was[i * ldc + j],
                             size = fabsl(want);
                    for (size_t p = 0; p < k && j < n; ++p) {
                        ref_real term = (ref_real)a[p * lda + i] * (ref_real)b[p * ldb + j];
                        want += term;
                        size += fabsl(term);
                    }
                    assert_true(fabsl((ref_real)c[i * ldc + j] - want) <= ((double)k + 3) * 0x1p-24 * size);
                }
            free(a);
            free(b);
            free(c);
            free(was);
        }
    ctx_done(ctx);
}

/* a'a = R'R and aa' = LL' to rounding, triangles with zeros beside them; column j of R'R is off by eps |a_j| |a_i|
 * only, however the columns differ in size. */
static void triangular_roots(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    const size_t shapes[][2] = {{1, 1}, {9, 9}, {40, 7}, {30, 1}};
    for (size_t z = 0; z < 4; ++z) {
        size_t rows = shapes[z][0], n = shapes[z][1];
        ref_rng rng = ref_rng_of(z + 1);
        double *a = ref_alloc(rows * n, sizeof *a), *kept = ref_alloc(rows * n, sizeof *kept);
        double *t = ref_alloc(rows * n, sizeof *t), *l = ref_alloc(n * n, sizeof *l);
        for (size_t i = 0; i < rows * n; ++i) {
            a[i] = kept[i] = ref_normal(&rng) * pow(10, (double)(i % n));
            t[i % n * rows + i / n] = a[i];
        }
        assert_fine(ctx, tnp_qr_root(ctx, rows, n, a));
        assert_fine(ctx, tnp_lq_root(ctx, n, rows, t, l));
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j) {
                ref_real want = 0, qr = 0, lq = 0, ii = 0, jj = 0;
                for (size_t r = 0; r < rows; ++r) {
                    want += (ref_real)kept[r * n + i] * kept[r * n + j];
                    ii += (ref_real)kept[r * n + i] * kept[r * n + i];
                    jj += (ref_real)kept[r * n + j] * kept[r * n + j];
                }
                for (size_t r = 0; r < n; ++r) {
                    qr += (ref_real)a[r * n + i] * a[r * n + j];
                    lq += (ref_real)l[i * n + r] * l[j * n + r];
                }
                assert_true(fabsl(qr - want) <= 10 * (double)rows * DBL_EPSILON * sqrtl(ii * jj));
                assert_true(fabsl(lq - want) <= 10 * (double)rows * DBL_EPSILON * sqrtl(ii * jj));
                assert_true(i <= j || a[i * n + j] == 0);
                assert_true(i >= j || l[i * n + j] == 0);
            }
        free(a);
        free(kept);
        free(t);
        free(l);
    }
    ctx_done(ctx);
}

/* a = left diag(values) right, both orthogonal, values descending. */
static void singular_values(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(2);
    for (size_t n = 1; n <= 17; n += 4) {
        ref_rng rng = ref_rng_of(n);
        double *a = ref_alloc(n * n, sizeof *a), *kept = ref_alloc(n * n, sizeof *kept), *values = ref_alloc(n, 8);
        double *left = ref_alloc(n * n, sizeof *left), *right = ref_alloc(n * n, sizeof *right), most = 0;
        for (size_t i = 0; i < n * n; ++i)
            most = fmax(most, fabs(a[i] = kept[i] = ref_normal(&rng)));
        assert_fine(ctx, tnp_svd(ctx, n, a, left, values, right));
        for (size_t i = 0; i < n; ++i) {
            assert_true(i == 0 || values[i] <= values[i - 1]);
            for (size_t j = 0; j < n; ++j) {
                ref_real made = 0, ll = 0, rr = 0;
                for (size_t r = 0; r < n; ++r) {
                    made += (ref_real)left[i * n + r] * values[r] * right[r * n + j];
                    ll += (ref_real)left[r * n + i] * left[r * n + j];
                    rr += (ref_real)right[i * n + r] * right[j * n + r];
                }
                assert_true(fabsl(made - kept[i * n + j]) <= 20 * (double)n * DBL_EPSILON * most);
                assert_true(fabsl(ll - (i == j)) <= 20 * (double)n * DBL_EPSILON);
                assert_true(fabsl(rr - (i == j)) <= 20 * (double)n * DBL_EPSILON);
            }
        }
        free(a);
        free(kept);
        free(values);
        free(left);
        free(right);
    }
    ctx_done(ctx);
}

static void sizes_beyond_int(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    double d = 1;
    float f = 1;
    size_t large = (size_t)INT_MAX + 1;
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_cholesky(ctx, large, &d));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_cholesky_float(ctx, large, &f));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_solve_right(ctx, large, 1, &d, &d));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_solve_right(ctx, 1, large, &d, &d));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_solve_factored_float(ctx, large, 1, &f, &f));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_solve_factored_float(ctx, 1, large, &f, &f));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_eigen(ctx, large, &d, &d));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_qr_root(ctx, large, 1, &d));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_lq_root(ctx, 1, large, &d, &d));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_svd(ctx, large, &d, &d, &d, &d));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_sgemm_tn(ctx, large, 1, 1, &f, 1, &f, 1, 0, &f, 1));
    assert_fails(ctx, TN_ERR_SHAPE, "", tnp_sgemm_tn(ctx, 1, 1, large, &f, 1, &f, 1, 0, &f, 1));
    ctx_done(ctx);
}

static void allocation_failure(void **state)
{
    (void)state;
    tn_ctx *ctx = ctx_of(1);
    double values[6];
    for (size_t k = 1; k < 3; ++k) {
        double *a = definite(6, 8, 0, 1);
        tnp_fail_allocation(ctx, k);
        assert_int_equal(tnp_eigen(ctx, 6, a, values), TN_ERR_MEMORY);
        tnp_fail_allocation(ctx, 0);
        assert_int_equal(tnp_live_blocks(ctx), 0);
        free(a);
    }
    ctx_done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_of_definite),   cmocka_unit_test(cholesky_and_solve),
        cmocka_unit_test(cholesky_of_floats),    cmocka_unit_test(solve_of_floats),
        cmocka_unit_test(not_positive_definite), cmocka_unit_test(eigenvectors),
        cmocka_unit_test(transposed_product),    cmocka_unit_test(triangular_roots),
        cmocka_unit_test(singular_values),       cmocka_unit_test(sizes_beyond_int),
        cmocka_unit_test(allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
