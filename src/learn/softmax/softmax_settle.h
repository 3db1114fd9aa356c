/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The best intercepts of the multinomial model for given weights. */
#ifndef TNP_SOFTMAX_SETTLE_H
#define TNP_SOFTMAX_SETTLE_H

#include "learn/softmax/softmax_loss.h"

/* Moves free intercepts, every stride-th number from `intercept` on, and the scores s (rows, k) with them, by at most
 * `steps` of Newton's, until the sizes of the slopes in them sum to about `enough`, or are rounding. The objective does
 * not rise. No product with the rows. */
tn_status tnp_softmax_settle(const tnp_softmax_rows *rows, size_t steps, double enough, float *s, float *intercept,
                             size_t stride);

#endif
