/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ridge head from a tally: the search, lambda and weights are those of rows; what is missing is what single rows give.
 *
 *   lambda     by evidence, generalised cross-validation or as given; ridge-cv: by R^2 of held-out folds (folds.c); lda: as
 *              given, for what it chooses by is the accuracy of rows
 *   centre     columns whose mean is far from zero, about their deviation, as of rows (transform/feed.h); there the mean of
 *              256 rows, here that of all: the same scores
 *   refused    lambda by leave-one-out, temperature, thresholds of the largest F1, other methods
 *
 * Class means, which heads of few rows per class share, are taken on rows only where rows that are left out allow it;
 * with nobody to judge the head is the ridge alone. */
#include "pipeline/moments/moments.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

static const char NO_ROWS[] = "moments have no rows to leave out";

static tn_status check(tn_ctx *ctx, const tn_tally *tally, const tnp_fit_options *o)
{
    const tnp_method *method = tnp_method_of(o->method);
    const char *asked = o->valid.count > 0                                                     ? "valid"
                        : o->learn.holdout > 0                                                 ? "holdout"
                        : o->learn.calibrate == TNP_CALIBRATE_YES                              ? "calibrate yes"
                        : o->threshold.word == TNP_THRESHOLD_F1                                ? "threshold f1"
                        : o->learn.class_weight == TNP_WEIGHT_BALANCED                         ? "class-weight balanced"
                        : *o->learn.sample_weight                                              ? "sample-weight"
                        : o->method == TNP_METHOD_EVIDENCE && o->lambda.word == TNP_LAMBDA_LOO ? "lambda loo"
                                                                                               : NULL;
    tn_status st = tnp_check_fit(ctx, o);
    if (st != TN_OK)
        return st;
    if (method->uses.family != TNP_FAMILY_RIDGE)
        return tnp_fail(
            ctx, TN_ERR_ARG,
            "option method %s needs rows, of which moments have only sums; expected evidence, ridge-cv or lda",
            method->uses.word);
    st = tnp_check_lda(ctx, o, tally->like->task);
    if (st != TN_OK)
        return st;
    if (o->method == TNP_METHOD_LDA && tnp_chooses(o))
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option method lda chooses lambda by the accuracy of rows, of which moments have only sums; "
                        "expected option lambda with a number");
    if (asked)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s needs rows, of which moments have only sums", asked);
    if (o->threshold.word == TNP_THRESHOLD_FIXED && tally->like->task != TN_TASK_MULTILABEL)
        return tnp_fail(ctx, TN_ERR_ARG, "option threshold is for multi-label tasks, but the task is %s",
                        tn_task_name(tally->like->task));
    if (tnp_chooses(o) && tally->folds < 2)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option method %s needs moments per fold, and these have none; gather them with option folds",
                        method->uses.word);
    return TN_OK;
}

/* The set by evidence; its figures go to info->chosen. */
static tn_status choose(tn_ctx *ctx, const tnp_tallied *t, const tnp_fit_options *o, tn_fit_info *info,
                        tnp_search **search, tnp_ridge **ridge, tn_evidence **evidence)
{
    tn_status st = TN_OK;
    double *singles = NULL;
    size_t n = t->candidates.count;
    TN_TRY(tnp_alloc(ctx, n, sizeof *singles, &singles));
    TN_TRY(tnp_tallied_measure(ctx, t, info->ranking));
    for (size_t c = 0; c < n; ++c)
        singles[c] = info->ranking->candidates[c]->log_evidence;
    TN_TRY(tnp_search_new(ctx, n == 1 ? TNP_SEARCH_BEST : (tnp_search_kind)o->select, n, singles, tnp_set_evidence,
                          (void *)(uintptr_t)&t->selection, search));
    TN_TRY(tnp_tallied_set(ctx, t, (*search)->members, (*search)->count, info->chosen, ridge, evidence));
done:
    tnp_free(singles);
    return st;
}

/* ---- lambda ---- */

