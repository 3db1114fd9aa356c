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
static const double TINY = 1e-300, LARGEST = 1e30; /* of numbers that may also be words */

static bool has_bounds(const tn_field *field)
{
    return field->lo < field->hi;
}

static bool within(const tn_field *field, double value)
{
    return !has_bounds(field) || (value >= field->lo && value <= field->hi);
}

static void range_text(const tn_field *field, char *buf, size_t size)
{
    buf[0] = 0;
    if (has_bounds(field) && field->hi < NO_BOUND)
        tnp_format(buf, size, " from %.10g to %.10g", field->lo, field->hi);
    else if (has_bounds(field) && field->lo > -NO_BOUND)
        tnp_format(buf, size, " from %.10g up", field->lo);
}

static tn_status refuse(tn_ctx *ctx, const tn_field *field, const char *text, const char *kind)
{
    char range[80];
    range_text(field, range, sizeof range);
    return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, expected %s%s", field->name, text, kind, range);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool parse_int(const tn_field *field, const char *text, size_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = is_digit(text[0]) ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno || value > SIZE_MAX || !within(field, (double)value))
        return false;
    *out = (size_t)value;
    return true;
}

static tn_status set_int(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    size_t value = 0;
    if (!parse_int(field, text, &value))
        return refuse(ctx, field, text, "a whole number");
    memcpy(member, &value, sizeof value);
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
    bool yes_no = field->kind == TN_FIELD_YESNO || field->kind == TN_FIELD_FLAG;
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

/* ---- a number or a word: "N|all|loo", the letter standing for the number ---- */

static bool is_letter(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Place of a word among the choices; -1 for none, and for the letter and digits. */
static int find_word(const tn_field *field, const char *text)
{
    return is_letter(text[0]) || is_digit(text[0]) ? -1 : tnp_find_choice(field->choices, text);
}

/* Place of the letter. */
static int number_place(const tn_field *field)
{
    int place = 0;
    for (const char *p = field->choices; !is_letter(*p); ++place)
        p += strcspn(p, "|") + 1;
    return place;
}

/* 1e30, which printf writes as 1e+30. */
static const char *bound_text(double value, char *buf, size_t size)
{
    tnp_format(buf, size, "%.10g", value);
    char *plus = strchr(buf, '+');
    if (plus)
        memmove(plus, plus + 1, strlen(plus));
    return buf;
}

static tn_status refuse_word(tn_ctx *ctx, const tn_field *field, const char *text, const char *kind)
{
    char words[120] = "", range[100] = "", low[40], high[40];
    bool positive = field->lo > 0 && field->lo < TINY;
    size_t used = 0;
    for (const char *p = field->choices; *p; p += strcspn(p, "|"), p += *p == '|')
        if (!is_letter(*p) && !is_digit(*p) && used < sizeof words)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%.*s", used ? ", " : "",
                                     (int)strcspn(p, "|"), p);
    bool ends = field->kind == TN_FIELD_INT_OR_WORD ? field->hi < NO_BOUND : field->hi <= LARGEST;
    if (has_bounds(field) && !positive)
        snprintf(range, sizeof range, ends ? " from %s to %s" : " from %s up", bound_text(field->lo, low, sizeof low),
                 bound_text(field->hi, high, sizeof high));
    return tnp_fail(ctx, TN_ERR_ARG, "option %s: got '%.40s', expected %s or a %s%snumber%s", field->name, text, words,
                    positive ? "positive " : "", kind, range);
}

static tn_status set_int_or_word(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    int place = find_word(field, text);
    size_t value = SIZE_MAX - (size_t)(place - 1);
    if (place < 0 && !parse_int(field, text, &value))
        return refuse_word(ctx, field, text, "whole ");
    memcpy(member, &value, sizeof value);
    return TN_OK;
}

static tn_status set_real_or_word(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    tnp_real_or_word value = {find_word(field, text), 0};
    if (value.word < 0) {
        value.word = number_place(field);
        if (!parse_real(text, strlen(text), &value.value) || !within(field, value.value))
            return refuse_word(ctx, field, text, "");
    }
    memcpy(member, &value, sizeof value);
    return TN_OK;
}

/* ---- lists of numbers ---- */

enum { MOST_VALUES = 10000 }; /* of a range: more is a slip */

/* LO:HI:COUNT, COUNT values from LO to HI, each the same multiple of the one before. *count is 0 when text is no such
 * range. */
static tn_status range_parse(tn_ctx *ctx, const tn_field *field, const char *text, double **out, size_t *count)
{
    double ends[3], *items = NULL;
    const char *p = text;
    bool fine = true;
    *count = 0;
    if (!strchr(text, ':'))
        return TN_OK;
    for (int i = 0; fine && i < 3; ++i) {
        size_t length = strcspn(p, ":");
        fine = parse_real(p, length, &ends[i]) && (p[length] == ':') == (i < 2);
        p += length + (p[length] == ':');
    }
    if (!fine || !within(field, ends[0]) || !within(field, ends[1]) || !(ends[0] > 0 && ends[0] < ends[1]) ||
        !(ends[2] >= 2 && ends[2] <= MOST_VALUES && ends[2] == floor(ends[2])))
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option %s: got '%.40s', expected LO:HI:COUNT with 0 < LO < HI and 2 to %d values", field->name,
                        text, MOST_VALUES);
    size_t n = (size_t)ends[2];
    tn_status st = tnp_alloc(ctx, n, sizeof *items, &items);
    for (size_t i = 0; st == TN_OK && i < n; ++i) {
        double t = (double)i / (double)(n - 1);
        items[i] = i + 1 == n ? ends[1] : i == 0 ? ends[0] : exp(log(ends[0]) * (1 - t) + log(ends[1]) * t);
    }
    *out = items;
    *count = st == TN_OK ? n : 0;
    return st;
}

