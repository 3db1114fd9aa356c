/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A preconditioner of the multinomial problem where nothing is known yet: its curvature at no weights. */
#ifndef TNP_SOFTMAX_MEAN_H
#define TNP_SOFTMAX_MEAN_H

#include "learn/softmax/softmax_blocks.h"

typedef struct tnp_mean_curve {
    tn_ctx *ctx;
    size_t k, dim;
    bool bias, penalised;
    float *mean;   /* dim: of the rows; 0 without intercept */
    float *t;      /* (dim, dim), upper triangle: the Cholesky factor; NULL: there is none */
    float *apart;  /* (k, dim): scratch */
    float *common; /* dim + 1: mean over the classes of what is multiplied */
    float last;    /* 1 / curvature of an intercept */
} tnp_mean_curve;

/* What it is made of, of rows with costs c: it serves for every C, and for most of the rows as well. */
typedef struct tnp_row_moment {
    double cost; /* sum of c */
    float *mean; /* dim: of the rows; 0 without intercept */
    float *a;    /* NULL: it is yet to be made; (dim, dim), upper triangle: sum c / k (x - mean)(x - mean)' */
} tnp_row_moment;

/* Borrows nothing; all zero before. Destroy is legal after failure, and on zeros. */
tn_status tnp_row_moment_make(tn_ctx *ctx, const tnp_softmax *loss, const tnp_block_rows *rows, size_t dim, bool bias,
                              tnp_row_moment *out);
void tnp_row_moment_destroy(tnp_row_moment *moment);

/* Whether it costs little beside the products with weights of k classes. */
bool tnp_mean_curve_pays(size_t dim, size_t k);
size_t tnp_mean_curve_bytes(size_t dim, size_t k);
/* At the loss's C, by the moment of rows like its own or, where that is NULL, by these rows; t stays NULL where floats do
 * not do. Borrows nothing. Destroy is legal after failure, and on zeros. */
tn_status tnp_mean_curve_init(tn_ctx *ctx, const tnp_softmax *loss, const tnp_row_moment *moment,
                              const tnp_block_rows *rows, size_t dim, bool bias, bool penalised, tnp_mean_curve *out);
void tnp_mean_curve_destroy(tnp_mean_curve *curve);
/* out (k, dim + 1) = M^-1 in; may be the same. */
void tnp_mean_curve_apply(const tnp_mean_curve *curve, const float *in, float *out);

#endif
