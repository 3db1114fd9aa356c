/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small binary task with many columns, standardised once for all transfer methods: features first, source scores behind. */
#ifndef TNP_TRANSFER_PROBLEM_H
#define TNP_TRANSFER_PROBLEM_H

#include "matrix/tiles.h"

typedef struct tnp_transfer_problem {
    size_t rows, cols;
    size_t filled;        /* columns handed over so far */
    tnp_tiles z;          /* standardised columns; constant ones are zero */
    double *mean, *scale; /* (cols): of the raw columns; scale 0: constant, never selected */
    double *y;            /* (rows): -1 or 1 */
    double *root;         /* (rows): u_i, the square root of row i's share of the weight; a unit vector */
    double *target;       /* (rows): y standardised */
    double target_mean, target_scale;
} tnp_transfer_problem;

/* y (rows) of -1 and 1; weights (rows), positive, or NULL for equal ones; both borrowed until return. Columns come by _add.
 * Owned by the caller, free with tnp_transfer_problem_free. TN_ERR_DATA when y has one class only, TN_ERR_ARG when it has
 * other numbers or a weight is not positive and finite, or there are no columns. */
tn_status tnp_transfer_problem_new(tn_ctx *ctx, size_t rows, size_t cols, const double *y, const double *weights,
                                   tnp_transfer_problem **out);
void tnp_transfer_problem_free(tnp_transfer_problem *problem);

/* The next `count` columns, x (rows, count) with a row stride, borrowed until return: in as many pieces as the caller likes,
 * so that the raw matrix need never be whole. TN_ERR_SHAPE when there are more than announced; TN_ERR_DATA naming the first
 * column with a value that is not finite (or too large to square), after which the problem can only be freed. */
tn_status tnp_transfer_problem_add(tn_ctx *ctx, tnp_transfer_problem *problem, const double *x, size_t stride,
                                   size_t count);

/* Other labels y (rows) for the same columns and row weights, which stay as they are; errors of _new, the old labels then stay. */
tn_status tnp_transfer_problem_relabel(tn_ctx *ctx, tnp_transfer_problem *problem, const double *y);

/* Weights (rows) that give both classes of y the same sum: rows / (2 n_class). */
void tnp_transfer_balance(size_t rows, const double *y, double *weights);

/* Weights of standardised columns (picks, or 0 .. count-1 when NULL) to weights of raw ones, in place; returns the intercept. */
double tnp_transfer_unscale(const tnp_transfer_problem *problem, const size_t *picks, size_t count, double *w);

/* Leave-one-out predictions of t (rows), a target in units of y, from the fit's residual r_i in standardised rows, `unit` of t
 * each, and left_i = 1 - H_ii, H with the intercept: t_i - unit r_i / (left_i u_i). NaN where left_i is not positive: the row
 * decides its own fit, and without it there is no unique one. */
void tnp_transfer_loo(const tnp_transfer_problem *problem, const double *t, double unit, const double *r,
                      const double *left, double *predicted);

/* What hyper-parameters are chosen by. */
typedef struct tnp_transfer_score {
    double error; /* class-balanced share of rows with y_i predicted_i <= 0 or NaN */
    double
        squares; /* class-balanced mean of (y_i - predicted_i)^2, infinite with a NaN: decides between equal errors */
} tnp_transfer_score;

tnp_transfer_score tnp_transfer_score_of(size_t rows, const double *y, const double *predicted);
/* Strictly better. Errors are sums of a few fractions: less than 1e-12 apart they are equal. */
bool tnp_transfer_better(tnp_transfer_score a, tnp_transfer_score b);

#endif
