/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was chosen, and by what: the ranking, the search for a set, the race of auto, the grid of a cross-validation,
 * passes of an online learner, folds. */
#include "report/page/page.h"

#include <math.h>
#include <string.h>

enum { BARS = 40, POINTS = 512 };

/* ---- the ranking ---- */

/* The score that the ranking goes by: that of --by, else the gain per label, which orders as the evidence does. */
static const char *ranking_key(const json_t *root)
{
    const char *by = tnp_member_text(root, "by");
    return by && strcmp(by, "evidence") != 0 ? "score" : "gain_per_label";
}

static void add_ranking_bars(tnp_text *html, const json_t *root, const json_t *list)
{
    tnp_bar bars[BARS];
    const char *key = ranking_key(root);
    size_t count = tnp_min(BARS, json_array_size(list));
    double low = 0, high = -INFINITY;
    bool accuracy = false;
    for (size_t i = 0; i < count; ++i)
        accuracy |= !isnan(tnp_member(json_array_get(list, i), "loo_accuracy"));
    const char *shown = strcmp(key, "score") != 0 && accuracy ? "loo_accuracy" : key;
    const char *wide = strcmp(shown, "loo_accuracy") == 0 ? "loo_se" : "score_se";
    for (size_t i = 0; i < count; ++i) {
        const json_t *c = json_array_get(list, i);
        double value = tnp_member(c, shown), se = 1.96 * tnp_member(c, wide);
        bars[i] = (tnp_bar){tnp_member_text(c, "name"), value, value - se, value + se, i == 0};
        tnp_range_add(&low, &high, value);
        tnp_range_add(&low, &high, value - se);
        tnp_range_add(&low, &high, value + se);
    }
    if (!(high > low))
        high = low + 1;
    if (strcmp(shown, "loo_accuracy") == 0)
        tnp_chart_bars(html,
                       "Leave-one-out accuracy of the candidates, best evidence first; whiskers are 95 % intervals",
                       bars, count, low, high);
    else
        tnp_chart_bars(html, "Score of the candidates, best first", bars, count, low, high);
}

/* Evidence against leave-one-out: where both agree the dots rise. */
static void add_scatter(tnp_text *html, const json_t *list)
{
    tnp_plot plot = {html, INFINITY, -INFINITY, INFINITY, -INFINITY};
    size_t both = 0;
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *c = json_array_get(list, i);
        double x = tnp_member(c, "gain_per_label"), y = tnp_member(c, "loo_accuracy");
        if (isnan(x) || isnan(y))
            continue;
        ++both;
        tnp_range_add(&plot.x0, &plot.x1, x);
        tnp_range_add(&plot.y0, &plot.y1, y);
    }
    if (both < 2)
        return;
    tnp_range_tidy(&plot.x0, &plot.x1);
    tnp_range_tidy(&plot.y0, &plot.y1);
    tnp_plot_begin(&plot, "Evidence against leave-one-out accuracy, a dot per candidate", "gain per label, nats",
                   "leave-one-out accuracy");
    for (size_t i = 0; i < tnp_min(POINTS, json_array_size(list)); ++i) {
        const json_t *c = json_array_get(list, i);
        tnp_plot_dot(&plot, "dot", tnp_member(c, "gain_per_label"), tnp_member(c, "loo_accuracy"),
                     tnp_member_text(c, "name"));
    }
    tnp_plot_end(&plot,
                 "Evidence, which needs no row to be left out, against leave-one-out accuracy: where the two agree "
                 "the dots rise together.");
}

static bool any_has(const json_t *list, const char *key)
{
    for (size_t i = 0; i < json_array_size(list); ++i)
        if (!isnan(tnp_member(json_array_get(list, i), key)))
            return true;
    return false;
}

/* A line per item: its name, and those of the figures that some item has. */
static void add_table(tnp_text *html, const char *caption, const json_t *list, const char *name,
                      const char *const *keys, size_t count, bool (*chosen)(const json_t *item, size_t i))
{
    tnp_grid_begin(html, NULL, caption);
    tnp_grid_head(html, name, false);
    for (size_t k = 0; k < count; ++k)
        if (any_has(list, keys[k]))
            tnp_grid_head(html, keys[k], true);
    tnp_grid_body(html);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *item = json_array_get(list, i);
        tnp_grid_row(html, chosen(item, i));
        tnp_grid_name(html, tnp_member_text(item, name));
        for (size_t k = 0; k < count; ++k)
            if (any_has(list, keys[k]))
                tnp_grid_number(html, tnp_member(item, keys[k]));
    }
    tnp_grid_end(html);
}

static bool is_first(const json_t *item, size_t i)
{
    (void)item;
    return i == 0;
}

static bool is_none(const json_t *item, size_t i)
{
    (void)item;
    (void)i;
    return false;
}

