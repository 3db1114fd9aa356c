/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The figures of a set, and what is checked before. The plot is in pipeline.c, candidates in candidates.c,
 * training in train.c. */
#include "pipeline/parts.h"
#include "base/text.h"
#include "read/features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tn_status tnp_join_names(tn_ctx *ctx, const tnp_candidates *candidates, const size_t *members, size_t count, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    for (size_t m = 0; m < count; ++m)
        tnp_text_add(&text, "%s%s", m ? " + " : "", candidates->names[members[m]]);
    return tnp_text_take(&text, out);
}

tn_status tnp_check_names(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels)
{
    if (count == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "at least one representation is needed");
    for (size_t i = 0; i < count; ++i) /* what *.npy catches in a folder that holds the labels too */
        if (labels->path && !features[i]->from_memory && strcmp(tn_features_path(features[i]), labels->path) == 0)
            return tnp_fail(ctx, TN_ERR_ARG, "%s holds the labels; leave it out of the representations", labels->path);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < i; ++j)
            if (strcmp(tn_features_name(features[i]), tn_features_name(features[j])) == 0)
                return tnp_fail(ctx, TN_ERR_ARG, "%s and %s are both named '%s'; give one another name: NAME=PATH",
                                tn_features_path(features[j]), tn_features_path(features[i]),
                                tn_features_name(features[i]));
    return TN_OK;
}

tn_status tnp_pick_feeds(tn_ctx *ctx, const tnp_candidates *c, const size_t *members, size_t count,
                         const tn_feed ***out)
{
    const tn_feed **feeds = NULL;
    tn_status st = tnp_alloc(ctx, count, sizeof *feeds, &feeds);
    for (size_t m = 0; st == TN_OK && m < count; ++m)
        feeds[m] = c->feeds[members ? members[m] : m];
    if (st == TN_OK)
        *out = feeds;
    return st;
}

tn_status tnp_loo_of_set(tn_ctx *ctx, const tnp_selection *selection, const tnp_ridge *ridge, const size_t *members,
                         size_t count, tnp_loo **out)
{
    const tn_feed **feeds = NULL;
    tn_status st = tnp_pick_feeds(ctx, selection->candidates, members, count, &feeds);
    if (st == TN_OK)
        st = tnp_loo_new(ctx, ridge, feeds, count, &selection->task->y, selection->sample, out);
    tnp_free(feeds);
    return st;
}

tn_status tnp_judge_left_out(tn_ctx *ctx, const tnp_selection *selection, const double *predicted, tn_candidate *out)
{
    tn_status st = TN_OK;
    const tnp_sample *sample = selection->sample;
    size_t size = sample->count * selection->task->y.classes;
    float *scores = NULL;
    tnp_loo_result result;
    tnp_loo_judge(sample, &selection->task->y, selection->task->kind, predicted, &result);
    out->loo_accuracy = result.accuracy;
    out->loo_se = result.se;
    out->loo_r2 = result.r2;
    if (selection->task->kind != TN_TASK_MULTILABEL)
        return TN_OK;
    /* Of labels most are absent, so that being right about them says little: the order of the scores says more. */
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *scores, &scores));
    for (size_t i = 0; i < size; ++i)
        scores[i] = (float)predicted[i];
    TN_TRY(tnp_measure_left_out(ctx, selection->task, sample->rows, sample->count, scores, &out->loo_mean_ap));
    if (isnan(out->loo_mean_ap))
        out->loo_mean_ap = 0;
done:
    tnp_free(scores);
    return st;
}

/* Of the head with the shared lambda, which is that of the class means where there is none; and what else the ranking
 * asks of the rows that are left out. The ridge keeps the scores, for that head will be judged by them. */
