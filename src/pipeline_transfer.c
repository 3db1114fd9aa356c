/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfer from other classifiers: raw columns [features | scores of the donors] of the labelled rows, one problem a class
 * against the rest, a method on each, and one head that names the donors it uses.
 *
 * Two classes are one problem: the second against the first, whose row of the head is the negative. */
#include "pipeline_transfer.h"
#include "learn/head.h"
#include "learn/task.h"
#include "report/text.h"
#include "tenon/report.h"

#include <math.h>
#include <string.h>

void tn_transfer_options_default(tn_transfer_options *options)
{
    *options = (tn_transfer_options){
        .lambda = 1, .k = "all", .delta = 1e-4, .features = true, .normalize = "l2", .nan = TN_NAN_ERROR};
}

const tn_field *tn_transfer_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"method", TN_FIELD_CHOICE, offsetof(tn_transfer_options, method), 0, 0, TN_TRANSFER_METHOD_WORDS,
         "how; auto takes the one of none, rls and greedytl with the lowest leave-one-out error"},
        {"lambda", TN_FIELD_REAL, offsetof(tn_transfer_options, lambda), 1e-6, 1e9, "X", "regularisation of greedytl"},
        {"k", TN_FIELD_TEXT, offsetof(tn_transfer_options, k), 0, 0, "N|all|loo",
         "columns that greedytl and forward pick at most; loo: as many as leave-one-out finds best"},
        {"delta", TN_FIELD_REAL, offsetof(tn_transfer_options, delta), 0, 1, "X",
         "they stop when a further column gains less"},
        {"features", TN_FIELD_YESNO, offsetof(tn_transfer_options, features), 0, 0, "yes|no",
         "use the target's own columns beside the sources"},
        {"class-weight", TN_FIELD_CHOICE, offsetof(tn_transfer_options, class_weight), 0, 0, "none|balanced",
         "balanced: both sides of a class count the same"},
        {"normalize", TN_FIELD_TEXT, offsetof(tn_transfer_options, normalize), 0, 0, TN_NORMALIZE_WORDS,
         "how rows of the target are prepared; sources are taken as they are"},
        {"nan", TN_FIELD_CHOICE, offsetof(tn_transfer_options, nan), 0, 0, TN_NAN_WORDS,
         "rows of the target that hold NaN or infinity"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

/* ---- what is given ---- */

static tn_status check_options(tn_ctx *ctx, transfer_job *job)
{
    const tn_transfer_options *o = job->options;
    size_t count = 0;
    const tn_field *fields = tn_transfer_fields(&count);
    tn_status st = tnp_fields_check(ctx, fields, count, o);
    if (st == TN_OK)
        st = tn_normalize_parse(ctx, o->normalize, &job->normalize, &count);
    if (st != TN_OK)
        return st;
    if (strchr(o->normalize, ','))
        return tnp_fail(ctx, TN_ERR_ARG, "--normalize: got %s, expected one word", o->normalize);
    job->by_loo = strcmp(o->k, "loo") == 0;
    job->most = SIZE_MAX;
    if (strcmp(o->k, "all") != 0 && !job->by_loo && (!tnp_digits(o->k, &job->most) || job->most == 0))
        return tnp_fail(ctx, TN_ERR_ARG, "--k: got %s, expected all, loo or a number from 1 up", o->k);
    if (job->donor_count == 0 && o->method != TN_TRANSFER_NONE)
        return tnp_fail(ctx, TN_ERR_ARG, "there is no source to transfer from; --method none does without");
    if (!o->features && (o->method == TN_TRANSFER_NONE || o->method == TN_TRANSFER_DAM ||
                         o->method == TN_TRANSFER_MULTIKT_L1 || o->method == TN_TRANSFER_MULTIKT_L2))
        return tnp_fail(ctx, TN_ERR_ARG, "--features no: the method has nothing to learn but features");
    return TN_OK;
}

static tn_status check_donors(tn_ctx *ctx, const transfer_job *job)
{
    for (size_t d = 0; d < job->donor_count; ++d) {
        const tn_donor *donor = &job->donors[d];
        for (size_t e = 0; e < d; ++e)
            if (strcmp(donor->name, job->donors[e].name) == 0)
                return tnp_fail(ctx, TN_ERR_ARG, "two sources are called %s; give one another name: NAME=FILE",
                                donor->name);
        if (donor->head && donor->head->source_count > 0)
            return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "source '%s' is a transfer head itself", donor->name);
        tn_status st = donor->head ? TN_OK : tn_rows_agree(ctx, &donor->scores, 1, job->labels);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* ---- raw columns ---- */

/* The next `count` columns, piece (rows, count): to the problem, or to x at column `at`. */
static tn_status hand_over(tn_ctx *ctx, transfer_job *job, tnp_transfer_problem *problem, const double *piece,
                           size_t count, size_t at)
{
    if (problem)
        return tnp_transfer_problem_add(ctx, problem, piece, count, count);
    for (size_t i = 0; i < job->rows; ++i)
        memcpy(job->x + i * job->cols + at, piece + i * count, count * sizeof *piece);
    return TN_OK;
}

/* Columns of a feed. Rows must be whole to be normalised; floats stay floats until a piece of their columns is handed over. */
static tn_status read_feed(tn_ctx *ctx, transfer_job *job, const tn_feed *feed, tnp_transfer_problem *problem,
                           size_t at)
{
    enum { PIECE = 4096 };
    tn_status st = TN_OK;
    bool wide = tn_source_is_wide(tn_feed_source(feed));
    size_t cols = tn_feed_cols(feed), size = 0, piece = wide ? cols : tnp_min(PIECE, cols);
    double *values = NULL;
    float *raw = NULL;
    TN_TRY(tnp_mul(ctx, job->rows, cols, &size));
    TN_TRY(tnp_alloc_raw(ctx, job->rows * piece, sizeof *values, &values));
    if (wide) {
        TN_TRY(tn_feed_read_wide(ctx, feed, 0, job->rows, values, cols));
        TN_TRY(hand_over(ctx, job, problem, values, cols, at));
    } else {
        TN_TRY(tnp_alloc_raw(ctx, size, sizeof *raw, &raw));
        TN_TRY(tn_feed_read(ctx, feed, 0, job->rows, raw, cols));
    }
    for (size_t from = 0, n; !wide && from < cols; from += n) {
        n = tnp_min(piece, cols - from);
        for (size_t i = 0; i < job->rows; ++i)
            for (size_t c = 0; c < n; ++c)
                values[i * n + c] = (double)raw[i * cols + from + c];
        TN_TRY(hand_over(ctx, job, problem, values, n, at + from));
    }
done:
    tnp_free(values);
    tnp_free(raw);
    return st;
}

/* Scores of a head for the labelled rows; the file's other rows are passed over. */
static tn_status read_head(tn_ctx *ctx, transfer_job *job, const tn_head *head, tnp_transfer_problem *problem,
                           size_t at)
{
    enum { BLOCK = 1024 };
    tn_status st = TN_OK;
    tn_scorer *scorer = NULL;
    float *scores = NULL;
    double *values = NULL;
    size_t k = head->classes, done = 0;
    TN_TRY(tn_scorer_new(ctx, head, job->targets, job->target_count, (tn_nan_policy)job->options->nan, &scorer));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK * k, sizeof *scores, &scores));
    TN_TRY(tnp_alloc_raw(ctx, job->rows * k, sizeof *values, &values));
    for (size_t start = 0, n; start < tn_scorer_rows(scorer); start += n) {
        n = tnp_min(BLOCK, tn_scorer_rows(scorer) - start);
        TN_TRY(tn_scorer_read(ctx, scorer, start, n, scores));
        for (; done < job->rows && job->task->rows[done] < start + n; ++done)
            for (size_t c = 0; c < k; ++c)
                values[done * k + c] = (double)scores[(job->task->rows[done] - start) * k + c];
    }
    TN_TRY(hand_over(ctx, job, problem, values, k, at));
done:
    tnp_free(scores);
    tnp_free(values);
    tn_scorer_free(scorer);
    return st;
}

