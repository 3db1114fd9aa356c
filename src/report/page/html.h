/* SPDX-License-Identifier: BSD-3-Clause
 *
 * HTML into a growing text. Whatever comes from a file goes through tnp_html_text and nothing else: & < > " ' are
 * written as references, so that it is a text or a quoted attribute and never markup, and characters that people do not
 * see, controls and marks of direction, are shown by their number. */
#ifndef TNP_HTML_H
#define TNP_HTML_H

#include "base/text.h"

#include <jansson.h>

void tnp_html_text(tnp_text *html, const char *text);
/* At most `most` characters of it, and three dots where there were more. */
void tnp_html_short(tnp_text *html, const char *text, size_t most);
/* Bytes as base64. */
void tnp_html_base64(tnp_text *html, const unsigned char *bytes, size_t size);

/* ---- members of results: those that are missing or of another kind are NaN, NULL or empty ---- */

double tnp_member(const json_t *object, const char *key);
const char *tnp_member_text(const json_t *object, const char *key);
const json_t *tnp_member_list(const json_t *object, const char *key);
double tnp_item(const json_t *list, size_t i);

/* ---- tables: begin, heads, rows of cells, end ---- */

/* Sortable by the script; caption, heading and cells are ours, cell texts are escaped. id may be NULL. */
void tnp_grid_begin(tnp_text *html, const char *id, const char *caption);
void tnp_grid_head(tnp_text *html, const char *name, bool number);
/* Between the heads and the rows. */
void tnp_grid_body(tnp_text *html);
void tnp_grid_row(tnp_text *html, bool chosen);
/* The first cell of a row, which names it. */
void tnp_grid_name(tnp_text *html, const char *name);
void tnp_grid_text(tnp_text *html, const char *text);
/* Shown with four digits, the whole number in data-v, so that sorting and checks lose nothing; NaN: an empty cell. */
void tnp_grid_number(tnp_text *html, double value);
/* A whole number, as it is. */
void tnp_grid_count(tnp_text *html, double value);
void tnp_grid_end(tnp_text *html);

/* A figure with its digits, in a text: four of them, a whole number from 2 as it is, or per cent with one behind the
 * point. */
void tnp_html_number(tnp_text *html, double value);
void tnp_html_percent(tnp_text *html, double value);

#endif
