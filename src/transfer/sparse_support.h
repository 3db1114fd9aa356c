/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The minimum of a quadratic model with an l1 and a squared penalty, if the signs of its coordinates stay as they are.
 */
#ifndef TNP_SPARSE_SUPPORT_H
#define TNP_SPARSE_SUPPORT_H

#include "base/base.h"
#include "simd/simd.h"

/* x'y of padded columns, in eight sums instead of one chain of additions. */
static inline double tnp_padded_dot(const double *restrict x, const double *restrict y, size_t stride)
{
    double sum[TNP_LANES] = {0};
    for (size_t i = 0; i < stride; i += TNP_LANES)
        for (size_t l = 0; l < TNP_LANES; ++l)
            sum[l] += x[i + l] * y[i + l];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* Scratch for coordinates that are not 0. */
typedef struct tnp_support {
    size_t rows, stride;      /* stride: rounded up to TNP_LANES */
    size_t capacity;          /* coordinates there is memory for */
    size_t *at;               /* (room): which they are */
    double *bent;             /* (room, stride): columns times the root of the curvature, centred */
    double *mean, *rest, *by; /* (room): what was taken off; the gradient there; the step */
    double *root;             /* (stride): of the curvature */
    double *system, *right;   /* (size, size), (size), size the lesser of rows and coordinates */
} tnp_support;

tn_status tnp_support_init(tn_ctx *ctx, size_t rows, tnp_support *support);
void tnp_support_destroy(tnp_support *support);
/* Memory for so many coordinates. */
tn_status tnp_support_reserve(tn_ctx *ctx, tnp_support *support, size_t count);

/* Moves d->next, d->move and *shift, the intercept, to the minimum over the coordinates that are not 0, or towards it
 * until the first of them becomes 0; the model never rises but by a rounding. There is memory for d->count. h (stride):
 * curvature, 0 behind the last row, of sum `curvature`; slope: of the intercept at move = 0. Does nothing where it does
 * not pay. */
void tnp_support_jump(tnp_support *support, const tnp_descent *d, const double *h, double slope, double curvature,
                      double *shift);

#endif
