/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .npy array, versions 1 to 3:
 *
 *   0  93 'N' 'U' 'M' 'P' 'Y'   6  major, minor   8  header length, 2 bytes (version 1) or 4, little-endian
 *   then a Python dict literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } padded by spaces,
 *   then the values, to the last byte of the file
 *
 * The dict is read by a strict parser of exactly that literal: keys once each, in any order, nothing else.
 * Nothing is touched before it was found to lie inside the file; more bytes than the shape needs are an error
 * too, since one of the two is then a lie. */
#include "matrix/convert.h"
#include "read/features.h"

#include <string.h>

enum { PREFIX = 12, MAX_HEADER = 1 << 20 };

typedef struct cursor {
    tn_ctx *ctx;
    const char *path;
    const unsigned char *bytes; /* of the array, as far as they are read */
    size_t at, end;             /* of the header */
    size_t offset;              /* of bytes[0], for messages */
} cursor;

static tn_status bad(const cursor *c, const char *what)
{
    return tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: byte %zu: %s", c->path, c->offset + c->at, what);
}

static int peek(const cursor *c)
{
    return c->at < c->end ? c->bytes[c->at] : -1;
}

static void skip_spaces(cursor *c)
{
    while (peek(c) == ' ' || peek(c) == '\n' || peek(c) == '\t' || peek(c) == '\r')
        ++c->at;
}

/* Skips spaces, then takes the character if it is there. */
static bool take(cursor *c, char wanted)
{
    skip_spaces(c);
    if (peek(c) != wanted)
        return false;
    ++c->at;
    return true;
}

static tn_status take_string(cursor *c, char *buf, size_t size)
{
    skip_spaces(c);
    int quote = peek(c);
    if (quote != '\'' && quote != '"')
        return bad(c, "expected a quoted string in the header");
    ++c->at;
    size_t n = 0;
    for (; peek(c) != quote; ++c->at) {
        if (peek(c) < ' ' || peek(c) > '~' || peek(c) == '\\' || n + 1 == size)
            return bad(c, "string in the header is malformed");
        buf[n++] = (char)peek(c);
    }
    ++c->at;
    buf[n] = 0;
    return TN_OK;
}

static tn_status take_bool(cursor *c, bool *out)
{
    skip_spaces(c);
    const char *text = (const char *)c->bytes + c->at;
    size_t left = c->end - c->at;
    if (left >= 4 && memcmp(text, "True", 4) == 0)
        *out = true;
    else if (left >= 5 && memcmp(text, "False", 5) == 0)
        *out = false;
    else
        return bad(c, "expected True or False for fortran_order");
    c->at += *out ? 4 : 5;
    return TN_OK;
}

static tn_status take_size(cursor *c, size_t *out)
{
    skip_spaces(c);
    if (peek(c) == '-')
        return bad(c, "negative size in the shape");
    if (peek(c) < '0' || peek(c) > '9')
        return bad(c, "expected a whole number in the shape");
    size_t value = 0;
    for (; peek(c) >= '0' && peek(c) <= '9'; ++c->at) {
        size_t digit = (size_t)(peek(c) - '0');
        if (value > (SIZE_MAX - digit) / 10)
            return bad(c, "size in the shape is too large");
        value = 10 * value + digit;
    }
    *out = value;
    return TN_OK;
}

static tn_status take_shape(cursor *c, tnp_array *out)
{
    if (!take(c, '('))
        return bad(c, "expected a tuple for shape");
    bool comma = true;
    while (!take(c, ')')) {
        if (!comma)
            return bad(c, "expected ',' or ')' in the shape");
        if (out->ndim == TNP_MAX_DIMS)
            return tnp_fail(c->ctx, TN_ERR_UNSUPPORTED, "%s: byte %zu: shape has more than %d dimensions", c->path,
                            c->offset + c->at, TNP_MAX_DIMS);
        tn_status st = take_size(c, &out->shape[out->ndim]);
        if (st != TN_OK)
            return st;
        ++out->ndim;
        comma = take(c, ',');
    }
    if (out->ndim == 1 && !comma)
        return bad(c, "shape is a number in parentheses, expected a tuple");
    return TN_OK;
}

