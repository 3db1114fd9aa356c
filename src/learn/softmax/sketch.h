/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The leading part of X'X from one pass over the rows: what makes conjugate gradients converge in a few steps. */
#ifndef TNP_SKETCH_H
#define TNP_SKETCH_H

#include "learn/design/rows.h"

/* X'X (of rows with a constant 1 appended) ~ U diag(values) U', U (width, rank) with orthonormal columns. */
typedef struct tnp_sketch {
    size_t width, rank; /* width = dim + 1 */
    float *u;           /* (rank, width): the columns of U as rows */
    double *values;     /* rank, descending */
} tnp_sketch;

tn_status tnp_sketch_new(tn_ctx *ctx, const tnp_rows *x, size_t rank, uint64_t seed, tnp_sketch **out);
void tnp_sketch_free(tnp_sketch *sketch);

/* out (count, width) = M_k^-1 in, row by row, with M_k = I + rho[k] X'X on the leading space and the smallest of its
 * values elsewhere. coefficient (count, rank) is scratch. */
tn_status tnp_sketch_apply(tn_ctx *ctx, const tnp_sketch *sketch, size_t count, const double *rho, const float *in,
                           float *coefficient, float *out);

#endif