static tn_status list_parse(tn_ctx *ctx, const tn_field *field, const char *text, double **out, size_t *count)
{
    char low[40], high[40];
    double *items = NULL;
    *count = 1;
    for (const char *p = text; *p; ++p)
        *count += *p == ',';
    tn_status st = tnp_alloc(ctx, *count, sizeof *items, &items);
    for (size_t i = 0; st == TN_OK && i < *count; ++i) {
        size_t length = strcspn(text, ",");
        if (!parse_real(text, length, &items[i]) || !within(field, items[i]))
            st = tnp_fail(ctx, TN_ERR_ARG, "option %s: got '%.*s', expected numbers from %s to %s joined by commas",
                          field->name, (int)tnp_min(length, 40), text, bound_text(field->lo, low, sizeof low),
                          bound_text(field->hi, high, sizeof high));
        text += length + (text[length] == ',');
    }
    *out = items;
    return st;
}

tn_status tnp_reals_parse(tn_ctx *ctx, const tn_field *field, const char *text, tnp_reals *out, void **owned)
{
    size_t count = 0;
    double *items = NULL;
    if (!text || !*text)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got nothing, expected a value", field->name);
    tn_status st = range_parse(ctx, field, text, &items, &count);
    if (st == TN_OK && count == 0)
        st = list_parse(ctx, field, text, &items, &count);
    if (st == TN_OK) {
        *out = (tnp_reals){items, count};
        *owned = items;
    } else {
        tnp_free(items);
    }
    return st;
}

/* ---- any kind ---- */

static tn_status set_flag(tn_ctx *ctx, const tn_field *field, void *member, const char *text)
{
    const bool yes = true;
    if (text)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, expected no value", field->name, text);
    memcpy(member, &yes, sizeof yes);
    return TN_OK;
}

tn_status tnp_flag_parse(tn_ctx *ctx, const tn_field *field, const char *text, void *member)
{
    return set_word(ctx, field, member, text);
}

tn_status tn_field_set(tn_ctx *ctx, const tn_field *field, void *options, const char *text)
{
    void *member = (char *)options + field->offset;
    if (field->kind == TN_FIELD_FLAG)
        return set_flag(ctx, field, member, text);
    _Static_assert(TN_FIELD_FEATURES == TN_FIELD_REALS + 1 && TN_FIELD_HEAD == TN_FIELD_REALS + 3,
                   "lists of numbers and objects are the last four kinds");
    if (field->kind == TN_FIELD_WORDS || field->kind >= TN_FIELD_REALS)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got one text, expected %s", field->name,
                        field->kind == TN_FIELD_WORDS ? "words" : field->choices);
    if (!text || !*text)
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got nothing, expected a value", field->name);
    switch (field->kind) {
    case TN_FIELD_INT:
        return set_int(ctx, field, member, text);
    case TN_FIELD_REAL:
        return set_real(ctx, field, member, text);
    case TN_FIELD_BYTES:
        return set_bytes(ctx, field, member, text);
    case TN_FIELD_INT_OR_WORD:
        return set_int_or_word(ctx, field, member, text);
    case TN_FIELD_REAL_OR_WORD:
        return set_real_or_word(ctx, field, member, text);
    case TN_FIELD_TEXT:
        memcpy(member, &text, sizeof text);
        return TN_OK;
    default:
        return set_word(ctx, field, member, text);
    }
}

/* ---- values as text: as snprintf, the length that it would have ---- */

static int bytes_text(size_t bytes, char *buf, size_t size)
{
    int power = 0;
    while (power < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++power;
    }
    return snprintf(buf, size, "%zu%.*s", bytes, power != 0, power ? suffixes + power - 1 : "");
}

static int choice_text(const char *choices, int index, char *buf, size_t size)
{
    const char *p = choices;
    for (; index > 0 && *p; --index) {
        p += strcspn(p, "|");
        p += *p != 0;
    }
    return snprintf(buf, size, "%.*s", (int)strcspn(p, "|"), p);
}

static size_t count_words(const char *choices)
{
    size_t n = 1;
    for (; *choices; ++choices)
        n += *choices == '|';
    return n;
}

/* Words in the place of a whole number are kept from the largest down: place 1 is SIZE_MAX. */
static bool is_int_word(const tn_field *field, size_t value)
{
    return SIZE_MAX - value < count_words(field->choices) - 1;
}