/* Digits of '<U12' from text[2] on: at most 2^20, which no identifier reaches. */
static bool text_length(const char *text, size_t *out)
{
    size_t n = 0;
    for (; *text >= '0' && *text <= '9' && n < (1 << 20); ++text)
        n = 10 * n + (size_t)(*text - '0');
    if (*text != 0 || n == 0 || n > (1 << 20))
        return false;
    *out = n;
    return true;
}

static tn_status take_type(cursor *c, tnp_array *out)
{
    static const struct {
        char code[3];
        tn_dtype dtype;
    } known[] = {{"f2", TN_F16}, {"f4", TN_F32}, {"f8", TN_F64}, {"i1", TN_I8},  {"u1", TN_U8},  {"i2", TN_I16},
                 {"u2", TN_U16}, {"i4", TN_I32}, {"u4", TN_U32}, {"i8", TN_I64}, {"u8", TN_U64}, {"b1", TN_BOOL}};
    char text[32];
    skip_spaces(c);
    cursor start = *c;
    if (peek(c) == '[')
        return tnp_fail(c->ctx, TN_ERR_UNSUPPORTED, "%s: byte %zu: structured type, expected plain numbers", c->path,
                        c->offset + c->at);
    tn_status st = take_string(c, text, sizeof text);
    if (st != TN_OK)
        return st;
    if (!strchr("<>|=", text[0]) || !text[0])
        return bad(&start, "type does not start with a byte order, one of < > | =");
    out->item = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (strcmp(text + 1, known[i].code) == 0) {
            out->dtype = known[i].dtype;
            out->item = tn_dtype_size(out->dtype);
        }
    if ((text[1] == 'U' || text[1] == 'S') && text_length(text + 2, &out->item)) {
        out->text = text[1];
        out->item *= text[1] == 'U' ? 4 : 1;
    }
    if (out->item == 0)
        return tnp_fail(c->ctx, TN_ERR_UNSUPPORTED,
                        "%s: byte %zu: type '%s', expected one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1", c->path,
                        start.offset + start.at, text);
    if (text[0] == '|' && out->item > 1 && out->text != 'S')
        return bad(&start, "type of several bytes without a byte order");
    out->swap = text[0] != '|' && text[0] != '=' && (text[0] == '>') != tnp_host_is_big_endian();
    return TN_OK;
}

static tn_status take_dict(cursor *c, tnp_array *out)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false, false, false}, comma = true;
    tn_status st = TN_OK;
    char key[16];
    if (!take(c, '{'))
        return bad(c, "header is not a dict, expected '{'");
    while (!take(c, '}')) {
        if (!comma)
            return bad(c, "expected ',' or '}' in the header");
        skip_spaces(c);
        cursor start = *c;
        size_t which = 0;
        TN_TRY(take_string(c, key, sizeof key));
        while (which < 3 && strcmp(key, keys[which]) != 0)
            ++which;
        if (which == 3 || seen[which])
            TN_TRY(bad(&start, which == 3 ? "unknown key in the header" : "key twice in the header"));
        seen[which] = true;
        if (!take(c, ':'))
            TN_TRY(bad(c, "expected ':' in the header"));
        if (which == 0)
            TN_TRY(take_type(c, out));
        else if (which == 1)
            TN_TRY(take_bool(c, &out->fortran));
        else
            TN_TRY(take_shape(c, out));
        comma = take(c, ',');
    }
    if (!seen[0] || !seen[1] || !seen[2])
        return bad(c, !seen[0]   ? "header has no 'descr'"
                      : !seen[1] ? "header has no 'fortran_order'"
                                 : "header has no 'shape'");
    skip_spaces(c);
    if (c->at != c->end)
        return bad(c, "text after the header's dict");
done:
    return st;
}

/* Length of the header, from the first bytes of the array, of which `size` are there in all: header and prefix end at
 * c->end. */
