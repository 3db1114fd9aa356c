/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results as one JSON object in the keys of docs/cli.md, contract keys first, ours after. NaN and infinity are
 * null: for "lambda" null says that the class has no weights, elsewhere that the figure does not exist. */
#include "report/details_out.h"
#include "report/race_out.h"
#include "tenon/report.h"

#include <math.h>

static void add_count(tnp_text *text, const char *key, size_t value)
{
    tnp_text_add(text, ",\"%s\":%zu", key, value);
}

static void add_string(tnp_text *text, const char *key, const char *value)
{
    tnp_text_add(text, ",\"%s\":", key);
    tnp_text_quote(text, value);
}

/* Members of a candidate without its braces, so that fit can put the chosen set's into its own object. */
static void add_figures(tnp_text *text, const tn_candidate *c)
{
    tnp_text_value(text, "log_evidence", c->log_evidence);
    tnp_text_value(text, "log_evidence_shared", c->log_evidence_shared);
    tnp_text_value(text, "gain_per_label", c->gain_per_label);
    tnp_text_value(text, "loo_accuracy", c->loo_accuracy);
    tnp_text_value(text, "loo_se", c->loo_se);
    if (c->loo_mean_ap > 0)
        tnp_text_value(text, "loo_mean_ap", c->loo_mean_ap);
    if (!isnan(c->loo_r2))
        tnp_text_value(text, "loo_r2", c->loo_r2);
    tnp_text_value(text, "lambda_median", c->lambda_median);
    tnp_text_value(text, "lambda_shared", c->lambda_shared);
    add_count(text, "iterations_max", c->iterations_max);
    tnp_text_value(text, "iterations_mean", c->iterations_mean);
    add_count(text, "null_classes", c->null_classes);
    add_count(text, "degenerate_classes", c->degenerate_classes);
    add_count(text, "unbounded_classes", c->unbounded_classes);
    if (c->evidence_error > 1e-6) /* more than is promised: null when it is not known at all */
        tnp_text_value(text, "log_evidence_error", isfinite(c->evidence_error) ? c->evidence_error : (double)NAN);
}

static void add_ranking(tnp_text *text, const tn_ranking *ranking)
{
    add_count(text, "rows", ranking->rows);
    add_count(text, "classes", ranking->classes);
    add_string(text, "task", tn_task_name(ranking->task));
    tnp_text_value(text, "null_log_evidence", ranking->count ? ranking->null_log_evidence : (double)NAN);
    tnp_text_add(text, ",\"candidates\":[");
    for (size_t i = 0; i < ranking->count; ++i) {
        const tn_candidate *c = ranking->candidates[i];
        tnp_text_add(text, "%s{\"name\":", i ? "," : "");
        tnp_text_quote(text, c->name);
        if (c->transform)
            add_string(text, "transform", c->transform);
        add_count(text, "dim", c->dim);
        add_figures(text, c);
        tnp_text_value(text, "seconds", c->seconds);
        if (ranking->by) {
            tnp_text_value(text, "score", c->score);
            tnp_text_value(text, "score_se", c->score_se);
        }
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "]");
    add_count(text, "rows_left_out", ranking->rows_left_out);
    if (ranking->single_classes != 0)
        add_count(text, "single_row_classes", ranking->single_classes);
}

/* What the ranking goes by, and what every figure speaks for. */
static void add_opinions(tnp_text *text, const tn_ranking *ranking)
{
    if (!ranking->by)
        return;
    add_string(text, "by", ranking->by);
    tnp_text_value(text, "lead", ranking->lead);
    tnp_text_value(text, "lead_se", ranking->lead_se);
    tnp_text_add(text, ",\"opinions\":[");
    for (size_t i = 0; i < ranking->opinion_count; ++i) {
        const tn_opinion *o = &ranking->opinions[i];
        tnp_text_add(text, "%s{\"by\":", i ? "," : "");
        tnp_text_quote(text, o->by);
        add_string(text, "first", o->first);
        tnp_text_value(text, "score", o->score);
        tnp_text_value(text, "score_of_first", o->other);
        tnp_text_value(text, "lead", o->lead);
        tnp_text_value(text, "lead_se", o->lead_se);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "]");
}

