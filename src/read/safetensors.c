/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .safetensors container:
 *
 *   0  n, 8 bytes little-endian    8  n bytes of JSON    8 + n  values
 *   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * Offsets count from byte 8 + n. They are checked when a tensor is asked for, so that a type this library does
 * not know harms nobody who does not want it. Values are little-endian, C order, used from the map.
 * The header is parsed by jansson, the one block here that the context does not count; the format's own limit
 * of 100 MB bounds it. */
#include "read/safetensors.h"

#include "matrix/convert.h"
#include "read/codes.h"

#include <jansson.h>
#include <string.h>

enum { MAX_HEADER = 100000000 };

struct tnp_safetensors {
    char *path;
    tnp_map map;
    json_t *header;
    size_t start; /* of the values */
};

static bool header_length(const unsigned char *bytes, size_t *out)
{
    uint64_t n = 0;
    for (size_t i = 8; i-- > 0;)
        n = n << 8 | bytes[i];
    *out = (size_t)n;
    return n <= MAX_HEADER;
}

static tn_status parse(tn_ctx *ctx, tnp_safetensors *file)
{
    json_error_t error;
    size_t length = 0;
    if (file->map.size < 8)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: the file ends before the header length", file->path,
                        file->map.size);
    if (!header_length(file->map.data, &length) || length > file->map.size - 8)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 0: header of %zu bytes, but only %zu follow", file->path, length,
                        file->map.size - 8);
    file->header = json_loadb((const char *)file->map.data + 8, length, JSON_REJECT_DUPLICATES, &error);
    if (!file->header && json_error_code(&error) == json_error_out_of_memory)
        return tnp_fail(ctx, TN_ERR_MEMORY, "%s: no memory for its header", file->path);
    if (!file->header)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: header: %s", file->path, 8 + (size_t)error.position,
                        error.text);
    if (!json_is_object(file->header))
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 8: header is not an object", file->path);
    file->start = 8 + length;
    return TN_OK;
}

tn_status tnp_safetensors_load(tn_ctx *ctx, const char *path, tnp_safetensors **out)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *file, &file));
    TN_TRY(tnp_strdup(ctx, path, &file->path));
    TN_TRY(tnp_map_open(ctx, path, &file->map));
    TN_TRY(parse(ctx, file));
    *out = file;
    file = NULL;
done:
    tnp_safetensors_close(file);
    return st;
}

void tnp_safetensors_close(tnp_safetensors *file)
{
    if (!file)
        return;
    json_decref(file->header);
    tnp_map_close(&file->map);
    tnp_free(file->path);
    tnp_free(file);
}

static bool parse_type(const char *text, tn_dtype *out)
{
    static const char *const names[] = {"F16", "BF16", "F32", "F64", "I8",  "U8",  "I16",
                                        "U16", "I32",  "U32", "I64", "U64", "BOOL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(text, names[i]) == 0) {
            *out = (tn_dtype)i;
            return true;
        }
    return false;
}