static tn_status take_prefix(cursor *c, size_t size)
{
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    const unsigned char *b = c->bytes;
    if (size < sizeof magic || memcmp(b, magic, sizeof magic) != 0)
        return bad(c, size == 0 ? "empty, expected the .npy magic" : "no .npy magic");
    c->at = 6;
    if (size < 8 || b[6] < 1 || b[6] > 3)
        return bad(c, size < 8 ? "the file ends before its version" : "unknown version, expected 1, 2 or 3");
    c->at = 8;
    size_t width = b[6] == 1 ? 2 : 4, length = 0;
    if (size < 8 + width)
        return bad(c, "the file ends before the header length");
    for (size_t i = width; i-- > 0;)
        length = length << 8 | b[8 + i];
    if (length > size - 8 - width)
        return tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: byte %zu: header of %zu bytes, but only %zu follow", c->path,
                        c->offset + c->at, length, size - 8 - width);
    if (length > MAX_HEADER)
        return tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: byte %zu: header of %zu bytes, the limit is %d", c->path,
                        c->offset + c->at, length, MAX_HEADER);
    c->at = 8 + width;
    c->end = c->at + length;
    return TN_OK;
}

/* The header itself, whose bytes are all there. size: of header and values; 0: no values are looked for. */
static tn_status take_header(cursor *c, size_t size, tnp_array *out)
{
    tnp_array array = {0};
    char shape[TNP_SHAPE_TEXT];
    size_t need = 0;
    tn_status st = TN_OK;
    TN_TRY(take_dict(c, &array));
    if (!tnp_array_bytes(&array, &need))
        TN_TRY(tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: byte %zu: shape %s is too large", c->path, c->offset + c->end,
                        tnp_shape_text(&array, shape)));
    if (size > 0 && need != size - c->end)
        TN_TRY(tnp_fail(c->ctx, TN_ERR_FORMAT, "%s: byte %zu: shape %s needs %zu bytes of values, but %zu follow",
                        c->path, c->offset + c->end, tnp_shape_text(&array, shape), need, size - c->end));
    array.at = c->offset + c->end;
    *out = array;
done:
    return st;
}

tn_status tnp_npy_parse(tn_ctx *ctx, const char *path, const unsigned char *bytes, size_t size, tnp_array *out)
{
    cursor c = {ctx, path, bytes, 0, 0, 0};
    tn_status st = TN_OK;
    TN_TRY(take_prefix(&c, size));
    TN_TRY(take_header(&c, size, out));
    out->data = bytes + c.end;
done:
    return st;
}

/* Of `size` bytes from `at` on; with_values: they end where the array does. */
static tn_status read_header(tn_ctx *ctx, const tnp_file *file, size_t at, size_t size, bool with_values,
                             tnp_array *out)
{
    tn_status st = TN_OK;
    unsigned char prefix[PREFIX] = {0}, *header = NULL;
    cursor c = {ctx, tnp_file_path(file), prefix, 0, 0, at};
    TN_TRY(tnp_file_read(ctx, file, at, tnp_min(size, PREFIX), prefix));
    TN_TRY(take_prefix(&c, size));
    TN_TRY(tnp_alloc_raw(ctx, c.end, 1, &header));
    TN_TRY(tnp_file_read(ctx, file, at, c.end, header));
    c.bytes = header;
    TN_TRY(take_header(&c, with_values ? size : 0, out));
done:
    tnp_free(header);
    return st;
}

tn_status tnp_npy_read(tn_ctx *ctx, const tnp_file *file, size_t at, size_t size, tnp_array *out)
{
    return read_header(ctx, file, at, size, true, out);
}

tn_status tnp_npy_head(tn_ctx *ctx, const tnp_file *file, tnp_array *out)
{
    return read_header(ctx, file, 0, tnp_file_size(file), false, out);
}

tn_status tnp_npy_open(tn_ctx *ctx, tn_features *features, const char *file)
{
    tn_status st = TN_OK;
    size_t index = 0;
    tnp_array array;
    features->format = "npy";
    TN_TRY(tnp_features_file(ctx, features, file, &index));
    TN_TRY(tnp_npy_read(ctx, features->files[index], 0, tnp_file_size(features->files[index]), &array));
    TN_TRY(tnp_features_add(ctx, features, file, &array, index));
done:
    return st;
}
