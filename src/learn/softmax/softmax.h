/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multinomial logistic regression: one problem over all classes. */
#ifndef TNP_SOFTMAX_H
#define TNP_SOFTMAX_H

#include "learn/linear/newton.h"
#include "learn/softmax/softmax_coarse.h"
#include "learn/softmax/softmax_mean.h"

/* Minimises f(W) = 1/2 sum_k (|w_k|^2 + [b_k^2]) + loss(X W' + b). w (classes, dim + 1), intercept last and 0 where
 * there is none: the start and the result, and after a failure some place between. *objective and *gap are as those of
 * tnp_newton_solve, for the whole. */
tn_status tnp_softmax_solve(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss, const tnp_newton_options *options,
                            float *w, double *objective, double *gap, tnp_newton_info *info);
/* The same of a model that only chooses: objective and gap are what the rounds say of themselves where they arrive, and
 * the subspace is taken from *kept, zeros at first, and left there for the next solve of the same rows. NULL: as
 * above. */
tn_status tnp_softmax_solve_fold(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss,
                                 const tnp_newton_options *options, tnp_coarse *kept, const tnp_row_moment *moment,
                                 float *w, double *objective, double *gap, tnp_newton_info *info);
/* Bytes that a solve needs besides the rows; and how many more it takes where C is large and the budget has them. */
size_t tnp_softmax_bytes(size_t rows, size_t dim, size_t classes);
size_t tnp_softmax_more_bytes(size_t rows, size_t dim, size_t classes);

#endif