static tn_status lambda_by_folds(tn_ctx *ctx, const tnp_tallied *t, const tnp_chosen *c, const tnp_range *parts,
                                 bool *found)
{
    tn_status st = TN_OK;
    double *grid = NULL;
    size_t count = 0;
    tnp_cross *cross = NULL;
    TN_TRY(tnp_lambda_grid(ctx, c->options, &grid, &count));
    TN_TRY(tnp_cross_new(ctx, grid, count, t->tally->folds, &cross));
    TN_TRY(tnp_ridge_cv_tally(ctx, t->tally, parts, c->count, c->options->rank.evidence.intercept, t->task.constant,
                              cross));
    *found = cross->best < cross->count;
    if (*found)
        tnp_set_lambda(c, cross->grid[cross->best]);
    c->info->lambda_rule = "cv";
    c->info->folds = t->tally->folds;
    tnp_keep_cross(c, cross, 0);
    c->info->grid_metric = "r2";
    if (t->task.kind != TN_TASK_REGRESSION && *found)
        c->info->grid_note = "R2 of the 0/1 targets: the accuracy takes rows, of which moments have only sums";
done:
    tnp_free(grid);
    tnp_cross_free(cross);
    return st;
}

static tn_status choose_lambda(tn_ctx *ctx, const tnp_tallied *t, const tnp_chosen *c, const tnp_range *parts)
{
    tn_status st = TN_OK;
    bool found = false;
    TN_TRY(tnp_alloc(ctx, c->ridge->classes, sizeof *c->info->lambda, &c->info->lambda));
    if (tnp_chooses(c->options))
        TN_TRY(lambda_by_folds(ctx, t, c, parts, &found));
    if (!found)
        TN_TRY(tnp_lambda_by_rule(ctx, c, c->ridge, c->evidence));
done:
    return st;
}

/* ---- the head ---- */

/* Means of the columns of the set that have more than `far` deviations, else 0; false: none has. */
static bool find_centre(const tnp_moments *all, const tnp_range *parts, size_t count, double far, double *centre)
{
    bool any = false;
    size_t at = 0;
    for (size_t p = 0; p < count; ++p)
        for (size_t j = parts[p].from; j < parts[p].to; ++j, ++at) {
            double off = all->sum[j] / all->weight, mean = all->shift[j] + off;
            double variance = all->gram[j * all->dim + j] / all->weight - off * off;
            bool is_far = variance > 0 && fabs(mean) > far * sqrt(variance);
            centre[at] = is_far ? mean : 0;
            any |= is_far;
        }
    return any;
}

/* Weights and intercepts; columns far from zero are centred, and all are where the intercept would lose its digits. */
static tn_status fill(tn_ctx *ctx, const tnp_tallied *t, const tnp_chosen *c, const tnp_range *parts, tn_head *head)
{
    tn_status st = TN_OK;
    tnp_ridge centred = *c->ridge;
    TN_TRY(tnp_head_add_centre(ctx, head));
    bool any = find_centre(t->all, parts, c->count, TNP_FEED_FAR, head->centre);
    centred.centre = head->centre;
    TN_TRY(tnp_ridge_weights(ctx, &centred, NULL, 0, c->info->lambda, head->weight, head->bias));
    if (c->ridge->intercept && tnp_ridge_rounds_bias(c->ridge, head->bias)) {
        any |= find_centre(t->all, parts, c->count, 0, head->centre);
        TN_TRY(tnp_ridge_weights(ctx, &centred, NULL, 0, c->info->lambda, head->weight, head->bias));
    }
    if (!any) {
        tnp_free(head->centre);
        head->centre = NULL;
    }
    for (size_t k = 0; k < head->classes; ++k) {
        double offset = c->ridge->intercept ? t->tally->offset[k] : 0, mean = t->all->ysum[k] / t->all->weight;
        double constant = t->task.kind == TN_TASK_REGRESSION ? mean + offset : mean > 0.5;
        head->bias[k] = (float)(t->task.constant[k] ? constant : (double)head->bias[k] + offset);
    }
done:
    return st;
}

static tn_status begin_head(tn_ctx *ctx, const tnp_tallied *t, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    const tn_head *like = t->tally->like;
    TN_TRY(tnp_head_new(ctx, like->task, (const char *const *)like->names, like->classes, c->ridge->dim, c->count,
                        c->info->method, &head));
    for (size_t m = 0; m < c->count; ++m) {
        const tnp_rep *rep = &like->reps[c->members[m]];
        TN_TRY(tnp_rep_copy(ctx, rep, rep->name, rep->dim, &head->reps[m]));
    }
    TN_TRY(tnp_options_json(ctx, c->options, &head->options));
    head->log_evidence = c->info->chosen->log_evidence;
    if (c->options->threshold.word == TNP_THRESHOLD_FIXED) {
        TN_TRY(tnp_head_add_thresholds(ctx, head));
        for (size_t k = 0; k < head->classes; ++k)
            head->thresholds[k] = c->options->threshold.value;
        c->info->threshold_rule = "fixed";
    }
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    return st;
}

