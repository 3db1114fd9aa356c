/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text files: lines and names. Nothing here depends on the locale. */
#ifndef TNP_READ_TEXT_H
#define TNP_READ_TEXT_H

#include "base/base.h"

/* Lines of a file, without LF or CRLF; a byte order mark at the start is skipped. The last line needs no end. */
typedef struct tnp_lines {
    const char *data;
    size_t size, at;
    size_t number; /* of the line last handed out, from 1 */
} tnp_lines;

void tnp_lines_start(tnp_lines *lines, const tnp_map *map);
bool tnp_lines_next(tnp_lines *lines, tnp_span *out);

/* Without blanks and tabs at either end. */
tnp_span tnp_trim(tnp_span span);
bool tnp_span_is(tnp_span span, const char *text);
/* By bytes; a prefix comes first. */
int tnp_span_compare(tnp_span a, tnp_span b);

/* Bytes of the well-formed UTF-8 sequence that starts here, at most `left`; 0 when there is none. NUL is none: of a
 * terminated string nothing behind its end is read, whatever `left` says. */
size_t tnp_utf8_length(const char *text, size_t left);
/* True for well-formed UTF-8 without NUL; else *bad is the place of the first wrong byte. */
bool tnp_utf8(tnp_span span, size_t *bad);

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
