/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only file that calls BLAS and LAPACK.
 *
 * LAPACK is column-major: a row-major upper triangle is its lower one, and (count, n) rows are its n x count
 * matrix, so every routine is called without a transposition. dsytrd with "L" is also the faster half (2.9 s against
 * 3.5 s at n = 4096 on two cores).
 *
 * OpenBLAS releases that are older than the processor may pick kernels of a far older one: 0.3.21 runs its SSE3
 * "Prescott" kernels on some AVX-512 machines, at a fifth of the speed. The choice is made when the library
 * loads, so here it can only be noticed; the program re-executes itself with OPENBLAS_CORETYPE set. */
#include "algebra/blas.h"
#include "base/ctx.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

char *openblas_get_corename(void);
char *openblas_get_config(void);
void dsytrd_(const char *uplo, const int *n, double *a, const int *lda, double *d, double *e, double *tau, double *work,
             const int *lwork, int *info);
void dormtr_(const char *side, const char *uplo, const char *trans, const int *m, const int *n, const double *a,
             const int *lda, const double *tau, double *c, const int *ldc, double *work, const int *lwork, int *info);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
             const int *lwork, int *iwork, const int *liwork, int *info);
void dgelqf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork,
             int *info);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork,
             int *info);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s, double *u,
             const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *iwork, int *info);
void dsterf_(const int *n, double *d, double *e, int *info);

static tn_status fits(tn_ctx *ctx, size_t a, size_t b, size_t c)
{
    size_t most = tnp_max(a, tnp_max(b, c));
    if (most > INT_MAX)
        return tnp_fail(ctx, TN_ERR_SHAPE, "matrix product: a side of %zu is more than the BLAS can count", most);
    /* The BLAS keeps one process-wide thread count; contexts that differ take turns at setting it. */
    if (openblas_get_num_threads() != (int)ctx->threads)
        openblas_set_num_threads((int)tnp_min(ctx->threads, INT_MAX));
    return TN_OK;
}

size_t tnp_row_stride(size_t values)
{
    size_t stride = (values + 15) / 16 * 16;
    return stride % 256 < 32 ? stride + 32 : stride;
}

tn_status tnp_ssyrk_cols(tn_ctx *ctx, size_t rows, size_t n, const float *x, size_t ldx, float beta, float *g)
{
    tn_status st = fits(ctx, rows, n, ldx);
    if (st == TN_OK)
        cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)n, (int)rows, 1, x, (int)ldx, beta, g, (int)n);
    return st;
}

tn_status tnp_dsyrk_cols(tn_ctx *ctx, size_t rows, size_t n, const double *x, size_t ldx, double beta, double *g)
{
    tn_status st = fits(ctx, rows, n, ldx);
    if (st == TN_OK)
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)n, (int)rows, 1, x, (int)ldx, beta, g, (int)n);
    return st;
}

tn_status tnp_ssyrk_rows(tn_ctx *ctx, size_t n, size_t cols, const float *x, size_t ldx, float beta, float *g)
{
    tn_status st = fits(ctx, n, cols, ldx);
    if (st == TN_OK)
        cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)n, (int)cols, 1, x, (int)ldx, beta, g, (int)n);
    return st;
}

tn_status tnp_dsyrk_rows(tn_ctx *ctx, size_t n, size_t cols, const double *x, size_t ldx, double beta, double *g)
{
    tn_status st = fits(ctx, n, cols, ldx);
    if (st == TN_OK)
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)n, (int)cols, 1, x, (int)ldx, beta, g, (int)n);
    return st;
}

tn_status tnp_sgemm_nt(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc)
{
    tn_status st = fits(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st == TN_OK)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta,
                    c, (int)ldc);
    return st;
}

tn_status tnp_dgemm_nt(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc)
{
    tn_status st = fits(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st == TN_OK)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta,
                    c, (int)ldc);
    return st;
}

tn_status tnp_sgemm_nn(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc)
{
    tn_status st = fits(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st == TN_OK)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,
                    beta, c, (int)ldc);
    return st;
}

