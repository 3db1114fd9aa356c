/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reverse pass of Fisher vectors: how a number changes with the mixture, and with the projection before it, from
 * how it changes with the vector of a bag. */
#ifndef TNP_FISHER_BACK_H
#define TNP_FISHER_BACK_H

#include "encode/encoder.h"

/* What is learned, in double: theta (size) is log weights (K), which need not sum to 1 yet, means (K, d) and log
 * deviations (K, d), and where the projection is learned its basis (to, from), one behind the other. */
typedef struct tnp_fisher_point {
    size_t count, dim;
    size_t to, from;     /* of the projection; 0: it is not learned */
    size_t size;         /* of theta */
    double *theta;       /* as given */
    const double *basis; /* (to, from): the last of theta */
    double *weight;      /* (K): of sum 1 */
    double *log_weight;  /* (K): their logarithms */
    double *sigma;       /* (K, d) */
    double *inverse;     /* (K, d): 1 / sigma */
} tnp_fisher_point;

/* Of the mixture's part of theta. */
size_t tnp_fisher_size(size_t count, size_t dim);
/* For an encoder of this shape; `projected`: its projection, which it must have, is learned too. All zero before,
 * tnp_fisher_point_free after. */
tn_status tnp_fisher_point_new(tn_ctx *ctx, const tn_encoder *encoder, bool projected, tnp_fisher_point *out);
void tnp_fisher_point_free(tnp_fisher_point *point);
/* theta is copied. */
void tnp_fisher_point_set(tnp_fisher_point *point, const double *theta);
/* theta of an encoder; and into an encoder, rounded to float. A weight is at least 1e-12. */
void tnp_fisher_take(const tn_encoder *encoder, tnp_fisher_point *point);
void tnp_fisher_give(const tnp_fisher_point *point, tn_encoder *encoder);

/* A bag on its way back; rows and starts as of tnp_encoder_arrange. */
typedef struct tnp_fisher_bag {
    const float *rows;
    /* (n, from + dim - to): the rows before the projection, less its mean, and what it leaves alone behind; where the
     * projection is learned. In double they are projected again, and rows are not looked at. */
    const float *raw;
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

/* gradient (size of the point) += dL/dtheta of one bag. The encoder is that of the point. */
tn_status tnp_fisher_back(tn_ctx *ctx, const tn_encoder *encoder, const tnp_fisher_point *point,
                          const tnp_fisher_bag *bag, const tnp_fisher_options *options, double *gradient);

/* Rows of an atom, and how L changes with their posteriors: u and v (K, d), e = sum_j alpha u + (alpha^2 - 1) v. */
typedef struct tnp_fisher_atom {
    const float *rows, *raw;
    size_t count;
    const double *u, *v;
} tnp_fisher_atom;

/* What both ways sum of the rows of an atom (fisher_wide.c: in double): shares and sums as of tnp_mixture_back, and
 * dL/d basis into basis (to, from), which is not looked at without a projection. */
tn_status tnp_fisher_wide_back(tn_ctx *ctx, const tnp_fisher_point *point, const tnp_fisher_atom *atom, double *shares,
                               tnp_mixture_sums *sums, double *basis);
/* tnp_encode_raw in double; of the bag rows, raw and starts are asked. */
tn_status tnp_fisher_wide(tn_ctx *ctx, const tn_encoder *encoder, const tnp_fisher_point *point,
                          const tnp_fisher_bag *bag, double *out);

#endif
