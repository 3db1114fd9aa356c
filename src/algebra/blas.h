/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one gateway to BLAS and LAPACK. Matrices are row-major; sizes are size_t and are checked to fit the
 * library's int: TN_ERR_SHAPE. Each call uses the context's threads; a tnp_parallel body may make calls only with a
 * context of its own that has one thread. */
#ifndef TNP_BLAS_H
#define TNP_BLAS_H

#include "base/base.h"

/* Contexts of one thread each, whose calls pass the gate (see blas.c) together, once for all that they make until they
 * release it: for items of a crew that make many small products, of which each would wait for the lock of the gate. */
void tnp_blas_hold(tn_ctx *const *ctxs, size_t count);
void tnp_blas_release(tn_ctx *const *ctxs, size_t count);

/* Distance of rows of `values` floats that are to be an operand of many small products: whole cache lines, and no
 * multiple of 1 KB. Rows of 4097 floats begin in the same set of the cache, which makes the packing of the product a
 * third slower. */
size_t tnp_row_stride(size_t values);

/* g (n,n), upper triangle = x'x + beta g for x (rows,n) with row stride ldx. beta 0: g may hold anything before. */
tn_status tnp_ssyrk_cols(tn_ctx *ctx, size_t rows, size_t n, const float *x, size_t ldx, float beta, float *g);
tn_status tnp_dsyrk_cols(tn_ctx *ctx, size_t rows, size_t n, const double *x, size_t ldx, double beta, double *g);
/* The same with x x' for x (n,cols): products of rows. */
tn_status tnp_ssyrk_rows(tn_ctx *ctx, size_t n, size_t cols, const float *x, size_t ldx, float beta, float *g);
tn_status tnp_dsyrk_rows(tn_ctx *ctx, size_t n, size_t cols, const double *x, size_t ldx, double beta, double *g);
/* c (m,n) = a b' + beta c for a (m,k), b (n,k), row strides lda, ldb, ldc. */
tn_status tnp_sgemm_nt(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc);
tn_status tnp_dgemm_nt(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc);
/* c (m,n) = a b + beta c for a (m,k), b (k,n). */
tn_status tnp_sgemm_nn(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc);
tn_status tnp_dgemm_nn(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc);

/* c (m,n) = a' b + beta c for a (k,m), b (k,n). */
tn_status tnp_sgemm_tn(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc);
tn_status tnp_dgemm_tn(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc);

/* Between begin and end bodies of tnp_parallel may multiply, each by its own thread, as the functions of these names
 * do; add: to what is there. Few columns are multiplied by loops of our own. Nothing else of this file may be called
 * there; no side may be more than INT_MAX. */
void tnp_blas_begin_alone(void);
void tnp_blas_end_alone(void);
void tnp_sgemm_nt_alone(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, bool add,
                        float *c, size_t ldc);
void tnp_sgemm_tn_alone(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, bool add,
                        float *c, size_t ldc);
void tnp_dgemm_nt_alone(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b, size_t ldb,
                        bool add, double *c, size_t ldc);
void tnp_dgemm_tn_alone(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b, size_t ldb,
                        bool add, double *c, size_t ldc);
void tnp_ssyrk_cols_alone(size_t rows, size_t n, const float *x, size_t ldx, float beta, float *g);
void tnp_solve_factored_float_alone(size_t rows, size_t n, const float *r, float *b);

/* a (n,n) symmetric positive definite, upper triangle given: a = R'R, R in the upper triangle. TN_ERR_NUMERIC when it
 * is not positive definite. */
tn_status tnp_cholesky(tn_ctx *ctx, size_t n, double *a);
tn_status tnp_cholesky_float(tn_ctx *ctx, size_t n, float *a);
/* b (rows,n) <- b R^-1, with R as tnp_cholesky left it. */
tn_status tnp_solve_right(tn_ctx *ctx, size_t rows, size_t n, const double *r, double *b);
/* inverse (n,n), both triangles, of a (n,n) symmetric positive definite, upper triangle given, which is used up.
 * TN_ERR_NUMERIC when it is not positive definite. */
tn_status tnp_invert(tn_ctx *ctx, size_t n, double *a, double *inverse);
/* b (rows,n) <- b (R'R)^-1, with R as tnp_cholesky_float left it. */
tn_status tnp_solve_factored_float(tn_ctx *ctx, size_t rows, size_t n, const float *r, float *b);
/* Eigenvectors into the rows of a (n,n), eigenvalues ascending into values (n). Upper triangle given. */
tn_status tnp_eigen(tn_ctx *ctx, size_t n, double *a, double *values);

/* a (n,n) symmetric, upper triangle given: a = Q T Q'. diag (n) and off (n-1) of T; a and tau (n-1) keep Q,
 * which tnp_apply_q (reflect.h) applies. */
tn_status tnp_tridiagonalise(tn_ctx *ctx, size_t n, double *a, double *diag, double *off, double *tau);

/* a (rows,n), row stride n, becomes its triangular factor R (n,n) in the first n rows, zeros below the diagonal: a'a =
 * R'R. rows >= n. The error of a column is a rounding of that column, whatever the others are. */
tn_status tnp_qr_root(tn_ctx *ctx, size_t rows, size_t n, double *a);
/* l (n,n), lower triangle = the factor of a (n,cols), n rows: a a' = l l'; a is overwritten. */
tn_status tnp_lq_root(tn_ctx *ctx, size_t n, size_t cols, double *a, double *l);
/* a (n,n) = left diag(values) right, values descending; left by columns, right by rows; a is overwritten. */
tn_status tnp_svd(tn_ctx *ctx, size_t n, double *a, double *left, double *values, double *right);

/* What the library says of itself: configuration, and the name of the kernels it picked. */
const char *tnp_blas_config(void);
const char *tnp_blas_kernels(void);
/* Kernels that a processor with these abilities should get although the BLAS picked `kernels`; NULL: they
 * are good, or the BLAS cannot change them. Pure function, so that it can be tested on any machine. */
const char *tnp_blas_advice(const char *config, const char *simd, bool avx2, bool avx512, bool intel);

#endif
