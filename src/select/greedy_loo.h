/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How well greedy selection predicts rows that it has not seen. */
#ifndef TNP_GREEDY_LOO_H
#define TNP_GREEDY_LOO_H

#include "select/greedy_transfer.h"

enum { TNP_GREEDY_PARTS = 32 };

/* predicted (count + 1, rows): what the first s picks, s = 0 .. count, of a path that was walked without the row say of it; a path
 * that ends earlier is asked as a whole. score (count + 1): of those. Up to TNP_GREEDY_PARTS rows one by one; more rows in that
 * many parts, into which the rows of one class and then those of the other are dealt out in turn. balanced: class weights,
 * those of the rows that stay. Where one class only stays it is the prediction. Costs as many paths as there are parts. */
tn_status tnp_greedy_loo(tn_ctx *ctx, const tnp_transfer_columns *columns, const double *y, bool balanced,
                         double lambda, double delta, size_t count, double *predicted, tnp_transfer_score *score);
/* The number of picks with the best of the count + 1 scores; of equals the fewest. */
size_t tnp_greedy_best(const tnp_transfer_score *score, size_t count);

#endif
