/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from arrays (.npy, npz and safetensors members):
 *
 *   N or (N, 1) integers   multi-class: the distinct values but -1, ascending; -1 is unlabelled, less is an error
 *   (N, K) of 0 and 1      multi-label, classes "0" .. "K-1"; a row of zeros is labelled and has no class. With --task
 *                          multiclass every row must have one 1: the one-hot form of N integers
 *   floats                 whole numbers as integers, NaN of a vector as -1; others for regression only, where a row with a
 *                          NaN is unlabelled (its values stay NaN)
 *   text, .npy only        names, as lines of a text file: labels_words.c
 *
 * The array is opened as a source, so every order, type and byte order that a representation may have works. */
#include "matrix/convert.h"
#include "read/labels/labels.h"
#include "read/features.h"
#include "read/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK_VALUES = 1 << 16 };

/* Beyond this a double may stand for another whole number than was meant. */
static const double LARGEST_WHOLE = 9007199254740992.0;

/* Rows [start, start + count) of floats that are whole numbers, (count, cols) compact; NaN becomes -1. */
static tn_status read_floats(tn_ctx *ctx, const tn_features *features, size_t start, size_t count, int64_t *out)
{
    tn_status st = TN_OK;
    double *wide = NULL;
    TN_TRY(tnp_alloc_raw(ctx, count * features->cols, sizeof *wide, &wide));
    TN_TRY(tn_features_read_wide(ctx, features, NULL, start, count, 0, features->cols, wide));
    for (size_t i = 0; i < count * features->cols; ++i) {
        if (!isnan(wide[i]) && (wide[i] != floor(wide[i]) || fabs(wide[i]) > LARGEST_WHOLE))
            TN_TRY(tnp_fail(
                ctx, TN_ERR_DATA,
                "%s: row %zu: %.6g is not a whole number that names a class; for values give option task regression",
                features->path, start + i / features->cols, wide[i]));
        out[i] = isnan(wide[i]) ? -1 : (int64_t)wide[i];
    }
done:
    tnp_free(wide);
    return st;
}

static tn_status read_whole(tn_ctx *ctx, const tn_features *features, size_t start, size_t count, int64_t *out)
{
    return tnp_dtype_is_float(features->dtype) ? read_floats(ctx, features, start, count, out)
                                               : tnp_features_read_ints(ctx, features, start, count, out);
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

static tn_status from_vector(tn_ctx *ctx, tn_labels *labels, const tn_features *features)
{
    tn_status st = TN_OK;
    int64_t *values = NULL, *distinct = NULL;
    size_t labelled = 0, count = 0;
    if (labels->task == TN_TASK_AUTO)
        labels->task = TN_TASK_MULTICLASS;
    TN_TRY(tnp_labels_rows(ctx, labels, features->rows));
    TN_TRY(tnp_alloc(ctx, features->rows, sizeof *values, &values));
    TN_TRY(tnp_alloc(ctx, features->rows, sizeof *distinct, &distinct));
    TN_TRY(read_whole(ctx, features, 0, features->rows, values));
    for (size_t i = 0; i < features->rows; ++i) {
        if (values[i] < -1)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: class %" PRId64 " is out of range, expected -1 or more",
                            features->path, i, values[i]));
        if (values[i] != -1)
            distinct[labelled++] = values[i];
    }
    if (labelled == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: every row is unlabelled", features->path));
    qsort(distinct, labelled, sizeof *distinct, compare_values);
    for (size_t i = 0; i < labelled; ++i)
        if (count == 0 || distinct[count - 1] != distinct[i])
            distinct[count++] = distinct[i];
    if (count > TNP_MAX_CLASSES)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: %zu classes, at most %d are handled", features->path, count,
                        TNP_MAX_CLASSES));
    TN_TRY(name_values(ctx, labels, distinct, count));
    TN_TRY(assign(ctx, labels, values, distinct));
done:
    tnp_free(values);
    tnp_free(distinct);
    return st;
}

/* Reads every row of an (N, K) 0/1 array, a block at a time; counts the positives, and stores them when cls is there, for
 * `most` of them. */
