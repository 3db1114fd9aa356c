/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Comma-separated values, RFC 4180: cells may be quoted, "" inside quotes is a quote, lines end with LF or CRLF.
 * The first line is a header when one of its cells is neither a number nor empty; a column that it names `id`
 * holds the identifiers of the rows, every other column must be numbers. An empty cell is NaN, so that --nan
 * decides about it. Empty lines are allowed at the end only. In a file that ends in .tsv a tab stands for the comma.
 *
 * Two passes, as in libsvm.c: check and count, then fill; a file that is another one the second time is an error. */
#include "read/features.h"
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
    tnp_window window;
    tn_status status; /* of the window */
    size_t at, begin; /* in the window: the next byte, and the first of this cell */
    size_t line;
    size_t start;           /* byte of the file: the first record after a header */
    size_t rows, cells, id; /* id: column, or SIZE_MAX */
    size_t most, id_bytes;  /* rows and bytes of ids that the second pass may find */
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

/* Is there a byte `ahead` of the next one? The window moves on until it is inside, and keeps the cell. */
static bool move(csv *c, size_t ahead)
{
    while (c->status == TN_OK && c->at + ahead >= c->window.size && !tnp_window_last(&c->window)) {
        c->status = tnp_window_move(&c->window, c->begin);
        c->at -= c->begin;
        c->begin = 0;
    }
    return c->status == TN_OK && c->at + ahead < c->window.size;
}

static inline bool is(csv *c, size_t ahead, char wanted)
{
    return (c->at + ahead < c->window.size || move(c, ahead)) && c->window.data[c->at + ahead] == wanted;
}

static inline bool more(csv *c)
{
    return c->at < c->window.size || move(c, 0);
}

/* Moves over the separator or line end after a cell; false when something else stands there. */
static bool end_cell(csv *c, cell *out)
{
    if (is(c, 0, c->between)) {
        ++c->at;
        out->last = false;
        return true;
    }
    out->last = true;
    if (is(c, 0, '\r'))
        ++c->at;
    if (!more(c))
        return true;
    if (c->window.data[c->at] != '\n')
        return false;
    ++c->at;
    ++c->line;
    return true;
}

/* From the byte after the first quote to the last one; false when there is none. */
static bool skip_quoted(csv *c)
{
    while (more(c) && (!is(c, 0, '"') || is(c, 1, '"'))) {
        char here = c->window.data[c->at];
        c->line += here == '\n';
        c->at += here == '"' ? 2 : 1;
    }
    return more(c);
}

static void skip_plain(csv *c)
{
    while (more(c) && c->window.data[c->at] != c->between && c->window.data[c->at] != '\n')
        ++c->at;
}

static tn_status next_cell(csv *c, size_t column, cell *out)
{
    const char *wrong = NULL;
    c->begin = c->at;
    bool quoted = is(c, 0, '"'); /* before the place: the window may move */
    *out = (cell){.at = c->window.start + c->at, .line = c->line, .quoted = quoted};
    c->at += quoted;
    if (!quoted)
        skip_plain(c);
    else if (!skip_quoted(c))
        wrong = "quote is not closed";
    size_t length = c->at - c->begin - quoted;
    c->at += quoted && !wrong;
    if (!wrong && !end_cell(c, out))
        wrong = "text after the closing quote";
    if (c->status != TN_OK)
        return c->status;
    out->inside = (tnp_span){c->window.data + c->begin + quoted, length};
    if (!quoted && length != 0 && out->last && out->inside.text[length - 1] == '\r')
        --out->inside.length;
    if (!quoted)
        out->inside = tnp_trim(out->inside);
    return wrong ? bad(c, out, column, wrong) : TN_OK;
}

/* An identifier with doubled quotes undone. The first pass counts its bytes and end, the second has that much space. */
static tn_status put_id(csv *c, const cell *from)
{
    if (c->ids)
        c->ids[c->rows] = c->text;
    for (size_t i = 0, n = from->inside.length; i <= n; ++i) {
        if (!c->ids) {
            ++c->id_bytes;
        } else if (c->id_bytes == 0) {
            return tnp_window_changed(&c->window);
        } else {
            *c->text++ = i < n ? from->inside.text[i] : '\0';
            --c->id_bytes;
        }
        i += from->quoted && i < n && from->inside.text[i] == '"';
    }
    return TN_OK;
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
    return put_id(c, from);
}

