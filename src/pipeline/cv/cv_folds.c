/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which rows are on which side. Rows that take part are dealt round the folds class by class (learn/head/folds.c), whole
 * groups where there are groups (learn/head/group_folds.c), or stand where a file puts them; rows that the file leaves
 * out always train and are never judged.
 *
 * Folds of the first repeat are those of the seed, of the others those of numbers drawn from it: counting up from the
 * seed would make the second repeat of one seed the first of the next. */
#include "learn/head/folds.h"
#include "learn/head/group_folds.h"
#include "pipeline/cv/cv.h"

#include <string.h>

/* ---- the number of folds ---- */

static tn_status nothing_to_judge(tn_ctx *ctx, const tn_labels *labels)
{
    return tnp_fail(ctx, TN_ERR_DATA, "%s: %s", labels->path,
                    labels->task == TN_TASK_MULTICLASS
                        ? "every class has one row: held out, its class is unseen, and there is nothing to judge by; "
                          "expected a class with 2 rows or more"
                    : labels->task == TN_TASK_MULTILABEL
                        ? "no label has two rows with it and two without it: there is nothing to judge by"
                        : "fewer than 4 rows: there is nothing to judge by");
}

tn_status tnp_cv_plan(tn_ctx *ctx, const tnp_cv_job *job, size_t *folds)
{
    const tnp_cv_options *o = job->options;
    const tn_labels *other = o->fold_file ? o->fold_file : o->groups;
    if (other && other->rows != job->labels->rows)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu rows, but %s has %zu", other->path, other->rows, job->labels->path,
                        job->labels->rows);
    if (other && other->task != TN_TASK_MULTICLASS)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: got labels of a %s task, expected one name or number per row",
                        other->path, tn_task_name(other->task));
    if (o->fold_file) {
        *folds = o->fold_file->classes;
        return *folds > 0 ? TN_OK : tnp_fail(ctx, TN_ERR_DATA, "%s: no row has a fold", o->fold_file->path);
    }
    tn_status st = tnp_folds_for(ctx, &job->task->y, job->task->kind, o->folds, folds);
    if (st == TN_OK && *folds == 0)
        return nothing_to_judge(ctx, job->labels);
    if (st == TN_OK && *folds < o->folds)
        tnp_warn(ctx, "option folds: %zu asked for, but there are %zu rows: %zu folds", o->folds, job->task->y.rows,
                 *folds);
    return st;
}

/* ---- dealing ---- */

/* Group of every row that takes part, (task rows). */
static tn_status groups_of(tn_ctx *ctx, const tnp_cv_job *job, uint32_t **out)
{
    tn_status st = TN_OK;
    const tn_labels *groups = job->options->groups;
    uint32_t *group = NULL;
    size_t count = 0;
    TN_TRY(tnp_alloc(ctx, job->task->y.rows, sizeof *group, &group));
    for (size_t i = 0; i < job->task->y.rows; ++i) {
        const uint32_t *cls = tn_labels_of(groups, job->task->rows[i], &count);
        if (count != 1)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu has no group, expected one for every labelled row",
                            groups->path, job->task->rows[i]));
        group[i] = *cls;
    }
    *out = group;
    group = NULL;
done:
    tnp_free(group);
    return st;
}

static void take_from_file(const tnp_cv_job *job)
{
    for (size_t i = 0, count = 0; i < job->task->y.rows; ++i) {
        size_t row = job->task->rows[i];
        const uint32_t *cls = tn_labels_of(job->options->fold_file, row, &count);
        if (count == 1)
            job->result->fold[row] = *cls;
    }
}

