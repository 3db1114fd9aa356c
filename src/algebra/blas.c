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
#define _POSIX_C_SOURCE 200809L
#include "algebra/blas.h"
#include "base/ctx.h"
#include "simd/simd.h"

#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

char *openblas_get_corename(void);
/* Names of OpenBLAS that are in none of its headers: weak, for a release or another BLAS may be without them. */
__attribute__((weak)) void openblas_read_env(void);
__attribute__((weak)) int blas_thread_shutdown_(void);
char *openblas_get_config(void);
void dsytrd_(const char *uplo, const int *n, double *a, const int *lda, double *d, double *e, double *tau, double *work,
             const int *lwork, int *info);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info);
void spotrs_(const char *uplo, const int *n, const int *count, const float *a, const int *lda, float *b, const int *ldb,
             int *info);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
             const int *lwork, int *iwork, const int *liwork, int *info);
void dgelqf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork,
             int *info);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork,
             int *info);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s, double *u,
             const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *iwork, int *info);

/* ---- the gate that every call passes ----
 *
 * OpenBLAS keeps one thread count per process, which the host program may use too. The first call that enters remembers
 * the host's and sets its context's, the last one that leaves puts it back. Calls that want the same count run
 * together, others wait: all are let in by turns, so that nobody waits for ever.
 *
 * OpenBLAS ends its threads before a fork, and waits for ever when one of them is at work: the parent hangs. Its locks
 * that another thread holds stay locked in the child. So a fork takes its turn as well and has the gate for itself. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    size_t tickets, admitted;
    size_t running; /* calls inside */
    size_t wanted;  /* threads, by the calls inside */
    int given, host;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};

/* Called with the lock held, returns with it. threads 0: alone. */
static void await_turn(size_t threads)
{
    size_t ticket = gate.tickets++;
    while (ticket != gate.admitted || (gate.running != 0 && gate.wanted != threads))
        pthread_cond_wait(&gate.turn, &gate.lock);
    ++gate.admitted;
}

static void unlock_gate(void)
{
    if (gate.tickets != gate.admitted)
        pthread_cond_broadcast(&gate.turn);
    pthread_mutex_unlock(&gate.lock);
}

static void before_fork(void)
{
    pthread_mutex_lock(&gate.lock);
    await_turn(0);
}

/* Those who wait are not in the child, nor are their tickets. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&gate.lock, NULL);
    pthread_cond_init(&gate.turn, NULL);
    gate.tickets = gate.admitted = 0;
}

/* Later than OpenBLAS registered its own, which is then run after ours: handlers go from the youngest to the oldest. */
static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, unlock_gate, after_fork_in_child);
}

static void enter_with(size_t threads)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    pthread_once(&watched, watch_forks);
    pthread_mutex_lock(&gate.lock);
    await_turn(threads);
    if (gate.running++ == 0) {
        gate.wanted = threads;
        gate.host = openblas_get_num_threads();
        if (gate.host != (int)threads)
            openblas_set_num_threads((int)threads);
        gate.given = openblas_get_num_threads(); /* it has a most of its own */
    }
    unlock_gate();
}

/* A count that the host has set meanwhile is left as it is. */
static void leave_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    if (--gate.running == 0 && gate.given != gate.host && openblas_get_num_threads() == gate.given)
        openblas_set_num_threads(gate.host);
    unlock_gate();
}

/* Its patience is a variable that it reads when it is loaded, before a program can set one. Here it reads it again, and
 * ends the threads it has, as before a fork; the next product makes others, which have the new one. A program that sets
 * the variable and starts itself again was refused: that is a quarter of the time of a small fit. */
void tn_machine_calm_blas(void)
{
    static const char NAME[] = "OPENBLAS_THREAD_TIMEOUT", PATIENCE[] = "18"; /* log2 of cycles */
    if (getenv(NAME) || !openblas_read_env || !blas_thread_shutdown_ || setenv(NAME, PATIENCE, 0) != 0)
        return;
    pthread_mutex_lock(&gate.lock);
    await_turn(0);
    openblas_read_env();
    (void)blas_thread_shutdown_();
    unlock_gate();
    (void)unsetenv(NAME);
}

