/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What eval measured: figures with their intervals, classes with the worst first, the confusion matrix, reliability,
 * curves, residuals, the comparison of two heads. */
#include "report/details_out.h"
#include "report/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 64, NAMED = 40, CURVES = 30, HOVER = 20000, MOST = 4096 };

/* ---- figures ---- */

tn_status tnp_section_metrics(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *metrics = json_object_get(r->json.root, "metrics"), *value = NULL,
                 *intervals = json_object_get(r->json.root, "intervals");
    const char *key = NULL;
    tnp_text *html = &sheet->body;
    if (!json_is_object(metrics))
        return TN_OK;
    tnp_section_begin(sheet, r, "Figures");
    tnp_grid_begin(html, NULL, "Figures and their 95 % intervals");
    tnp_grid_head(html, "metric", false);
    tnp_grid_head(html, "value", true);
    tnp_grid_head(html, "low", true);
    tnp_grid_head(html, "high", true);
    tnp_grid_body(html);
    json_object_foreach((json_t *)metrics, key, value)
    {
        const json_t *interval = json_object_get(intervals, key);
        tnp_grid_row(html, false);
        tnp_grid_name(html, key);
        tnp_grid_number(html, tnp_member(metrics, key));
        tnp_grid_number(html, tnp_member(interval, "low"));
        tnp_grid_number(html, tnp_member(interval, "high"));
    }
    tnp_grid_end(html);
    tnp_section_end(sheet);
    return TN_OK;
}

tn_status tnp_section_compared(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *c = json_object_get(r->json.root, "comparison"), *metrics = json_object_get(c, "metrics"),
                 *test = json_object_get(c, "mcnemar"), *value = NULL;
    const char *key = NULL, *other = tnp_member_text(c, "with");
    tnp_text *html = &sheet->body;
    if (!json_is_object(metrics))
        return TN_OK;
    tnp_section_begin(sheet, r, "Comparison");
    tnp_text_raw(html, "<p>Against ");
    tnp_html_text(html, other ? other : tnp_member_text(c, "against"));
    tnp_text_raw(html, ", on the same rows.");
    if (test)
        tnp_text_add(html, " %.0f rows are right here only, %.0f there only: p = %.2g by McNemar's exact test.",
                     tnp_member(test, "only_first"), tnp_member(test, "only_other"), tnp_member(test, "p"));
    tnp_text_raw(html, "</p>\n");
    tnp_grid_begin(html, NULL, "Differences");
    tnp_grid_head(html, "metric", false);
    tnp_grid_head(html, "difference", true);
    tnp_grid_head(html, "se", true);
    tnp_grid_head(html, "p", true);
    tnp_grid_body(html);
    json_object_foreach((json_t *)metrics, key, value)
    {
        tnp_grid_row(html, false);
        tnp_grid_name(html, key);
        tnp_grid_number(html, tnp_member(value, "difference"));
        tnp_grid_number(html, tnp_member(value, "se"));
        tnp_grid_number(html, tnp_member(value, "p"));
    }
    tnp_grid_end(html);
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- classes ---- */

/* Class that rows of a class are most often taken for. */
typedef struct taken {
    double count;
    size_t by;
} taken;

/* False for a cell that is no cell of K classes. */
static bool cell_of(const json_t *cell, size_t classes, size_t *truth, size_t *predicted, double *count)
{
    double t = tnp_item(cell, 0), p = tnp_item(cell, 1);
    *count = tnp_item(cell, 2);
    if (!(t >= 0 && t < (double)classes && p >= 0 && p<(double)classes && * count> 0))
        return false;
    *truth = (size_t)t;
    *predicted = (size_t)p;
    return true;
}

static void find_taken(const json_t *cells, size_t classes, taken *out)
{
    double count;
    size_t t, p;
    for (size_t i = 0; i < json_array_size(cells); ++i)
        if (cell_of(json_array_get(cells, i), classes, &t, &p, &count) && t != p && count > out[t].count)
            out[t] = (taken){count, p};
}

/* By rows that were missed, then by the figure that the task has. */
static void sort_classes(const json_t *list, tnp_ranked *order)
{
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *c = json_array_get(list, i);
        double missed = tnp_member(c, "support") - tnp_member(c, "hits"), value = tnp_member(c, "f1");
        value = isnan(value) ? tnp_member(c, "r2") : value;
        order[i] = (tnp_ranked){isnan(missed) ? 0 : missed, isnan(value) ? INFINITY : value, i};
    }
    qsort(order, json_array_size(list), sizeof *order, tnp_order_worst);
}

