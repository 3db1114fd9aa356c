/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON from files, parsed by jansson, whose memory no context counts: "{}" takes 220 bytes there, so that 10 MB of them
 * become 737 MB. The text is therefore scanned first. Depth and number of values have limits, and what the values will
 * take at most,
 *
 *   VALUE bytes for every object, array, string (keys too), number and word  +  2 bytes for every byte of text
 *
 * is counted against the budget as long as they live. jansson's own hooks for memory were refused: they are of the
 * process, and the program that uses this library may use jansson itself. */
#include "read/json.h"

enum { VALUE = 256 };

typedef struct scan {
    size_t values, depth;
    size_t at;            /* where it ended */
    const char *too_much; /* why, or NULL */
} scan;

/* A string's end, from the byte after its first quote. */
static size_t skip_string(const char *text, size_t size, size_t at)
{
    while (at < size && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at;
}

/* Counts without checking what jansson checks anyway: a text that is no JSON may be counted wrongly, never too low. */
static scan look(const char *text, size_t size)
{
    scan s = {0, 0, 0, NULL};
    bool inside = false; /* of a number or word */
    for (; s.at < size && !s.too_much; ++s.at) {
        char c = text[s.at];
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
        bool separates = c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\t' || c == '\r';
        bool other = !opens && !closes && !separates && c != '"';
        s.values += opens || c == '"' || (other && !inside);
        s.depth += opens;
        s.depth -= closes && s.depth > 0;
        inside = other;
        s.too_much = s.depth > TNP_JSON_DEPTH     ? "nested too deeply, the limit is 32"
                     : s.values > TNP_JSON_VALUES ? "too many values, the limit is 4194304"
                                                  : NULL;
        if (c == '"')
            s.at = skip_string(text, size, s.at + 1);
    }
    return s;
}

_Static_assert(TNP_JSON_DEPTH == 32 && TNP_JSON_VALUES == 4194304, "the messages name the limits");

tn_status tnp_json_parse(tn_ctx *ctx, const char *path, const char *what, size_t at, const char *text, size_t size,
                         tnp_json *out)
{
    tn_status st = TN_OK;
    json_error_t error;
    tnp_json json = {NULL, ctx, 0};
    if (size > TNP_JSON_BYTES)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: %s: %zu bytes of JSON, the limit is %d", path, at, what,
                        size, TNP_JSON_BYTES);
    scan s = look(text, size);
    if (s.too_much)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: %s: %s", path, at + s.at - 1, what, s.too_much);
    size_t bytes = VALUE * s.values + 2 * size;
    TN_TRY(tnp_hold(ctx, bytes, path));
    json.held = bytes;
    json.root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!json.root && json_error_code(&error) == json_error_out_of_memory)
        TN_TRY(tnp_fail(ctx, TN_ERR_MEMORY, "%s: no memory for its %s", path, what));
    if (!json.root)
        TN_TRY(
            tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: %s: %s", path, at + (size_t)error.position, what, error.text));
    *out = json;
    json = (tnp_json){NULL, NULL, 0};
done:
    tnp_json_free(&json);
    return st;
}

void tnp_json_free(tnp_json *json)
{
    json_decref(json->root);
    if (json->ctx)
        tnp_release(json->ctx, json->held);
    *json = (tnp_json){NULL, NULL, 0};
}
