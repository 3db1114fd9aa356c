/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LIBSVM text: "label index:value index:value ... # comment", one line per row, indices from 1, ascending. The
 * label is skipped: labels are a file of their own. The number of columns is the highest index.
 *
 * Two passes over the text: the first checks everything and finds the size, the second fills one dense block, so that
 * nothing is allocated for a file that turns out wrong. A file that is another one the second time is an error. Values
 * are kept as float when that loses nothing, else as double. A sparse source was refused: every later stage is dense.
 * */
#include "read/features.h"
#include "read/text.h"

typedef struct table {
    size_t rows, cols;
    size_t most;   /* rows that the second pass may find */
    bool exact;    /* every value is a float */
    float *narrow; /* the second pass fills one of these */
    double *wide;
} table;

typedef struct place {
    tn_ctx *ctx;
    const tnp_window *window;
    const char *file;
    size_t line;
} place;

static bool next_word(tnp_span *rest, tnp_span *word)
{
    *rest = tnp_trim(*rest);
    size_t n = 0;
    while (n < rest->length && rest->text[n] != ' ' && rest->text[n] != '\t')
        ++n;
    *word = (tnp_span){rest->text, n};
    rest->text += n;
    rest->length -= n;
    return n != 0;
}

static tn_status parse_pair(const place *at, tnp_span word, size_t before, size_t *index, double *value)
{
    char shown[48];
    size_t n = 0, column = 0;
    for (; n < word.length && word.text[n] >= '0' && word.text[n] <= '9' && column <= TNP_MAX_COLUMNS; ++n)
        column = 10 * column + (size_t)(word.text[n] - '0');
    if (column > TNP_MAX_COLUMNS)
        return tnp_fail(at->ctx, TN_ERR_FORMAT, "%s: line %zu: index of '%s' is above %d", at->file, at->line,
                        tnp_show(word, shown), TNP_MAX_COLUMNS);
    if (n == 0 || n == word.length || word.text[n] != ':' ||
        !tnp_number((tnp_span){word.text + n + 1, word.length - n - 1}, value))
        return tnp_fail(at->ctx, TN_ERR_FORMAT, "%s: line %zu: '%s', expected index:value", at->file, at->line,
                        tnp_show(word, shown));
    if (column == 0)
        return tnp_fail(at->ctx, TN_ERR_FORMAT, "%s: line %zu: index 0, indices start at 1", at->file, at->line);
    if (column <= before)
        return tnp_fail(at->ctx, TN_ERR_FORMAT, "%s: line %zu: index %zu after %zu, expected ascending", at->file,
                        at->line, column, before);
    *index = column;
    return TN_OK;
}

static tn_status parse_row(const place *at, tnp_span line, table *t)
{
    tnp_span word;
    char shown[48];
    next_word(&line, &word);
    for (size_t i = 0; i < word.length; ++i)
        if (word.text[i] == ':')
            return tnp_fail(at->ctx, TN_ERR_FORMAT, "%s: line %zu: starts with '%s', expected a label first", at->file,
                            at->line, tnp_show(word, shown));
    for (size_t index = 0, before = 0; next_word(&line, &word); before = index) {
        double value = 0;
        tn_status st = parse_pair(at, word, before, &index, &value);
        if (st != TN_OK)
            return st;
        if ((t->narrow || t->wide) && (t->rows == t->most || index > t->cols))
            return tnp_window_changed(at->window);
        if (t->narrow)
            t->narrow[t->rows * t->cols + index - 1] = (float)value;
        else if (t->wide)
            t->wide[t->rows * t->cols + index - 1] = value;
        else {
            t->exact = t->exact && !(value == value && (double)(float)value != value);
            t->cols = tnp_max(t->cols, index);
        }
    }
    return TN_OK;
}

static tn_status walk(tn_ctx *ctx, const char *file, tnp_window *window, table *t)
{
    tnp_lines lines;
    tnp_span line;
    tn_status st = TN_OK;
    bool more = true;
    t->rows = 0;
    tnp_lines_through(&lines, window);
    for (;;) {
        TN_TRY(tnp_lines_next(&lines, &line, &more));
        if (!more)
            break;
        for (size_t i = 0; i < line.length; ++i)
            if (line.text[i] == '#')
                line.length = i;
        line = tnp_trim(line);
        if (line.length == 0)
            continue;
        place at = {ctx, window, file, lines.number};
        TN_TRY(parse_row(&at, line, t));
        ++t->rows;
    }
done:
    return st;
}

tn_status tnp_libsvm_open(tn_ctx *ctx, tn_features *features, const char *file)
{
    tn_status st = TN_OK;
    tnp_window window = {.file = NULL};
    table t = {.exact = true};
    size_t count = 0, size = 0;
    features->format = "libsvm";
    TN_TRY(tnp_window_open(ctx, file, &window));
    TN_TRY(walk(ctx, file, &window, &t));
    if (t.rows == 0 || t.cols == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no %s", file, t.rows ? "index:value in any row" : "rows"));
    size = t.exact ? sizeof(float) : sizeof(double);
    TN_TRY(tnp_unfold_check(ctx, file, window.end, (double)t.rows * (double)t.cols * (double)size));
    TN_TRY(tnp_mul(ctx, t.rows, t.cols, &count));
    TN_TRY(tnp_alloc(ctx, count, size, &features->owned));
    t.narrow = t.exact ? features->owned : NULL;
    t.wide = t.exact ? NULL : features->owned;
    t.most = t.rows;
    TN_TRY(walk(ctx, file, &window, &t));
    if (t.rows != t.most)
        TN_TRY(tnp_window_changed(&window));
    TN_TRY(tnp_features_own(ctx, features, t.exact ? TN_F32 : TN_F64, t.rows, t.cols));
done:
    tnp_window_close(&window);
    return st;
}
