/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Results as one page: HTML that stands for itself, opened from a disk without a network.
 *
 *   policy   default-src 'none': nothing is loaded and no script runs but ours, whose SHA-256 the page names; pictures
 *            come from within (data:). This holds also where escaping would have a hole.
 *   script   adds sorting, searching, hovering and the choice of light or dark; every figure is there without it.
 *   order    verdict, tiles, runs side by side, then sections from what was chosen to where it came from.
 *
 * Refused: chart libraries, which are larger than all that is shown, and data in the page that a script draws: such a
 * page is empty without the script and cannot be read aloud.
 * Oracle: a parser that compares every cell with the JSON, and a browser, tests/report/. */
#include "report/page/page.h"

#include "base/sha256.h"

#include <math.h>
#include <string.h>

tn_status tn_page_new(tn_ctx *ctx, tn_page **out)
{
    return tnp_alloc(ctx, 1, sizeof **out, out);
}

void tn_page_free(tn_page *page)
{
    for (size_t i = 0; page && i < page->count; ++i) {
        tnp_free(page->results[i].name);
        tnp_json_free(&page->results[i].json);
    }
    tnp_free_all(page ? page->results : NULL, page);
}

void tn_page_set_pictures(tn_page *page, const tn_pictures *pictures)
{
    page->pictures = pictures;
}

tn_status tn_page_add(tn_ctx *ctx, tn_page *page, const char *name, const char *json)
{
    tn_status st = TN_OK;
    tnp_result result = {.name = NULL};
    TN_TRY(tnp_json_parse(ctx, name, "the result", 0, json, strlen(json), &result.json));
    result.command = tnp_member_text(result.json.root, "command");
    if (!result.command)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: no member \"command\", expected a result of tenon as JSON", name));
    TN_TRY(tnp_strdup(ctx, name, &result.name));
    TN_TRY(tnp_grow(ctx, &page->results, page->count, page->count + 1, sizeof *page->results));
    page->results[page->count++] = result;
    return TN_OK;
done:
    tnp_free(result.name);
    tnp_json_free(&result.json);
    return st;
}

/* ---- sections ---- */

void tnp_section_begin(tnp_sheet *sheet, const tnp_result *result, const char *title)
{
    size_t n = ++sheet->sections;
    tnp_text_add(&sheet->contents, "<li><a href=\"#s%zu\">%s", n, title);
    tnp_text_add(&sheet->body, "<section aria-labelledby=\"s%zu\"><h2 id=\"s%zu\">%s", n, n, title);
    if (sheet->page->count > 1) {
        tnp_text_raw(&sheet->body, " <small>");
        tnp_html_text(&sheet->body, result->name);
        tnp_text_raw(&sheet->body, "</small>");
        tnp_text_raw(&sheet->contents, ", ");
        tnp_html_short(&sheet->contents, result->name, 24);
    }
    tnp_text_raw(&sheet->body, "</h2>\n");
    tnp_text_raw(&sheet->contents, "</a></li>\n");
}

void tnp_section_end(tnp_sheet *sheet)
{
    tnp_text_raw(&sheet->body, "</section>\n");
}

static tn_status add_sections(tnp_sheet *sheet)
{
    static tn_status (*const sections[])(tnp_sheet * sheet, const tnp_result *result) = {
        tnp_section_ranking,    tnp_section_steps,    tnp_section_tried,       tnp_section_grid,
        tnp_section_folds,      tnp_section_metrics,  tnp_section_compared,    tnp_section_classes,
        tnp_section_confusion,  tnp_section_pictures, tnp_section_reliability, tnp_section_curves,
        tnp_section_residuals,  tnp_section_epochs,   tnp_section_kernel,      tnp_section_transfer,
        tnp_section_provenance,
    };
    for (size_t s = 0; s < sizeof sections / sizeof *sections; ++s)
        for (size_t i = 0; i < sheet->page->count; ++i) {
            tn_status st = sections[s](sheet, &sheet->page->results[i]);
            if (st != TN_OK)
                return st;
        }
    return TN_OK;
}

/* ---- several runs ---- */

/* Metrics that results have in common words: those of eval, and what rank, fit and cv say of rows they have not seen. */
typedef struct shared_figure {
    const char *key, *head;
} shared_figure;

static double figure_of(const tnp_result *r, const char *key)
{
    double value = tnp_member(json_object_get(r->json.root, "metrics"), key);
    if (isnan(value))
        value = tnp_member(r->json.root, key);
    if (isnan(value))
        value = tnp_member(json_array_get(json_object_get(r->json.root, "candidates"), 0), key);
    const json_t *method = json_array_get(json_object_get(r->json.root, "methods"), 0);
    if (isnan(value))
        value = tnp_member(json_object_get(json_object_get(method, "metrics"), key), "mean");
    return value;
}

