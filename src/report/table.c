/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rankings and fits for people: a table, then the verdict in sentences. Gains are in nats per label against the
 * model without features, so that 0 means "tells nothing" whatever the task. */
#include "report/race_out.h"
#include "tenon/report.h"

#include <math.h>
#include <string.h>

/* Nats a label; less is rounding. */
static const double LEAST_GAIN = 1e-6;

/* Whether no class that is there has a second row. */
static bool all_single(const tn_ranking *ranking)
{
    return ranking->single_classes != 0 && ranking->single_classes == ranking->rows;
}

/* "0.893 ± 0.012", or a dash where the figure does not exist. */
static void cell_loo(tnp_table *table, const tn_candidate *c)
{
    if (c->loo_mean_ap > 0)
        tnp_table_cell(table, "%.3f", c->loo_mean_ap);
    else if (!isnan(c->loo_accuracy))
        tnp_table_cell(table, "%.3f ± %.3f", c->loo_accuracy, c->loo_se);
    else if (!isnan(c->loo_r2))
        tnp_table_cell(table, "%.3f", c->loo_r2);
    else
        tnp_table_cell(table, "-");
}

static const char *loo_name(tn_task task)
{
    return task == TN_TASK_REGRESSION ? "LOO r2" : task == TN_TASK_MULTILABEL ? "LOO mean AP" : "LOO accuracy";
}

static bool is_by(const tn_ranking *ranking, const char *word)
{
    return ranking->by && strcmp(ranking->by, word) == 0;
}

/* A word of option by as people say it. */
static const char *figure_name(tn_task task, const char *by)
{
    if (strcmp(by, "evidence") == 0)
        return "evidence";
    if (strcmp(by, "nll") == 0)
        return "LOO log-loss";
    if (strcmp(by, "cv") == 0)
        return task == TN_TASK_REGRESSION ? "CV r2" : task == TN_TASK_MULTILABEL ? "CV mean AP" : "CV accuracy";
    if (strcmp(by, "knn") != 0)
        return loo_name(task);
    return task == TN_TASK_REGRESSION ? "kNN r2" : task == TN_TASK_MULTILABEL ? "kNN mean AP" : "kNN accuracy";
}

/* The figure that ranks, where the table has no column for it anyway. */
static bool has_score(const tn_ranking *ranking)
{
    return ranking->by && !is_by(ranking, "evidence") && !is_by(ranking, "loo");
}

static void cell_score(tnp_table *table, const tn_candidate *c)
{
    if (isnan(c->score))
        tnp_table_cell(table, "-");
    else if (isnan(c->score_se))
        tnp_table_cell(table, "%.3f", c->score);
    else
        tnp_table_cell(table, "%.3f ± %.3f", c->score, c->score_se);
}

static void add_candidates(tnp_text *text, const tn_ranking *ranking, bool color)
{
    tnp_table table;
    bool score = has_score(ranking);
    tnp_table_init(&table, text->ctx, score ? "rlrrrrrrr" : "rlrrrrrr");
    static const char *const head[] = {"rank", "name", "dim", "gain (nats/label)", "log evidence"};
    for (size_t i = 0; i < sizeof head / sizeof *head; ++i) {
        tnp_table_cell(&table, "%s", head[i]);
        if (score && i == 2)
            tnp_table_cell(&table, "%s", figure_name(ranking->task, ranking->by));
    }
    tnp_table_cell(&table, "%s", loo_name(ranking->task));
    tnp_table_cell(&table, "lambda");
    tnp_table_cell(&table, "seconds");
    for (size_t i = 0; i < ranking->count; ++i) {
        const tn_candidate *c = ranking->candidates[i];
        tnp_table_cell(&table, "%zu", i + 1);
        tnp_table_cell(&table, "%s", c->name);
        tnp_table_cell(&table, "%zu", c->dim);
        if (score)
            cell_score(&table, c);
        tnp_table_cell(&table, "%.4f", c->gain_per_label);
        tnp_table_cell(&table, "%.2f", c->log_evidence);
        cell_loo(&table, c);
        tnp_table_value(&table, c->lambda_median);
        tnp_table_cell(&table, "%.2f", c->seconds);
    }
    tnp_table_finish(&table, text, color);
}