static tn_status train(tn_ctx *ctx, const tnp_tallied *t, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    tnp_range *parts = NULL;
    TN_TRY(tnp_alloc(ctx, c->count, sizeof *parts, &parts));
    for (size_t m = 0; m < c->count; ++m)
        parts[m] = t->columns[c->members[m]];
    TN_TRY(choose_lambda(ctx, t, c, parts));
    TN_TRY(begin_head(ctx, t, c, &head));
    TN_TRY(fill(ctx, t, c, parts, head));
    if (c->options->method == TNP_METHOD_LDA) {
        TN_TRY(tnp_head_add_lambda(ctx, head));
        TN_TRY(tnp_discriminate(ctx, c->ridge, c->options->lambda.value, head));
        head->temperature = c->info->temperature = tnp_plain_temperature(c->ridge);
    } else {
        TN_TRY(tnp_head_add_ridge(ctx, head));
        TN_TRY(tnp_ridge_precisions(ctx, c->ridge, c->info->lambda, head->alpha, head->beta));
    }
    memcpy(head->lambda, c->info->lambda, head->classes * sizeof *head->lambda);
    TN_TRY(tnp_head_check(ctx, head));
    *out = head;
    head = NULL;
done:
    tnp_free(parts);
    tn_head_free(head);
    return st;
}

tn_status tnp_tally_fit(tn_ctx *ctx, const tn_tally *tally, const tnp_fit_options *options, tn_fit_info **info_out,
                        tn_head **head_out)
{
    tn_status st = TN_OK;
    tnp_tallied t = {.tally = NULL};
    tnp_fit_options used = *options;
    tn_fit_info *info = NULL;
    tnp_search *search = NULL;
    tnp_ridge *ridge = NULL;
    tn_evidence *evidence = NULL;
    tn_head *head = NULL;
    double begin = tnp_seconds();
    tnp_share whole = tnp_progress_begin(ctx);
    if (used.method == TNP_METHOD_AUTO) /* of those that it has race, moments know this one */
        used.method = TNP_METHOD_EVIDENCE;
    TN_TRY(check(ctx, tally, &used));
    TN_TRY(tnp_tallied_init(ctx, tally, &used.rank, &t));
    TN_TRY(tnp_fit_info_new(ctx, &t.task, t.candidates.count, &used, &info));
    (void)tnp_progress_part(ctx, whole, 0, 0.7);
    TN_TRY(choose(ctx, &t, &used, info, &search, &ridge, &evidence));
    (void)tnp_progress_part(ctx, whole, 0.7, 1);
    const tnp_chosen chosen = {&t.selection, NULL,     &used, search->members, search->count, NULL,
                               ridge,        evidence, info,  search,          begin};
    TN_TRY(train(ctx, &t, &chosen, &head));
    if (used.method != TNP_METHOD_LDA) /* whose figures are the ridge's */
        TN_TRY(tnp_sampled_judge(ctx, &t, ridge, info->lambda, search->members, search->count, info->chosen));
    TN_TRY(tnp_fit_info_steps(ctx, &t.candidates, search, info));
    tnp_ranking_sort(info->ranking);
    info->loo_note = t.sampled.task ? NULL : NO_ROWS;
    info->temperature_note = t.task.kind == TN_TASK_REGRESSION || info->temperature > 0 ? NULL : NO_ROWS;
    TN_TRY(tnp_progress_end(ctx));
    info->seconds = info->ranking->seconds = tnp_seconds() - begin;
    *info_out = info;
    *head_out = head;
    info = NULL;
    head = NULL;
done:
    tn_fit_info_free(info);
    tn_head_free(head);
    tn_evidence_free(evidence);
    tnp_ridge_free(ridge);
    tnp_search_free(search);
    tnp_tallied_destroy(&t);
    return st;
}
