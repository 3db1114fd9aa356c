/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A text that grows. A failure to grow is remembered and reported once by take, so that
 * the code that writes a report reads like the report. */
#ifndef TNP_TEXT_H
#define TNP_TEXT_H

#include "base/base.h"

typedef struct tnp_text {
    tn_ctx *ctx;
    char *data; /* NUL at data[used] once anything was added */
    size_t used, capacity;
    tn_status status;
    bool shown; /* what is formatted into it is shown as tn_plain_char does */
} tnp_text;

/* Caller's storage; needs tnp_text_destroy unless taken. */
void tnp_text_init(tnp_text *text, tn_ctx *ctx);
/* A text for people: names from files that are formatted into it are shown, never obeyed. Line ends stand at the
 * beginning and at the end of formats only; terminal colours go in by tnp_text_raw. */
void tnp_text_init_shown(tnp_text *text, tn_ctx *ctx);
void tnp_text_destroy(tnp_text *text);
/* Numbers are written with a decimal point whatever the locale; so are those of tnp_table_cell. */
void tnp_text_add(tnp_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with a list of arguments. */
void tnp_text_add_list(tnp_text *text, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void tnp_text_bytes(tnp_text *text, const char *bytes, size_t count);
/* As it is. */
void tnp_text_raw(tnp_text *text, const char *string);
/* A JSON string with its quotes, null for none. Bytes that are not UTF-8 become U+FFFD: what is written is always valid
 * JSON. */
void tnp_text_quote(tnp_text *text, const char *string);
/* A JSON list of such strings. */
void tnp_text_quotes(tnp_text *text, const char *const *strings, size_t count);
/* A JSON number with the digits that give the same double back; null for NaN and infinity. */
void tnp_text_number(tnp_text *text, double value);
/* A member of a JSON object that is not its first: one such number, or a list of them. */
void tnp_text_value(tnp_text *text, const char *key, double value);
void tnp_text_numbers(tnp_text *text, const char *key, const double *values, size_t count);
/* Members of a JSON object: every option of the table by its name, its value as text. `first`: nothing stands before
 * them. */
void tnp_text_fields(tnp_text *text, const tn_field *fields, size_t count, const void *options, bool first);
/* Hands the text over; the caller frees it with tn_text_free. On failure *out is as it was and nothing is left. */
tn_status tnp_text_take(tnp_text *text, char **out);

/* Writes the text to a file, beside it first, and destroys it. */
tn_status tnp_text_save(tnp_text *text, const char *path);

/* ---- UTF-8 (utf8.c) ---- */

/* Bytes of the well-formed UTF-8 sequence that starts here, at most `left`; 0 when there is none. NUL is none: of a
 * terminated string nothing behind its end is read, whatever `left` says. */
size_t tnp_utf8_length(const char *text, size_t left);
/* True for well-formed UTF-8 without NUL; else *bad is the place of the first wrong byte. */
bool tnp_utf8(tnp_span span, size_t *bad);

/* A copy in which every byte that is no part of UTF-8 text stands as four characters, \xff: file names may be anything,
 * names in heads and JSON may not. The same bytes give the same name, others another one. */
tn_status tnp_utf8_copy(tn_ctx *ctx, const char *text, size_t length, char **out);

#endif
