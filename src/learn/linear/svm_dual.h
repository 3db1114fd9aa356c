/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linear support vector machines by dual coordinate descent, all columns side by side. */
#ifndef TNP_SVM_DUAL_H
#define TNP_SVM_DUAL_H

#include "learn/design/design.h"
#include "learn/linear/margin_loss.h"

/* They stay; or are left as they are where another route is likely to be faster: exact.c sometimes, active.c always. */
typedef enum tnp_slow { TNP_SLOW_STAYS, TNP_SLOW_TO_EXACT, TNP_SLOW_TO_ACTIVE } tnp_slow;

typedef struct tnp_dual_options {
    bool squared;     /* squared hinge, else hinge */
    bool bias;        /* penalised, as a constant 1 appended to every row */
    double tolerance; /* stop when the duality gap is below this fraction of the primal objective */
    size_t max_passes;
    uint64_t seed; /* of the order of rows */
    bool gram;     /* by the products of all rows, which the design keeps, instead of the rows */
    tnp_slow slow; /* what becomes of columns that get on slowly */
    bool rough;    /* objective and gap are those of the check, in float: nothing is certified */
} tnp_dual_options;

typedef struct tnp_dual_info {
    size_t passes;
    bool converged;
} tnp_dual_info;

/* w (count, dim + 1), intercept last, receives the solution; objective and gap (count) what learn/certify.h says of it:
 * the primal objective of these floats and its duality gap. A column is solved when its gap is at most the tolerance
 * times its objective. alpha (rows, count), or NULL: where to start (zeros, or the result for another C) and the
 * multipliers found; from zeros, or without them, the squared hinge starts at those that w implies. After a failure w
 * and alpha hold some place between, and the rest is as it was. */
tn_status tnp_dual_solve(tn_ctx *ctx, tnp_design *design, const tnp_columns *columns, const tnp_dual_options *options,
                         float *alpha, float *w, double *objective, double *gap, tnp_dual_info *info);
/* Bytes that a solve needs besides the design; by the Gram these hold the Gram. */
size_t tnp_dual_bytes(size_t rows, size_t dim, size_t columns, bool gram);
/* Whether products of rows are the faster way for this shape. */
bool tnp_dual_wants_gram(size_t rows, size_t dim, size_t columns, bool squared);

#endif
