/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "base/text.h"

#include <string.h>

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

tn_status tnp_utf8_copy(tn_ctx *ctx, const char *text, size_t length, char **out)
{
    size_t capacity = 0, n = 0, at = 0;
    char *copy = NULL;
    tn_status st = tnp_mul(ctx, length, 4, &capacity);
    if (st == TN_OK)
        st = tnp_alloc(ctx, capacity + 1, 1, &copy);
    for (size_t i = 0; st == TN_OK && i < length; i += n) {
        n = tnp_utf8_length(text + i, length - i);
        if (n != 0)
            memcpy(copy + at, text + i, n);
        else
            snprintf(copy + at, 5, "\\x%02x", (unsigned)(unsigned char)text[i]);
        at += n ? n : 4;
        n = n ? n : 1;
    }
    if (st == TN_OK)
        *out = copy;
    return st;
}
