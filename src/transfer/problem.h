/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small binary task with many columns, standardised for all transfer methods alike. */
#ifndef TNP_TRANSFER_PROBLEM_H
#define TNP_TRANSFER_PROBLEM_H

#include "transfer/columns.h"

typedef struct tnp_transfer_problem {
    const tnp_transfer_columns *columns; /* raw, borrowed */
    size_t rows, cols;
    double *mean, *inverse; /* (whole tiles): of the raw columns; inverse 1/scale, 0: constant, never selected */
    double *power;          /* (whole tiles): |z_j|^2; NULL: 1, every column has a scale of its own */
    double *y;              /* (rows): -1 or 1; 0: takes no part */
    double *root;           /* (rows): u_i, the square root of row i's share of the weight; a unit vector */
    double *target;         /* (rows): y standardised */
    double target_mean, target_scale;
    double *products; /* (whole tiles)^2: Z'Z, or NULL */
} tnp_transfer_problem;

/* |z_j|^2 of a column that is not constant. */
static inline double tnp_transfer_power(const tnp_transfer_problem *problem, size_t column)
{
    return problem->power ? problem->power[column] : 1;
}

/* columns are complete and borrowed as long as the problem lives. y (rows) of -1 and 1; weights (rows), or NULL for
 * equal ones: rows of weight 0 take no part, as if they were not there. Both are borrowed until return. Owned by the
 * caller, free with tnp_transfer_problem_free. TN_ERR_DATA when y has one class only, or naming the first column with a
 * value that is not finite or too large to square; TN_ERR_ARG when y has other numbers, a weight is negative or not
 * finite, or there are no columns. */
tn_status tnp_transfer_problem_new(tn_ctx *ctx, const tnp_transfer_columns *columns, const double *y,
                                   const double *weights, tnp_transfer_problem **out);
void tnp_transfer_problem_free(tnp_transfer_problem *problem);

/* Other labels y (rows) for the same columns and row weights, which stay as they are; errors of _new, the old labels
 * then stay. */
tn_status tnp_transfer_problem_relabel(tn_ctx *ctx, tnp_transfer_problem *problem, const double *y);

/* Weights (rows) that give both classes of y the same sum: n / (2 n_class), counting rows whose weight is not 0 when it
 * comes in; the others stay 0. */
void tnp_transfer_balance(size_t rows, const double *y, double *weights);

/* ---- standardised columns Z, made where they are asked for ---- */

/* t (count * TNP_TILE) = Z'q of the columns of `count` tiles, q (rows). */
static inline void tnp_transfer_tiles_product(const tnp_transfer_problem *problem, size_t tile, size_t count,
                                              const double *q, double *t)
{
    tnp_transfer_sums(problem->columns, tile, count, q, problem->root, problem->mean + tile * TNP_TILE,
                      problem->inverse + tile * TNP_TILE, t);
}

/* t (cols) = Z'q, in parallel; the same bits for every thread count. */
void tnp_transfer_product(tn_ctx *ctx, const tnp_transfer_problem *problem, const double *q, double *t);
/* problem->products, which greedy paths of as many labels as `paths` share. Left NULL where the paths would not repay
 * it: it costs rows cols^2 flops and cols^2 doubles, a step of a path without it rows cols. */
tn_status tnp_transfer_share_products(tn_ctx *ctx, tnp_transfer_problem *problem, size_t paths);
/* (whole tiles): those of one column. */
static inline const double *tnp_transfer_products(const tnp_transfer_problem *problem, size_t column)
{
    return problem->products + column * problem->columns->tiles * TNP_TILE;
}
/* z (rows): one column. */
void tnp_transfer_column(const tnp_transfer_problem *problem, size_t column, double *z);
/* x (rows, count): columns [first, first + count). */
void tnp_transfer_rows(const tnp_transfer_problem *problem, size_t first, size_t count, double *x);
/* All of Z, for methods that go over it hundreds of times. Free with tnp_tiles_destroy. */
tn_status tnp_transfer_tiles(tn_ctx *ctx, const tnp_transfer_problem *problem, tnp_tiles *out);

/* ---- what is made of a fit ---- */

/* Weights of standardised columns (picks, or 0 .. count-1 when NULL) to weights of raw ones, in place; returns the
 * intercept. */
double tnp_transfer_unscale(const tnp_transfer_problem *problem, const size_t *picks, size_t count, double *w);

/* Leave-one-out predictions of t (rows), a target in units of y, from the fit's residual r_i in standardised rows,
 * `unit` of t each, and left_i = 1 - H_ii, H with the intercept: t_i - unit r_i / (left_i u_i). NaN where left_i is not
 * positive: the row decides its own fit, and without it there is no unique one. NaN too for rows that take no part. */
void tnp_transfer_loo(const tnp_transfer_problem *problem, const double *t, double unit, const double *r,
                      const double *left, double *predicted);

/* What hyper-parameters are chosen by. */
typedef struct tnp_transfer_score {
    double error;   /* class-balanced share of rows with y_i predicted_i <= 0 or NaN */
    double squares; /* class-balanced mean of (y_i - predicted_i)^2, infinite with a NaN: decides equal errors */
} tnp_transfer_score;

/* Rows with y_i = 0 do not count. */
tnp_transfer_score tnp_transfer_score_of(size_t rows, const double *y, const double *predicted);
/* Strictly better. Errors are sums of a few fractions: less than 1e-12 apart they are equal. */
bool tnp_transfer_better(tnp_transfer_score a, tnp_transfer_score b);

#endif