/* "2.3 standard errors of their difference", as far as that is known; a mean AP is one over labels. */
static void add_errors(tnp_text *text, const tn_ranking *ranking, const char *by, double lead, double se)
{
    bool labels = ranking->task == TN_TASK_MULTILABEL && strcmp(by, "nll") != 0;
    if (se > 0)
        tnp_text_add(text, "%.1f standard errors of their difference%s", lead / se, labels ? " over labels" : "");
    else
        tnp_text_add(text, "a difference without a standard error");
}

/* The other opinions: says so when a figure would have chosen another candidate, and by how much. */
static void add_disagreement(tnp_text *text, const tn_ranking *ranking)
{
    for (size_t i = 0; i < ranking->opinion_count; ++i) {
        const tn_opinion *o = &ranking->opinions[i];
        if (strcmp(o->first, ranking->candidates[0]->name) == 0)
            continue;
        tnp_text_add(text, "The %s speaks for %s instead (", figure_name(ranking->task, o->by), o->first);
        if (strcmp(o->by, "evidence") == 0) {
            tnp_text_add(text, "%.4f nats per label more).\n", o->lead);
            continue;
        }
        tnp_text_add(text, "%.3f against %.3f, ", o->score, o->other);
        add_errors(text, ranking, o->by, o->lead, o->lead_se);
        tnp_text_add(text, ").\n");
    }
}

static void add_remarks(tnp_text *text, const tn_ranking *ranking, const tn_candidate *c)
{
    if (c->null_classes != 0)
        tnp_text_add(text, "%zu of %zu classes gain nothing from %s: their best model has no features.\n",
                     c->null_classes, ranking->classes, c->name ? c->name : "the chosen set");
    if (c->unbounded_classes != 0)
        tnp_text_add(text,
                     "%zu of %zu classes have no highest evidence with %s: its columns reproduce the labels with fewer "
                     "directions than there are rows, as when rows repeat; do not trust its lead.\n",
                     c->unbounded_classes, ranking->classes, c->name ? c->name : "the chosen set");
    if (c->evidence_error > 1e-6)
        tnp_text_add(
            text,
            "The log evidence of %s may be off by more than a millionth: its directions differ too much in size "
            "to be told apart; option normalize zscore may help.\n",
            c->name ? c->name : "the chosen set");
    if (ranking->degenerate_classes != 0)
        tnp_text_add(text, "%zu of %zu classes have the same label in every row and were left out.\n",
                     ranking->degenerate_classes, ranking->classes);
    if (ranking->single_classes != 0)
        tnp_text_add(text, "%zu of %zu classes have one row: no row of theirs can be left out to judge by%s.\n",
                     ranking->single_classes, ranking->classes,
                     all_single(ranking) && ranking->count ? ", and the evidence can hardly tell features from none"
                                                           : "");
    if (ranking->rows_left_out != 0)
        tnp_text_add(text, "%zu rows were left out: no label, or not finite.\n", ranking->rows_left_out);
}

/* By another figure than the evidence. */
static void add_verdict_by(tnp_text *text, const tn_ranking *ranking, bool color)
{
    const tn_candidate *c = ranking->candidates[0];
    tnp_text_strong(text, color, c->name);
    tnp_text_add(text, "%s %s %.3f",
                 ranking->count == 1 ? ":" : " suits this task best:", figure_name(ranking->task, ranking->by),
                 c->score);
    if (!isnan(c->score_se))
        tnp_text_add(text, " ± %.3f", c->score_se);
    if (ranking->count > 1 && ranking->lead == 0) {
        tnp_text_add(text, ", the same as %s, which has the lower evidence", ranking->candidates[1]->name);
    } else if (ranking->count > 1) {
        tnp_text_add(text, ", %.3f %s than %s (", ranking->lead, is_by(ranking, "nll") ? "less" : "more",
                     ranking->candidates[1]->name);
        add_errors(text, ranking, ranking->by, ranking->lead, ranking->lead_se);
        tnp_text_add(text, ")");
    }
    tnp_text_add(text, ".\n");
}

