/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linear classifiers on a design: the support vector machine and logistic regression, plain and cross-validated. */
#ifndef TNP_LINEAR_H
#define TNP_LINEAR_H

#include "learn/design/design.h"
#include "learn/head/task.h"
#include "learn/options.h"

/* What a training says of itself. */
typedef struct tnp_training {
    double objective; /* sum over classes */
    double gap;       /* certified distance of that sum from its optimum */
    size_t passes;    /* over the rows (dual), or matrix products with them (primal) */
    bool converged;
} tnp_training;

/* Everything a training needs besides its hyper-parameter. */
typedef struct tnp_linear {
    tnp_rows rows;
    tnp_design *design; /* the same rows in this process, for dual coordinate descent; NULL: they are elsewhere */
    const tnp_task *task;
    const tnp_learn_options *options;
    bool logistic, bias;
    bool gram; /* of the dual: by the products of rows, which the design then keeps for the next training */
    size_t seed;
    const float *row_weight;  /* task rows, or NULL */
    const uint32_t *row_fold; /* task rows (head/folds.h), or NULL: with it, a model per class and fold, without it */
    size_t folds;             /* 1 without folds */
    float *alpha;             /* (rows, folds * classes), or NULL: multipliers kept from one C to the next */
    struct tnp_row_moment *moment; /* of all rows, zeros at first, for the softmax of folds; or NULL */
    struct tnp_coarse *kept;       /* folds, zeros at first, or NULL: subspaces of the softmax, kept in the same way */
} tnp_linear;

/* Trains at C into w (folds * classes, dim + 1), fold by fold, intercept last; w is also where the primal starts. */
tn_status tnp_linear_train(tn_ctx *ctx, const tnp_linear *linear, double cost, float *w, tnp_training *out);
/* Scores (rows, classes) of every row by the models that were trained without its fold; NaN of rows in no fold. */
tn_status tnp_linear_held_out(tn_ctx *ctx, const tnp_linear *linear, const float *w, float *scores);

/* The values that were given, or the standard ones. Owned by the caller, free with tnp_free. */
tn_status tnp_grid_new(tn_ctx *ctx, const tnp_reals *given, const double *standard, size_t standard_count, double **out,
                       size_t *count);
/* Which method trains: the softmax its own, Newton's is for other logistic losses and for an intercept that is not
 * penalised. */
typedef enum tnp_linear_method { TNP_BY_DUAL, TNP_BY_NEWTON, TNP_BY_SOFTMAX, TNP_BY_GRAM } tnp_linear_method;
tnp_linear_method tnp_linear_method_of(const tnp_learn_options *options, bool logistic, bool bias, tn_task task);
/* The same for a shape: TNP_BY_GRAM instead of TNP_BY_DUAL where it is the faster way and the budget has room for it,
 * for `besides` and for a block of rows. Decided once, before the design takes its memory: a training with
 * tnp_linear.gram does not ask. */
tnp_linear_method tnp_linear_method_for(const tn_ctx *ctx, const tnp_learn_options *options, tnp_linear_method method,
                                        size_t rows, size_t dim, size_t columns, size_t besides);
/* Bytes that a training of these columns needs besides the design. */
size_t tnp_linear_bytes(size_t rows, size_t dim, size_t columns, tnp_linear_method method);
/* And how many more make it faster. */
size_t tnp_linear_more_bytes(size_t rows, size_t dim, size_t columns, tnp_linear_method method);

#endif
