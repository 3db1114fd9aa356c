/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A training without a fold may give the rows of the fold the weight 0, and multiply them all the same: a fifth of its
 * work with five folds. A copy of the other rows costs less than one product with a few classes. Up to MOST bytes are
 * copied: beyond, the memory is worth more than the fifth. */
#include "learn/linear/fold_rows.h"

#include <string.h>

static const size_t MOST = 1 << 29;

size_t tnp_fold_rows_bytes(size_t rows, size_t dim)
{
    return rows * 4 * (dim + 8);
}

bool tnp_fold_rows_pay(const tn_ctx *ctx, const tnp_linear *l, const float *weight, size_t besides)
{
    size_t rows = l->task->y.rows, bytes = tnp_fold_rows_bytes(rows, l->rows.dim), left = tnp_budget_left(ctx);
    bool any = false;
    for (size_t i = 0; i < rows && !any; ++i)
        any = weight[i] > 0;
    return any && l->design && l->design->resident && bytes <= MOST && besides <= left && bytes <= left - besides;
}

static tn_status take_design(tn_ctx *ctx, const tnp_design *from, const float *weight, size_t count, tnp_design **out)
{
    tn_status st = TN_OK;
    tnp_design *d = NULL;
    size_t to = 0, dim = from->dim;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *d, &d));
    *out = d;
    d->rows = count;
    d->dim = dim;
    d->block = tnp_design_block_rows(count, dim);
    d->blocks = (count + d->block - 1) / d->block;
    d->resident = true;
    TN_TRY(tnp_alloc_raw(ctx, count * dim, sizeof *d->data, &d->data));
    for (size_t i = 0; i < from->rows; ++i)
        if (weight[i] > 0)
            memcpy(d->data + to++ * dim, from->data + i * dim, dim * sizeof *d->data);
done:
    return st;
}

tn_status tnp_fold_rows_take(tn_ctx *ctx, const tnp_linear *l, const float *weight, tnp_fold_rows *out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &l->task->y;
    size_t count = 0, labels = 0;
    for (size_t i = 0; i < y->rows; ++i) {
        count += weight[i] > 0;
        labels += weight[i] > 0 ? y->first[i + 1] - y->first[i] : 0;
    }
    TN_TRY(take_design(ctx, l->design, weight, count, &out->design));
    TN_TRY(tnp_alloc(ctx, count + 1, sizeof *out->first, &out->first));
    TN_TRY(tnp_alloc(ctx, labels, sizeof *out->cls, &out->cls));
    TN_TRY(tnp_alloc(ctx, count, sizeof *out->weight, &out->weight));
    for (size_t i = 0, to = 0; i < y->rows; ++i) {
        size_t n = y->first[i + 1] - y->first[i];
        if (!(weight[i] > 0))
            continue;
        memcpy(out->cls + out->first[to], y->cls + y->first[i], n * sizeof *out->cls);
        out->weight[to] = weight[i];
        out->first[to + 1] = out->first[to] + n;
        ++to;
    }
    out->task = *l->task;
    out->task.y = (tnp_targets){.rows = count, .classes = y->classes, .first = out->first, .cls = out->cls};
done:
    return st;
}

void tnp_fold_rows_free(tnp_fold_rows *rows)
{
    tnp_design_free(rows->design);
    tnp_free_all(rows->first, rows->cls, rows->weight);
    *rows = (tnp_fold_rows){0};
}
