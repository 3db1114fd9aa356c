/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stratified folds: rows are shuffled once, then dealt class by class. */
#include "learn/head/folds.h"

#include <math.h>

/* Whether some class can be in both parts of the rows and, for other tasks than multi-class, out of both. */
static bool some_class_splits(const tnp_targets *y, tn_task task, const size_t *sizes)
{
    for (size_t c = 0; c < y->classes; ++c)
        if (sizes[c] >= 2 && (task == TN_TASK_MULTICLASS || y->rows - sizes[c] >= 2))
            return true;
    return false;
}

tn_status tnp_folds_for(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t asked, size_t *folds)
{
    enum { FEW = 10 }; /* more folds than that many rows is a slip of the user's, not a lack of rows */
    size_t *sizes = NULL;
    if (asked > y->rows && y->rows >= FEW) {
        *folds = asked;
        return TN_OK;
    }
    if (task == TN_TASK_REGRESSION) { /* R^2 needs two rows in a fold */
        *folds = y->rows >= 4 ? tnp_min(asked, y->rows / 2) : 0;
        return TN_OK;
    }
    tn_status st = tnp_alloc(ctx, y->classes, sizeof *sizes, &sizes);
    if (st != TN_OK)
        return st;
    for (size_t p = 0; p < y->first[y->rows]; ++p)
        ++sizes[y->cls[p]];
    *folds = some_class_splits(y, task, sizes) ? tnp_min(asked, y->rows) : 0;
    tnp_free(sizes);
    return TN_OK;
}

tn_status tnp_folds_hide(tn_ctx *ctx, const tnp_targets *y, const uint32_t *row_fold, size_t folds, float *scores)
{
    tn_status st = TN_OK;
    size_t *inside = NULL, *all = NULL, *rows = NULL,
           k = y->classes; /* positives (folds, classes), (classes); (folds) */
    TN_TRY(tnp_alloc(ctx, folds * k, sizeof *inside, &inside));
    TN_TRY(tnp_alloc(ctx, k, sizeof *all, &all));
    TN_TRY(tnp_alloc(ctx, folds, sizeof *rows, &rows));
    for (size_t i = 0; i < y->rows; ++i) {
        ++rows[row_fold[i]];
        for (size_t p = y->first[i]; p < y->first[i + 1]; ++p) {
            ++inside[row_fold[i] * k + y->cls[p]];
            ++all[y->cls[p]];
        }
    }
    for (size_t i = 0; i < y->rows; ++i)
        for (size_t c = 0; c < k; ++c) {
            size_t outside = all[c] - inside[row_fold[i] * k + c];
            if (outside == 0 || outside == y->rows - rows[row_fold[i]])
                scores[i * k + c] = NAN;
        }
done:
    tnp_free(inside);
    tnp_free(all);
    tnp_free(rows);
    return st;
}

tn_status tnp_folds_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t folds, size_t seed, uint32_t **out)
{
    tn_status st = TN_OK;
    uint32_t *fold = NULL;
    size_t *order = NULL, *first = NULL;
    tnp_rng rng;
    bool by_class = task == TN_TASK_MULTICLASS;
    if (folds < 2)
        return tnp_fail(ctx, TN_ERR_ARG, "option folds: got %zu, expected at least 2", folds);
    if (y->rows < folds)
        return tnp_fail(ctx, TN_ERR_DATA, "cross-validation: %zu rows for %zu folds, expected at least one per fold",
                        y->rows, folds);
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *fold, &fold));
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *order, &order));
    TN_TRY(tnp_alloc(ctx, y->classes + 2, sizeof *first, &first));
    for (size_t i = 0; i < y->rows; ++i)
        order[i] = i;
    tnp_rng_init(&rng, seed, 2);
    tnp_rng_shuffle(&rng, order, y->rows);
    /* A row's place in the deal: rows of earlier classes, then rows of its own class earlier in the shuffle. */
    for (size_t i = 0; i < y->rows; ++i)
        ++first[(by_class ? y->cls[y->first[i]] : 0) + 1];
    for (size_t c = 1; c <= y->classes + 1; ++c)
        first[c] += first[c - 1];
    for (size_t i = 0; i < y->rows; ++i) {
        size_t row = order[i], c = by_class ? y->cls[y->first[row]] : 0;
        fold[row] = (uint32_t)(first[c]++ % folds);
    }
    *out = fold;
    fold = NULL;
done:
    tnp_free(fold);
    tnp_free(order);
    tnp_free(first);
    return st;
}
