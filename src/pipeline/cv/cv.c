/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validation of everything that a fit does: for every fold of every repeat the whole of it is done again on the
 * rows outside the fold, the choice among candidates, inner cross-validations and calibration too, and the head is
 * judged by the rows inside.
 *
 *   deal      rows to folds, once for all methods (cv_folds.c)
 *   fit       on labels that know only the rows outside: the same classes, the same files, nothing is copied
 *   score     the rows inside, in blocks
 *   measure   every metric of eval (cv_measure.c), over classes that the rows outside could teach
 *
 * Two methods are fitted to the same folds, so that their figures can be compared fold by fold (evaluate/resampled.c).
 * Folds come one after the other, each as parallel as a fit is: side by side they would need the memory of as many fits.
 * Oracle: scikit-learn's cross_val_score on the same folds, tests/fixtures/make_cv.py. */
#include "pipeline/cv/cv.h"
#include "pipeline/parts.h"

#include <stdio.h>
#include <string.h>

static const double SURVEY = 0.01, FIT = 0.9; /* of all, of a fold, by their usual seconds */

enum { BLOCK_ROWS = 4096, BLOCK_VALUES = 1 << 22 }; /* scored at once */

/* ---- options ---- */

void tnp_cv_options_default(tnp_cv_options *options)
{
    tnp_fit_options_default(&options->fit);
    options->folds = 5;
    options->repeats = 1;
    options->inner_folds = 0;
    options->against = 0;
    options->scores = false;
    options->groups = options->fold_file = NULL;
}

const tn_field *tnp_cv_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"folds", TN_FIELD_INT, offsetof(tnp_cv_options, folds), 2, 1e6, "N",
         "parts that the rows are dealt into; each is judged by a head of all others"},
        {"repeats", TN_FIELD_INT, offsetof(tnp_cv_options, repeats), 1, 1e4, "N", "times that they are dealt anew"},
        {"against", TN_FIELD_CHOICE, offsetof(tnp_cv_options, against), 0, 0, TNP_AGAINST_WORDS,
         "a second method, fitted to the same folds and compared with the first"},
        {"groups", TN_FIELD_LABELS, offsetof(tnp_cv_options, groups), 0, 0, "labels",
         "a group per row (patient, scene, video), whose rows are never on both sides of a fold"},
        {"fold-file", TN_FIELD_LABELS, offsetof(tnp_cv_options, fold_file), 0, 0, "labels",
         "the fold of every row; rows without one always train and are never judged"},
        {"inner-folds", TN_FIELD_INT, offsetof(tnp_cv_options, inner_folds), 0, 1e6, "N",
         "folds that a method chooses its own values by, within the rows outside a fold; 0: as many as fit has"},
        {"scores", TN_FIELD_FLAG, offsetof(tnp_cv_options, scores), 0, 0, NULL, "keep the scores of held-out rows"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

/* Options of the fits of a method: what only the other one has a use for is as if nobody had set it. */
static void options_of(const tnp_cv_options *o, int method, tnp_fit_options *out)
{
    tnp_fit_options_for(&o->fit, method, out);
    if (o->inner_folds > 0)
        out->learn.folds = o->inner_folds;
}

static bool chooses_by_folds(int method)
{
    return (tnp_method_of(method)->uses.uses & TNP_USES_FOLDS) != 0;
}

static tn_status check_options(tn_ctx *ctx, const tnp_cv_options *o)
{
    tn_status st = TN_OK;
    size_t count = 0;
    const tn_field *fields = tnp_cv_fields(&count);
    tnp_fit_options each;
    TN_TRY(tnp_fields_check(ctx, fields, count, o));
    if (o->against == o->fit.method + 1)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option against: got %s, which is the method itself",
                        tnp_method_of(o->fit.method)->uses.word));
    if (o->fold_file && (o->groups || o->repeats > 1))
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option fold-file says where every row stands; got option %s too",
                        o->groups ? "groups" : "repeats"));
    if (o->inner_folds == 1)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option inner-folds: got 1, expected 0 or at least 2"));
    if (o->inner_folds > 0 && !chooses_by_folds(o->fit.method) && !(o->against && chooses_by_folds(o->against - 1)))
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG,
                        "option inner-folds is for methods that choose by folds of their own; got method %s",
                        tnp_method_of(o->fit.method)->uses.word));
    if (*o->fit.online.checkpoint)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option checkpoint is for one fit, and a cross-validation makes many"));
    options_of(o, o->fit.method, &each);
    TN_TRY(tnp_check_fit(ctx, &each));
    if (o->against) {
        options_of(o, o->against - 1, &each);
        TN_TRY(tnp_check_fit(ctx, &each));
    }
done:
    return st;
}

/* ---- one fold ---- */

