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
        bool judged = row_fold[i] < folds;
        rows[judged ? row_fold[i] : 0] += judged;
        for (size_t p = y->first[i]; p < y->first[i + 1]; ++p) {
            inside[(judged ? row_fold[i] : 0) * k + y->cls[p]] += judged;
            ++all[y->cls[p]];
        }
    }
    for (size_t i = 0; i < y->rows; ++i)
        for (size_t c = 0; c < k; ++c) {
            size_t f = row_fold[i], outside = f < folds ? all[c] - inside[f * k + c] : 0;
            if (outside == 0 || outside == y->rows - rows[f])
                scores[i * k + c] = NAN;
        }
done:
    tnp_free_all(inside, all, rows);
    return st;
}

/* Rows in the order in which they are dealt: class by class, or all as one, each shuffled. order (rows). */
static tn_status deal(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t seed, size_t *order)
{
    tn_status st = TN_OK;
    size_t *shuffled = NULL, *first = NULL;
    tnp_rng rng;
    bool by_class = task == TN_TASK_MULTICLASS;
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *shuffled, &shuffled));
    TN_TRY(tnp_alloc(ctx, y->classes + 2, sizeof *first, &first));
    for (size_t i = 0; i < y->rows; ++i)
        shuffled[i] = i;
    tnp_rng_init(&rng, seed, 2);
    tnp_rng_shuffle(&rng, shuffled, y->rows);
    for (size_t i = 0; i < y->rows; ++i)
        ++first[(by_class ? y->cls[y->first[i]] : 0) + 1];
    for (size_t c = 1; c <= y->classes + 1; ++c)
        first[c] += first[c - 1];
    for (size_t i = 0; i < y->rows; ++i)
        order[first[by_class ? y->cls[y->first[shuffled[i]]] : 0]++] = shuffled[i];
done:
    tnp_free_all(shuffled, first);
    return st;
}

tn_status tnp_folds_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t folds, size_t seed, uint32_t **out)
{
    tn_status st = TN_OK;
    uint32_t *fold = NULL;
    size_t *order = NULL;
    if (folds < 2)
        return tnp_fail(ctx, TN_ERR_ARG, "option folds: got %zu, expected at least 2", folds);
    if (y->rows < folds)
        return tnp_fail(ctx, TN_ERR_DATA, "cross-validation: %zu rows for %zu folds, expected at least one per fold",
                        y->rows, folds);
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *fold, &fold));
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *order, &order));
    TN_TRY(deal(ctx, y, task, seed, order));
    for (size_t p = 0; p < y->rows; ++p)
        fold[order[p]] = (uint32_t)(p % folds);
    *out = fold;
    fold = NULL;
done:
    tnp_free_all(fold, order);
    return st;
}

/* Of the rows order[0..count), from place p of the deal on, those where p share + 1/2 passes a whole number, but `keep`
 * at least are not. */
static size_t hold_out(const size_t *order, size_t p, size_t count, double share, size_t keep, uint32_t *fold)
{
    size_t held = 0;
    for (size_t i = 0; i < count && held + keep < count; ++i)
        if (floor((double)(p + i + 1) * share + 0.5) > floor((double)(p + i) * share + 0.5)) {
            fold[order[i]] = 0;
            ++held;
        }
    return held;
}

tn_status tnp_holdout_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, double share, size_t seed, uint32_t **out,
                          size_t *held)
{
    tn_status st = TN_OK;
    uint32_t *fold = NULL;
    size_t *order = NULL, n = 0, least = task == TN_TASK_REGRESSION ? 2 : 1;
    bool by_class = task == TN_TASK_MULTICLASS;
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *fold, &fold));
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *order, &order));
    TN_TRY(deal(ctx, y, task, seed, order));
    for (size_t i = 0; i < y->rows; ++i)
        fold[i] = TNP_NO_FOLD;
    for (size_t p = 0, end; p < y->rows; p = end) {
        for (end = p; end < y->rows;) { /* the rows of a class */
            bool same = !by_class || y->cls[y->first[order[end]]] == y->cls[y->first[order[p]]];
            if (!same)
                break;
            ++end;
        }
        n += hold_out(order + p, p, end - p, share, 1, fold);
    }
    if (n < least)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "option holdout %g: of %zu rows %zu can be held out, expected at least %zu; a class keeps one "
                        "row to train on",
                        share, y->rows, n, least));
    *out = fold;
    *held = n;
    fold = NULL;
done:
    tnp_free_all(fold, order);
    return st;
}
