/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decision thresholds of multi-label classes from held-out scores. */
#ifndef TNP_THRESHOLDS_H
#define TNP_THRESHOLDS_H

#include "matrix/moments.h"
#include "tenon/learn.h"

/* out (classes): for each class the threshold with the largest F1 of the decisions score > threshold about `rows`
 * (count; NULL: 0, 1, ...), given their scores (count, classes), which must come from models that did not see them; NaN
 * where there is no such score. `usual` where a class has no judged positive. */
tn_status tnp_f1_thresholds(tn_ctx *ctx, const tnp_targets *y, const size_t *rows, size_t count, const float *scores,
                            double usual, double *out);

#endif
