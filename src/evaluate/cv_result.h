/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a cross-validation's result: filled by pipeline/cv/cv.c, printed by report/cv_out.c. */
#ifndef TNP_CV_RESULT_H
#define TNP_CV_RESULT_H

#include "base/base.h"
#include "evaluate/resampled.h"
#include "tenon/evaluate.h"

enum { TNP_CV_MOST = 2 }; /* methods that are compared */

/* Metrics of tn_metrics. */
enum {
    TNP_CV_ACCURACY,
    TNP_CV_TOP5,
    TNP_CV_MEAN_CLASS,
    TNP_CV_MEAN_AP,
    TNP_CV_MEAN_AP_VOC07,
    TNP_CV_MEAN_AUC,
    TNP_CV_BALANCED,
    TNP_CV_R2,
    TNP_CV_MSE,
    TNP_CV_NLL,
    TNP_CV_ECE,
    TNP_CV_METRICS
};

typedef struct tnp_cv_metric {
    const char *name;  /* as in the JSON of eval */
    const char *shown; /* as in its table */
    size_t offset;     /* in tn_metrics */
    bool smaller;      /* the smaller the better */
} tnp_cv_metric;
extern const tnp_cv_metric tnp_cv_metrics[TNP_CV_METRICS];

typedef struct tnp_cv_method {
    const char *word; /* static text */
    double *values;   /* (TNP_CV_METRICS, repeats * folds), NaN: does not exist */
    char **selected;  /* repeats * folds: the set that was chosen; NULL where nothing could be learned */
    double *cost;     /* repeats * folds: C that was chosen or given; NaN where there is none */
    double seconds;
} tnp_cv_method;

struct tn_cv_result {
    tn_task task;
    size_t file_rows;       /* of the files */
    size_t rows;            /* of them that take part: labelled, finite where others are dropped */
    size_t classes, groups; /* groups 0: rows stand by themselves */
    size_t sources;         /* representations to choose from */
    size_t folds, repeats;
    double ratio; /* rows judged over rows trained on, mean over the folds */
    size_t method_count;
    tnp_cv_method methods[TNP_CV_MOST];
    uint32_t *fold; /* (repeats, file_rows), UINT32_MAX: not judged */
    float *scores;  /* (file_rows, classes) of the first repeat and method, NaN where not judged; NULL: not kept */
    double seconds;
};

/* An empty result: classes, file_rows, folds, repeats and method_count are set, and everything has its memory. */
tn_status tnp_cv_result_new(tn_ctx *ctx, const tn_cv_result *sizes, bool scores, tn_cv_result **out);
/* Place of the metric in tnp_cv_metrics; SIZE_MAX: none is called so. */
size_t tnp_cv_metric_of(const char *name);
/* The one that the task goes by. */
size_t tnp_cv_main(const tn_cv_result *result);
/* Whether some fold of some method has it. */
bool tnp_cv_exists(const tn_cv_result *result, size_t metric);
const double *tnp_cv_values(const tn_cv_result *result, size_t method, size_t metric);
/* Of one method; of the first less the second. */
tnp_resampled tnp_cv_mean(const tn_cv_result *result, size_t method, size_t metric);
tnp_resampled tnp_cv_difference(const tn_cv_result *result, size_t metric);

#endif
