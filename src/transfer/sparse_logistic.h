/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Logistic regression with an l1 or elastic-net penalty, for few rows and many columns. */
#ifndef TNP_SPARSE_LOGISTIC_H
#define TNP_SPARSE_LOGISTIC_H

#include "algebra/tiles.h"

/* min over w, b of  sum_i cost_i log(1 + exp(-y_i (b + a_i'w))) + lambda (mix |w|_1 + (1 - mix)/2 |w|^2),
 * a_ij = unscale_i z_ij. All borrowed until return. */
typedef struct tnp_sparse_problem {
    const tnp_tiles *z;
    const double *unscale; /* (rows) */
    const double *y;       /* (rows): -1 or 1 */
    const double *cost;    /* (rows): 0 leaves the row out; both classes have a positive one */
    double lambda, mix;    /* positive; in (0, 1]: 1 is l1 */
} tnp_sparse_problem;

typedef struct tnp_sparse_fit {
    double *w; /* (cols) */
    double intercept;
    double *scores;        /* (rows): b + a_i'w, left-out rows too */
    double objective, gap; /* certified: objective - gap is a lower bound of the minimum */
    bool converged;        /* gap <= the tolerance times the objective */
} tnp_sparse_fit;

/* All zero: a cold start. */
tn_status tnp_sparse_fit_init(tn_ctx *ctx, size_t rows, size_t cols, tnp_sparse_fit *fit);
void tnp_sparse_fit_destroy(tnp_sparse_fit *fit);

/* From fit->w and fit->intercept as they are to a gap of `tolerance` times the objective. TN_ERR_DATA when only one
 * class has cost. On failure the fit is as good a start as before. The same bits for every thread count. */
tn_status tnp_sparse_logistic(tn_ctx *ctx, const tnp_sparse_problem *problem, double tolerance, tnp_sparse_fit *fit);

#endif
