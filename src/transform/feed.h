/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Feeds for readers that choose their own order of rows. */
#ifndef TNP_FEED_H
#define TNP_FEED_H

#include "base/base.h"
#include "tenon/transform.h"

/* Rows rows[0], rows[1], ... of the feed, in that order, else as tn_feed_read. */
tn_status tnp_feed_pick(tn_ctx *ctx, const tn_feed *feed, const size_t *rows, size_t count, float *out, size_t stride);
/* Advice to the system: rows [start, start + count) of the feed will be read soon, or are no longer needed. */
void tnp_feed_expect(const tn_feed *feed, size_t start, size_t count, bool soon);

#endif
