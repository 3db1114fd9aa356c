/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From feeds to moments: the one place where features are streamed into statistics. */
#ifndef TNP_GATHER_H
#define TNP_GATHER_H

#include "matrix/stats.h"
#include "tenon/transform.h"

/* Statistics of the feeds side by side (columns in their order) with the targets; all have the same rows. */
tn_status tnp_gather_stats(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                           tnp_stats **out);

/* products (N,N), upper triangle = X X' of one feed. With `shifted` a common vector is taken off all rows first:
 * the same after centring, and more digits. */
tn_status tnp_gather_products(tn_ctx *ctx, const tn_feed *feed, bool shifted, double *products);
/* Bytes of scratch that tnp_gather_products needs besides the result. */
size_t tnp_gather_products_bytes(const tn_feed *feed);

#endif
