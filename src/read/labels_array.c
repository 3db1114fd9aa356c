/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from arrays (.npy, npz and safetensors members):
 *
 *   N or (N, 1) integers   multi-class: the distinct values but -1, ascending; -1 is unlabelled, less is an error
 *   (N, K) of 0 and 1      multi-label, classes "0" .. "K-1"; a row of zeros is labelled and has no class
 *   floats                 regression only; a row with a NaN is unlabelled (its values stay NaN)
 *
 * The array is opened as a source, so every order, type and byte order that a representation may have works. */
#include "matrix/convert.h"
#include "read/labels.h"
#include "read/source.h"
#include "read/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Column c of rows [row, row + n) of one part, or with `along` n columns of one row. */
static tn_status read_ints(tn_ctx *ctx, const tn_source *src, const tnp_part *part, size_t row, bool along, size_t n,
                           int64_t *out)
{
    const unsigned char *in = part->base + row * part->row_step;
    size_t fit = tnp_to_int64(part->dtype, part->swap, in, along ? part->col_step : part->row_step, n, out);
    if (fit != n)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: value is above %" PRId64, src->path,
                        part->first + row + (along ? 0 : fit), INT64_MAX);
    return TN_OK;
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Names from sorted distinct values. */
static tn_status name_values(tn_ctx *ctx, tn_labels *labels, const int64_t *distinct, size_t count)
{
    char *text = NULL, digits[24];
    tn_status st = tnp_strings_new(ctx, count, count * sizeof digits, &labels->names, &text);
    for (size_t i = 0; st == TN_OK && i < count; ++i) {
        int n = snprintf(digits, sizeof digits, "%" PRId64, distinct[i]);
        labels->names[i] = tnp_strings_put(&text, (tnp_span){digits, (size_t)n});
    }
    labels->classes = count;
    return st;
}

static tn_status assign(tn_ctx *ctx, tn_labels *labels, const int64_t *values, const int64_t *distinct)
{
    tn_status st = tnp_alloc(ctx, labels->rows, sizeof *labels->cls, &labels->cls);
    size_t n = 0;
    for (size_t i = 0; st == TN_OK && i < labels->rows; ++i) {
        labels->known[i] = values[i] != -1;
        if (labels->known[i]) {
            const int64_t *place = bsearch(&values[i], distinct, labels->classes, sizeof *distinct, compare_values);
            labels->cls[n++] = (uint32_t)(place - distinct);
        }
        labels->first[i + 1] = n;
    }
    return st;
}

static tn_status from_vector(tn_ctx *ctx, tn_labels *labels, const tn_source *src)
{
    tn_status st = TN_OK;
    int64_t *values = NULL, *distinct = NULL;
    size_t labelled = 0, count = 0;
    if (labels->task == TN_TASK_AUTO)
        labels->task = TN_TASK_MULTICLASS;
    TN_TRY(tnp_labels_rows(ctx, labels, src->rows));
    TN_TRY(tnp_alloc(ctx, src->rows, sizeof *values, &values));
    TN_TRY(tnp_alloc(ctx, src->rows, sizeof *distinct, &distinct));
    for (size_t p = 0; p < src->part_count; ++p)
        TN_TRY(read_ints(ctx, src, &src->parts[p], 0, false, src->parts[p].rows, values + src->parts[p].first));
    for (size_t i = 0; i < src->rows; ++i) {
        if (values[i] < -1)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: class %" PRId64 " is out of range, expected -1 or more",
                            src->path, i, values[i]));
        if (values[i] != -1)
            distinct[labelled++] = values[i];
    }
    if (labelled == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: every row is unlabelled", src->path));
    qsort(distinct, labelled, sizeof *distinct, compare_values);
    for (size_t i = 0; i < labelled; ++i)
        if (count == 0 || distinct[count - 1] != distinct[i])
            distinct[count++] = distinct[i];
    if (count > TNP_MAX_CLASSES)
        TN_TRY(
            tnp_fail(ctx, TN_ERR_DATA, "%s: %zu classes, at most %d are handled", src->path, count, TNP_MAX_CLASSES));
    TN_TRY(name_values(ctx, labels, distinct, count));
    TN_TRY(assign(ctx, labels, values, distinct));
done:
    tnp_free(values);
    tnp_free(distinct);
    return st;
}

