/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ridge problem ready to be solved for any lambda: its spectrum, and the means that an intercept needs. */
#ifndef TNP_RIDGE_H
#define TNP_RIDGE_H

#include "learn/design/gather.h"
#include "learn/ridge/spectrum.h"

typedef struct tnp_ridge {
    size_t rows, dim, classes;
    bool intercept;
    bool wide; /* its moments are in double, or it has none */
    tnp_spectrum *spectrum;
    double weight;        /* of all rows together: rows when they have no weights */
    double *root;         /* by rows: (rows), roots of their weights; NULL: all 1 */
    double *mean;         /* (dim) of the features, zeros without intercept; NULL by rows, which are then read again */
    double *ymean;        /* (classes), zeros without intercept */
    const double *centre; /* (dim), borrowed, or NULL: what is taken off the columns when weights are applied */
    /* What a set was judged by, for the head that is made of it: leave-one-out scores (rows of the sample, classes) at
     * these lambdas (classes). NULL: none. */
    double *left_out, *left_out_lambda;
    const struct tnp_sample *left_out_sample; /* borrowed */
} tnp_ridge;

/* From statistics, on the columns `parts`: the primal. */
tn_status tnp_ridge_primal(tn_ctx *ctx, const tnp_moments *moments, const tnp_range *parts, size_t count,
                           bool intercept, tnp_ridge **out);
/* The same on all columns, with the statistics' own Gram instead of a copy: stats are of no use afterwards, but for
 * tn_moments_free. */
tn_status tnp_ridge_primal_take(tn_ctx *ctx, tnp_moments *moments, bool intercept, tnp_ridge **out);
/* From products of rows (N,N), upper triangle, which it takes over (also on failure): the dual. dim: columns that
 * went into them. */
tn_status tnp_ridge_dual(tn_ctx *ctx, double *products, const tnp_targets *y, size_t dim, bool intercept,
                         tnp_ridge **out);
/* From the rows themselves, by their singular values: for problems whose squares double cannot hold; root.c. */
tn_status tnp_ridge_root(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y, bool intercept,
                         tnp_ridge **out);
/* What that takes, in floating-point operations and in bytes. */
void tnp_ridge_root_cost(size_t rows, size_t dim, size_t classes, bool intercept, double *flops, double *bytes);
/* A problem without a spectrum; by rows it keeps the roots of y's weights. */
tn_status tnp_ridge_new(tn_ctx *ctx, const tnp_targets *y, size_t dim, bool intercept, bool by_rows, tnp_ridge **out);
/* Gives the spectrum what weighted rows add to its log evidence: 1/2 sum log w, and with an intercept -1/2 log of their
 * mean, so that weights which are all the same change nothing. */
void tnp_ridge_set_offset(tnp_ridge *ridge, double log_weight);
/* Targets as rows (K,N) times the roots of the weights, about their weighted means (ymean) with an intercept. */
void tnp_ridge_targets(const tnp_targets *y, bool intercept, double *rows, double *ymean);
void tnp_ridge_free(tnp_ridge *ridge);

/* Weights (classes,dim) and intercepts (classes) at one lambda per class. The dual reads its feeds once more. */
tn_status tnp_ridge_weights(tn_ctx *ctx, const tnp_ridge *ridge, const tn_feed *const *feeds, size_t count,
                            const double *lambda, float *weight, float *bias);

/* Whether rounding the intercepts (classes) to float moves scores by more than 1e-4 of the size of their targets. */
bool tnp_ridge_rounds_bias(const tnp_ridge *ridge, const float *bias);

/* alpha = lambda beta and beta = dof / R(lambda), (classes) each; infinite lambda: alpha infinite. */
tn_status tnp_ridge_precisions(tn_ctx *ctx, const tnp_ridge *ridge, const double *lambda, double *alpha, double *beta);

/* Target of a row and class. */
double tnp_target(const tnp_targets *y, size_t row, size_t k);

#endif
