/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validation over a grid of one hyper-parameter. */
#ifndef TNP_CROSS_H
#define TNP_CROSS_H

#include "learn/linear/linear.h"

/* Quality of scores (count, classes) for the task's rows `rows`: higher is better; NaN where these rows cannot judge.
 * */
typedef tn_status (*tnp_measure_fn)(tn_ctx *ctx, void *arg, const size_t *rows, size_t count, const float *scores,
                                    double *value);

typedef struct tnp_cross {
    size_t count, folds, best;
    double *grid;      /* count, ascending */
    double *value;     /* (count, folds) */
    double *mean, *se; /* count: over folds */
} tnp_cross;

tn_status tnp_cross_new(tn_ctx *ctx, const double *grid, size_t count, size_t folds, tnp_cross **out);
void tnp_cross_free(tnp_cross *cross);
/* Means, standard errors and the best value; of equals the last when more is simpler (lambda), else the first (C). best
 * is SIZE_MAX where no fold could judge. */
void tnp_cross_finish(tnp_cross *cross, bool more_is_simpler);

/* Support vector machines along ascending C, each started from the one before; classes and folds side by side. w is
 * scratch (folds * classes, dim + 1); scores (rows, classes) receives the held-out scores at the best C. */
tn_status tnp_svm_cv(tn_ctx *ctx, const tnp_linear *linear, tnp_measure_fn measure, void *arg, tnp_cross *cross,
                     float *w, float *scores);

/* Ridge regression for every lambda of the grid from one factorization a fold. In double where the files or weights ask
 * for it. */
tn_status tnp_ridge_cv(tn_ctx *ctx, tnp_design *design, const tnp_targets *y, bool intercept, const uint32_t *row_fold,
                       tnp_measure_fn measure, void *arg, tnp_cross *cross);
/* The same in double whatever the files hold, about `mean` (dim): for problems that float moments do not hold. */
tn_status tnp_ridge_cv_wide(tn_ctx *ctx, tnp_design *design, const tnp_targets *y, bool intercept, const double *mean,
                            const uint32_t *row_fold, tnp_measure_fn measure, void *arg, tnp_cross *cross);

#endif
