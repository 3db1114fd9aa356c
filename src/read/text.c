/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines and names of text files. Numbers are base/number.c. */
#include "read/text.h"

#include <string.h>

void tnp_lines_start(tnp_lines *lines, const tnp_map *map)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    bool marked = map->size >= sizeof mark && memcmp(map->data, mark, sizeof mark) == 0;
    *lines = (tnp_lines){(const char *)map->data, map->size, marked ? sizeof mark : 0, 0};
}

bool tnp_lines_next(tnp_lines *lines, tnp_span *out)
{
    if (lines->at >= lines->size)
        return false;
    const char *begin = lines->data + lines->at;
    const char *end = memchr(begin, '\n', lines->size - lines->at);
    size_t length = end ? (size_t)(end - begin) : lines->size - lines->at;
    lines->at += length + (end ? 1 : 0);
    ++lines->number;
    if (length != 0 && begin[length - 1] == '\r')
        --length;
    *out = (tnp_span){begin, length};
    return true;
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

size_t tnp_utf8_length(const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] >= 0x01 && p[0] <= 0x7f)
        return 1;
    size_t n = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; ++i)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool outside = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return overlong || outside ? 0 : n;
}

bool tnp_utf8(tnp_span span, size_t *bad)
{
    for (size_t i = 0; i < span.length;) {
        size_t n = tnp_utf8_length(span.text + i, span.length - i);
        if (n == 0) {
            *bad = i;
            return false;
        }
        i += n;
    }
    return true;
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
