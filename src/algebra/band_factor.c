/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Quadratic forms z'(B + lambda I)^-1 z of many vectors by a Cholesky factor of the band: with blocks D_i on the diagonal
 * of B and E_i left of them, (TNP_BAND, TNP_BAND) each,
 *
 *   G_i = E_i L_(i-1)^-T     L_i L_i' = D_i + lambda I - G_i G_i'     x_i = L_i^-1 (z_i - G_i x_(i-1))     form = |x|^2
 *
 * and with x itself, L^-1 z, products z'(B + lambda I)^-1 z of different vectors. Each block's factor is kept as its
 * inverse, so that both steps are products of blocks for 32 vectors at once: twice the flops of a substitution entry by
 * entry at four times its speed. The way back is not needed.
 *
 * Oracle: dense Cholesky, tests/unit/test_band.c. */
#include "algebra/band.h"

#include <math.h>
#include <string.h>

enum { B = TNP_BAND, SQUARE = B * B };

struct tnp_band_factor {
    size_t n, blocks;
    const double *band; /* borrowed */
    double *inverse;    /* (blocks, B, B): L_i^-1 */
    double *below;      /* (blocks, B, B): -G_i */
};

tn_status tnp_band_factor_new(tn_ctx *ctx, size_t n, const double *band, tnp_band_factor **out)
{
    tn_status st = TN_OK;
    tnp_band_factor *f = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *f, &f));
    f->n = n;
    f->blocks = (n + B - 1) / B;
    f->band = band;
    TN_TRY(tnp_alloc_raw(ctx, f->blocks * SQUARE, sizeof(double), &f->inverse));
    TN_TRY(tnp_alloc_raw(ctx, f->blocks * SQUARE, sizeof(double), &f->below));
    *out = f;
    f = NULL;
done:
    tnp_band_factor_free(f);
    return st;
}

void tnp_band_factor_free(tnp_band_factor *f)
{
    if (!f)
        return;
    tnp_free_all(f->inverse, f->below, f);
}

/* Entry (i, j), i >= j, of B + lambda I, and of the identity behind its end: it has the logarithm 0 and form 0. */
static double entry(const tnp_band_factor *f, size_t i, size_t j, double lambda)
{
    if (i >= f->n)
        return i == j ? 1 : 0;
    return i - j <= B ? f->band[j * (B + 1) + i - j] + (i == j ? lambda : 0) : 0;
}

/* l (B, B), lower triangle = its Cholesky factor. */
static bool cholesky(double *l, double *logdet)
{
    for (size_t j = 0; j < B; ++j) {
        for (size_t i = j; i < B; ++i) {
            double sum = l[i * B + j];
            for (size_t k = 0; k < j; ++k)
                sum -= l[i * B + k] * l[j * B + k];
            if (i == j && !(sum > 0))
                return false;
            l[i * B + j] = i == j ? sqrt(sum) : sum / l[j * B + j];
        }
        *logdet += 2 * log(l[j * B + j]);
    }
    return true;
}

/* inverse = l^-1, zeros above the diagonal. */
static void invert(const double *l, double *inverse)
{
    memset(inverse, 0, SQUARE * sizeof *inverse);
    for (size_t j = 0; j < B; ++j) {
        inverse[j * B + j] = 1 / l[j * B + j];
        for (size_t i = j + 1; i < B; ++i) {
            double sum = 0;
            for (size_t k = j; k < i; ++k)
                sum += l[i * B + k] * inverse[k * B + j];
            inverse[i * B + j] = -sum / l[i * B + i];
        }
    }
}

tn_status tnp_band_factor_at(tn_ctx *ctx, tnp_band_factor *f, double lambda, double *logdet)
{
    const tnp_band_loops *k = tnp_simd_get()->bands;
    *logdet = 0;
    for (size_t b = 0; b < f->blocks; ++b) {
        double l[SQUARE], turned[SQUARE], *below = f->below + b * SQUARE;
        for (size_t i = 0; i < B; ++i)
            for (size_t j = 0; j < B; ++j)
                l[i * B + j] = entry(f, b * B + (i > j ? i : j), b * B + (i > j ? j : i), lambda);
        if (b > 0) { /* below = -E L^-T: by columns of L^-1, which are rows of its transpose */
            double left[SQUARE];
            const double *before = f->inverse + (b - 1) * SQUARE;
            for (size_t i = 0; i < B; ++i)
                for (size_t j = 0; j < B; ++j) {
                    left[i * B + j] = -entry(f, b * B + i, (b - 1) * B + j, 0);
                    turned[i * B + j] = before[j * B + i];
                }
            memset(below, 0, SQUARE * sizeof *below);
            k->block_add(B, B, left, B, 1, turned, below, B);
            for (size_t i = 0; i < SQUARE; ++i)
                turned[i] = -below[i % B * B + i / B];
            k->block_add(B, B, below, B, 1, turned, l, B);
        }
        if (!cholesky(l, logdet))
            return tnp_fail(ctx, TN_ERR_NUMERIC, "band form: not positive definite at lambda %g", lambda);
        invert(l, f->inverse + b * SQUARE);
    }
    return TN_OK;
}

typedef struct half_job {
    const tnp_band_factor *f;
    const double *tiles;
    size_t count;
    double *forms;  /* count; or NULL */
    double *solved; /* (n, count); or NULL */
} half_job;

/* Rows [row, row + B) of x for the vectors of a tile. */
static void keep_rows(const half_job *job, size_t tile, size_t row, const double *x)
{
    size_t width = tnp_min(B, job->count - tile * B), rows = tnp_min(B, job->f->n - row);
    for (size_t i = 0; i < rows; ++i)
        memcpy(job->solved + (row + i) * job->count + tile * B, x + i * B, width * sizeof *x);
}

static void half_tile(void *arg, size_t tile)
{
    const half_job *job = arg;
    const tnp_band_factor *f = job->f;
    const tnp_band_loops *k = tnp_simd_get()->bands;
    double x[2][SQUARE] = {{0}}, z[SQUARE], sum[B] = {0};
    for (size_t b = 0; b < f->blocks; ++b) {
        double *now = x[b % 2];
        const double *rows = job->tiles + (tile * f->n + b * B) * B;
        size_t values = tnp_min(B, f->n - b * B) * B;
        memcpy(z, rows, values * sizeof *z);
        memset(z + values, 0, (SQUARE - values) * sizeof *z);
        if (b > 0)
            k->block_add(B, B, f->below + b * SQUARE, B, 1, x[1 - b % 2], z, B);
        memset(now, 0, SQUARE * sizeof *now);
        k->block_add(B, B, f->inverse + b * SQUARE, B, 1, z, now, B);
        for (size_t i = 0; i < SQUARE; ++i)
            sum[i % B] += now[i] * now[i];
        if (job->solved)
            keep_rows(job, tile, b * B, now);
    }
    if (job->forms)
        memcpy(job->forms + tile * B, sum, tnp_min(B, job->count - tile * B) * sizeof *sum);
}

static void half(tn_ctx *ctx, half_job *job)
{
    double flops = 4.0 * B * (double)job->count * (double)job->f->n;
    tnp_parallel(ctx, tnp_threads_for(ctx, flops), (job->count + B - 1) / B, half_tile, job);
}

void tnp_band_forms(tn_ctx *ctx, const tnp_band_factor *f, const double *tiles, size_t count, double *out)
{
    half(ctx, &(half_job){f, tiles, count, out, NULL});
}

void tnp_band_half(tn_ctx *ctx, const tnp_band_factor *f, const double *tiles, size_t count, double *out)
{
    half(ctx, &(half_job){f, tiles, count, NULL, out});
}
