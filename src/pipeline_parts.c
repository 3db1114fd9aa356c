/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Candidates, the figures of a set, the choice of lambda, the head. The plot is in pipeline.c. */
#include "pipeline_parts.h"
#include "report/text.h"
#include "tenon/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tn_status tnp_candidates_new(tn_ctx *ctx, const tn_source *const *sources, size_t count, const tnp_task *task,
                             const tn_rank_options *options, tnp_candidates **out)
{
    tn_status st = TN_OK;
    tnp_candidates *c = NULL;
    tn_normalize kinds[TN_NORMALIZE_COUNT];
    size_t kind_count = 0;
    TN_TRY(tn_normalize_parse(ctx, options->normalize, kinds, &kind_count));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    TN_TRY(tnp_alloc(ctx, count * kind_count, sizeof *c->feeds, &c->feeds));
    TN_TRY(tnp_alloc(ctx, count * kind_count, sizeof *c->names, &c->names));
    for (size_t s = 0; s < count; ++s)
        for (size_t k = 0; k < kind_count; ++k) {
            const char *name = tn_source_name(sources[s]), *kind = tn_normalize_name(kinds[k]);
            size_t size = strlen(name) + strlen(kind) + 2, at = c->count++;
            TN_TRY(tnp_alloc(ctx, size, 1, &c->names[at]));
            snprintf(c->names[at], size, kind_count > 1 ? "%s+%s" : "%s", name, kind);
            TN_TRY(tn_feed_new(ctx, sources[s], task->rows, task->y.rows, kinds[k], (tn_nan_policy)options->nan,
                               &c->feeds[at]));
        }
    *out = c;
    c = NULL;
done:
    tnp_candidates_free(c);
    return st;
}

void tnp_candidates_free(tnp_candidates *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; ++i) {
        tn_feed_free(c->feeds[i]);
        tnp_free(c->names[i]);
    }
    tnp_free(c->feeds);
    tnp_free(c->names);
    tnp_free(c);
}

tn_status tnp_join_names(tn_ctx *ctx, const tnp_candidates *candidates, const size_t *members, size_t count, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    for (size_t m = 0; m < count; ++m)
        tnp_text_add(&text, "%s%s", m ? " + " : "", candidates->names[members[m]]);
    return tnp_text_take(&text, out);
}

tn_status tnp_parse_loo(tn_ctx *ctx, const char *text, size_t *rows)
{
    char *end = NULL;
    if (strcmp(text, "all") == 0) {
        *rows = SIZE_MAX;
        return TN_OK;
    }
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != 0 || text[0] == '-')
        return tnp_fail(ctx, TN_ERR_ARG, "--loo: got '%.40s', expected a number of rows, all or 0", text);
    *rows = (size_t)value;
    return TN_OK;
}

/* Feeds of a set, in order. */
static tn_status pick_feeds(tn_ctx *ctx, const tnp_candidates *c, const size_t *members, size_t count,
                            const tn_feed ***out)
{
    const tn_feed **feeds = NULL;
    tn_status st = tnp_alloc(ctx, count, sizeof *feeds, &feeds);
    for (size_t m = 0; st == TN_OK && m < count; ++m)
        feeds[m] = c->feeds[members[m]];
    if (st == TN_OK)
        *out = feeds;
    return st;
}

/* Leave-one-out of a set, over the sample's rows. */
static tn_status loo_of_set(tn_ctx *ctx, const tnp_bench *bench, const tnp_ridge *ridge, const size_t *members,
                            size_t count, tnp_loo **out)
{
    const tn_feed **feeds = NULL;
    tn_status st = pick_feeds(ctx, bench->candidates, members, count, &feeds);
    if (st == TN_OK)
        st = tnp_loo_new(ctx, ridge, feeds, count, &bench->task->y, bench->sample, out);
    tnp_free(feeds);
    return st;
}

