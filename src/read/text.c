/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines and names of text files. Numbers are base/number.c. */
#include "read/text.h"

#include <string.h>

static const unsigned char mark[] = {0xef, 0xbb, 0xbf}; /* byte order, in UTF-8 */

enum { WINDOW = 1 << 18 };

tn_status tnp_window_open(tn_ctx *ctx, const char *path, tnp_window *out)
{
    tn_status st = TN_OK;
    unsigned char first[sizeof mark];
    *out = (tnp_window){.ctx = ctx};
    TN_TRY(tnp_file_open(ctx, path, &out->file));
    out->end = tnp_file_size(out->file);
    out->capacity = tnp_min(WINDOW, tnp_max(out->end, 1));
    TN_TRY(tnp_alloc_raw(ctx, out->capacity, 1, &out->data));
    if (out->end >= sizeof mark)
        TN_TRY(tnp_file_read(ctx, out->file, 0, sizeof mark, first));
    out->first = out->end >= sizeof mark && memcmp(first, mark, sizeof mark) == 0 ? sizeof mark : 0;
    tnp_window_rewind(out);
done:
    return st;
}

void tnp_window_close(tnp_window *window)
{
    tnp_file_close(window->file);
    tnp_free(window->data);
    *window = (tnp_window){.file = NULL};
}

void tnp_window_rewind(tnp_window *window)
{
    window->start = window->first;
    window->size = 0;
}

bool tnp_window_last(const tnp_window *window)
{
    return window->start + window->size >= window->end;
}

tn_status tnp_window_move(tnp_window *w, size_t used)
{
    tn_status st = TN_OK;
    size_t kept = w->size - used, next = w->start + w->size, left = w->end > next ? w->end - next : 0;
    if (left == 0)
        return TN_OK;
    TN_TRY(tnp_cancelled(w->ctx));
    if (used == 0 && kept == w->capacity) {
        TN_TRY(tnp_grow(w->ctx, &w->data, kept, 2 * w->capacity, 1));
        w->capacity *= 2;
    }
    if (kept != 0)
        memmove(w->data, w->data + used, kept);
    w->start += used;
    w->size = kept;
    size_t n = tnp_min(w->capacity - kept, left);
    TN_TRY(tnp_file_read(w->ctx, w->file, next, n, w->data + kept));
    w->size += n;
done:
    return st;
}

tn_status tnp_window_changed(const tnp_window *window)
{
    return tnp_fail(window->ctx, TN_ERR_IO, "%s: changed while it was read: its second reading is not its first",
                    tnp_file_path(window->file));
}

void tnp_lines_start(tnp_lines *lines, const tnp_bytes *text)
{
    bool marked = text->size >= sizeof mark && memcmp(text->data, mark, sizeof mark) == 0;
    *lines = (tnp_lines){NULL, (const char *)text->data, text->size, marked ? sizeof mark : 0, 0};
}

void tnp_lines_through(tnp_lines *lines, tnp_window *window)
{
    tnp_window_rewind(window);
    *lines = (tnp_lines){.window = window};
}

/* The end of the line that begins at lines->at, or NULL; the window moves until it is inside. */
static tn_status find_end(tnp_lines *lines, const char **end)
{
    tn_status st = TN_OK;
    tnp_window *w = lines->window;
    size_t seen = 0;
    for (;;) {
        size_t from = lines->at + seen;
        *end = lines->size > from ? memchr(lines->data + from, '\n', lines->size - from) : NULL;
        seen = lines->size - lines->at;
        if (*end || !w || tnp_window_last(w))
            break;
        TN_TRY(tnp_window_move(w, lines->at));
        lines->data = w->data;
        lines->size = w->size;
        lines->at = 0;
    }
done:
    return st;
}

tn_status tnp_lines_next(tnp_lines *lines, tnp_span *out, bool *more)
{
    const char *end = NULL;
    tn_status st = find_end(lines, &end);
    *more = st == TN_OK && lines->at < lines->size;
    if (!*more)
        return st;
    const char *begin = lines->data + lines->at;
    size_t length = end ? (size_t)(end - begin) : lines->size - lines->at;
    lines->at += length + (end ? 1 : 0);
    ++lines->number;
    if (length != 0 && begin[length - 1] == '\r')
        --length;
    *out = (tnp_span){begin, length};
    return TN_OK;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

tnp_span tnp_trim(tnp_span span)
{
    while (span.length != 0 && blank(span.text[span.length - 1]))
        --span.length;
    while (span.length != 0 && blank(span.text[0])) {
        ++span.text;
        --span.length;
    }
    return span;
}

bool tnp_span_is(tnp_span span, const char *text)
{
    return span.length == strlen(text) && memcmp(span.text, text, span.length) == 0;
}

int tnp_span_compare(tnp_span a, tnp_span b)
{
    size_t n = tnp_min(a.length, b.length);
    int order = n ? memcmp(a.text, b.text, n) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

const char *tnp_show(tnp_span span, char buf[48])
{
    size_t n = tnp_min(span.length, 40);
    for (size_t i = 0; i < n; ++i)
        buf[i] = (unsigned char)span.text[i] < ' ' || span.text[i] == 0x7f ? '?' : span.text[i];
    snprintf(buf + n, 48 - n, span.length > n ? "..." : "");
    return buf;
}

tn_status tnp_strings_new(tn_ctx *ctx, size_t count, size_t bytes, char ***out, char **text)
{
    size_t pointers = 0;
    tn_status st = tnp_mul(ctx, count, sizeof(char *), &pointers);
    if (st == TN_OK && bytes > SIZE_MAX - pointers)
        st = tnp_fail(ctx, TN_ERR_MEMORY, "memory: %zu strings are too large", count);
    if (st == TN_OK)
        st = tnp_alloc(ctx, pointers + bytes, 1, out);
    if (st == TN_OK)
        *text = (char *)*out + pointers;
    return st;
}

char *tnp_strings_put(char **text, tnp_span span)
{
    char *copy = *text;
    if (span.length != 0)
        memcpy(copy, span.text, span.length);
    copy[span.length] = 0;
    *text = copy + span.length + 1;
    return copy;
}

tn_status tnp_strings_copy(tn_ctx *ctx, const char *const *strings, size_t count, char ***out)
{
    size_t bytes = 0;
    char **copy = NULL, *text = NULL;
    for (size_t i = 0; i < count; ++i)
        bytes += strlen(strings[i]) + 1;
    tn_status st = tnp_strings_new(ctx, count, bytes, &copy, &text);
    for (size_t i = 0; st == TN_OK && i < count; ++i)
        copy[i] = tnp_strings_put(&text, (tnp_span){strings[i], strlen(strings[i])});
    if (st == TN_OK)
        *out = copy;
    return st;
}