static void add_verdict(tnp_text *text, const tn_ranking *ranking, bool color)
{
    const tn_candidate *c = ranking->candidates[0];
    if (ranking->by && !is_by(ranking, "evidence")) {
        add_verdict_by(text, ranking, color);
        return;
    }
    if (!(c->gain_per_label > LEAST_GAIN)) {
        tnp_text_add(text,
                     "No candidate tells anything about these labels: without features the evidence is as good.\n");
        return;
    }
    if (ranking->count == 1) {
        tnp_text_strong(text, color, c->name);
        tnp_text_add(text, " explains the labels better than no features by %.4f nats per label.\n", c->gain_per_label);
        return;
    }
    const tn_candidate *second = ranking->candidates[1];
    tnp_text_strong(text, color, c->name);
    tnp_text_add(text, " suits this task best: it gains %.4f nats per label over no features, %.4f more than %s.\n",
                 c->gain_per_label, c->gain_per_label - second->gain_per_label, second->name);
}

tn_status tn_ranking_table(tn_ctx *ctx, const tn_ranking *ranking, bool color, char **out)
{
    tnp_text text;
    tnp_text_init_shown(&text, ctx);
    add_candidates(&text, ranking, color);
    if (ranking->count != 0) {
        tnp_text_add(&text, "\n");
        add_verdict(&text, ranking, color);
        add_disagreement(&text, ranking);
        add_remarks(&text, ranking, ranking->candidates[0]);
    }
    return tnp_text_take(&text, out);
}

/* ---- fit ---- */

/* Without evidence there was no choice to make: svm and logistic on one candidate, or on all. */
static bool has_evidence(const tn_fit_info *info)
{
    return !isnan(info->chosen->log_evidence);
}

static void add_steps(tnp_text *text, const tn_fit_info *info, bool color)
{
    tnp_table table;
    tnp_table_init(&table, text->ctx, "rlrl");
    tnp_table_cell(&table, "step");
    tnp_table_cell(&table, "candidate");
    tnp_table_cell(&table, "log evidence");
    tnp_table_cell(&table, "taken");
    for (size_t i = 0; i < info->step_count; ++i) {
        tnp_table_cell(&table, "%zu", i + 1);
        tnp_table_cell(&table, "%s", info->steps[i].candidate);
        tnp_table_cell(&table, "%.2f", info->steps[i].log_evidence);
        tnp_table_cell(&table, "%s", info->steps[i].accepted ? "yes" : "no");
    }
    tnp_table_finish(&table, text, color);
    tnp_text_add(text, "\n");
}

static const char *grid_name(const tn_fit_info *info)
{
    return info->lambda ? "lambda" : "C";
}

static void add_grid(tnp_text *text, const tn_fit_info *info, bool color)
{
    tnp_table table;
    tnp_table_init(&table, text->ctx, "rrl");
    tnp_table_cell(&table, "%s", grid_name(info));
    tnp_table_cell(&table, "%s %s", info->validation ? "validation" : "cross-validated", info->grid_metric);
    tnp_table_cell(&table, "best");
    for (size_t g = 0; g < info->grid_count; ++g) {
        tnp_table_cell(&table, "%.4g", info->grid[g]);
        if (isnan(info->grid_mean[g]))
            tnp_table_cell(&table, "-");
        else if (isnan(info->grid_se[g]))
            tnp_table_cell(&table, "%.4f", info->grid_mean[g]);
        else
            tnp_table_cell(&table, "%.4f ± %.4f", info->grid_mean[g], info->grid_se[g]);
        if (info->grid_folds && info->grid_folds[g] > 0 && info->grid_folds[g] < info->folds)
            tnp_table_cell(&table, "given up after %zu of %zu folds", info->grid_folds[g], info->folds);
        else
            tnp_table_cell(&table, "%s", g == info->grid_best ? "yes" : "");
    }
    tnp_table_finish(&table, text, color);
    tnp_text_add(text, "\n");
}

