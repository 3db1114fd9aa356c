/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stratified folds: rows are shuffled once, then dealt class by class. */
#include "learn/folds.h"

tn_status tnp_folds_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t folds, size_t seed, uint32_t **out)
{
    tn_status st = TN_OK;
    uint32_t *fold = NULL;
    size_t *order = NULL, *first = NULL;
    tnp_rng rng;
    bool by_class = task == TN_TASK_MULTICLASS;
    if (folds < 2)
        return tnp_fail(ctx, TN_ERR_ARG, "--folds: got %zu, expected at least 2", folds);
    if (y->rows < folds)
        return tnp_fail(ctx, TN_ERR_DATA, "cross-validation: %zu rows for %zu folds, expected at least one a fold",
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