/* What a fit says about its rows is about those outside a fold: the fold is named, unless it is a file that is bad. */
static tn_status name_fold(tn_ctx *ctx, const tnp_cv_job *job, tn_status st, size_t number, size_t total)
{
    char text[900];
    if (st != TN_ERR_DATA && st != TN_ERR_NUMERIC)
        return st;
    snprintf(text, sizeof text, "%s", tn_ctx_message(ctx));
    for (size_t i = 0; i < job->count; ++i) {
        const char *path = tn_features_path(job->features[i]);
        if (strncmp(text, path, strlen(path)) == 0)
            return st;
    }
    return tnp_fail(ctx, st, "without fold %zu of %zu: %s", number + 1, total, text);
}

/* Scores (fold rows, classes) of the rows inside. */
static tn_status score_fold(tn_ctx *ctx, const tnp_cv_job *job, const tn_head *head, float *scores)
{
    const tnp_cv_fold *fold = &job->fold;
    size_t block = tnp_max(1, tnp_min(BLOCK_ROWS, BLOCK_VALUES / tnp_max(1, head->dim)));
    for (size_t at = 0, n; at < fold->count; at += n) {
        n = tnp_min(block, fold->count - at);
        tn_status st = tnp_progress(ctx, "scores", at, fold->count);
        if (st == TN_OK)
            st = tnp_heads_score(ctx, &head, 1, job->features, job->count, fold->rows + at, n,
                                 (tn_nan_policy)job->options->fit.rank.nan, scores + at * head->classes);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* Everything again without the fold. */
static tn_status fit_outside(tn_ctx *ctx, const tnp_cv_job *job, const tnp_fit_options *options, tn_fit_info **info,
                             tn_head **head)
{
    tnp_share part = tnp_progress_now(ctx), fit = tnp_progress_part(ctx, part, 0, FIT);
    tnp_share around = tnp_progress_within(ctx, fit);
    tn_labels outside = *job->labels;
    outside.known = job->fold.trained;
    tn_status st = tnp_fit(ctx, job->features, job->count, &outside, options, info, head);
    (void)tnp_progress_within(ctx, around);
    (void)tnp_progress_part(ctx, part, FIT, 1);
    return st;
}

/* j: number of the fold over all repeats. */
static tn_status run_fold(tn_ctx *ctx, const tnp_cv_job *job, size_t m, const tnp_fit_options *options, size_t j)
{
    tn_status st = TN_OK;
    tn_cv_result *r = job->result;
    tnp_cv_method *method = &r->methods[m];
    const tnp_cv_fold *fold = &job->fold;
    tn_fit_info *info = NULL;
    tn_head *head = NULL;
    float *scores = NULL;
    double values[TNP_CV_METRICS], begin = tnp_seconds();
    size_t k = r->classes, size = 0, total = r->folds * r->repeats;
    TN_TRY(tnp_mul(ctx, fold->count, k, &size));
    TN_TRY(fit_outside(ctx, job, options, &info, &head));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *scores, &scores));
    TN_TRY(score_fold(ctx, job, head, scores));
    for (size_t i = 0; r->scores && m == 0 && j < r->folds && i < fold->count; ++i)
        memcpy(r->scores + fold->rows[i] * k, scores + i * k, k * sizeof *scores);
    TN_TRY(tnp_cv_measure(ctx, job->labels, fold, head, scores, values));
    for (size_t i = 0; i < TNP_CV_METRICS; ++i)
        method->values[i * total + j] = values[i];
    method->cost[j] = info->cost;
    TN_TRY(tnp_strdup(ctx, info->chosen->name, &method->selected[j]));
    method->seconds += tnp_seconds() - begin;
done:
    tn_fit_info_free(info);
    tn_head_free(head);
    tnp_free(scores);
    return st == TN_OK ? st : name_fold(ctx, job, st, j, total);
}

/* ---- all of them ---- */

static tn_status run_all(tn_ctx *ctx, tnp_cv_job *job)
{
    tn_status st = TN_OK;
    const tn_cv_result *r = job->result;
    tnp_fit_options options[TNP_CV_MOST];
    tnp_share whole = tnp_progress_now(ctx);
    size_t total = r->folds * r->repeats;
    char stage[64];
    for (size_t m = 0; m < r->method_count; ++m)
        options_of(job->options, m == 0 ? job->options->fit.method : job->options->against - 1, &options[m]);
    for (size_t j = 0; j < total; ++j) {
        tnp_cv_part_rows(job, j / r->folds, j % r->folds);
        snprintf(stage, sizeof stage, "fold %zu of %zu", j + 1, total);
        for (size_t m = 0; m < r->method_count; ++m) {
            tnp_progress_title(ctx, stage);
            TN_TRY(tnp_progress_step(ctx, whole, stage, j * r->method_count + m, total * r->method_count));
            if (tnp_cv_is_of_use(job->labels, &job->fold))
                TN_TRY(run_fold(ctx, job, m, &options[m], j));
        }
    }
    tnp_progress_title(ctx, "");
done:
    return st;
}

