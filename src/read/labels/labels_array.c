/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Labels from arrays of numbers, whatever they come from (.npy, npz and safetensors members, memory):
 *
 *   N or (N, 1) integers   multi-class: the distinct values but -1, ascending; -1 is unlabelled, less is an error
 *   (N, K) of 0 and 1      multi-label, classes "0" .. "K-1"; a row of zeros is labelled and has no class. With --task
 *                          multiclass every row must have one 1: the one-hot form of N integers
 *   floats                 whole numbers as integers, NaN of a vector as -1; others for regression only, where a row
 *                          with a NaN is unlabelled (its values stay NaN)
 *   text, .npy only        names, as lines of a text file: labels_words.c
 *
 * The array comes as features, so that every order, type and byte order that a representation may have works. */
#include "matrix/convert.h"
#include "read/labels/labels.h"
#include "read/features.h"

#include <inttypes.h>
#include <math.h>

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

static tn_status from_vector(tn_ctx *ctx, tn_labels *labels, const tn_features *features)
{
    tn_status st = TN_OK;
    int64_t *values = NULL;
    size_t rows = tn_features_rows(features);
    if (labels->task == TN_TASK_AUTO)
        labels->task = TN_TASK_MULTICLASS;
    TN_TRY(tnp_alloc(ctx, rows, sizeof *values, &values));
    TN_TRY(read_whole(ctx, features, 0, rows, values));
    for (size_t i = 0; i < rows; ++i)
        if (values[i] < -1)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu: class %" PRId64 " is out of range, expected -1 or more",
                            labels->path, i, values[i]));
    TN_TRY(tnp_labels_put_numbers(ctx, labels, values, rows));
done:
    tnp_free(values);
    return st;
}

static tn_status from_matrix(tn_ctx *ctx, tn_labels *labels, const tn_features *features)
{
    tn_status st = TN_OK;
    int64_t *values = NULL;
    uint32_t *scratch = NULL;
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features);
    size_t block = tnp_max(1, tnp_min(rows, BLOCK_VALUES / cols));
    if (labels->task == TN_TASK_AUTO)
        labels->task = TN_TASK_MULTILABEL;
    TN_TRY(tnp_labels_number(ctx, labels, NULL, cols));
    TN_TRY(tnp_labels_rows(ctx, labels, rows));
    TN_TRY(tnp_alloc_raw(ctx, block * cols, sizeof *values, &values));
    TN_TRY(tnp_alloc_raw(ctx, cols, sizeof *scratch, &scratch));
    for (size_t row = 0; row < rows; ++row) {
        if (row % block == 0)
            TN_TRY(read_whole(ctx, features, row, tnp_min(block, rows - row), values));
        TN_TRY(tnp_labels_put_marks(ctx, labels, row, values + row % block * cols, scratch));
    }
done:
    tnp_free_all(values, scratch);
    return st;
}

static tn_status from_values(tn_ctx *ctx, tn_labels *labels, const tn_features *features)
{
    tn_status st = TN_OK;
    labels->classes = tn_features_cols(features);
    TN_TRY(tnp_labels_rows(ctx, labels, tn_features_rows(features)));
    TN_TRY(tn_features_read_wide(ctx, features, NULL, 0, labels->rows, 0, labels->classes, labels->values));
    TN_TRY(tnp_labels_know_values(ctx, labels));
done:
    return st;
}

tn_status tnp_labels_from_features(tn_ctx *ctx, tn_labels *labels, const tn_features *features)
{
    tn_status st = TN_OK;
    if (labels->task == TN_TASK_REGRESSION)
        TN_TRY(from_values(ctx, labels, features));
    else if (tn_features_cols(features) == 1)
        TN_TRY(from_vector(ctx, labels, features));
    else
        TN_TRY(from_matrix(ctx, labels, features));
    if (tn_features_ids(features))
        TN_TRY(tn_labels_set_ids(ctx, labels, tn_features_ids(features)));
done:
    return st;
}
