/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over rows in memory whose products are small: groups of rows side by side, each by one thread from the scores
 * to its part of the sums. */
#ifndef TNP_TILES_H
#define TNP_TILES_H

#include "learn/design/rows.h"

/* Rows (rows, dim), ld apart. */
typedef struct tnp_tiled_rows {
    const float *x;
    size_t ld, rows, dim;
} tnp_tiled_rows;

/* Whether a pass is worth it and may be made so: its body has a chunk, and its parts of the sums are few numbers that the
 * budget has memory for. */
bool tnp_tiles_suit(const tn_ctx *ctx, size_t rows, size_t dim, const tnp_pass *pass);
bool tnp_tiles_suit_wide(const tn_ctx *ctx, size_t rows, size_t dim, const tnp_wide_pass *pass);
/* Bytes that a pass with a body without scratch takes. */
size_t tnp_tiles_bytes(size_t rows, size_t dim, size_t k, size_t chunk, size_t sum_count);
tn_status tnp_tiles_pass(tn_ctx *ctx, const tnp_tiled_rows *x, const tnp_pass *pass);
/* *longest is what it was, or larger. */
tn_status tnp_tiles_wide_pass(tn_ctx *ctx, const tnp_tiled_rows *x, const tnp_wide_pass *pass);

#endif