tn_status tnp_dgemm_nn(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc)
{
    tn_status st = fits(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st == TN_OK)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,
                    beta, c, (int)ldc);
    return st;
}

tn_status tnp_sgemm_tn(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc)
{
    tn_status st = fits(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st == TN_OK)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta,
                    c, (int)ldc);
    return st;
}

tn_status tnp_dgemm_tn(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc)
{
    tn_status st = fits(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st == TN_OK)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta,
                    c, (int)ldc);
    return st;
}

tn_status tnp_cholesky(tn_ctx *ctx, size_t n, double *a)
{
    int order = (int)n, info = 0;
    tn_status st = fits(ctx, n, n, n);
    if (st != TN_OK)
        return st;
    dpotrf_("L", &order, a, &order, &info);
    return info == 0 ? TN_OK
                     : tnp_fail(ctx, TN_ERR_NUMERIC, "Cholesky factor: not positive definite at column %d", info);
}

tn_status tnp_solve_right(tn_ctx *ctx, size_t rows, size_t n, const double *r, double *b)
{
    tn_status st = fits(ctx, rows, n, n);
    if (st == TN_OK)
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)rows, (int)n, 1, r, (int)n,
                    b, (int)n);
    return st;
}

/* LAPACK answers a workspace query in the first element, as a double. */
static tn_status work_alloc(tn_ctx *ctx, double answer, int *lwork, double **work)
{
    *lwork = (int)answer;
    return tnp_alloc_raw(ctx, (size_t)tnp_max(1, (size_t)answer), sizeof **work, work);
}

tn_status tnp_tridiagonalise(tn_ctx *ctx, size_t n, double *a, double *diag, double *off, double *tau)
{
    tn_status st = TN_OK;
    double *work = NULL, answer = 0;
    int order = (int)n, query = -1, lwork = 0, info = 0;
    TN_TRY(fits(ctx, n, n, n));
    dsytrd_("L", &order, a, &order, diag, off, tau, &answer, &query, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    dsytrd_("L", &order, a, &order, diag, off, tau, work, &lwork, &info);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "tridiagonal form: LAPACK dsytrd reports %d", info);
done:
    tnp_free(work);
    return st;
}

tn_status tnp_apply_q(tn_ctx *ctx, size_t n, const double *a, const double *tau, bool transpose, size_t count,
                      double *c)
{
    tn_status st = TN_OK;
    double *work = NULL, answer = 0;
    int order = (int)n, columns = (int)count, query = -1, lwork = 0, info = 0;
    const char *trans = transpose ? "T" : "N";
    if (count == 0)
        return TN_OK;
    TN_TRY(fits(ctx, n, count, n));
    dormtr_("L", "L", trans, &order, &columns, a, &order, tau, c, &order, &answer, &query, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    dormtr_("L", "L", trans, &order, &columns, a, &order, tau, c, &order, work, &lwork, &info);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "tridiagonal form: LAPACK dormtr reports %d", info);
done:
    tnp_free(work);
    return st;
}

tn_status tnp_tridiagonal_values(tn_ctx *ctx, size_t n, const double *diag, const double *off, double *values)
{
    tn_status st = TN_OK;
    double *spare = NULL;
    int order = (int)n, info = 0;
    TN_TRY(fits(ctx, n, n, n));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(n, 1), sizeof *spare, &spare));
    memcpy(values, diag, n * sizeof *values);
    if (n > 1)
        memcpy(spare, off, (n - 1) * sizeof *spare);
    dsterf_(&order, values, spare, &info);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "eigenvalues: LAPACK dsterf reports %d", info);
done:
    tnp_free(spare);
    return st;
}