/* Range of lambda over the classes that have weights. */
static void add_lambda(tnp_text *text, const tn_fit_info *info)
{
    double low = INFINITY, high = -INFINITY;
    char from[32], to[32];
    for (size_t k = 0; k < info->classes; ++k) {
        if (!isfinite(info->lambda[k]))
            continue;
        low = fmin(low, info->lambda[k]);
        high = fmax(high, info->lambda[k]);
    }
    tnp_text_add(text, "lambda        ");
    if (info->class_means == 1)
        tnp_text_add(text, "infinite: nearest class mean");
    else if (!(low <= high))
        tnp_text_add(text, "none: no class has weights");
    else if (low < high)
        tnp_text_add(text, "%s to %s", tnp_four_digits(low, from), tnp_four_digits(high, to));
    else
        tnp_text_add(text, "%s", tnp_four_digits(low, from));
    tnp_text_add(text, " (%s)%s\n", info->lambda_rule,
                 info->class_means > 0 && info->class_means < 1
                     ? "; half of the scores is the nearest class mean's: few rows"
                     : "");
}

/* The certified gap in percent of the objective. */
static double gap_percent(const tn_fit_info *info)
{
    return info->objective > 0 ? 100 * info->gap / info->objective : 0;
}

static void add_training(tnp_text *text, const tn_fit_info *info)
{
    if (info->lambda)
        add_lambda(text, info);
    if (!isnan(info->cost))
        tnp_text_add(text, "C             %.4g\n", info->cost);
    if (!isnan(info->eta))
        tnp_text_add(text, "eta           %.4g\n", info->eta);
    if (info->epoch_count != 0)
        tnp_text_add(text, "passes        %zu\n", info->epoch_best);
    if (!isnan(info->objective))
        tnp_text_add(text, "objective     %.6g, certainly within %.2g %% of the optimum (%zu passes)\n",
                     info->objective, gap_percent(info), info->passes);
}

/* Passes of an online learner, and the values that were tried on the validation rows. */
static void add_passes(tnp_text *text, const tn_fit_info *info, bool color)
{
    bool valid = !isnan(info->epochs[0].valid);
    tnp_table table;
    tnp_table_init(&table, text->ctx, valid ? "rrrrr" : "rrrr");
    const char *const head[] = {"pass", "mistakes", "updates", "seconds", "validation"};
    for (size_t i = 0; i < (valid ? 5u : 4u); ++i)
        tnp_table_cell(&table, "%s", head[i]);
    for (size_t i = 0; i < info->epoch_count; ++i) {
        const tn_epoch *e = &info->epochs[i];
        tnp_table_cell(&table, "%zu%s", i + 1, valid && i + 1 == info->epoch_best ? " *" : "");
        tnp_table_cell(&table, "%.0f", e->mistakes);
        tnp_table_cell(&table, "%.0f", e->updates);
        tnp_table_cell(&table, "%.2f", e->seconds);
        if (valid)
            tnp_table_cell(&table, "%.4f", e->valid);
    }
    tnp_table_finish(&table, text, color);
    tnp_text_add(text, "\n");
}

/* Blank where a rule has no such value. */
static void value_cell(tnp_table *table, double value)
{
    if (isnan(value))
        tnp_table_cell(table, "%s", "");
    else
        tnp_table_cell(table, "%.4g", value);
}

static void add_trials(tnp_text *text, const tn_fit_info *info, bool color)
{
    tnp_table table;
    tnp_table_init(&table, text->ctx, "rrrr");
    const char *const head[] = {"C", "eta", "passes", "validation"};
    for (size_t i = 0; i < sizeof head / sizeof *head; ++i)
        tnp_table_cell(&table, "%s", head[i]);
    for (size_t i = 0; i < info->trial_count; ++i) {
        const tn_trial *t = &info->trials[i];
        value_cell(&table, t->cost);
        value_cell(&table, t->eta);
        tnp_table_cell(&table, "%zu", t->epochs);
        tnp_table_cell(&table, "%.4f%s", t->valid, i == info->trial_best ? " *" : "  ");
    }
    tnp_table_finish(&table, text, color);
    tnp_text_add(text, "\n");
}

