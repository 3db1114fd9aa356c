/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .safetensors container:
 *
 *   0  n, 8 bytes little-endian    8  n bytes of JSON    8 + n  values
 *   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * Offsets count from byte 8 + n. Together the tensors cover the values, each byte once: overlaps, holes and bytes
 * behind the last are refused when the file is opened. Type and shape are checked when a tensor is asked for, so that a
 * type this library does not know harms nobody who does not want it. Values are little-endian, C order. */
#include "read/safetensors.h"

#include "matrix/convert.h"
#include "read/codes.h"
#include "read/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tnp_safetensors {
    tnp_file *file;  /* NULL once features have it, and where the bytes are in memory */
    tnp_bytes bytes; /* borrowed, with data NULL for a file */
    char *path;
    tnp_json header;
    size_t start, length; /* of the values, in bytes */
};

/* ---- opening ---- */

static tn_status bad(tn_ctx *ctx, const tnp_safetensors *file, const char *name, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 8: tensor '%.60s': %s", file->path, name, what);
}

/* Bytes that are known to be there. */
static tn_status get(tn_ctx *ctx, const tnp_safetensors *file, size_t offset, size_t size, void *out)
{
    if (file->file)
        return tnp_file_read(ctx, file->file, offset, size, out);
    if (size != 0)
        memcpy(out, file->bytes.data + offset, size);
    return TN_OK;
}

static tn_status parse(tn_ctx *ctx, tnp_safetensors *file)
{
    tn_status st = TN_OK;
    unsigned char prefix[8];
    char *text = NULL;
    uint64_t length = 0;
    size_t size = file->file ? tnp_file_size(file->file) : file->bytes.size;
    if (size < 8)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: the file ends before the header length", file->path, size);
    TN_TRY(get(ctx, file, 0, sizeof prefix, prefix));
    for (size_t i = sizeof prefix; i-- > 0;)
        length = length << 8 | prefix[i];
    if (length > size - 8)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 0: header of %zu bytes, but only %zu follow", file->path,
                        (size_t)length, size - 8));
    if (length > TNP_JSON_BYTES)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 0: header of %zu bytes, the limit is %d", file->path,
                        (size_t)length, TNP_JSON_BYTES));
    TN_TRY(tnp_need(ctx, (size_t)length, file->path));
    TN_TRY(tnp_alloc_raw(ctx, (size_t)length, 1, &text));
    TN_TRY(get(ctx, file, 8, (size_t)length, text));
    TN_TRY(tnp_json_parse(ctx, file->path, "header", 8, text, (size_t)length, &file->header));
    if (!json_is_object(file->header.root))
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 8: header is not an object", file->path));
    file->start = 8 + (size_t)length;
    file->length = size - file->start;
done:
    tnp_free(text);
    return st;
}

static bool whole(const json_t *value, size_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

/* The bytes of one tensor. */
typedef struct extent {
    const char *name;
    size_t begin, end;
} extent;

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

/* An entry has a type, a shape and bytes inside the file, whatever they are. */
static tn_status find_extent(tn_ctx *ctx, const tnp_safetensors *file, const char *name, const json_t *entry,
                             extent *out, tnp_array *array)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    *out = (extent){.name = name};
    if (!json_is_string(json_object_get(entry, "dtype")))
        return bad(ctx, file, name, "no dtype");
    if (!parse_shape(json_object_get(entry, "shape"), array))
        return bad(ctx, file, name, "shape is not a list of sizes");
    if (json_array_size(offsets) != 2 || !whole(json_array_get(offsets, 0), &out->begin) ||
        !whole(json_array_get(offsets, 1), &out->end))
        return bad(ctx, file, name, "data_offsets are not two sizes");
    if (out->begin > out->end || out->end > file->length)
        return tnp_fail(ctx, TN_ERR_FORMAT,
                        "%s: byte %zu: tensor '%.60s' has data_offsets [%zu, %zu], but %zu bytes follow", file->path,
                        file->start, name, out->begin, out->end, file->length);
    return TN_OK;
}

