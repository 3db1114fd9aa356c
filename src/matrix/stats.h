/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of rows X (N,D) and targets Y (N,K): everything a ridge model needs, in O(D^2 + K D) memory. Built by
 * blocks of rows, mergeable, and cut by columns for ensembles. This is the tn_stats of tenon/learn.h. */
#ifndef TNP_STATS_H
#define TNP_STATS_H

#include "base/base.h"

/* Targets of N rows: lists of positive classes (first, cls: as in tn_labels), or dense values (N,K). Borrowed. */
typedef struct tnp_targets {
    size_t rows, classes;
    const size_t *first;
    const uint32_t *cls;
    const double *values;
} tnp_targets;

/* Sums are taken of x - shift; shift is the mean of the first block, so that large offsets cost no digits. */
typedef struct tnp_stats {
    size_t rows, dim, classes;
    bool wide;        /* blocks come in double */
    double *shift;    /* (D) */
    double *gram;     /* (D,D), upper triangle: sum (x - shift)(x - shift)' */
    double *sum;      /* (D): sum (x - shift) */
    double *xty;      /* (K,D): sum y (x - shift)' */
    double *ysum;     /* (K) */
    double *yy;       /* (K): sum y^2 */
    float *shift_f32; /* (D), narrow only: shift is rounded to float, so both are equal */
    float *product;   /* (D,D), narrow only: one block's product */
} tnp_stats;

/* Rows that one block should have: few enough that a float product keeps its digits, many enough that adding it
 * to the double sum costs little. */
size_t tnp_stats_block(size_t dim, bool wide);
/* Bytes that tnp_stats_new will allocate; SIZE_MAX when that overflows. */
size_t tnp_stats_bytes(size_t dim, size_t classes, bool wide);

TN_API void tn_stats_free(tnp_stats *stats);
TN_API size_t tn_stats_rows(const tnp_stats *stats);
TN_API size_t tn_stats_cols(const tnp_stats *stats);
TN_API size_t tn_stats_classes(const tnp_stats *stats);
TN_API tn_status tn_stats_merge(tn_ctx *ctx, tnp_stats *into, const tnp_stats *from);

tn_status tnp_stats_new(tn_ctx *ctx, size_t dim, size_t classes, bool wide, tnp_stats **out);

/* Adds rows [start, start + count) of the targets with their features x (count, D), compact. x is used as
 * scratch: its contents are undefined afterwards. At most tnp_stats_block rows at once. */
tn_status tnp_stats_add(tn_ctx *ctx, tnp_stats *stats, float *x, const tnp_targets *y, size_t start, size_t count);
tn_status tnp_stats_add_wide(tn_ctx *ctx, tnp_stats *stats, double *x, const tnp_targets *y, size_t start,
                             size_t count);

/* into -= from, which holds some of its rows: a training fold is everything less the fold held out. */
void tnp_stats_subtract(tnp_stats *into, const tnp_stats *from);

/* The moments of a ridge model on the columns given by `parts` ranges [from, to), ascending:
 *   gram (d,d) upper, xty (K,d), yy (K), mean (d), ymean (K), centred when intercept, else about zero, means 0.
 * Arrays are the caller's; gram may be the statistics' own when all columns are taken. */
typedef struct tnp_range {
    size_t from, to;
} tnp_range;
void tnp_stats_moments(const tnp_stats *stats, const tnp_range *parts, size_t count, bool intercept, double *gram,
                       double *xty, double *yy, double *mean, double *ymean);

#endif
