/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cross-validation at work: shared by its frame (cv.c), the folds (cv_folds.c) and the figures of one (cv_measure.c).
 */
#ifndef TNP_PIPELINE_CV_H
#define TNP_PIPELINE_CV_H

#include "evaluate/cv_result.h"
#include "learn/head/head.h"
#include "learn/head/task.h"
#include "pipeline/options.h"

/* Rows on both sides of a fold, by their places in the files. */
typedef struct tnp_cv_fold {
    bool *trained;     /* (rows of the files): the head learns from it */
    size_t training;   /* rows of which that is so */
    size_t *positives; /* (classes): of each among them; NULL in a regression */
    size_t *rows;      /* (count): the head is judged by these */
    size_t count;
} tnp_cv_fold;

typedef struct tnp_cv_job {
    const tn_features *const *features;
    size_t count;
    const tn_labels *labels;
    const tnp_cv_options *options;
    tnp_task *task;       /* of all rows that take part */
    tnp_cv_fold fold;     /* at work */
    tn_cv_result *result; /* owned until it is handed over */
} tnp_cv_job;

/* ---- folds (cv_folds.c) ---- */

/* How many folds there will be: as asked, as few rows allow, as the file of folds has. TN_ERR_DATA where no fold could
 * judge anything. */
tn_status tnp_cv_plan(tn_ctx *ctx, const tnp_cv_job *job, size_t *folds);
/* Folds of all repeats into the result, and the ratio of rows judged to rows trained on. */
tn_status tnp_cv_deal(tn_ctx *ctx, const tnp_cv_job *job);
/* Into job->fold: which rows are on which side of fold f of a repeat. */
void tnp_cv_part_rows(tnp_cv_job *job, size_t repeat, size_t f);
/* Whether the rows outside the fold tell a class from others: else nobody is judged by it. */
bool tnp_cv_judges(const tn_labels *labels, const tnp_cv_fold *fold, size_t cls);
/* Whether there is something to learn outside the fold, and something to be judged by inside. */
bool tnp_cv_is_of_use(const tn_labels *labels, const tnp_cv_fold *fold);

/* ---- figures (cv_measure.c) ---- */

/* Of a head that was trained without the fold, from scores (fold->count, classes), which are changed, into values
 * (TNP_CV_METRICS): NaN where there is none. */
tn_status tnp_cv_measure(tn_ctx *ctx, const tn_labels *labels, const tnp_cv_fold *fold, const tn_head *head,
                         float *scores, double *values);

#endif
