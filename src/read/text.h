/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text files: lines and names. Nothing here depends on the locale. */
#ifndef TNP_READ_TEXT_H
#define TNP_READ_TEXT_H

#include "base/text.h"

/* A text file seen through a buffer that moves forward over it, so that memory does not grow with the file: data[0 ..
 * size) are the bytes from `start` on. The text ends at `end`; a byte order mark at the beginning is skipped. */
typedef struct tnp_window {
    tn_ctx *ctx;
    tnp_file *file;
    char *data;
    size_t size, capacity, start, end;
    size_t first; /* byte of the file where the text begins */
} tnp_window;

/* Owned by the caller, also on failure: all zero before, tnp_window_close after. */
tn_status tnp_window_open(tn_ctx *ctx, const char *path, tnp_window *out);
void tnp_window_close(tnp_window *window);
/* Back to the first byte. */
void tnp_window_rewind(tnp_window *window);
/* Forgets the first `used` bytes and reads on behind the rest; a window full of unused bytes grows. Nothing changes at
 * the end of the text: size is then as before. TN_ERR_IO, TN_ERR_MEMORY, TN_ERR_BUDGET, TN_ERR_INTERRUPTED. */
tn_status tnp_window_move(tnp_window *window, size_t used);
/* True when the window reaches the end of the text. */
bool tnp_window_last(const tnp_window *window);
/* A two-pass reader found more or less in the second pass than in the first: TN_ERR_IO. */
tn_status tnp_window_changed(const tnp_window *window);

/* Lines of a text, without LF or CRLF; a byte order mark at the start is skipped. The last line needs no end. */
typedef struct tnp_lines {
    tnp_window *window; /* or NULL: all of it is in data */
    const char *data;
    size_t size, at;
    size_t number; /* of the line last handed out, from 1 */
} tnp_lines;

void tnp_lines_start(tnp_lines *lines, const tnp_bytes *text);
/* Of a window, from its first byte on; a line lives until the next is asked for. */
void tnp_lines_through(tnp_lines *lines, tnp_window *window);
/* *more is false at the end. Fails through a window only. */
tn_status tnp_lines_next(tnp_lines *lines, tnp_span *out, bool *more);

/* Without blanks and tabs at either end. */
tnp_span tnp_trim(tnp_span span);
bool tnp_span_is(tnp_span span, const char *text);
/* By bytes; a prefix comes first. */
int tnp_span_compare(tnp_span a, tnp_span b);

/* For messages: at most 40 bytes of the span, bytes that do not print as '?'. */
const char *tnp_show(tnp_span span, char buf[48]);

/* `count` strings of together `bytes` bytes (ends included) in ONE block: pointers first, then the text, so that
 * one tnp_free releases all. *text is where the text goes; the pointers are for the caller to set. */
tn_status tnp_strings_new(tn_ctx *ctx, size_t count, size_t bytes, char ***out, char **text);
/* Copies a span to *text, ends it, moves *text behind it; returns the copy. */
char *tnp_strings_put(char **text, tnp_span span);
/* The same block made from terminated strings. */
tn_status tnp_strings_copy(tn_ctx *ctx, const char *const *strings, size_t count, char ***out);

#endif
