/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Comma-separated values, RFC 4180: cells may be quoted, "" inside quotes is a quote, lines end with LF or CRLF.
 * The first line is a header when one of its cells is neither a number nor empty; a column that it names `id`
 * holds the identifiers of the rows, every other column must be numbers. An empty cell is NaN, so that --nan
 * decides about it. Empty lines are allowed at the end only. In a file that ends in .tsv a tab stands for the comma.
 *
 * Two passes, as in libsvm.c: check and count, then fill. */
#include "read/source.h"
#include "read/text.h"

#include <math.h>
#include <string.h>

typedef struct cell {
    tnp_span inside; /* between the quotes, if any */
    bool quoted, last;
    size_t at, line; /* where it starts */
} cell;

typedef struct csv {
    tn_ctx *ctx;
    const char *file;
    const char *data;
    size_t size, at, line;
    size_t start;           /* of the first record after a header */
    size_t rows, cells, id; /* id: column, or SIZE_MAX */
    size_t id_bytes;
    bool exact;
    char between;  /* cells: a comma or a tab */
    float *narrow; /* the second pass fills one of these, and ids */
    double *wide;
    char **ids, *text;
} csv;

static tn_status bad(const csv *c, const cell *where, size_t column, const char *what)
{
    char shown[48];
    return tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: line %zu, byte %zu, column %zu: '%s': %s", c->file, where->line,
                    where->at, column + 1, tnp_show(where->inside, shown), what);
}

/* Moves over the separator or line end after a cell; false when something else stands there. */
static bool end_cell(csv *c, cell *out)
{
    if (c->at < c->size && c->data[c->at] == c->between) {
        ++c->at;
        out->last = false;
        return true;
    }
    out->last = true;
    if (c->at < c->size && c->data[c->at] == '\r')
        ++c->at;
    if (c->at == c->size)
        return true;
    if (c->data[c->at] != '\n')
        return false;
    ++c->at;
    ++c->line;
    return true;
}

static tn_status next_cell(csv *c, size_t column, cell *out)
{
    const char *d = c->data;
    *out = (cell){.at = c->at, .line = c->line};
    if (c->at < c->size && d[c->at] == '"') {
        size_t begin = ++c->at;
        out->quoted = true;
        while (c->at < c->size && (d[c->at] != '"' || (c->at + 1 < c->size && d[c->at + 1] == '"'))) {
            c->line += d[c->at] == '\n';
            c->at += d[c->at] == '"' ? 2 : 1;
        }
        out->inside = (tnp_span){d + begin, c->at - begin};
        if (c->at == c->size)
            return bad(c, out, column, "quote is not closed");
        ++c->at;
    } else {
        size_t begin = c->at;
        while (c->at < c->size && d[c->at] != c->between && d[c->at] != '\n')
            ++c->at;
        size_t end = c->at;
        if (end > begin && d[end - 1] == '\r' && (end == c->size || d[end] == '\n'))
            --end;
        out->inside = tnp_trim((tnp_span){d + begin, end - begin});
    }
    return end_cell(c, out) ? TN_OK : bad(c, out, column, "text after the closing quote");
}

/* An identifier with doubled quotes undone; returns its bytes with the end. */
static size_t put_id(csv *c, const cell *from)
{
    size_t n = 0;
    for (size_t i = 0; i < from->inside.length; ++i) {
        if (c->ids)
            c->text[n] = from->inside.text[i];
        ++n;
        if (from->quoted && from->inside.text[i] == '"')
            ++i;
    }
    if (c->ids) {
        c->ids[c->rows] = c->text;
        c->text[n] = 0;
        c->text += n + 1;
    }
    return n + 1;
}

static tn_status put_value(csv *c, const cell *from, size_t column)
{
    double value = NAN;
    tnp_span text = tnp_trim(from->inside);
    if (text.length != 0 && !tnp_number(text, &value))
        return bad(c, from, column, "expected a number");
    bool shifted = c->id < column;
    size_t cols = c->cells - (c->id != SIZE_MAX), place = c->rows * cols + column - (shifted ? 1 : 0);
    if (c->narrow)
        c->narrow[place] = (float)value;
    else if (c->wide)
        c->wide[place] = value;
    else
        c->exact = c->exact && !(value == value && (double)(float)value != value);
    return TN_OK;
}

