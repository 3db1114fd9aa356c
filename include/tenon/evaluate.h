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

/* What stands behind the metrics, see tn_metrics_detail. */
typedef struct tn_details tn_details;

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
    double nll, ece;             /* of probabilities: NaN until tn_probability_metrics_compute's results are put here */
    tn_class_metrics *per_class; /* classes */
    tn_details *details;         /* NULL until tn_metrics_detail */
} tn_metrics;

/* Computes every metric that fits the task of the labels.
 *   scores     (rows, classes), borrowed until return: larger is more likely; for regression the prediction.
 *              Infinite scores rank as they compare; regression wants finite ones
 *   labels     borrowed until return, over the same rows and classes. Rows that are not known, and multi-class
 *              rows without a class, are skipped, whatever their scores
 *   threshold  decision point of multi-label yes (score > threshold): 0.5 for heads fitted to 0/1 targets, 0 for
 *              margins. Other tasks ignore it
 *   out        owned by the caller, free with tn_metrics_free
 * r2 follows scikit-learn: for a constant target 1 when the prediction is perfect, else 0; NaN for a single row.
 * Fails with TN_ERR_SHAPE when rows or columns disagree; TN_ERR_DATA for a NaN score or target (row and column are
 * named) or when no row is known; TN_ERR_ARG for a NaN threshold; TN_ERR_NUMERIC when a squared error overflows;
 * TN_ERR_MEMORY, TN_ERR_BUDGET, TN_ERR_INTERRUPTED.
 * Safe to call concurrently with different contexts. Identical for every thread count.
 * O(K N log N) time; memory N bytes plus 28 bytes per positive of the classes in work, about 60 MB or one class. */
TN_API tn_status tn_metrics_compute(tn_ctx *ctx, tn_view scores, const tn_labels *labels, double threshold,
                                    tn_metrics **out);
/* The same with a threshold for every class (classes). */
TN_API tn_status tn_metrics_compute_at(tn_ctx *ctx, tn_view scores, const tn_labels *labels, const double *thresholds,
                                       tn_metrics **out);
/* NULL is legal. */
TN_API void tn_metrics_free(tn_metrics *metrics);

/* How far probabilities can be believed. Decisions are the rows of multi-class work, the (row, class) pairs of
 * multi-label work.
 *   nll  mean over the decisions of -log q, q being the probability given to what is true: p of the row's class; p of a
 *        label that is there, 1 - p of one that is not. q counts as 1e-15 at least, and 1 - p as 2^-25: a float cannot
 *        say how much less than that is missing to 1
 *   ece  expected calibration error: the decisions fall into 15 bins of equal width by their p, sum over the bins of
 *        (share of the decisions) * |mean p - share that came true|. Multi-class: p is that of the arg-max, a tie going
 *        to the lower class index, and it came true when that is the row's class. Multi-label: p itself, true when the
 *        label is there. Bin b holds b/15 < p <= (b+1)/15, the first one 0 too (Guo et al., ICML 2017)
 *   probabilities  (rows, classes), borrowed until return: in [0, 1]; rows of multi-class sum to 1, within 1e-3
 *   labels         borrowed until return; rows are skipped as by tn_metrics_compute, whatever stands in them
 * Fails as tn_metrics_compute, with TN_ERR_DATA naming row and column of what is no probability, and TN_ERR_ARG for
 * regression. Safe to call concurrently with different contexts. Identical for every thread count. O(N K) time. */
TN_API tn_status tn_probability_metrics_compute(tn_ctx *ctx, tn_view probabilities, const tn_labels *labels,
                                                double *nll, double *ece);

/* Adds the details to metrics, which tn_metrics_json and tn_metrics_table then print: the confusion matrix, precision,
 * recall and F1 per class and as means, top-k, points of the ROC and precision-recall curves, residuals of a
 * regression, the rows that were decided wrong with the largest confidence, and a 95 % interval of every headline
 * figure: Wilson's for a share of rows, else 1.96 standard errors of `resamples` bootstrap resamples of the rows.
 *   scores, labels  as they were given to tn_metrics_compute. Labels are borrowed while the details live
 *   thresholds      (classes), for several labels per row only, else NULL may be given
 *   resamples       400 is usual; fewer are drawn where rows x classes are many; 0: no intervals but Wilson's
 * Fails as tn_metrics_compute, with TN_ERR_ARG where metrics are of other labels. Identical for every thread count.
 * O(K N resamples) time, N resamples bytes of memory. */
