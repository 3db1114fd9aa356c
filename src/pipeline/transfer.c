/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfer from other classifiers: raw columns [features | scores of the sources] of the labelled rows, one problem a
 * class against the rest, and one head that names the sources it uses. Of several labels each has a method of its own;
 * classes of which one is right are compared by an arg-max and share one (transfer_joint.c).
 *
 * Two classes are one problem: the second against the first, whose row of the head is the negative. */
#include "pipeline/transfer.h"
#include "base/text.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

static const double PAPER_LAMBDA = 1; /* of one class against the rest, on columns of unit variance */

void tnp_transfer_options_default(tnp_transfer_options *options)
{
    *options = (tnp_transfer_options){.k = TNP_ALL,
                                      .delta = 1e-4,
                                      .features = true,
                                      .transform = "none",
                                      .normalize = TN_NORM_L2,
                                      .nan = TN_NAN_ERROR};
}

const tn_field *tnp_transfer_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"method", TN_FIELD_CHOICE, offsetof(tnp_transfer_options, method), 0, 0, TNP_TRANSFER_WORDS,
         "how; auto: two classes take the one of none, rls and greedytl with the lowest leave-one-out error, more take "
         "greedytl unless none or rls is better by more than a standard error"},
        {"lambda", TN_FIELD_REAL, offsetof(tnp_transfer_options, lambda), 0, 1e9, "X",
         "regularisation of greedytl; 0: 1 for one class against the rest, else what leave-one-out of rls prefers"},
        {"k", TN_FIELD_INT_OR_WORD, offsetof(tnp_transfer_options, k), 1, 1e15, "N|all|loo",
         "columns that greedytl and forward pick at most; loo: as many as leave-one-out finds best"},
        {"delta", TN_FIELD_REAL, offsetof(tnp_transfer_options, delta), 0, 1, "X",
         "they stop when a further column gains less"},
        {"features", TN_FIELD_YESNO, offsetof(tnp_transfer_options, features), 0, 0, "yes|no",
         "use the target's own columns beside the sources"},
        {"class-weight", TN_FIELD_CHOICE, offsetof(tnp_transfer_options, class_weight), 0, 0, "none|balanced",
         "balanced: all classes count the same, of several labels both sides of each"},
        {"transform", TN_FIELD_TEXT, offsetof(tnp_transfer_options, transform), 0, 0, TNP_TRANSFORM_WORDS "|KERNEL",
         "map that every entry of the target goes through before its rows are normalised"},
        {"signed", TN_FIELD_CHOICE, offsetof(tnp_transfer_options, sign), 0, 0, TN_SIGNED_WORDS,
         "entries below zero in a map that is no file: mirrored, or in columns of their own"},
        {"normalize", TN_FIELD_CHOICE, offsetof(tnp_transfer_options, normalize), 0, 0, TN_NORMALIZE_WORDS,
         "how rows of the target are prepared; sources are taken as they are"},
        {"nan", TN_FIELD_CHOICE, offsetof(tnp_transfer_options, nan), 0, 0, TN_NAN_WORDS,
         "rows that hold NaN or infinity, in the target or in a file of scores"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

/* ---- what is given ---- */

static tn_status check_options(tn_ctx *ctx, transfer_job *job)
{
    const tnp_transfer_options *o = job->options;
    size_t count = 0;
    const tn_field *fields = tnp_transfer_fields(&count);
    tn_status st = tnp_fields_check(ctx, fields, count, o);
    if (st != TN_OK)
        return st;
    if (strchr(o->transform, ','))
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option transform: got %s, expected one word: transfer has no candidates to choose among",
                        o->transform);
    job->by_loo = o->k == TNP_BY_LOO;
    job->most = job->by_loo ? SIZE_MAX : o->k;
    if (job->source_count == 0 && o->method != TNP_TRANSFER_BY_NONE)
        return tnp_fail(ctx, TN_ERR_ARG, "there is no source to transfer from; option method none does without");
    if (!o->features && tnp_transfer_method_of(o->method)->features)
        return tnp_fail(ctx, TN_ERR_ARG, "option features no: the method has nothing to learn but features");
    return TN_OK;
}

