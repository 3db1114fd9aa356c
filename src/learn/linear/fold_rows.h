/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows outside a fold as rows of their own. */
#ifndef TNP_FOLD_ROWS_H
#define TNP_FOLD_ROWS_H

#include "learn/linear/linear.h"

typedef struct tnp_fold_rows {
    tnp_design *design;
    tnp_task task; /* that of the training with the targets of these rows */
    size_t *first;
    uint32_t *cls;
    float *weight; /* rows */
} tnp_fold_rows;

/* Whether the training has its rows at hand, memory for a copy of them besides `besides`, and a row whose weight (task
 * rows) is above 0. */
bool tnp_fold_rows_pay(const tn_ctx *ctx, const tnp_linear *linear, const float *weight, size_t besides);
/* Bytes of a copy, at most. */
size_t tnp_fold_rows_bytes(size_t rows, size_t dim);
/* Copies the rows whose weight is above 0. All zero before, tnp_fold_rows_free after, also when
 * this fails. */
tn_status tnp_fold_rows_take(tn_ctx *ctx, const tnp_linear *linear, const float *weight, tnp_fold_rows *out);
void tnp_fold_rows_free(tnp_fold_rows *rows);

#endif