static const char *const class_keys[] = {"positives", "recall", "precision", "f1",  "accuracy",
                                         "ap",        "auc",    "r2",        "mse", "balanced_accuracy"};
enum { CLASS_KEYS = sizeof class_keys / sizeof *class_keys };

static void add_class(tnp_text *html, const json_t *c, size_t k, const bool *shown, const taken *wrong,
                      const json_t *list)
{
    tnp_text_add(html, "\n<tr data-k=\"%zu\">", k);
    tnp_grid_name(html, tnp_member_text(c, "class"));
    for (size_t i = 0; i < CLASS_KEYS; ++i)
        if (shown[i] && i == 0)
            tnp_grid_count(html, tnp_member(c, class_keys[i]));
        else if (shown[i])
            tnp_grid_number(html, tnp_member(c, class_keys[i]));
    tnp_text_raw(html, "<td>");
    if (wrong->count > 0) {
        tnp_html_text(html, tnp_member_text(json_array_get(list, wrong->by), "class"));
        tnp_text_add(html, " (%.0f)", wrong->count);
    }
    tnp_text_raw(html, "</td>");
}

/* Members that some class has; the accuracy of a class is its recall where rows have one class. */
static void find_keys(const json_t *root, const json_t *list, bool *shown)
{
    const char *task = tnp_member_text(root, "task");
    const bool one = task && strcmp(task, "multiclass") == 0;
    for (size_t i = 0; i < CLASS_KEYS; ++i) {
        shown[i] = false;
        if (one && strcmp(class_keys[i], "accuracy") == 0)
            continue;
        for (size_t k = 0; !shown[i] && k < json_array_size(list); ++k)
            shown[i] = !isnan(tnp_member(json_array_get(list, k), class_keys[i]));
    }
}

tn_status tnp_section_classes(tnp_sheet *sheet, const tnp_result *r)
{
    tn_status st = TN_OK;
    const json_t *list = tnp_member_list(r->json.root, "per_class");
    const size_t classes = json_array_size(list);
    tnp_ranked *order = NULL;
    taken *wrong = NULL;
    bool shown[CLASS_KEYS];
    char id[48];
    tnp_text *html = &sheet->body;
    if (!list || !tnp_member_text(json_array_get(list, 0), "class") ||
        json_object_get(json_array_get(list, 0), "selected"))
        return TN_OK;
    TN_TRY(tnp_alloc(sheet->ctx, classes, sizeof *order, &order));
    TN_TRY(tnp_alloc(sheet->ctx, classes, sizeof *wrong, &wrong));
    find_taken(tnp_member_list(r->json.root, "confusion"), classes, wrong);
    tnp_section_begin(sheet, r, "Classes, worst first");
    find_keys(r->json.root, list, shown);
    sort_classes(list, order);
    snprintf(id, sizeof id, "classes-%zu", (size_t)(r - sheet->page->results));
    tnp_grid_begin(html, id, "Classes by the rows that were missed");
    tnp_grid_head(html, "class", false);
    for (size_t i = 0; i < CLASS_KEYS; ++i)
        if (shown[i])
            tnp_grid_head(html, class_keys[i], true);
    tnp_grid_head(html, "mostly taken for", false);
    tnp_grid_body(html);
    for (size_t i = 0; i < classes; ++i)
        add_class(html, json_array_get(list, order[i].index), order[i].index, shown, &wrong[order[i].index], list);
    tnp_grid_end(html);
    tnp_section_end(sheet);
done:
    tnp_free_all(order, wrong);
    return st;
}

