/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rivals of the greedy selection that are solved in closed form: ridge on features, on features and sources, towards
 * the sources' mean (DAM), and that mean itself. */
#ifndef TNP_TRANSFER_RIDGE_H
#define TNP_TRANSFER_RIDGE_H

#include "transfer/problem.h"

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

/* Of a problem with grouped columns: lambda 10^(-i/2) times the sum of |z_j|^2 of the columns at work. Half decades,
 * where the paper has whole ones, and none that depends on the number of columns: there lambda alone decides how near
 * to the class means the model is. */
enum { TNP_JOINT_LAMBDAS = 13, TNP_GRID_MOST = TNP_JOINT_LAMBDAS * TNP_TAUS };

/* Who chooses among the values of a grid, numbered lambda by lambda, tau within; NULL in its place: the problem's own
 * score. Ridge only takes values, which transfer/joint_ridge.c chooses. */
typedef struct tnp_transfer_choice {
    double *loss; /* (TNP_GRID_MOST): squared leave-one-out residuals of every value are added, no model is made; or
                     NULL: */
    const double *counts; /* (rows): what a row's residual counts for; 0: not at all */
    size_t *values;       /* how many values the grid has, as far as they came */
    size_t at;            /* the value to take */
} tnp_transfer_choice;

/* Value `index` is not asked for. */
static inline bool tnp_choice_skips(const tnp_transfer_choice *choice, size_t index)
{
    return choice && !choice->loss && choice->at != index;
}

/* Whether the choice only adds up; then adds the residuals of y (rows) less predicted (rows). */
bool tnp_choice_adds(const tnp_transfer_choice *choice, size_t index, size_t rows, const double *y,
                     const double *predicted);

typedef enum tnp_ridge_method {
    TNP_TRANSFER_NONE, /* features only: no transfer */
    TNP_TRANSFER_RLS,  /* features and sources */
    TNP_TRANSFER_DAM   /* features only, drawn to the sources' mean score */
} tnp_ridge_method;

/* Orthonormal directions of the rows in which columns [first, first + count) vary, intercept taken out. Labels play no
 * part in them: one basis serves all labels of the same columns and row weights. */
typedef struct tnp_ridge_basis {
    size_t rows, first, count;
    size_t rank;     /* directions */
    double *v;       /* (rank, rows) */
    double *s;       /* (rank): squared lengths of the columns along them, rising */
    double trace;    /* sum of |z_j|^2 over the columns */
    double *outside; /* (rows): what the directions leave of 1 - u_i^2; 0 when they span everything */
} tnp_ridge_basis;

tn_status tnp_ridge_basis_new(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t first, size_t count,
                              tnp_ridge_basis **out);
void tnp_ridge_basis_free(tnp_ridge_basis *basis);

/* Columns [0, features) are features, the rest sources. kept: the basis of all columns for RLS, else of the features,
 * made and left to the caller when it is NULL yet; kept itself may be NULL. lambda, and tau of DAM, from the grids by
 * leave-one-out score; of equals the larger lambda, then the smaller tau; or as `choice` says. TN_ERR_ARG when the
 * method has no columns to work on. Owned by the caller. */
tn_status tnp_transfer_ridge(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features, tnp_ridge_method method,
                             tnp_ridge_basis **kept, const tnp_transfer_choice *choice, tnp_transfer_model **out);
/* lambda of value `index` of the grid, without tau, for the columns of the basis. */
double tnp_ridge_lambda(const tnp_transfer_problem *problem, const tnp_ridge_basis *basis, size_t index);
/* The mean of the source scores: nothing is fitted, but for grouped columns, where the classes of a task would all have
 * the same score: there a line, slope and intercept, by least squares. */
tn_status tnp_transfer_average(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features,
                               tnp_transfer_model **out);

/* ---- what MultiKT shares ---- */

/* left (rows): 1 - H_ii, the intercept inside H. */
void tnp_ridge_left(const tnp_ridge_basis *basis, double lambda, double *left);
/* r (rows) = P t for t (rows) orthogonal to u; scratch (rank) is written to. */
void tnp_ridge_residual(const tnp_ridge_basis *basis, double lambda, const double *t, double *scratch, double *r);
/* t (rows), a target in units of y: centred and multiplied by u into out; returns its weighted mean. */
double tnp_transfer_centre(const tnp_transfer_problem *problem, const double *t, double *out);
/* Fits t with one lambda: weights and intercept of the raw columns of the basis added to the model's. */
tn_status tnp_ridge_solve(tn_ctx *ctx, const tnp_transfer_problem *problem, const tnp_ridge_basis *basis, double lambda,
                          const double *t, tnp_transfer_model *model);
/* mean (rows): the mean of the raw columns [first, cols). */
void tnp_transfer_mean_score(const tnp_transfer_problem *problem, size_t first, double *mean);

#endif
