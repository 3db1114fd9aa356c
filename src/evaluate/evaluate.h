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

/* Is c among the classes of row i? */
static inline bool tnp_metrics_has(const tn_labels *labels, size_t i, size_t c)
{
    for (size_t p = labels->first[i]; p < labels->first[i + 1]; ++p)
        if (labels->cls[p] == c)
            return true;
    return false;
}

/* Sorts count scores downward, keeps the distinct ones in front and returns how many; pos counts each, tie and gap are
 * 0; ranking_metrics.c. */
size_t tnp_rank_groups(float *v, size_t *pos, size_t *tie, size_t *gap, size_t count);

/* Lowest g with v[g] <= score, or groups; groups > 0. Written so that the compiler needs no jump. */
static inline size_t tnp_rank_place(const float *v, size_t groups, float score)
{
    size_t base = 0;
    for (size_t left = groups; left > 1;) {
        size_t half = left / 2;
        base += v[base + half - 1] > score ? half : 0;
        left -= half;
    }
    return base + (v[base] > score);
}

#endif
