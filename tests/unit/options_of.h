/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options that are a number or a word, and lists of numbers, from their texts, for tests that fill option structs by
 * hand. */
#ifndef TN_OPTIONS_OF_H
#define TN_OPTIONS_OF_H

#include "pipeline/options.h"

#include <stdlib.h>
#include <string.h>

static inline const tn_field *field_called(const tn_field *(*table)(size_t *count), const char *name)
{
    size_t count = 0, i = 0;
    const tn_field *fields = table(&count);
    while (i < count && strcmp(fields[i].name, name) != 0)
        ++i;
    if (i == count)
        abort();
    return &fields[i];
}

/* A text that must be good. */
static inline void set_member(const tn_field *field, void *member, const char *text)
{
    if (tn_field_set(NULL, field, (char *)member - field->offset, text) != TN_OK)
        abort();
}

static inline tnp_real_or_word lambda_of(const char *text)
{
    tnp_real_or_word value = {0, 0};
    set_member(field_called(tnp_fit_fields, "lambda"), &value, text);
    return value;
}

static inline tnp_real_or_word scale_of(const char *text)
{
    tnp_real_or_word value = {0, 0};
    set_member(field_called(tnp_map_fields, "scale"), &value, text);
    return value;
}

static inline size_t loo_of(const char *text)
{
    size_t value = 0;
    set_member(field_called(tnp_rank_fields, "loo"), &value, text);
    return value;
}

/* Numbers joined by commas; they stay for the next few lists. */
static inline tnp_reals grid_of(const char *text)
{
    enum { LISTS = 8, NUMBERS = 8 };
    static double kept[LISTS][NUMBERS];
    static size_t next;
    double *items = kept[next++ % LISTS];
    size_t count = 0;
    for (char *end = NULL; *text; text = end + (*end == ',')) {
        if (count == NUMBERS)
            abort();
        items[count++] = strtod(text, &end);
    }
    return (tnp_reals){items, count};
}

#endif
