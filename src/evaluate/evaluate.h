/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private side of the evaluate stage. */
#ifndef TNP_EVALUATE_H
#define TNP_EVALUATE_H

#include "read/labels/labels.h"
#include "tenon/evaluate.h"

/* What every function of the stage asks of its arguments: shapes that agree, a threshold that is a number; metrics.c.
 * */
tn_status tnp_metrics_check(tn_ctx *ctx, tn_view scores, const tn_labels *labels, double threshold);

/* False for a row that no metric counts: not known, or multi-class without a class. */
bool tnp_metrics_counts(const tn_labels *labels, size_t i);

/* Ranking metrics of every class, ranking_metrics.c. Rows i with scored[i] != 0 count, `rows` of them; their scores
 * hold no NaN. In: per_class[c].positives. Out: ap, ap_voc07 and auc; for multi-label also accuracy and
 * balanced_accuracy at thresholds (classes). Arguments are trusted. */
tn_status tnp_metrics_rank(tn_ctx *ctx, tn_view scores, const tn_labels *labels, const unsigned char *scored,
                           size_t rows, const double *thresholds, tn_class_metrics *per_class);

#endif
