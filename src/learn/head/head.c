/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The head object: storage and look. Applying it is scorer.c, files are store/head_file.c. */
#include "learn/head/head.h"
#include "read/features.h"
#include "transform/feed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tn_status tnp_head_new(tn_ctx *ctx, tn_task task, const char *const *names, size_t classes, size_t dim,
                       size_t rep_count, const char *method, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *h = NULL;
    size_t weights = 0;
    TN_TRY(tnp_mul(ctx, classes, dim, &weights));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *h, &h));
    h->task = task;
    h->classes = classes;
    h->dim = dim;
    h->rep_count = rep_count;
    h->threshold = 0.5;
    TN_TRY(tnp_alloc(ctx, classes, sizeof *h->names, &h->names));
    TN_TRY(tnp_alloc(ctx, rep_count, sizeof *h->reps, &h->reps));
    TN_TRY(tnp_alloc(ctx, weights, sizeof *h->weight, &h->weight));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *h->bias, &h->bias));
    for (size_t k = 0; k < classes; ++k)
        TN_TRY(tnp_strdup(ctx, names[k], &h->names[k]));
    TN_TRY(tnp_strdup(ctx, method, &h->method));
    *out = h;
    h = NULL;
done:
    tn_head_free(h);
    return st;
}

tn_status tnp_head_add_lambda(tn_ctx *ctx, tn_head *h)
{
    return tnp_alloc(ctx, h->classes, sizeof *h->lambda, &h->lambda);
}

tn_status tnp_head_add_ridge(tn_ctx *ctx, tn_head *h)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_head_add_lambda(ctx, h));
    TN_TRY(tnp_alloc(ctx, h->classes, sizeof(double), &h->alpha));
    TN_TRY(tnp_alloc(ctx, h->classes, sizeof(double), &h->beta));
done:
    return st;
}

size_t tnp_rep_cols(const tnp_rep *rep)
{
    return rep->dim * (rep->map ? tn_map_width(rep->map) : 1);
}

tn_status tnp_rep_set_maker(tn_ctx *ctx, tnp_rep *rep, const void *bytes, size_t size)
{
    tn_status st = tnp_alloc_raw(ctx, size, 1, &rep->maker);
    if (st == TN_OK)
        memcpy(rep->maker, bytes, size);
    rep->maker_size = st == TN_OK ? size : 0;
    return st;
}

tn_status tnp_head_set_reps(tn_ctx *ctx, const tn_feed *const *feeds, tn_head *h)
{
    tn_status st = TN_OK;
    for (size_t r = 0, at = 0; r < h->rep_count; at += tn_feed_cols(feeds[r++])) {
        const tn_feed *feed = feeds[r];
        tnp_rep *rep = &h->reps[r];
        TN_TRY(tnp_strdup(ctx, tn_features_name(tn_feed_features(feed)), &rep->name));
        if (tn_features_about(tn_feed_features(feed)))
            TN_TRY(tnp_strdup(ctx, tn_features_about(tn_feed_features(feed)), &rep->about));
        if (tn_feed_features(feed)->maker)
            TN_TRY(tnp_rep_set_maker(ctx, rep, tn_feed_features(feed)->maker, tn_feed_features(feed)->maker_size));
        rep->dim = tn_features_cols(tn_feed_features(feed));
        rep->normalize = tn_feed_normalize(feed);
        if (tn_feed_map(feed))
            TN_TRY(tn_map_copy(ctx, tn_feed_map(feed), &rep->map));
        if (feed->centre && !h->centre)
            TN_TRY(tnp_head_add_centre(ctx, h));
        if (feed->centre)
            memcpy(h->centre + at, feed->centre, feed->cols * sizeof(double));
        if (!tn_feed_means(feed))
            continue;
        if (!h->means)
            TN_TRY(tnp_head_add_zscore(ctx, h));
        memcpy(h->means + at, tn_feed_means(feed), tn_feed_cols(feed) * sizeof(double));
        memcpy(h->scales + at, tn_feed_scales(feed), tn_feed_cols(feed) * sizeof(double));
    }
done:
    return st;
}