static tn_status put_cell(csv *c, const cell *from, size_t column)
{
    size_t wrong = 0;
    if (column != c->id)
        return put_value(c, from, column);
    if (!tnp_utf8(from->inside, &wrong))
        return bad(c, from, column, "id is not UTF-8 text");
    size_t bytes = put_id(c, from);
    if (!c->ids)
        c->id_bytes += bytes;
    return TN_OK;
}

/* The first line: counts cells, and tells whether it is a header. */
static tn_status take_header(csv *c)
{
    cell one = {.last = false};
    tn_status st = TN_OK;
    bool header = false;
    size_t first = c->at;
    double value;
    c->id = SIZE_MAX;
    for (c->cells = 0; !one.last; ++c->cells) {
        TN_TRY(next_cell(c, c->cells, &one));
        tnp_span text = tnp_trim(one.inside);
        header = header || (text.length != 0 && !tnp_number(text, &value));
        if (!tnp_span_is(text, "id"))
            continue;
        if (c->id != SIZE_MAX)
            TN_TRY(bad(c, &one, c->cells, "second column of this name"));
        c->id = c->cells;
    }
    if (!header) {
        c->at = first;
        c->line = 1;
    }
    c->start = c->at;
done:
    return st;
}

static tn_status walk(csv *c)
{
    tn_status st = TN_OK;
    for (c->rows = 0; c->at < c->size; ++c->rows) {
        cell one = {.last = false};
        size_t line = c->line, at = c->at, column = 0;
        for (; !one.last; ++column) {
            TN_TRY(next_cell(c, column, &one));
            if (column < c->cells)
                TN_TRY(put_cell(c, &one, column));
        }
        if (column != c->cells)
            TN_TRY(tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: line %zu, byte %zu: %zu cells, expected %zu", c->file, line, at,
                            column, c->cells));
    }
done:
    return st;
}

static tn_status fill(tn_ctx *ctx, tn_source *src, csv *c, size_t line)
{
    tn_status st = TN_OK;
    size_t cols = c->cells - (c->id != SIZE_MAX), count = 0;
    TN_TRY(tnp_mul(ctx, c->rows, cols, &count));
    TN_TRY(tnp_alloc(ctx, count, c->exact ? sizeof(float) : sizeof(double), &src->owned));
    c->narrow = c->exact ? src->owned : NULL;
    c->wide = c->exact ? NULL : src->owned;
    if (c->id != SIZE_MAX)
        TN_TRY(tnp_strings_new(ctx, c->rows, c->id_bytes, &src->ids, &c->text));
    c->ids = src->ids;
    c->at = c->start;
    c->line = line;
    TN_TRY(walk(c));
    TN_TRY(tnp_source_own(ctx, src, c->exact ? TN_F32 : TN_F64, c->rows, cols));
done:
    return st;
}

tn_status tnp_csv_open(tn_ctx *ctx, tn_source *src, const char *file)
{
    tn_status st = TN_OK;
    tnp_map map = {NULL, 0};
    tnp_lines lines;
    size_t length = strlen(file);
    bool tabs = length > 4 && strcmp(file + length - 4, ".tsv") == 0;
    src->format = tabs ? "tsv" : "csv";
    TN_TRY(tnp_map_open(ctx, file, &map));
    tnp_lines_start(&lines, &map);
    csv c = {.ctx = ctx,
             .file = file,
             .data = lines.data,
             .size = lines.size,
             .at = lines.at,
             .line = 1,
             .exact = true,
             .between = tabs ? '\t' : ','};
    while (c.size > c.at && (c.data[c.size - 1] == '\n' || c.data[c.size - 1] == '\r'))
        --c.size;
    if (c.at == c.size)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no rows", file));
    TN_TRY(take_header(&c));
    size_t line = c.line;
    if (c.cells - (c.id != SIZE_MAX) == 0 || c.cells > TNP_MAX_COLUMNS)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: line 1: %zu columns of numbers, expected 1 to %d", file,
                        c.cells - (c.id != SIZE_MAX), TNP_MAX_COLUMNS));
    TN_TRY(walk(&c));
    if (c.rows == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no rows after the header", file));
    TN_TRY(fill(ctx, src, &c, line));
done:
    tnp_map_close(&map);
    return st;
}