tn_status tn_ranking_json(tn_ctx *ctx, const tn_ranking *ranking, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"command\":\"rank\"");
    add_ranking(&text, ranking);
    add_count(&text, "degenerate_classes", ranking->degenerate_classes);
    tnp_text_value(&text, "seconds", ranking->seconds);
    add_opinions(&text, ranking);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

static void add_states(tnp_text *text, const tn_evidence *e)
{
    static const char *const words[] = {
        [TN_CLASS_FITTED] = "fitted", [TN_CLASS_NULL] = "null", [TN_CLASS_DEGENERATE] = "degenerate"};
    tnp_text_add(text, ",\"state\":[");
    for (size_t k = 0; k < e->classes; ++k)
        tnp_text_add(text, "%s\"%s\"", k ? "," : "", words[e->state[k]]);
    tnp_text_add(text, "]");
}

tn_status tn_evidence_json(tn_ctx *ctx, const tn_evidence *e, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"rows\":%zu", e->rows);
    add_count(&text, "dim", e->dim);
    add_count(&text, "classes", e->classes);
    add_count(&text, "rank", e->rank);
    tnp_text_value(&text, "log_evidence", e->log_evidence);
    tnp_text_value(&text, "log_evidence_shared", e->log_evidence_shared);
    tnp_text_value(&text, "null_log_evidence", e->log_null);
    tnp_text_value(&text, "gain_per_label", e->gain_per_label);
    tnp_text_value(&text, "lambda_median", e->lambda_median);
    tnp_text_value(&text, "lambda_shared", e->lambda_shared);
    add_count(&text, "iterations_max", e->iterations_max);
    tnp_text_value(&text, "iterations_mean", e->iterations_mean);
    add_count(&text, "null_classes", e->null_classes);
    add_count(&text, "degenerate_classes", e->degenerate_classes);
    add_count(&text, "unbounded_classes", e->unbounded_classes);
    tnp_text_value(&text, "log_evidence_error", e->error);
    tnp_text_add(&text, ",\"converged\":%s", e->converged ? "true" : "false");
    tnp_text_numbers(&text, "lambda", e->lambda, e->classes);
    tnp_text_numbers(&text, "alpha", e->alpha, e->classes);
    tnp_text_numbers(&text, "beta", e->beta, e->classes);
    tnp_text_numbers(&text, "log_class", e->log_class, e->classes);
    tnp_text_numbers(&text, "log_class_null", e->log_class_null, e->classes);
    add_states(&text, e);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

static void add_steps(tnp_text *text, const tn_fit_info *info)
{
    tnp_text_add(text, ",\"steps\":[");
    for (size_t i = 0; i < info->step_count; ++i) {
        const tn_fit_step *step = &info->steps[i];
        tnp_text_add(text, "%s{\"candidate\":", i ? "," : "");
        tnp_text_quote(text, step->candidate);
        tnp_text_add(text, ",\"accepted\":%s", step->accepted ? "true" : "false");
        tnp_text_value(text, "log_evidence", step->log_evidence);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "]");
}

/* null for heads that are no ridge: a list of nulls would say that no class has weights. */
static void add_lambda(tnp_text *text, const tn_fit_info *info)
{
    tnp_text_add(text, ",\"lambda\":");
    for (size_t k = 0; info->lambda && k < info->classes; ++k) {
        tnp_text_add(text, "%s", k ? "," : "[");
        tnp_text_number(text, info->lambda[k]);
    }
    tnp_text_add(text, info->lambda ? "]" : "null");
    if (info->lambda_rule)
        add_string(text, "lambda_rule", info->lambda_rule);
    else
        tnp_text_add(text, ",\"lambda_rule\":null");
}

