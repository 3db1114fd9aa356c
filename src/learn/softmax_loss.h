/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multinomial logistic loss on all rows at once. Scores s, probabilities p and directions z are (rows, k). */
#ifndef TNP_SOFTMAX_LOSS_H
#define TNP_SOFTMAX_LOSS_H

#include "base/base.h"
#include "matrix/stats.h"

typedef struct tnp_softmax {
    const tnp_targets *y;    /* lists of classes, one a row */
    float cost;              /* C */
    const float *row_weight; /* rows, or NULL */
} tnp_softmax;

typedef struct tnp_softmax_rows {
    tn_ctx *ctx;
    const tnp_softmax *loss;
    size_t rows, k;
    double *partial; /* (chunks of rows, k): sums, added in their order */
    float *scratch;  /* (chunks of rows, k) */
} tnp_softmax_rows;

/* Destroy is legal after failure, and on zeros. */
tn_status tnp_softmax_rows_init(tn_ctx *ctx, const tnp_softmax *loss, tnp_softmax_rows *out);
void tnp_softmax_rows_destroy(tnp_softmax_rows *rows);
size_t tnp_softmax_rows_bytes(size_t rows, size_t k);

/* p = softmax of each row; returns the loss. */
double tnp_softmax_value(const tnp_softmax_rows *rows, const float *s, float *p);
/* g = derivative of the loss; sums (k) its column sums. */
void tnp_softmax_slope(const tnp_softmax_rows *rows, const float *p, float *g, double *sums);
/* z <- second derivative times z. */
void tnp_softmax_curve(const tnp_softmax_rows *rows, const float *p, float *z);
/* sums (k): of the diagonal of the second derivative. */
void tnp_softmax_weight(const tnp_softmax_rows *rows, const float *p, double *sums);
/* First and second derivative of the loss of s + t z in t. */
void tnp_softmax_line(const tnp_softmax_rows *rows, const float *s, const float *z, double t, double *first,
                      double *second);
/* A step t along z where the derivative of loss(s + t z) + penalty has fallen to a tenth of `slope`, its value at t = 0; ridge is
 * the penalty's second derivative. 0 when the slope does not fall, or when no step was found to lower f. */
double tnp_softmax_search(const tnp_softmax_rows *rows, const float *s, const float *z, double slope, double ridge);
/* s += t z. */
void tnp_softmax_move(const tnp_softmax_rows *rows, double t, const float *z, float *s);

#endif