/* Leave-one-out is in closed form for the ridge only: beside another head it speaks for the representations. */
static void add_loo(tnp_text *text, const tn_fit_info *info)
{
    const tn_candidate *c = info->chosen;
    bool ridge = info->lambda && strcmp(info->method, "lda") != 0;
    const char *whose = ridge ? "" : " (of a ridge head)";
    if (c->loo_mean_ap > 0)
        tnp_text_add(text, "LOO mean AP   %.3f%s\n", c->loo_mean_ap, whose);
    else if (!isnan(c->loo_accuracy))
        tnp_text_add(text, "LOO accuracy  %.3f ± %.3f%s%s%s%s\n", c->loo_accuracy, c->loo_se, whose,
                     info->loo_note ? " (" : "", info->loo_note ? info->loo_note : "", info->loo_note ? ")" : "");
    else if (!isnan(c->loo_r2))
        tnp_text_add(text, "LOO r2        %.3f%s\n", c->loo_r2, whose);
    else if (info->loo_note)
        tnp_text_add(text, "LOO accuracy  - (%s)\n", info->loo_note);
}

static void add_validation(tnp_text *text, const tn_fit_info *info)
{
    bool held = info->validation && strcmp(info->validation, "holdout") == 0;
    if (!info->validation)
        return;
    tnp_text_add(text, "validation    %s ", info->validation_metric);
    if (isnan(info->validation_value))
        tnp_text_add(text, "-");
    else if (isnan(info->validation_se))
        tnp_text_add(text, "%.4f", info->validation_value);
    else
        tnp_text_add(text, "%.4f ± %.4f", info->validation_value, info->validation_se);
    tnp_text_add(text, " on %zu rows %s\n", info->validation_rows,
                 held ? "held out; the head is then trained on all" : "that the head is not trained on");
}

static void add_choice(tnp_text *text, const tn_fit_info *info, const char *model, bool color)
{
    const tn_candidate *c = info->chosen;
    tnp_text_add(text, "selected      ");
    tnp_text_raw(text, tnp_bold(color));
    for (size_t i = 0; i < info->selected_count; ++i)
        tnp_text_add(text, "%s%s", i ? " + " : "", info->selected[i]);
    tnp_text_raw(text, tnp_plain(color));
    tnp_text_add(text, " (%zu columns)\n", c->dim);
    if (has_evidence(info))
        tnp_text_add(text, "log evidence  %.2f (%.4f nats per label over no features)\n", c->log_evidence,
                     c->gain_per_label);
    const tn_tried *tried = tnp_race_chosen(info);
    tnp_text_add(text, "method        %s%s\n", tried ? "auto: " : "", tried ? tried->method : info->method);
    add_training(text, info);
    add_validation(text, info);
    add_loo(text, info);
    if (info->temperature > 0)
        tnp_text_add(text, "probabilities yes, temperature %.4g\n", info->temperature);
    else if (info->temperature_note)
        tnp_text_add(text, "probabilities no (%s)\n", info->temperature_note);
    if (info->threshold_rule)
        tnp_text_add(text, "thresholds    per class (%s)\n", info->threshold_rule);
    if (model)
        tnp_text_add(text, "model         %s\n", model);
    tnp_text_add(text, "seconds       %.2f\n", info->seconds);
}

/* A ridge head that gives every row the same scores. */
static bool has_no_weights(const tn_fit_info *info)
{
    size_t weights = 0;
    for (size_t k = 0; info->lambda && k < info->classes; ++k)
        weights += isfinite(info->lambda[k]) != 0;
    return info->lambda && weights == 0;
}

static void add_class_means(tnp_text *text, const tn_fit_info *info)
{
    if (strcmp(info->lambda_rule, "fixed") == 0)
        tnp_text_add(text, "Warning: so large a lambda leaves nothing of the weights but their direction.");
    else
        tnp_text_add(text,
                     "Warning: by the rule %s no lambda is better than no features: there are too few rows, or the "
                     "features say nothing.",
                     info->lambda_rule);
    tnp_text_add(text, " The head takes the nearest class mean.\n");
}