/* How svm and logistic ended; the ridge has a closed form, and null there. */
static void add_training(tnp_text *text, const tn_fit_info *info)
{
    tnp_text_value(text, "C", info->cost);
    tnp_text_value(text, "objective", info->objective);
    tnp_text_value(text, "gap", info->gap);
    if (isnan(info->objective) && info->passes > 0)
        tnp_text_add(text, ",\"passes\":%zu,\"converged\":null", info->passes);
    else if (isnan(info->objective))
        tnp_text_add(text, ",\"passes\":null,\"converged\":null");
    else
        tnp_text_add(text, ",\"passes\":%zu,\"converged\":%s", info->passes, info->converged ? "true" : "false");
}

static void add_grid(tnp_text *text, const tn_fit_info *info)
{
    tnp_text_add(text, ",\"cross_validation\":");
    if (info->grid_count == 0) {
        tnp_text_add(text, "null");
        return;
    }
    tnp_text_add(text, "{\"metric\":");
    tnp_text_quote(text, info->grid_metric);
    add_string(text, "parameter", info->lambda ? "lambda" : "C");
    tnp_text_add(text, ",\"grid\":[");
    for (size_t g = 0; g < info->grid_count; ++g) {
        tnp_text_add(text, "%s{\"value\":", g ? "," : "");
        tnp_text_number(text, info->grid[g]);
        tnp_text_value(text, "mean", info->grid_mean[g]);
        tnp_text_value(text, "se", info->grid_se[g]);
        if (info->grid_folds && info->grid_folds[g] > 0 && info->grid_folds[g] < info->folds)
            add_count(text, "folds", info->grid_folds[g]);
        tnp_text_add(text, ",\"best\":%s}", g == info->grid_best ? "true" : "false");
    }
    tnp_text_add(text, "],\"folds\":%zu", info->folds);
    if (!info->lambda)
        tnp_text_add(text, ",\"found\":%s,\"skipped\":%zu,\"added\":%zu", info->grid_found ? "true" : "false",
                     info->grid_skipped, info->grid_added);
    tnp_text_add(text, "}");
}

/* How good the head is on rows that it was not trained on, or that the choice was made by. */
static void add_validation(tnp_text *text, const tn_fit_info *info)
{
    if (!info->validation)
        return;
    tnp_text_add(text, ",\"validation\":{\"by\":");
    tnp_text_quote(text, info->validation);
    add_count(text, "rows", info->validation_rows);
    add_string(text, "metric", info->validation_metric);
    tnp_text_value(text, "value", info->validation_value);
    tnp_text_value(text, "se", info->validation_se);
    tnp_text_add(text, "}");
}

/* What few rows leave without a figure, and why; nothing where all is there. */
static void add_notes(tnp_text *text, const tn_fit_info *info)
{
    if (info->class_means > 0)
        tnp_text_value(text, "class_means", info->class_means);
    if (info->loo_note)
        add_string(text, "loo_note", info->loo_note);
    if (info->grid_note)
        add_string(text, "cross_validation_note", info->grid_note);
    if (info->temperature_note)
        add_string(text, "temperature_note", info->temperature_note);
}

/* Passes of an online learner, and the values that were tried. */
static void add_epochs(tnp_text *text, const tn_fit_info *info)
{
    tnp_text_add(text, ",\"epochs\":[");
    for (size_t i = 0; i < info->epoch_count; ++i) {
        const tn_epoch *e = &info->epochs[i];
        tnp_text_add(text, "%s{\"epoch\":%zu,\"mistakes\":%.0f,\"updates\":%.0f", i ? "," : "", i + 1, e->mistakes,
                     e->updates);
        tnp_text_value(text, "valid_accuracy", e->valid);
        tnp_text_value(text, "seconds", e->seconds);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "]");
    add_count(text, "epochs_used", info->epoch_best);
    tnp_text_value(text, "eta", info->eta);
    tnp_text_add(text, ",\"tuning\":");
    for (size_t i = 0; i < info->trial_count; ++i) {
        const tn_trial *t = &info->trials[i];
        tnp_text_add(text, "%s{\"epochs\":%zu", i ? "," : "[", t->epochs);
        tnp_text_value(text, "C", t->cost);
        tnp_text_value(text, "eta", t->eta);
        tnp_text_value(text, "valid_accuracy", t->valid);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, info->trial_count ? "]" : "null");
}

