/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An online learner that is given its rows in chunks: what the options ask for, and one chunk from features and labels
 * to learned rows. It is one pass of tn_fit cut in pieces: the same task, feeds and pass over them, in the order in
 * which rows come. */
#include "pipeline/online.h"
#include "read/labels/labels.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

/* ---- making ---- */

/* What takes all rows to know, and what is done in another way here. */
static tn_status check_options(tn_ctx *ctx, const tnp_fit_options *o)
{
    if (tnp_method_of(o->method)->uses.family != TNP_FAMILY_ONLINE)
        return tnp_fail(ctx, TN_ERR_ARG, "online: method %s learns from all rows at once, expected perceptron to scw2",
                        tnp_method_of(o->method)->uses.word);
    if (o->learn.class_weight == TNP_WEIGHT_BALANCED)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "online: class-weight balanced needs the size of every class before the first row, which "
                        "chunks do not tell; give the labels weights");
    if (strcmp(o->rank.normalize, "zscore") == 0 && !o->from)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "online: normalize zscore needs the means and deviations of all rows before the first one, "
                        "which chunks do not tell; go on from a head that has them");
    if (strchr(o->rank.normalize, ',') || strchr(o->rank.transform, ','))
        return tnp_fail(ctx, TN_ERR_ARG, "online: got transform %s and normalize %s, expected one word each",
                        o->rank.transform, o->rank.normalize);
    if (o->online.tune || o->valid.count != 0)
        return tnp_fail(ctx, TN_ERR_ARG, "online: tune and valid choose between passes, and there is one here");
    if (*o->online.checkpoint)
        return tnp_fail(ctx, TN_ERR_ARG, "online: a checkpoint is for fit; call tn_online_save");
    return TN_OK;
}

static tn_status check_classes(tn_ctx *ctx, const tnp_fit_options *o, tn_task task, const char *const *names,
                               size_t count)
{
    if (task != TN_TASK_MULTICLASS && task != TN_TASK_MULTILABEL)
        return tnp_fail(ctx, TN_ERR_ARG, "online: got task %s, expected multiclass or multilabel", tn_task_name(task));
    if (count > TNP_MAX_CLASSES)
        return tnp_fail(ctx, TN_ERR_ARG, "online: %zu classes, expected at most %d", count, TNP_MAX_CLASSES);
    if (o->from && (o->from->task != task || !tnp_begins_with(names, count, o->from)))
        return tnp_fail(ctx, TN_ERR_ARG,
                        "online: the head to go on from has another task, or classes that are not the first here");
    return tnp_check_class_names(ctx, TN_ERR_ARG, "online", names, count);
}

/* The head without its numbers: as far as it is known before the first rows, or as the one to go on from has it. */
static tn_status describe(tn_ctx *ctx, const tnp_fit_options *o, tn_task task, const char *const *names, size_t count,
                          tn_head **out)
{
    tn_status st = TN_OK;
    tnp_fit_options used = *o;
    tn_head *head = NULL;
    used.online.average = !used.online.no_average;
    used.online.shuffle = false;
    used.online.epochs = 1;
    if (o->from) {
        tn_rep first = tn_head_rep(o->from, 0);
        used.rank.normalize = tn_normalize_name(first.normalize);
        used.rank.transform = first.transform;
        TN_TRY(tnp_head_like(ctx, o->from, names, count, &head));
    } else {
        TN_TRY(tnp_head_new(ctx, task, names, count, 0, 0, "", &head));
    }
    tnp_free_all(head->method, head->options);
    head->method = head->options = NULL;
    TN_TRY(tnp_strdup(ctx, tnp_method_of(o->method)->uses.word, &head->method));
    TN_TRY(tnp_options_json(ctx, &used, &head->options));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    return st;
}

/* How representations will be prepared. */
static tn_status plan_preparation(tn_ctx *ctx, const tnp_fit_options *o, tnp_rep *out)
{
    tn_status st = TN_OK;
    tnp_transform transform = {0};
    size_t count = 0;
    TN_TRY(tn_normalize_parse(ctx, o->rank.normalize, &out->normalize, &count));
    st = tnp_transform_read(ctx, o->rank.transform, (tn_signed)o->rank.sign, &transform);
    out->transform = transform.name;
    out->map = transform.map;
done:
    return st;
}