tn_status tnp_eigen(tn_ctx *ctx, size_t n, double *a, double *values)
{
    tn_status st = TN_OK;
    double *work = NULL, answer = 0;
    int *iwork = NULL, order = (int)n, query = -1, lwork = 0, liwork = 0, info = 0;
    TN_TRY(fits(ctx, n, n, n));
    dsyevd_("V", "L", &order, a, &order, values, &answer, &query, &liwork, &query, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    TN_TRY(tnp_alloc(ctx, (size_t)liwork, sizeof *iwork, &iwork));
    dsyevd_("V", "L", &order, a, &order, values, work, &lwork, iwork, &liwork, &info);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "eigenvectors: LAPACK dsyevd reports %d", info);
done:
    tnp_free(work);
    tnp_free(iwork);
    return st;
}

typedef void factor_fn(const int *, const int *, double *, const int *, double *, double *, const int *, int *);

/* Runs dgelqf or dgeqrf on LAPACK's m x n matrix a, lda = m. */
static tn_status factor(tn_ctx *ctx, factor_fn *run, size_t m, size_t n, double *a)
{
    tn_status st = TN_OK;
    double *work = NULL, *tau = NULL, answer = 0;
    int rows = (int)m, columns = (int)n, query = -1, lwork = 0, info = 0;
    TN_TRY(fits(ctx, m, n, 1));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, tnp_min(m, n)), sizeof *tau, &tau));
    run(&rows, &columns, a, &rows, tau, &answer, &query, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    run(&rows, &columns, a, &rows, tau, work, &lwork, &info);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "triangular factor: LAPACK reports %d", info);
done:
    tnp_free(work);
    tnp_free(tau);
    return st;
}

tn_status tnp_qr_root(tn_ctx *ctx, size_t rows, size_t n, double *a)
{
    tn_status st = factor(ctx, dgelqf_, n, rows, a);
    for (size_t i = 1; st == TN_OK && i < n; ++i)
        memset(a + i * n, 0, i * sizeof *a);
    return st;
}

tn_status tnp_lq_root(tn_ctx *ctx, size_t n, size_t cols, double *a, double *l)
{
    tn_status st = factor(ctx, dgeqrf_, cols, n, a);
    if (st != TN_OK)
        return st;
    memset(l, 0, n * n * sizeof *l);
    for (size_t i = 0; i < n; ++i)
        memcpy(l + i * n, a + i * cols, tnp_min(i + 1, cols) * sizeof *l);
    return TN_OK;
}

tn_status tnp_svd(tn_ctx *ctx, size_t n, double *a, double *left, double *values, double *right)
{
    tn_status st = TN_OK;
    double *work = NULL, answer = 0;
    int *iwork = NULL, order = (int)n, query = -1, lwork = 0, info = 0;
    TN_TRY(fits(ctx, n, n, n));
    TN_TRY(tnp_alloc(ctx, 8 * n, sizeof *iwork, &iwork));
    /* LAPACK sees the transpose: its left vectors are the right ones here. */
    dgesdd_("A", &order, &order, a, &order, values, right, &order, left, &order, &answer, &query, iwork, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    dgesdd_("A", &order, &order, a, &order, values, right, &order, left, &order, work, &lwork, iwork, &info);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "singular values: LAPACK dgesdd reports %d", info);
done:
    tnp_free(work);
    tnp_free(iwork);
    return st;
}

const char *tnp_blas_config(void)
{
    return openblas_get_config();
}

const char *tnp_blas_kernels(void)
{
    return openblas_get_corename();
}

static bool among(const char *word, const char *const *list)
{
    for (; *list; ++list)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

const char *tnp_blas_advice(const char *config, const char *kernels, bool avx2, bool avx512, bool intel)
{
    static const char *const wide512[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Sapphirerapids", NULL};
    static const char *const wide256[] = {"Haswell", "Zen", "Excavator", NULL};
    if (!strstr(config, "DYNAMIC_ARCH") || among(kernels, wide512))
        return NULL;
    /* On AMD's AVX-512 processors the 256-bit kernels measured as fast: only slower sets are worth a restart. */
    if (among(kernels, wide256))
        return avx512 && intel ? "SkylakeX" : NULL;
    return avx512 ? "SkylakeX" : avx2 ? "Haswell" : NULL;
}