static void add_fit_verdict(tnp_text *text, const tn_fit_info *info)
{
    const tn_ranking *ranking = info->ranking;
    if (!has_evidence(info)) {
        tnp_text_add(text, "Nothing was to be chosen: the head uses every representation that was given.\n");
        return;
    }
    if (info->class_means == 1) {
        add_class_means(text, info);
        return;
    }
    if (!(info->chosen->gain_per_label > LEAST_GAIN) || has_no_weights(info)) {
        tnp_text_add(text, "The head is of little use: without features the evidence is as good.\n");
        return;
    }
    if (ranking->count == 0 || all_single(ranking))
        return;
    const tn_candidate *best = ranking->candidates[0];
    const tn_tried *raced = tnp_race_chosen(info); /* what the evidence chose races first */
    if (raced && strcmp(raced->set, info->tried[0]->set) != 0)
        tnp_text_add(text, "By evidence it would be %s; on rows that were held out %s does better.\n",
                     info->tried[0]->set, raced->set);
    else if (info->selected_count > 1)
        tnp_text_add(text, "Together they gain %.4f nats per label more than the best single one, %s.\n",
                     info->chosen->gain_per_label - best->gain_per_label, best->name);
    else if (info->step_count > 1)
        tnp_text_add(text, "%s alone is enough: nothing that was tried beside it raised the evidence.\n",
                     info->selected_count ? info->selected[0] : best->name);
    else if (ranking->count > 1)
        tnp_text_add(text, "%s has the highest evidence of %zu candidates.\n", best->name, ranking->count);
    else
        tnp_text_add(text, "%s explains the labels better than no features by %.4f nats per label.\n", best->name,
                     best->gain_per_label);
}

/* Whether a value has a larger figure than the one that was chosen. */
static bool is_usual(const tn_fit_info *info)
{
    bool found = false;
    for (size_t g = 0; info->grid_found && info->grid_best < info->grid_count && g < info->grid_count; ++g) {
        bool whole = !info->grid_folds || info->grid_folds[g] == 0 || info->grid_folds[g] == info->folds;
        found |= whole && info->grid_mean[g] > info->grid_mean[info->grid_best];
    }
    return found;
}

static void add_training_remarks(tnp_text *text, const tn_fit_info *info)
{
    size_t best = info->grid_best;
    if (!isnan(info->objective) && !info->converged)
        tnp_text_add(text,
                     "Warning: the training did not reach the option gap that was asked for in %zu passes. "
                     "option max-passes allows more.\n",
                     info->passes);
    if (info->grid_skipped > 0)
        tnp_text_add(text,
                     "The path along C stopped where it had clearly become worse; values of the grid not tried: %zu.\n",
                     info->grid_skipped);
    if (info->grid_added > 0)
        tnp_text_add(text,
                     "The path along C went on beyond its grid, for the best was at the end; values added: %zu.\n",
                     info->grid_added);
    if (is_usual(info))
        tnp_text_add(
            text, "C = %.4g is the usual one for rows of this length: none is better by more than a standard error.\n",
            info->grid[best]);
    if (info->grid_note && (info->grid_count == 0 || best >= info->grid_count))
        tnp_text_add(text, "Warning: cross-validation could choose nothing (%s); %s.\n", info->grid_note,
                     info->lambda ? "lambda is that of the evidence" : "C is the one that was given");
    else if (info->grid_note)
        tnp_text_add(text, "Cross-validation has %zu folds: %s.\n", info->folds, info->grid_note);
    if (info->grid_count > 1 && (best == 0 || best == info->grid_count - 1))
        tnp_text_add(text, "The best %s is the %s that was tried: a wider option grid may find a better one.\n",
                     grid_name(info), best == 0 ? "smallest" : "largest");
}

tn_status tn_fit_table(tn_ctx *ctx, const tn_fit_info *info, const char *model, bool color, char **out)
{
    tnp_text text;
    tnp_text_init_shown(&text, ctx);
    if (has_evidence(info))
        add_steps(&text, info, color);
    if (info->tried_count != 0)
        tnp_race_table(&text, info, color);
    if (info->grid_count != 0)
        add_grid(&text, info, color);
    if (info->trial_count != 0)
        add_trials(&text, info, color);
    if (info->epoch_count != 0)
        add_passes(&text, info, color);
    add_choice(&text, info, model, color);
    tnp_text_add(&text, "\n");
    add_fit_verdict(&text, info);
    add_training_remarks(&text, info);
    tnp_race_remarks(&text, info);
    add_remarks(&text, info->ranking, info->chosen);
    return tnp_text_take(&text, out);
}