static tn_status walk_matrix(tn_ctx *ctx, tn_labels *labels, const tn_features *features, size_t block, size_t most,
                             int64_t *values)
{
    tn_status st = TN_OK;
    size_t n = 0;
    for (size_t row = 0; row < features->rows; ++row) {
        const int64_t *has = values + row % block * features->cols;
        if (row % block == 0)
            TN_TRY(read_whole(ctx, features, row, tnp_min(block, features->rows - row), values));
        for (size_t k = 0; k < features->cols; ++k) {
            if (has[k] != 0 && has[k] != 1)
                TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu, column %zu: value %" PRId64 ", expected 0 or 1",
                                features->path, row, k, has[k]));
            if (has[k] && n == most)
                TN_TRY(
                    tnp_fail(ctx, TN_ERR_IO, "%s: changed while it was read: more labels than before", features->path));
            if (has[k] && labels->cls)
                labels->cls[n] = (uint32_t)k;
            n += has[k] != 0;
        }
        labels->known[row] = true;
        labels->first[row + 1] = n;
    }
done:
    return st;
}

/* For --task multiclass: one column a row. */
static tn_status check_one_hot(tn_ctx *ctx, const tn_labels *labels)
{
    for (size_t row = 0; row < labels->rows; ++row)
        if (labels->first[row + 1] - labels->first[row] != 1)
            return tnp_fail(ctx, TN_ERR_DATA,
                            "%s: row %zu has %zu of the %zu classes, expected one, as option task multiclass was given",
                            labels->path, row, labels->first[row + 1] - labels->first[row], labels->classes);
    return TN_OK;
}

static tn_status from_matrix(tn_ctx *ctx, tn_labels *labels, const tn_features *features)
{
    tn_status st = TN_OK;
    int64_t *values = NULL;
    size_t block = tnp_max(1, tnp_min(features->rows, BLOCK_VALUES / features->cols));
    if (features->cols > TNP_MAX_CLASSES)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: %zu classes, at most %d are handled", features->path, features->cols,
                        TNP_MAX_CLASSES);
    if (labels->task == TN_TASK_AUTO)
        labels->task = TN_TASK_MULTILABEL;
    TN_TRY(tnp_labels_rows(ctx, labels, features->rows));
    TN_TRY(tnp_alloc_raw(ctx, block * features->cols, sizeof *values, &values));
    TN_TRY(walk_matrix(ctx, labels, features, block, SIZE_MAX, values));
    TN_TRY(tnp_labels_number(ctx, labels, features->cols));
    TN_TRY(tnp_alloc(ctx, labels->first[features->rows], sizeof *labels->cls, &labels->cls));
    TN_TRY(walk_matrix(ctx, labels, features, block, labels->first[features->rows], values));
    if (labels->task == TN_TASK_MULTICLASS)
        TN_TRY(check_one_hot(ctx, labels));
done:
    tnp_free(values);
    return st;
}

static tn_status from_numbers(tn_ctx *ctx, tn_labels *labels, const tn_features *features)
{
    tn_status st = TN_OK;
    bool any = false;
    labels->classes = features->cols;
    TN_TRY(tnp_labels_rows(ctx, labels, features->rows));
    TN_TRY(tn_features_read_wide(ctx, features, NULL, 0, features->rows, 0, features->cols, labels->values));
    for (size_t i = 0; i < features->rows; ++i) {
        labels->known[i] = true;
        for (size_t k = 0; k < features->cols; ++k) {
            double value = labels->values[i * features->cols + k];
            if (isinf(value))
                TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu, column %zu: value is infinite", features->path, i, k));
            if (isnan(value))
                labels->known[i] = false;
        }
        any = any || labels->known[i];
    }
    if (!any)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: every row is unlabelled", features->path));
    if (features->cols == 1)
        TN_TRY(tnp_strings_copy(ctx, (const char *[]){"value"}, 1, &labels->names));
    else
        TN_TRY(tnp_labels_number(ctx, labels, features->cols));
done:
    return st;
}

tn_status tnp_labels_from_array(tn_ctx *ctx, tn_labels *labels)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    bool words = false;
    TN_TRY(tnp_labels_from_words(ctx, labels, &words));
    if (words)
        return TN_OK;
    TN_TRY(tnp_features_open_path(ctx, labels->path, NULL, &features));
    if (labels->task == TN_TASK_REGRESSION)
        TN_TRY(from_numbers(ctx, labels, features));
    else if (features->cols == 1)
        TN_TRY(from_vector(ctx, labels, features));
    else
        TN_TRY(from_matrix(ctx, labels, features));
    labels->ids = features->ids; /* handed over */
    features->ids = NULL;
done:
    tn_features_close(features);
    return st;
}
