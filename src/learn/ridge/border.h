/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ridge problem with further columns beside those of one that is in tridiagonal form already: what a set of features
 * gives at some lambda when a candidate joins it, for less than a form of its own. */
#ifndef TNP_BORDER_H
#define TNP_BORDER_H

#include "learn/ridge/spectrum.h"

/* Columns of the moments that the problem was made of, and those beside them; none in both. */
typedef struct tnp_border_columns {
    const tnp_range *inner, *outer;
    size_t inner_count, outer_count;
    bool intercept;
} tnp_border_columns;

typedef struct tnp_border tnp_border;

/* spectrum: the primal form of the inner columns, borrowed while the border lives. 2 outer inner^2 flops, twice that
 * where it was not made by way of a band. */
tn_status tnp_border_new(tn_ctx *ctx, const tnp_spectrum *spectrum, const tnp_moments *moments,
                         const tnp_border_columns *columns, tnp_border **out);
void tnp_border_free(tnp_border *border);
/* Outer columns, and the trace of their part of A. */
size_t tnp_border_outer(const tnp_border *border);
double tnp_border_trace(const tnp_border *border);
/* log det(A + lambda I) of all columns, and R (classes; spectrum.h) at lambda, which may be below zero. TN_ERR_NUMERIC
 * when A + lambda I is not positive definite. inner outer^2 flops. */
tn_status tnp_border_at(tn_ctx *ctx, tnp_border *border, double lambda, double *logdet, double *r);

/* Operations for so many lambdas, in those of a product of matrices that takes as long; and bytes. */
double tnp_border_cost(size_t inner, size_t outer, size_t classes, size_t lambdas);
size_t tnp_border_bytes(size_t inner, size_t outer, size_t classes);
/* The operations of a form of its own, in the same. */
double tnp_spectrum_cost(size_t order);

#endif
