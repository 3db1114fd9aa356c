/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pipeline's option tables, and its results as objects. */
#include "pipeline/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tn_rank_options_default(tn_rank_options *options)
{
    tn_evidence_options_default(&options->evidence);
    options->transform = "none";
    options->sign = TN_SIGNED_ODD;
    options->normalize = "l2";
    options->nan = TN_NAN_ERROR;
    options->loo = "2000";
    options->seed = 0;
}

const tn_field *tn_rank_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"transform", TN_FIELD_TEXT, offsetof(tn_rank_options, transform), 0, 0, TN_TRANSFORM_WORDS "|KERNEL[,...]",
         "map that every entry goes through before rows are normalised; several, joined by commas, make each pair with "
         "a "
         "representation a candidate"},
        {"signed", TN_FIELD_CHOICE, offsetof(tn_rank_options, sign), 0, 0, TN_SIGNED_WORDS,
         "entries below zero in a map that is no file: mirrored, or in columns of their own"},
        {"normalize", TN_FIELD_TEXT, offsetof(tn_rank_options, normalize), 0, 0, TN_NORMALIZE_WORDS "[,...]",
         "how rows are prepared; several, joined by commas, make each pair with a representation a candidate"},
        {"nan", TN_FIELD_CHOICE, offsetof(tn_rank_options, nan), 0, 0, TN_NAN_WORDS, "rows that hold NaN or infinity"},
        {"loo", TN_FIELD_TEXT, offsetof(tn_rank_options, loo), 0, 0, "N|all|0",
         "rows of the leave-one-out sample, class-balanced and seeded; 0 switches it off"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

void tn_fit_options_default(tn_fit_options *options)
{
    tn_rank_options_default(&options->rank);
    tn_learn_options_default(&options->learn);
    tn_online_options_default(&options->online);
    options->valid = NULL;
    options->from = NULL;
    options->method = TN_METHOD_EVIDENCE;
    options->select = TN_SEARCH_GREEDY;
    options->lambda = "auto";
}

const tn_field *tn_fit_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"method", TN_FIELD_CHOICE, offsetof(tn_fit_options, method), 0, 0, TN_METHOD_WORDS, "how the head is trained"},
        {"select", TN_FIELD_CHOICE, offsetof(tn_fit_options, select), 0, 0, TN_SEARCH_WORDS,
         "how the set of representations is found, by evidence"},
        {"lambda", TN_FIELD_TEXT, offsetof(tn_fit_options, lambda), 0, 0, "auto|shared|per-class|gcv|loo|X",
         "regularisation of an evidence head; auto is shared for multi-class, per-class otherwise"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

const tn_use *tn_fit_uses(size_t *count)
{
#define ONLINE TN_METHOD_ONLINE_WORDS
#define ONLINE_TEXT "perceptron to scw2"
    static const tn_use uses[] = {
        {"lambda", "evidence", "evidence"},
        {"C", "svm|logistic|" ONLINE, "svm, logistic, " ONLINE_TEXT},
        {"loss|penalise-bias", "svm|svm-cv", "svm, svm-cv"},
        {"mean-cost|gap|max-passes", "svm|svm-cv|logistic", "svm, svm-cv, logistic"},
        {"folds", "ridge-cv|svm|svm-cv|logistic", "ridge-cv, svm-cv, with option calibrate yes also svm, logistic"},
        {"grid", "ridge-cv|svm-cv", "ridge-cv, svm-cv"},
        {"calibrate", "evidence|ridge-cv|svm|svm-cv|logistic", "evidence, ridge-cv, svm, svm-cv, logistic"},
        {"valid|valid-labels|from|multiclass|average|no-average|epochs|eta|shuffle|ratio|patience|tune|checkpoint",
         ONLINE, ONLINE_TEXT},
    };
    *count = sizeof uses / sizeof *uses;
    return uses;
}

tn_status tnp_ranking_new(tn_ctx *ctx, const tnp_task *task, size_t count, tn_ranking **out)
{
    tn_status st = TN_OK;
    tn_ranking *r = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *r, &r));
    TN_TRY(tnp_alloc(ctx, count, sizeof *r->candidates, &r->candidates));
    r->task = task->kind;
    r->rows = task->y.rows;
    r->rows_left_out = task->left_out;
    r->classes = task->y.classes;
    r->count = count;
    TN_TRY(tnp_count_single(ctx, task, &r->single_classes));
    *out = r;
    r = NULL;
done:
    tn_ranking_free(r);
    return st;
}

/* Best first; qsort is not stable, so equal evidence goes by name. */
static int by_evidence(const void *a, const void *b)
{
    const tn_candidate *x = a, *y = b;
    if (x->log_evidence != y->log_evidence)
        return x->log_evidence < y->log_evidence ? 1 : -1;
    return strcmp(x->name, y->name);
}

void tnp_ranking_sort(tn_ranking *ranking)
{
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, by_evidence);
}

