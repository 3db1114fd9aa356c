/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Minimises K regularised linear models side by side, so that all work on the rows is matrix products:
 *
 *   f(W) = 1/2 sum_k (|w_k|^2 + [b_k^2]) + sum_i loss_i(scores of row i),   scores = X W' + b
 *
 * as K separate problems (one-vs-rest). The optimiser knows no loss: a loss is three functions of one row. The softmax,
 * whose classes are one problem, has learn/softmax.c. */
#ifndef TNP_NEWTON_H
#define TNP_NEWTON_H

#include "learn/design/rows.h"

/* One row's part, for the columns cols[0..k), ascending, of the problem (separate problems leave when they are solved);
 * s (k) are its scores, scratch (k) is free to use. Called from many threads at once. */
typedef struct tnp_loss {
    const void *arg;
    /* Adds the loss to value (k) and writes its derivative into g (k). */
    void (*slope)(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *scratch, float *g,
                  double *value);
    /* z (k) <- second derivative times z. */
    void (*curve)(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *scratch, float *z);
    /* Adds the diagonal of the second derivative to sum (k). */
    void (*weight)(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *scratch,
                   double *sum);
} tnp_loss;

typedef struct tnp_newton_options {
    double tolerance; /* stop when the certified distance from the optimum is below this fraction of f */
    size_t max_iterations;
    bool bias, bias_penalised;
    uint64_t seed; /* of the preconditioner */
} tnp_newton_options;

/* Of the whole solve; per column where a pointer is given to the call. */
typedef struct tnp_newton_info {
    size_t iterations, products; /* Newton steps; passes of X W' and X'R, two a Hessian product */
    bool converged;
} tnp_newton_info;

/* w (K, dim + 1), intercept last and 0 where there is none: the start (zeros, or a warm start) and the result, and
 * after a failure some place between. objective and gap (K) receive f and about what it is above its minimum, by float
 * sums: 1/2 |gradient|^2, which is certain when all variables are penalised, and the quadratic estimate for the part of
 * a free intercept. learn/certify.h says what is certain. */
tn_status tnp_newton_solve(tn_ctx *ctx, const tnp_rows *x, size_t columns, const tnp_loss *loss,
                           const tnp_newton_options *options, float *w, double *objective, double *gap,
                           tnp_newton_info *info);
/* Bytes that a solve needs besides the rows. */
size_t tnp_newton_bytes(size_t rows, size_t dim, size_t columns);

#endif
