/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is to be learned: the rows that take part and their targets, made from labels and representations. */
#ifndef TNP_TASK_H
#define TNP_TASK_H

#include "matrix/moments.h"
#include "read/labels/labels.h"
#include "learn/options.h"

typedef struct tnp_task {
    const tn_labels *labels; /* borrowed: what it was made from */
    tn_task kind;
    size_t left_out; /* rows without a label, or dropped for NaN */
    size_t *rows;    /* y.rows: their places in the files */
    tnp_targets y;
    bool *constant; /* classes: the target never changes */
    double *offset; /* classes: taken off regression targets, so that squares about the mean keep their digits */
    size_t *first;  /* storage of y */
    uint32_t *cls;
    double *values, *weight;
} tnp_task;

/* Checks that rows (and ids) agree and that there is something to learn: TN_ERR_SHAPE, TN_ERR_DATA. With
 * TN_NAN_DROP all sources are read once to find the rows to leave out. */
tn_status tnp_task_new(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                       tn_nan_policy nan, bool intercept, tnp_task **out);
/* The same for a part of the data, where one class or one row is no fault. */
tn_status tnp_task_rows(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                        tn_nan_policy nan, tnp_task **out);
/* The same for a chunk of rows, where no row at all is no fault either. */
tn_status tnp_task_chunk(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                         tn_nan_policy nan, tnp_task **out);
void tnp_task_free(tnp_task *task);
/* Finds the targets that never change, and checks that there are rows and classes to learn from. */
tn_status tnp_task_settle(tn_ctx *ctx, tnp_task *task);

/* Weights of the task's rows: those of its labels times class weights; NULL when all are 1. Owned by the caller, free
 * with tnp_free. TN_ERR_DATA for one that is no number from 0 up, TN_ERR_ARG when the options name weights and the
 * labels have none. */
tn_status tnp_row_weights(tn_ctx *ctx, const tnp_task *task, const tnp_learn_options *options, float **out);
/* The same for least squares: gives the task its weights, and rows of weight 0 leave it. TN_ERR_ARG where every class
 * would have weights of its own. */
tn_status tnp_task_weigh(tn_ctx *ctx, tnp_task *task, const tnp_learn_options *options);

/* Targets of some rows: lists into another's arrays cannot be cut, so they are copied. */
typedef struct tnp_picked {
    tnp_targets y;
    size_t *first; /* storage of y */
    uint32_t *cls;
    double *values;
    double *weight;
} tnp_picked;

/* Destroy is legal after failure, and on zeros. */
tn_status tnp_picked_init(tn_ctx *ctx, const tnp_targets *y, const size_t *rows, size_t count, tnp_picked *out);
void tnp_picked_destroy(tnp_picked *picked);

#endif
