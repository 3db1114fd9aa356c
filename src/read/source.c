/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Representations: the REP text, the choice of reader, what a source knows about itself. Reading rows is rows.c.
 *
 *   REP  = [NAME=]PATH          NAME has no '/'; a file whose name is the whole text wins over the split
 *   PATH = file | file.npz:key | file.safetensors:key | folder
 *
 * The reader is chosen by suffix, not by magic bytes: a wrong file under a right name is then reported as
 * damaged at byte 0 instead of being taken for something else. */
#define _POSIX_C_SOURCE 200809L
#include "read/source.h"

#include "matrix/convert.h"
#include "read/text.h"

#include <errno.h>
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

tn_status tnp_source_take(tn_ctx *ctx, tn_source *src, tnp_file **file, size_t *index)
{
    size_t n = src->file_count;
    tn_status st = TN_OK;
    if ((n & (n - 1)) == 0) /* room doubles when the count is a power of two */
        st = tnp_grow(ctx, &src->files, n, n ? 2 * n : 1, sizeof(tnp_file *));
    if (st != TN_OK)
        return st;
    src->files[n] = *file;
    src->file_count = n + 1;
    *file = NULL;
    *index = n;
    return TN_OK;
}

tn_status tnp_source_file(tn_ctx *ctx, tn_source *src, const char *path, size_t *index)
{
    tnp_file *file = NULL;
    tn_status st = tnp_file_open(ctx, path, &file);
    if (st == TN_OK)
        st = tnp_source_take(ctx, src, &file, index);
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

static tn_status add_part(tn_ctx *ctx, tn_source *src, const tnp_part *part, size_t cols)
{
    size_t n = src->part_count;
    if ((n & (n - 1)) == 0) {
        tn_status st = tnp_grow(ctx, &src->parts, n, n ? 2 * n : 1, sizeof *src->parts);
        if (st != TN_OK)
            return st;
    }
    if (n == 0 || tn_dtype_size(part->dtype) > tn_dtype_size(src->dtype))
        src->dtype = part->dtype;
    src->parts[n] = *part;
    src->part_count = n + 1;
    src->rows += part->rows;
    src->cols = cols;
    return TN_OK;
}

/* (rows), (rows, cols), or more dimensions of which all but one are 1, as pooled maps of networks have: (rows, cols, 1, 1). */
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

tn_status tnp_source_add(tn_ctx *ctx, tn_source *src, const char *label, const tnp_array *array, size_t file)
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
    if (src->part_count != 0 && cols != src->cols)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu columns, but the shards before it have %zu", label, cols,
                        src->cols);
    if (src->part_count != 0 && tnp_dtype_is_float(array->dtype) != tnp_dtype_is_float(src->dtype))
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: type %s, but the shards before it have %s", label,
                        tn_dtype_name(array->dtype), tn_dtype_name(src->dtype));
    if (rows == 0)
        return TN_OK; /* an empty shard adds nothing; a source without any row is refused at the end */
    tnp_part part = {.base = array->data,
                     .at = array->at,
                     .first = src->rows,
                     .rows = rows,
                     .row_step = cols * array->item,
                     .col_step = array->item,
                     .dtype = array->dtype,
                     .swap = array->swap,
                     .file = file};
    if (array->fortran) {
        part.row_step = array->item;
        part.col_step = rows * array->item;
    }
    return add_part(ctx, src, &part, cols);
}

tn_status tnp_source_own(tn_ctx *ctx, tn_source *src, tn_dtype dtype, size_t rows, size_t cols)
{
    size_t size = tn_dtype_size(dtype);
    tnp_part part = {.base = src->owned,
                     .rows = rows,
                     .row_step = cols * size,
                     .col_step = size,
                     .dtype = dtype,
                     .file = TNP_NO_FILE};
    return add_part(ctx, src, &part, cols);
}

/* ---- opening ---- */

