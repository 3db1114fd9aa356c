/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of labels. Whatever they come from, they are put together by labels_build.c: a text or an array is turned into
 * class numbers, or values, row by row. `names` and `ids` are single blocks as tnp_strings_new makes them; every array
 * of a tn_labels is released by one tnp_free. */
#ifndef TNP_LABELS_H
#define TNP_LABELS_H

#include "base/base.h"
#include "tenon/read.h"

enum { TNP_MAX_CLASSES = 1 << 24 };

/* Positives are kept as lists: the classes of row i are cls[first[i]] .. cls[first[i+1]-1], ascending. Multi-class rows
 * have one or none. Regression has no lists but `values`. */
struct tn_labels {
    tn_task task;
    size_t rows, classes;
    char **names;              /* classes; of files sorted: as numbers when all are whole numbers, else by bytes */
    size_t *first;             /* rows + 1; NULL for regression */
    uint32_t *cls;             /* first[rows]; NULL for regression */
    size_t capacity;           /* of cls while rows are added */
    bool *known;               /* rows; false: unlabelled, left out of training */
    double *values;            /* rows x classes; regression only */
    char **ids;                /* rows, or NULL */
    double *weights;           /* rows, or NULL: all alike */
    char *path, *weights_path; /* for messages: the file, or that it was memory */
};

/* ---- building (labels_build.c) ---- */

/* Empty labels with a path and a task, which is AUTO when the data decide. */
tn_status tnp_labels_new(tn_ctx *ctx, const char *path, tn_task task, tn_labels **out);
/* Allocates known, and values (regression, by the number of classes) or first and cls (else). */
tn_status tnp_labels_rows(tn_ctx *ctx, tn_labels *labels, size_t rows);
/* TN_ERR_DATA for more classes than are handled. */
tn_status tnp_labels_limit(tn_ctx *ctx, const tn_labels *labels, size_t classes);
/* Names the classes by numbers: values (count), NULL for 0 .. count - 1. */
tn_status tnp_labels_number(tn_ctx *ctx, tn_labels *labels, const int64_t *values, size_t count);
/* Row `row`, those before it being there: labelled, with these classes. */
tn_status tnp_labels_put(tn_ctx *ctx, tn_labels *labels, size_t row, const uint32_t *cls, size_t count);
/* Every row by its class number, below 0 for unlabelled. The classes are those that are named already, or else the
 * numbers that occur, ascending. */
tn_status tnp_labels_put_numbers(tn_ctx *ctx, tn_labels *labels, const int64_t *numbers, size_t rows);
/* Row `row` by `has` (classes), 0 or 1 each; scratch (classes). With TN_TASK_MULTICLASS there must be one 1. */
tn_status tnp_labels_put_marks(tn_ctx *ctx, tn_labels *labels, size_t row, const int64_t *has, uint32_t *scratch);
/* Rows whose values are there: a row with NaN is unlabelled; named by numbers, a single one "value", unless names are
 * there. */
tn_status tnp_labels_know_values(tn_ctx *ctx, tn_labels *labels);
/* Sorts the classes of each row and drops repetitions; first and cls must be set. */
void tnp_labels_tidy(tn_labels *labels);

/* ---- reading: all fill labels whose path and task are set ---- */

tn_status tnp_labels_from_features(tn_ctx *ctx, tn_labels *labels, const tn_features *features);
tn_status tnp_labels_from_text(tn_ctx *ctx, tn_labels *labels);
/* The text itself, borrowed until return. */
tn_status tnp_labels_from_lines(tn_ctx *ctx, tn_labels *labels, const tnp_bytes *text);
/* *words tells whether the file is a .npy of text, from which the labels are then filled. */
tn_status tnp_labels_from_words(tn_ctx *ctx, tn_labels *labels, bool *words);

/* Sorts `names`, as numbers when all are whole numbers, else by bytes, and keeps the distinct ones at its front; returns
 * their number. *order is how two of them compare. */
typedef int (*tnp_span_order)(const void *a, const void *b);
size_t tnp_distinct_names(tnp_span *names, size_t count, tnp_span_order *order);

/* The name of the first row's class, when no other row has it and it reads like the head of a column; else NULL. */
const char *tnp_labels_header(const tn_labels *labels);
/* Names of classes must tell them apart: TN_ERR_DATA for one that stands there twice. */
tn_status tnp_names_differ(tn_ctx *ctx, const char *path, const char *const *names, size_t count);

#endif