static tn_status start(tn_ctx *ctx, tn_online *o, const tn_head *from)
{
    tn_status st = TN_OK;
    bool ovr = o->shape.scheme == TNP_OVR;
    TN_TRY(tnp_online_learner(ctx, o, o->head->classes, from->dim, &o->learner));
    tnp_online_start(from, from->centre, ovr, o->shape.bias, o->learner->mu);
done:
    return st;
}

tn_status tnp_online_begin(tn_ctx *ctx, const tnp_fit_options *options, tn_task task, const char *const *names,
                           size_t count, tn_online **out)
{
    tn_status st = TN_OK;
    tn_online *o = NULL;
    if (options->from && count == 0) {
        names = tn_head_class_names(options->from);
        count = options->from->classes;
    }
    TN_TRY(tnp_check_fit(ctx, options));
    TN_TRY(check_options(ctx, options));
    TN_TRY(check_classes(ctx, options, task, names, count));
    if (options->from)
        TN_TRY(tnp_online_check_start(ctx, options->from, tnp_online_shape_of(options, task, 0, 0).scheme == TNP_OVR,
                                      options->rank.evidence.intercept));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *o, &o));
    o->eta = options->online.eta;
    o->rule = tnp_rule_new(tnp_method_of(options->method)->rule, options->learn.cost, o->eta);
    o->shape = tnp_online_shape_of(options, task, 0, 0);
    tnp_online_options_default(&o->options);
    o->options.multiclass = options->online.multiclass;
    o->options.ratio = options->online.ratio;
    o->options.shuffle = false;
    o->nan = (tn_nan_policy)options->rank.nan;
    o->seed = options->rank.seed;
    TN_TRY(describe(ctx, options, task, names, count, &o->head));
    if (options->from)
        TN_TRY(start(ctx, o, options->from));
    else
        TN_TRY(plan_preparation(ctx, options, &o->prepare));
    *out = o;
    o = NULL;
done:
    tn_online_free(o);
    return st;
}

/* ---- a chunk ---- */

/* Place of every class of the labels among the learner's; UINT32_MAX: it has none. Chunks name their classes in one
 * order as a rule: the search goes on behind the last one that was found. */
static void match_classes(const tn_labels *labels, const tn_head *head, uint32_t *to)
{
    for (size_t c = 0, at = 0; c < labels->classes; ++c) {
        size_t tries = 0;
        while (tries < head->classes && strcmp(labels->names[c], head->names[(at + tries) % head->classes]) != 0)
            ++tries;
        to[c] = tries < head->classes ? (uint32_t)((at + tries) % head->classes) : UINT32_MAX;
        at = to[c] == UINT32_MAX ? at : to[c] + 1;
    }
}

/* The task's classes become the learner's, ascending in every row. */
static tn_status renumber(tn_ctx *ctx, const tn_head *head, const tn_labels *labels, tnp_task *task)
{
    tn_status st = TN_OK;
    uint32_t *to = NULL;
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *to, &to));
    match_classes(labels, head, to);
    for (size_t i = 0; i < task->y.rows; ++i)
        for (size_t p = task->first[i]; p < task->first[i + 1]; ++p) {
            uint32_t c = to[task->cls[p]];
            size_t at = p;
            if (c == UINT32_MAX)
                TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                                "%s: row %zu: class '%s' is not one of the learner's; tn_online_add_classes adds it",
                                labels->path, task->rows[i], labels->names[task->cls[p]]));
            for (; at > task->first[i] && task->cls[at - 1] > c; --at)
                task->cls[at] = task->cls[at - 1];
            task->cls[at] = c;
        }
    task->y.classes = head->classes;
done:
    tnp_free(to);
    return st;
}

static tn_status check_chunk(tn_ctx *ctx, const tn_online *o, const tn_features *const *features, size_t count,
                             const tn_labels *labels)
{
    tn_task task = o->head->task;
    size_t least = task == TN_TASK_MULTICLASS ? 2 : 1;
    if (labels->task != task)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: %s labels, but the learner is %s", labels->path,
                        tn_task_name(labels->task), tn_task_name(task));
    if (o->head->classes < least)
        return tnp_fail(ctx, TN_ERR_DATA, "online: %zu classes, expected at least %zu; tn_online_add_classes adds some",
                        o->head->classes, least);
    return tnp_check_names(ctx, features, count, labels);
}

