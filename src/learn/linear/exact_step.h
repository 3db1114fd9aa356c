/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Newton step of one column: solves (I + X' diag(h) X) d = -g, the intercept with its own ridge. */
#ifndef TNP_EXACT_STEP_H
#define TNP_EXACT_STEP_H

#include "learn/design/rows.h"

typedef struct tnp_system {
    const double *h; /* rows: curvatures, 0 where a row does not count */
    const double *g; /* dim + 1, the intercept's last */
    bool bias;       /* whether there is an intercept; d's last is 0 without */
    double ridge;    /* of the intercept, 1 or 0 */
} tnp_system;

/* Bytes that a step needs when so many rows have a curvature. */
size_t tnp_step_bytes(size_t dim, size_t active);
/* d (dim + 1). One pass over the rows, plus one over their active part. *found is false when no shift of the diagonal
 * made the matrix definite. */
tn_status tnp_step(tn_ctx *ctx, const tnp_rows *x, const tnp_system *system, double *d, bool *found);

#endif