static void add_runs(tnp_text *html, const tn_page *page)
{
    static const shared_figure all[] = {{"accuracy", "accuracy"},
                                        {"mean_class_accuracy", "mean class accuracy"},
                                        {"mean_ap", "mean AP"},
                                        {"mean_auc", "mean AUC"},
                                        {"r2", "r2"},
                                        {"nll", "negative log-likelihood"},
                                        {"ece", "calibration error"},
                                        {"loo_accuracy", "leave-one-out accuracy"},
                                        {"gain_per_label", "gain per label"},
                                        {"seconds", "seconds"}};
    bool shown[sizeof all / sizeof *all] = {false};
    for (size_t f = 0; f < sizeof all / sizeof *all; ++f)
        for (size_t i = 0; i < page->count; ++i)
            shown[f] |= !isnan(figure_of(&page->results[i], all[f].key));
    tnp_text_raw(html, "<section aria-labelledby=\"runs\"><h2 id=\"runs\">Runs side by side</h2>\n");
    tnp_grid_begin(html, "runs-table", "Results of this page");
    tnp_grid_head(html, "result", false);
    tnp_grid_head(html, "command", false);
    for (size_t f = 0; f < sizeof all / sizeof *all; ++f)
        if (shown[f])
            tnp_grid_head(html, all[f].head, true);
    tnp_grid_body(html);
    for (size_t i = 0; i < page->count; ++i) {
        tnp_grid_row(html, false);
        tnp_grid_name(html, page->results[i].name);
        tnp_grid_text(html, page->results[i].command);
        for (size_t f = 0; f < sizeof all / sizeof *all; ++f)
            if (shown[f])
                tnp_grid_number(html, figure_of(&page->results[i], all[f].key));
    }
    tnp_grid_end(html);
    tnp_text_raw(html, "</section>\n");
}

/* ---- the page ---- */

static void add_hash(tnp_text *html, const unsigned char *bytes, size_t size)
{
    tnp_sha256 sha;
    uint8_t digest[32];
    tnp_sha256_init(&sha);
    tnp_sha256_add(&sha, bytes, size);
    tnp_sha256_end(&sha, digest);
    tnp_text_raw(html, "'sha256-");
    tnp_html_base64(html, digest, sizeof digest);
    tnp_text_raw(html, "'");
}

static void add_head(tnp_text *html)
{
    tnp_text_raw(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
                       "base-uri 'none'; form-action 'none'; style-src ");
    add_hash(html, tnp_page_css, tnp_page_css_size);
    tnp_text_raw(html, "; script-src ");
    add_hash(html, tnp_page_js, tnp_page_js_size);
    tnp_text_raw(html, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<title>tenon report</title>\n<style>");
    tnp_text_bytes(html, (const char *)tnp_page_css, tnp_page_css_size);
    tnp_text_raw(html, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the figures</a>\n<header>\n");
}

static void add_page(tnp_text *html, const tnp_sheet *sheet)
{
    const tn_page *page = sheet->page;
    add_head(html);
    tnp_text_raw(html, "<h1>What was found</h1>\n");
    for (size_t i = 0; i < page->count; ++i) {
        if (strcmp(page->results[i].command, "head") == 0)
            continue; /* it has nothing to say that its section does not */
        tnp_page_verdict(html, &page->results[i]);
        tnp_text_raw(html, "<dl class=\"tiles\">\n");
        tnp_page_tiles(html, &page->results[i], page->count == 1);
        tnp_text_raw(html, "</dl>\n");
    }
    tnp_text_raw(html, "<nav aria-label=\"Sections\"><ul>\n");
    tnp_text_bytes(html, sheet->contents.data, sheet->contents.used);
    tnp_text_raw(html, "</ul></nav>\n</header>\n<main id=\"main\">\n");
    if (page->count > 1)
        add_runs(html, page);
    tnp_text_bytes(html, sheet->body.data, sheet->body.used);
    tnp_text_add(html,
                 "</main>\n<footer><p>Made by tenon %s. This page needs no network and loads nothing.</p></footer>\n",
                 tn_version());
    tnp_text_raw(html, "<script>");
    tnp_text_bytes(html, (const char *)tnp_page_js, tnp_page_js_size);
    tnp_text_raw(html, "</script>\n</body>\n</html>\n");
}

tn_status tn_page_html(tn_ctx *ctx, const tn_page *page, char **out)
{
    tn_status st = TN_OK;
    tnp_sheet sheet = {.ctx = ctx, .page = page};
    tnp_text html;
    tnp_text_init(&html, ctx);
    tnp_text_init(&sheet.body, ctx);
    tnp_text_init(&sheet.contents, ctx);
    if (page->count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "report: no results"));
    TN_TRY(add_sections(&sheet));
    TN_TRY(sheet.body.status);
    TN_TRY(sheet.contents.status);
    tnp_text_bytes(&sheet.body, "", 0);
    tnp_text_bytes(&sheet.contents, "", 0);
    add_page(&html, &sheet);
done:
    tnp_text_destroy(&sheet.body);
    tnp_text_destroy(&sheet.contents);
    if (st == TN_OK)
        return tnp_text_take(&html, out);
    tnp_text_destroy(&html);
    return st;
}
