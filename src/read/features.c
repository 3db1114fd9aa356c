/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features from files: the REP text, the choice of reader; what features know about themselves. Reading rows is rows.c,
 * features from arrays and producers are memory.c.
 *
 *   REP  = [NAME=]PATH          NAME has no '/'; a file whose name is the whole text wins over the split
 *   PATH = file | file.npz:key | file.safetensors:key | folder
 *
 * The reader is chosen by suffix, not by magic bytes: a wrong file under a right name is then reported as
 * damaged at byte 0 instead of being taken for something else. */
#define _POSIX_C_SOURCE 200809L
#include "read/features.h"

#include "matrix/convert.h"
#include "read/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the REP text ---- */

static bool ends_with(const char *text, size_t length, const char *suffix)
{
    size_t n = strlen(suffix);
    return length > n && memcmp(text + length - n, suffix, n) == 0;
}

/* Where the key starts, or NULL: only these two containers have keys, so other names may contain colons. */
static const char *find_key(const char *path)
{
    static const char *const marks[] = {".npz:", ".safetensors:"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
        const char *mark = strstr(path, marks[i]);
        if (mark)
            return mark + strlen(marks[i]);
    }
    return NULL;
}

static size_t file_length(const char *path)
{
    const char *key = find_key(path);
    return key ? (size_t)(key - path) - 1 : strlen(path);
}

static tn_status file_exists(tn_ctx *ctx, const char *path, bool *out)
{
    char *file = NULL;
    struct stat info;
    tn_status st = tnp_strndup(ctx, path, file_length(path), &file);
    if (st == TN_OK)
        *out = stat(file, &info) == 0;
    tnp_free(file);
    return st;
}

static bool is_folder(const char *file)
{
    struct stat info;
    return stat(file, &info) == 0 && S_ISDIR(info.st_mode);
}

tn_status tnp_default_name(tn_ctx *ctx, const char *path, char **out)
{
    size_t end = file_length(path), begin;
    while (end > 1 && path[end - 1] == '/')
        --end;
    for (begin = end; begin > 0 && path[begin - 1] != '/';)
        --begin;
    const char *dot = memchr(path + begin, '.', end - begin);
    if (dot && dot != path + begin)
        end = (size_t)(dot - path);
    return tnp_utf8_copy(ctx, path + begin, end - begin, out);
}

bool tnp_path_is_array(const char *path)
{
    size_t n = file_length(path);
    return ends_with(path, n, ".npy") || ends_with(path, n, ".npz") || ends_with(path, n, ".safetensors") ||
           is_folder(path);
}

/* ---- filling ---- */

tn_status tnp_features_take(tn_ctx *ctx, tn_features *features, tnp_file **file, size_t *index)
{
    size_t n = features->file_count;
    tn_status st = TN_OK;
    if ((n & (n - 1)) == 0) /* space doubles when the count is a power of two */
        st = tnp_grow(ctx, &features->files, n, n ? 2 * n : 1, sizeof(tnp_file *));
    if (st != TN_OK)
        return st;
    features->files[n] = *file;
    features->file_count = n + 1;
    *file = NULL;
    *index = n;
    return TN_OK;
}

tn_status tnp_features_file(tn_ctx *ctx, tn_features *features, const char *path, size_t *index)
{
    tnp_file *file = NULL;
    tn_status st = tnp_file_open(ctx, path, &file);
    if (st == TN_OK)
        st = tnp_features_take(ctx, features, &file, index);
    tnp_file_close(file);
    return st;
}

const char *tnp_shape_text(const tnp_array *array, char buf[TNP_SHAPE_TEXT])
{
    size_t at = 1;
    buf[0] = '(';
    for (size_t i = 0; i < array->ndim; ++i)
        at += (size_t)snprintf(buf + at, TNP_SHAPE_TEXT - at, i ? ", %zu" : "%zu", array->shape[i]);
    snprintf(buf + at, TNP_SHAPE_TEXT - at, array->ndim == 1 ? ",)" : ")");
    return buf;
}

bool tnp_array_bytes(const tnp_array *array, size_t *bytes)
{
    size_t n = array->item;
    for (size_t i = 0; i < array->ndim; ++i) {
        if (array->shape[i] != 0 && n > SIZE_MAX / array->shape[i])
            return false;
        n *= array->shape[i];
    }
    *bytes = n;
    return true;
}

static bool is_wide(tn_dtype dtype)
{
    return dtype == TN_F64 || (!tnp_dtype_is_float(dtype) && tn_dtype_size(dtype) >= 4);
}

