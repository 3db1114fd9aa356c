/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Principal components of descriptors, learned from blocks of rows. */
#ifndef TNP_PROJECTION_H
#define TNP_PROJECTION_H

#include "base/base.h"

typedef struct tnp_projection {
    size_t from, to;
    float *mean;  /* (from) */
    float *basis; /* (to, from): y = basis (x - mean) */
} tnp_projection;

/* Sums over rows; all zero before, tnp_scatter_free after. */
typedef struct tnp_scatter {
    size_t dim, rows;
    double *shift, *sum, *gram; /* of x - shift, shift being the mean of the first block; gram (dim, dim), upper */
    float *product, *centred;
    size_t capacity; /* rows of centred */
} tnp_scatter;

tn_status tnp_scatter_new(tn_ctx *ctx, size_t dim, tnp_scatter *out);
/* x (n, dim), compact. */
tn_status tnp_scatter_add(tn_ctx *ctx, tnp_scatter *scatter, const float *x, size_t n);
void tnp_scatter_free(tnp_scatter *scatter);

/* The first `to` components; whiten: each over its deviation. *kept: their share of the variance. TN_ERR_DATA with fewer
 * rows than two. all zero before, tnp_projection_free after. */
tn_status tnp_projection_make(tn_ctx *ctx, const tnp_scatter *scatter, size_t to, bool whiten, double *kept,
                              tnp_projection *out);
/* y (n, stride) from x (n, from), compact: its first `to` columns. */
tn_status tnp_projection_apply(tn_ctx *ctx, const tnp_projection *projection, const float *x, size_t n, float *y,
                               size_t stride);
void tnp_projection_free(tnp_projection *projection);

#endif
