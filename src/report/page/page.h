/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a page: results as they were parsed, and the sections that are written from them. A section looks for the
 * members that it shows and adds nothing where they are missing, so that a result of any command, of this version or
 * another, makes a page. */
#ifndef TNP_PAGE_H
#define TNP_PAGE_H

#include "read/json.h"
#include "report/page/chart.h"
#include "tenon/report.h"

typedef struct tnp_result {
    char *name; /* file, or command */
    const char *command;
    tnp_json json;
} tnp_result;

struct tn_page {
    tnp_result *results;
    size_t count;
    const tn_pictures *pictures; /* borrowed, or NULL */
};

/* A page in the making. */
typedef struct tnp_sheet {
    tn_ctx *ctx;
    const tn_page *page;
    tnp_text body, contents; /* sections, and the list of them */
    size_t sections;
} tnp_sheet;

/* Script and style sheet, as the build took them from page.js and page.css. */
extern const unsigned char tnp_page_css[], tnp_page_js[];
extern const size_t tnp_page_css_size, tnp_page_js_size;

/* Begins a section; the name of the result stands in its heading where the page has several. */
void tnp_section_begin(tnp_sheet *sheet, const tnp_result *result, const char *title);
void tnp_section_end(tnp_sheet *sheet);

/* verdict.c: one sentence per result, and its figures as tiles, fewer where it is not alone on the page. */
void tnp_page_verdict(tnp_text *html, const tnp_result *result);
void tnp_page_tiles(tnp_text *html, const tnp_result *result, bool alone);

/* Sections, each of one result, in the order of the page; those that may fail tell. choice.c */
tn_status tnp_section_ranking(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_steps(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_tried(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_grid(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_epochs(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_folds(tnp_sheet *sheet, const tnp_result *result);
/* measured.c */
tn_status tnp_section_metrics(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_compared(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_classes(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_confusion(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_reliability(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_curves(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_residuals(tnp_sheet *sheet, const tnp_result *result);
/* kernel.c, thumbs.c, provenance.c */
tn_status tnp_section_kernel(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_transfer(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_pictures(tnp_sheet *sheet, const tnp_result *result);
tn_status tnp_section_provenance(tnp_sheet *sheet, const tnp_result *result);

#endif