static int compare_extents(const void *a, const void *b)
{
    const extent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Every byte of the values belongs to one tensor. */
static tn_status check_extents(tn_ctx *ctx, const tnp_safetensors *file, const extent *list, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; ++i) {
        if (list[i].begin != at)
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: tensor '%.60s' begins at %zu of the values, %s %zu",
                            file->path, file->start + list[i].begin, list[i].name, list[i].begin,
                            list[i].begin < at ? "inside the one before it, which ends at" : "behind a hole from", at);
        at = list[i].end;
    }
    if (at != file->length)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: %zu bytes behind the last tensor", file->path,
                        file->start + at, file->length - at);
    return TN_OK;
}

static tn_status check_layout(tn_ctx *ctx, const tnp_safetensors *file)
{
    tn_status st = TN_OK;
    extent *list = NULL;
    size_t count = 0;
    tnp_array shape;
    const char *name;
    json_t *entry;
    TN_TRY(tnp_alloc(ctx, json_object_size(file->header.root), sizeof *list, &list));
    json_object_foreach(file->header.root, name, entry)
    {
        if (strcmp(name, "__metadata__") != 0)
            TN_TRY(find_extent(ctx, file, name, entry, &list[count++], &shape));
        else if (!json_is_object(entry))
            TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 8: __metadata__ is not an object", file->path));
    }
    if (count != 0)
        qsort(list, count, sizeof *list, compare_extents);
    TN_TRY(check_extents(ctx, file, list, count));
done:
    tnp_free(list);
    return st;
}

tn_status tnp_safetensors_load(tn_ctx *ctx, const char *path, tnp_safetensors **out)
{
    return tnp_safetensors_parse(ctx, path, NULL, out);
}

tn_status tnp_safetensors_parse(tn_ctx *ctx, const char *path, const tnp_bytes *bytes, tnp_safetensors **out)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *file, &file));
    TN_TRY(tnp_strdup(ctx, path, &file->path));
    if (bytes)
        file->bytes = *bytes;
    else
        TN_TRY(tnp_file_open(ctx, path, &file->file));
    TN_TRY(parse(ctx, file));
    TN_TRY(check_layout(ctx, file));
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
    tnp_json_free(&file->header);
    tnp_file_close(file->file);
    tnp_free_all(file->path, file);
}

const char *tnp_safetensors_path(const tnp_safetensors *file)
{
    return file->path;
}

/* ---- tensors ---- */

static bool parse_type(const char *text, tn_dtype *out)
{
    static const char *const names[] = {
        [TN_F16] = "F16", [TN_BF16] = "BF16", [TN_F32] = "F32",  [TN_F64] = "F64", [TN_I8] = "I8",
        [TN_U8] = "U8",   [TN_I16] = "I16",   [TN_U16] = "U16",  [TN_I32] = "I32", [TN_U32] = "U32",
        [TN_I64] = "I64", [TN_U64] = "U64",   [TN_BOOL] = "BOOL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(text, names[i]) == 0) {
            *out = (tn_dtype)i;
            return true;
        }
    return false;
}

tn_status tnp_safetensors_find(tn_ctx *ctx, const tnp_safetensors *file, const char *name, tnp_array *out)
{
    tnp_array array = {.swap = tnp_host_is_big_endian()};
    const json_t *entry = json_object_get(file->header.root, name);
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    char shape[TNP_SHAPE_TEXT];
    extent at;
    size_t need = 0;
    if (!entry || strcmp(name, "__metadata__") == 0)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: no tensor '%.60s' in it", file->path, name);
    tn_status st = find_extent(ctx, file, name, entry, &at, &array);
    if (st != TN_OK)
        return st;
    if (!parse_type(type, &array.dtype))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                        "%s: tensor '%.60s': type %.20s, expected F16 BF16 F32 F64 or integers", file->path, name,
                        type);
    array.item = tn_dtype_size(array.dtype);
    if (!tnp_array_bytes(&array, &need) || need != at.end - at.begin)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: tensor '%.60s' of shape %s and type %s has %zu bytes",
                        file->path, file->start + at.begin, name, tnp_shape_text(&array, shape), type,
                        at.end - at.begin);
    array.at = file->start + at.begin;
    *out = array;
    return TN_OK;
}

tn_status tnp_safetensors_bytes(tn_ctx *ctx, const tnp_safetensors *file, const tnp_array *array, size_t offset,
                                size_t size, void *out)
{
    return get(ctx, file, array->at + offset, size, out);
}

static bool allowed(double value, tnp_kind kind)
{
    return kind == TNP_ANY || (kind == TNP_NOT_NAN ? !isnan(value) : isfinite(value) != 0);
}

