/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The growing text: doubling storage through tnp_alloc, so that the memory budget counts reports too, and JSON
 * strings and numbers on it. JSON is written directly rather than through a tree: the keys keep the order of the
 * contract and a report costs one buffer. */
#include "report/text.h"
#include "read/text.h"
#include "tenon/report.h"

#include <math.h>
#include <string.h>

void tnp_text_init(tnp_text *text, tn_ctx *ctx)
{
    *text = (tnp_text){.ctx = ctx, .status = TN_OK};
}

void tnp_text_destroy(tnp_text *text)
{
    tnp_free(text->data);
    text->data = NULL;
    text->used = text->room = 0;
}

/* Makes room for `count` bytes more and a NUL. */
static bool reserve(tnp_text *text, size_t count)
{
    if (text->status != TN_OK)
        return false;
    if (text->room - text->used > count)
        return true;
    size_t room = tnp_max(2 * text->room, text->used + count + 1);
    room = tnp_max(room, 256);
    text->status = tnp_grow(text->ctx, &text->data, text->used, room, 1);
    if (text->status == TN_OK)
        text->room = room;
    return text->status == TN_OK;
}

void tnp_text_bytes(tnp_text *text, const char *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    memcpy(text->data + text->used, bytes, count);
    text->used += count;
    text->data[text->used] = 0;
}

static void add_list(tnp_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = tnp_format_list(NULL, 0, format, args);
    if (length > 0 && reserve(text, (size_t)length)) {
        tnp_format_list(text->data + text->used, (size_t)length + 1, format, again);
        text->used += (size_t)length;
    }
    va_end(again);
}

void tnp_text_add(tnp_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_list(text, format, args);
    va_end(args);
}

size_t tn_json_char(const char *text, char out[8])
{
    unsigned char c = (unsigned char)*text;
    size_t n = tnp_utf8_length(text, 4);
    if (c != 0 && n == 0) {
        memcpy(out, "\\ufffd", 7);
        return 1;
    }
    if (c == '"' || c == '\\') {
        snprintf(out, 8, "\\%c", c);
    } else if (c != 0 && c < 0x20) {
        snprintf(out, 8, "\\u%04x", c);
    } else {
        memcpy(out, text, n);
        out[n] = 0;
    }
    return n;
}

void tnp_text_quote(tnp_text *text, const char *string)
{
    char piece[8];
    tnp_text_bytes(text, "\"", 1);
    for (size_t n; (n = tn_json_char(string, piece)) != 0; string += n)
        tnp_text_bytes(text, piece, strlen(piece));
    tnp_text_bytes(text, "\"", 1);
}

void tnp_text_quotes(tnp_text *text, const char *const *strings, size_t count)
{
    tnp_text_bytes(text, "[", 1);
    for (size_t i = 0; i < count; ++i) {
        tnp_text_bytes(text, ",", i != 0);
        tnp_text_quote(text, strings[i]);
    }
    tnp_text_bytes(text, "]", 1);
}

void tnp_text_number(tnp_text *text, double value)
{
    if (isfinite(value))
        tnp_text_add(text, "%.17g", value);
    else
        tnp_text_bytes(text, "null", 4);
}

void tnp_text_fields(tnp_text *text, const tn_field *fields, size_t count, const void *options, bool first)
{
    char buffer[256];
    for (size_t i = 0; i < count; ++i) {
        tnp_text_add(text, first && i == 0 ? "" : ",");
        tnp_text_quote(text, fields[i].name);
        tnp_text_add(text, ":");
        tnp_text_quote(text, tn_field_text(&fields[i], options, buffer, sizeof buffer));
    }
}

void tnp_text_value(tnp_text *text, const char *key, double value)
{
    tnp_text_add(text, ",\"%s\":", key);
    tnp_text_number(text, value);
}

void tnp_text_numbers(tnp_text *text, const char *key, const double *values, size_t count)
{
    tnp_text_add(text, ",\"%s\":[", key);
    for (size_t i = 0; i < count; ++i) {
        tnp_text_add(text, i ? "," : "");
        tnp_text_number(text, values[i]);
    }
    tnp_text_add(text, "]");
}

tn_status tnp_text_save(tnp_text *text, const char *path)
{
    tn_status st = TN_OK;
    tn_ctx *ctx = text->ctx;
    tnp_output *output = NULL;
    TN_TRY(text->status);
    TN_TRY(tnp_output_open(ctx, path, &output));
    TN_TRY(tnp_output_write(ctx, output, text->data, text->used));
    TN_TRY(tnp_output_commit(ctx, output));
done:
    tnp_output_close(output);
    tnp_text_destroy(text);
    return st;
}

tn_status tnp_text_take(tnp_text *text, char **out)
{
    tnp_text_bytes(text, "", 0);
    tn_status st = text->status;
    if (st == TN_OK) {
        *out = text->data;
        text->data = NULL;
    }
    tnp_text_destroy(text);
    return st;
}

void tn_text_free(char *text)
{
    tnp_free(text);
}

/* ---- tables ---- */

enum { MAX_COLUMNS = 16 };

void tnp_table_init(tnp_table *table, tn_ctx *ctx, const char *align)
{
    *table = (tnp_table){.align = align};
    tnp_text_init(&table->cells, ctx);
}

void tnp_table_cell(tnp_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_list(&table->cells, format, args);
    va_end(args);
    tnp_text_bytes(&table->cells, "", 1);
    ++table->count;
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
        tnp_text_add(text, "%s", row == 0 ? tnp_bold(color) : "");
        add_row(text, &cell, table->align, width, columns);
        tnp_text_add(text, "%s\n", row == 0 ? tnp_plain(color) : "");
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
