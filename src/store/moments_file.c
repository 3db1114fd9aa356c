/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics as files, all in double precision:
 *
 *   tensors    gram (D x D, upper triangle counts), shift, sum (D), xty (K x D), ysum, yy (K)
 *   metadata   format = tenon-stats, version, rows, wide (1: made from double features) */
#include "matrix/moments.h"
#include "read/safetensors.h"
#include "store/store.h"
#include "tenon/store.h"

#include <string.h>

static const char format_name[] = "tenon-stats", format_version[] = "1", in_memory[] = "moments in memory";

enum { TENSORS = 6 };

typedef struct slot {
    const char *name;
    size_t rows, cols; /* cols 0: one dimension */
    double *data;
} slot;

static void list_slots(const tn_moments *s, slot *slots)
{
    const slot list[TENSORS] = {
        {"gram", s->dim, s->dim, s->gram},   {"shift", s->dim, 0, s->shift},   {"sum", s->dim, 0, s->sum},
        {"xty", s->classes, s->dim, s->xty}, {"ysum", s->classes, 0, s->ysum}, {"yy", s->classes, 0, s->yy},
    };
    memcpy(slots, list, sizeof list);
}

static tn_status put(tn_ctx *ctx, const tn_moments *moments, const tnp_store_to *to)
{
    slot slots[TENSORS];
    tnp_tensor tensors[TENSORS];
    char rows[32];
    list_slots(moments, slots);
    for (size_t i = 0; i < TENSORS; ++i)
        tensors[i] =
            (tnp_tensor){slots[i].name, TN_F64, {slots[i].rows, slots[i].cols}, slots[i].cols ? 2u : 1u, slots[i].data};
    snprintf(rows, sizeof rows, "%zu", moments->rows);
    const tnp_meta meta[] = {
        {"format", format_name}, {"version", format_version}, {"rows", rows}, {"wide", moments->wide ? "1" : "0"}};
    return tnp_store_write(ctx, to, meta, sizeof meta / sizeof *meta, tensors, TENSORS);
}

tn_status tn_moments_save(tn_ctx *ctx, const tn_moments *moments, const char *path)
{
    return put(ctx, moments, &(tnp_store_to){path, NULL, NULL});
}

tn_status tn_moments_to_bytes(tn_ctx *ctx, const tn_moments *moments, void **bytes, size_t *size)
{
    return put(ctx, moments, &(tnp_store_to){in_memory, bytes, size});
}

static tn_status read_meta(tn_ctx *ctx, const tnp_safetensors *file, const char *path, size_t *rows, bool *wide)
{
    const char *count = tnp_safetensors_meta(file, "rows"), *kind = tnp_safetensors_meta(file, "wide");
    bool fine = count && kind && (strcmp(kind, "0") == 0 || strcmp(kind, "1") == 0) && tnp_digits(count, rows);
    if (!fine)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: its metadata lacks a number of rows, or wide as 0 or 1", path);
    *wide = *kind == '1';
    return TN_OK;
}

/* Every tensor is there in the shape that `slots` asks for. */
static tn_status find_all(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const slot *slots)
{
    for (size_t i = 0; i < TENSORS; ++i) {
        tnp_array a;
        tn_status st = tnp_safetensors_find(ctx, file, slots[i].name, &a);
        if (st != TN_OK)
            return st;
        bool alike = a.dtype == TN_F64 && a.ndim == (slots[i].cols ? 2u : 1u) && a.shape[0] == slots[i].rows;
        if (!alike || (slots[i].cols && a.shape[1] != slots[i].cols))
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: '%s' has another type or shape than 'xty' asks for", path,
                            slots[i].name);
    }
    return TN_OK;
}

/* out: tn_moments **. */
static tn_status make_moments(tn_ctx *ctx, const tnp_safetensors *file, const char *path, void *out)
{
    tn_status st = TN_OK;
    tn_moments *moments = NULL, sizes = {0};
    tnp_array xty;
    slot slots[TENSORS];
    bool wide = false;
    TN_TRY(read_meta(ctx, file, path, &sizes.rows, &wide));
    TN_TRY(tnp_safetensors_find(ctx, file, "xty", &xty));
    if (xty.ndim != 2 || xty.shape[0] == 0 || xty.shape[1] == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: 'xty' is no matrix", path));
    sizes.classes = xty.shape[0];
    sizes.dim = xty.shape[1];
    list_slots(&sizes, slots);
    TN_TRY(find_all(ctx, file, path, slots)); /* before anything of that size is allocated */
    TN_TRY(tnp_moments_new(ctx, sizes.dim, sizes.classes, wide, &moments));
    list_slots(moments, slots);
    for (size_t i = 0; i < TENSORS; ++i)
        TN_TRY(tnp_safetensors_values(ctx, file, slots[i].name, slots[i].rows, slots[i].cols, TNP_FINITE, NULL,
                                      slots[i].data));
    for (size_t j = 0; moments->shift_f32 && j < moments->dim; ++j)
        moments->shift_f32[j] = (float)moments->shift[j];
    moments->rows = sizes.rows;
    moments->weight = (double)sizes.rows;
    tnp_moments_assume_noise(moments);
    *(tn_moments **)out = moments;
    moments = NULL;
done:
    tn_moments_free(moments);
    return st;
}

static const tnp_store_kind kind = {format_name, format_version, in_memory, make_moments};

tn_status tn_moments_load(tn_ctx *ctx, const char *path, tn_moments **out)
{
    return tnp_store_load(ctx, path, &kind, out);
}

tn_status tn_moments_from_bytes(tn_ctx *ctx, const void *bytes, size_t size, const char *name, tn_moments **out)
{
    return tnp_store_parse(ctx, bytes, size, name, &kind, out);
}
