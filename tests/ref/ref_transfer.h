/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfer methods as they are written down, in long double: standardisation, the greedy criterion solved anew for every
 * candidate, all subsets, and ridge models refitted without a row. */
#ifndef TN_REF_TRANSFER_H
#define TN_REF_TRANSFER_H

#include "ref_dense.h"
#include "ref_random.h"

#include <stdbool.h>

typedef struct ref_transfer {
    size_t m, p;
    double *x, *y, *weights; /* (m,p), (m) of -1 and 1, (m) or NULL */
    ref_real *z, *t, *share; /* standardised (m,p) and (m); weights that sum to one (m) */
    ref_real *mean, *scale;  /* (p); scale 0: constant */
    ref_real y_mean, y_scale;
} ref_transfer;

typedef enum ref_columns {
    REF_PLAIN,      /* independent, some with a class difference */
    REF_CORRELATED, /* a common part as large as their own */
    REF_TWINS,      /* every second column repeats the one before, or is a multiple of it plus a number */
    REF_DEAD,       /* every third column is constant */
    REF_COLUMN_KINDS
} ref_columns;

/* Both classes occur; weights at random when weighted. */
ref_transfer ref_transfer_of(ref_columns kind, size_t m, size_t p, bool weighted, uint64_t seed);
/* From x, y, weights, which it then owns. */
ref_transfer ref_transfer_from(size_t m, size_t p, double *x, double *y, double *weights);
/* The same with every value of x rounded to float. */
void ref_transfer_narrow(ref_transfer *r);
/* Scales of columns to scales of groups: with V the variances of a group, n columns that vary in all and G groups of
 * the target that vary, one more when a source does, a target's group is divided by sqrt(sum V G/n); a source by its
 * root of mean V and then by the one number that makes all sources together as large. share > 0: of n, share is for the
 * sources, the rest for the target. */
void ref_transfer_group(ref_transfer *r, size_t groups, size_t targets, const size_t *ends, double share);
void ref_transfer_free(ref_transfer *r);

/* b_S'(C_S + lambda I)^-1 b_S for the n columns of S, and the weights when w is not NULL. False when lambda is 0 and
 * less than 1e-10 of the last column is left beside the others. */
bool ref_transfer_objective(const ref_transfer *r, const size_t *s, size_t n, ref_real lambda, ref_real *value,
                            ref_real *w);
/* Literal greedy search: number of picks. Ties to 1e-13 go to the lower column; delta counts from the second pick on. */
size_t ref_transfer_greedy(const ref_transfer *r, ref_real lambda, ref_real delta, size_t most, size_t *picks,
                           ref_real *objective);
/* A problem of the rows that are not in part `which`; weights that give both classes the same sum when balanced. */
ref_transfer ref_transfer_without(const ref_transfer *r, const size_t *part, size_t which, bool balanced);
/* Greedy search on ref_transfer_without: predictions of the rows that are left out, out (most + 1, m), for the first s
 * picks or as many as there are. One class only: that class. */
void ref_transfer_greedy_without(const ref_transfer *r, const size_t *part, size_t which, bool balanced,
                                 ref_real lambda, ref_real delta, size_t most, ref_real *out);
/* The greatest objective of any n columns. */
ref_real ref_transfer_exhaustive(const ref_transfer *r, size_t n, ref_real lambda);

/* Predictions of rows that the fit has not seen: min sum_j share_j (t_j - b - sum_s w_s (x_js - mean_s)/scale_s)^2 +
 * lambda |w|^2 without row i, for every i. t (m), columns S, constant ones as zeros. */
void ref_transfer_loo(const ref_transfer *r, const double *t, const size_t *s, size_t n, ref_real lambda,
                      ref_real *out);
/* The same fit to all rows: raw weights (n) and the intercept. */
void ref_transfer_ridge(const ref_transfer *r, const double *t, const size_t *s, size_t n, ref_real lambda, ref_real *w,
                        ref_real *b);

#endif