static bool whole(const json_t *value, size_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

static bool parse_shape(const json_t *shape, tnp_array *out)
{
    out->ndim = json_array_size(shape);
    if (!json_is_array(shape) || out->ndim > TNP_MAX_DIMS)
        return false;
    for (size_t i = 0; i < out->ndim; ++i)
        if (!whole(json_array_get(shape, i), &out->shape[i]))
            return false;
    return true;
}

static tn_status bad(tn_ctx *ctx, const tnp_safetensors *file, const char *name, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 8: tensor '%.60s': %s", file->path, name, what);
}

tn_status tnp_safetensors_find(tn_ctx *ctx, const tnp_safetensors *file, const char *name, tnp_array *out)
{
    tnp_array array = {.swap = tnp_host_is_big_endian()};
    const json_t *entry = json_object_get(file->header, name), *offsets = json_object_get(entry, "data_offsets");
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    char shape[TNP_SHAPE_TEXT];
    size_t begin = 0, end = 0, need = 0, room = file->map.size - file->start;
    if (!entry || strcmp(name, "__metadata__") == 0)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: no tensor '%.60s' in it", file->path, name);
    if (!type)
        return bad(ctx, file, name, "no dtype");
    if (!parse_type(type, &array.dtype))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                        "%s: tensor '%.60s': type %.20s, expected F16 BF16 F32 F64 or integers", file->path, name,
                        type);
    array.item = tn_dtype_size(array.dtype);
    if (!parse_shape(json_object_get(entry, "shape"), &array))
        return bad(ctx, file, name, "shape is not a list of sizes");
    if (json_array_size(offsets) != 2 || !whole(json_array_get(offsets, 0), &begin) ||
        !whole(json_array_get(offsets, 1), &end))
        return bad(ctx, file, name, "data_offsets are not two sizes");
    if (begin > end || end > room)
        return tnp_fail(ctx, TN_ERR_FORMAT,
                        "%s: byte %zu: tensor '%.60s' has data_offsets [%zu, %zu], but %zu bytes follow", file->path,
                        file->start, name, begin, end, room);
    if (!tnp_array_bytes(&array, &need) || need != end - begin)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: tensor '%.60s' of shape %s and type %s has %zu bytes",
                        file->path, file->start + begin, name, tnp_shape_text(&array, shape), type, end - begin);
    array.data = file->map.data + file->start + begin;
    *out = array;
    return TN_OK;
}

bool tnp_safetensors_has(const tnp_safetensors *file, const char *name)
{
    return strcmp(name, "__metadata__") != 0 && json_object_get(file->header, name) != NULL;
}

const char *tnp_safetensors_meta(const tnp_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

const char *tnp_safetensors_name(const tnp_safetensors *file, size_t i)
{
    const char *name;
    json_t *entry;
    json_object_foreach(file->header, name, entry)
    {
        if (strcmp(name, "__metadata__") != 0 && i-- == 0)
            return name;
    }
    return NULL;
}

const tnp_map *tnp_safetensors_bytes(const tnp_safetensors *file)
{
    return &file->map;
}

tn_status tnp_safetensors_still_there(tn_ctx *ctx, const tnp_safetensors *file)
{
    return tnp_map_still_there(ctx, file->path, file->map.size);
}

/* The key left out: the only tensor, or the only one with two dimensions. */
static tn_status only_tensor(tn_ctx *ctx, const tnp_safetensors *file, const char **out)
{
    const char *name, *any = NULL, *matrix = NULL;
    size_t all = 0, matrices = 0;
    json_t *entry;
    json_object_foreach(file->header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        any = name;
        ++all;
        if (json_array_size(json_object_get(entry, "shape")) == 2) {
            matrix = name;
            ++matrices;
        }
    }
    if (all != 1 && matrices != 1)
        return tnp_fail(ctx, all ? TN_ERR_ARG : TN_ERR_FORMAT,
                        "%s: %zu tensors in it, %zu with two dimensions, expected FILE.safetensors:KEY", file->path,
                        all, matrices);
    *out = all == 1 ? any : matrix;
    return TN_OK;
}

tn_status tnp_safetensors_open(tn_ctx *ctx, tn_source *src, const char *file, const char *key)
{
    tn_status st = TN_OK;
    tnp_safetensors *tensors = NULL;
    tnp_array array;
    size_t index = 0;
    src->format = "safetensors";
    TN_TRY(tnp_safetensors_load(ctx, file, &tensors));
    const char *format = tnp_safetensors_meta(tensors, "format");
    if (!key && format && strcmp(format, "tenon-codes") == 0) {
        TN_TRY(tnp_codes_open(ctx, src, file, tensors));
        goto done;
    }
    if (!key)
        TN_TRY(only_tensor(ctx, tensors, &key));
    TN_TRY(tnp_safetensors_find(ctx, tensors, key, &array));
    TN_TRY(tnp_source_keep(ctx, src, file, &tensors->map, &array, &index));
    TN_TRY(tnp_source_add(ctx, src, src->path, &array, index));
done:
    tnp_safetensors_close(tensors);
    return st;
}
