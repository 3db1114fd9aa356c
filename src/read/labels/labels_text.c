/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from text, one line per row: [id TAB] name, or names joined by |, or -1 or nothing for unlabelled. UTF-8;
 * LF or CRLF; blanks around names do not count. A file where some line has a | is multi-label. For regression a
 * line is one number; empty or nan is unlabelled, and -1 is a number like any other.
 *
 * Names are found by sorting all of them (a span each, pointing into the text, which is in memory) and keeping the
 * distinct ones; a class is then looked up by bisection. A hash table was refused: no time was to be won at the sizes
 * of label files, and the classes must be sorted in the end anyway. */
#include "read/labels/labels.h"
#include "read/features.h"
#include "read/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    tn_ctx *ctx;
    const char *path;
    size_t line;         /* for messages, from 1 */
    size_t rows, tokens; /* counted by the first pass */
    size_t id_bytes;
    bool ids, several; /* lines start with an id; some line has a | */
    size_t several_line;
    tnp_span *token; /* filled by the second pass */
    char *text;      /* of the ids */
} reader;

static tn_status bad(const reader *r, tn_status status, const char *what)
{
    return tnp_fail(r->ctx, status, "%s: line %zu: %s", r->path, r->line, what);
}

/* Splits a line into its id and the rest. */
static tn_status split_id(reader *r, tnp_span line, tnp_span *id, tnp_span *rest)
{
    const char *tab = line.length ? memchr(line.text, '\t', line.length) : NULL;
    size_t wrong = 0;
    if (!tnp_utf8(line, &wrong))
        return tnp_fail(r->ctx, TN_ERR_FORMAT, "%s: line %zu: byte %zu of it is not UTF-8 text", r->path, r->line,
                        wrong);
    if (r->line == 1)
        r->ids = tab != NULL;
    if (r->ids != (tab != NULL))
        return bad(r, TN_ERR_FORMAT, r->ids ? "no id and tab, but line 1 has them" : "id and tab, but line 1 has none");
    *rest = line;
    *id = (tnp_span){line.text, 0};
    if (tab) {
        id->length = (size_t)(tab - line.text);
        *rest = (tnp_span){tab + 1, line.length - id->length - 1};
        *id = tnp_trim(*id);
        if (rest->length && memchr(rest->text, '\t', rest->length))
            return bad(r, TN_ERR_FORMAT, "second tab, expected id, tab, label");
    }
    *rest = tnp_trim(*rest);
    return TN_OK;
}

/* The next of the names joined by |. */
static bool next_name(tnp_span *rest, tnp_span *name)
{
    if (!rest->text)
        return false;
    const char *bar = rest->length ? memchr(rest->text, '|', rest->length) : NULL;
    size_t n = bar ? (size_t)(bar - rest->text) : rest->length;
    *name = tnp_trim((tnp_span){rest->text, n});
    *rest = bar ? (tnp_span){bar + 1, rest->length - n - 1} : (tnp_span){NULL, 0};
    return true;
}

static bool unlabelled(tnp_span text)
{
    return text.length == 0 || tnp_span_is(text, "-1");
}

static tn_status take_names(reader *r, tnp_span rest)
{
    tnp_span name;
    bool several = rest.length && memchr(rest.text, '|', rest.length);
    if (unlabelled(rest))
        return TN_OK;
    if (several && !r->several) {
        r->several = true;
        r->several_line = r->line;
    }
    while (next_name(&rest, &name)) {
        if (unlabelled(name))
            return bad(r, TN_ERR_FORMAT, name.length ? "-1 among names" : "empty name beside |");
        if (r->token)
            r->token[r->tokens] = name;
        ++r->tokens;
    }
    return TN_OK;
}

static tn_status take_value(reader *r, tn_labels *labels, tnp_span rest)
{
    double value = NAN;
    if (rest.length != 0 && !tnp_number(rest, &value))
        return bad(r, TN_ERR_DATA, "expected a number, as option task regression was given");
    if (isinf(value))
        return bad(r, TN_ERR_DATA, "value is infinite");
    if (labels->values) {
        labels->values[r->rows] = value;
        labels->known[r->rows] = !isnan(value);
    }
    r->tokens += isnan(value) ? 0 : 1;
    return TN_OK;
}

/* One pass over the file: counts, and fills what is allocated. */
static tn_status walk(reader *r, tn_labels *labels, const tnp_bytes *file)
{
    tn_status st = TN_OK;
    tnp_lines lines;
    tnp_span line, id, rest;
    bool more = true;
    r->rows = r->tokens = 0;
    tnp_lines_start(&lines, file);
    for (;;) {
        TN_TRY(tnp_lines_next(&lines, &line, &more));
        if (!more)
            break;
        r->line = lines.number;
        TN_TRY(split_id(r, line, &id, &rest));
        size_t before = r->tokens;
        if (labels->task == TN_TASK_REGRESSION)
            TN_TRY(take_value(r, labels, rest));
        else
            TN_TRY(take_names(r, rest));
        if (labels->first) {
            labels->known[r->rows] = r->tokens != before;
            labels->first[r->rows + 1] = r->tokens;
        }
        if (labels->ids)
            labels->ids[r->rows] = tnp_strings_put(&r->text, id);
        else if (r->ids)
            r->id_bytes += id.length + 1;
        ++r->rows;
    }
done:
    return st;
}

static int compare_names(const void *a, const void *b)
{
    return tnp_span_compare(*(const tnp_span *)a, *(const tnp_span *)b);
}

