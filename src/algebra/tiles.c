/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Columns in tiles; see tiles.h. Oracle: tests/unit/test_transfer_problem.c. */
#include "algebra/tiles.h"
#include "simd/simd.h"

#include <string.h>

tn_status tnp_tiles_init(tn_ctx *ctx, size_t rows, size_t cols, tnp_tiles *tiles)
{
    size_t count = cols / TNP_TILE + (cols % TNP_TILE != 0), size = 0;
    tn_status st = TN_OK;
    tnp_tiles made = {rows, cols, count, NULL};
    TN_TRY(tnp_mul(ctx, rows, TNP_TILE, &size));
    TN_TRY(tnp_mul(ctx, size, sizeof(double), &size));
    TN_TRY(tnp_alloc(ctx, count, size, &made.data));
    *tiles = made;
done:
    return st;
}

void tnp_tiles_destroy(tnp_tiles *tiles)
{
    tnp_free(tiles->data);
    tiles->data = NULL;
}

typedef struct product_job {
    const tnp_tiles *tiles;
    const double *q;
    double *t;
} product_job;

static void product_run(void *arg, size_t run)
{
    const product_job *job = arg;
    const tnp_tiles *z = job->tiles;
    size_t first = run * TNP_TILE_RUN, count = tnp_min(TNP_TILE_RUN, z->count - first);
    double t[TNP_TILE_RUN * TNP_TILE];
    tnp_simd_get()->tile_products(tnp_tile(z, first), count, z->rows, job->q, t);
    memcpy(job->t + first * TNP_TILE, t, tnp_min(count * TNP_TILE, z->cols - first * TNP_TILE) * sizeof *t);
}

void tnp_tiles_product(tn_ctx *ctx, const tnp_tiles *tiles, const double *q, double *t)
{
    product_job job = {tiles, q, t};
    size_t runs = (tiles->count + TNP_TILE_RUN - 1) / TNP_TILE_RUN;
    double flops = 2.0 * (double)tiles->rows * (double)tiles->cols;
    tnp_parallel(ctx, tnp_threads_for(ctx, flops), runs, product_run, &job);
}

void tnp_tiles_column(const tnp_tiles *tiles, size_t column, double *z)
{
    for (size_t i = 0; i < tiles->rows; ++i)
        z[i] = *tnp_tile_at(tiles, i, column);
}
