/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pipeline's option tables, and its results as objects. */
#include "pipeline/parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tnp_rank_options_default(tnp_rank_options *options)
{
    tnp_evidence_options_default(&options->evidence);
    options->transform = "none";
    options->sign = TN_SIGNED_ODD;
    options->normalize = "l2";
    options->nan = TN_NAN_ERROR;
    options->loo = 2000;
    options->seed = 0;
    options->rows = (tnp_valid){NULL, 0, NULL};
    options->by = TNP_RANK_EVIDENCE;
}

const tn_field *tnp_rank_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"transform", TN_FIELD_TEXT, offsetof(tnp_rank_options, transform), 0, 0, TNP_TRANSFORM_WORDS "|KERNEL[,...]",
         "map that every entry goes through before rows are normalised; several, joined by commas, make each pair with "
         "a "
         "representation a candidate"},
        {"signed", TN_FIELD_CHOICE, offsetof(tnp_rank_options, sign), 0, 0, TN_SIGNED_WORDS,
         "entries below zero in a map that is no file: mirrored, or in columns of their own"},
        {"normalize", TN_FIELD_TEXT, offsetof(tnp_rank_options, normalize), 0, 0, TN_NORMALIZE_WORDS "[,...]",
         "how rows are prepared; several, joined by commas, make each pair with a representation a candidate"},
        {"nan", TN_FIELD_CHOICE, offsetof(tnp_rank_options, nan), 0, 0, TN_NAN_WORDS, "rows that hold NaN or infinity"},
        {"loo", TN_FIELD_INT_OR_WORD, offsetof(tnp_rank_options, loo), 0, 1e15, "N|all|0",
         "rows of the leave-one-out sample, class-balanced and seeded; 0 switches it off"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

const tn_field *tnp_by_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"by", TN_FIELD_CHOICE, offsetof(tnp_rank_options, by), 0, 0, TNP_RANK_WORDS,
         "what candidates are ordered by: log evidence; accuracy, mean AP or R2 of the rows of option loo by ridge "
         "models "
         "without them; log-loss of the same scores; the first by their nearest other rows; or the first of all rows "
         "by "
         "five-fold cross-validation of the ridge"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

void tnp_fit_options_default(tnp_fit_options *options)
{
    tnp_rank_options_default(&options->rank);
    tnp_learn_options_default(&options->learn);
    tnp_online_options_default(&options->online);
    options->valid = (tnp_valid){NULL, 0, NULL};
    options->from = NULL;
    options->method = TNP_METHOD_AUTO;
    options->budget = 0;
    options->threshold = (tnp_real_or_word){TNP_THRESHOLD_AUTO, 0};
    options->select = TNP_SEARCH_GREEDY;
    options->lambda = (tnp_real_or_word){TNP_LAMBDA_AUTO, 0};
}

const tn_field *tnp_fit_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"method", TN_FIELD_CHOICE, offsetof(tnp_fit_options, method), 0, 0, TNP_METHOD_WORDS,
         "how the head is trained"},
        {"select", TN_FIELD_CHOICE, offsetof(tnp_fit_options, select), 0, 0, TNP_SEARCH_WORDS,
         "how the set of representations is found, by evidence"},
        {"lambda", TN_FIELD_REAL_OR_WORD, offsetof(tnp_fit_options, lambda), DBL_TRUE_MIN, DBL_MAX, TNP_LAMBDA_WORDS,
         "regularisation; auto is shared for multi-class, per-class otherwise; lda takes a number, auto is by folds "
         "there"},
        {"budget", TN_FIELD_REAL, offsetof(tnp_fit_options, budget), 0, 1e9, "SECONDS",
         "method auto ends its race after so long, and what it then takes depends on the time; 0: no limit"},
        {"threshold", TN_FIELD_REAL_OR_WORD, offsetof(tnp_fit_options, threshold), -1e30, 1e30, TNP_THRESHOLD_WORDS,
         "score from which a row has a label: f1 per class, where held-out scores have the largest F1; none is the "
         "method's own; auto is f1 for method auto, else none"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

void tnp_tally_options_default(tnp_tally_options *options)
{
    tnp_rank_options_default(&options->rank);
    options->rows = "";
    options->folds = 1;
}

const tn_field *tnp_tally_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"rows", TN_FIELD_TEXT, offsetof(tnp_tally_options, rows), 0, 0, "FROM:TO",
         "rows of the files that take part, from 0, TO not among them; all of them otherwise"},
        {"folds", TN_FIELD_INT, offsetof(tnp_tally_options, folds), 1, 1000, "N",
         "moments per fold, for option method ridge-cv of fit: as many times the size; 1: no folds"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

tn_status tnp_ranking_new(tn_ctx *ctx, const tnp_task *task, size_t count, tn_ranking **out)
{
    tn_status st = TN_OK;
    tn_ranking *r = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *r, &r));
    TN_TRY(tnp_alloc(ctx, count, sizeof *r->candidates, &r->candidates));
    for (; r->count < count; ++r->count)
        TN_TRY(tnp_alloc(ctx, 1, sizeof **r->candidates, &r->candidates[r->count]));
    r->task = task->kind;
    r->rows = task->y.rows;
    r->rows_left_out = task->left_out;
    r->classes = task->y.classes;
    TN_TRY(tnp_count_small(ctx, task, 1, &r->single_classes));
    *out = r;
    r = NULL;