static tn_status deal_repeats(tn_ctx *ctx, const tnp_cv_job *job, const uint32_t *group)
{
    enum { STREAM = 4 };
    tn_cv_result *r = job->result;
    const tnp_targets *y = &job->task->y;
    size_t seed = job->options->fit.rank.seed;
    tnp_rng rng;
    tnp_rng_init(&rng, seed, STREAM);
    for (size_t n = 0; n < r->repeats; ++n, seed = (size_t)tnp_rng_next(&rng)) {
        uint32_t *fold = NULL;
        tn_status st = group ? tnp_group_folds_new(ctx, y, group, r->groups, r->folds, seed, &fold)
                             : tnp_folds_new(ctx, y, job->task->kind, r->folds, seed, &fold);
        if (st != TN_OK)
            return st;
        for (size_t i = 0; i < y->rows; ++i)
            r->fold[n * r->file_rows + job->task->rows[i]] = fold[i];
        tnp_free(fold);
    }
    return TN_OK;
}

/* Rows judged over rows trained on, both summed over the folds. */
static double ratio_of(const tnp_cv_job *job)
{
    const tn_cv_result *r = job->result;
    double judged = 0, rows = (double)job->task->y.rows;
    for (size_t i = 0; i < job->task->y.rows; ++i)
        judged += r->fold[job->task->rows[i]] != UINT32_MAX;
    return judged / ((double)r->folds * rows - judged);
}

tn_status tnp_cv_deal(tn_ctx *ctx, const tnp_cv_job *job)
{
    tn_status st = TN_OK;
    uint32_t *group = NULL;
    if (job->options->groups)
        TN_TRY(groups_of(ctx, job, &group));
    if (job->options->fold_file)
        take_from_file(job);
    else
        TN_TRY(deal_repeats(ctx, job, group));
    job->result->ratio = ratio_of(job);
done:
    tnp_free(group);
    return st;
}

/* ---- the sides of a fold ---- */

void tnp_cv_part_rows(tnp_cv_job *job, size_t repeat, size_t f)
{
    const tn_labels *labels = job->labels;
    const uint32_t *fold = job->result->fold + repeat * labels->rows;
    tnp_cv_fold *out = &job->fold;
    out->count = out->training = 0;
    memset(out->trained, false, labels->rows);
    if (out->positives)
        memset(out->positives, 0, labels->classes * sizeof *out->positives);
    for (size_t i = 0; i < job->task->y.rows; ++i) {
        size_t row = job->task->rows[i];
        if (fold[row] == f) {
            out->rows[out->count++] = row;
            continue;
        }
        out->trained[row] = true;
        ++out->training;
        for (size_t p = out->positives ? labels->first[row] : 0; out->positives && p < labels->first[row + 1]; ++p)
            ++out->positives[labels->cls[p]];
    }
}

bool tnp_cv_judges(const tn_labels *labels, const tnp_cv_fold *fold, size_t cls)
{
    return fold->positives[cls] > 0 && (labels->task == TN_TASK_MULTICLASS || fold->positives[cls] < fold->training);
}

/* Whether some output changes outside the fold. */
static bool values_change(const tn_labels *labels, const tnp_cv_fold *fold)
{
    const double *first = NULL;
    for (size_t i = 0; i < labels->rows; ++i) {
        const double *row = labels->values + i * labels->classes;
        if (!fold->trained[i])
            continue;
        if (!first)
            first = row;
        for (size_t c = 0; c < labels->classes; ++c)
            if (row[c] != first[c])
                return true;
    }
    return false;
}

bool tnp_cv_is_of_use(const tn_labels *labels, const tnp_cv_fold *fold)
{
    size_t known = 0;
    if (fold->count == 0)
        return false;
    if (labels->task == TN_TASK_REGRESSION)
        return values_change(labels, fold);
    for (size_t c = 0; c < labels->classes; ++c)
        known += tnp_cv_judges(labels, fold, c);
    if (labels->task == TN_TASK_MULTILABEL)
        return known > 0;
    for (size_t i = 0; known > 1 && i < fold->count; ++i)
        if (tnp_cv_judges(labels, fold, labels->cls[labels->first[fold->rows[i]]]))
            return true;
    return false;
}
