/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mixtures of Gaussians with diagonal covariance: posteriors, the sums that EM and Fisher vectors are made of, EM. */
#ifndef TNP_MIXTURE_H
#define TNP_MIXTURE_H

#include "base/base.h"

typedef struct tnp_mixture {
    size_t count, dim;
    float *weights;   /* (count), of sum 1, none 0 */
    float *means;     /* (count, dim) */
    float *variances; /* (count, dim), above 0 */
    /* Made by tnp_mixture_ready. */
    float *inverse; /* (count, dim): 1 / variances */
    float *whole;   /* (count): log weight - (1/2) sum log(2 pi var) */
} tnp_mixture;

/* Allocates all of it; all zero before, tnp_mixture_free after. */
tn_status tnp_mixture_new(tn_ctx *ctx, size_t count, size_t dim, tnp_mixture *out);
void tnp_mixture_free(tnp_mixture *mixture);
/* To be called when weights, means and variances are set. */
void tnp_mixture_ready(tnp_mixture *mixture);

/* Sums over rows, with q[i,k] the posterior of component k: zero (count) = sum q, first (count, dim) = sum q (x - mean),
 * second = sum q (x - mean)^2; log_likelihood = sum log p(x). */
typedef struct tnp_mixture_sums {
    double *zero, *first, *second, log_likelihood;
    size_t rows;
} tnp_mixture_sums;

tn_status tnp_mixture_sums_new(tn_ctx *ctx, const tnp_mixture *mixture, tnp_mixture_sums *out);
void tnp_mixture_sums_clear(const tnp_mixture *mixture, tnp_mixture_sums *sums);
void tnp_mixture_sums_free(tnp_mixture_sums *sums);
/* Adds the rows of x (n, dim), compact. */
tn_status tnp_mixture_add(tn_ctx *ctx, const tnp_mixture *mixture, const float *x, size_t n, tnp_mixture_sums *sums);
/* Posteriors of rows into q (n, count), for tests and callers that want them all. */
tn_status tnp_mixture_posteriors(tn_ctx *ctx, const tnp_mixture *mixture, const float *x, size_t n, float *q);

/* How a number L changes with the posteriors: dL/dq[i,k] = e[i,k] = sum_j z (linear[k,j] + square[k,j] z) - level[k],
 * z = x[i,j] - means[k,j]. */
typedef struct tnp_mixture_slopes {
    const float *linear, *square, *level; /* (count, dim), (count, dim), (count) */
    float reach; /* components whose log density is this far below the highest count as absent; 0: as for the sums */
} tnp_mixture_slopes;

/* The reverse of tnp_mixture_add: with d[i,k] = q[i,k] (e[i,k] - sum_k q[i,k] e[i,k]) = dL/d(log density of row i under
 * component k, weight included), adds sum d to sums->zero, sum d (x - mean) to first, sum d (x - mean)^2 to second; and
 * the posteriors themselves to shares (count). sums->rows stays. dx (n, dim): dL/dx of every row, or NULL. */
tn_status tnp_mixture_back(tn_ctx *ctx, const tnp_mixture *mixture, const tnp_mixture_slopes *slopes, const float *x,
                           size_t n, double *shares, tnp_mixture_sums *sums, float *dx);

/* One step of EM: parameters from the sums; variances at least floor (dim). Components that have less than 1e-8 of all
 * rows keep mean and variance. */
void tnp_mixture_update(tnp_mixture *mixture, const tnp_mixture_sums *sums, const double *floor);

/* out (2 count dim): the Fisher vector, all u, then all v; zeros when there are no rows. */
void tnp_fisher(const tnp_mixture *mixture, const tnp_mixture_sums *sums, float *out);

#endif