static tn_status open_container(tn_ctx *ctx, tn_source *src, const char *file, const char *key)
{
    size_t n = strlen(file);
    struct stat info;
    if (stat(file, &info) != 0)
        return tnp_fail(ctx, TN_ERR_IO, "%s: %s", file, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return tnp_shards_open(ctx, src, file);
    if (ends_with(file, n, ".npy"))
        return tnp_npy_open(ctx, src, file);
    if (ends_with(file, n, ".npz"))
        return tnp_npz_open(ctx, src, file, key);
    if (ends_with(file, n, ".safetensors"))
        return tnp_safetensors_open(ctx, src, file, key);
    if (ends_with(file, n, ".fvecs"))
        return tnp_fvecs_open(ctx, src, file);
    if (ends_with(file, n, ".svm") || ends_with(file, n, ".libsvm"))
        return tnp_libsvm_open(ctx, src, file);
    if (ends_with(file, n, ".csv") || ends_with(file, n, ".tsv"))
        return tnp_csv_open(ctx, src, file);
    return tnp_fail(ctx, TN_ERR_UNSUPPORTED,
                    "%s: unknown suffix, expected .npy .npz .safetensors .fvecs .svm .libsvm .csv .tsv or a directory",
                    file);
}

tn_status tnp_source_open_path(tn_ctx *ctx, const char *path, const char *name, tn_source **out)
{
    tn_status st = TN_OK;
    tn_source *src = NULL;
    char *file = NULL;
    const char *key = find_key(path);
    if (key && !*key)
        return tnp_fail(ctx, TN_ERR_ARG, "%s: nothing after the colon, expected the name of an array", path);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *src, &src));
    TN_TRY(tnp_strdup(ctx, path, &src->path));
    if (name)
        TN_TRY(tnp_utf8_copy(ctx, name, strlen(name), &src->name));
    else
        TN_TRY(tnp_default_name(ctx, path, &src->name));
    TN_TRY(tnp_strndup(ctx, path, file_length(path), &file));
    TN_TRY(open_container(ctx, src, file, key));
    if (src->rows == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: no rows", path));
    *out = src;
    src = NULL;
done:
    tnp_free(file);
    tn_source_close(src);
    return st;
}

tn_status tn_source_open(tn_ctx *ctx, const char *rep, tn_source **out)
{
    tn_status st = TN_OK;
    char *name = NULL;
    bool whole = true;
    if (!rep || !*rep)
        return tnp_fail(ctx, TN_ERR_ARG, "representation: empty, expected [NAME=]PATH");
    const char *equals = strchr(rep, '='), *path = rep;
    if (equals && !memchr(rep, '/', (size_t)(equals - rep)))
        TN_TRY(file_exists(ctx, rep, &whole));
    if (!whole) {
        path = equals + 1;
        if (equals == rep || !*path)
            TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "representation '%s': expected [NAME=]PATH", rep));
        TN_TRY(tnp_strndup(ctx, rep, (size_t)(equals - rep), &name));
    }
    TN_TRY(tnp_source_open_path(ctx, path, name, out));
done:
    tnp_free(name);
    return st;
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

void tn_source_close(tn_source *src)
{
    if (!src)
        return;
    for (size_t i = 0; i < src->file_count; ++i)
        tnp_file_close(src->files[i]);
    tnp_free(src->files);
    tnp_free(src->parts);
    tnp_free(src->owned);
    tnp_free(src->book.table);
    tnp_free(src->ids);
    tnp_free(src->name);
    tnp_free(src->path);
    tnp_free(src);
}

/* ---- what a source knows ---- */

const char *tn_source_name(const tn_source *src)
{
    return src->name;
}

const char *tn_source_path(const tn_source *src)
{
    return src->path;
}

size_t tn_source_rows(const tn_source *src)
{
    return src->rows;
}

size_t tn_source_cols(const tn_source *src)
{
    return src->cols;
}

tn_dtype tn_source_dtype(const tn_source *src)
{
    return src->dtype;
}

const char *tn_source_format(const tn_source *src)
{
    return src->format;
}

const char *const *tn_source_ids(const tn_source *src)
{
    return (const char *const *)src->ids;
}

bool tn_source_is_wide(const tn_source *src)
{
    return is_wide(src->dtype);
}