tn_status tnp_rep_copy(tn_ctx *ctx, const tnp_rep *from, const char *name, size_t dim, tnp_rep *to)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_strdup(ctx, name, &to->name));
    to->dim = dim;
    to->normalize = from->normalize;
    if (from->about)
        TN_TRY(tnp_strdup(ctx, from->about, &to->about));
    if (from->maker)
        TN_TRY(tnp_rep_set_maker(ctx, to, from->maker, from->maker_size));
    if (!from->map)
        goto done;
    TN_TRY(tnp_strdup(ctx, from->transform, &to->transform));
    TN_TRY(tn_map_copy(ctx, from->map, &to->map));
done:
    return st;
}

tn_status tnp_head_like(tn_ctx *ctx, const tn_head *like, const char *const *names, size_t classes, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *h = NULL;
    size_t bytes = like->dim * sizeof(double);
    TN_TRY(tnp_head_new(ctx, like->task, names, classes, like->dim, like->rep_count, like->method, &h));
    TN_TRY(tnp_strdup(ctx, tn_head_options(like), &h->options));
    for (size_t r = 0; r < h->rep_count; ++r)
        TN_TRY(tnp_rep_copy(ctx, &like->reps[r], like->reps[r].name, like->reps[r].dim, &h->reps[r]));
    if (like->means) {
        TN_TRY(tnp_head_add_zscore(ctx, h));
        memcpy(h->means, like->means, bytes);
        memcpy(h->scales, like->scales, bytes);
    }
    if (like->centre) {
        TN_TRY(tnp_head_add_centre(ctx, h));
        memcpy(h->centre, like->centre, bytes);
    }
    *out = h;
    h = NULL;
done:
    tn_head_free(h);
    return st;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tn_status tnp_check_class_names(tn_ctx *ctx, tn_status status, const char *where, const char *const *names,
                                size_t count)
{
    tn_status st = TN_OK;
    const char **sorted = NULL;
    TN_TRY(tnp_alloc_raw(ctx, count, sizeof *sorted, &sorted));
    for (size_t k = 0; k < count; ++k) {
        sorted[k] = names[k];
        if (!*names[k])
            TN_TRY(tnp_fail(ctx, status, "%s: the name of class %zu is empty", where, k));
    }
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t k = 1; k < count; ++k)
        if (strcmp(sorted[k - 1], sorted[k]) == 0)
            TN_TRY(tnp_fail(ctx, status, "%s: two classes are called '%.60s'", where, sorted[k]));
done:
    tnp_free(sorted);
    return st;
}

tn_status tnp_head_add_sources(tn_ctx *ctx, tn_head *h, size_t count)
{
    tn_status st = tnp_alloc(ctx, count, sizeof *h->sources, &h->sources);
    h->source_count = st == TN_OK ? count : 0;
    return st;
}

tn_status tnp_head_add_zscore(tn_ctx *ctx, tn_head *h)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, h->dim, sizeof(double), &h->means));
    TN_TRY(tnp_alloc(ctx, h->dim, sizeof(double), &h->scales));
    for (size_t j = 0; j < h->dim; ++j)
        h->scales[j] = 1;
done:
    return st;
}

tn_status tnp_head_add_thresholds(tn_ctx *ctx, tn_head *h)
{
    tn_status st = tnp_alloc(ctx, h->classes, sizeof(double), &h->thresholds);
    for (size_t k = 0; st == TN_OK && k < h->classes; ++k)
        h->thresholds[k] = h->threshold;
    return st;
}

tn_status tnp_head_add_centre(tn_ctx *ctx, tn_head *h)
{
    return tnp_alloc(ctx, h->dim, sizeof(double), &h->centre);
}

static bool all_finite(const float *a, size_t n)
{
    bool fine = true;
    for (size_t i = 0; i < n; ++i)
        fine &= isfinite(a[i]) != 0;
    return fine;
}

