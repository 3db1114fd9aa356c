/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The softmax of tnp_linear_train: all rows, or the rows outside each fold. */
#ifndef TNP_TRAIN_SOFTMAX_H
#define TNP_TRAIN_SOFTMAX_H

#include "learn/linear/linear.h"

/* As tnp_linear_train. Of folds *out is what is said of the one that is furthest from its optimum. */
tn_status tnp_train_softmax(tn_ctx *ctx, const tnp_linear *linear, double cost, float *w, tnp_training *out);
/* How many folds are worth training in one call, beginning with one that is not the first: as many as are trained side
 * by side. */
size_t tnp_softmax_folds_at_once(const tn_ctx *ctx, const tnp_linear *linear);

#endif
