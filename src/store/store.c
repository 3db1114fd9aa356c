/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layout of .safetensors, little-endian:
 *
 *   8 bytes        length n of the header
 *   n bytes        JSON: {"__metadata__":{...}, "name":{"dtype":"F32","shape":[..],"data_offsets":[from,to]}, ...},
 *                  padded with spaces to a multiple of 8
 *   the tensors    row-major, one after the other in the order of the header
 *
 * NumPy's format was refused: it holds one array and no provenance. Reading is read/safetensors.c. */
#include "store/store.h"
#include "tenon/store.h"

#include <stdio.h>
#include <string.h>

enum { PREFIX = 8 };

static size_t tensor_bytes(const tnp_tensor *t)
{
    size_t n = tn_dtype_size(t->dtype);
    for (size_t d = 0; d < t->ndim; ++d)
        n *= t->shape[d];
    return n;
}

static const char *type_name(tn_dtype type)
{
    return type == TN_F64 ? "F64" : type == TN_U8 ? "U8" : "F32";
}

/* Length and JSON. */
static void write_header(tnp_text *text, const tnp_meta *meta, size_t meta_count, const tnp_tensor *tensors,
                         size_t tensor_count)
{
    static const char prefix[PREFIX] = {0};
    size_t offset = 0;
    tnp_text_bytes(text, prefix, PREFIX);
    tnp_text_add(text, "{\"__metadata__\":{");
    for (size_t i = 0; i < meta_count; ++i) {
        tnp_text_add(text, i ? "," : "");
        tnp_text_quote(text, meta[i].key);
        tnp_text_add(text, ":");
        tnp_text_quote(text, meta[i].value);
    }
    tnp_text_add(text, "}");
    for (size_t i = 0; i < tensor_count; ++i) {
        const tnp_tensor *t = &tensors[i];
        tnp_text_add(text, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu", t->name, type_name(t->dtype), t->shape[0]);
        if (t->ndim == 2)
            tnp_text_add(text, ",%zu", t->shape[1]);
        tnp_text_add(text, "],\"data_offsets\":[%zu,%zu]}", offset, offset + tensor_bytes(t));
        offset += tensor_bytes(t);
    }
    tnp_text_add(text, "}");
    while (text->status == TN_OK && text->used % 8 != 0)
        tnp_text_add(text, " ");
    for (size_t i = 0; text->status == TN_OK && i < PREFIX; ++i)
        text->data[i] = (char)(unsigned char)((text->used - PREFIX) >> (8 * i));
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "store/store.c writes the machine's own byte order");

tn_status tnp_store_open(tn_ctx *ctx, const char *path, const tnp_meta *meta, size_t meta_count,
                         const tnp_tensor *tensors, size_t tensor_count, tn_output **out)
{
    tn_status st = TN_OK;
    tn_output *output = NULL;
    tnp_text text;
    tnp_text_init(&text, ctx);
    write_header(&text, meta, meta_count, tensors, tensor_count);
    TN_TRY(text.status);
    TN_TRY(tn_output_open(ctx, path, &output));
    TN_TRY(tn_output_write(ctx, output, text.data, text.used));
    *out = output;
    output = NULL;
done:
    tn_output_close(output);
    tnp_text_destroy(&text);
    return st;
}

tn_status tnp_store_save(tn_ctx *ctx, const char *path, const tnp_meta *meta, size_t meta_count,
                         const tnp_tensor *tensors, size_t tensor_count)
{
    tn_status st = TN_OK;
    tn_output *output = NULL;
    TN_TRY(tnp_store_open(ctx, path, meta, meta_count, tensors, tensor_count, &output));
    for (size_t i = 0; i < tensor_count; ++i) {
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tn_output_write(ctx, output, tensors[i].data, tensor_bytes(&tensors[i])));
    }
    TN_TRY(tn_output_commit(ctx, output));
done:
    tn_output_close(output);
    return st;
}