static tn_status measure_loo(tn_ctx *ctx, const tnp_bench *bench, const tnp_ridge *ridge, const size_t *members,
                             size_t count, tn_candidate *out)
{
    tn_status st = TN_OK;
    tnp_loo *loo = NULL;
    tnp_loo_result result;
    TN_TRY(loo_of_set(ctx, bench, ridge, members, count, &loo));
    TN_TRY(tnp_loo_measure(ctx, loo, bench->task->kind, out->lambda_shared, &result));
    out->loo_accuracy = result.accuracy;
    out->loo_se = result.se;
    out->loo_r2 = result.r2;
done:
    tnp_loo_free(loo);
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
    out->loo_accuracy = out->loo_se = out->loo_r2 = NAN;
}

tn_status tnp_measure_set(tn_ctx *ctx, const tnp_bench *bench, const size_t *members, size_t count, tn_candidate *out,
                          tnp_ridge **ridge, tn_evidence **evidence)
{
    tn_status st = TN_OK;
    tnp_ridge *r = NULL;
    tn_evidence *e = NULL;
    tn_candidate figures = {0};
    double begin = tnp_seconds();
    TN_TRY(tnp_join_names(ctx, bench->candidates, members, count, &figures.name));
    TN_TRY(tnp_ensemble_ridge(ctx, bench->ensemble, members, count, &r));
    TN_TRY(tnp_evidence_new(ctx, r->spectrum, r->rows, r->dim, bench->task->constant, &bench->options->evidence, &e));
    copy_figures(e, &figures);
    if (bench->sample)
        TN_TRY(measure_loo(ctx, bench, r, members, count, &figures));
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

tn_status tnp_set_evidence(tn_ctx *ctx, void *arg, const size_t *members, size_t count, double *log_evidence)
{
    tnp_bench bench = *(const tnp_bench *)arg;
    tn_candidate figures = {0};
    bench.sample = NULL; /* the search goes by evidence alone */
    tn_status st = tnp_measure_set(ctx, &bench, members, count, &figures, NULL, NULL);
    if (st == TN_OK)
        *log_evidence = figures.log_evidence;
    tnp_free(figures.name);
    return st;
}

static tn_status loo_lambda(tn_ctx *ctx, const tnp_bench *bench, const tnp_ridge *ridge, const size_t *members,
                            size_t count, double *lambda)
{
    tn_status st = TN_OK;
    tnp_loo *loo = NULL;
    if (!bench->sample)
        return tnp_fail(ctx, TN_ERR_ARG, "--lambda loo needs leave-one-out rows, but --loo is 0");
    TN_TRY(loo_of_set(ctx, bench, ridge, members, count, &loo));
    TN_TRY(tnp_loo_lambda(ctx, loo, lambda));
done:
    tnp_loo_free(loo);
    return st;
}

tn_status tnp_choose_lambda(tn_ctx *ctx, const tnp_bench *bench, const tn_fit_options *options, const tnp_ridge *ridge,
                            const tn_evidence *evidence, const size_t *members, size_t count, double *lambda,
                            const char **word)
{
    static const char *const words[] = {"auto", "shared", "per-class", "gcv", "loo", "fixed"};
    tn_lambda_rule rule = TN_LAMBDA_AUTO;
    const tnp_task *task = bench->task;
    double one = 0;
    tn_status st = tn_lambda_parse(ctx, options->lambda, &rule, &one);
    if (rule == TN_LAMBDA_AUTO)
        rule = task->kind == TN_TASK_MULTICLASS ? TN_LAMBDA_SHARED : TN_LAMBDA_PER_CLASS;
    if (rule == TN_LAMBDA_SHARED)
        one = evidence->lambda_shared;
    if (st == TN_OK && rule == TN_LAMBDA_GCV)
        st = tnp_gcv_lambda(ctx, ridge->spectrum, ridge->rows, ridge->intercept, task->constant, &one);
    if (st == TN_OK && rule == TN_LAMBDA_LOO)
        st = loo_lambda(ctx, bench, ridge, members, count, &one);
    if (st != TN_OK)
        return st;
    for (size_t c = 0; c < ridge->classes; ++c)
        lambda[c] = task->constant[c] ? INFINITY : rule == TN_LAMBDA_PER_CLASS ? evidence->lambda[c] : one;
    *word = words[rule];
    return TN_OK;
}

/* How the head was made, from the same tables as the command line. */
static tn_status options_json(tn_ctx *ctx, const tn_fit_options *options, char **out)
{
    tnp_text text;
    char buffer[64];
    size_t counts[3];
    const tn_field *tables[3] = {tn_fit_fields(&counts[0]), tn_rank_fields(&counts[1]), tn_evidence_fields(&counts[2])};
    const void *bases[3] = {options, &options->rank, &options->rank.evidence};
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{");
    for (size_t t = 0; t < 3; ++t)
        for (size_t i = 0; i < counts[t]; ++i) {
            tnp_text_add(&text, t + i ? "," : "");
            tnp_text_quote(&text, tables[t][i].name);
            tnp_text_add(&text, ":");
            tnp_text_quote(&text, tn_field_text(&tables[t][i], bases[t], buffer, sizeof buffer));
        }
    tnp_text_add(&text, ",\"seed\":\"%zu\"}", options->rank.seed);
    return tnp_text_take(&text, out);
}

static tn_status head_reps(tn_ctx *ctx, const tnp_candidates *c, const size_t *members, size_t count, tn_head *head)
{
    tn_status st = TN_OK;
    for (size_t m = 0, at = 0; m < count; at += head->reps[m++].dim) {
        const tn_feed *feed = c->feeds[members[m]];
        TN_TRY(tnp_strdup(ctx, tn_source_name(tn_feed_source(feed)), &head->reps[m].name));
        head->reps[m].dim = tn_feed_cols(feed);
        head->reps[m].normalize = tn_feed_normalize(feed);
        if (!tn_feed_means(feed))
            continue;
        if (!head->means)
            TN_TRY(tnp_head_add_zscore(ctx, head));
        memcpy(head->means + at, tn_feed_means(feed), head->reps[m].dim * sizeof(double));
        memcpy(head->scales + at, tn_feed_scales(feed), head->reps[m].dim * sizeof(double));
    }
done:
    return st;
}

/* Value of a target that never changes: its value in the first row. */
static double constant_value(const tnp_task *task, size_t c)
{
    if (task->values)
        return task->values[c] + task->offset[c];
    return tnp_target(&task->y, 0, c);
}

/* Constant classes are scored by their constant, with or without an intercept; regression gets its offset back. */
static void finish_bias(const tnp_task *task, tn_head *head)
{
    for (size_t c = 0; c < head->classes; ++c)
        head->bias[c] = (float)(task->constant[c] ? constant_value(task, c) : (double)head->bias[c] + task->offset[c]);
}

tn_status tnp_make_head(tn_ctx *ctx, const tnp_bench *bench, const tn_labels *labels, const tn_fit_options *options,
                        const tnp_ridge *ridge, double log_evidence, const size_t *members, size_t count,
                        const double *lambda, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    const tn_feed **feeds = NULL;
    TN_TRY(tnp_head_new(ctx, bench->task->kind, (const char *const *)labels->names, ridge->classes, ridge->dim, count,
                        "evidence", &head));
    TN_TRY(tnp_head_add_ridge(ctx, head));
    TN_TRY(head_reps(ctx, bench->candidates, members, count, head));
    TN_TRY(pick_feeds(ctx, bench->candidates, members, count, &feeds));
    TN_TRY(tnp_ridge_weights(ctx, ridge, feeds, count, lambda, head->weight, head->bias));
    TN_TRY(tnp_ridge_precisions(ctx, ridge, lambda, head->alpha, head->beta));
    memcpy(head->lambda, lambda, ridge->classes * sizeof *lambda);
    finish_bias(bench->task, head);
    head->log_evidence = log_evidence;
    TN_TRY(options_json(ctx, options, &head->options));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_free(feeds);
    return st;
}
