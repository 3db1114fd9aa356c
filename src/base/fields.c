/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Option fields: a member of an options struct from its text, and back. The whole text must be used up: "3x" is
 * refused rather than read as 3. Members are reached by offset and copied with memcpy, so that one table serves
 * the program, the manual and the bindings without knowing the struct. */
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Above this a bound is there to catch overflow only and says nothing to a reader. */
static const double NO_BOUND = 1e15;

static bool has_bounds(const tn_field *field)
{
    return field->lo < field->hi;
}

static bool within(const tn_field *field, double value)
{
    return !has_bounds(field) || (value >= field->lo && value <= field->hi);
}

static tn_status refuse(tn_ctx *ctx, const tn_field *field, const char *text, const char *kind)
{
    char range[80] = "";
    if (has_bounds(field) && field->hi < NO_BOUND)
        tnp_format(range, sizeof range, " from %.10g to %.10g", field->lo, field->hi);
    else if (has_bounds(field) && field->lo > -NO_BOUND)
        tnp_format(range, sizeof range, " from %.10g up", field->lo);
    return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, expected %s%s", field->name, text, kind, range);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static tn_status set_int(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = is_digit(text[0]) ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno || value > SIZE_MAX || !within(field, (double)value))
        return refuse(ctx, field, text, "a whole number");
    size_t kept = (size_t)value;
    memcpy(member, &kept, sizeof kept);
    return TN_OK;
}

/* A finite number: "nan" and "inf" are no settings. */
static bool parse_real(const char *text, size_t length, double *out)
{
    return tnp_number((tnp_span){text, length}, out) && isfinite(*out);
}

static tn_status set_real(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    double value = 0;
    if (!parse_real(text, strlen(text), &value) || !within(field, value))
        return refuse(ctx, field, text, "a number");
    memcpy(member, &value, sizeof value);
    return TN_OK;
}

static const char suffixes[] = "KMGT";

static tn_status set_bytes(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    double value = 0;
    size_t length = strlen(text);
    char last = text[length - 1];
    const char *suffix = strchr(suffixes, last >= 'a' ? last - 'a' + 'A' : last);
    bool fine = parse_real(text, length - (suffix != NULL), &value) && value >= 0;
    if (suffix)
        value = ldexp(value, 10 * (int)(suffix - suffixes + 1));
    if (!fine || value >= (double)SIZE_MAX)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, expected a size such as 512M or 8G", field->name, text);
    size_t bytes = (size_t)value;
    memcpy(member, &bytes, sizeof bytes);
    return TN_OK;
}

int tnp_find_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);
    int index = 0;
    for (const char *p = choices; length != 0 && strchr(word, '|') == NULL; ++index) {
        size_t n = strcspn(p, "|");
        if (n == length && strncmp(p, word, n) == 0)
            return index;
        if (p[n] == 0)
            break;
        p += n + 1;
    }
    return -1;
}

static tn_status set_word(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    bool yes_no = field->kind == TN_FIELD_YESNO;
    const char *choices = yes_no ? "no|yes" : field->choices;
    int index = tnp_find_choice(choices, text);
    if (index < 0)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, expected %s", field->name, text,
                        yes_no ? "yes|no" : choices);
    bool yes = index == 1;
    if (yes_no)
        memcpy(member, &yes, sizeof yes);
    else
        memcpy(member, &index, sizeof index);
    return TN_OK;
}

static tn_status set_flag(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    const bool yes = true;
    if (text)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, expected no value", field->name, text);
    memcpy(member, &yes, sizeof yes);
    return TN_OK;
}

tn_status tn_field_set(tn_ctx *ctx, const tn_field *field, void *options, const char *text)
{
    void *member = (char *)options + field->offset;
    if (field->kind == TN_FIELD_FLAG)
        return set_flag(ctx, field, member, text);
    if (field->kind == TN_FIELD_WORDS)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got one text, expected words", field->name);
    if (!text || !*text)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got nothing, expected a value", field->name);
    switch (field->kind) {
    case TN_FIELD_INT:
        return set_int(ctx, field, member, text);
    case TN_FIELD_REAL:
        return set_real(ctx, field, member, text);
    case TN_FIELD_BYTES:
        return set_bytes(ctx, field, member, text);
    case TN_FIELD_TEXT:
        memcpy(member, &text, sizeof text);
        return TN_OK;
    default:
        return set_word(ctx, field, member, text);
    }
}

static void bytes_text(size_t bytes, char *buf, size_t size)
{
    int power = 0;
    while (power < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++power;
    }
    snprintf(buf, size, "%zu%.*s", bytes, power != 0, power ? suffixes + power - 1 : "");
}

static void choice_text(const char *choices, int index, char *buf, size_t size)
{
    const char *p = choices;
    for (; index > 0 && *p; --index) {
        p += strcspn(p, "|");
        p += *p != 0;
    }
    snprintf(buf, size, "%.*s", (int)strcspn(p, "|"), p);
}

const char *tn_field_text(const tn_field *field, const void *options, char *buf, size_t size)
{
    const char *member = (const char *)options + field->offset, *text = NULL;
    bool yes = false;
    size_t count = 0;
    double value = 0;
    int index = 0;
    switch (field->kind) {
    case TN_FIELD_FLAG:
    case TN_FIELD_YESNO:
        memcpy(&yes, member, sizeof yes);
        snprintf(buf, size, "%s", yes ? "yes" : "no");
        break;
    case TN_FIELD_INT:
        memcpy(&count, member, sizeof count);
        snprintf(buf, size, "%zu", count);
        break;
    case TN_FIELD_BYTES:
        memcpy(&count, member, sizeof count);
        bytes_text(count, buf, size);
        break;
    case TN_FIELD_REAL:
        memcpy(&value, member, sizeof value);
        tnp_format(buf, size, "%.15g", value);
        break;
    case TN_FIELD_CHOICE:
        memcpy(&index, member, sizeof index);
        choice_text(field->choices, index, buf, size);
        break;
    case TN_FIELD_TEXT:
        memcpy(&text, member, sizeof text);
        snprintf(buf, size, "%s", text ? text : "");
        break;
    case TN_FIELD_WORDS:
        buf[0] = 0;
        break;
    }
    return buf;
}

const tn_use *tn_use_find(const tn_use *uses, size_t count, const char *option)
{
    for (size_t i = 0; i < count; ++i)
        if (tnp_find_choice(uses[i].options, option) >= 0)
            return &uses[i];
    return NULL;
}

static size_t count_words(const char *choices)
{
    size_t n = 1;
    for (; *choices; ++choices)
        n += *choices == '|';
    return n;
}

tn_status tnp_fields_check(tn_ctx *ctx, const tn_field *fields, size_t count, const void *options)
{
    for (size_t i = 0; i < count; ++i) {
        const tn_field *field = &fields[i];
        const void *member = (const char *)options + field->offset;
        bool fine = true;
        if (field->kind == TN_FIELD_REAL)
            fine = within(field, *(const double *)member);
        else if (field->kind == TN_FIELD_INT)
            fine = within(field, (double)*(const size_t *)member);
        else if (field->kind == TN_FIELD_CHOICE)
            fine = *(const int *)member >= 0 && (size_t) * (const int *)member < count_words(field->choices);
        else if (field->kind == TN_FIELD_TEXT)
            fine = *(const char *const *)member != NULL;
        if (!fine) {
            char got[64];
            bool real = field->kind == TN_FIELD_REAL;
            return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, which is outside its bounds", field->name,
                            real ? tn_field_text(field, options, got, sizeof got) : "a value");
        }
    }
    return TN_OK;
}