TN_API tn_status tn_metrics_detail(tn_ctx *ctx, tn_metrics *metrics, tn_view scores, const tn_labels *labels,
                                   const double *thresholds, size_t resamples, uint64_t seed);
/* tn_probability_metrics_compute into nll and ece of metrics; where they have details, also the bins of a reliability
 * diagram, intervals of both, and confidence by probability. */
TN_API tn_status tn_metrics_probabilities(tn_ctx *ctx, tn_metrics *metrics, tn_view probabilities,
                                          const tn_labels *labels);
/* Compares with metrics of other scores for the same labels, resamples and seed: the difference of every headline
 * figure with its standard error and p, row by row, and for multi-class McNemar's exact test. name: what the other is
 * called, copied. Kept in the details. TN_ERR_ARG where one has no details or rows differ. */
TN_API tn_status tn_metrics_compare(tn_ctx *ctx, tn_metrics *metrics, const tn_metrics *other, const char *name);

/* ---- cross-validation: made by tn_cv (tenon/pipeline.h), printed by tenon/report.h ---- */

/* Figures of one or two methods by models that have not seen the rows they are judged by: every fold of every repeat
 * has one, the folds of the first repeat first. What is asked for is borrowed while the object lives. Metrics go by the
 * names that eval has in JSON: accuracy, top5_accuracy, mean_class_accuracy, mean_ap, mean_ap_voc07, mean_auc,
 * balanced_accuracy, r2, mse, nll, ece. */
typedef struct tn_cv_result tn_cv_result;

/* NULL is legal. */
TN_API void tn_cv_free(tn_cv_result *result);
TN_API size_t tn_cv_folds(const tn_cv_result *result);
TN_API size_t tn_cv_repeats(const tn_cv_result *result);
TN_API size_t tn_cv_rows(const tn_cv_result *result); /* of the files */
TN_API size_t tn_cv_classes(const tn_cv_result *result);
/* Word of method 0, and of 1 where two were compared; NULL behind the last. */
TN_API const char *tn_cv_method(const tn_cv_result *result, size_t method);
/* Metric 0 is what the task goes by: accuracy, mean_ap or r2; behind it all others that exist, then NULL. */
TN_API const char *tn_cv_metric(const tn_cv_result *result, size_t i);
/* folds * repeats figures, NaN for a fold that has none; NULL for a method or metric that is none. */
TN_API const double *tn_cv_values(const tn_cv_result *result, size_t method, const char *metric);
/* Mean over the folds that have a figure, and its standard error, which knows that folds share their training rows:
 * se^2 = s^2 (1/J + rows judged / rows trained on), J figures of variance s^2 (Nadeau and Bengio 2003). False where no
 * fold has one. */
TN_API bool tn_cv_mean(const tn_cv_result *result, size_t method, const char *metric, double *mean, double *se);
/* Method 0 less method 1, fold by fold: the mean, its standard error by the same rule, and the p of a two-sided t-test
 * with J - 1 degrees of freedom. False without a second method or a figure. */
TN_API bool tn_cv_compare(const tn_cv_result *result, const char *metric, double *difference, double *se, double *p);
/* Names of the set that was chosen without the fold, joined by " + "; NULL where nothing could be learned. */
TN_API const char *tn_cv_selected(const tn_cv_result *result, size_t method, size_t fold);
TN_API double tn_cv_seconds(const tn_cv_result *result, size_t method);
/* (rows): fold of every row of the files in this repeat, UINT32_MAX for one that is never judged. */
TN_API const uint32_t *tn_cv_fold_of(const tn_cv_result *result, size_t repeat);
/* (rows, classes): scores of every row of the files by the head of method 0 that was trained without the row's fold, in
 * the first repeat: a mean over repeats would be the scores of several heads together, better than any of them. NaN
 * in rows that are never judged. NULL unless option scores was set. */
TN_API const float *tn_cv_scores(const tn_cv_result *result);

#ifdef __cplusplus
}
#endif
#endif
