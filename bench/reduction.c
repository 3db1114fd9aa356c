/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reduction to tridiagonal form by itself, of a random matrix that is in memory: the library's two stages, LAPACK's
 * single one, and what dgemm gives on this machine. It is made of the program's own objects and sees their headers, for
 * what is timed lies inside one call of the library.
 *
 * Usage: reduction N THREADS LAPACK      LAPACK 1: dsytrd too. Prints one JSON object: seconds; dgemm in GFLOP/s. */
#include "algebra/band.h"
#include "algebra/blas.h"

#include <stdio.h>
#include <stdlib.h>

enum { GEMM_ORDER = 2048 };

static void fill(size_t n, double *a)
{
    unsigned long long state = 88172645463325252ULL;
    for (size_t i = 0; i < n * n; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        a[i] = (double)(state >> 11) * 0x1p-53 - 0.5 + (i / n == i % n ? 1 : 0);
    }
}

static tn_status time_gemm(tn_ctx *ctx, double *gflops)
{
    tn_status st = TN_OK;
    const size_t n = GEMM_ORDER;
    double *a = NULL, *c = NULL;
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *a, &a));
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *c, &c));
    fill(n, a);
    for (int round = 0; round < 4; ++round) {
        double begin = tnp_seconds();
        TN_TRY(tnp_dgemm_nt(ctx, n, n, n, a, n, a, n, 0, c, n));
        double speed = 2e-9 * (double)(n * n * n) / (tnp_seconds() - begin);
        *gflops = speed > *gflops ? speed : *gflops;
    }
done:
    tnp_free(a);
    tnp_free(c);
    return st;
}

/* seconds: of the band, of both stages, of dsytrd (0: not asked for). */
static tn_status time_reductions(tn_ctx *ctx, size_t n, bool lapack, double seconds[3])
{
    tn_status st = TN_OK;
    double *a = NULL, *band = NULL, *factors = NULL, *diag = NULL, *off = NULL, begin;
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *a, &a));
    TN_TRY(tnp_alloc(ctx, tnp_band_columns(n) * TNP_BAND_HEIGHT, sizeof *band, &band));
    TN_TRY(tnp_alloc(ctx, n * TNP_BAND, sizeof *factors, &factors));
    TN_TRY(tnp_alloc(ctx, n, sizeof *diag, &diag));
    TN_TRY(tnp_alloc(ctx, n, sizeof *off, &off));
    fill(n, a);
    begin = tnp_seconds();
    TN_TRY(tnp_band_reduce(ctx, n, a, band, factors));
    seconds[0] = tnp_seconds() - begin;
    TN_TRY(tnp_band_chase(ctx, n, band, a, diag, off));
    seconds[1] = tnp_seconds() - begin;
    fill(n, a);
    begin = tnp_seconds();
    if (lapack) {
        TN_TRY(tnp_tridiagonalise(ctx, n, a, diag, off, factors));
        seconds[2] = tnp_seconds() - begin;
    }
done:
    tnp_free(a);
    tnp_free(band);
    tnp_free(factors);
    tnp_free(diag);
    tnp_free(off);
    return st;
}

int main(int argc, char **argv)
{
    tn_ctx *ctx = NULL;
    double gflops = 0, seconds[3] = {0};
    if (argc != 4 || tn_ctx_new(&ctx) != TN_OK)
        return 2;
    tn_ctx_set_threads(ctx, (size_t)strtoul(argv[2], NULL, 10));
    tn_status st = time_gemm(ctx, &gflops);
    if (st == TN_OK)
        st = time_reductions(ctx, (size_t)strtoul(argv[1], NULL, 10), argv[3][0] == '1', seconds);
    if (st != TN_OK)
        fprintf(stderr, "reduction: %s\n", tn_ctx_message(ctx));
    printf("{\"dgemm_gflops\": %.3f, \"band\": %.6f, \"two_stages\": %.6f, \"sytrd\": %.6f}\n", gflops, seconds[0],
           seconds[1], seconds[2]);
    tn_ctx_free(ctx);
    return st == TN_OK ? 0 : 1;
}