void tn_ranking_free(tn_ranking *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->candidates && i < r->count; ++i) {
        tnp_free(r->candidates[i].name);
        tnp_free(r->candidates[i].transform);
    }
    tnp_free(r->candidates);
    tnp_free(r);
}

tn_status tnp_check_rank(tn_ctx *ctx, const tn_rank_options *options)
{
    size_t count = 0, loo = 0;
    const tn_field *fields = tn_rank_fields(&count);
    tn_status st = tnp_fields_check(ctx, fields, count, options);
    fields = tn_evidence_fields(&count);
    if (st == TN_OK)
        st = tnp_fields_check(ctx, fields, count, &options->evidence);
    return st == TN_OK ? tnp_parse_loo(ctx, options->loo, &loo) : st;
}

/* Numbers and choices of all tables within their bounds. */
static tn_status check_fields(tn_ctx *ctx, const tn_fit_options *options)
{
    size_t count = 0;
    const tn_field *fields = tn_fit_fields(&count);
    tn_status st = tnp_fields_check(ctx, fields, count, options);
    fields = tn_learn_fields(&count);
    if (st == TN_OK)
        st = tnp_fields_check(ctx, fields, count, &options->learn);
    fields = tn_online_fields(&count);
    if (st == TN_OK)
        st = tnp_fields_check(ctx, fields, count, &options->online);
    return st == TN_OK ? tnp_check_rank(ctx, &options->rank) : st;
}

/* What only online methods can do, and what contradicts itself. */
static tn_status check_online(tn_ctx *ctx, const tn_fit_options *options)
{
    const tn_online_options *online = &options->online;
    bool is_online = options->method >= TN_METHOD_PERCEPTRON;
    const char *asked = options->valid        ? "valid"
                        : options->from       ? "from"
                        : online->tune        ? "tune"
                        : *online->checkpoint ? "checkpoint"
                                              : NULL;
    if (asked && !is_online)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s is for the online methods, perceptron to scw2", asked);
    if (online->average && online->no_average)
        return tnp_fail(ctx, TN_ERR_ARG, "option average and option no-average: got both, expected one of them");
    return TN_OK;
}

tn_status tnp_check_fit(tn_ctx *ctx, const tn_fit_options *options)
{
    tn_lambda_rule rule = TN_LAMBDA_AUTO;
    double value = 0;
    size_t loo = 0;
    tn_status st = check_fields(ctx, options);
    if (st == TN_OK)
        st = tn_lambda_parse(ctx, options->lambda, &rule, &value);
    if (st == TN_OK)
        st = tnp_parse_loo(ctx, options->rank.loo, &loo);
    if (st == TN_OK)
        st = check_online(ctx, options);
    bool ridge = options->method == TN_METHOD_EVIDENCE || options->method == TN_METHOD_RIDGE_CV;
    if (st == TN_OK && loo == 0 && options->method == TN_METHOD_EVIDENCE && rule == TN_LAMBDA_LOO)
        st = tnp_fail(ctx, TN_ERR_ARG, "option lambda loo needs leave-one-out rows, but option loo is 0");
    if (st == TN_OK && loo == 0 && ridge && options->learn.calibrate == TN_CALIBRATE_YES)
        st = tnp_fail(ctx, TN_ERR_ARG, "option calibrate yes needs leave-one-out rows, but option loo is 0");
    return st;
}

tn_status tnp_unmeasured(tn_ctx *ctx, const tnp_candidates *candidates, const tnp_search *search, tn_fit_info *info)
{
    tn_candidate *c = &info->chosen;
    for (size_t i = 0; i < candidates->count; ++i)
        c->dim += tn_feed_cols(candidates->feeds[i]);
    c->log_evidence = c->log_evidence_shared = c->gain_per_label = c->lambda_median = c->lambda_shared = NAN;
    c->loo_accuracy = c->loo_se = c->loo_r2 = c->iterations_mean = NAN;
    return tnp_join_names(ctx, candidates, search->members, search->count, &c->name);
}

tn_status tnp_fit_info_new(tn_ctx *ctx, const tnp_task *task, size_t candidates, const tn_fit_options *options,
                           tn_fit_info **out)
{
    static const char *const methods[] = {"evidence", "ridge-cv", "svm", "svm-cv", "logistic", "perceptron", "sgd",
                                          "pa",       "pa2",      "cw",  "arow",   "nherd",    "scw",        "scw2"};
    tn_status st = TN_OK;
    tn_fit_info *info = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *info, &info));
    TN_TRY(tnp_ranking_new(ctx, task, candidates, &info->ranking));
    info->classes = task->y.classes;
    info->cost = info->objective = info->gap = info->eta = NAN;
    info->converged = true;
    info->method = methods[options->method];
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
    tnp_free(info->selected);
    tnp_free(info->steps);
    tnp_free(info->chosen.name);
    tnp_free(info->lambda);
    tnp_free(info->grid);
    tnp_free(info->grid_mean);
    tnp_free(info->grid_se);
    tnp_free(info->epochs);
    tnp_free(info->trials);
    tnp_free(info);
}
