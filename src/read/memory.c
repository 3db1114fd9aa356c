/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features that are not in files: a borrowed array, which is a part in memory and nothing else, and a producer, which
 * rows.c calls where it would read parts. Both go by their name in messages.
 *
 * A copy of the array was refused: bindings hand over arrays of many gigabytes. */
#include "read/features.h"

#include "matrix/convert.h"
#include "read/text.h"

#include <string.h>

tn_array tn_array_compact(const void *data, tn_dtype dtype, size_t rows, size_t cols)
{
    size_t size = tn_dtype_size(dtype);
    return (tn_array){.data = data,
                      .dtype = dtype,
                      .rows = rows,
                      .cols = cols,
                      .row_stride = (ptrdiff_t)(cols * size),
                      .col_stride = (ptrdiff_t)size};
}

static tn_status check_shape(tn_ctx *ctx, const char *name, size_t rows, size_t cols)
{
    if (!name || !*name)
        return tnp_fail(ctx, TN_ERR_ARG, "features from memory: no name, expected one");
    if (rows == 0 || cols == 0)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: %zu rows of %zu columns, expected at least one of both", name, rows,
                        cols);
    return TN_OK;
}

/* Bytes from the first of `count` elements to the last, or more than a pointer can walk. */
static bool can_reach(ptrdiff_t stride, size_t count)
{
    size_t step = stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride;
    return step == 0 || count - 1 <= (size_t)PTRDIFF_MAX / 2 / step;
}

tn_status tn_features_from_array(tn_ctx *ctx, const char *name, const tn_array *array, tn_features **out)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    TN_TRY(check_shape(ctx, name, array->rows, array->cols));
    if (!array->data)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "%s: the array has no data", name));
    if (tn_dtype_size(array->dtype) == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "%s: element type %d, expected one of tn_dtype", name, (int)array->dtype));
    if (!can_reach(array->row_stride, array->rows) || !can_reach(array->col_stride, array->cols))
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "%s: strides of %td and %td bytes leave the memory, for %zu rows, %zu columns",
                        name, array->row_stride, array->col_stride, array->rows, array->cols));
    TN_TRY(tnp_features_new(ctx, name, name, &features));
    features->format = "array";
    features->from_memory = true;
    TN_TRY(tnp_features_borrow(ctx, features, array));
    *out = features;
    features = NULL;
done:
    tn_features_close(features);
    return st;
}

tn_status tn_features_from_producer(tn_ctx *ctx, const char *name, const tn_producer *producer, tn_features **out)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    size_t bytes = 0;
    TN_TRY(check_shape(ctx, name, producer->rows, producer->cols));
    if (!producer->read)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "%s: the producer has no read", name));
    if (producer->dtype != TN_F32 && producer->dtype != TN_F64)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "%s: a producer of %s, expected float32 or float64", name,
                        tn_dtype_name(producer->dtype)));
    TN_TRY(tnp_mul(ctx, producer->cols, sizeof(double), &bytes));
    TN_TRY(tnp_features_new(ctx, name, name, &features));
    features->format = "producer";
    features->producer = *producer;
    features->from_memory = true;
    features->rows = producer->rows;
    features->cols = producer->cols;
    features->dtype = producer->dtype;
    *out = features;
done:
    return st;
}

tn_status tn_features_set_ids(tn_ctx *ctx, tn_features *features, const char *const *ids)
{
    char **copy = NULL;
    tn_status st = tnp_strings_copy(ctx, ids, features->rows, &copy);
    if (st != TN_OK)
        return st;
    tnp_free(features->ids);
    features->ids = copy;
    return TN_OK;
}

tn_status tn_features_set_about(tn_ctx *ctx, tn_features *features, const char *about)
{
    char *copy = NULL;
    tn_status st = tnp_strdup(ctx, about, &copy);
    if (st != TN_OK)
        return st;
    tnp_free(features->about);
    features->about = copy;
    return TN_OK;
}

tn_status tnp_features_set_maker(tn_ctx *ctx, tn_features *features, const void *bytes, size_t size)
{
    void *copy = NULL;
    tn_status st = tnp_alloc_raw(ctx, size, 1, &copy);
    if (st != TN_OK)
        return st;
    memcpy(copy, bytes, size);
    tnp_free(features->maker);
    features->maker = copy;
    features->maker_size = size;
    return TN_OK;
}

const char *tn_features_about(const tn_features *features)
{
    return features->about;
}