static tn_status add_part(tn_ctx *ctx, tn_features *features, const tnp_part *part, size_t cols)
{
    size_t n = features->part_count;
    if ((n & (n - 1)) == 0) {
        tn_status st = tnp_grow(ctx, &features->parts, n, n ? 2 * n : 1, sizeof *features->parts);
        if (st != TN_OK)
            return st;
    }
    if (n == 0 || tn_dtype_size(part->dtype) > tn_dtype_size(features->dtype))
        features->dtype = part->dtype;
    features->parts[n] = *part;
    features->part_count = n + 1;
    features->rows += part->rows;
    features->cols = cols;
    return TN_OK;
}

/* (rows), (rows, cols), or more dimensions of which all but one are 1, as pooled maps of networks have: (rows, cols, 1,
 * 1). */
static bool matrix_of(const tnp_array *array, size_t *rows, size_t *cols)
{
    size_t longer = 0;
    for (size_t i = 1; i < array->ndim; ++i) {
        longer += array->shape[i] != 1;
        *cols = array->shape[i] != 1 ? array->shape[i] : *cols;
    }
    *rows = array->ndim ? array->shape[0] : 0;
    return array->ndim != 0 && longer < 2;
}

tn_status tnp_features_add(tn_ctx *ctx, tn_features *features, const char *label, const tnp_array *array, size_t file)
{
    char shape[TNP_SHAPE_TEXT];
    if (array->text)
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "%s: holds text, expected numbers", label);
    size_t rows = 0, cols = 1;
    if (!matrix_of(array, &rows, &cols))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                        "%s: shape %s has %zu dimensions, expected (rows, columns): pool or flatten the others first",
                        label, tnp_shape_text(array, shape), array->ndim);
    if (cols == 0)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: shape %s has no columns", label, tnp_shape_text(array, shape));
    if (features->part_count != 0 && cols != features->cols)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu columns, but the shards before it have %zu", label, cols,
                        features->cols);
    if (features->part_count != 0 && tnp_dtype_is_float(array->dtype) != tnp_dtype_is_float(features->dtype))
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: type %s, but the shards before it have %s", label,
                        tn_dtype_name(array->dtype), tn_dtype_name(features->dtype));
    if (rows == 0)
        return TN_OK; /* an empty shard adds nothing; features without any row are refused at the end */
    tnp_part part = {.base = array->data,
                     .at = array->at,
                     .first = features->rows,
                     .rows = rows,
                     .row_step = (ptrdiff_t)(cols * array->item),
                     .col_step = (ptrdiff_t)array->item,
                     .dtype = array->dtype,
                     .swap = array->swap,
                     .file = file};
    if (array->fortran) {
        part.row_step = (ptrdiff_t)array->item;
        part.col_step = (ptrdiff_t)(rows * array->item);
    }
    return add_part(ctx, features, &part, cols);
}

tn_status tnp_features_add_missing(tn_ctx *ctx, tn_features *features, const char *label, const tnp_array *array)
{
    static const float nothing = NAN;
    tnp_array stands_in = *array;
    if (array->text || !tnp_dtype_is_float(array->dtype))
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: it ends too early, and rows of whole numbers cannot be left out",
                        label);
    stands_in.data = (const unsigned char *)&nothing;
    stands_in.dtype = TN_F32;
    stands_in.item = 0; /* the same element for all */
    stands_in.swap = false;
    return tnp_features_add(ctx, features, label, &stands_in, TNP_NO_FILE);
}

tn_status tnp_features_own(tn_ctx *ctx, tn_features *features, tn_dtype dtype, size_t rows, size_t cols)
{
    tn_array array = tn_array_compact(features->owned, dtype, rows, cols);
    return tnp_features_borrow(ctx, features, &array);
}

tn_status tnp_features_borrow(tn_ctx *ctx, tn_features *features, const tn_array *array)
{
    tnp_part part = {.base = array->data,
                     .rows = array->rows,
                     .row_step = array->row_stride,
                     .col_step = array->col_stride,
                     .dtype = array->dtype,
                     .swap = array->swapped,
                     .file = TNP_NO_FILE};
    return add_part(ctx, features, &part, array->cols);
}

/* ---- opening ---- */

static tn_status open_container(tn_ctx *ctx, tn_features *features, const char *file, const char *key)
{
    size_t n = strlen(file);
    struct stat info;
    if (stat(file, &info) != 0)
        return tnp_fail(ctx, TN_ERR_IO, "%s: %s", file, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return tnp_shards_open(ctx, features, file);
    if (ends_with(file, n, ".npy"))
        return tnp_npy_open(ctx, features, file);
    if (ends_with(file, n, ".npz"))
        return tnp_npz_open(ctx, features, file, key, true);
    if (ends_with(file, n, ".safetensors"))
        return tnp_safetensors_open(ctx, features, file, key);
    if (ends_with(file, n, ".fvecs"))
        return tnp_fvecs_open(ctx, features, file);
    if (ends_with(file, n, ".svm") || ends_with(file, n, ".libsvm"))
        return tnp_libsvm_open(ctx, features, file);
    if (ends_with(file, n, ".csv") || ends_with(file, n, ".tsv"))
        return tnp_csv_open(ctx, features, file);
    return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                    "%s: unknown suffix, expected .npy .npz .safetensors .fvecs .svm .libsvm .csv .tsv or a directory",
                    file);
}

