/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Support vector machines with the squared hinge by Newton's method, whose Hessian sees the active rows only: those
 * short of their margin. */
#ifndef TNP_ACTIVE_H
#define TNP_ACTIVE_H

#include "learn/design/rows.h"
#include "learn/linear/margin_loss.h"

typedef struct tnp_active_options {
    bool bias, penalised; /* whether there is an intercept, and whether it is a weight like any other */
    double tolerance;     /* a column is left when it is this close to its optimum, beside its objective */
    size_t max_passes;    /* over the rows, for each column */
    bool rough;           /* nobody certifies it: `tolerance` is by floats */
} tnp_active_options;

/* Solves the columns cols[0..count). w (columns->count, dim + 1), intercept last: where to start (zeros, or the result
 * for another C or for nearly the same rows) and the result. *passes is raised by those over the rows of the column that
 * took most. objective and gap (columns->count) receive f and about how far it is above the minimum, infinite where that
 * is not known; what is certain is learn/certify.h's to say. A column whose rows are too badly conditioned for floats is
 * left where it is. The rows must be at hand (tnp_rows_ops.at_hand), else they are copied. */
tn_status tnp_active_solve(tn_ctx *ctx, const tnp_rows *x, const tnp_columns *columns, const size_t *cols, size_t count,
                           const tnp_active_options *options, float *w, double *objective, double *gap, size_t *passes);
/* The largest cost times the mean square of rows with their constant: how far it is from no weights to the optimum. */
tn_status tnp_active_reach(tn_ctx *ctx, const tnp_rows *x, const tnp_columns *columns, bool bias, double *reach);
/* Bytes that it needs at least besides the rows. */
size_t tnp_active_bytes(size_t rows, size_t dim);
/* About how many flops of a large product a column takes from a place that has nearly its active rows, `active` of
 * them. */
double tnp_active_flops(size_t rows, size_t dim, size_t active);

#endif