/* Digits without their leading zeros; false when it is no whole number. */
static bool whole_number(tnp_span name, bool *negative, tnp_span *digits)
{
    *negative = name.text[0] == '-';
    size_t i = *negative;
    if (i == name.length)
        return false;
    for (size_t j = i; j < name.length; ++j)
        if (name.text[j] < '0' || name.text[j] > '9')
            return false;
    while (i + 1 < name.length && name.text[i] == '0')
        ++i;
    *digits = (tnp_span){name.text + i, name.length - i};
    return true;
}

/* By value, of any length; equal values (1 and 01) by bytes. */
static int compare_numbers(const void *a, const void *b)
{
    tnp_span x, y;
    bool below_x, below_y;
    whole_number(*(const tnp_span *)a, &below_x, &x);
    whole_number(*(const tnp_span *)b, &below_y, &y);
    if (below_x != below_y)
        return below_x ? -1 : 1;
    int order = x.length != y.length ? (x.length > y.length) - (x.length < y.length) : tnp_span_compare(x, y);
    if (order == 0)
        return compare_names(a, b);
    return below_x ? -order : order;
}

size_t tnp_distinct_names(tnp_span *names, size_t count, tnp_span_order *order)
{
    size_t n = 0;
    bool numbers = true, negative;
    tnp_span digits;
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; ++i)
        if (n == 0 || compare_names(&names[n - 1], &names[i]) != 0)
            names[n++] = names[i];
    for (size_t i = 0; i < n; ++i)
        numbers = numbers && whole_number(names[i], &negative, &digits);
    *order = numbers ? compare_numbers : compare_names;
    qsort(names, n, sizeof *names, *order);
    return n;
}

static tn_status name_classes(const reader *r, tn_labels *labels, const tnp_span *names, size_t count)
{
    size_t bytes = 0;
    char *text = NULL;
    for (size_t i = 0; i < count; ++i)
        bytes += names[i].length + 1;
    tn_status st = tnp_labels_limit(r->ctx, labels, count);
    if (st == TN_OK)
        st = tnp_strings_new(r->ctx, count, bytes, &labels->names, &text);
    for (size_t i = 0; st == TN_OK && i < count; ++i)
        labels->names[i] = tnp_strings_put(&text, names[i]);
    labels->classes = count;
    return st;
}

static tn_status fill_classes(reader *r, tn_labels *labels, const tnp_bytes *file)
{
    tn_status st = TN_OK;
    tnp_span *names = NULL;
    tnp_span_order order = NULL;
    TN_TRY(tnp_alloc(r->ctx, r->tokens, sizeof *r->token, &r->token));
    TN_TRY(tnp_alloc(r->ctx, r->tokens, sizeof *names, &names));
    TN_TRY(walk(r, labels, file));
    memcpy(names, r->token, r->tokens * sizeof *names);
    TN_TRY(name_classes(r, labels, names, tnp_distinct_names(names, r->tokens, &order)));
    TN_TRY(tnp_grow(r->ctx, &labels->cls, 0, r->tokens, sizeof *labels->cls));
    for (size_t i = 0; i < r->tokens; ++i) {
        const tnp_span *place = bsearch(&r->token[i], names, labels->classes, sizeof *names, order);
        labels->cls[i] = (uint32_t)(place - names);
    }
    tnp_labels_tidy(labels);
done:
    tnp_free(names);
    return st;
}

/* After the first pass: what the file is, and whether that is what was asked for. */
static tn_status decide(reader *r, tn_labels *labels)
{
    if (r->rows == 0)
        return tnp_fail(r->ctx, TN_ERR_DATA, "%s: no rows", r->path);
    if (r->tokens == 0)
        return tnp_fail(r->ctx, TN_ERR_DATA, "%s: every row is unlabelled", r->path);
    if (labels->task == TN_TASK_MULTICLASS && r->several) {
        r->line = r->several_line;
        return bad(r, TN_ERR_DATA, "several names joined by |, but option task multiclass was given");
    }
    if (labels->task == TN_TASK_AUTO)
        labels->task = r->several ? TN_TASK_MULTILABEL : TN_TASK_MULTICLASS;
    return TN_OK;
}

tn_status tnp_labels_from_lines(tn_ctx *ctx, tn_labels *labels, const tnp_bytes *text)
{
    tn_status st = TN_OK;
    reader r = {.ctx = ctx, .path = labels->path};
    TN_TRY(walk(&r, labels, text));
    TN_TRY(decide(&r, labels));
    if (labels->task == TN_TASK_REGRESSION)
        labels->classes = 1;
    TN_TRY(tnp_labels_rows(ctx, labels, r.rows));
    if (r.ids)
        TN_TRY(tnp_strings_new(ctx, r.rows, r.id_bytes, &labels->ids, &r.text));
    if (labels->task == TN_TASK_REGRESSION) {
        TN_TRY(walk(&r, labels, text));
        TN_TRY(tnp_strings_copy(ctx, (const char *[]){"value"}, 1, &labels->names));
    } else {
        TN_TRY(fill_classes(&r, labels, text));
    }
done:
    tnp_free(r.token);
    return st;
}

tn_status tnp_labels_from_text(tn_ctx *ctx, tn_labels *labels)
{
    tnp_bytes file = {NULL, 0};
    tn_status st = tnp_bytes_read(ctx, labels->path, &file);
    if (st == TN_OK)
        st = tnp_labels_from_lines(ctx, labels, &file);
    tnp_bytes_free(&file);
    return st;
}