static void enter(const tn_ctx *ctx)
{
    if (!ctx->holds_gate)
        enter_with(tnp_min(ctx->threads, INT_MAX));
}

/* Always TN_OK. */
static tn_status leave(const tn_ctx *ctx)
{
    if (!ctx->holds_gate)
        leave_gate();
    return TN_OK;
}

void tnp_blas_hold(tn_ctx *const *ctxs, size_t count)
{
    enter(ctxs[0]);
    for (size_t i = 0; i < count; ++i)
        ctxs[i]->holds_gate = true;
}

void tnp_blas_release(tn_ctx *const *ctxs, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        ctxs[i]->holds_gate = false;
    leave(ctxs[0]);
}

static tn_status check_sides(tn_ctx *ctx, size_t a, size_t b, size_t c)
{
    size_t most = tnp_max(a, tnp_max(b, c));
    return most <= INT_MAX
               ? TN_OK
               : tnp_fail(ctx, TN_ERR_SHAPE, "matrix product: a side of %zu is more than the BLAS can count", most);
}

/* check_sides, and the gate is passed when it is TN_OK. */
static tn_status begin(tn_ctx *ctx, size_t a, size_t b, size_t c)
{
    tn_status st = check_sides(ctx, a, b, c);
    if (st == TN_OK)
        enter(ctx);
    return st;
}

size_t tnp_row_stride(size_t values)
{
    size_t stride = (values + 15) / 16 * 16;
    return stride % 256 < 32 ? stride + 32 : stride;
}

/* ---- products by one thread ----
 *
 * The BLAS packs what it multiplies, loops of our own (simd_products.h) read it where it lies. GFLOP/s of a Zen 5, 256
 * rows of 128 and 512 columns with 12, 49 and 200 others, a b': own loops for AVX-512 133 and 220, 135 and 193, 136 and
 * 201, for AVX2 113, 106 and 109 at 128; OpenBLAS with kernels for AVX-512 89, 183 and 227, for AVX2 79, 113 and 129 at
 * both; a'b is alike. Of rows shorter than LEAST_WIDTH the sums of lanes are most of the work. Kernels for AVX-512 do
 * not pack small products, and are beaten by long rows only: a b' of 64 rows of 128, 256 and 512 columns with 101
 * others, own 134, 167 and 203, theirs 160, 164 and 161. Alone they are ahead in a'b of so few rows (own 193, theirs
 * 208), within the visits of coordinate descent behind: 0.44 instead of 0.33 s at (5994 x 512, 200 classes). */
enum { LEAST_WIDTH = 128, LONG_WIDTH = 256, FEW_COLUMNS = 64, FEW_COLUMNS_256 = 32, FEW_ROWS = 64 };
static enum { THEIRS, OURS_FOR_FEW, OURS_FOR_LONG, OURS } better; /* THEIRS: there are no others */

