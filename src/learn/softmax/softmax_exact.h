/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multinomial logistic regression in double, for problems that learn/softmax.c does not bring to their gap. */
#ifndef TNP_SOFTMAX_EXACT_H
#define TNP_SOFTMAX_EXACT_H

#include "learn/softmax/certify_softmax.h"

/* Goes on from w (classes, dim + 1), intercepts last: w, *objective and *gap are as those of tnp_certify_softmax, and
 * stay where they are when the gap does not become smaller, or when the budget has no room. *passes over the rows are
 * added to, and end it at max_passes. Intercepts, where there are any, are free. */
tn_status tnp_softmax_exact(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss, bool bias, double tolerance,
                            size_t max_passes, float *w, double *objective, double *gap, size_t *passes);

#endif