static int reals_text(const tnp_reals *list, char *buf, size_t size)
{
    int used = snprintf(buf, size, "%s", "");
    for (size_t i = 0; i < list->count; ++i) {
        size_t at = tnp_min((size_t)used, size);
        used += tnp_format(buf ? buf + at : NULL, size - at, "%s%.15g", i ? "," : "", list->items[i]);
    }
    return used;
}

static int value_text(const tn_field *field, const void *member, char *buf, size_t size)
{
    const tnp_real_or_word *either = member;
    const char *text = NULL;
    size_t count = 0;
    switch (field->kind) {
    case TN_FIELD_FLAG:
    case TN_FIELD_YESNO:
        return snprintf(buf, size, "%s", *(const bool *)member ? "yes" : "no");
    case TN_FIELD_INT_OR_WORD:
        memcpy(&count, member, sizeof count);
        if (is_int_word(field, count))
            return choice_text(field->choices, (int)(SIZE_MAX - count) + 1, buf, size);
        return snprintf(buf, size, "%zu", count);
    case TN_FIELD_INT:
        return snprintf(buf, size, "%zu", *(const size_t *)member);
    case TN_FIELD_BYTES:
        return bytes_text(*(const size_t *)member, buf, size);
    case TN_FIELD_REAL:
        return tnp_format(buf, size, "%.15g", *(const double *)member);
    case TN_FIELD_REAL_OR_WORD:
        if (either->word != number_place(field))
            return choice_text(field->choices, either->word, buf, size);
        return tnp_format(buf, size, "%.15g", either->value);
    case TN_FIELD_CHOICE:
        return choice_text(field->choices, *(const int *)member, buf, size);
    case TN_FIELD_TEXT:
        memcpy(&text, member, sizeof text);
        return snprintf(buf, size, "%s", text ? text : "");
    case TN_FIELD_REALS:
        return reals_text(member, buf, size);
    default: /* words and objects have none */
        return snprintf(buf, size, "%s", "");
    }
}

const char *tn_field_text(const tn_field *field, const void *options, char *buf, size_t size)
{
    (void)value_text(field, (const char *)options + field->offset, buf, size);
    return buf;
}

tn_status tnp_field_value(tn_ctx *ctx, const tn_field *field, const void *options, char **out)
{
    const void *member = (const char *)options + field->offset;
    size_t size = (size_t)value_text(field, member, NULL, 0) + 1;
    char *text = NULL;
    tn_status st = tnp_alloc(ctx, size, 1, &text);
    if (st != TN_OK)
        return st;
    (void)value_text(field, member, text, size);
    *out = text;
    return TN_OK;
}

bool tnp_field_number(const tn_field *field, const void *member, double *value)
{
    const tnp_real_or_word *either = member;
    bool whole = field->kind == TN_FIELD_INT || field->kind == TN_FIELD_BYTES || field->kind == TN_FIELD_INT_OR_WORD;
    if (whole && !(field->kind == TN_FIELD_INT_OR_WORD && is_int_word(field, *(const size_t *)member)))
        *value = (double)*(const size_t *)member;
    else if (field->kind == TN_FIELD_REAL)
        *value = *(const double *)member;
    else if (field->kind == TN_FIELD_REAL_OR_WORD && either->word == number_place(field))
        *value = either->value;
    else if (field->kind == TN_FIELD_FLAG || field->kind == TN_FIELD_YESNO)
        *value = *(const bool *)member;
    else
        return false;
    return true;
}

/* ---- values that did not come as text ---- */

static bool is_within(const tn_field *field, const void *member)
{
    const tnp_real_or_word *either = member;
    const tnp_reals *list = member;
    bool fine = true;
    double value = 0;
    switch (field->kind) {
    case TN_FIELD_CHOICE:
        return *(const int *)member >= 0 && (size_t) * (const int *)member < count_words(field->choices);
    case TN_FIELD_TEXT:
        return *(const char *const *)member != NULL;
    case TN_FIELD_REAL_OR_WORD:
        fine = either->word >= 0 && (size_t)either->word < count_words(field->choices);
        break;
    case TN_FIELD_REALS:
        for (size_t i = 0; i < list->count; ++i)
            fine &= within(field, list->items[i]);
        return fine;
    default:
        break;
    }
    return fine && (!tnp_field_number(field, member, &value) || field->kind == TN_FIELD_BYTES || within(field, value));
}

tn_status tnp_fields_check(tn_ctx *ctx, const tn_field *fields, size_t count, const void *options)
{
    for (size_t i = 0; i < count; ++i) {
        char got[64] = "a value";
        double value = 0;
        const void *member = (const char *)options + fields[i].offset;
        if (is_within(&fields[i], member))
            continue;
        if (tnp_field_number(&fields[i], member, &value))
            (void)tn_field_text(&fields[i], options, got, sizeof got);
        return tnp_fail(ctx, TN_ERR_ARG, "option %s: got %s, which is outside its bounds", fields[i].name, got);
    }
    return TN_OK;
}
