/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cross-validation as JSON and for people: means and standard errors of every metric that exists, and where two
 * methods were compared, their difference with the p of its t-test. */
#include "evaluate/cv_result.h"
#include "report/cells.h"
#include "tenon/report.h"

#include <math.h>
#include <string.h>

/* ---- JSON ---- */

static void add_figure(tnp_text *text, const tn_cv_result *r, size_t m, size_t metric)
{
    tnp_resampled figure = tnp_cv_mean(r, m, metric);
    tnp_text_value(text, "mean", figure.mean);
    tnp_text_value(text, "se", figure.se);
    tnp_text_numbers(text, "folds", tnp_cv_values(r, m, metric), r->folds * r->repeats);
}

/* Every metric that exists, with members that `add` puts there. */
static void add_metrics(tnp_text *text, const tn_cv_result *r, size_t m,
                        void (*add)(tnp_text *text, const tn_cv_result *r, size_t m, size_t metric))
{
    tnp_text_add(text, ",\"metrics\":{");
    for (size_t i = 0, shown = 0; i < TNP_CV_METRICS; ++i) {
        if (!tnp_cv_exists(r, i))
            continue;
        tnp_text_add(text, "%s\"%s\":{\"smaller_is_better\":%s", shown++ ? "," : "", tnp_cv_metrics[i].name,
                     tnp_cv_metrics[i].smaller ? "true" : "false");
        add(text, r, m, i);
        tnp_text_add(text, "}");
    }
    tnp_text_add(text, "}");
}

static void add_selected(tnp_text *text, const tnp_cv_method *method, size_t count)
{
    tnp_text_add(text, ",\"selected\":[");
    for (size_t j = 0; j < count; ++j) {
        tnp_text_add(text, "%s", j ? "," : "");
        if (method->selected[j])
            tnp_text_quote(text, method->selected[j]);
        else
            tnp_text_add(text, "null");
    }
    tnp_text_add(text, "]");
}

static bool has_cost(const tnp_cv_method *method, size_t count)
{
    for (size_t j = 0; j < count; ++j)
        if (!isnan(method->cost[j]))
            return true;
    return false;
}

static void add_method(tnp_text *text, const tn_cv_result *r, size_t m)
{
    const tnp_cv_method *method = &r->methods[m];
    size_t count = r->folds * r->repeats, main = tnp_cv_main(r);
    tnp_text_add(text, "%s{\"method\":", m ? "," : "");
    tnp_text_quote(text, method->word);
    tnp_text_add(text, ",\"metric\":\"%s\"", tnp_cv_metrics[main].name);
    add_figure(text, r, m, main);
    tnp_text_value(text, "seconds", method->seconds);
    add_selected(text, method, count);
    if (has_cost(method, count))
        tnp_text_numbers(text, "C", method->cost, count);
    add_metrics(text, r, m, add_figure);
    tnp_text_add(text, "}");
}

/* Of the first method against the second. */
static void add_test(tnp_text *text, const tn_cv_result *r, size_t m, size_t metric)
{
    (void)m;
    tnp_resampled test = tnp_cv_difference(r, metric);
    tnp_text_value(text, "difference", test.mean);
    tnp_text_value(text, "se", test.se);
    tnp_text_value(text, "t", test.t);
    tnp_text_add(text, ",\"df\":%zu", test.count > 0 ? test.count - 1 : 0);
    tnp_text_value(text, "p", test.p);
}

static void add_comparison(tnp_text *text, const tn_cv_result *r)
{
    size_t main = tnp_cv_main(r);
    tnp_text_add(text, ",\"comparison\":{\"method\":");
    tnp_text_quote(text, r->methods[0].word);
    tnp_text_add(text, ",\"against\":");
    tnp_text_quote(text, r->methods[1].word);
    tnp_text_add(text, ",\"metric\":\"%s\"", tnp_cv_metrics[main].name);
    add_test(text, r, 0, main);
    add_metrics(text, r, 0, add_test);
    tnp_text_add(text, "}");
}

tn_status tn_cv_json(tn_ctx *ctx, const tn_cv_result *r, const char *scores, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "{\"command\":\"cv\",\"task\":\"%s\",\"rows\":%zu,\"rows_left_out\":%zu,\"classes\":%zu",
                 tn_task_name(r->task), r->rows, r->file_rows - r->rows, r->classes);
    tnp_text_add(&text, ",\"folds\":%zu,\"repeats\":%zu", r->folds, r->repeats);
    if (r->groups > 0)
        tnp_text_add(&text, ",\"groups\":%zu", r->groups);
    tnp_text_value(&text, "judged_per_trained", r->ratio);
    tnp_text_add(&text, ",\"methods\":[");
    for (size_t m = 0; m < r->method_count; ++m)
        add_method(&text, r, m);
    tnp_text_add(&text, "]");
    if (r->method_count > 1)
        add_comparison(&text, r);
    if (scores) {
        tnp_text_add(&text, ",\"scores\":");
        tnp_text_quote(&text, scores);
    }
    tnp_text_value(&text, "seconds", r->seconds);
    tnp_text_add(&text, "}");
    return tnp_text_take(&text, out);
}

/* ---- for people ---- */

/* A mean that is nothing but the rounding of its terms is 0. */
static void cell_figure(tnp_table *table, const tnp_resampled *figure)
{
    static const double rounding = 1e-12;
    char mean[32], se[32];
    if (isnan(figure->se))
        tnp_table_value(table, figure->mean);
    else
        tnp_table_cell(table, "%s ± %s",
                       tnp_four_digits(fabs(figure->mean) < rounding * figure->se ? 0 : figure->mean, mean),
                       tnp_four_digits(figure->se, se));
}