tn_status tn_fit_json(tn_ctx *ctx, const tn_fit_info *info, const char *model, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"command\":\"fit\",\"selected\":");
    tnp_text_quotes(&text, (const char *const *)info->selected, info->selected_count);
    add_steps(&text, info);
    add_figures(&text, info->chosen);
    add_lambda(&text, info);
    tnp_text_value(&text, "seconds", info->seconds);
    add_string(&text, "model", model);
    add_string(&text, "method", info->method);
    add_training(&text, info);
    add_grid(&text, info);
    add_validation(&text, info);
    if (info->epoch_count != 0)
        add_epochs(&text, info);
    tnp_text_value(&text, "temperature", info->temperature > 0 ? info->temperature : (double)NAN);
    add_notes(&text, info);
    if (info->threshold_rule)
        add_string(&text, "threshold_rule", info->threshold_rule);
    if (info->tried_metric)
        tnp_race_json(&text, info);
    add_count(&text, "dim", info->chosen->dim);
    add_ranking(&text, info->ranking);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

typedef struct named_value {
    const char *key;
    double value;
} named_value;

/* Those of the figures that exist for the task: the rest are NaN and left out. */
static void add_existing(tnp_text *text, const named_value *values, size_t count, bool first)
{
    for (size_t i = 0; i < count; ++i) {
        if (isnan(values[i].value))
            continue;
        tnp_text_add(text, "%s\"%s\":", first ? "" : ",", values[i].key);
        tnp_text_number(text, values[i].value);
        first = false;
    }
}

static void add_class(tnp_text *text, const tn_metrics *metrics, size_t k, const char *name)
{
    const tn_class_metrics *m = &metrics->per_class[k];
    const bool regression = metrics->task == TN_TASK_REGRESSION;
    const named_value values[] = {
        {"accuracy", m->accuracy},
        {"ap", m->ap},
        {"ap_voc07", m->ap_voc07},
        {"auc", m->auc},
        {"balanced_accuracy", m->balanced_accuracy},
        {"r2", m->r2},
        {"mse", m->mse},
    };
    tnp_text_add(text, "{\"class\":");
    tnp_text_quote(text, name);
    if (!regression)
        add_count(text, "positives", m->positives);
    add_existing(text, values, sizeof values / sizeof *values, false);
    if (metrics->details)
        tnp_class_details_json(text, metrics->details, k);
    tnp_text_add(text, "}");
}

tn_status tn_metrics_json(tn_ctx *ctx, const tn_metrics *metrics, const char *const *class_names, char **out)
{
    const named_value values[] = {
        {"accuracy", metrics->accuracy},
        {"top5_accuracy", metrics->top5_accuracy},
        {"mean_class_accuracy", metrics->mean_class_accuracy},
        {"mean_ap", metrics->mean_ap},
        {"mean_ap_voc07", metrics->mean_ap_voc07},
        {"mean_auc", metrics->mean_auc},
        {"balanced_accuracy", metrics->balanced_accuracy},
        {"r2", metrics->r2},
        {"mse", metrics->mse},
        {"nll", metrics->nll},
        {"ece", metrics->ece},
    };
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"command\":\"eval\"");
    add_count(&text, "rows", metrics->rows);
    add_count(&text, "classes", metrics->classes);
    add_string(&text, "task", tn_task_name(metrics->task));
    tnp_text_add(&text, ",\"metrics\":{");
    add_existing(&text, values, sizeof values / sizeof *values, true);
    tnp_text_add(&text, "},\"per_class\":[");
    for (size_t k = 0; k < metrics->classes; ++k) {
        tnp_text_add(&text, "%s", k ? "," : "");
        add_class(&text, metrics, k, class_names[k]);
    }
    tnp_text_add(&text, "]");
    if (metrics->details)
        tnp_details_json(&text, metrics, class_names);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}
