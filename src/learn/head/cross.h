/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cross-validation over a grid of one hyper-parameter: its results, ridge regression for every lambda, and the path of
 * support vector machines or logistic regression along C (path.c). Folds and hold-outs are those of folds.h. */
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
    size_t *judged; /* count: folds that a value was judged by; 0: all. One of fewer was given up and is never best */
    double trying;  /* the value whose scores are measured now */
    const struct tnp_ridge *ridge; /* of a ridge: the problem without the fold that is measured now */
    /* Of a path: the values of the grid as it was given or found; after it `count` are those that were tried, less those
     * that were skipped, where it stopped, and with those that were added, where it went on. */
    size_t planned, skipped, added;
    size_t capacity;                /* of the arrays; more than `planned` of a grid that was found, which may go on */
    double usual;                   /* of a grid that was found: what suits most rows; 0: there is none */
    double scale;                   /* of C: C times this is the variance of scores a priori; 0: not known yet */
    double *log_loss, *temperature; /* capacity, or NULL: not asked for (tnp_cross_want_loss) */
} tnp_cross;

/* Empty, with memory for `capacity` values; then one whose grid is these values, sorted. Free with tnp_cross_free. */
tn_status tnp_cross_sized(tn_ctx *ctx, size_t capacity, size_t folds, tnp_cross **out);
tn_status tnp_cross_new(tn_ctx *ctx, const double *grid, size_t count, size_t folds, tnp_cross **out);
void tnp_cross_free(tnp_cross *cross);
/* Mean and standard error of value g over the folds that have one; with one fold the error stays what it is. */
void tnp_cross_summarise(tnp_cross *cross, size_t g);
/* Means, standard errors and the best value; of equals the last when more is simpler (lambda), else the first (C). best
 * is SIZE_MAX where no fold could judge. */
void tnp_cross_finish(tnp_cross *cross, bool more_is_simpler);

/* ---- the path along C ---- */

/* A grid of C found from the rows, which the path may leave at its upper and lower end (docs/math.md, section 2). */
tn_status tnp_cross_found(tn_ctx *ctx, const tnp_linear *linear, size_t folds, tnp_cross **out);
/* Asks the path for the log-loss of the held-out scores at every C, in nats per decision at the temperature that suits
 * them best: as many passes over the scores as a temperature takes. NaN where there is none. */
tn_status tnp_cross_want_loss(tn_ctx *ctx, tnp_cross *cross);

/* Support vector machines or logistic regression along ascending C, each started from the one before; classes and folds
 * side by side. The path ends before the grid does where the quality has clearly fallen. Receives at the best C, of
 * equals the smallest: w (folds * classes, dim + 1) the weights, scores (rows, classes) the held-out scores. What
 * linear->alpha holds afterwards is of no use. */
tn_status tnp_linear_cv(tn_ctx *ctx, const tnp_linear *linear, tnp_measure_fn measure, void *arg, tnp_cross *cross,
                        float *w, float *scores);

/* The same judged by rows that are none of the training's: `linear` has no folds then. */
typedef struct tnp_judges {
    const tnp_targets *y;
    const uint32_t *row_fold; /* y->rows: 0, or TNP_NO_FOLD where a row is not to judge */
    tn_status (*score)(tn_ctx *ctx, void *self, const float *w, float *scores); /* (y->rows, classes) */
    void *self;
} tnp_judges;
tn_status tnp_linear_path(tn_ctx *ctx, const tnp_linear *linear, const tnp_judges *judges, tnp_measure_fn measure,
                          void *arg, tnp_cross *cross, float *w, float *scores);

/* Score that a head of one class against the rest gives a class that every training row has, or none: the log-odds of
 * n + 1/2 rows against 1/2. */
float tnp_constant_score(const tnp_task *task, size_t k);

/* ---- ridge regression ---- */

/* Ridge regression for every lambda of the grid from one factorization a fold. In double where the files or weights ask
 * for it. */
tn_status tnp_ridge_cv(tn_ctx *ctx, tnp_design *design, const tnp_targets *y, bool intercept, const uint32_t *row_fold,
                       tnp_measure_fn measure, void *arg, tnp_cross *cross);
/* The same in double whatever the files hold, about `mean` (dim): for problems that float moments do not hold. */
tn_status tnp_ridge_cv_wide(tn_ctx *ctx, tnp_design *design, const tnp_targets *y, bool intercept, const double *mean,
                            const uint32_t *row_fold, tnp_measure_fn measure, void *arg, tnp_cross *cross);

#endif