static void add_figures(tnp_text *text, const tn_cv_result *r, bool color)
{
    tnp_table table;
    bool two = r->method_count > 1;
    tnp_table_init(&table, text->ctx, two ? "lrrrr" : "lr");
    tnp_table_cell(&table, "metric");
    for (size_t m = 0; m < r->method_count; ++m)
        tnp_table_cell(&table, "%s", r->methods[m].word);
    if (two) {
        tnp_table_cell(&table, "difference");
        tnp_table_cell(&table, "p");
    }
    for (size_t i = 0; i < TNP_CV_METRICS; ++i) {
        if (!tnp_cv_exists(r, i))
            continue;
        tnp_table_cell(&table, "%s", tnp_cv_metrics[i].shown);
        for (size_t m = 0; m < r->method_count; ++m) {
            tnp_resampled figure = tnp_cv_mean(r, m, i);
            cell_figure(&table, &figure);
        }
        if (two) {
            tnp_resampled test = tnp_cv_difference(r, i);
            cell_figure(&table, &test);
            tnp_table_value(&table, test.p);
        }
    }
    tnp_table_finish(&table, text, color);
}

static void add_frame(tnp_text *text, const tn_cv_result *r)
{
    tnp_text_add(text, "%zu fold%s", r->folds, r->folds == 1 ? "" : "s");
    if (r->repeats > 1)
        tnp_text_add(text, ", dealt %zu times,", r->repeats);
    tnp_text_add(text, " of %zu rows", r->rows);
    if (r->groups > 0)
        tnp_text_add(text, " in %zu groups", r->groups);
    tnp_text_add(text,
                 ", %zu %s, %s. ± is the standard error, larger than that of independent figures because folds "
                 "share their training rows.\n",
                 r->classes, r->task == TN_TASK_REGRESSION ? "outputs" : "classes", tn_task_name(r->task));
    if (r->rows < r->file_rows)
        tnp_text_add(text, "%zu rows were left out: no label, or not finite.\n", r->file_rows - r->rows);
}

/* Which of two methods is better by the metric of the task, as far as the folds can tell. */
static void add_verdict(tnp_text *text, const tn_cv_result *r, bool color)
{
    static const double level = 0.05;
    size_t main = tnp_cv_main(r);
    tnp_resampled test = tnp_cv_difference(r, main);
    if (isnan(test.p))
        return;
    const char *better = r->methods[test.mean < 0].word, *worse = r->methods[!(test.mean < 0)].word;
    if (!(test.p < level)) {
        tnp_text_add(text, "These folds cannot tell %s and %s apart by %s (p = %.2g).\n", r->methods[0].word,
                     r->methods[1].word, tnp_cv_metrics[main].shown, test.p);
        return;
    }
    tnp_text_strong(text, color, better);
    tnp_text_add(text, " has the better %s, by %.4f ± %.4f against %s (p = %.2g).\n", tnp_cv_metrics[main].shown,
                 fabs(test.mean), test.se, worse, test.p);
}

/* Folds of a method that chose the same set as fold j, those before it apart; 0 where there is none. */
static size_t count_alike(const tnp_cv_method *method, size_t count, size_t j, size_t *before)
{
    size_t alike = 0;
    *before = 0;
    for (size_t i = 0; method->selected[j] && i < count; ++i)
        if (method->selected[i] && strcmp(method->selected[i], method->selected[j]) == 0) {
            ++alike;
            *before += i < j;
        }
    return alike;
}

/* Sets that were chosen, each with the number of folds that chose it; nothing where there was no choice. */
static void add_choices(tnp_text *text, const tn_cv_result *r, size_t m)
{
    const tnp_cv_method *method = &r->methods[m];
    size_t count = r->folds * r->repeats, shown = 0, before = 0;
    if (r->sources == 1 && count_alike(method, count, 0, &before) == count)
        return;
    for (size_t j = 0; j < count; ++j) {
        size_t alike = count_alike(method, count, j, &before);
        if (alike == 0 || before > 0)
            continue;
        if (shown++ == 0)
            tnp_text_add(text, "Chosen for %s: ", method->word);
        else
            tnp_text_add(text, ", ");
        tnp_text_add(text, "%s in %zu of %zu", method->selected[j], alike, count);
    }
    tnp_text_add(text, ".\n");
}

/* Folds that could not judge anything. */
static void add_gaps(tnp_text *text, const tn_cv_result *r)
{
    size_t count = r->folds * r->repeats, left = tnp_cv_mean(r, 0, tnp_cv_main(r)).count;
    if (left < count)
        tnp_text_add(text, "%zu of %zu folds have no figure: the rows outside them do not teach what is inside.\n",
                     count - left, count);
}

tn_status tn_cv_table(tn_ctx *ctx, const tn_cv_result *r, const char *scores, bool color, char **out)
{
    tnp_text text;
    tnp_text_init_shown(&text, ctx);
    add_figures(&text, r, color);
    tnp_text_add(&text, "\n");
    if (r->method_count > 1)
        add_verdict(&text, r, color);
    for (size_t m = 0; m < r->method_count; ++m)
        add_choices(&text, r, m);
    add_frame(&text, r);
    add_gaps(&text, r);
    if (scores)
        tnp_text_add(&text, "Scores of held-out rows%s: %s\n", r->repeats > 1 ? ", first repeat" : "", scores);
    return tnp_text_take(&text, out);
}
