/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A matrix of few rows and many columns that is asked column by column: tiles of eight columns, each (rows, 8) in one
 * piece. A product with all columns reads memory from front to back and keeps eight sums in registers, which neither
 * rows (as many streams as rows) nor single columns (one sum at a time) allow. */
#ifndef TNP_TILES_H
#define TNP_TILES_H

#include "base/base.h"

enum { TNP_TILE = 8, TNP_TILE_RUN = 64 }; /* columns a tile; tiles a block of parallel work */

typedef struct tnp_tiles {
    size_t rows, cols;
    size_t count; /* tiles; the columns behind cols are zero */
    double *data;
} tnp_tiles;

/* All zero. */
tn_status tnp_tiles_init(tn_ctx *ctx, size_t rows, size_t cols, tnp_tiles *tiles);
void tnp_tiles_destroy(tnp_tiles *tiles);

static inline double *tnp_tile(const tnp_tiles *tiles, size_t t)
{
    return tiles->data + t * tiles->rows * TNP_TILE;
}

static inline double *tnp_tile_at(const tnp_tiles *tiles, size_t row, size_t column)
{
    return tnp_tile(tiles, column / TNP_TILE) + row * TNP_TILE + column % TNP_TILE;
}

/* t (cols) = Z'q, in parallel. */
void tnp_tiles_product(tn_ctx *ctx, const tnp_tiles *tiles, const double *q, double *t);
/* z (rows): one column. */
void tnp_tiles_column(const tnp_tiles *tiles, size_t column, double *z);

#endif