tn_status tnp_section_ranking(tnp_sheet *sheet, const tnp_result *r)
{
    static const char *const keys[] = {"dim",      "gain_per_label", "log_evidence", "score",
                                       "score_se", "loo_accuracy",   "loo_se",       "loo_mean_ap",
                                       "loo_r2",   "lambda_median",  "seconds"};
    const json_t *list = tnp_member_list(r->json.root, "candidates");
    tnp_text *html = &sheet->body;
    if (!list || !json_is_object(json_array_get(list, 0)))
        return TN_OK;
    tnp_section_begin(sheet, r, "Ranking");
    add_ranking_bars(html, r->json.root, list);
    add_table(html, "Candidates, best first", list, "name", keys, sizeof keys / sizeof *keys, is_first);
    add_scatter(html, list);
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- the search for a set ---- */

tn_status tnp_section_steps(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *list = tnp_member_list(r->json.root, "steps");
    double x[POINTS], y[POINTS];
    size_t count = 0;
    tnp_plot plot = {&sheet->body, 0, 1, INFINITY, -INFINITY};
    if (!list)
        return TN_OK;
    tnp_section_begin(sheet, r, "Search for the set");
    tnp_grid_begin(plot.html, NULL, "Candidates in the order they were tried");
    tnp_grid_head(plot.html, "candidate", false);
    tnp_grid_head(plot.html, "accepted", false);
    tnp_grid_head(plot.html, "log_evidence", true);
    tnp_grid_body(plot.html);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *step = json_array_get(list, i);
        bool accepted = json_is_true(json_object_get(step, "accepted"));
        double value = tnp_member(step, "log_evidence");
        tnp_grid_row(plot.html, accepted);
        tnp_grid_name(plot.html, tnp_member_text(step, "candidate"));
        tnp_grid_text(plot.html, accepted ? "yes" : "no");
        tnp_grid_number(plot.html, value);
        if (accepted && count < POINTS) {
            x[count] = (double)count + 1;
            y[count++] = value;
            tnp_range_add(&plot.y0, &plot.y1, value);
        }
    }
    tnp_grid_end(plot.html);
    if (count > 1) {
        plot.x0 = 1;
        plot.x1 = (double)count;
        tnp_range_tidy(&plot.y0, &plot.y1);
        tnp_plot_begin(&plot, "Log evidence of the set as it grows", "representations in the set", "log evidence");
        tnp_plot_line(&plot, "line", x, y, count);
        tnp_plot_end(&plot, "Log evidence of the set as it grows.");
    }
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- the race of auto ---- */

tn_status tnp_section_tried(tnp_sheet *sheet, const tnp_result *r)
{
    static const char *const keys[] = {"C", "lambda", "mean", "se", "log_loss", "rows", "seconds"};
    const json_t *list = tnp_member_list(r->json.root, "tried");
    tnp_text *html = &sheet->body;
    if (!list)
        return TN_OK;
    tnp_section_begin(sheet, r, "What was tried");
    tnp_text_raw(html, "<p>Every method on the same held-out rows; the figure is ");
    tnp_html_text(html, tnp_member_text(r->json.root, "tried_metric"));
    tnp_text_raw(html, ".</p>\n");
    tnp_grid_begin(html, NULL, "Methods that raced");
    tnp_grid_head(html, "method", false);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
        tnp_grid_head(html, keys[k], true);
    tnp_grid_head(html, "taken", false);
    tnp_grid_head(html, "set", false);
    tnp_grid_body(html);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *item = json_array_get(list, i);
        bool chosen = json_is_true(json_object_get(item, "chosen"));
        const char *note = tnp_member_text(item, "note");
        tnp_grid_row(html, chosen);
        tnp_grid_name(html, tnp_member_text(item, "method"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
            tnp_grid_number(html, tnp_member(item, keys[k]));
        tnp_grid_text(html, chosen ? "yes" : note ? note : "no");
        tnp_grid_text(html, tnp_member_text(item, "set"));
    }
    tnp_grid_end(html);
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- a grid of values ---- */

tn_status tnp_section_grid(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *cv = json_object_get(r->json.root, "cross_validation"), *list = tnp_member_list(cv, "grid");
    double x[POINTS], y[POINTS];
    size_t count = tnp_min(POINTS, json_array_size(list));
    tnp_plot plot = {&sheet->body, INFINITY, -INFINITY, INFINITY, -INFINITY};
    if (!list)
        return TN_OK;
    tnp_section_begin(sheet, r, "Choice of the regularisation");
    for (size_t i = 0; i < count; ++i) {
        const json_t *item = json_array_get(list, i);
        x[i] = log10(tnp_member(item, "value"));
        y[i] = tnp_member(item, "mean");
        tnp_range_add(&plot.x0, &plot.x1, x[i]);
        tnp_range_add(&plot.y0, &plot.y1, y[i]);
    }
    tnp_range_tidy(&plot.x0, &plot.x1);
    tnp_range_tidy(&plot.y0, &plot.y1);
    tnp_plot_begin(&plot, "Cross-validated figure against the value", "log10 of the value", "figure");
    tnp_plot_line(&plot, "line", x, y, count);
    tnp_plot_end(&plot, "Figure of held-out rows against the value that was tried.");
    tnp_grid_begin(plot.html, NULL, "Values that were tried");
    tnp_grid_head(plot.html, "value", true);
    tnp_grid_head(plot.html, "mean", true);
    tnp_grid_head(plot.html, "se", true);
    tnp_grid_body(plot.html);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *item = json_array_get(list, i);
        tnp_grid_row(plot.html, json_is_true(json_object_get(item, "best")));
        tnp_grid_number(plot.html, tnp_member(item, "value"));
        tnp_grid_number(plot.html, tnp_member(item, "mean"));
        tnp_grid_number(plot.html, tnp_member(item, "se"));
    }
    tnp_grid_end(plot.html);
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- passes of an online learner ---- */

/* Mistakes per pass, and accuracy on validation rows where there are some. */
static void add_passes(tnp_text *html, const json_t *list, const char *key, const char *caption)
{
    double x[POINTS], y[POINTS];
    size_t count = tnp_min(POINTS, json_array_size(list));
    tnp_plot plot = {html, INFINITY, -INFINITY, INFINITY, -INFINITY};
    if (!any_has(list, key) || count < 2)
        return;
    for (size_t i = 0; i < count; ++i) {
        x[i] = (double)i + 1;
        y[i] = tnp_member(json_array_get(list, i), key);
        tnp_range_add(&plot.x0, &plot.x1, x[i]);
        tnp_range_add(&plot.y0, &plot.y1, y[i]);
    }
    tnp_range_tidy(&plot.y0, &plot.y1);
    tnp_plot_begin(&plot, caption, "pass", key);
    tnp_plot_line(&plot, "line", x, y, count);
    tnp_plot_end(&plot, caption);
}

tn_status tnp_section_epochs(tnp_sheet *sheet, const tnp_result *r)
{
    static const char *const keys[] = {"epoch", "mistakes", "updates", "valid_accuracy", "seconds"};
    const json_t *list = tnp_member_list(r->json.root, "epochs");
    tnp_text *html = &sheet->body;
    if (!list)
        return TN_OK;
    tnp_section_begin(sheet, r, "Passes over the rows");
    add_passes(html, list, "mistakes", "Mistakes in each pass");
    add_passes(html, list, "valid_accuracy", "Accuracy on validation rows after each pass");
    tnp_grid_begin(html, NULL, "Passes");
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
        if (any_has(list, keys[k]))
            tnp_grid_head(html, keys[k], true);
    tnp_grid_body(html);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        tnp_grid_row(html, (double)i + 1 == tnp_member(r->json.root, "epochs_used"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
            if (any_has(list, keys[k]))
                tnp_grid_number(html, tnp_member(json_array_get(list, i), keys[k]));
    }
    tnp_grid_end(html);
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- folds ---- */

static void add_method(tnp_text *html, const json_t *method)
{
    const json_t *metrics = json_object_get(method, "metrics"), *value = NULL;
    const char *key = NULL;
    tnp_text_raw(html, "<h3>");
    tnp_html_text(html, tnp_member_text(method, "method"));
    tnp_text_raw(html, "</h3>\n");
    tnp_grid_begin(html, NULL, "Mean over the folds, and its standard error");
    tnp_grid_head(html, "metric", false);
    tnp_grid_head(html, "mean", true);
    tnp_grid_head(html, "se", true);
    tnp_grid_body(html);
    json_object_foreach((json_t *)metrics, key, value)
    {
        tnp_grid_row(html, false);
        tnp_grid_name(html, key);
        tnp_grid_number(html, tnp_member(value, "mean"));
        tnp_grid_number(html, tnp_member(value, "se"));
    }
    tnp_grid_end(html);
}

tn_status tnp_section_folds(tnp_sheet *sheet, const tnp_result *r)
{
    static const char *const keys[] = {"mean", "se", "seconds"};
    const json_t *list = tnp_member_list(r->json.root, "methods");
    tnp_bar bars[BARS];
    tnp_text *html = &sheet->body;
    size_t count = tnp_min(BARS, json_array_size(list));
    double low = 0, high = -INFINITY;
    if (!list)
        return TN_OK;
    tnp_section_begin(sheet, r, "Cross-validation");
    for (size_t i = 0; i < count; ++i) {
        const json_t *m = json_array_get(list, i);
        double value = tnp_member(m, "mean"), se = 1.96 * tnp_member(m, "se");
        bars[i] = (tnp_bar){tnp_member_text(m, "method"), value, value - se, value + se, false};
        tnp_range_add(&low, &high, value);
        tnp_range_add(&low, &high, value - se);
        tnp_range_add(&low, &high, value + se);
    }
    if (high > low)
        tnp_chart_bars(html, "Figure of every method over rows that were held out; whiskers are 1.96 standard errors",
                       bars, count, low, high);
    add_table(html, "Methods", list, "method", keys, sizeof keys / sizeof *keys, is_none);
    for (size_t i = 0; i < json_array_size(list); ++i)
        add_method(html, json_array_get(list, i));
    tnp_section_end(sheet);
    return TN_OK;
}
