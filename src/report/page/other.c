/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sections of kernels and transfers, and where a result comes from. */
#include "report/page/page.h"

#include <math.h>
#include <string.h>

enum { POINTS = 64, SHOWN = 20, TASKS = 200 };

/* ---- kernels ---- */

static void add_kernel_table(tnp_text *html, const json_t *table)
{
    tnp_grid_begin(html, NULL, "k(x, y) on the scaled axis, x downward");
    tnp_grid_head(html, "x", true);
    for (size_t j = 0; j < json_array_size(json_array_get(table, 0)); ++j) {
        char head[32];
        tnp_format(head, sizeof head, "y %.4g", ((double)j + 0.5) / (double)json_array_size(table));
        tnp_grid_head(html, head, true);
    }
    tnp_grid_body(html);
    for (size_t i = 0; i < json_array_size(table); ++i) {
        const json_t *row = json_array_get(table, i);
        tnp_grid_row(html, false);
        tnp_grid_number(html, ((double)i + 0.5) / (double)json_array_size(table));
        for (size_t j = 0; j < json_array_size(row); ++j)
            tnp_grid_number(html, tnp_item(row, j));
    }
    tnp_grid_end(html);
}

tn_status tnp_section_kernel(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *rates = tnp_member_list(r->json.root, "contributing_rate"),
                 *table = tnp_member_list(r->json.root, "table");
    double x[POINTS], y[POINTS];
    size_t count = tnp_min(POINTS, json_array_size(rates));
    tnp_plot plot = {&sheet->body, 1, fmax(2, (double)count), 0, 1};
    if (!rates && !table)
        return TN_OK;
    tnp_section_begin(sheet, r, "Kernel");
    for (size_t i = 0; i < count; ++i) {
        x[i] = (double)i + 1;
        y[i] = tnp_item(rates, i);
    }
    if (count > 0) {
        tnp_plot_begin(&plot, "Contributing rate", "values per entry", "share of the weights");
        tnp_plot_line(&plot, "line", x, y, count);
        tnp_plot_end(&plot, "How much of the machines' weights the first values of the map hold.");
        tnp_grid_begin(plot.html, NULL, "Contributing rate");
        tnp_grid_head(plot.html, "values", true);
        tnp_grid_head(plot.html, "rate", true);
        tnp_grid_body(plot.html);
        for (size_t i = 0; i < count; ++i) {
            tnp_grid_row(plot.html, x[i] == tnp_member(r->json.root, "rank"));
            tnp_grid_count(plot.html, x[i]);
            tnp_grid_number(plot.html, y[i]);
        }
        tnp_grid_end(plot.html);
    }
    if (table)
        add_kernel_table(plot.html, table);
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- transfer ---- */

static void add_errors(tnp_text *html, const json_t *c)
{
    const json_t *candidates = json_object_get(c, "candidates"), *value = NULL;
    const char *key = NULL;
    if (!json_is_object(candidates))
        return;
    tnp_grid_begin(html, NULL, "Leave-one-out error of what was compared");
    tnp_grid_head(html, "candidate", false);
    tnp_grid_head(html, "loo_error", true);
    tnp_grid_body(html);
    json_object_foreach((json_t *)candidates, key, value)
    {
        tnp_grid_row(html, false);
        tnp_grid_name(html, key);
        tnp_grid_number(html, tnp_member(candidates, key));
    }
    tnp_grid_end(html);
}

static void add_picks(tnp_text *html, const json_t *c)
{
    const json_t *picks = tnp_member_list(c, "selected"), *path = tnp_member_list(c, "loo_path");
    if (!picks)
        return;
    tnp_grid_begin(html, NULL, "Features and sources in the order they were picked");
    tnp_grid_head(html, "name", false);
    tnp_grid_head(html, "kind", false);
    tnp_grid_head(html, "weight", true);
    tnp_grid_head(html, "loo_path", true);
    tnp_grid_body(html);
    for (size_t i = 0; i < tnp_min(SHOWN, json_array_size(picks)); ++i) {
        const json_t *pick = json_array_get(picks, i);
        tnp_grid_row(html, false);
        tnp_grid_name(html, tnp_member_text(pick, "name"));
        tnp_grid_text(html, tnp_member_text(pick, "kind"));
        tnp_grid_number(html, tnp_member(pick, "weight"));
        tnp_grid_number(html, tnp_item(path, i + 1));
    }
    tnp_grid_end(html);
    if (json_array_size(picks) > SHOWN)
        tnp_text_add(html, "<p class=\"note\">and %zu more</p>\n", json_array_size(picks) - SHOWN);
}

tn_status tnp_section_transfer(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *root = r->json.root, *each = tnp_member_list(root, "per_class");
    tnp_text *html = &sheet->body;
    if (strcmp(r->command, "transfer") != 0)
        return TN_OK;
    tnp_section_begin(sheet, r, "Transfer");
    add_errors(html, root);
    add_picks(html, root);
    for (size_t i = 0; i < tnp_min(TASKS, json_array_size(each)); ++i) {
        const json_t *c = json_array_get(each, i);
        tnp_text_raw(html, "<h3>");
        tnp_html_text(html, tnp_member_text(c, "class"));
        tnp_text_raw(html, "</h3>\n");
        add_errors(html, c);
        add_picks(html, c);
    }
    tnp_section_end(sheet);
    return TN_OK;
}

/* ---- provenance ---- */

/* A value of any kind as a cell. */
static void add_value(tnp_text *html, const char *key, const json_t *value)
{
    tnp_grid_row(html, false);
    tnp_grid_name(html, key);
    if (json_is_number(value))
        tnp_grid_number(html, json_number_value(value));
    else if (json_is_boolean(value))
        tnp_grid_text(html, json_is_true(value) ? "yes" : "no");
    else
        tnp_grid_text(html, json_string_value(value) ? json_string_value(value) : "");
}

static void add_files(tnp_text *html, const json_t *files)
{
    if (!files)
        return;
    tnp_grid_begin(html, NULL, "Files");
    tnp_grid_head(html, "file", false);
    tnp_grid_head(html, "bytes", true);
    tnp_grid_head(html, "sha256", false);
    tnp_grid_body(html);
    for (size_t i = 0; i < json_array_size(files); ++i) {
        const json_t *file = json_array_get(files, i);
        tnp_grid_row(html, false);
        tnp_grid_name(html, tnp_member_text(file, "path"));
        tnp_grid_count(html, tnp_member(file, "bytes"));
        tnp_grid_text(html, tnp_member_text(file, "sha256") ? tnp_member_text(file, "sha256") : "");
    }
    tnp_grid_end(html);
}

/* Members of an object that are no lists or objects themselves. */
static void add_members(tnp_text *html, const json_t *object, const char *caption)
{
    const char *key = NULL;
    const json_t *value = NULL;
    if (json_object_size(object) == 0)
        return;
    tnp_grid_begin(html, NULL, caption);
    tnp_grid_head(html, "what", false);
    tnp_grid_head(html, "value", false);
    tnp_grid_body(html);
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_array(value) && !json_is_object(value))
            add_value(html, key, value);
    }
    tnp_grid_end(html);
}

static void add_warnings(tnp_text *html, const json_t *warnings)
{
    for (size_t i = 0; i < json_array_size(warnings); ++i) {
        tnp_text_raw(html, "<p>Warning: ");
        tnp_html_text(html, json_string_value(json_array_get(warnings, i)));
        tnp_text_raw(html, "</p>\n");
    }
}

tn_status tnp_section_provenance(tnp_sheet *sheet, const tnp_result *r)
{
    const json_t *root = r->json.root, *p = json_object_get(root, "provenance"),
                 *options = json_object_get(p, "options");
    tnp_text *html = &sheet->body;
    tnp_section_begin(sheet, r, "Provenance");
    add_warnings(html, json_object_get(root, "warnings"));
    add_members(html, p, "How it was made");
    add_files(html, tnp_member_list(p, "files"));
    add_members(html, options, "Options");
    add_members(html, root, "Further members of the result");
    tnp_section_end(sheet);
    return TN_OK;
}
