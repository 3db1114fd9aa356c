/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From weights of linear machines on the functions of a basis to the directions that they share. */
#ifndef TNP_MAP_LEARN_H
#define TNP_MAP_LEARN_H

#include "base/base.h"
#include "tenon/transform.h"

/* a (rank, rank), upper triangle, += sum v v' over the entries v (rank) of w (count, entries * rank + 1); the last
 * value of a row of w, the intercept, belongs to no entry. */
tn_status tnp_map_add_weights(tn_ctx *ctx, const float *w, size_t count, size_t entries, size_t rank, double *a);

/* What B a B' is made of; M = TN_BASIS_SIZE. */
typedef struct tnp_map_parts {
    double vectors[TN_BASIS_SIZE * TN_BASIS_SIZE]; /* P: a column an eigenvector, its entry of largest size positive */
    double singular_values[TN_BASIS_SIZE];         /* roots of the eigenvalues, descending */
    double rates[TN_BASIS_SIZE];                   /* tau(1) .. */
    size_t holds;                                  /* eigenvalues that are more than rounding */
} tnp_map_parts;

/* B a B' = P diag(e) P' for b (M, rank) with orthonormal columns and a as above. TN_ERR_DATA when a is zero. */
tn_status tnp_map_decompose(tn_ctx *ctx, const double *b, size_t rank, const double *a, tnp_map_parts *out);
/* weight (M, rank) = the first columns of P, times singular_values^power. */
void tnp_map_weights(const tnp_map_parts *parts, size_t rank, double power, double *weight);

#endif