/* Before hours of work: is there a fold that can judge? */
static tn_status check_folds(tn_ctx *ctx, tnp_cv_job *job)
{
    const tn_cv_result *r = job->result;
    for (size_t j = 0; j < r->folds * r->repeats; ++j) {
        tnp_cv_part_rows(job, j / r->folds, j % r->folds);
        if (tnp_cv_is_of_use(job->labels, &job->fold))
            return TN_OK;
    }
    return tnp_fail(ctx, TN_ERR_DATA,
                    "%s: no fold holds a class that the rows outside it tell from others: there is nothing to judge by",
                    job->labels->path);
}

static tn_status begin_result(tn_ctx *ctx, tnp_cv_job *job)
{
    tn_status st = TN_OK;
    const tnp_cv_options *o = job->options;
    const tn_labels *labels = job->labels;
    tn_cv_result sizes = {.task = labels->task,
                          .file_rows = labels->rows,
                          .rows = job->task->y.rows,
                          .classes = labels->classes,
                          .groups = o->groups ? o->groups->classes : 0,
                          .sources = job->count,
                          .repeats = o->repeats,
                          .method_count = o->against ? 2 : 1};
    TN_TRY(tnp_cv_plan(ctx, job, &sizes.folds));
    TN_TRY(tnp_cv_result_new(ctx, &sizes, o->scores, &job->result));
    job->result->methods[0].word = tnp_method_of(o->fit.method)->uses.word;
    if (o->against)
        job->result->methods[1].word = tnp_method_of(o->against - 1)->uses.word;
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *job->fold.trained, &job->fold.trained));
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *job->fold.rows, &job->fold.rows));
    if (labels->first)
        TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *job->fold.positives, &job->fold.positives));
    TN_TRY(tnp_cv_deal(ctx, job));
    TN_TRY(check_folds(ctx, job));
done:
    return st;
}

tn_status tnp_cv(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                 const tnp_cv_options *options, tn_cv_result **out)
{
    tn_status st = TN_OK;
    tnp_cv_job job = {.features = features, .count = count, .labels = labels, .options = options};
    const tnp_rank_options *rank = &options->fit.rank;
    double begin = tnp_seconds();
    tnp_share whole = tnp_progress_begin(ctx);
    TN_TRY(check_options(ctx, options));
    TN_TRY(tnp_check_names(ctx, features, count, labels));
    (void)tnp_progress_part(ctx, whole, 0, SURVEY);
    TN_TRY(tnp_task_new(ctx, features, count, labels, (tn_nan_policy)rank->nan, rank->evidence.intercept, &job.task));
    TN_TRY(begin_result(ctx, &job));
    if (options->fit.from)
        tnp_warn(ctx, "option from: a head that has seen these rows makes every figure too good");
    (void)tnp_progress_part(ctx, whole, SURVEY, 1);
    TN_TRY(run_all(ctx, &job));
    TN_TRY(tnp_progress_end(ctx));
    job.result->seconds = tnp_seconds() - begin;
    *out = job.result;
    job.result = NULL;
done:
    tnp_task_free(job.task);
    tnp_free_all(job.fold.trained, job.fold.rows, job.fold.positives);
    tn_cv_free(job.result);
    return st;
}

/* ---- for a ranking ---- */

static size_t count_words(const char *list)
{
    size_t count = 1;
    for (; *list; ++list)
        count += *list == ',';
    return count;
}

/* The i-th word of a list joined by commas. Free with tnp_free. */
static tn_status copy_word(tn_ctx *ctx, const char *list, size_t i, char **out)
{
    for (; i > 0; --i)
        list += strcspn(list, ",") + 1;
    return tnp_strndup(ctx, list, strcspn(list, ","), out);
}

tn_status tnp_cv_candidate(tn_ctx *ctx, const tn_features *const *features, const tn_labels *labels,
                           const tnp_rank_options *rank, size_t c, int method, size_t folds, tn_cv_result **out)
{
    tn_status st = TN_OK;
    tnp_cv_options options;
    char *transform = NULL, *normalize = NULL;
    size_t kinds = count_words(rank->normalize), each = count_words(rank->transform) * kinds;
    TN_TRY(copy_word(ctx, rank->transform, c % each / kinds, &transform));
    TN_TRY(copy_word(ctx, rank->normalize, c % kinds, &normalize));
    tnp_cv_options_default(&options);
    options.fit.rank = *rank;
    options.fit.rank.transform = transform;
    options.fit.rank.normalize = normalize;
    options.fit.method = method;
    options.folds = folds;
    options.scores = true;
    TN_TRY(tnp_cv(ctx, &features[c / each], 1, labels, &options, out));
done:
    tnp_free_all(transform, normalize);
    return st;
}
