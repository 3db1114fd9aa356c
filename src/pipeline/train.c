/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training of the ridge head on a chosen set: lambda, weights, leave-one-out, temperature. What becomes of an infinite
 * lambda is in means.c, other linear heads in linear.c. */
#include "pipeline/parts.h"
#include "learn/head/calibrate.h"
#include "learn/head/folds.h"
#include "learn/head/thresholds.h"
#include "base/text.h"
#include "transform/feed.h"

#include <float.h>
#include <math.h>
#include <string.h>

tn_status tnp_tables_json(tn_ctx *ctx, const tnp_option_table *tables, size_t count, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{");
    for (size_t t = 0; t < count; ++t) {
        size_t n = 0;
        const tn_field *fields = tables[t].fields(&n);
        tnp_text_fields(&text, fields, n, tables[t].options, t == 0);
    }
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

tn_status tnp_options_json(tn_ctx *ctx, const tnp_fit_options *options, char **out)
{
    const tnp_option_table tables[] = {{tnp_fit_fields, options},
                                       {tnp_learn_fields, &options->learn},
                                       {tnp_rank_fields, &options->rank},
                                       {tnp_evidence_fields, &options->rank.evidence},
                                       {tnp_online_fields, &options->online},
                                       {tnp_seed_fields, &options->rank.seed}};
    return tnp_tables_json(ctx, tables, sizeof tables / sizeof *tables, out);
}

tn_status tnp_head_of_set(tn_ctx *ctx, const tnp_task *task, const tn_labels *labels, const char *method,
                          const tnp_candidates *candidates, const size_t *members, size_t count, size_t sources,
                          tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    const tn_feed **feeds = NULL;
    size_t dim = sources;
    TN_TRY(tnp_pick_feeds(ctx, candidates, members, count, &feeds));
    for (size_t m = 0; m < count; ++m)
        dim += tn_feed_cols(feeds[m]);
    TN_TRY(
        tnp_head_new(ctx, task->kind, (const char *const *)labels->names, task->y.classes, dim, count, method, &head));
    TN_TRY(tnp_head_set_reps(ctx, feeds, head));
    for (size_t m = 0; m < count; ++m)
        if (head->reps[m].map)
            TN_TRY(tnp_strdup(ctx, candidates->transform_names[members ? members[m] : m], &head->reps[m].transform));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_free(feeds);
    return st;
}

tn_status tnp_begin_head(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    tnp_fit_options used = *c->options;
    if (c->labels->weights)
        used.learn.sample_weight = c->labels->weights_path;
    if (!isnan(c->info->cost)) /* what a cross-validation chose */
        used.learn.cost = c->info->cost;
    if (!isnan(c->info->eta))
        used.online.eta = c->info->eta;
    used.online.average = !used.online.no_average;
    TN_TRY(tnp_head_of_set(ctx, c->selection->task, c->labels, c->info->method, c->selection->candidates, c->members,
                           c->count, 0, &head));
    TN_TRY(tnp_options_json(ctx, &used, &head->options));
    head->log_evidence = c->info->chosen->log_evidence;
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
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

/* ---- weights at a lambda ---- */

/* weight and bias of the head become a mean of what they are and of the class means'. */
static tn_status mix_means(tn_ctx *ctx, const tnp_class_means *means, double share, tn_head *head)
{
    tn_status st = TN_OK;
    float *weight = NULL, *bias = NULL;
    TN_TRY(tnp_alloc_raw(ctx, head->classes * head->dim, sizeof *weight, &weight));
    TN_TRY(tnp_alloc_raw(ctx, head->classes, sizeof *bias, &bias));
    tnp_class_means_weights(means, weight, bias);
    for (size_t i = 0; i < head->classes * head->dim; ++i)
        head->weight[i] = (float)(share * (double)weight[i] + (1 - share) * (double)head->weight[i]);
    for (size_t k = 0; k < head->classes; ++k)
        head->bias[k] = (float)(share * (double)bias[k] + (1 - share) * (double)head->bias[k]);
done:
    tnp_free_all(weight, bias);
    return st;
}

/* Without an intercept the moments are of columns in their place, and the head is not: w x = w (x - c) + w c, where
 * only the first w is rounded to float. */
static tn_status centre_without_intercept(tn_ctx *ctx, const tnp_chosen *c, tn_head *head)
{
    tn_status st = TN_OK;
    bool any = false;
    tnp_survey found;
    TN_TRY(tnp_head_add_centre(ctx, head));
    for (size_t m = 0, at = 0; m < c->count; at += tn_feed_cols(c->feeds[m++])) {
        TN_TRY(tnp_feed_survey(ctx, c->feeds[m], TNP_FEED_FAR, head->centre + at, &found));
        any |= found.any;
    }
    if (!any) {
        tnp_free(head->centre);
        head->centre = NULL;
    }
done:
    return st;
}

/* Weights large against the columns' distance from zero: a bias that makes up for them has no digits left, though no
 * column is far enough by itself to have a centre. Then every one gets one, beside what the feeds have taken off. */
static tn_status centre_all(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, tn_head *head)
{
    tn_status st = TN_OK;
    double *more = NULL;
    tnp_survey found;
    tnp_ridge centred = *ridge;
    TN_TRY(tnp_alloc(ctx, ridge->dim, sizeof *more, &more));
    for (size_t m = 0, at = 0; m < c->count; at += tn_feed_cols(c->feeds[m++]))
        TN_TRY(tnp_feed_survey(ctx, c->feeds[m], 0, more + at, &found));
    centred.centre = more;
    TN_TRY(tnp_ridge_weights(ctx, &centred, c->feeds, c->count, c->info->lambda, head->weight, head->bias));
    if (!head->centre)
        TN_TRY(tnp_head_add_centre(ctx, head));
    for (size_t j = 0; j < ridge->dim; ++j)
        head->centre[j] += more[j];
done:
    tnp_free(more);
    return st;
}

tn_status tnp_fill_ridge(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, const tnp_class_means *means,
                         tn_head *head)
{
    tn_status st = TN_OK;
    tnp_ridge centred = *ridge;
    if (!ridge->intercept &&
        !means) /* class means without an intercept are directions from zero: they have no centre */
        TN_TRY(centre_without_intercept(ctx, c, head));
    centred.centre = ridge->intercept ? NULL : head->centre;
    TN_TRY(tnp_ridge_weights(ctx, &centred, c->feeds, c->count, c->info->lambda, head->weight, head->bias));
    if (ridge->intercept && !means && tnp_ridge_rounds_bias(ridge, head->bias))
        TN_TRY(centre_all(ctx, c, ridge, head));
    if (means)
        TN_TRY(mix_means(ctx, means, c->info->class_means, head));
    finish_bias(c->selection->task, head);
done:
    return st;
}

/* ---- lambda ---- */

/* Infinite where no row can be left out: nothing then speaks for less. */
static tn_status loo_lambda(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, double *lambda)
{
    tnp_loo *loo = NULL;
    *lambda = INFINITY;
    if (!c->selection->sample)
        return TN_OK;
    tn_status st = tnp_loo_of_set(ctx, c->selection, ridge, c->members, c->count, &loo);
    if (st == TN_OK)
        st = tnp_loo_lambda(ctx, loo, ridge->spectrum, lambda);
    tnp_loo_free(loo);
    return st;
}

/* A class of many that gains nothing by itself must still be told from the others, which have weights: it takes the
 * lambda that is best for all of them, and where there is none such the others' weights are not to be compared either.
 * */
static double own_lambda(const tnp_task *task, const tn_evidence *e, size_t k)
{
    double shared = tnp_shared_or_null(e);
    if (task->kind != TN_TASK_MULTICLASS || e->null_classes == 0)
        return e->lambda[k];
    return isfinite(shared) && isfinite(e->lambda[k]) ? e->lambda[k] : shared;
}

const char *tnp_lambda_word(tnp_lambda_rule rule)
{
    static const char *const words[] = {
        [TNP_LAMBDA_AUTO] = "auto", [TNP_LAMBDA_SHARED] = "shared", [TNP_LAMBDA_PER_CLASS] = "per-class",
        [TNP_LAMBDA_GCV] = "gcv",   [TNP_LAMBDA_LOO] = "loo",       [TNP_LAMBDA_FIXED] = "fixed"};
    return words[rule];
}

tn_status tnp_lambda_by_rule(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, const tn_evidence *evidence)
{
    const tnp_task *task = c->selection->task;
    double one = c->options->lambda.value;
    tnp_lambda_rule rule = (tnp_lambda_rule)c->options->lambda.word;
    tn_status st = TN_OK;
    if (rule == TNP_LAMBDA_AUTO)
        rule = task->kind == TN_TASK_MULTICLASS ? TNP_LAMBDA_SHARED : TNP_LAMBDA_PER_CLASS;
    if (rule == TNP_LAMBDA_SHARED)
        one = tnp_shared_or_null(evidence);
    if (st == TN_OK && rule == TNP_LAMBDA_GCV)
        st = tnp_gcv_lambda(ctx, ridge->spectrum, ridge->rows, ridge->intercept, task->constant, &one);
    if (st == TN_OK && rule == TNP_LAMBDA_LOO)
        st = loo_lambda(ctx, c, ridge, &one);
    for (size_t k = 0; st == TN_OK && k < ridge->classes; ++k)
        c->info->lambda[k] = task->constant[k]              ? INFINITY
                             : rule == TNP_LAMBDA_PER_CLASS ? own_lambda(task, evidence, k)
                                                            : one;
    c->info->lambda_rule = tnp_lambda_word(rule);
    return st;
}

void tnp_set_lambda(const tnp_chosen *c, double one)
{
    const tnp_task *task = c->selection->task;
    for (size_t k = 0; k < task->y.classes; ++k)
        c->info->lambda[k] = task->constant[k] ? INFINITY : one;
}

/* Qualities of the grid by folds or a hold-out. */
static tn_status judge_by_folds(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, tnp_cross *cross)
{
    tn_status st = TN_OK;
    const tnp_task *task = c->selection->task;
    uint32_t *fold = NULL;
    tnp_design *design = NULL;
    TN_TRY(tnp_make_folds(ctx, c, &fold));
    TN_TRY(tnp_design_new(ctx, c->feeds, c->count, 0, &design));
    TN_TRY(tnp_ridge_cv_wide(ctx, design, &task->y, c->options->rank.evidence.intercept,
                             ridge->wide ? ridge->mean : NULL, fold, tnp_measure_rows, (void *)(uintptr_t)task, cross));
done:
    tnp_free(fold);
    tnp_design_free(design);
    return st;
}

tn_status tnp_judge_by_valid(tn_ctx *ctx, const tnp_chosen *c, tnp_task *valid, tnp_cross *cross)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    float *scores = NULL;
    bool discriminants = c->options->method == TNP_METHOD_LDA;
    tnp_share whole = tnp_progress_now(ctx);
    TN_TRY(tnp_alloc_raw(ctx, valid->y.rows * valid->y.classes, sizeof *scores, &scores));
    for (size_t g = 0; g < cross->count; ++g) {
        TN_TRY(tnp_progress_step(ctx, whole, "validation", g, cross->count));
        tnp_set_lambda(c, cross->grid[g]);
        TN_TRY(tnp_begin_head(ctx, c, &head));
        TN_TRY(tnp_fill_ridge(ctx, c, c->ridge, NULL, head));
        st = discriminants ? tnp_discriminate(ctx, c->ridge, cross->grid[g], head) : TN_OK;
        cross->value[g] = NAN;
        if (st != TN_ERR_UNSUPPORTED) {
            TN_TRY(st);
            TN_TRY(tnp_valid_judge(ctx, &c->options->valid, valid, head, scores, &cross->value[g]));
        }
        tn_head_free(head);
        head = NULL;
    }
    tnp_cross_finish(cross, true);
done:
    tn_head_free(head);
    tnp_free(scores);
    return st;
}

tn_status tnp_lambda_grid(tn_ctx *ctx, const tnp_fit_options *options, double **grid, size_t *count)
{
    double standard[21];
    for (int i = 0; i < 21; ++i)
        standard[i] = ldexp(1, i - 10); /* the paper's: 2^-10 .. 2^10 */
    return tnp_grid_new(ctx, &options->learn.grid, standard, 21, grid, count);
}

/* One lambda by the quality on rows that are held out; *found: some could judge. */
static tn_status lambda_by_cv(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, bool *found)
{
    tn_status st = TN_OK;
    double *grid = NULL;
    size_t count = 0;
    tnp_cross *cross = NULL;
    tnp_task *valid = NULL;
    TN_TRY(tnp_lambda_grid(ctx, c->options, &grid, &count));
    TN_TRY(tnp_cross_new(ctx, grid, count, tnp_max(c->info->folds, 1), &cross));
    if (c->options->valid.count > 0) {
        TN_TRY(tnp_valid_open(ctx, c, &valid));
        TN_TRY(tnp_judge_by_valid(ctx, c, valid, cross));
    } else {
        TN_TRY(judge_by_folds(ctx, c, ridge, cross));
    }
    *found = cross->best < cross->count;
    if (*found)
        tnp_set_lambda(c, cross->grid[cross->best]);
    c->info->lambda_rule = "cv";
    tnp_keep_cross(c, cross, valid ? valid->y.rows : c->info->validation_rows);
done:
    tnp_free(grid);
    tnp_cross_free(cross);
    tnp_task_free(valid);
    return st;
}

/* lambda (classes) into the info; what the folds cannot tell the evidence must. */
static tn_status choose_lambda(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, const tn_evidence *evidence)
{
    tn_status st = TN_OK;
    bool found = false;
    TN_TRY(tnp_alloc(ctx, ridge->classes, sizeof *c->info->lambda, &c->info->lambda));
    if (tnp_chooses(c->options)) {
        bool valid = c->options->valid.count > 0;
        if (!valid)
            TN_TRY(tnp_plan_folds(ctx, c));
        if (valid || c->info->folds > 0) {
            tnp_share whole = tnp_progress_now(ctx);
            (void)tnp_progress_part(ctx, whole, 0, 0.8);
            TN_TRY(lambda_by_cv(ctx, c, ridge, &found));
            (void)tnp_progress_part(ctx, whole, 0.8, 1);
        }
    }
    if (!found)
        TN_TRY(tnp_lambda_by_rule(ctx, c, ridge, evidence));
done:
    return st;
}

/* The class means that the head takes and their share in it: all where lambda is infinite, half where the user left the
 * rule to us and classes have few rows. */
static tn_status choose_means(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, tnp_class_means **means)
{
    tn_status st = TN_OK;
    bool ours = c->options->method == TNP_METHOD_EVIDENCE && c->options->lambda.word == TNP_LAMBDA_AUTO;
    TN_TRY(tnp_means_of_null(ctx, c->selection, c->feeds, c->count, ridge, c->info->lambda, means));
    c->info->class_means = *means ? 1 : 0;
    if (ours && !*means)
        TN_TRY(tnp_means_of_few(ctx, c->selection, c->feeds, c->count, ridge, c->info->lambda, means));
    if (*means && c->info->class_means == 0)
        c->info->class_means = TNP_HALF;
done:
    return st;
}

/* Temperature and thresholds from leave-one-out scores of the head itself. */
static tn_status settle_by_loo(tn_ctx *ctx, const tnp_chosen *c, const double *wide, bool calibrate, tn_head *head)
{
    tn_status st = TN_OK;
    float *scores = NULL;
    const tnp_sample *sample = c->selection->sample;
    size_t size = sample->count * head->classes;
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *scores, &scores));
    for (size_t i = 0; i < size; ++i)
        scores[i] = (float)wide[i];
    TN_TRY(tnp_hide_left_out(ctx, c->selection->task, sample->rows, sample->count, scores));
    if (calibrate)
        TN_TRY(tnp_temperature_fit(ctx, &c->selection->task->y, head->task, head->threshold, sample->rows,
                                   sample->count, sample->weight, scores, &head->temperature));
    if (tnp_wants_f1(c)) {
        TN_TRY(tnp_head_add_thresholds(ctx, head));
        TN_TRY(tnp_f1_thresholds(ctx, &c->selection->task->y, sample->rows, sample->count, scores, head->threshold,
                                 head->thresholds));
        c->info->threshold_rule = "f1";
    }
done:
    tnp_free(scores);
    return st;
}

