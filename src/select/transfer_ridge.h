/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rivals of the greedy selection that are solved in closed form: ridge on features, on features and sources, towards the
 * sources' mean (DAM), and that mean itself. */
#ifndef TNP_TRANSFER_RIDGE_H
#define TNP_TRANSFER_RIDGE_H

#include "select/transfer_problem.h"

/* A linear model of the raw columns, and how it was chosen. */
typedef struct tnp_transfer_model {
    double *weights; /* (cols) */
    double intercept;
    double *loo; /* (rows): leave-one-out predictions */
    tnp_transfer_score score;
    double lambda, tau; /* 0 where the method has none */
} tnp_transfer_model;

void tnp_transfer_model_free(tnp_transfer_model *model);
/* All zero but for the sizes. */
tn_status tnp_transfer_model_new(tn_ctx *ctx, const tnp_transfer_problem *problem, tnp_transfer_model **out);

/* The grids of the paper, strongest regularisation first: lambda 10^4 .. 10^-4, tau 10^-3 .. 10^3. */
enum { TNP_LAMBDAS = 9, TNP_TAUS = 7 };
double tnp_transfer_lambda(size_t i);
double tnp_transfer_tau(size_t i);

typedef enum tnp_ridge_method {
    TNP_TRANSFER_NONE, /* features only: no transfer */
    TNP_TRANSFER_RLS,  /* features and sources */
    TNP_TRANSFER_DAM   /* features only, drawn to the sources' mean score */
} tnp_ridge_method;

/* Orthonormal directions of the rows in which columns [first, first + count) vary, intercept taken out. Labels play no part in
 * them: one basis serves all labels of the same columns and row weights. */
typedef struct tnp_ridge_basis {
    size_t rows, first, count;
    size_t rank;     /* directions */
    double *v;       /* (rank, rows) */
    double *s;       /* (rank): squared lengths of the columns along them, rising */
    double *outside; /* (rows): what the directions leave of 1 - u_i^2; 0 when they span everything */
} tnp_ridge_basis;

tn_status tnp_ridge_basis_new(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t first, size_t count,
                              tnp_ridge_basis **out);
void tnp_ridge_basis_free(tnp_ridge_basis *basis);

/* Columns [0, features) are features, the rest sources. kept: the basis of all columns for RLS, else of the features, made and
 * left to the caller when it is NULL yet; kept itself may be NULL. lambda, and tau of DAM, from the grids by leave-one-out score;
 * of equals the larger lambda, then the smaller tau. TN_ERR_ARG when the method has no columns to work on. Owned by the caller. */
tn_status tnp_transfer_ridge(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features, tnp_ridge_method method,
                             tnp_ridge_basis **kept, tnp_transfer_model **out);
/* The mean of the source scores: nothing is fitted. */
tn_status tnp_transfer_average(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features,
                               tnp_transfer_model **out);

/* ---- what MultiKT shares ---- */

/* left (rows): 1 - H_ii, the intercept inside H. */
void tnp_ridge_left(const tnp_ridge_basis *basis, double lambda, double *left);
/* r (rows) = P t for t (rows) orthogonal to u; room (rank) is scratch. */
void tnp_ridge_residual(const tnp_ridge_basis *basis, double lambda, const double *t, double *room, double *r);
/* t (rows), a target in units of y: centred and multiplied by u into out; returns its weighted mean. */
double tnp_transfer_centre(const tnp_transfer_problem *problem, const double *t, double *out);
/* Fits t with one lambda: weights and intercept of the raw columns of the basis added to the model's. */
tn_status tnp_ridge_solve(tn_ctx *ctx, const tnp_transfer_problem *problem, const tnp_ridge_basis *basis, double lambda,
                          const double *t, tnp_transfer_model *model);
/* mean (rows): the mean of the raw columns [first, cols). */
void tnp_transfer_mean_score(const tnp_transfer_problem *problem, size_t first, double *mean);

#endif