/* The first rows tell which representations there are. */
static tn_status add_reps(tn_ctx *ctx, const tn_online *o, const tn_features *const *features, size_t count,
                          tn_head **out)
{
    tn_status st = TN_OK;
    const tnp_rep *how = &o->prepare;
    tn_head *head = NULL;
    size_t dim = 0, width = how->map ? tn_map_width(how->map) : 1;
    for (size_t r = 0; r < count; ++r)
        dim += tn_features_cols(features[r]) * width;
    TN_TRY(tnp_head_new(ctx, o->head->task, tn_online_class_names(o), o->head->classes, dim, count, o->head->method,
                        &head));
    TN_TRY(tnp_strdup(ctx, o->head->options, &head->options));
    for (size_t r = 0; r < count; ++r)
        TN_TRY(tnp_rep_copy(ctx, how, tn_features_name(features[r]), tn_features_cols(features[r]), &head->reps[r]));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    return st;
}

/* Of a column whose mean has very many deviations a float keeps few digits. A centre would help, but would go by the
 * chunk. */
static tn_status warn_of_far_columns(tn_ctx *ctx, const tn_feed *feed)
{
    tn_status st = TN_OK;
    double *centre = NULL;
    tnp_survey found;
    TN_TRY(tnp_alloc_raw(ctx, tn_feed_cols(feed), sizeof *centre, &centre));
    TN_TRY(tnp_feed_survey(ctx, feed, TNP_FEED_FAR, centre, &found));
    if (found.any && !feed->centre)
        tnp_warn(ctx,
                 "%s: a column's mean has more than %.0f deviations, so that float32 keeps few of its digits; go on "
                 "from a head of fit, which has a centre for it",
                 tn_features_path(feed->features), TNP_FEED_FAR);
done:
    tnp_free(centre);
    return st;
}

/* Rows of the task, prepared as head says, to the learner. */
static tn_status learn(tn_ctx *ctx, tn_online *o, const tn_head *head, tnp_online *learner,
                       const tn_features *const *features, size_t count, const tnp_task *task, const float *weight,
                       bool *taken)
{
    tn_status st = TN_OK;
    tn_feed **feeds = NULL;
    TN_TRY(tnp_alloc(ctx, head->rep_count, sizeof *feeds, &feeds));
    TN_TRY(tnp_head_feeds(ctx, head, features, count, task->rows, task->y.rows, o->nan, feeds));
    for (size_t r = 0; r < head->rep_count; ++r) {
        tnp_feed_set_limit(feeds[r], TNP_FEED_LARGEST_SQUARED);
        if (learner->seen == 0)
            TN_TRY(warn_of_far_columns(ctx, feeds[r]));
    }
    const tnp_online_data data = {(const tn_feed *const *)feeds, head->rep_count, &task->y, weight, false, NULL};
    TN_TRY(tnp_online_take(ctx, o, learner, &data, taken));
done:
    for (size_t r = 0; feeds && r < head->rep_count; ++r)
        tn_feed_free(feeds[r]);
    tnp_free(feeds);
    return st;
}

tn_status tn_online_update(tn_ctx *ctx, tn_online *o, const tn_features *const *features, size_t count,
                           const tn_labels *labels)
{
    tn_status st = TN_OK;
    tnp_task *task = NULL;
    float *weight = NULL;
    tn_head *head = NULL;
    tnp_online *learner = NULL;
    bool taken = false;
    TN_TRY(tnp_online_usable(ctx, o));
    TN_TRY(check_chunk(ctx, o, features, count, labels));
    TN_TRY(tnp_task_chunk(ctx, features, count, labels, o->nan, &task));
    TN_TRY(renumber(ctx, o->head, labels, task));
    if (task->y.rows == 0)
        goto done;
    TN_TRY(tnp_row_weights(ctx, task, &(tnp_learn_options){.sample_weight = ""}, &weight));
    if (!o->learner) {
        TN_TRY(add_reps(ctx, o, features, count, &head));
        TN_TRY(tnp_online_learner(ctx, o, head->classes, head->dim, &learner));
    }
    st = learn(ctx, o, head ? head : o->head, learner ? learner : o->learner, features, count, task, weight, &taken);
    if (learner && taken) {
        tn_head_free(o->head);
        o->head = head;
        o->learner = learner;
        head = NULL;
        learner = NULL;
    }
done:
    tnp_task_free(task);
    tnp_free(weight);
    tn_head_free(head);
    tnp_online_free(learner);
    return st;
}
