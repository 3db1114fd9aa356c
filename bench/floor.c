/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine's floor for one ranking: what the library routines that nobody can leave out take alone, on random
 * numbers that are already in memory.
 *
 *   ssyrk    Gram matrix of X (N, D), in the row blocks that tenon uses; for N < D one product, the N x N Gram
 *   dsytrd   its tridiagonal form, order n = min(N, D)
 *   dormtr   the orthogonal factor applied to K right-hand sides
 *   dsterf   eigenvalues of the tridiagonal form (told, not counted: it can overlap other work)
 *   sgemm    speed of the 2048 product
 *
 * Usage: floor N D K        Prints one JSON object, seconds of the best of some repetitions.
 * Reading, normalising, adding the float blocks up in double, labels and the iterations are tenon's own and not in
 * here. LAPACK is declared by hand: the headers of OpenBLAS are for src/algebra/blas.c alone. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int openblas_get_num_threads(void);
char *openblas_get_corename(void);
void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc);
void ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha, const float *a,
            const int *lda, const float *beta, float *c, const int *ldc);
void dsytrd_(const char *uplo, const int *n, double *a, const int *lda, double *d, double *e, double *tau, double *work,
             const int *lwork, int *info);
void dormtr_(const char *side, const char *uplo, const char *trans, const int *m, const int *n, const double *a,
             const int *lda, const double *tau, double *c, const int *ldc, double *work, const int *lwork, int *info);
void dsterf_(const int *n, double *d, double *e, int *info);

enum { GEMM_ORDER = 2048, LWORK_PER_ROW = 128 };

typedef struct times {
    double syrk, sytrd, ormtr, sterf;
} times;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p) {
        fprintf(stderr, "floor: %zu x %zu bytes are not to be had\n", count, size);
        exit(1);
    }
    return p;
}

static void keep_least(double *least, double seconds)
{
    if (*least == 0 || seconds < *least)
        *least = seconds;
}

/* Uniform in [-1, 1): a multiplicative generator is enough for work whose time does not depend on the values. */
static void fill(float *x, size_t count)
{
    unsigned long long state = 88172645463325252ULL;
    for (size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        x[i] = (float)(state >> 40) * 0x1p-23F - 1;
    }
}

/* g: (n, n). The rows of x are the columns of LAPACK's matrix. */
static double time_syrk(int rows, int dim, const float *x, float *g)
{
    const float one = 1, zero = 0;
    int block = dim < 256 ? 256 : dim > 1024 ? 1024 : dim;
    double start = now();
    if (rows < dim) {
        ssyrk_("L", "T", &rows, &dim, &one, x, &dim, &zero, g, &rows);
        return now() - start;
    }
    for (int i = 0; i < rows; i += block) {
        int count = rows - i < block ? rows - i : block;
        ssyrk_("L", "N", &dim, &count, &one, x + (size_t)i * (size_t)dim, &dim, &zero, g, &dim);
    }
    return now() - start;
}

static void time_lapack(int n, int classes, const float *g, times *best)
{
    size_t order = (size_t)n, wide = (size_t)(n > classes ? n : classes);
    int lwork = (int)wide * LWORK_PER_ROW, info = 0;
    double *a = need(order * order, sizeof *a), *c = need(order * (size_t)classes, sizeof *c);
    double *diag = need(order, sizeof *diag), *off = need(order, sizeof *off), *tau = need(order, sizeof *tau);
    double *work = need((size_t)lwork, sizeof *work);
    for (size_t i = 0; i < order * order; ++i)
        a[i] = g[i];
    for (size_t i = 0; i < order * (size_t)classes; ++i)
        c[i] = g[i % (order * order)];
    double start = now();
    dsytrd_("L", &n, a, &n, diag, off, tau, work, &lwork, &info);
    keep_least(&best->sytrd, now() - start);
    start = now();
    dormtr_("L", "L", "T", &n, &classes, a, &n, tau, c, &n, work, &lwork, &info);
    keep_least(&best->ormtr, now() - start);
    start = now();
    dsterf_(&n, diag, off, &info);
    keep_least(&best->sterf, now() - start);
    free(work);
    free(tau);
    free(off);
    free(diag);
    free(c);
    free(a);
}

static double gemm_gflops(void)
{
    const int n = GEMM_ORDER;
    const float one = 1, zero = 0;
    size_t cells = (size_t)n * (size_t)n;
    float *a = need(cells, sizeof *a), *c = need(cells, sizeof *c);
    double best = 0;
    fill(a, cells);
    for (int i = 0; i < 5; ++i) {
        double start = now();
        sgemm_("N", "T", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
        keep_least(&best, now() - start);
    }
    free(a);
    free(c);
    return 2.0 * n * n * n / best * 1e-9;
}

int main(int argc, char **argv)
{
    int rows = argc == 4 ? atoi(argv[1]) : 0, dim = argc == 4 ? atoi(argv[2]) : 0;
    int classes = argc == 4 ? atoi(argv[3]) : 0;
    if (rows < 1 || dim < 1 || classes < 1) {
        fprintf(stderr, "usage: floor N D K\n");
        return 2;
    }
    int n = rows < dim ? rows : dim, repeats = n > 2048 ? 2 : 4;
    float *x = need((size_t)rows * (size_t)dim, sizeof *x), *g = need((size_t)n * (size_t)n, sizeof *g);
    times best = {0, 0, 0, 0};
    fill(x, (size_t)rows * (size_t)dim);
    for (int i = 0; i < repeats; ++i) {
        keep_least(&best.syrk, time_syrk(rows, dim, x, g));
        time_lapack(n, classes, g, &best);
    }
    printf("{\"syrk\":%.6f,\"sytrd\":%.6f,\"ormtr\":%.6f,\"sterf\":%.6f,\"sgemm_gflops\":%.1f,\"threads\":%d,"
           "\"kernels\":\"%s\"}\n",
           best.syrk, best.sytrd, best.ormtr, best.sterf, gemm_gflops(), openblas_get_num_threads(),
           openblas_get_corename());
    free(g);
    free(x);
    return 0;
}