tn_status tnp_features_new(tn_ctx *ctx, const char *path, const char *name, tn_features **out)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *features, &features));
    TN_TRY(tnp_strdup(ctx, path, &features->path));
    if (name)
        TN_TRY(tnp_utf8_copy(ctx, name, strlen(name), &features->name));
    else
        TN_TRY(tnp_default_name(ctx, path, &features->name));
    *out = features;
    features = NULL;
done:
    tn_features_close(features);
    return st;
}

static tn_status open_path(tn_ctx *ctx, const char *path, const char *name, bool sound_only, tn_features **out)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    char *file = NULL;
    const char *key = find_key(path);
    if (key && !*key)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: nothing after the colon, expected the name of an array", path);
    TN_TRY(tnp_features_new(ctx, path, name, &features));
    TN_TRY(tnp_strndup(ctx, path, file_length(path), &file));
    features->sound_only = sound_only;
    TN_TRY(open_container(ctx, features, file, key));
    if (features->rows == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no rows", path));
    *out = features;
    features = NULL;
done:
    tnp_free(file);
    tn_features_close(features);
    return st;
}

tn_status tnp_features_open_path(tn_ctx *ctx, const char *path, const char *name, tn_features **out)
{
    return open_path(ctx, path, name, false, out);
}

tn_status tnp_rep_split(tn_ctx *ctx, const char *rep, char **name, const char **path)
{
    bool whole = true;
    *path = rep;
    if (!rep || !*rep)
        return tnp_fail(ctx, TN_ERR_ARG, "representation: empty, expected [NAME=]PATH");
    const char *equals = strchr(rep, '=');
    tn_status st = equals && !memchr(rep, '/', (size_t)(equals - rep)) ? file_exists(ctx, rep, &whole) : TN_OK;
    if (st != TN_OK || whole)
        return st;
    *path = equals + 1;
    if (equals == rep || !**path)
        return tnp_fail(ctx, TN_ERR_ARG, "representation '%s': expected [NAME=]PATH", rep);
    return tnp_strndup(ctx, rep, (size_t)(equals - rep), name);
}

static tn_status open_rep(tn_ctx *ctx, const char *rep, bool sound_only, tn_features **out)
{
    char *name = NULL;
    const char *path = NULL;
    tn_status st = tnp_rep_split(ctx, rep, &name, &path);
    if (st == TN_OK)
        st = open_path(ctx, path, name, sound_only, out);
    tnp_free(name);
    return st;
}

tn_status tn_features_open(tn_ctx *ctx, const char *rep, tn_features **out)
{
    return open_rep(ctx, rep, false, out);
}

tn_status tn_features_open_sound(tn_ctx *ctx, const char *rep, tn_features **out)
{
    return open_rep(ctx, rep, true, out);
}

const char *tn_rep_file(const char *rep, char *buf, size_t size)
{
    const char *equals = strchr(rep, '=');
    struct stat info;
    snprintf(buf, size, "%.*s", (int)file_length(rep), rep);
    if (equals && !memchr(rep, '/', (size_t)(equals - rep)) && stat(buf, &info) != 0)
        snprintf(buf, size, "%.*s", (int)file_length(equals + 1), equals + 1);
    return buf;
}

void tn_features_close(tn_features *features)
{
    if (!features)
        return;
    if (features->producer.release)
        features->producer.release(features->producer.user);
    for (size_t i = 0; i < features->file_count; ++i)
        tnp_file_close(features->files[i]);
    tnp_free_all(features->files, features->parts, features->owned, features->ids, features->about, features->maker,
                 features->name, features->path, features);
}

/* ---- what features know ---- */

const char *tn_features_name(const tn_features *features)
{
    return features->name;
}

const char *tn_features_path(const tn_features *features)
{
    return features->path;
}

size_t tn_features_rows(const tn_features *features)
{
    return features->rows;
}

size_t tn_features_cols(const tn_features *features)
{
    return features->cols;
}

tn_dtype tn_features_dtype(const tn_features *features)
{
    return features->dtype;
}

const char *tn_features_format(const tn_features *features)
{
    return features->format;
}

const char *const *tn_features_ids(const tn_features *features)
{
    return (const char *const *)features->ids;
}

bool tn_features_is_wide(const tn_features *features)
{
    return is_wide(features->dtype);
}