static bool among(const char *word, const char *const *list)
{
    for (; *list; ++list)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static const char *const wide512[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Sapphirerapids", NULL};
static const char *const wide256[] = {"Haswell", "Zen", "Excavator", NULL};

static void compare_products(void)
{
    bool own512 = strncmp(tnp_simd_get()->name, "avx512", 6) == 0;
    if (tnp_simd_get()->products->wide)
        better = !own512 ? OURS_FOR_FEW : among(openblas_get_corename(), wide512) ? OURS_FOR_LONG : OURS;
}

/* Products of rows of this width: sums over it, one for each of the columns, or sums of `rows` of them. */
static bool own_pays(size_t rows, size_t columns, size_t width)
{
    static pthread_once_t compared = PTHREAD_ONCE_INIT;
    pthread_once(&compared, compare_products);
    if (width < LEAST_WIDTH || better == THEIRS)
        return false;
    if (better == OURS_FOR_LONG)
        return width >= LONG_WIDTH && (columns <= FEW_COLUMNS || rows <= FEW_ROWS);
    return better == OURS || columns <= FEW_COLUMNS_256;
}

/* g (n,n), upper triangle = x'x or, with CblasNoTrans, x x', plus beta g. k: the other side of x. */
static tn_status ssyrk(tn_ctx *ctx, CBLAS_TRANSPOSE side, size_t n, size_t k, const float *x, size_t ldx, float beta,
                       float *g)
{
    tn_status st = begin(ctx, n, k, ldx);
    if (st != TN_OK)
        return st;
    cblas_ssyrk(CblasRowMajor, CblasUpper, side, (int)n, (int)k, 1, x, (int)ldx, beta, g, (int)n);
    return leave(ctx);
}

static tn_status dsyrk(tn_ctx *ctx, CBLAS_TRANSPOSE side, size_t n, size_t k, const double *x, size_t ldx, double beta,
                       double *g)
{
    tn_status st = begin(ctx, n, k, ldx);
    if (st != TN_OK)
        return st;
    cblas_dsyrk(CblasRowMajor, CblasUpper, side, (int)n, (int)k, 1, x, (int)ldx, beta, g, (int)n);
    return leave(ctx);
}

tn_status tnp_ssyrk_cols(tn_ctx *ctx, size_t rows, size_t n, const float *x, size_t ldx, float beta, float *g)
{
    return ssyrk(ctx, CblasTrans, n, rows, x, ldx, beta, g);
}

tn_status tnp_dsyrk_cols(tn_ctx *ctx, size_t rows, size_t n, const double *x, size_t ldx, double beta, double *g)
{
    return dsyrk(ctx, CblasTrans, n, rows, x, ldx, beta, g);
}

/* By one thread in strips of own products, of which a few lie below the diagonal. */
tn_status tnp_ssyrk_rows(tn_ctx *ctx, size_t n, size_t cols, const float *x, size_t ldx, float beta, float *g)
{
    enum { STRIP = 4 };
    if (ctx->threads > 1 || beta != 0 || !own_pays(n, n, cols))
        return ssyrk(ctx, CblasNoTrans, n, cols, x, ldx, beta, g);
    for (size_t t = 0; t < n; t += STRIP)
        tnp_simd_get()->products->row_products(tnp_min(STRIP, n - t), x + t * ldx, ldx, n - t, x + t * ldx, ldx, cols,
                                               false, g + t * n + t, n);
    return TN_OK;
}

tn_status tnp_dsyrk_rows(tn_ctx *ctx, size_t n, size_t cols, const double *x, size_t ldx, double beta, double *g)
{
    return dsyrk(ctx, CblasNoTrans, n, cols, x, ldx, beta, g);
}

static tn_status sgemm(tn_ctx *ctx, CBLAS_TRANSPOSE of_a, CBLAS_TRANSPOSE of_b, size_t m, size_t n, size_t k,
                       const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    tn_status st = begin(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st != TN_OK)
        return st;
    cblas_sgemm(CblasRowMajor, of_a, of_b, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
    return leave(ctx);
}

static tn_status dgemm(tn_ctx *ctx, CBLAS_TRANSPOSE of_a, CBLAS_TRANSPOSE of_b, size_t m, size_t n, size_t k,
                       const double *a, size_t lda, const double *b, size_t ldb, double beta, double *c, size_t ldc)
{
    tn_status st = begin(ctx, tnp_max(m, n), tnp_max(k, lda), tnp_max(ldb, ldc));
    if (st != TN_OK)
        return st;
    cblas_dgemm(CblasRowMajor, of_a, of_b, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
    return leave(ctx);
}

tn_status tnp_sgemm_nt(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc)
{
    return sgemm(ctx, CblasNoTrans, CblasTrans, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

tn_status tnp_dgemm_nt(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc)
{
    return dgemm(ctx, CblasNoTrans, CblasTrans, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

tn_status tnp_sgemm_nn(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc)
{
    return sgemm(ctx, CblasNoTrans, CblasNoTrans, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

tn_status tnp_dgemm_nn(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc)
{
    return dgemm(ctx, CblasNoTrans, CblasNoTrans, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

tn_status tnp_sgemm_tn(tn_ctx *ctx, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                       size_t ldb, float beta, float *c, size_t ldc)
{
    return sgemm(ctx, CblasTrans, CblasNoTrans, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

tn_status tnp_dgemm_tn(tn_ctx *ctx, size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
                       size_t ldb, double beta, double *c, size_t ldc)
{
    return dgemm(ctx, CblasTrans, CblasNoTrans, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

void tnp_blas_begin_alone(void)
{
    enter_with(1);
}

void tnp_blas_end_alone(void)
{
    leave_gate();
}

void tnp_sgemm_nt_alone(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, bool add,
                        float *c, size_t ldc)
{
    if (own_pays(m, n, k))
        tnp_simd_get()->products->row_products(m, a, lda, n, b, ldb, k, add, c, ldc);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,
                    add ? 1 : 0, c, (int)ldc);
}

void tnp_sgemm_tn_alone(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b, size_t ldb, bool add,
                        float *c, size_t ldc)
{
    if (!own_pays(k, m, n)) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,
                    add ? 1 : 0, c, (int)ldc);
        return;
    }
    for (size_t i = 0; !add && i < m; ++i)
        memset(c + i * ldc, 0, n * sizeof *c);
    tnp_simd_get()->products->add_products(k, m, a, lda, b, ldb, n, c, ldc);
}

void tnp_dgemm_nt_alone(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b, size_t ldb,
                        bool add, double *c, size_t ldc)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,
                add ? 1 : 0, c, (int)ldc);
}

void tnp_dgemm_tn_alone(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b, size_t ldb,
                        bool add, double *c, size_t ldc)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb,
                add ? 1 : 0, c, (int)ldc);
}

void tnp_ssyrk_cols_alone(size_t rows, size_t n, const float *x, size_t ldx, float beta, float *g)
{
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)n, (int)rows, 1, x, (int)ldx, beta, g, (int)n);
}

void tnp_solve_factored_float_alone(size_t rows, size_t n, const float *r, float *b)
{
    int order = (int)n, count = (int)rows, info = 0;
    spotrs_("L", &order, &count, r, &order, b, &order, &info);
}

/* What LAPACK says of a Cholesky factor. */
static tn_status factor_status(tn_ctx *ctx, int info)
{
    return info == 0 ? TN_OK
                     : tnp_fail(ctx, TN_ERR_NUMERIC, "Cholesky factor: not positive definite at column %d", info);
}

tn_status tnp_cholesky(tn_ctx *ctx, size_t n, double *a)
{
    int order = (int)n, info = 0;
    tn_status st = begin(ctx, n, n, n);
    if (st != TN_OK)
        return st;
    dpotrf_("L", &order, a, &order, &info);
    leave(ctx);
    return factor_status(ctx, info);
}

tn_status tnp_cholesky_float(tn_ctx *ctx, size_t n, float *a)
{
    int order = (int)n, info = 0;
    tn_status st = begin(ctx, n, n, n);
    if (st != TN_OK)
        return st;
    spotrf_("L", &order, a, &order, &info);
    leave(ctx);
    return factor_status(ctx, info);
}

tn_status tnp_solve_right(tn_ctx *ctx, size_t rows, size_t n, const double *r, double *b)
{
    tn_status st = begin(ctx, rows, n, n);
    if (st != TN_OK)
        return st;
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)rows, (int)n, 1, r, (int)n, b,
                (int)n);
    return leave(ctx);
}

tn_status tnp_invert(tn_ctx *ctx, size_t n, double *a, double *inverse)
{
    tn_status st = TN_OK;
    double *root = NULL; /* R^-1, of which the inverse is the product with its transpose */
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *root, &root));
    for (size_t i = 0; i < n; ++i)
        root[i * n + i] = 1;
    TN_TRY(tnp_cholesky(ctx, n, a));
    TN_TRY(tnp_solve_right(ctx, n, n, a, root));
    TN_TRY(tnp_dgemm_nt(ctx, n, n, n, root, n, root, n, 0, inverse, n));
done:
    tnp_free(root);
    return st;
}

tn_status tnp_solve_factored_float(tn_ctx *ctx, size_t rows, size_t n, const float *r, float *b)
{
    tn_status st = begin(ctx, rows, n, n);
    if (st != TN_OK)
        return st;
    tnp_solve_factored_float_alone(rows, n, r, b);
    return leave(ctx);
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
    TN_TRY(check_sides(ctx, n, n, n));
    dsytrd_("L", &order, a, &order, diag, off, tau, &answer, &query, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    enter(ctx);
    dsytrd_("L", &order, a, &order, diag, off, tau, work, &lwork, &info);
    leave(ctx);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "tridiagonal form: LAPACK dsytrd reports %d", info);
done:
    tnp_free(work);
    return st;
}

/* Of so many columns eigenvectors are found sooner by one thread: dsyevd is made of products so small that threads wait
 * for one another. One and two threads: n = 12 11 and 33 microseconds, 128 1.1 and 1.8 ms, 512 31 and 36 ms. */
enum { ALONE = 512 };

tn_status tnp_eigen(tn_ctx *ctx, size_t n, double *a, double *values)
{
    tn_status st = TN_OK;
    double *work = NULL, answer = 0;
    int *iwork = NULL, order = (int)n, query = -1, lwork = 0, liwork = 0, info = 0;
    TN_TRY(check_sides(ctx, n, n, n));
    dsyevd_("V", "L", &order, a, &order, values, &answer, &query, &liwork, &query, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    TN_TRY(tnp_alloc(ctx, (size_t)liwork, sizeof *iwork, &iwork));
    if (!ctx->holds_gate)
        enter_with(n <= ALONE ? 1 : tnp_min(ctx->threads, INT_MAX));
    dsyevd_("V", "L", &order, a, &order, values, work, &lwork, iwork, &liwork, &info);
    leave(ctx);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "eigenvectors: LAPACK dsyevd reports %d", info);
done:
    tnp_free_all(work, iwork);
    return st;
}

typedef void factor_fn(const int *, const int *, double *, const int *, double *, double *, const int *, int *);

/* Runs dgelqf or dgeqrf on LAPACK's m x n matrix a, lda = m. */
static tn_status factor(tn_ctx *ctx, factor_fn *run, size_t m, size_t n, double *a)
{
    tn_status st = TN_OK;
    double *work = NULL, *tau = NULL, answer = 0;
    int rows = (int)m, columns = (int)n, query = -1, lwork = 0, info = 0;
    TN_TRY(check_sides(ctx, m, n, 1));
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, tnp_min(m, n)), sizeof *tau, &tau));
    run(&rows, &columns, a, &rows, tau, &answer, &query, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    enter(ctx);
    run(&rows, &columns, a, &rows, tau, work, &lwork, &info);
    leave(ctx);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "triangular factor: LAPACK reports %d", info);
done:
    tnp_free_all(work, tau);
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
    TN_TRY(check_sides(ctx, n, n, n));
    TN_TRY(tnp_alloc(ctx, 8 * n, sizeof *iwork, &iwork));
    /* LAPACK sees the transpose: its left vectors are the right ones here. */
    dgesdd_("A", &order, &order, a, &order, values, right, &order, left, &order, &answer, &query, iwork, &info);
    TN_TRY(work_alloc(ctx, answer, &lwork, &work));
    enter(ctx);
    dgesdd_("A", &order, &order, a, &order, values, right, &order, left, &order, work, &lwork, iwork, &info);
    leave(ctx);
    if (info != 0)
        st = tnp_fail(ctx, TN_ERR_NUMERIC, "singular values: LAPACK dgesdd reports %d", info);
done:
    tnp_free_all(work, iwork);
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

const char *tnp_blas_advice(const char *config, const char *simd, bool avx2, bool avx512, bool intel)
{
    if (!strstr(config, "DYNAMIC_ARCH") || among(simd, wide512))
        return NULL;
    /* On AMD's AVX-512 processors the 256-bit kernels measured as fast: only slower sets are worth a restart. */
    if (among(simd, wide256))
        return avx512 && intel ? "SkylakeX" : NULL;
    return avx512 ? "SkylakeX" : avx2 ? "Haswell" : NULL;
}
