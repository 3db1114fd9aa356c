/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multinomial logistic loss on some rows at a time. Scores s and directions z have a row of k for each of them. */
#ifndef TNP_SOFTMAX_LOSS_H
#define TNP_SOFTMAX_LOSS_H

#include "base/base.h"
#include "matrix/moments.h"

typedef struct tnp_softmax {
    const tnp_targets *y;    /* lists of classes, one per row */
    float cost;              /* C */
    const float *row_weight; /* rows, or NULL */
} tnp_softmax;

static inline double tnp_softmax_cost(const tnp_softmax *loss, size_t row)
{
    return (double)loss->cost * (loss->row_weight ? (double)loss->row_weight[row] : 1);
}

/* Of all rows. */
static inline double tnp_softmax_costs(const tnp_softmax *loss)
{
    double sum = 0;
    for (size_t i = 0; i < loss->y->rows; ++i)
        sum += tnp_softmax_cost(loss, i);
    return sum;
}

typedef struct tnp_softmax_rows {
    tn_ctx *ctx;
    const tnp_softmax *loss;
    size_t rows, k;
    size_t block;    /* rows that one call may be given */
    float *z;        /* (block, k), for the caller */
    float *p;        /* (rows, k): probabilities by the last tnp_softmax_slope of each row; NULL where they are many */
    double *partial; /* (chunks of a block, sums of a chunk), added in their order */
    float *scratch;  /* (chunks of a block, k) */
} tnp_softmax_rows;

/* Which rows: start, start + stride, ..., count of them, at most a block. s is that of all rows, z of these alone. */
typedef struct tnp_softmax_range {
    size_t start, stride, count;
} tnp_softmax_range;

/* Rows that a thread has at a time. */
enum { TNP_SOFTMAX_CHUNK = 64 };
/* Numbers of memory for the sums of tnp_softmax_slope_here: 0 is added to those behind the first 1 + 2 k. */
size_t tnp_softmax_sum_capacity(size_t k);

/* Destroy is legal after failure, and on zeros. */
tn_status tnp_softmax_rows_init(tn_ctx *ctx, const tnp_softmax *loss, tnp_softmax_rows *out);
void tnp_softmax_rows_destroy(tnp_softmax_rows *rows);
size_t tnp_softmax_rows_bytes(size_t rows, size_t k);

/* g (count, k) = derivative of the loss; sums (1 + 2 k) += the loss, column sums of g, those of the second derivative's
 * diagonal. */
void tnp_softmax_slope(const tnp_softmax_rows *rows, tnp_softmax_range range, const float *s, float *g, double *sums);
/* z <- second derivative times z. Here and in the next call s must be what these rows had in their last slope. */
void tnp_softmax_curve(const tnp_softmax_rows *rows, tnp_softmax_range range, const float *s, float *z);
/* The same of one z (k) for all rows; of the result sums (k) += the columns' sums. */
void tnp_softmax_curve_sums(const tnp_softmax_rows *rows, tnp_softmax_range range, const float *s, const float *z,
                            double *sums);
/* sums (2) += first and second derivative of the loss of s + t z in t. */
void tnp_softmax_line(const tnp_softmax_rows *rows, tnp_softmax_range range, const float *s, const float *z, double t,
                      double *sums);

/* The same of rows [start, start + count) in the calling thread. sums of a slope have tnp_softmax_sum_capacity(k)
 * numbers; scratch (k) may be NULL where probabilities are kept. */
void tnp_softmax_slope_here(const tnp_softmax_rows *rows, size_t start, size_t count, const float *s, float *g,
                            double *sums);
void tnp_softmax_curve_here(const tnp_softmax_rows *rows, size_t start, size_t count, const float *s, float *scratch,
                            float *z);
void tnp_softmax_line_here(const tnp_softmax_rows *rows, size_t start, size_t count, const float *s, const float *z,
                           double t, double *sums);

/* First and second derivative at t of a convex function of one variable. */
typedef tn_status (*tnp_line)(void *arg, double t, double *first, double *second);
/* *step: where the derivative has fallen to `enough` of `slope`, its value at 0. 0 when it does not fall, or when none
 * was found. */
tn_status tnp_line_search(tnp_line line, void *arg, double slope, double enough, double *step);

#endif
