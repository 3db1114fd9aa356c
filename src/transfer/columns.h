/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features and source scores of the rows that transfer learns from, as they came: features first, scores behind. Put in
 * row by row, asked column by column, so they lie in tiles of eight columns (algebra/tiles.h). Problems with other
 * labels or other row weights borrow the same columns and standardise them while they read: every column by a scale of
 * its own, or, where the columns are grouped, those of one representation by the same one (transfer/problem.c). */
#ifndef TNP_TRANSFER_COLUMNS_H
#define TNP_TRANSFER_COLUMNS_H

#include "algebra/tiles.h"

typedef struct tnp_transfer_columns {
    size_t rows, cols;
    size_t tiles;  /* columns behind cols are zero */
    float *narrow; /* (tiles, rows, TNP_TILE), or NULL when */
    double *wide;  /* some file has doubles */
    /* Representations and sources, in order; 0: none are told apart. */
    size_t groups, targets; /* the first `targets` of them are the target's */
    size_t *ends;           /* (groups): behind their last column */
    double share; /* of the sources in the sum of squares of all columns; 0: as much as a representation has */
} tnp_transfer_columns;

/* All zero. wide: keep doubles. Owned by the caller, free with tnp_transfer_columns_free. */
tn_status tnp_transfer_columns_new(tn_ctx *ctx, size_t rows, size_t cols, bool wide, tnp_transfer_columns **out);
void tnp_transfer_columns_free(tnp_transfer_columns *columns);

/* Tells which columns belong together; ends (groups) rise to cols and are copied. */
tn_status tnp_transfer_columns_group(tn_ctx *ctx, tnp_transfer_columns *columns, size_t groups, size_t targets,
                                     const size_t *ends);

/* Columns [first, first + count) of one row; double values only into wide columns. */
void tnp_transfer_put(tnp_transfer_columns *columns, size_t row, size_t first, size_t count, const float *x);
void tnp_transfer_put_wide(tnp_transfer_columns *columns, size_t row, size_t first, size_t count, const double *x);

/* Where a value lies. */
static inline size_t tnp_transfer_place(const tnp_transfer_columns *columns, size_t row, size_t column)
{
    return (column / TNP_TILE * columns->rows + row) * TNP_TILE + column % TNP_TILE;
}

static inline double tnp_transfer_value(const tnp_transfer_columns *columns, size_t row, size_t column)
{
    size_t at = tnp_transfer_place(columns, row, column);
    return columns->wide ? columns->wide[at] : (double)columns->narrow[at];
}

/* x: one row of a tile. */
static inline void tnp_transfer_lanes(const tnp_transfer_columns *columns, size_t tile, size_t row, double x[TNP_TILE])
{
    size_t at = (tile * columns->rows + row) * TNP_TILE;
    for (size_t l = 0; l < TNP_TILE; ++l)
        x[l] = columns->wide ? columns->wide[at + l] : (double)columns->narrow[at + l];
}

/* t_j = inverse_j sum_i q_i u_i (x_ij - mean_j) over the columns of `count` tiles; q, u (rows). */
void tnp_transfer_sums(const tnp_transfer_columns *columns, size_t tile, size_t count, const double *q, const double *u,
                       const double *mean, const double *inverse, double *t);

#endif