/* The first line: counts cells, and tells whether it is a header. */
static tn_status take_header(csv *c)
{
    cell one = {.last = false};
    tn_status st = TN_OK;
    bool header = false;
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
    c->start = header ? c->window.start + c->at : c->window.first;
    c->line = header ? c->line : 1;
done:
    return st;
}

/* All records from byte `start` of the file on. */
static tn_status walk(csv *c, size_t line)
{
    tn_status st = TN_OK;
    bool second = c->narrow || c->wide;
    tnp_window_rewind(&c->window);
    c->window.start = c->start;
    c->at = c->begin = 0;
    c->line = line;
    for (c->rows = 0; more(c); ++c->rows) {
        cell one = {.last = false};
        size_t at = c->window.start + c->at, column = 0;
        line = c->line;
        if (second && c->rows == c->most)
            TN_TRY(tnp_window_changed(&c->window));
        for (; !one.last; ++column) {
            TN_TRY(next_cell(c, column, &one));
            if (column < c->cells)
                TN_TRY(put_cell(c, &one, column));
        }
        if (column != c->cells)
            TN_TRY(tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: line %zu, byte %zu: %zu cells, expected %zu", c->file, line, at,
                            column, c->cells));
    }
    TN_TRY(c->status);
    if (second && c->rows != c->most)
        TN_TRY(tnp_window_changed(&c->window));
done:
    return st;
}

static tn_status fill(tn_ctx *ctx, tn_features *features, csv *c, size_t line)
{
    tn_status st = TN_OK;
    size_t cols = c->cells - (c->id != SIZE_MAX), count = 0;
    TN_TRY(tnp_mul(ctx, c->rows, cols, &count));
    TN_TRY(tnp_alloc(ctx, count, c->exact ? sizeof(float) : sizeof(double), &features->owned));
    c->narrow = c->exact ? features->owned : NULL;
    c->wide = c->exact ? NULL : features->owned;
    c->most = c->rows;
    if (c->id != SIZE_MAX)
        TN_TRY(tnp_strings_new(ctx, c->rows, c->id_bytes, &features->ids, &c->text));
    c->ids = features->ids;
    TN_TRY(walk(c, line));
    TN_TRY(tnp_features_own(ctx, features, c->exact ? TN_F32 : TN_F64, c->rows, cols));
done:
    return st;
}

/* Line ends at the end of the text do not count. */
static tn_status trim_end(csv *c)
{
    tn_status st = TN_OK;
    tnp_window *w = &c->window;
    char tail[64];
    size_t n = 1, kept = 0;
    for (; w->end > w->first && n != kept; w->end -= n - kept) {
        n = tnp_min(sizeof tail, w->end - w->first);
        TN_TRY(tnp_file_read(c->ctx, w->file, w->end - n, n, tail));
        for (kept = n; kept != 0 && (tail[kept - 1] == '\n' || tail[kept - 1] == '\r');)
            --kept;
    }
done:
    return st;
}

tn_status tnp_csv_open(tn_ctx *ctx, tn_features *features, const char *file)
{
    tn_status st = TN_OK;
    size_t length = strlen(file);
    bool tabs = length > 4 && strcmp(file + length - 4, ".tsv") == 0;
    csv c = {.ctx = ctx, .file = file, .line = 1, .exact = true, .between = tabs ? '\t' : ','};
    features->format = tabs ? "tsv" : "csv";
    TN_TRY(tnp_window_open(ctx, file, &c.window));
    TN_TRY(trim_end(&c));
    if (c.window.end == c.window.first)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no rows", file));
    TN_TRY(take_header(&c));
    size_t line = c.line;
    if (c.cells - (c.id != SIZE_MAX) == 0 || c.cells > TNP_MAX_COLUMNS)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: line 1: %zu columns of numbers, expected 1 to %d", file,
                        c.cells - (c.id != SIZE_MAX), TNP_MAX_COLUMNS));
    TN_TRY(walk(&c, line));
    if (c.rows == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no rows after the header", file));
    TN_TRY(fill(ctx, features, &c, line));
done:
    tnp_window_close(&c.window);
    return st;
}
