/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A symmetric matrix to tridiagonal form in two stages, A = Q1 B Q1' and B = Q2 T Q2', for orders where the single
 * stage of LAPACK (blas.h) waits for memory: half of its work are products with vectors, here all are products of
 * blocks. Matrices are row-major. */
#ifndef TNP_BAND_H
#define TNP_BAND_H

#include "base/base.h"
#include "simd/simd.h"

/* Columns of a band as the second stage wants it: entry (i, j), 0 <= i - j < TNP_BAND_HEIGHT, of order n is
 * band[j TNP_BAND_HEIGHT + i - j]; columns up to tnp_band_columns(n) are there, zero behind the n-th. */
enum { TNP_BAND_HEIGHT = 2 * TNP_BAND };
static inline size_t tnp_band_columns(size_t n)
{
    return n + 2 * TNP_BAND;
}

/* Stage 1, 4/3 n^3 flops. a (n,n), upper triangle given and of size about 1; B into band. The upper triangle of a and
 * factors (n, TNP_BAND) keep Q1; the lower triangle is not touched. */
tn_status tnp_band_reduce(tn_ctx *ctx, size_t n, double *a, double *band, double *factors);
/* Stage 2, 6 n^2 TNP_BAND flops. band is used up; diag (n) and off (n-1) of T; the lower triangle of a keeps Q2. */
tn_status tnp_band_chase(tn_ctx *ctx, size_t n, double *band, double *a, double *diag, double *off);
/* Each row of c (count,n) is multiplied by Q1' (transpose) or Q1; by Q2' or Q2. */
tn_status tnp_band_apply(tn_ctx *ctx, size_t n, const double *a, const double *factors, bool transpose, size_t count,
                         double *c);
tn_status tnp_chase_apply(tn_ctx *ctx, size_t n, const double *a, bool transpose, size_t count, double *c);

/* A Cholesky factor of B + lambda I, for a B (n, TNP_BAND + 1) that is borrowed: (i, j) is band[j (TNP_BAND + 1) + i -
 * j]. TN_ERR_NUMERIC when it is not positive definite. */
typedef struct tnp_band_factor tnp_band_factor;
tn_status tnp_band_factor_new(tn_ctx *ctx, size_t n, const double *band, tnp_band_factor **out);
void tnp_band_factor_free(tnp_band_factor *factor);
tn_status tnp_band_factor_at(tn_ctx *ctx, tnp_band_factor *factor, double lambda, double *logdet);
/* z'(B + lambda I)^-1 z of `count` vectors as tiles (count / TNP_BAND, n, TNP_BAND), missing ones zero; out (count). */
void tnp_band_forms(tn_ctx *ctx, const tnp_band_factor *factor, const double *tiles, size_t count, double *out);
/* L^-1 z of such vectors for B + lambda I = L L', as the columns of out (n, count). */
void tnp_band_half(tn_ctx *ctx, const tnp_band_factor *factor, const double *tiles, size_t count, double *out);

/* Both: as tnp_tridiagonalise of blas.h and tnp_apply_q of reflect.h, with factors (n, TNP_BAND) in the place of tau;
 * kept (n, TNP_BAND + 1) is B as tnp_band_factor_new takes it. */
tn_status tnp_two_stage(tn_ctx *ctx, size_t n, double *a, double *diag, double *off, double *factors, double *kept);
tn_status tnp_two_stage_apply(tn_ctx *ctx, size_t n, const double *a, const double *factors, bool transpose,
                              size_t count, double *c);
/* Bytes that tnp_two_stage allocates while it runs. */
size_t tnp_two_stage_bytes(size_t n);

/* Eigenvalues of T, ascending, into values (n); diag (n) and off (n-1) are kept. */
tn_status tnp_tridiagonal_values(tn_ctx *ctx, size_t n, const double *diag, const double *off, double *values);

#endif
