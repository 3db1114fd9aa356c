/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The linear classifiers above the vectors, solved again and again for vectors that change a little, and how their
 * objective changes with the vectors. With c = C/n, s_il = w_l'phi_i + b_l, a_il = max(0, 1 - y_il s_il):
 *
 *   svm           f = sum_l min 1/2 (|w_l|^2 + b_l^2) + c sum_i a_il^2
 *   cv            f = c sum_l sum_i a_il^2, where row i is scored by the machines that were solved without its fold
 *   multinomial   f = min 1/2 sum_l (|w_l|^2 + b_l^2) - c sum_i log softmax(s_i)[y_i] */
#ifndef TNP_MACHINES_H
#define TNP_MACHINES_H

#include "encode/encoder.h"
#include "matrix/moments.h"

typedef struct tnp_machines {
    size_t rows, dim, classes;
    tnp_refine_objective kind;
    tnp_targets y;               /* lists of classes; borrowed */
    double cost;                 /* C */
    bool bias;                   /* with an intercept */
    bool *constant;              /* (classes): in all rows or in none, and so left out, but by multinomial */
    size_t folds;                /* of cv; 0 of the others */
    uint32_t *row_fold;          /* (rows), of cv */
    size_t columns;              /* classes * (folds + 1): fold by fold, those of all rows last */
    uint32_t *fold;              /* (columns) */
    float *w;                    /* (columns, dim + 1), intercepts last: the solution, and where the next one begins */
    float *scores;               /* (rows, columns) of the vectors at hand */
    double objective, loss, gap; /* f; what is lost on rows; how far f may be above its minimum (of cv: the machines) */
    float *by_w, *by_p;          /* (rows, columns): df/dphi_i = sum_j by_w w_j + by_p p_j */
    float *p;                    /* (columns, dim + 1), of cv: see machines_cv.c */
} tnp_machines;

/* y is borrowed while they live; the seed deals the folds. All zero before, tnp_machines_free after. */
tn_status tnp_machines_new(tn_ctx *ctx, const tnp_targets *y, size_t dim, const tnp_refine_options *options,
                           size_t seed, tnp_machines *out);
void tnp_machines_free(tnp_machines *machines);
/* Solves for phi (rows, dim) from w on, to a certified gap of `tolerance` of f; then as tnp_machines_look. */
tn_status tnp_machines_solve(tn_ctx *ctx, tnp_machines *machines, float *phi, double tolerance);
/* scores, loss and objective of w as it is. */
tn_status tnp_machines_look(tn_ctx *ctx, tnp_machines *machines, const float *phi);
/* Makes df/dphi ready, at the scores at hand; then out (dim) is that of a row. */
tn_status tnp_machines_turn(tn_ctx *ctx, tnp_machines *machines, const float *phi);
void tnp_machines_slope(const tnp_machines *machines, size_t row, double *out);
/* Scores of other rows by the machines of all rows into out (rows, classes). */
tn_status tnp_machines_score(tn_ctx *ctx, const tnp_machines *machines, const float *phi, size_t rows, float *out);

/* max(0, 1 - y s) of a row in a column, and y itself; 0 of a class that is left out. */
double tnp_machines_lack(const tnp_machines *machines, size_t row, size_t column, double *sign);
/* tnp_machines_turn of cv (machines_cv.c). */
tn_status tnp_machines_turn_cv(tn_ctx *ctx, tnp_machines *machines, const float *phi);

#endif
