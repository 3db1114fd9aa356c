/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The support vector machines above the vectors: one per class, squared hinge,
 *
 *   f = sum_l 1/2 (|w_l|^2 + b_l^2) + C/n sum_i max(0, 1 - y_il (w_l'phi_i + b_l))^2
 *
 * solved again and again for vectors that change a little. */
#ifndef TNP_MACHINES_H
#define TNP_MACHINES_H

#include "matrix/moments.h"

typedef struct tnp_machines {
    size_t rows, dim, classes;
    tnp_targets y;               /* lists of classes; borrowed */
    double cost;                 /* C */
    bool bias;                   /* with an intercept */
    bool *constant;              /* (classes): in all rows or in none, and so left out */
    float *w;                    /* (classes, dim + 1), intercepts last: the solution, and where the next one begins */
    float *scores;               /* (rows, classes) of the vectors at hand */
    double objective, loss, gap; /* of all classes: f, its second term, and how far f may be above its minimum */
} tnp_machines;

/* y is borrowed while they live. All zero before, tnp_machines_free after. */
tn_status tnp_machines_new(tn_ctx *ctx, const tnp_targets *y, size_t dim, bool bias, tnp_machines *out);
void tnp_machines_free(tnp_machines *machines);
/* Solves for phi (rows, dim) from w on, to a certified gap of `tolerance` of f; then as tnp_machines_look. */
tn_status tnp_machines_solve(tn_ctx *ctx, tnp_machines *machines, float *phi, double tolerance);
/* scores, loss and objective of w as it is. */
tn_status tnp_machines_look(tn_ctx *ctx, tnp_machines *machines, const float *phi);
/* out (dim) = df/dphi of a row, at the scores at hand. */
void tnp_machines_slope(const tnp_machines *machines, size_t row, double *out);
/* Scores of other rows into out (rows, classes). */
tn_status tnp_machines_score(tn_ctx *ctx, const tnp_machines *machines, const float *phi, size_t rows, float *out);

#endif
