/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How well a method predicts rows that it has not seen, when everything it does is done again without them. */
#ifndef TNP_TRANSFER_LOO_H
#define TNP_TRANSFER_LOO_H

#include "transfer/greedy.h"
#include "transfer/ridge.h"

enum { TNP_LEAVE_SINGLY = 32, TNP_LEAVE_MANY = 320, TNP_LEAVE_FEW_PARTS = 10 };

/* In how many parts rows are left out: one by one up to TNP_LEAVE_SINGLY, in that many parts up to TNP_LEAVE_MANY, else
 * in TNP_LEAVE_FEW_PARTS, where what stays is enough. */
static inline size_t tnp_leave_parts(size_t rows)
{
    return rows > TNP_LEAVE_MANY ? TNP_LEAVE_FEW_PARTS : rows > TNP_LEAVE_SINGLY ? TNP_LEAVE_SINGLY : rows;
}

/* What is left out of: columns and labels -1 and 1 of all rows; balanced: class weights, those of the rows that stay.
 * Into several parts the rows of one class and then those of the other are dealt out in turn. Where one class only
 * stays it is the prediction. Costs as many fits as there are parts. */
typedef struct tnp_leaving {
    const tnp_transfer_columns *columns;
    const double *y;
    bool balanced;
    const double *row_weight; /* (rows) above 0, or NULL: all alike */
} tnp_leaving;

/* The greedy path. predicted (count + 1, rows): of the first s picks, s = 0 .. count; a path that ends earlier is asked
 * as a whole. score (count + 1): of those. */
tn_status tnp_leave_greedy(tn_ctx *ctx, const tnp_leaving *leaving, double lambda, double delta, size_t count,
                           double *predicted, tnp_transfer_score *score);
/* The number of picks with the best of the count + 1 scores; of equals the fewest. */
size_t tnp_greedy_best(const tnp_transfer_score *score, size_t count);

/* Ridge, its lambda and tau chosen by the rows that stay. predicted (rows). */
tn_status tnp_leave_ridge(tn_ctx *ctx, const tnp_leaving *leaving, size_t features, tnp_ridge_method method,
                          double *predicted, tnp_transfer_score *score);

#endif