static tn_status check_sources(tn_ctx *ctx, const transfer_job *job)
{
    for (size_t d = 0; d < job->source_count; ++d) {
        const tn_source *source = &job->sources[d];
        for (size_t e = 0; e < d; ++e)
            if (strcmp(source->name, job->sources[e].name) == 0)
                return tnp_fail(ctx, TN_ERR_ARG, "two sources are called %s; give one another name: NAME=FILE",
                                source->name);
        if (source->head && source->head->source_count > 0)
            return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "source '%s' is a transfer head itself", source->name);
        tn_status st = source->head ? TN_OK : tn_rows_agree(ctx, &source->scores, 1, job->labels);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* ---- raw columns ---- */

/* Columns of a feed, from column `at` on, some rows at a time. */
static tn_status read_feed(tn_ctx *ctx, transfer_job *job, const tn_feed *feed, size_t at)
{
    enum { VALUES = 1 << 20 };
    tn_status st = TN_OK;
    bool wide = tn_features_is_wide(tn_feed_features(feed));
    size_t cols = tn_feed_cols(feed), most = tnp_min(job->rows, tnp_max(1, VALUES / tnp_max(cols, 1)));
    void *block = NULL;
    TN_TRY(tnp_alloc_raw(ctx, most * cols, wide ? sizeof(double) : sizeof(float), &block));
    for (size_t start = 0, n; start < job->rows; start += n) {
        n = tnp_min(most, job->rows - start);
        if (wide)
            TN_TRY(tn_feed_read_wide(ctx, feed, start, n, block, cols));
        else
            TN_TRY(tn_feed_read(ctx, feed, start, n, block, cols));
        for (size_t i = 0; i < n; ++i)
            if (wide)
                tnp_transfer_put_wide(job->columns, start + i, at, cols, (const double *)block + i * cols);
            else
                tnp_transfer_put(job->columns, start + i, at, cols, (const float *)block + i * cols);
    }
done:
    tnp_free(block);
    return st;
}

/* How many sources from the first on are heads that are scored together, and their columns. */
static size_t alike_from(const transfer_job *job, size_t first, size_t *cols)
{
    enum { MOST = 4096 }; /* columns at a time: weights of all heads are copied below one another */
    const tn_head *head = job->sources[first].head;
    size_t n = 1;
    for (*cols = head->classes; first + n < job->source_count; ++n) {
        const tn_head *next = job->sources[first + n].head;
        if (!next || *cols + next->classes > MOST || !tnp_heads_alike(head, next))
            break;
        *cols += next->classes;
    }
    return n;
}

/* Scores of `count` heads, `cols` in all, for the labelled rows. */
static tn_status read_heads(tn_ctx *ctx, transfer_job *job, const tn_source *sources, size_t count, size_t cols,
                            size_t at)
{
    tn_status st = TN_OK;
    const tn_head **heads = NULL;
    float *scores = NULL;
    size_t size = 0;
    TN_TRY(tnp_mul(ctx, job->rows, cols, &size));
    TN_TRY(tnp_alloc(ctx, count, sizeof *heads, &heads));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *scores, &scores));
    for (size_t h = 0; h < count; ++h)
        heads[h] = sources[h].head;
    TN_TRY(tnp_heads_score(ctx, heads, count, job->targets, job->target_count, job->task->rows, job->rows,
                           (tn_nan_policy)job->options->nan, scores));
    for (size_t i = 0; i < job->rows; ++i)
        tnp_transfer_put(job->columns, i, at, cols, scores + i * cols);
done:
    tnp_free_all(heads, scores);
    return st;
}

static size_t source_cols(const tn_source *source)
{
    return source->head ? source->head->classes : tn_features_cols(source->scores);
}

/* Doubles when a file that is read has them: an offset far above the spread needs their digits. */
static bool any_wide(const transfer_job *job)
{
    bool wide = false;
    for (size_t t = 0; t < job->candidates->count; ++t)
        wide |= tn_features_is_wide(job->targets[t]);
    for (size_t d = 0; d < job->source_count; ++d)
        wide |= !job->sources[d].head && tn_features_is_wide(job->sources[d].scores);
    return wide;
}

/* Representations of the target and sources as groups of columns. */
static tn_status group_columns(tn_ctx *ctx, transfer_job *job)
{
    tn_status st = TN_OK;
    size_t targets = job->candidates->count, groups = targets + job->source_count, at = 0;
    size_t *ends = NULL;
    TN_TRY(tnp_alloc(ctx, groups, sizeof *ends, &ends));
    for (size_t g = 0; g < groups; ++g)
        ends[g] = at += g < targets ? tn_feed_cols(job->candidates->feeds[g]) : source_cols(&job->sources[g - targets]);
    TN_TRY(tnp_transfer_columns_group(ctx, job->columns, groups, targets, ends));
done:
    tnp_free(ends);
    return st;
}

