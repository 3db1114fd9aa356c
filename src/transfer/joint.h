/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several classes whose scores an arg-max compares: one problem each, against the rest, on the same columns with the
 * same row weights, and the same values of a method for all. */
#ifndef TNP_TRANSFER_JOINT_H
#define TNP_TRANSFER_JOINT_H

#include "transfer/greedy.h"
#include "transfer/ridge.h"

typedef struct tnp_joint {
    const tnp_transfer_columns *columns; /* grouped */
    size_t features;                     /* columns of the target */
    size_t classes;
    const size_t *class_of;   /* (rows) */
    bool balanced;            /* every class weighs the same, else every row as it does */
    const double *row_weight; /* (rows) above 0, 1 on average, or NULL: all alike */
} tnp_joint;

static inline double tnp_joint_row_weight(const tnp_joint *joint, size_t row)
{
    return joint->row_weight ? joint->row_weight[row] : 1;
}

/* y (rows): 1 in class k, else -1. */
void tnp_joint_labels(const tnp_joint *joint, size_t k, double *y);
/* Weights (rows) of the rows whose weight is not 0 when it comes in, in the proportions of their row weights; the
 * others stay 0. The sum over a class is that of all its rows, whether or not they stay: rows that leave must not make
 * their class a rarer one than it is. */
void tnp_joint_weigh(const tnp_joint *joint, double *weights);
/* counts (rows): the weight of rows whose class has another row among those of weights other than 0, else 0: without
 * such a row its class is not there, and no value of a method could tell it. Returns whether a row counts. */
bool tnp_joint_counts(const tnp_joint *joint, const double *weights, double *counts);

/* The value of a grid for all classes. add: adds the losses of the problem's labels. */
typedef tn_status tnp_joint_add(tn_ctx *ctx, void *arg, const tnp_transfer_choice *choice);
/* The value with the smallest sum, over classes that have rows of weight other than 0 and rows that count, of squared
 * leave-one-out residuals; of equals the first, which regularises most; `without` when no row counts. The problem, of
 * the same columns with those weights, is left with the labels of some class. */
tn_status tnp_joint_choose(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                           tnp_joint_add *add, void *arg, size_t without, size_t *at);
/* For NONE, RLS or DAM, where rows that stay take over the weight of the one that leaves (transfer/joint_ridge.c);
 * kept, the basis, is made when it is NULL yet and left to the caller. */
tn_status tnp_joint_ridge(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                          tnp_ridge_method method, tnp_ridge_basis **kept, size_t *at);
/* predicted (classes, count): what value `at` of the grid says of rows (count), whether or not they take part. */
tn_status tnp_joint_ridge_predict(tn_ctx *ctx, const tnp_joint *joint, const tnp_transfer_problem *problem,
                                  tnp_ridge_method method, const tnp_ridge_basis *basis, size_t at, const size_t *rows,
                                  size_t count, double *predicted);
/* The share of the sources (columns.h) by the same residuals, of a problem whose columns have none yet; 0, none, where
 * no row counts, or there are no features or no sources that vary. */
tn_status tnp_joint_share(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                          double *share);
/* `without` of these: lambda 0.03 of the trace, and tau = 1. */
size_t tnp_joint_without(tnp_ridge_method method);

/* What is done again without the rows that are left out. */
typedef struct tnp_joint_model {
    bool greedy; /* or ridge: */
    tnp_ridge_method method;
    double lambda; /* of greedy; < 0: that of RLS, chosen by the rows that stay */
    double delta;
    const size_t *most; /* (classes): picks */
    /* (rows), or NULL: the value that RLS takes without part i, SIZE_MAX until it is found; models that leave the same
     * parts share it. */
    size_t *rls_at;
} tnp_joint_model;

/* What it predicted for them. */
typedef struct tnp_joint_left {
    size_t steps;      /* 1 for ridge; for greedy 1 + the largest number of picks, shorter paths end earlier */
    double *predicted; /* (classes, rows): with all picks */
    double *
        loss; /* (steps): squared residuals of the first s picks of every class, rows that count, summed over classes */
    double *error; /* (classes, steps): class-balanced share of wrong signs, class against the rest */
} tnp_joint_left;

/* Parts as of transfer/loo.h, the rows of one class after those of the other dealt out in turn. A class of which no row
 * stays is predicted as -1. mixed, or NULL: the same of the model's scores with their share of the nearest class mean
 * on the same columns; then one row of every class is left out at a time. The arrays of both are new, free with
 * tnp_joint_left_destroy, also after failure. */
tn_status tnp_joint_leave(tn_ctx *ctx, const tnp_joint *joint, const tnp_joint_model *model, tnp_joint_left *out,
                          tnp_joint_left *mixed);
void tnp_joint_left_destroy(tnp_joint_left *left);

/* Share of rows, of those that count, whose class has not the largest of predicted (classes, rows), and its standard
 * error; of equals the first class is taken, as a head does. Both NaN where no row counts, the second also for a single
 * one. */
typedef struct tnp_joint_score {
    double error, se;
    size_t rows;
} tnp_joint_score;
tnp_joint_score tnp_joint_score_of(const tnp_joint *joint, const double *counts, const double *predicted);
/* Whether `one` (classes, rows) is right about more of the rows that count than `two`, by more than three standard
 * errors of the difference. */
bool tnp_joint_prefers(const tnp_joint *joint, const double *counts, const double *one, const double *two);

/* ---- the nearest class mean: transfer/joint_means.c ---- */

#define TNP_MEANS_SHARE 0.3125 /* of the scores, where classes have few rows; exact in binary and in decimal */

typedef struct tnp_joint_means {
    const tnp_joint *joint;
    const tnp_transfer_problem *problem;
    size_t present;          /* classes that have rows with a weight */
    size_t *members, *first; /* (rows) that have one, class by class; (classes + 1): where a class begins among them */
    double *centre;          /* (cols): mean of the class means less the problem's mean */
} tnp_joint_means;

/* Of the rows whose weight is not 0, the problem's. It and the joint are borrowed. Free with tnp_joint_means_free. */
tn_status tnp_joint_means_new(tn_ctx *ctx, const tnp_joint *joint, const tnp_transfer_problem *problem,
                              const double *weights, tnp_joint_means **out);
void tnp_joint_means_free(tnp_joint_means *means);
static inline bool tnp_joint_has_mean(const tnp_joint_means *means, size_t k)
{
    return means->first[k + 1] > means->first[k];
}

/* d_kj of a class that has rows, and (z - m)_j of a row, in one column. */
double tnp_joint_away(const tnp_joint_means *means, size_t k, size_t column);
double tnp_joint_place(const tnp_joint_means *means, size_t row, size_t column);
/* |d_k|^2 where class k uses the columns picks (count), or 0 .. count-1 when NULL. */
double tnp_joint_means_square(const tnp_joint_means *means, size_t k, const size_t *picks, size_t count);
/* c, squares = sum_k |d_k|^2; 0 where the means are all the same, and say nothing. */
double tnp_joint_means_scale(const tnp_joint_means *means, double squares);
/* Raw weights (cols) and intercept of class k, which uses the same columns, become those of its scores with their share
 * of the nearest class mean's. */
void tnp_joint_means_mix(const tnp_joint_means *means, size_t k, const size_t *picks, size_t count, double scale,
                         double *w, double *intercept);

#endif
