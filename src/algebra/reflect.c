/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reflections in blocks (Schreiber and Van Loan, 1989), H_0 ... H_(b-1) = I - V'TV with T upper triangular:
 *
 *   T_jj = tau_j     T_ij = -tau_j sum_(i<=l<j) T_il (v_l . v_j)     c <- c - ((c V') T) V   for H', with T' for H
 *
 * LAPACK's dormtr has blocks of 32 and goes over V by loops: at 2000 rows of 1024 columns it takes twice as long as three
 * products per block of BLOCK. Oracle: tests/unit/test_blas.c, A = Q T Q'. */
#include "algebra/reflect.h"
#include "algebra/blas.h"

#include <string.h>

enum { BLOCK = 64 };

tn_status tnp_reflect(tn_ctx *ctx, bool transpose, size_t b, size_t m, const double *v, size_t ldv, const double *t,
                      size_t count, double *c, size_t ldc, double *scratch)
{
    tn_status st = TN_OK;
    double *product = scratch, *turned = product + count * b, *factor = turned + count * b;
    TN_TRY(tnp_dgemm_nt(ctx, count, b, m, c, ldc, v, ldv, 0, product, b));
    for (size_t i = 0; i < b; ++i)
        for (size_t j = 0; j < b; ++j)
            factor[transpose ? i * b + j : j * b + i] = j < i ? 0 : -t[i * b + j];
    TN_TRY(tnp_dgemm_nn(ctx, count, b, b, product, b, factor, b, 0, turned, b));
    TN_TRY(tnp_dgemm_nn(ctx, count, m, b, turned, b, v, ldv, 1, c, ldc));
done:
    return st;
}

/* V (b, m), dense, of reflections [k, k + b) out of a, where v_l begins with the 1 that LAPACK does not store. */
static void take_vectors(size_t n, const double *a, size_t k, size_t b, double *v)
{
    size_t m = n - k - 1;
    for (size_t l = 0; l < b; ++l) {
        memset(v + l * m, 0, l * sizeof *v);
        v[l * m + l] = 1;
        memcpy(v + l * m + l + 1, a + (k + l) * n + k + l + 2, (m - l - 1) * sizeof *v);
    }
}

/* T (b, b) of V (b, m); dots (b, b) is scratch. */
static tn_status make_factor(tn_ctx *ctx, size_t b, size_t m, const double *v, const double *tau, double *dots,
                             double *t)
{
    tn_status st = tnp_dsyrk_rows(ctx, b, m, v, m, 0, dots);
    for (size_t j = 0; st == TN_OK && j < b; ++j) {
        t[j * b + j] = tau[j];
        for (size_t i = 0; i < j; ++i) {
            double sum = 0;
            for (size_t l = i; l < j; ++l)
                sum += t[i * b + l] * dots[l * b + j];
            t[i * b + j] = -tau[j] * sum;
        }
    }
    return st;
}

tn_status tnp_apply_q(tn_ctx *ctx, size_t n, const double *a, const double *tau, bool transpose, size_t count,
                      double *c)
{
    tn_status st = TN_OK;
    size_t most = tnp_min(BLOCK, n), blocks = n > 1 ? (n - 1 + BLOCK - 1) / BLOCK : 0, products = 0;
    double *v = NULL, *t = NULL, *dots = NULL, *scratch = NULL;
    if (count == 0 || n < 2)
        return TN_OK;
    TN_TRY(tnp_mul(ctx, 2 * most, count, &products));
    TN_TRY(tnp_alloc_raw(ctx, most * n, sizeof *v, &v));
    TN_TRY(tnp_alloc_raw(ctx, most * most, sizeof *t, &t));
    TN_TRY(tnp_alloc_raw(ctx, most * most, sizeof *dots, &dots));
    TN_TRY(tnp_alloc_raw(ctx, products + most * most, sizeof *scratch, &scratch));
    for (size_t i = 0; i < blocks; ++i) {
        size_t k = (transpose ? i : blocks - 1 - i) * BLOCK, b = tnp_min(BLOCK, n - 1 - k), m = n - k - 1;
        TN_TRY(tnp_cancelled(ctx));
        take_vectors(n, a, k, b, v);
        TN_TRY(make_factor(ctx, b, m, v, tau + k, dots, t));
        TN_TRY(tnp_reflect(ctx, transpose, b, m, v, m, t, count, c + k + 1, n, scratch));
    }
done:
    tnp_free_all(v, t, dots, scratch);
    return st;
}
