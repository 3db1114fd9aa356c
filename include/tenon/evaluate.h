/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 7, evaluate: how well scores (rows x classes) agree with labels. Only rows with a known label count.
 *
 * Ties. Arg-max and top 5 give a tie to the lower class index. The ranking metrics (ap, ap_voc07, auc) take all
 * rows of one score as one group, so that no result depends on the order of the rows. Metrics that do not exist
 * for a task or a class are NaN; means are over the classes where the metric exists. */
#ifndef TENON_EVALUATE_H
#define TENON_EVALUATE_H

#include "tenon/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One class, or one output of a regression. The ranking metrics are one class against the rest, for multi-class
 * too; they are NaN unless the class has both positive and negative rows. */
typedef struct tn_class_metrics {
    size_t positives;         /* scored rows of the class; 0 for regression */
    double accuracy;          /* multi-class: recall of the class by arg-max, NaN when it has no row;
                                 multi-label: fraction of rows decided right, yes meaning score > threshold */
    double ap;                /* average precision at every distinct score: sum (recall step) * precision */
    double ap_voc07;          /* PASCAL VOC 2007: mean over r = 0, 0.1 .. 1 of the best precision at recall >= r */
    double auc;               /* chance that a positive row scores above a negative one, a tie counting half */
    double balanced_accuracy; /* multi-label only: (TPR + TNR) / 2 at the threshold, NaN unless both occur */
    double r2, mse;           /* regression only */
} tn_class_metrics;

typedef struct tn_metrics {
    tn_task task;
    size_t rows; /* that were scored */
    size_t classes;
    double accuracy;            /* multi-class: arg-max; multi-label: fraction of (row, class) decisions right */
    double top5_accuracy;       /* multi-class with 6 classes or more: true class among the 5 best */
    double mean_class_accuracy; /* multi-class: mean recall of the classes that occur */
    double mean_ap, mean_ap_voc07, mean_auc;
    double balanced_accuracy;    /* multi-class: mean recall of the classes that occur; multi-label: class mean */
    double r2, mse;              /* regression: plain means over the outputs */
    tn_class_metrics *per_class; /* classes */
} tn_metrics;

/* Computes every metric that fits labels->task.
 *   scores     (rows, classes), borrowed until return: larger is more likely; for regression the prediction.
 *              Infinite scores rank as they compare; regression wants finite ones
 *   labels     borrowed until return, over the same rows and classes. Rows that are not known, and multi-class
 *              rows without a class, are skipped, whatever their scores
 *   threshold  decision point of multi-label yes (score > threshold): 0.5 for heads fitted to 0/1 targets, 0 for
 *              margins. Other tasks ignore it
 *   out        owned by the caller, free with tn_metrics_free
 * r2 follows scikit-learn: for a constant target 1 when the prediction is perfect, else 0; NaN for a single row.
 * Fails with TN_ERR_SHAPE when rows or columns disagree; TN_ERR_DATA for a NaN score or target (row and column are
 * named) or when no row is known; TN_ERR_ARG for TN_TASK_AUTO, a NaN threshold or class lists that are not what
 * tn_labels promises; TN_ERR_NUMERIC when a squared error overflows; TN_ERR_MEMORY, TN_ERR_BUDGET,
 * TN_ERR_INTERRUPTED.
 * Safe to call concurrently with different contexts. Identical for every thread count.
 * O(K N log N) time; memory N bytes plus 28 bytes a positive of the classes in work, about 60 MB or one class. */
TN_API tn_status tn_metrics_compute(tn_ctx *ctx, tn_view scores, const tn_labels *labels, double threshold,
                                    tn_metrics **out);
/* NULL is legal. */
TN_API void tn_metrics_free(tn_metrics *metrics);

#ifdef __cplusplus
}
#endif
#endif
