/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order in which the passes of an online learner visit its rows. */
#ifndef TNP_VISIT_ORDER_H
#define TNP_VISIT_ORDER_H

#include "base/base.h"

typedef struct tnp_visit_order {
    size_t rows, run,
        stretch; /* runs of rows are kept together until their stretch is shuffled; all one: plain shuffle */
    bool shuffle;
    size_t *order; /* rows: the present pass */
    size_t *runs;  /* its runs, in order; NULL for a plain shuffle */
    size_t run_count;
} tnp_visit_order;

/* For rows of row_bytes each, as they lie in their files. */
tn_status tnp_visit_order_init(tn_ctx *ctx, size_t rows, size_t row_bytes, bool shuffle, tnp_visit_order *order);
void tnp_visit_order_destroy(tnp_visit_order *order);
/* Draws the order of a pass from its own random stream. */
void tnp_visit_order_draw(tnp_visit_order *order, uint64_t seed, size_t pass);

#endif
