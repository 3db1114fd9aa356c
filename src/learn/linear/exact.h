/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One column of a linear classifier by Newton's method with the whole Hessian, in double: for problems that first-order
 * steps and float sums do not get through. */
#ifndef TNP_EXACT_H
#define TNP_EXACT_H

#include "learn/design/rows.h"
#include "learn/linear/margin_loss.h"

typedef struct tnp_exact_options {
    tnp_margin loss;
    bool bias, penalised;
    double tolerance;
    size_t max_passes; /* over the rows, for each column */
} tnp_exact_options;

/* Trains the columns cols[0..count), ascending, one after the other, from w (columns->count, dim + 1) on: w, objective
 * and gap are as those of tnp_certify, and stay where they are when the gap does not become smaller. alpha (rows,
 * columns->count), or NULL: receives the multipliers. *passes is raised by those over the rows of the column that took
 * most. Columns that the budget has no room for are left as they are. */
tn_status tnp_exact_solve(tn_ctx *ctx, const tnp_rows *x, const tnp_columns *columns, const size_t *cols, size_t count,
                          const tnp_exact_options *options, float *alpha, float *w, double *objective, double *gap,
                          size_t *passes);

/* Bytes that a column needs when so many of its rows are active. */
size_t tnp_exact_bytes(size_t rows, size_t dim, size_t active);
/* Flops that a column is likely to take when so many of its rows are active. */
double tnp_exact_flops(size_t rows, size_t dim, size_t active, tnp_margin loss);

#endif