/* ---- the confusion matrix ---- */

/* Share of the true class's rows in 15 steps, none of them nothing. */
static tn_status fill_places(tn_ctx *ctx, const json_t *cells, size_t classes, unsigned char **out)
{
    tn_status st = TN_OK;
    double *support = NULL, count;
    unsigned char *places = NULL;
    size_t t, p;
    TN_TRY(tnp_alloc(ctx, classes, sizeof *support, &support));
    TN_TRY(tnp_alloc(ctx, classes * classes, 1, &places));
    for (size_t i = 0; i < json_array_size(cells); ++i)
        if (cell_of(json_array_get(cells, i), classes, &t, &p, &count))
            support[t] += count;
    for (size_t i = 0; i < json_array_size(cells); ++i)
        if (cell_of(json_array_get(cells, i), classes, &t, &p, &count))
            places[t * classes + p] = (unsigned char)((t == p ? 0 : 15) + fmin(15, ceil(15 * count / support[t])));
    *out = places;
    places = NULL;
done:
    tnp_free_all(support, places);
    return st;
}

/* Numbers only: nothing of them can end the element. */
static void add_hover(tnp_text *html, const json_t *cells, size_t classes, const char *table)
{
    double count;
    size_t t, p, added = 0;
    tnp_text_add(html, "<script type=\"application/json\">{\"classes\":%zu,\"table\":\"%s\",\"cells\":[", classes,
                 table);
    for (size_t i = 0; i < json_array_size(cells) && added < HOVER; ++i)
        if (cell_of(json_array_get(cells, i), classes, &t, &p, &count))
            tnp_text_add(html, "%s[%zu,%zu,%.0f]", added++ ? "," : "", t, p, count);
    tnp_text_raw(html, "]}</script>");
}

static tn_status draw_confusion(tnp_sheet *sheet, const tnp_result *r, const json_t *cells, const json_t *classes)
{
    tn_status st = TN_OK;
    unsigned char *places = NULL;
    char table[48];
    tnp_text *html = &sheet->body;
    const size_t n = json_array_size(classes), left = n <= NAMED ? 150 : 20, side = n <= NAMED ? n * 14 : 480;
    TN_TRY(fill_places(sheet->ctx, cells, n, &places));
    tnp_text_add(
        html,
        "<figure class=\"confusion\"><svg role=\"img\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" aria-label=\"Confusion "
        "matrix, true classes downward, predicted ones to the right\"><image x=\"%zu\" y=\"20\" width=\"%zu\" "
        "height=\"%zu\" href=\"",
        left + side + 4, side + 24, left + side + 4, left, side, side);
    TN_TRY(tnp_chart_png(sheet->ctx, html, places, n));
    tnp_text_add(html, "\"/><rect class=\"grid\" x=\"%zu\" y=\"20\" width=\"%zu\" height=\"%zu\"/>", left, side, side);
    tnp_text_add(html, "<text class=\"soft\" x=\"%zu\" y=\"14\">predicted, in the same order</text>", left);
    for (size_t k = 0; n <= NAMED && k < n; ++k) {
        tnp_text_add(html, "<text x=\"%zu\" y=\"%zu\" text-anchor=\"end\">", left - 6, 20 + k * 14 + 11);
        tnp_html_short(html, tnp_member_text(json_array_get(classes, k), "class"), 20);
        tnp_text_raw(html, "</text>");
    }
    tnp_text_raw(html, "</svg><figcaption>Share of the true class's rows: blue right, red wrong. <output></output>"
                       "</figcaption>");
    snprintf(table, sizeof table, "classes-%zu", (size_t)(r - sheet->page->results));
    add_hover(html, cells, n, table);
    tnp_text_raw(html, "</figure>\n");
done:
    tnp_free(places);
    return st;
}