tn_status tnp_head_check(tn_ctx *ctx, const tn_head *h)
{
    for (size_t k = 0; k < h->classes; ++k)
        if (!all_finite(h->weight + k * h->dim, h->dim) || !isfinite(h->bias[k]))
            return tnp_fail(ctx, TN_ERR_NUMERIC,
                            "training: the weights of class '%s' are no finite numbers: the features, or their "
                            "weights, are too large or too small for float",
                            h->names[k]);
    if (!isfinite(h->threshold) || !isfinite(h->temperature))
        return tnp_fail(ctx, TN_ERR_NUMERIC, "training: threshold %g, temperature %g, expected finite numbers",
                        h->threshold, h->temperature);
    for (size_t k = 0; h->thresholds && k < h->classes; ++k)
        if (!isfinite(h->thresholds[k]))
            return tnp_fail(ctx, TN_ERR_NUMERIC,
                            "training: the threshold of class '%s' is %g, expected a finite number", h->names[k],
                            h->thresholds[k]);
    return TN_OK;
}

bool tnp_head_plain_bias(const tn_head *h, float *out)
{
    bool fine = true;
    for (size_t k = 0; k < h->classes; ++k) {
        double shift = 0;
        for (size_t j = 0; h->centre && j < h->dim; ++j)
            shift += (double)h->weight[k * h->dim + j] * h->centre[j];
        out[k] = (float)((double)h->bias[k] - shift);
        fine &= isfinite(out[k]) != 0;
    }
    return fine;
}

void tn_head_free(tn_head *h)
{
    if (!h)
        return;
    for (size_t k = 0; h->names && k < h->classes; ++k)
        tnp_free(h->names[k]);
    for (size_t r = 0; h->reps && r < h->rep_count; ++r) {
        tnp_free_all(h->reps[r].name, h->reps[r].transform, h->reps[r].about, h->reps[r].maker);
        tn_map_free(h->reps[r].map);
    }
    for (size_t i = 0; i < h->source_count; ++i)
        tnp_free_all(h->sources[i].name, h->sources[i].label);
    tnp_free_all(h->sources, h->names, h->reps, h->weight, h->bias, h->lambda, h->alpha, h->beta, h->means, h->scales,
                 h->centre, h->thresholds, h->method, h->options, h->created_by, h);
}

tn_task tn_head_task(const tn_head *head)
{
    return head->task;
}

size_t tn_head_classes(const tn_head *head)
{
    return head->classes;
}

const char *const *tn_head_class_names(const tn_head *head)
{
    return (const char *const *)head->names;
}

size_t tn_head_dim(const tn_head *head)
{
    return head->dim;
}

size_t tn_head_rep_count(const tn_head *head)
{
    return head->rep_count;
}

tn_rep tn_head_rep(const tn_head *head, size_t i)
{
    const tnp_rep *rep = &head->reps[i];
    return (tn_rep){rep->name, rep->dim,         rep->normalize, rep->map ? rep->transform : "none",
                    rep->map,  tnp_rep_cols(rep)};
}

const char *tn_head_about(const tn_head *head, size_t i)
{
    return head->reps[i].about;
}

size_t tn_head_source_count(const tn_head *head)
{
    return head->source_count;
}

tn_head_source tn_head_source_at(const tn_head *head, size_t i)
{
    const tnp_head_source *s = &head->sources[i];
    return (tn_head_source){s->name, s->label, s->column, s->is_head};
}

const float *tn_head_weight(const tn_head *head)
{
    return head->weight;
}

const float *tn_head_bias(const tn_head *head)
{
    return head->bias;
}

const double *tn_head_centre(const tn_head *head)
{
    return head->centre;
}

const double *tn_head_lambda(const tn_head *head)
{
    return head->lambda;
}

const double *tn_head_alpha(const tn_head *head)
{
    return head->alpha;
}

const double *tn_head_beta(const tn_head *head)
{
    return head->beta;
}

const char *tn_head_method(const tn_head *head)
{
    return head->method;
}

const char *tn_head_options(const tn_head *head)
{
    return head->options ? head->options : "{}";
}

const char *tn_head_created_by(const tn_head *head)
{
    return head->created_by ? head->created_by : "";
}

double tn_head_log_evidence(const tn_head *head)
{
    return head->log_evidence;
}

const double *tn_head_thresholds(const tn_head *head)
{
    return head->thresholds;
}

double tn_head_threshold(const tn_head *head)
{
    return head->threshold;
}
