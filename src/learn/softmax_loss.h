/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multinomial logistic loss for learn/newton.c: one problem over all classes. */
#ifndef TNP_SOFTMAX_LOSS_H
#define TNP_SOFTMAX_LOSS_H

#include "learn/newton.h"
#include "matrix/stats.h"

typedef struct tnp_softmax {
    const tnp_targets *y;    /* lists of classes, one a row */
    float cost;              /* C */
    const float *row_weight; /* rows, or NULL */
} tnp_softmax;

/* c_i (log sum_k exp s_k - s_y). */
tnp_loss tnp_softmax_loss(const tnp_softmax *softmax);

#endif
