/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of cells in a text for people, and its colours. */
#ifndef TNP_CELLS_H
#define TNP_CELLS_H

#include "base/text.h"

/* A name in bold. */
void tnp_text_strong(tnp_text *text, bool color, const char *name);

/* Rows of cells; the first row is the head. Cells are added left to right, row by row. */
typedef struct tnp_table {
    tnp_text cells;    /* each with its NUL */
    const char *align; /* a letter per column: l left, r right; borrowed */
    size_t count;
} tnp_table;

void tnp_table_init(tnp_table *table, tn_ctx *ctx, const char *align);
void tnp_table_cell(tnp_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A computed figure as every table shows it: four digits, of a value below 1 four behind the point, so that the figures
 * of a column can be compared by eye; - for NaN, inf for an infinite one. Values that people gave stay as they gave
 * them. */
void tnp_table_value(tnp_table *table, double value);
/* The same as text, into buf or static. */
const char *tnp_four_digits(double value, char buf[32]);
/* Adds the table to `text`, columns as wide as their widest cell, and destroys it. */
void tnp_table_finish(tnp_table *table, tnp_text *text, bool color);

/* Terminal colours, or nothing. */
const char *tnp_bold(bool color);
const char *tnp_plain(bool color);

#endif
