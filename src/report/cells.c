/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables of cells in a text for people, and its colours. */
#include "report/cells.h"

#include <math.h>
#include <string.h>

enum { MAX_COLUMNS = 16 };

void tnp_text_strong(tnp_text *text, bool color, const char *name)
{
    tnp_text_raw(text, tnp_bold(color));
    tnp_text_add(text, "%s", name);
    tnp_text_raw(text, tnp_plain(color));
}

void tnp_table_init(tnp_table *table, tn_ctx *ctx, const char *align)
{
    *table = (tnp_table){.align = align};
    tnp_text_init_shown(&table->cells, ctx);
}

void tnp_table_cell(tnp_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tnp_text_add_list(&table->cells, format, args);
    va_end(args);
    tnp_text_bytes(&table->cells, "", 1);
    ++table->count;
}

const char *tnp_four_digits(double value, char buf[32])
{
    double size = fabs(value);
    if (isnan(value))
        return "-";
    if (isinf(value))
        return value > 0 ? "inf" : "-inf";
    if (size != 0 && (size < 1e-4 || size >= 1e6))
        tnp_format(buf, 32, "%.3e", value);
    else
        tnp_format(buf, 32, "%.*f", size < 1 ? 4 : size < 1000 ? 3 - (int)log10(size) : 0, value);
    return buf;
}

void tnp_table_value(tnp_table *table, double value)
{
    char buf[32];
    tnp_table_cell(table, "%s", tnp_four_digits(value, buf));
}

/* Characters, not bytes: names may be UTF-8 and one heading is. */
static size_t width_of(const char *cell)
{
    size_t width = 0;
    for (; *cell; ++cell)
        width += ((unsigned char)*cell & 0xc0u) != 0x80;
    return width;
}

static void add_row(tnp_text *text, const char **cell, const char *align, const size_t *width, size_t columns)
{
    for (size_t c = 0; c < columns; ++c) {
        size_t pad = width[c] - width_of(*cell);
        bool left = align[c] == 'l', last = c + 1 == columns;
        if (!last || **cell) /* no blanks at the end of a line */
            tnp_text_add(text, "%s%*s%s%*s", c ? "  " : "", left ? 0 : (int)pad, "", *cell,
                         left && !last ? (int)pad : 0, "");
        *cell += strlen(*cell) + 1;
    }
}

void tnp_table_finish(tnp_table *table, tnp_text *text, bool color)
{
    size_t columns = strlen(table->align), width[MAX_COLUMNS] = {0};
    const char *cell = table->cells.data;
    if (table->cells.status != TN_OK) {
        text->status = table->cells.status;
        tnp_text_destroy(&table->cells);
        return;
    }
    for (size_t i = 0; i < table->count; ++i, cell += strlen(cell) + 1)
        width[i % columns] = tnp_max(width[i % columns], width_of(cell));
    cell = table->cells.data;
    for (size_t row = 0; row < table->count / columns; ++row) {
        if (row == 0)
            tnp_text_raw(text, tnp_bold(color));
        add_row(text, &cell, table->align, width, columns);
        if (row == 0)
            tnp_text_raw(text, tnp_plain(color));
        tnp_text_raw(text, "\n");
    }
    tnp_text_destroy(&table->cells);
}

const char *tnp_bold(bool color)
{
    return color ? "\033[1m" : "";
}

const char *tnp_plain(bool color)
{
    return color ? "\033[0m" : "";
}