static tn_status measure_loo(tn_ctx *ctx, const tnp_selection *selection, tnp_ridge *ridge, const tn_evidence *evidence,
                             const size_t *members, size_t count, tn_candidate *out)
{
    tn_status st = TN_OK;
    const tn_feed **feeds = NULL;
    tnp_class_means *means = NULL;
    double *lambda = NULL, *scores = NULL;
    size_t k = ridge->classes;
    TN_TRY(tnp_pick_feeds(ctx, selection->candidates, members, count, &feeds));
    TN_TRY(tnp_alloc(ctx, k, sizeof *lambda, &lambda));
    for (size_t c = 0; c < k; ++c)
        lambda[c] = selection->task->constant[c] ? INFINITY : tnp_shared_or_null(evidence);
    TN_TRY(tnp_means_of_null(ctx, selection, feeds, count, ridge, lambda, &means));
    TN_TRY(tnp_alloc_raw(ctx, selection->sample->count * k, sizeof *scores, &scores));
    const tnp_left_out l = {selection, feeds, count, ridge, lambda, means, means ? 1 : 0};
    TN_TRY(tnp_left_out_scores(ctx, &l, selection->sample, scores));
    TN_TRY(tnp_judge_left_out(ctx, selection, scores, out));
    if (selection->units)
        TN_TRY(tnp_units_of_quality(ctx, selection, scores, &selection->units[TNP_RANK_LOO]));
    if (selection->units && selection->options->by == TNP_RANK_NLL)
        TN_TRY(tnp_units_of_loss(ctx, selection, scores, &selection->units[TNP_RANK_NLL]));
    if (selection->units && selection->options->by == TNP_RANK_KNN)
        TN_TRY(tnp_units_of_neighbours(ctx, selection, feeds, count, &selection->units[TNP_RANK_KNN]));
    if (!means) {
        ridge->left_out = scores;
        ridge->left_out_lambda = lambda;
        ridge->left_out_sample = selection->sample;
        scores = lambda = NULL;
    }
done:
    tnp_class_means_free(means);
    tnp_free_all(feeds, lambda, scores);
    return st;
}

static void copy_figures(const tn_evidence *e, tn_candidate *out)
{
    out->dim = e->dim;
    out->log_evidence = e->log_evidence;
    out->log_evidence_shared = e->log_evidence_shared;
    out->gain_per_label = e->gain_per_label;
    out->lambda_median = e->lambda_median;
    out->lambda_shared = e->lambda_shared;
    out->iterations_max = e->iterations_max;
    out->iterations_mean = e->iterations_mean;
    out->null_classes = e->null_classes;
    out->degenerate_classes = e->degenerate_classes;
    out->unbounded_classes = e->unbounded_classes;
    out->evidence_error = e->error;
    out->loo_accuracy = out->loo_se = out->loo_r2 = out->score = out->score_se = NAN;
}

tn_status tnp_measure_set(tn_ctx *ctx, const tnp_selection *selection, const size_t *members, size_t count,
                          tn_candidate *out, tnp_ridge **ridge, tn_evidence **evidence)
{
    tn_status st = TN_OK;
    tnp_ridge *r = NULL;
    tn_evidence *e = NULL;
    tn_candidate figures = {0};
    double begin = tnp_seconds();
    TN_TRY(tnp_join_names(ctx, selection->candidates, members, count, &figures.name));
    TN_TRY(tnp_ensemble_evidence(ctx, selection->ensemble, members, count, selection->task->constant,
                                 &selection->options->evidence, &r, &e));
    copy_figures(e, &figures);
    if (selection->sample)
        TN_TRY(measure_loo(ctx, selection, r, e, members, count, &figures));
    figures.seconds = tnp_seconds() - begin;
    *out = figures;
    figures.name = NULL;
    if (ridge) {
        *ridge = r;
        r = NULL;
    }
    if (evidence) {
        *evidence = e;
        e = NULL;
    }
done:
    tnp_free(figures.name);
    tnp_ridge_free(r);
    tn_evidence_free(e);
    return st;
}

tn_status tnp_set_evidence(tn_ctx *ctx, void *arg, const tnp_ask *ask, double *log_evidence, bool *exact)
{
    const tnp_selection *s = arg;
    return tnp_ensemble_try(ctx, s->ensemble, ask, s->task->constant, &s->options->evidence, log_evidence, exact);
}
