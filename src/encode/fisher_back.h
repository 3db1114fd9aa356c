/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reverse pass of Fisher vectors: how a number changes with the mixture, from how it changes with the vector of a
 * bag. */
#ifndef TNP_FISHER_BACK_H
#define TNP_FISHER_BACK_H

#include "encode/encoder.h"

/* A mixture as it is learned, in double: theta (tnp_fisher_size) is log weights (K), which need not sum to 1 yet, means
 * (K, d) and log deviations (K, d), one behind the other. */
typedef struct tnp_fisher_point {
    size_t count, dim;
    double *theta;      /* as given */
    double *weight;     /* (K): of sum 1 */
    double *log_weight; /* (K): their logarithms */
    double *sigma;      /* (K, d) */
} tnp_fisher_point;

size_t tnp_fisher_size(size_t count, size_t dim);
/* theta of a mixture, and a mixture of that size from it, rounded to float. A weight is at least 1e-12. */
void tnp_fisher_take(const tnp_mixture *mixture, double *theta);
void tnp_fisher_give(const tnp_fisher_point *point, tnp_mixture *mixture);
/* theta is copied. All zero before, tnp_fisher_point_free after. */
tn_status tnp_fisher_point_new(tn_ctx *ctx, size_t count, size_t dim, tnp_fisher_point *out);
void tnp_fisher_point_set(tnp_fisher_point *point, const double *theta);
void tnp_fisher_point_free(tnp_fisher_point *point);

/* A bag on its way back; rows and starts as of tnp_encoder_arrange. */
typedef struct tnp_fisher_bag {
    const float *rows;
    const size_t *starts;
    const size_t *whole; /* (atoms + 1): starts of all descriptors, of which rows are a sample; NULL: they are all */
    const double *psi;   /* (cols): the vector before any normalisation */
    const double *slope; /* (cols): dL/d(normalised vector) */
} tnp_fisher_bag;

typedef struct tnp_fisher_options {
    /* Of the signed root, whose derivative grows without bound at 0: 1 / sqrt(|psi| + soften mean|psi|) in the place of
     * 1 / sqrt|psi|. 0: the gradient as it is. */
    double soften;
    float reach; /* of tnp_mixture_slopes */
    bool wide;   /* all of it in double, component by component: tens of times slower */
} tnp_fisher_options;

/* gradient (tnp_fisher_size) += dL/dtheta of one bag. The encoder's mixture is that of the point. */
tn_status tnp_fisher_back(tn_ctx *ctx, const tn_encoder *encoder, const tnp_fisher_point *point,
                          const tnp_fisher_bag *bag, const tnp_fisher_options *options, double *gradient);

/* What both ways sum of the rows of an atom (fisher_wide.c: in double). u and v (K, d): e = sum_j alpha u + (alpha^2 -
 * 1) v; sums and shares as of tnp_mixture_back. */
tn_status tnp_fisher_wide_back(tn_ctx *ctx, const tnp_fisher_point *point, const double *u, const double *v,
                               const float *rows, size_t n, double *shares, tnp_mixture_sums *sums);
/* tnp_encode_raw in double. */
tn_status tnp_fisher_wide(tn_ctx *ctx, const tn_encoder *encoder, const tnp_fisher_point *point, const float *rows,
                          const size_t *starts, double *out);

#endif