static size_t donor_cols(const tn_donor *donor)
{
    return donor->head ? donor->head->classes : tn_source_cols(donor->scores);
}

tn_status tnp_transfer_columns(tn_ctx *ctx, transfer_job *job, tnp_transfer_problem *problem)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    size_t at = 0;
    if (problem && job->x)
        return tnp_transfer_problem_add(ctx, problem, job->x, job->cols, job->cols);
    for (size_t t = 0; job->options->features && t < job->target_count; at += tn_feed_cols(job->feeds[t++]))
        TN_TRY(read_feed(ctx, job, job->feeds[t], problem, at));
    for (size_t d = 0; d < job->donor_count; at += donor_cols(&job->donors[d++])) {
        const tn_donor *donor = &job->donors[d];
        if (donor->head) {
            TN_TRY(read_head(ctx, job, donor->head, problem, at));
            continue;
        }
        TN_TRY(tn_feed_new(ctx, donor->scores, job->task->rows, job->rows, TN_NORM_NONE, TN_NAN_ERROR, NULL, &feed));
        TN_TRY(read_feed(ctx, job, feed, problem, at));
        tn_feed_free(feed);
        feed = NULL;
    }
done:
    tn_feed_free(feed);
    return st;
}

/* Several classes read the columns once and keep them; one class hands them on as they are read. */
static tn_status keep_columns(tn_ctx *ctx, transfer_job *job, size_t results)
{
    tn_status st = TN_OK;
    size_t size = 0;
    if (results == 1)
        return TN_OK;
    TN_TRY(tnp_mul(ctx, job->rows, job->cols, &size));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *job->x, &job->x));
    TN_TRY(tnp_transfer_columns(ctx, job, NULL));
