/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metrics of one fold. What the rows outside cannot teach is not asked, as everywhere (measure.c): a row of a class that
 * no training row has is left out, and so is a label that all training rows share, its column with it. */
#include "pipeline/cv/cv.h"

#include <math.h>
#include <string.h>

/* Labels of the fold's rows; destroy is legal after failure, and on zeros. */
typedef struct judged {
    tn_labels labels; /* borrows the rest */
    tnp_picked picked;
    bool *known;
    size_t *columns; /* labels.classes: of the scores; NULL: all of them */
} judged;

static void judged_destroy(judged *j)
{
    tnp_picked_destroy(&j->picked);
    tnp_free_all(j->known, j->columns);
}

/* Multi-class: rows of classes that nobody could know are unknown. */
static void forget_rows(const tn_labels *labels, const tnp_cv_fold *fold, judged *j)
{
    for (size_t i = 0; i < fold->count; ++i)
        j->known[i] = tnp_cv_judges(labels, fold, j->picked.cls[j->picked.first[i]]);
}

/* Multi-label: the classes that are judged, numbered anew. */
static tn_status forget_columns(tn_ctx *ctx, const tn_labels *labels, const tnp_cv_fold *fold, judged *j)
{
    size_t k = 0, left = 0;
    uint32_t *number = NULL;
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *number, &number));
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *j->columns, &j->columns));
    for (size_t c = 0; c < labels->classes; ++c) {
        number[c] = tnp_cv_judges(labels, fold, c) ? (uint32_t)k : UINT32_MAX;
        if (number[c] != UINT32_MAX)
            j->columns[k++] = c;
    }
    for (size_t i = 0, p = 0; i < fold->count; ++i) {
        size_t end = j->picked.first[i + 1];
        for (; p < end; ++p)
            if (number[j->picked.cls[p]] != UINT32_MAX)
                j->picked.cls[left++] = number[j->picked.cls[p]];
        j->picked.first[i + 1] = left;
    }
    j->labels.classes = k;
done:
    tnp_free(number);
    return st;
}

static tn_status judged_init(tn_ctx *ctx, const tn_labels *labels, const tnp_cv_fold *fold, judged *j)
{
    tn_status st = TN_OK;
    const tnp_targets y = {.rows = labels->rows,
                           .classes = labels->classes,
                           .first = labels->first,
                           .cls = labels->cls,
                           .values = labels->values};
    TN_TRY(tnp_picked_init(ctx, &y, fold->rows, fold->count, &j->picked));
    TN_TRY(tnp_alloc(ctx, fold->count, sizeof *j->known, &j->known));
    memset(j->known, true, fold->count);
    j->labels.classes = labels->classes;
    if (labels->task == TN_TASK_MULTICLASS)
        forget_rows(labels, fold, j);
    if (labels->task == TN_TASK_MULTILABEL)
        TN_TRY(forget_columns(ctx, labels, fold, j));
    j->labels.task = labels->task;
    j->labels.rows = fold->count;
    j->labels.known = j->known;
    j->labels.first = j->picked.first;
    j->labels.cls = j->picked.cls;
    j->labels.values = j->picked.values;
done:
    return st;
}

/* The columns that are judged, in scores themselves or in *copy. */
static tn_status view_of(tn_ctx *ctx, const judged *j, size_t classes, const float *scores, float **copy, tn_view *out)
{
    size_t rows = j->labels.rows, k = j->labels.classes;
    *out = (tn_view){scores, rows, classes, classes};
    if (k == classes)
        return TN_OK;
    if (!*copy) {
        tn_status st = tnp_alloc_raw(ctx, rows * k, sizeof **copy, copy);
        if (st != TN_OK)
            return st;
    }
    for (size_t i = 0; i < rows; ++i)
        for (size_t c = 0; c < k; ++c)
            (*copy)[i * k + c] = scores[i * classes + j->columns[c]];
    *out = (tn_view){*copy, rows, k, k};
    return TN_OK;
}

tn_status tnp_cv_measure(tn_ctx *ctx, const tn_labels *labels, const tnp_cv_fold *fold, const tn_head *head,
                         float *scores, double *values)
{
    tn_status st = TN_OK;
    judged j = {.columns = NULL};
    tn_metrics *metrics = NULL;
    float *copy = NULL;
    tn_view view;
    TN_TRY(judged_init(ctx, labels, fold, &j));
    for (size_t i = 0; i < TNP_CV_METRICS; ++i)
        values[i] = (double)NAN;
    if (j.labels.classes == 0 || !memchr(j.known, true, fold->count))
        goto done;
    TN_TRY(view_of(ctx, &j, labels->classes, scores, &copy, &view));
    TN_TRY(tn_metrics_compute(ctx, view, &j.labels, head->threshold, &metrics));
    if (head->temperature > 0) {
        TN_TRY(tn_head_probabilities(ctx, head, fold->count, scores));
        TN_TRY(view_of(ctx, &j, labels->classes, scores, &copy, &view));
        TN_TRY(tn_probability_metrics_compute(ctx, view, &j.labels, &metrics->nll, &metrics->ece));
    }
    for (size_t i = 0; i < TNP_CV_METRICS; ++i)
        memcpy(&values[i], (const char *)metrics + tnp_cv_metrics[i].offset, sizeof *values);
done:
    tn_metrics_free(metrics);
    tnp_free(copy);
    judged_destroy(&j);
    return st;
}
