/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linear discriminants of a ridge problem of many classes, at any lambda of its spectrum. */
#ifndef TNP_DISCRIMINANT_H
#define TNP_DISCRIMINANT_H

#include "learn/ridge/ridge.h"

typedef struct tnp_discriminant {
    size_t classes;
    double *map;   /* (classes, classes), symmetric */
    double *shift; /* (classes): map times minus the mean of the targets, less half of each class's own score */
} tnp_discriminant;

/* From a multi-class problem with an intercept. TN_ERR_UNSUPPORTED where rows of a class do not differ by what double can
 * tell. Free with tnp_discriminant_free. */
tn_status tnp_discriminant_new(tn_ctx *ctx, const tnp_ridge *ridge, double lambda, tnp_discriminant **out);
void tnp_discriminant_free(tnp_discriminant *d);

/* Scores (rows, classes) by the ridge at that lambda, with its intercepts, become scores of the discriminants. */
tn_status tnp_discriminant_scores(tn_ctx *ctx, const tnp_discriminant *d, size_t rows, float *scores);
/* The same of weights (classes, dim) and intercepts (classes). */
tn_status tnp_discriminant_weights(tn_ctx *ctx, const tnp_discriminant *d, size_t dim, float *weight, float *bias);

#endif