done:
    return st;
}

static tn_status open_targets(tn_ctx *ctx, transfer_job *job)
{
    tn_status st = TN_OK;
    tn_nan_policy nan = (tn_nan_policy)job->options->nan;
    TN_TRY(tnp_task_new(ctx, job->targets, job->target_count, job->labels, nan, false, &job->task));
    if (job->task->kind == TN_TASK_REGRESSION)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "transfer needs classes, but the task is a regression"));
    job->rows = job->task->y.rows;
    TN_TRY(tnp_alloc(ctx, job->target_count, sizeof *job->feeds, &job->feeds));
    for (size_t t = 0; job->options->features && t < job->target_count; ++t) {
        TN_TRY(
            tn_feed_new(ctx, job->targets[t], job->task->rows, job->rows, job->normalize, nan, NULL, &job->feeds[t]));
        job->features += tn_feed_cols(job->feeds[t]);
    }
    job->cols = job->features;
    for (size_t d = 0; d < job->donor_count; ++d)
        job->cols += donor_cols(&job->donors[d]);
done:
    return st;
}

/* ---- the head ---- */

/* Donor and column of source column j. */
static const tn_donor *donor_of(const transfer_job *job, size_t j, size_t *column)
{
    size_t d = 0;
    while (j >= donor_cols(&job->donors[d]))
        j -= donor_cols(&job->donors[d++]);
    *column = j;
    return &job->donors[d];
}

tn_status tnp_transfer_source_name(tn_ctx *ctx, const transfer_job *job, size_t j, bool with_donor, char **out)
{
    size_t column = 0;
    const tn_donor *donor = donor_of(job, j, &column);
    tnp_text text;
    tnp_text_init(&text, ctx);
    if (donor->head)
        tnp_text_add(&text, "%s", donor->head->names[column]);
    else if (with_donor)
        tnp_text_add(&text, "%s[%zu]", donor->name, column);
    else
        tnp_text_add(&text, "%zu", column);
    return tnp_text_take(&text, out);
}

/* Names the sources that some class has a weight for; place (source columns) tells where each stands. */
static tn_status name_sources(tn_ctx *ctx, const transfer_job *job, const size_t *place, tn_head *head)
{
    tn_status st = TN_OK;
    for (size_t j = 0; j < job->cols - job->features; ++j) {
        if (place[j] == SIZE_MAX)
            continue;
        tnp_head_source *s = &head->sources[place[j]];
        const tn_donor *donor = donor_of(job, j, &s->column);
        char *label = NULL;
        s->is_head = donor->head != NULL;
        TN_TRY(tnp_strdup(ctx, donor->name, &s->name));
        TN_TRY(tnp_transfer_source_name(ctx, job, j, false, &label));
        st = tnp_strdup(ctx, label, &s->label);
        tn_text_free(label);
        if (st != TN_OK)
            return st;
    }
done:
    return st;
}

