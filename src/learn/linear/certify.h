/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a trained head may claim: its objective, and how far that can be above the minimum, of the float weights as they
 * are saved, computed in double. */
#ifndef TNP_CERTIFY_H
#define TNP_CERTIFY_H

#include "learn/design/rows.h"
#include "learn/linear/margin_loss.h"

/* One-vs-rest models. */
typedef struct tnp_claim {
    const tnp_columns *columns;
    tnp_margin loss;
    bool bias, penalised; /* whether there is an intercept, and whether it is a weight like any other */
    size_t count;
    const size_t *cols; /* count, ascending: which columns */
    const float *w;     /* (columns->count, dim + 1), intercepts last */
    const float *alpha; /* (rows, columns->count): multipliers to bound the minimum with; NULL: those that w implies */
} tnp_claim;

/* objective and gap (columns->count) of the columns cols. One pass over the rows, two with a free intercept. */
tn_status tnp_certify(tn_ctx *ctx, const tnp_rows *x, const tnp_claim *claim, double *objective, double *gap);
size_t tnp_certify_bytes(size_t dim, size_t columns);

/* What sums of this size in double may be off by, of primal and dual terms together. */
double tnp_certify_rounding(double size);

#endif
