/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From feeds to moments: the one place where features are streamed into statistics. */
#ifndef TNP_GATHER_H
#define TNP_GATHER_H

#include "matrix/moments.h"
#include "tenon/transform.h"

/* Columns of feeds side by side, and their rows [start, start + n) into out, ld apart: as float, or as double. */
size_t tnp_feeds_cols(const tn_feed *const *feeds, size_t count);
tn_status tnp_feeds_read(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t start, size_t n, float *out,
                         size_t ld);
tn_status tnp_feeds_read_wide(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t start, size_t n,
                              double *out, size_t ld);

/* Rows rows[0], ..., rows[n - 1] of them into out (n, columns), as double, less `centre` (columns) where it is not
 * NULL. */
tn_status tnp_feeds_pick_wide(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const size_t *rows, size_t n,
                              const double *centre, double *out);

/* Statistics of the feeds side by side (columns in their order) with the targets; all have the same rows. In float
 * where the files are, the rows have no weights, and the values are of a size that float can square; else in double. */
tn_status tnp_gather_moments(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                             tnp_moments **out);
/* The same in double about `shift` (all columns), or about the mean of the first block when it is NULL. */
tn_status tnp_gather_moments_wide(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                                  const double *shift, tnp_moments **out);
/* TN_ERR_DATA when deviations of this size have squares that double cannot tell from 0 or infinity. */
tn_status tnp_check_range(tn_ctx *ctx, double largest);
/* The same of the columns of moments in double. */
tn_status tnp_check_squares(tn_ctx *ctx, const tnp_moments *moments);

/* products (N,N), upper triangle = X X' of one feed. With `shifted` a common vector is taken off all rows first:
 * the same after centring, and more digits. */
tn_status tnp_gather_products(tn_ctx *ctx, const tn_feed *feed, bool shifted, double *products);
/* Bytes of scratch that tnp_gather_products needs besides the result. */
size_t tnp_gather_products_bytes(const tn_feed *feed);

#endif
