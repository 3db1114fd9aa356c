/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which rows went into moments: ranges [from, to) of inputs, so that no row goes in twice and none is taken out that was
 * never there. An input is known by an id that its values give, not by its path: a copy in another folder is the same
 * rows. Rows that came from memory have no place that could be told again; of them only the number is kept. */
#include "learn/tally/tally.h"

#include <stdlib.h>
#include <string.h>

int tnp_input_compare(const tnp_input *a, const tnp_input *b)
{
    int order = strcmp(a->id, b->id);
    return order != 0 ? order : (a->from > b->from) - (a->from < b->from);
}

static int compare(const void *a, const void *b)
{
    return tnp_input_compare(a, b);
}

static bool from_memory(const tnp_input *input)
{
    return !*input->id;
}

void tnp_inputs_free(tnp_input *inputs, size_t count)
{
    for (size_t i = 0; inputs && i < count; ++i)
        tnp_free(inputs[i].path);
    tnp_free(inputs);
}

static tn_status twice(tn_ctx *ctx, const tnp_input *a, const tnp_input *b)
{
    if (strcmp(a->id, b->id) == 0)
        return tnp_fail(ctx, TN_ERR_DATA,
                        "%s: rows %zu to %zu overlap with rows %zu to %zu of %s, which are in already", b->path,
                        b->from, b->to, a->from, a->to, a->path);
    return tnp_fail(ctx, TN_ERR_DATA, "%s: rows %zu to %zu are the same as rows %zu to %zu of %s, which are in already",
                    b->path, b->from, b->to, a->from, a->to, a->path);
}

tn_status tnp_inputs_check(tn_ctx *ctx, const tnp_input *inputs, size_t count, const tnp_input *more, size_t more_count)
{
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < more_count; ++j) {
            const tnp_input *a = &inputs[i], *b = &more[j];
            if (from_memory(a) || from_memory(b))
                continue;
            bool meet = strcmp(a->id, b->id) == 0 && a->from < b->to && b->from < a->to;
            bool alike = a->used > 0 && a->used == b->used && a->digest == b->digest;
            if (meet || alike)
                return twice(ctx, a, b);
        }
    return TN_OK;
}

/* Rows of memory are only counted: a becomes both. Ranges of files that meet are not joined, so that each can be taken
 * out as it was put in. */
static bool joins(tnp_input *a, const tnp_input *b)
{
    if (!from_memory(a) || !from_memory(b))
        return false;
    a->to += b->to;
    a->used += b->used;
    a->digest += b->digest;
    return true;
}

tn_status tnp_inputs_join(tn_ctx *ctx, const tnp_input *inputs, size_t count, const tnp_input *more, size_t more_count,
                          tnp_input **out, size_t *out_count)
{
    tn_status st = TN_OK;
    tnp_input *list = NULL, *all = NULL;
    size_t n = 0, total = count + more_count;
    TN_TRY(tnp_alloc(ctx, total, sizeof *all, &all));
    TN_TRY(tnp_alloc(ctx, total, sizeof *list, &list));
    for (size_t i = 0; i < total; ++i)
        all[i] = i < count ? inputs[i] : more[i - count];
    qsort(all, total, sizeof *all, compare);
    for (size_t i = 0; i < total; ++i) {
        if (n > 0 && joins(&list[n - 1], &all[i]))
            continue;
        list[n] = all[i];
        list[n].path = NULL;
        TN_TRY(tnp_strdup(ctx, all[i].path, &list[n].path));
        ++n;
    }
    *out = list;
    *out_count = n;
    list = NULL;
done:
    tnp_inputs_free(list, n);
    tnp_free(all);
    return st;
}

/* The input of the list that b is, or is among; NULL: none. */
static const tnp_input *holder(const tnp_input *inputs, size_t count, const tnp_input *b)
{
    for (size_t i = 0; i < count; ++i) {
        const tnp_input *a = &inputs[i];
        if (strcmp(a->id, b->id) == 0 &&
            (from_memory(a) ? a->to >= b->to && a->used >= b->used : a->from == b->from && a->to == b->to))
            return a;
    }
    return NULL;
}

/* The list without one range. */
static tn_status drop_one(tn_ctx *ctx, const tnp_input *inputs, size_t count, const tnp_input *b, tnp_input **out,
                          size_t *out_count)
{
    tn_status st = TN_OK;
    tnp_input *list = NULL;
    size_t n = 0;
    const tnp_input *of = holder(inputs, count, b);
    if (!of)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: rows %zu to %zu are no part that went into the moments", b->path,
                        b->from, b->to);
    if (!from_memory(b) && (of->used != b->used || of->digest != b->digest))
        return tnp_fail(ctx, TN_ERR_DATA, "%s: rows %zu to %zu have other values than those that went into the moments",
                        b->path, b->from, b->to);
    TN_TRY(tnp_alloc(ctx, count, sizeof *list, &list));
    for (size_t i = 0; i < count; ++i) {
        if (&inputs[i] == of && (!from_memory(of) || of->to == b->to))
            continue;
        list[n] = inputs[i];
        list[n].path = NULL;
        TN_TRY(tnp_strdup(ctx, inputs[i].path, &list[n].path));
        if (&inputs[i] == of) {
            list[n].to -= b->to;
            list[n].used -= b->used;
            list[n].digest -= b->digest;
        }
        ++n;
    }
    *out = list;
    *out_count = n;
    list = NULL;
done:
    tnp_inputs_free(list, n);
    return st;
}

tn_status tnp_inputs_drop(tn_ctx *ctx, const tnp_input *inputs, size_t count, const tnp_input *less, size_t less_count,
                          tnp_input **out, size_t *out_count)
{
    tn_status st = TN_OK;
    tnp_input *now = NULL, *next = NULL;
    size_t n = 0;
    TN_TRY(tnp_inputs_join(ctx, inputs, count, NULL, 0, &now, &n));
    for (size_t i = 0; i < less_count; ++i) {
        size_t left = 0;
        TN_TRY(drop_one(ctx, now, n, &less[i], &next, &left));
        tnp_inputs_free(now, n);
        now = next;
        n = left;
        next = NULL;
    }
    *out = now;
    *out_count = n;
    now = NULL;
done:
    tnp_inputs_free(now, n);
    return st;
}
