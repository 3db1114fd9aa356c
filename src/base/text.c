/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The growing text: doubling storage through tnp_alloc, so that the memory budget counts reports too, and JSON
 * strings and numbers on it. JSON is written directly rather than through a tree: the keys keep the order of the
 * contract and a report costs one buffer. */
#include "base/text.h"

#include <math.h>
#include <string.h>

void tnp_text_init(tnp_text *text, tn_ctx *ctx)
{
    *text = (tnp_text){.ctx = ctx, .status = TN_OK};
}

void tnp_text_init_shown(tnp_text *text, tn_ctx *ctx)
{
    *text = (tnp_text){.ctx = ctx, .status = TN_OK, .shown = true};
}

void tnp_text_destroy(tnp_text *text)
{
    tnp_free(text->data);
    text->data = NULL;
    text->used = text->capacity = 0;
}

/* Makes room for `count` bytes more and a NUL. */
static bool reserve(tnp_text *text, size_t count)
{
    if (text->status != TN_OK)
        return false;
    if (text->capacity - text->used > count)
        return true;
    size_t capacity = tnp_max(2 * text->capacity, text->used + count + 1);
    capacity = tnp_max(capacity, 256);
    text->status = tnp_grow(text->ctx, &text->data, text->used, capacity, 1);
    if (text->status == TN_OK)
        text->capacity = capacity;
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

/* ---- what came from outside, shown ---- */

static uint32_t code_point(const unsigned char *p, size_t bytes)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = p[0] & lead[bytes];
    for (size_t i = 1; i < bytes; ++i)
        code = code << 6 | (p[i] & 0x3fu);
    return code;
}

/* C0, DEL, C1; LRM, RLM, ALM; line and paragraph separator, embeddings, overrides and isolates. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x200e || c == 0x200f || c == 0x061c ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t tn_plain_char(const char *text, char out[12])
{
    static const char letters[] = "\n\t\r", named[] = "ntr";
    const unsigned char *p = (const unsigned char *)text;
    size_t n = tnp_utf8_length(text, 4);
    const char *letter = *p ? strchr(letters, *p) : NULL;
    out[0] = 0;
    if (*p == 0)
        return 0;
    if (letter)
        snprintf(out, 12, "\\%c", named[letter - letters]);
    else if (n == 0 || (n == 1 && is_control(*p)))
        snprintf(out, 12, "\\x%02x", *p);
    else if (is_control(code_point(p, n)))
        snprintf(out, 12, "\\u{%04x}", (unsigned)code_point(p, n));
    else {
        memcpy(out, text, n);
        out[n] = 0;
    }
    return n ? n : 1;
}

static bool is_plain(const char *text, const char *end)
{
    char piece[12];
    for (size_t n; text < end && (n = tn_plain_char(text, piece)) != 0; text += n)
        if (n != strlen(piece) || memcmp(piece, text, n) != 0)
            return false;
    return true;
}

static size_t newlines_at_end(const char *format)
{
    size_t n = strlen(format), count = 0;
    while (count < n && format[n - 1 - count] == '\n')
        ++count;
    return count;
}

/* The piece that was formatted at data[from] again, shown. Line ends are meant where the format begins or ends with
 * them. */
static void show_piece(tnp_text *text, size_t from, const char *format)
{
    size_t head = strspn(format, "\n"), tail = newlines_at_end(format);
    char *copy = NULL, piece[12];
    if (format[head] == 0 || is_plain(text->data + from + head, text->data + text->used - tail))
        return;
    text->status = tnp_strdup(text->ctx, text->data + from, &copy);
    text->used = from + head;
    if (text->status != TN_OK)
        return;
    copy[strlen(copy) - tail] = 0;
    for (size_t n, at = head; (n = tn_plain_char(copy + at, piece)) != 0; at += n)
        tnp_text_bytes(text, piece, strlen(piece));
    tnp_text_bytes(text, format + strlen(format) - tail, tail);
    tnp_free(copy);
}

void tnp_text_add_list(tnp_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t from = text->used;
    int length = tnp_format_list(NULL, 0, format, args);
    if (length > 0 && reserve(text, (size_t)length)) {
        tnp_format_list(text->data + from, (size_t)length + 1, format, again);
        text->used += (size_t)length;
        if (text->shown)
            show_piece(text, from, format);
    }
    va_end(again);
}

void tnp_text_add(tnp_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tnp_text_add_list(text, format, args);
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
    uint32_t code = n ? code_point((const unsigned char *)text, n) : 0;
    if (c == '"' || c == '\\') {
        snprintf(out, 8, "\\%c", c);
    } else if (c != 0 && is_control(code)) {
        snprintf(out, 8, "\\u%04x", (unsigned)code);
    } else {
        memcpy(out, text, n);
        out[n] = 0;
    }
    return n;
}

void tnp_text_raw(tnp_text *text, const char *string)
{
    tnp_text_bytes(text, string, strlen(string));
}

void tnp_text_quote(tnp_text *text, const char *string)
{
    char piece[8];
    if (!string) {
        tnp_text_add(text, "null");
        return;
    }
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
    for (size_t i = 0; i < count; ++i) {
        char *value = NULL;
        if (text->status == TN_OK)
            text->status = tnp_field_value(text->ctx, &fields[i], options, &value);
        tnp_text_add(text, first && i == 0 ? "" : ",");
        tnp_text_quote(text, fields[i].name);
        tnp_text_add(text, ":");
        tnp_text_quote(text, value ? value : "");
        tnp_free(value);
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
    tn_output *output = NULL;
    TN_TRY(text->status);
    TN_TRY(tn_output_open(ctx, path, &output));
    TN_TRY(tn_output_write(ctx, output, text->data, text->used));
    TN_TRY(tn_output_commit(ctx, output));
done:
    tn_output_close(output);
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

tn_status tn_text_write(tn_ctx *ctx, const char *text, const char *path)
{
    tnp_text copy;
    tnp_text_init(&copy, ctx);
    tnp_text_raw(&copy, text);
    return tnp_text_save(&copy, path);
}
