/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of all pairs of a design's rows, G = X X'. Bands of rows are multiplied with themselves and with all rows
 * behind them; the lower half is mirrored. A resident band lies where it is; a streamed one is copied from the design's
 * blocks, as many as fit, and the blocks behind it are read past it. Designs that are mostly zeros go another way,
 * design_sparse.c.
 *
 * One product for the whole was refused: it cannot be interrupted, and streamed rows are not there. Double products,
 * which the ridge takes (gather.c), were refused: the scores that the Gram stands for are float products too. */
#include "learn/design/design_sparse.h"
#include "algebra/blas.h"

#include <string.h>

enum { BAND_ROWS = 512, BAND_BYTES = 256 << 20, TILE = 64 };

size_t tnp_design_gram_bytes(size_t rows, size_t dim)
{
    return 4 * (rows * rows + tnp_design_block_rows(rows, dim) * dim);
}

/* Rows a band of a streamed design: whole blocks, at least one. */
static size_t streamed_band(const tn_ctx *ctx, const tnp_design *d)
{
    size_t block = d->block * d->dim * sizeof(float);
    return tnp_min(d->rows, d->block * tnp_max(1, tnp_min(tnp_budget_left(ctx), BAND_BYTES) / block));
}

/* Copies rows [start, start + count), which begin with a block, into band. */
static tn_status fill_band(tn_ctx *ctx, tnp_design *d, size_t start, size_t count, float *band)
{
    for (size_t at = start, n; at < start + count; at += n) {
        const float *x = NULL;
        size_t first;
        tn_status st = tnp_design_block(ctx, d, at / d->block, &x, &first, &n);
        if (st != TN_OK)
            return st;
        memcpy(band + (at - start) * d->dim, x, n * d->dim * sizeof *band);
    }
    return TN_OK;
}

/* G[start .. start + count, start ..]: band (count, dim) times itself and the rows behind it. */
static tn_status multiply(tn_ctx *ctx, tnp_design *d, const float *band, size_t start, size_t count, float *gram)
{
    tn_status st = TN_OK;
    size_t dim = d->dim, n = d->resident ? d->rows - start : count;
    TN_TRY(tnp_sgemm_nt(ctx, count, n, dim, band, dim, band, dim, 0, gram + start * d->rows + start, d->rows));
    for (size_t at = start + n; at < d->rows; at += n) {
        const float *x = NULL;
        size_t first;
        TN_TRY(tnp_design_block(ctx, d, at / d->block, &x, &first, &n));
        TN_TRY(tnp_sgemm_nt(ctx, count, n, dim, band, dim, x, dim, 0, gram + start * d->rows + at, d->rows));
    }
done:
    return st;
}

typedef struct mirror_job {
    float *gram;
    size_t rows;
} mirror_job;

/* Rows [TILE t, ...): what lies left of the diagonal, tile by tile, so that both sides stay in the cache. */
static void mirror_rows(void *arg, size_t t)
{
    const mirror_job *job = arg;
    size_t n = job->rows, end = tnp_min((t + 1) * TILE, n);
    for (size_t from = 0; from < end; from += TILE)
        for (size_t i = t * TILE; i < end; ++i)
            for (size_t j = from; j < tnp_min(from + TILE, i); ++j)
                job->gram[i * n + j] = job->gram[j * n + i];
}

/* The upper triangle, by products of bands. */
static tn_status multiply_bands(tn_ctx *ctx, tnp_design *d, float *gram)
{
    tn_status st = TN_OK;
    float *band = NULL;
    size_t n = d->rows, rows = d->resident ? BAND_ROWS : streamed_band(ctx, d);
    if (!d->resident)
        TN_TRY(tnp_alloc_raw(ctx, rows * d->dim, sizeof *band, &band));
    for (size_t start = 0; start < n; start += rows) {
        size_t count = tnp_min(rows, n - start);
        TN_TRY(tnp_progress(ctx, "products of rows", start, n));
        if (!d->resident)
            TN_TRY(fill_band(ctx, d, start, count, band));
        TN_TRY(multiply(ctx, d, band ? band : d->data + start * d->dim, start, count, gram));
    }
    TN_TRY(tnp_progress(ctx, "products of rows", n, n));
done:
    tnp_free(band);
    return st;
}

tn_status tnp_design_gram(tn_ctx *ctx, tnp_design *d, const float **out)
{
    tn_status st = TN_OK;
    float *gram = NULL;
    bool sparse = false;
    size_t n = d->rows, entries = 0, group = tnp_design_group(d);
    if (d->gram) {
        *out = d->gram;
        return TN_OK;
    }
    TN_TRY(tnp_mul(ctx, n, n, &entries));
    TN_TRY(tnp_alloc_raw(ctx, entries, sizeof *gram, &gram));
    if (group > 1)
        TN_TRY(tnp_design_is_sparse(ctx, d, group, &sparse));
    TN_TRY(sparse ? tnp_design_gram_sparse(ctx, d, group, gram) : multiply_bands(ctx, d, gram));
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)n * (double)n), (n + TILE - 1) / TILE, mirror_rows,
                 &(mirror_job){gram, n});
    *out = d->gram = gram;
    gram = NULL;
done:
    tnp_free(gram);
    return st;
}