done:
    tn_ranking_free(r);
    return st;
}

/* Best first; qsort is not stable, so equal evidence goes by name. */
static int by_evidence(const void *a, const void *b)
{
    const tn_candidate *x = *(const tn_candidate *const *)a, *y = *(const tn_candidate *const *)b;
    if (x->log_evidence != y->log_evidence)
        return x->log_evidence < y->log_evidence ? 1 : -1;
    return strcmp(x->name, y->name);
}

void tnp_ranking_sort(tn_ranking *ranking)
{
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, by_evidence);
}

void tnp_candidate_free(tn_candidate *candidate)
{
    if (!candidate)
        return;
    tnp_free_all(candidate->name, candidate->transform, candidate);
}

void tn_ranking_free(tn_ranking *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; ++i)
        tnp_candidate_free(r->candidates[i]);
    tnp_free_all(r->candidates, r->opinions, r);
}

tn_status tnp_check_rank(tn_ctx *ctx, const tnp_rank_options *options)
{
    size_t count = 0;
    const tn_field *fields = tnp_rank_fields(&count);
    tn_status st = tnp_fields_check(ctx, fields, count, options);
    fields = tnp_by_fields(&count);
    if (st == TN_OK)
        st = tnp_fields_check(ctx, fields, count, options);
    fields = tnp_evidence_fields(&count);
    if (st == TN_OK)
        st = tnp_fields_check(ctx, fields, count, &options->evidence);
    if (st == TN_OK && options->rows.labels && options->rows.count == 0)
        st = tnp_fail(ctx, TN_ERR_ARG, "option labels is given without option rows");
    if (st == TN_OK && options->by != TNP_RANK_EVIDENCE && options->by != TNP_RANK_CV && options->loo == 0)
        st = tnp_fail(ctx, TN_ERR_ARG, "option by %s needs leave-one-out rows, but option loo is 0",
                      tnp_by_word((tnp_by)options->by));
    return st;
}

/* Values of all tables within their bounds. */
static tn_status check_fields(tn_ctx *ctx, const tnp_fit_options *options)
{
    size_t count = 0;
    const tn_field *fields = tnp_fit_fields(&count);
    tn_status st = tnp_fields_check(ctx, fields, count, options);
    fields = tnp_learn_fields(&count);
    if (st == TN_OK)
        st = tnp_fields_check(ctx, fields, count, &options->learn);
    fields = tnp_online_fields(&count);
    if (st == TN_OK)
        st = tnp_fields_check(ctx, fields, count, &options->online);
    return st == TN_OK ? tnp_check_rank(ctx, &options->rank) : st;
}

/* What only online methods can do, and what contradicts itself. */
static tn_status check_online(tn_ctx *ctx, const tnp_fit_options *options)
{
    const tnp_online_options *online = &options->online;
    const char *asked = options->from ? "from" : online->tune ? "tune" : *online->checkpoint ? "checkpoint" : NULL;
    if (asked && tnp_method_of(options->method)->uses.family != TNP_FAMILY_ONLINE)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s is for the online methods, perceptron to scw2", asked);
    if ((options->valid.count > 0) != (options->valid.labels != NULL))
        return tnp_fail(ctx, TN_ERR_ARG, "option valid and option valid-labels go together, got one of them");
    if (options->valid.count > 0 && options->learn.holdout > 0)
        return tnp_fail(ctx, TN_ERR_ARG, "option valid and option holdout: got both, expected one of them");
    if (options->learn.holdout >= 1)
        return tnp_fail(ctx, TN_ERR_ARG, "option holdout: got 1, expected a share below it: some rows must train");
    if (online->average && online->no_average)
        return tnp_fail(ctx, TN_ERR_ARG, "option average and option no-average: got both, expected one of them");
    return TN_OK;
}

/* Discriminants have one lambda for all classes, and no rule of the ridge's is made for it. */
static tn_status check_lambda(tn_ctx *ctx, const tnp_fit_options *options)
{
    int rule = options->lambda.word;
    if (options->method != TNP_METHOD_LDA || rule == TNP_LAMBDA_AUTO)
        return TN_OK;
    if (rule != TNP_LAMBDA_FIXED)
        return tnp_fail(ctx, TN_ERR_ARG, "option lambda %s is for option method evidence; lda takes auto or a number",
                        tnp_lambda_word((tnp_lambda_rule)rule));
    if (options->learn.grid.count > 0)
        return tnp_fail(ctx, TN_ERR_ARG, "option lambda and option grid: got both, expected one of them");
    return TN_OK;
}