static tn_status read_columns(tn_ctx *ctx, transfer_job *job)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    size_t at = 0;
    TN_TRY(tnp_transfer_columns_new(ctx, job->rows, job->cols, any_wide(job), &job->columns));
    if (job->joint)
        TN_TRY(group_columns(ctx, job));
    for (size_t t = 0; t < job->candidates->count; at += tn_feed_cols(job->candidates->feeds[t++]))
        TN_TRY(read_feed(ctx, job, job->candidates->feeds[t], at));
    for (size_t d = 0, n, cols; d < job->source_count; d += n, at += cols) {
        const tn_source *source = &job->sources[d];
        n = 1;
        cols = source_cols(source);
        if (source->head) {
            n = alike_from(job, d, &cols);
            TN_TRY(read_heads(ctx, job, source, n, cols, at));
            continue;
        }
        TN_TRY(tn_feed_new(ctx, source->scores, job->task->rows, job->rows, TN_NORM_NONE,
                           (tn_nan_policy)job->options->nan, NULL, &feed));
        TN_TRY(read_feed(ctx, job, feed, at));
        tn_feed_free(feed);
        feed = NULL;
    }
done:
    tn_feed_free(feed);
    return st;
}

/* Which rows take part: those that are labelled and, where NaN drops a row, whole in the target and in all files of
 * scores. */
static tn_status choose_rows(tn_ctx *ctx, transfer_job *job)
{
    tn_status st = TN_OK;
    const tn_features **files = NULL;
    size_t n = job->target_count;
    TN_TRY(tnp_alloc(ctx, n + job->source_count, sizeof *files, &files));
    memcpy(files, job->targets, n * sizeof *files);
    for (size_t d = 0; d < job->source_count; ++d)
        if (!job->sources[d].head)
            files[n++] = job->sources[d].scores;
    TN_TRY(tnp_task_new(ctx, files, n, job->labels, (tn_nan_policy)job->options->nan, false, &job->task));
done:
    tnp_free(files);
    return st;
}

/* job->row_weight: those of the labels, scaled to 1 on average. */
static tn_status weigh_rows(tn_ctx *ctx, transfer_job *job)
{
    tn_status st = TN_OK;
    const tn_labels *labels = job->labels;
    double sum = 0;
    if (!labels->weights)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, job->rows, sizeof *job->row_weight, &job->row_weight));
    for (size_t i = 0; i < job->rows; ++i) {
        double value = labels->weights[job->task->rows[i]];
        if (!(value > 0 && isfinite(value)))
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: the weight of row %zu is %g, expected a number from 0 up",
                            labels->weights_path, job->task->rows[i], value));
        sum += job->row_weight[i] = value;
    }
    for (size_t i = 0; i < job->rows; ++i)
        job->row_weight[i] *= (double)job->rows / sum;
done:
    return st;
}

static tn_status open_targets(tn_ctx *ctx, transfer_job *job)
{
    const tnp_transfer_options *o = job->options;
    tn_status st = TN_OK;
    tnp_rank_options prepare;
    tnp_rank_options_default(&prepare);
    prepare.transform = o->transform;
    prepare.sign = o->sign;
    prepare.normalize = tn_normalize_name((tn_normalize)o->normalize);
    prepare.nan = o->nan;
    TN_TRY(tnp_check_names(ctx, job->targets, job->target_count, job->labels));
    TN_TRY(choose_rows(ctx, job));
    if (job->task->kind == TN_TASK_REGRESSION)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "transfer needs classes, but the task is a regression"));
    job->rows = job->task->y.rows;
    TN_TRY(weigh_rows(ctx, job));
    job->joint = job->task->kind == TN_TASK_MULTICLASS && job->labels->classes > 2;
    TN_TRY(tnp_candidates_new(ctx, job->targets, o->features ? job->target_count : 0, job->task, &prepare,
                              &job->candidates));
    TN_TRY(tnp_candidates_survey(ctx, job->candidates, TNP_FEED_FAR, TNP_FEED_LARGEST));
    for (size_t t = 0; t < job->candidates->count; ++t)
        job->features += tn_feed_cols(job->candidates->feeds[t]);
    job->cols = job->features;
    for (size_t d = 0; d < job->source_count; ++d)
        job->cols += source_cols(&job->sources[d]);
done:
    return st;
}

/* ---- the head ---- */

/* Source and column of source column j. */
static const tn_source *source_of(const transfer_job *job, size_t j, size_t *column)
{
    size_t d = 0;
    while (j >= source_cols(&job->sources[d]))
        j -= source_cols(&job->sources[d++]);
    *column = j;
    return &job->sources[d];
}

