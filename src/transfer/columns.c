/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Raw columns in tiles; see transfer/columns.h. Floats stay floats: a million columns of twenty rows are 80 MB, and a
 * product with all of them is a matter of memory traffic, not of the subtraction that standardises on the way. The mean
 * is taken off every value and not off the sum: a column whose offset is far above its spread would lose its digits
 * there. Oracle: tests/unit/test_transfer_problem.c. */
#include "transfer/columns.h"
#include "simd/simd.h"

#include <string.h>

tn_status tnp_transfer_columns_new(tn_ctx *ctx, size_t rows, size_t cols, bool wide, tnp_transfer_columns **out)
{
    tn_status st = TN_OK;
    tnp_transfer_columns *c = NULL;
    size_t size = 0;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    c->rows = rows;
    c->cols = cols;
    c->tiles = cols / TNP_TILE + (cols % TNP_TILE != 0);
    TN_TRY(tnp_mul(ctx, rows, TNP_TILE * (wide ? sizeof(double) : sizeof(float)), &size));
    if (wide)
        TN_TRY(tnp_alloc(ctx, c->tiles, size, &c->wide));
    else
        TN_TRY(tnp_alloc(ctx, c->tiles, size, &c->narrow));
    *out = c;
    c = NULL;
done:
    tnp_transfer_columns_free(c);
    return st;
}

void tnp_transfer_columns_free(tnp_transfer_columns *columns)
{
    if (!columns)
        return;
    tnp_free_all(columns->narrow, columns->wide, columns->ends, columns);
}

tn_status tnp_transfer_columns_group(tn_ctx *ctx, tnp_transfer_columns *columns, size_t groups, size_t targets,
                                     const size_t *ends)
{
    tn_status st = tnp_alloc(ctx, groups, sizeof *columns->ends, &columns->ends);
    if (st != TN_OK)
        return st;
    memcpy(columns->ends, ends, groups * sizeof *ends);
    columns->groups = groups;
    columns->targets = targets;
    return TN_OK;
}

void tnp_transfer_put(tnp_transfer_columns *columns, size_t row, size_t first, size_t count, const float *x)
{
    for (size_t j = 0; j < count; ++j)
        if (columns->wide)
            columns->wide[tnp_transfer_place(columns, row, first + j)] = (double)x[j];
        else
            columns->narrow[tnp_transfer_place(columns, row, first + j)] = x[j];
}

void tnp_transfer_put_wide(tnp_transfer_columns *columns, size_t row, size_t first, size_t count, const double *x)
{
    for (size_t j = 0; j < count; ++j)
        columns->wide[tnp_transfer_place(columns, row, first + j)] = x[j];
}

void tnp_transfer_sums(const tnp_transfer_columns *columns, size_t tile, size_t count, const double *q, const double *u,
                       const double *mean, const double *inverse, double *t)
{
    size_t rows = columns->rows, at = tile * rows * TNP_TILE;
    if (columns->narrow) {
        tnp_simd_get()->centred_products(columns->narrow + at, count, rows, q, u, mean, inverse, t);
        return;
    }
    const double *x = columns->wide + at;
    for (size_t b = 0; b < count; ++b, x += rows * TNP_TILE, mean += TNP_TILE, inverse += TNP_TILE, t += TNP_TILE) {
        double sum[TNP_TILE] = {0};
        for (size_t i = 0; i < rows; ++i)
            for (size_t l = 0; l < TNP_TILE; ++l)
                sum[l] += q[i] * u[i] * (x[i * TNP_TILE + l] - mean[l]);
        for (size_t l = 0; l < TNP_TILE; ++l)
            t[l] = sum[l] * inverse[l];
    }
}