static tn_status options_json(tn_ctx *ctx, const tn_transfer_options *options, char **out)
{
    size_t count = 0;
    const tn_field *fields = tn_transfer_fields(&count);
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{");
    tnp_text_fields(&text, fields, count, options, true);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

/* Row k of the head from the weights of a result (cols) and its intercept, times sign. */
static void fill_row(const transfer_job *job, const size_t *place, const double *w, double intercept, double sign,
                     size_t k, tn_head *head)
{
    float *row = head->weight + k * head->dim;
    for (size_t j = 0; j < job->features; ++j)
        row[j] = (float)(sign * w[j]);
    for (size_t j = job->features; j < job->cols; ++j)
        if (place[j - job->features] != SIZE_MAX)
            row[job->features + place[j - job->features]] = (float)(sign * w[j]);
    head->bias[k] = (float)(sign * intercept);
}

static tn_status make_head(tn_ctx *ctx, const transfer_job *job, const tn_transfer_info *info, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    size_t *place = NULL, sources = job->cols - job->features, used = 0, k = job->labels->classes;
    const char *method = info->count == 1 ? info->results[0].method : "transfer";
    TN_TRY(tnp_alloc(ctx, sources, sizeof *place, &place));
    for (size_t j = 0; j < sources; ++j) {
        bool any = false;
        for (size_t r = 0; r < info->count; ++r)
            any |= job->weights[r * job->cols + job->features + j] != 0;
        place[j] = any ? used++ : SIZE_MAX;
    }
    if (job->features + used == 0)
        TN_TRY(
            tnp_fail(ctx, TN_ERR_DATA, "no source tells the classes apart: every score is constant or uncorrelated"));
    TN_TRY(tnp_head_new(ctx, job->task->kind, (const char *const *)job->labels->names, k, job->features + used,
                        job->options->features ? job->target_count : 0, method, &head));
    TN_TRY(tnp_head_add_sources(ctx, head, used));
    TN_TRY(name_sources(ctx, job, place, head));
    TN_TRY(tnp_head_set_reps(ctx, (const tn_feed *const *)job->feeds, head));
    TN_TRY(options_json(ctx, job->options, &head->options));
    for (size_t r = 0; r < info->count; ++r)
        fill_row(job, place, job->weights + r * job->cols, job->intercepts[r], 1, info->count == 1 ? 1 : r, head);
    if (info->count == 1)
        fill_row(job, place, job->weights, job->intercepts[0], -1, 0, head);
    head->threshold = 0;
    head->log_evidence = NAN;
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_free(place);
    return st;
}

/* ---- the whole ---- */

static void job_destroy(transfer_job *job)
{
    for (size_t t = 0; job->feeds && t < job->target_count; ++t)
        tn_feed_free(job->feeds[t]);
    tnp_free(job->feeds);
    tnp_task_free(job->task);
    tnp_free(job->x);
    tnp_free(job->weights);
    tnp_free(job->intercepts);
}

static tn_status info_new(tn_ctx *ctx, const transfer_job *job, tn_transfer_info **out)
{
    tn_status st = TN_OK;
    tn_transfer_info *info = NULL;
    size_t k = job->labels->classes;
    bool one = k == 2 && job->task->kind == TN_TASK_MULTICLASS;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *info, &info));
    info->rows = job->rows;
    info->features = job->features;
    info->source_columns = job->cols - job->features;
    TN_TRY(tnp_alloc(ctx, k, sizeof *info->names, &info->names));
    for (; info->classes < k; ++info->classes)
        TN_TRY(tnp_strdup(ctx, job->labels->names[info->classes], &info->names[info->classes]));
    TN_TRY(tnp_alloc(ctx, one ? 1 : k, sizeof *info->results, &info->results));
    info->count = one ? 1 : k;
    for (size_t r = 0; r < info->count; ++r)
        info->results[r].name = info->names[one ? 1 : r];
    *out = info;
    info = NULL;
done:
    tn_transfer_info_free(info);
    return st;
}

void tn_transfer_info_free(tn_transfer_info *info)
{
    if (!info)
        return;
    for (size_t r = 0; r < info->count; ++r) {
        for (size_t i = 0; i < info->results[r].pick_count; ++i)
            tnp_free(info->results[r].picks[i].name);
        tnp_free(info->results[r].picks);
        tnp_free(info->results[r].objective);
        tnp_free(info->results[r].path);
    }
    for (size_t k = 0; k < info->classes; ++k)
        tnp_free(info->names[k]);
    tnp_free(info->names);
    tnp_free(info->results);
    tnp_free(info);
}

tn_status tn_transfer(tn_ctx *ctx, const tn_source *const *targets, size_t count, const tn_labels *labels,
                      const tn_donor *donors, size_t donor_count, const tn_transfer_options *options,
                      tn_transfer_info **info_out, tn_head **head_out)
{
    tn_status st = TN_OK;
    transfer_job job = {.targets = targets,
                        .target_count = count,
                        .labels = labels,
                        .donors = donors,
                        .donor_count = donor_count,
                        .options = options};
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    double begin = tnp_seconds();
    TN_TRY(check_options(ctx, &job));
    TN_TRY(check_donors(ctx, &job));
    TN_TRY(open_targets(ctx, &job));
    TN_TRY(info_new(ctx, &job, &info));
    TN_TRY(keep_columns(ctx, &job, info->count));
    TN_TRY(tnp_alloc(ctx, info->count * job.cols, sizeof *job.weights, &job.weights));
    TN_TRY(tnp_alloc(ctx, info->count, sizeof *job.intercepts, &job.intercepts));
    for (size_t r = 0; r < info->count; ++r) {
        TN_TRY(tnp_progress(ctx, "transfer", r, info->count));
        TN_TRY(tnp_transfer_class(ctx, &job, info->count == 1 ? 1 : r, r, &info->results[r]));
    }
    TN_TRY(make_head(ctx, &job, info, &head));
    info->seconds = tnp_seconds() - begin;
    *info_out = info;
    *head_out = head;
    info = NULL;
    head = NULL;
done:
    tn_transfer_info_free(info);
    tn_head_free(head);
    job_destroy(&job);
    return st;
}