/* Reads every row of an (N, K) 0/1 array; counts the positives, and stores them when cls is there. */
static tn_status walk_matrix(tn_ctx *ctx, tn_labels *labels, const tn_source *src, int64_t *row)
{
    size_t n = 0;
    for (size_t p = 0; p < src->part_count; ++p)
        for (size_t i = 0; i < src->parts[p].rows; ++i) {
            size_t place = src->parts[p].first + i;
            tn_status st = read_ints(ctx, src, &src->parts[p], i, true, src->cols, row);
            if (st != TN_OK)
                return st;
            for (size_t k = 0; k < src->cols; ++k) {
                if (row[k] != 0 && row[k] != 1)
                    return tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu, column %zu: value %" PRId64 ", expected 0 or 1",
                                    src->path, place, k, row[k]);
                if (row[k] && labels->cls)
                    labels->cls[n] = (uint32_t)k;
                n += row[k] != 0;
            }
            labels->known[place] = true;
            labels->first[place + 1] = n;
        }
    return TN_OK;
}

static tn_status from_matrix(tn_ctx *ctx, tn_labels *labels, const tn_source *src)
{
    tn_status st = TN_OK;
    int64_t *row = NULL;
    if (labels->task == TN_TASK_MULTICLASS)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: %zu columns, multiclass labels need one", src->path, src->cols);
    if (src->cols > TNP_MAX_CLASSES)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: %zu classes, at most %d are handled", src->path, src->cols,
                        TNP_MAX_CLASSES);
    labels->task = TN_TASK_MULTILABEL;
    TN_TRY(tnp_labels_rows(ctx, labels, src->rows));
    TN_TRY(tnp_alloc(ctx, src->cols, sizeof *row, &row));
    TN_TRY(walk_matrix(ctx, labels, src, row));
    TN_TRY(tnp_labels_number(ctx, labels, src->cols));
    TN_TRY(tnp_alloc(ctx, labels->first[src->rows], sizeof *labels->cls, &labels->cls));
    TN_TRY(walk_matrix(ctx, labels, src, row));
done:
    tnp_free(row);
    return st;
}

static tn_status from_numbers(tn_ctx *ctx, tn_labels *labels, const tn_source *src)
{
    tn_status st = TN_OK;
    bool any = false;
    labels->classes = src->cols;
    TN_TRY(tnp_labels_rows(ctx, labels, src->rows));
    TN_TRY(tn_source_read_wide(ctx, src, NULL, 0, src->rows, 0, src->cols, labels->values));
    for (size_t i = 0; i < src->rows; ++i) {
        labels->known[i] = true;
        for (size_t k = 0; k < src->cols; ++k) {
            double value = labels->values[i * src->cols + k];
            if (isinf(value))
                TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu, column %zu: value is infinite", src->path, i, k));
            if (isnan(value))
                labels->known[i] = false;
        }
        any = any || labels->known[i];
    }
    if (!any)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: every row is unlabelled", src->path));
    if (src->cols == 1)
        TN_TRY(tnp_strings_copy(ctx, (const char *[]){"value"}, 1, &labels->names));
    else
        TN_TRY(tnp_labels_number(ctx, labels, src->cols));
done:
    return st;
}

tn_status tnp_labels_from_array(tn_ctx *ctx, tn_labels *labels)
{
    tn_status st = TN_OK;
    tn_source *src = NULL;
    TN_TRY(tnp_source_open_path(ctx, labels->path, NULL, &src));
    if (labels->task == TN_TASK_REGRESSION)
        TN_TRY(from_numbers(ctx, labels, src));
    else if (tnp_dtype_is_float(src->dtype))
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: labels are %s, expected integers, or give --task regression", src->path,
                        tn_dtype_name(src->dtype)));
    else if (src->cols == 1)
        TN_TRY(from_vector(ctx, labels, src));
    else
        TN_TRY(from_matrix(ctx, labels, src));
    labels->ids = src->ids; /* handed over */
    src->ids = NULL;
done:
    tn_source_close(src);
    return st;
}