/* Leave-one-out of the head that is saved, and its temperature. The figures of the chosen set are at the shared lambda:
 * another one, or class means, have figures of their own. */
static tn_status judge_head(tn_ctx *ctx, const tnp_chosen *c, const tnp_ridge *ridge, const tnp_class_means *means,
                            tn_head *head)
{
    tn_status st = TN_OK;
    double *wide = NULL;
    bool calibrate = c->options->learn.calibrate != TNP_CALIBRATE_NO && head->task != TN_TASK_REGRESSION;
    if (c->selection->sample) {
        TN_TRY(tnp_alloc_raw(ctx, c->selection->sample->count * head->classes, sizeof *wide, &wide));
        const tnp_left_out l = {c->selection, c->feeds, c->count, ridge, c->info->lambda, means, c->info->class_means};
        TN_TRY(tnp_left_out_again(ctx, &l, c->selection->sample, wide));
        TN_TRY(tnp_judge_left_out(ctx, c->selection, wide, c->info->chosen));
        if (head->task != TN_TASK_REGRESSION)
            TN_TRY(settle_by_loo(ctx, c, wide, calibrate, head));
    }
    if (calibrate && !c->selection->loo_off)
        TN_TRY(tnp_say_no_probabilities(ctx, c, head->temperature));
done:
    tnp_free(wide);
    return st;
}

tn_status tnp_train_ridge(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    tnp_class_means *means = NULL;
    const tnp_ridge *ridge = c->ridge;
    TN_TRY(choose_lambda(ctx, c, ridge, c->evidence));
    TN_TRY(choose_means(ctx, c, ridge, &means));
    TN_TRY(tnp_begin_head(ctx, c, &head));
    TN_TRY(tnp_head_add_ridge(ctx, head));
    TN_TRY(tnp_fill_ridge(ctx, c, ridge, means, head));
    TN_TRY(tnp_ridge_precisions(ctx, ridge, c->info->lambda, head->alpha, head->beta));
    memcpy(head->lambda, c->info->lambda, ridge->classes * sizeof *head->lambda);
    TN_TRY(judge_head(ctx, c, ridge, means, head));
    c->info->temperature = head->temperature;
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_class_means_free(means);
    return st;
}