tn_status tnp_transfer_source_name(tn_ctx *ctx, const transfer_job *job, size_t j, bool with_source, char **out)
{
    size_t column = 0;
    const tn_source *source = source_of(job, j, &column);
    tnp_text text;
    tnp_text_init(&text, ctx);
    if (source->head)
        tnp_text_add(&text, "%s", source->head->names[column]);
    else if (with_source)
        tnp_text_add(&text, "%s[%zu]", source->name, column);
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
        const tn_source *source = source_of(job, j, &s->column);
        char *label = NULL;
        s->is_head = source->head != NULL;
        TN_TRY(tnp_strdup(ctx, source->name, &s->name));
        TN_TRY(tnp_transfer_source_name(ctx, job, j, false, &label));
        st = tnp_strdup(ctx, label, &s->label);
        tn_text_free(label);
        if (st != TN_OK)
            return st;
    }
done:
    return st;
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
    size_t *place = NULL, features = job->cols - job->features, used = 0;
    const tnp_option_table table = {tnp_transfer_fields, job->options};
    const char *method = info->count == 1 ? info->results[0].method : "transfer";
    TN_TRY(tnp_alloc(ctx, features, sizeof *place, &place));
    for (size_t j = 0; j < features; ++j) {
        bool any = false;
        for (size_t r = 0; r < info->count; ++r)
            any |= job->weights[r * job->cols + job->features + j] != 0;
        place[j] = any ? used++ : SIZE_MAX;
    }
    if (job->features + used == 0)
        TN_TRY(
            tnp_fail(ctx, TN_ERR_DATA, "no source tells the classes apart: every score is constant or uncorrelated"));
    TN_TRY(tnp_head_of_set(ctx, job->task, job->labels, method, job->candidates, NULL, job->candidates->count, used,
                           &head));
    TN_TRY(tnp_head_add_sources(ctx, head, used));
    TN_TRY(name_sources(ctx, job, place, head));
    TN_TRY(tnp_tables_json(ctx, &table, 1, &head->options));
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
    tnp_candidates_free(job->candidates);
    tnp_task_free(job->task);
    tnp_transfer_drop_problem(job);
    tnp_transfer_columns_free(job->columns);
    tnp_free_all(job->row_weight, job->weights, job->intercepts);
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
        tnp_free_all(info->results[r].picks, info->results[r].objective, info->results[r].path);
    }
    for (size_t k = 0; k < info->classes; ++k)
        tnp_free(info->names[k]);
    tnp_free_all(info->names, info->results, info);
}

tn_status tnp_transfer(tn_ctx *ctx, const tn_features *const *targets, size_t count, const tn_labels *labels,
                       const tn_source *sources, size_t source_count, const tnp_transfer_options *options,
                       tn_transfer_info **info_out, tn_head **head_out)
{
    tn_status st = TN_OK;
    tnp_transfer_options own = *options;
    transfer_job job = {.targets = targets,
                        .target_count = count,
                        .labels = labels,
                        .sources = sources,
                        .source_count = source_count,
                        .options = &own};
    tn_transfer_info *info = NULL;
    tn_head *head = NULL;
    double begin = tnp_seconds();
    tnp_share whole = tnp_progress_begin(ctx), learning;
    TN_TRY(check_options(ctx, &job));
    TN_TRY(tnp_progress(ctx, "reading", 0, 1));
    TN_TRY(check_sources(ctx, &job));
    TN_TRY(open_targets(ctx, &job));
    own.lambda = own.lambda > 0 || job.joint ? own.lambda : PAPER_LAMBDA;
    TN_TRY(info_new(ctx, &job, &info));
    TN_TRY(read_columns(ctx, &job));
    TN_TRY(tnp_alloc(ctx, info->count * job.cols, sizeof *job.weights, &job.weights));
    TN_TRY(tnp_alloc(ctx, info->count, sizeof *job.intercepts, &job.intercepts));
    learning = tnp_progress_part(ctx, whole, 0.2, 1);
    if (job.joint)
        TN_TRY(tnp_transfer_joint(ctx, &job, info));
    for (size_t r = 0; !job.joint && r < info->count; ++r) {
        TN_TRY(tnp_progress_step(ctx, learning, job.labels->names[info->count == 1 ? 1 : r], r, info->count));
        TN_TRY(tnp_transfer_class(ctx, &job, info->count == 1 ? 1 : r, r, &info->results[r]));
    }
    tnp_transfer_drop_problem(&job);
    tnp_transfer_columns_free(job.columns);
    job.columns = NULL;
    TN_TRY(make_head(ctx, &job, info, &head));
    TN_TRY(tnp_head_check(ctx, head));
    TN_TRY(tnp_progress_end(ctx));
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