static void add_pairs(tnp_text *html, const json_t *pairs)
{
    if (!pairs)
        return;
    tnp_grid_begin(html, NULL, "Most confused pairs");
    tnp_grid_head(html, "true", false);
    tnp_grid_head(html, "taken for", false);
    tnp_grid_head(html, "count", true);
    tnp_grid_head(html, "share", true);
    tnp_grid_body(html);
    for (size_t i = 0; i < json_array_size(pairs); ++i) {
        const json_t *pair = json_array_get(pairs, i);
        tnp_grid_row(html, false);
        tnp_grid_name(html, tnp_member_text(pair, "true"));
        tnp_grid_text(html, tnp_member_text(pair, "predicted"));
        tnp_grid_count(html, tnp_member(pair, "count"));
        tnp_grid_number(html, tnp_member(pair, "share"));
    }
    tnp_grid_end(html);
}

tn_status tnp_section_confusion(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *cells = tnp_member_list(r->json.root, "confusion"),
                 *classes = tnp_member_list(r->json.root, "per_class");
    if (!cells || !classes)
        return TN_OK;
    tnp_section_begin(sheet, r, "Confusion");
    tn_status st = json_array_size(classes) <= MOST ? draw_confusion(sheet, r, cells, classes) : TN_OK;
    add_pairs(&sheet->body, tnp_member_list(r->json.root, "confused"));
    tnp_section_end(sheet);
    return st;
}

/* ---- reliability, curves, residuals ---- */

static void add_histogram(tnp_text *html, const json_t *bins)
{
    size_t count = tnp_min(POINTS, json_array_size(bins));
    tnp_plot plot = {html, 0, 1, 0, 1};
    double most = 1;
    for (size_t i = 0; i < count; ++i)
        most = fmax(most, tnp_member(json_array_get(bins, i), "rows"));
    plot.y1 = most;
    tnp_plot_begin(&plot, "Decisions by confidence", "confidence", "decisions");
    for (size_t i = 0; i < count; ++i)
        tnp_plot_column(&plot, "bar", (double)i / (double)count, ((double)i + 1) / (double)count,
                        tnp_member(json_array_get(bins, i), "rows"));
    tnp_plot_end(&plot, "How many decisions were made with which confidence.");
}

tn_status tnp_section_reliability(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *bins = tnp_member_list(r->json.root, "reliability");
    const double diagonal[] = {0, 1};
    double x[POINTS], y[POINTS];
    size_t count = tnp_min(POINTS, json_array_size(bins));
    tnp_plot plot = {&sheet->body, 0, 1, 0, 1};
    if (!bins)
        return TN_OK;
    tnp_section_begin(sheet, r, "Reliability of the probabilities");
    tnp_plot_begin(&plot, "Share that is right against confidence", "confidence", "share that is right");
    tnp_plot_line(&plot, "ideal", diagonal, diagonal, 2);
    for (size_t i = 0; i < count; ++i) {
        const json_t *bin = json_array_get(bins, i);
        x[i] = tnp_member(bin, "confidence");
        y[i] = tnp_member(bin, "accuracy");
        tnp_plot_dot(&plot, "dot", x[i], y[i], "");
    }
    tnp_plot_line(&plot, "line", x, y, count);
    tnp_plot_end(&plot,
                 "On the dashed line probabilities come true as often as they say; below it they promise too much.");
    add_histogram(plot.html, bins);
    tnp_grid_begin(plot.html, NULL, "Bins of confidence");
    tnp_grid_head(plot.html, "confidence", true);
    tnp_grid_head(plot.html, "accuracy", true);
    tnp_grid_head(plot.html, "rows", true);
    tnp_grid_body(plot.html);
    for (size_t i = 0; i < json_array_size(bins); ++i) {
        const json_t *bin = json_array_get(bins, i);
        tnp_grid_row(plot.html, false);
        tnp_grid_number(plot.html, tnp_member(bin, "confidence"));
        tnp_grid_number(plot.html, tnp_member(bin, "accuracy"));
        tnp_grid_count(plot.html, tnp_member(bin, "rows"));
    }
    tnp_grid_end(plot.html);
    tnp_section_end(sheet);
    return TN_OK;
}