tn_status tnp_check_fit(tn_ctx *ctx, const tnp_fit_options *options)
{
    tn_status st = check_fields(ctx, options);
    if (st == TN_OK)
        st = check_online(ctx, options);
    if (st == TN_OK)
        st = check_lambda(ctx, options);
    if (st != TN_OK || options->rank.loo > 0)
        return st;
    bool by_loo = options->method == TNP_METHOD_EVIDENCE && options->lambda.word == TNP_LAMBDA_LOO;
    if (by_loo)
        return tnp_fail(ctx, TN_ERR_ARG, "option lambda loo needs leave-one-out rows, but option loo is 0");
    if (options->method != TNP_METHOD_AUTO && options->threshold.word == TNP_THRESHOLD_F1)
        return tnp_fail(ctx, TN_ERR_ARG, "option threshold f1 needs leave-one-out rows, but option loo is 0");
    bool by_folds = options->method == TNP_METHOD_LDA || !tnp_method_of(options->method)->evidence;
    if (!by_folds && options->learn.calibrate == TNP_CALIBRATE_YES)
        return tnp_fail(ctx, TN_ERR_ARG, "option calibrate yes needs leave-one-out rows, but option loo is 0");
    return TN_OK;
}

tn_status tnp_unmeasured(tn_ctx *ctx, const tnp_candidates *candidates, const tnp_search *search, tn_fit_info *info)
{
    tn_candidate *c = info->chosen;
    for (size_t i = 0; i < candidates->count; ++i)
        c->dim += tn_feed_cols(candidates->feeds[i]);
    c->log_evidence = c->log_evidence_shared = c->gain_per_label = c->lambda_median = c->lambda_shared = NAN;
    c->loo_accuracy = c->loo_se = c->loo_r2 = c->iterations_mean = c->score = c->score_se = NAN;
    return tnp_join_names(ctx, candidates, search->members, search->count, &c->name);
}

tn_status tnp_fit_info_new(tn_ctx *ctx, const tnp_task *task, size_t candidates, const tnp_fit_options *options,
                           tn_fit_info **out)
{
    tn_status st = TN_OK;
    tn_fit_info *info = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *info, &info));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *info->chosen, &info->chosen));
    TN_TRY(tnp_ranking_new(ctx, task, candidates, &info->ranking));
    info->classes = task->y.classes;
    info->cost = info->objective = info->gap = info->eta = NAN;
    info->validation_value = info->validation_se = NAN;
    info->converged = true;
    info->method = tnp_method_of(options->method)->uses.word;
    *out = info;
    info = NULL;
done:
    tn_fit_info_free(info);
    return st;
}

tn_status tnp_fit_info_steps(tn_ctx *ctx, const tnp_candidates *candidates, const tnp_search *search, tn_fit_info *info)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, search->count, sizeof *info->selected, &info->selected));
    for (size_t m = 0; m < search->count; ++m, ++info->selected_count)
        TN_TRY(tnp_strdup(ctx, candidates->names[search->members[m]], &info->selected[m]));
    TN_TRY(tnp_alloc(ctx, search->trial_count, sizeof *info->steps, &info->steps));
    for (size_t t = 0; t < search->trial_count; ++t, ++info->step_count) {
        const tnp_trial *trial = &search->trials[t];
        tn_fit_step *step = &info->steps[t];
        if (trial->added == SIZE_MAX)
            TN_TRY(tnp_join_names(ctx, candidates, trial->members, trial->count, &step->candidate));
        else
            TN_TRY(tnp_strdup(ctx, candidates->names[trial->added], &step->candidate));
        step->accepted = trial->accepted;
        step->log_evidence = trial->log_evidence;
    }
done:
    return st;
}

void tn_fit_info_free(tn_fit_info *info)
{
    if (!info)
        return;
    tn_ranking_free(info->ranking);
    for (size_t m = 0; m < info->selected_count; ++m)
        tnp_free(info->selected[m]);
    for (size_t t = 0; t < info->step_count; ++t)
        tnp_free(info->steps[t].candidate);
    tnp_free_all(info->selected, info->steps);
    tnp_candidate_free(info->chosen);
    tnp_free_all(info->lambda, info->grid, info->grid_mean, info->grid_se, info->grid_folds, info->epochs,
                 info->trials);
    for (size_t i = 0; i < info->tried_count; ++i)
        tnp_free_all(info->tried[i]->method, info->tried[i]->set, info->tried[i]);
    tnp_free_all(info->tried, info);
}