/* The first value of a tensor that is not allowed is refused; n in all. */
static tn_status check_values(tn_ctx *ctx, const tnp_safetensors *file, const char *name, const tnp_array *a,
                              tnp_kind kind, size_t n, const float *narrow, const double *wide)
{
    for (size_t i = 0; i < n; ++i)
        if (!allowed(narrow ? (double)narrow[i] : wide[i], kind))
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: value %zu of '%.60s' is %s", file->path,
                            a->at + i * a->item, i, name, kind == TNP_NOT_NAN ? "NaN" : "NaN or infinite");
    return TN_OK;
}

tn_status tnp_safetensors_values(tn_ctx *ctx, const tnp_safetensors *file, const char *name, size_t rows, size_t cols,
                                 tnp_kind kind, float *narrow, double *wide)
{
    tn_status st = TN_OK;
    tnp_array a;
    tnp_array want = {.ndim = cols ? 2 : 1, .shape = {rows, cols}};
    char got[TNP_SHAPE_TEXT], expected[TNP_SHAPE_TEXT];
    tn_dtype type = narrow ? TN_F32 : TN_F64;
    TN_TRY(tnp_safetensors_find(ctx, file, name, &a));
    if (a.dtype != type || a.ndim != want.ndim || a.shape[0] != rows || (cols && a.shape[1] != cols))
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: tensor '%.60s' is %s %s, expected %s %s", file->path, name,
                        tn_dtype_name(a.dtype), tnp_shape_text(&a, got), tn_dtype_name(type),
                        tnp_shape_text(&want, expected)));
    size_t n = rows * (cols ? cols : 1);
    unsigned char *bytes = narrow ? (unsigned char *)narrow : (unsigned char *)wide;
    TN_TRY(tnp_safetensors_bytes(ctx, file, &a, 0, n * a.item, bytes));
    if (a.swap && narrow)
        tnp_to_float(a.dtype, a.swap, bytes, (ptrdiff_t)a.item, n, narrow);
    else if (a.swap)
        tnp_to_double(a.dtype, a.swap, bytes, (ptrdiff_t)a.item, n, wide);
    TN_TRY(check_values(ctx, file, name, &a, kind, n, narrow, wide));
done:
    return st;
}

bool tnp_safetensors_has(const tnp_safetensors *file, const char *name)
{
    return strcmp(name, "__metadata__") != 0 && json_object_get(file->header.root, name) != NULL;
}

const char *tnp_safetensors_meta(const tnp_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header.root, "__metadata__"), key));
}

const char *tnp_safetensors_name(const tnp_safetensors *file, size_t i)
{
    const char *name;
    json_t *entry;
    json_object_foreach(file->header.root, name, entry)
    {
        if (strcmp(name, "__metadata__") != 0 && i-- == 0)
            return name;
    }
    return NULL;
}

tn_status tnp_safetensors_give(tn_ctx *ctx, tnp_safetensors *file, tn_features *features, size_t *index)
{
    return tnp_features_take(ctx, features, &file->file, index);
}

/* ---- a representation ---- */

/* The key left out: the only tensor, or the only one with two dimensions. */
static tn_status only_tensor(tn_ctx *ctx, const tnp_safetensors *file, const char **out)
{
    const char *name, *any = NULL, *matrix = NULL;
    size_t all = 0, matrices = 0;
    json_t *entry;
    json_object_foreach(file->header.root, name, entry)
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

tn_status tnp_safetensors_open(tn_ctx *ctx, tn_features *features, const char *file, const char *key)
{
    tn_status st = TN_OK;
    tnp_safetensors *tensors = NULL;
    tnp_array array;
    size_t index = 0;
    features->format = "safetensors";
    TN_TRY(tnp_safetensors_load(ctx, file, &tensors));
    const char *format = tnp_safetensors_meta(tensors, "format");
    if (!key && format && strcmp(format, "tenon-codes") == 0) {
        TN_TRY(tnp_codes_open(ctx, features, tensors));
        goto done;
    }
    if (!key)
        TN_TRY(only_tensor(ctx, tensors, &key));
    TN_TRY(tnp_safetensors_find(ctx, tensors, key, &array));
    TN_TRY(tnp_safetensors_give(ctx, tensors, features, &index));
    TN_TRY(tnp_features_add(ctx, features, features->path, &array, index));
done:
    tnp_safetensors_close(tensors);
    return st;
}