/* Into one block. */
static tn_status put_bytes(tn_ctx *ctx, const tnp_store_to *to, const tnp_meta *meta, size_t meta_count,
                           const tnp_tensor *tensors, size_t tensor_count)
{
    tn_status st = TN_OK;
    tnp_text text;
    unsigned char *block = NULL;
    tnp_text_init(&text, ctx);
    write_header(&text, meta, meta_count, tensors, tensor_count);
    TN_TRY(text.status);
    size_t size = text.used, at = text.used;
    for (size_t i = 0; i < tensor_count; ++i)
        size += tensor_bytes(&tensors[i]);
    TN_TRY(tnp_alloc_raw(ctx, size, 1, &block));
    memcpy(block, text.data, text.used);
    for (size_t i = 0; i < tensor_count; at += tensor_bytes(&tensors[i++]))
        memcpy(block + at, tensors[i].data, tensor_bytes(&tensors[i]));
    *to->bytes = block;
    *to->size = size;
done:
    tnp_text_destroy(&text);
    return st;
}

tn_status tnp_store_write(tn_ctx *ctx, const tnp_store_to *to, const tnp_meta *meta, size_t meta_count,
                          const tnp_tensor *tensors, size_t tensor_count)
{
    return to->bytes ? put_bytes(ctx, to, meta, meta_count, tensors, tensor_count)
                     : tnp_store_save(ctx, to->path, meta, meta_count, tensors, tensor_count);
}

void tn_bytes_free(void *bytes)
{
    tnp_free(bytes);
}

tn_status tnp_store_read(tn_ctx *ctx, const tnp_safetensors *file, const tnp_tensor *to, tnp_kind kind)
{
    bool wide = to->dtype == TN_F64;
    return tnp_safetensors_values(ctx, file, to->name, to->shape[0], to->ndim == 2 ? to->shape[1] : 0, kind,
                                  wide ? NULL : (float *)to->data, wide ? (double *)to->data : NULL);
}

bool tnp_whole_below(double value, double end)
{
    return value >= 0 && value < end && value == (double)(size_t)value;
}

tn_status tnp_store_created_by(tn_ctx *ctx, const char *command, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "tenon %s%s%s", tn_version(), command ? ": " : "", command ? command : "");
    return tnp_text_take(&text, out);
}

tn_status tnp_store_check(tn_ctx *ctx, const tnp_safetensors *file, const char *path, const char *format,
                          const char *version)
{
    const char *its_format = tnp_safetensors_meta(file, "format"), *its_version = tnp_safetensors_meta(file, "version");
    if (!its_format || strcmp(its_format, format) != 0)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: its format is '%s', expected %s", path,
                        its_format ? its_format : "missing", format);
    if (!its_version || tnp_find_choice(version, its_version) < 0)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: %s version %s, this program reads version %s", path, format,
                        its_version ? its_version : "missing", version);
    return TN_OK;
}

/* bytes NULL: of the file. */
static tn_status read_object(tn_ctx *ctx, const char *path, const tnp_bytes *bytes, const tnp_store_kind *kind,
                             void *out)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    TN_TRY(tnp_safetensors_parse(ctx, path, bytes, &file));
    TN_TRY(tnp_store_check(ctx, file, path, kind->format, kind->version));
    TN_TRY(kind->make(ctx, file, path, out));
done:
    tnp_safetensors_close(file);
    return st;
}

tn_status tnp_store_load(tn_ctx *ctx, const char *path, const tnp_store_kind *kind, void *out)
{
    return read_object(ctx, path, NULL, kind, out);
}

tn_status tnp_store_parse(tn_ctx *ctx, const void *bytes, size_t size, const char *name, const tnp_store_kind *kind,
                          void *out)
{
    return read_object(ctx, name ? name : kind->in_memory, &(tnp_bytes){bytes, size}, kind, out);
}

tn_status tnp_sidecar_save(tn_ctx *ctx, tnp_text *text, const char *const *ids, size_t count, const char *path)
{
    size_t n = strlen(path), cut = n > 4 && strcmp(path + n - 4, ".npy") == 0 ? n - 4 : n;
    char *name = NULL;
    tn_status st = tnp_alloc(ctx, cut + 6, 1, &name);
    if (st != TN_OK)
        return st;
    snprintf(name, cut + 6, "%.*s.json", (int)cut, path);
    if (ids) {
        tnp_text_add(text, ",\"ids\":");
        tnp_text_quotes(text, ids, count);
    }
    tnp_text_add(text, "}\n");
    st = tnp_text_save(text, name);
    tnp_free(name);
    return st;
}