static size_t read_points(const json_t *list, double out[POINTS])
{
    size_t count = tnp_min(POINTS, json_array_size(list));
    for (size_t i = 0; i < count; ++i)
        out[i] = tnp_item(list, i);
    return count;
}

static void draw_curve(tnp_text *html, const json_t *curves, const char *mean, const char *own, const char *x_name,
                       const char *y_name, const char *caption)
{
    double x[POINTS], y[POINTS];
    const json_t *each = tnp_member_list(curves, "per_class");
    size_t count = read_points(json_object_get(curves, "rates"), x);
    tnp_plot plot = {html, 0, 1, 0, 1};
    tnp_plot_begin(&plot, caption, x_name, y_name);
    for (size_t i = 0; i < tnp_min(CURVES, json_array_size(each)); ++i) {
        size_t n = read_points(json_object_get(json_array_get(each, i), own), y);
        tnp_plot_line(&plot, "thin", x, y, tnp_min(n, count));
    }
    size_t n = read_points(json_object_get(curves, mean), y);
    tnp_plot_line(&plot, "line", x, y, tnp_min(n, count));
    tnp_plot_end(&plot, caption);
}

tn_status tnp_section_curves(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *curves = json_object_get(r->json.root, "curves");
    if (!tnp_member_list(curves, "rates"))
        return TN_OK;
    tnp_section_begin(sheet, r, "Curves");
    draw_curve(&sheet->body, curves, "mean_roc", "roc", "false positive rate", "true positive rate",
               "ROC curves, one class against the rest: the mean over classes, and single classes thinly");
    draw_curve(&sheet->body, curves, "mean_pr", "pr", "recall", "precision",
               "Precision against recall: the mean over classes, and single classes thinly");
    tnp_section_end(sheet);
    return TN_OK;
}

tn_status tnp_section_residuals(tnp_sheet *sheet, const tnp_result *r)
{
    static const char *const keys[] = {"mean", "sd", "mean_absolute", "correlation", "low", "high"};
    const json_t *list = tnp_member_list(r->json.root, "per_class");
    const json_t *first = json_object_get(json_array_get(list, 0), "residuals");
    tnp_text *html = &sheet->body;
    double bars[POINTS], low = tnp_member(first, "low"), high = tnp_member(first, "high"), most = 1;
    if (!first)
        return TN_OK;
    tnp_section_begin(sheet, r, "Residuals");
    size_t count = read_points(json_object_get(first, "histogram"), bars);
    for (size_t i = 0; i < count; ++i)
        most = fmax(most, bars[i]);
    if (high > low && count > 0) {
        tnp_plot plot = {html, low, high, 0, most};
        tnp_plot_begin(&plot, "Histogram of the residuals of the first output", "truth less prediction", "rows");
        for (size_t i = 0; i < count; ++i)
            tnp_plot_column(&plot, "bar", low + (high - low) * (double)i / (double)count,
                            low + (high - low) * ((double)i + 1) / (double)count, bars[i]);
        tnp_plot_end(&plot, "Residuals of the first output.");
    }
    tnp_grid_begin(html, NULL, "Residuals of every output");
    tnp_grid_head(html, "output", false);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
        tnp_grid_head(html, keys[k], true);
    tnp_grid_body(html);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *item = json_array_get(list, i);
        tnp_grid_row(html, false);
        tnp_grid_name(html, tnp_member_text(item, "class"));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
            tnp_grid_number(html, tnp_member(json_object_get(item, "residuals"), keys[k]));
    }
    tnp_grid_end(html);
    tnp_section_end(sheet);
    return TN_OK;
}
