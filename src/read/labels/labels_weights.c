/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights of rows in training, from memory or from a file of one column. They stand with the labels, which are the
 * other fact that a training has of each row: whoever gets the labels has them, and nothing behind the reading opens a
 * file. An option of the learners was refused: it would be a path, or an array without the rows it belongs to. Whether
 * a weight is a number from 0 up is asked where it is used (learn/head/task_weight.c): rows that do not take part may
 * hold anything. */
#include "read/features.h"
#include "read/labels/labels.h"

#include <string.h>

/* Takes weights and path over, both or neither NULL. */
static void take(tn_labels *labels, double *weights, char *path)
{
    tnp_free_all(labels->weights, labels->weights_path);
    labels->weights = weights;
    labels->weights_path = path;
}

tn_status tn_labels_set_weights(tn_ctx *ctx, tn_labels *labels, const double *weights, size_t count)
{
    static const char in_memory[] = "weights in memory";
    tn_status st = TN_OK;
    double *copy = NULL;
    char *path = NULL;
    if (!weights) {
        take(labels, NULL, NULL);
        return TN_OK;
    }
    if (count != labels->rows)
        return tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu of them, expected one weight for each of %zu rows", in_memory,
                        count, labels->rows);
    TN_TRY(tnp_strdup(ctx, in_memory, &path));
    TN_TRY(tnp_alloc_raw(ctx, count, sizeof *copy, &copy));
    memcpy(copy, weights, count * sizeof *copy);
    take(labels, copy, path);
    path = NULL;
done:
    tnp_free(path);
    return st;
}

tn_status tn_labels_open_weights(tn_ctx *ctx, tn_labels *labels, const char *rep)
{
    tn_status st = TN_OK;
    tn_features *features = NULL;
    double *weights = NULL;
    char *path = NULL;
    TN_TRY(tn_features_open(ctx, rep, &features));
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features);
    if (cols != 1 || rows != labels->rows)
        TN_TRY(tnp_fail(ctx, TN_ERR_SHAPE, "%s: %zu x %zu, expected one weight for each of %zu rows", rep, rows, cols,
                        labels->rows));
    TN_TRY(tnp_alloc_raw(ctx, rows, sizeof *weights, &weights));
    TN_TRY(tn_features_read_wide(ctx, features, NULL, 0, rows, 0, 1, weights));
    TN_TRY(tnp_strdup(ctx, rep, &path));
    take(labels, weights, path);
    weights = NULL;
done:
    tnp_free(weights);
    tn_features_close(features);
    return st;
}
