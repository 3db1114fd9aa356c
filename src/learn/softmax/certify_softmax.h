/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a trained multinomial head may claim; see learn/certify.h. */
#ifndef TNP_CERTIFY_SOFTMAX_H
#define TNP_CERTIFY_SOFTMAX_H

#include "learn/design/rows.h"
#include "learn/softmax/softmax_loss.h"

typedef struct tnp_softmax_claim {
    const tnp_softmax *loss;
    bool bias, penalised;
    double tolerance; /* of the objective: the bound is made sharper until the gap is below, or it cannot be */
    const float *w;   /* (classes, dim + 1), intercepts last */
} tnp_softmax_claim;

/* One pass over the rows; with a free intercept up to eight where its slopes are far from 0. */
tn_status tnp_certify_softmax(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax_claim *claim, double *objective,
                              double *gap);
size_t tnp_certify_softmax_bytes(size_t dim, size_t classes);

/* -log of the probability of class `own`, to the last digits where it is near 0 too. */
double tnp_softmax_row_loss(const double *s, size_t classes, size_t own);

/* Sums over rows that a bound needs, for k classes. */
typedef struct tnp_softmax_sums {
    double longest;         /* of the rows, its square */
    const double *mass;     /* k: sum c q */
    const double *disorder; /* k: sum -c q log q */
    double *own;            /* k: sum c over the rows of the class */
} tnp_softmax_sums;

/* What tnp_softmax_measure is given as arg: a body of passes in double, whose sums (1 + 3 k) are the loss, then (k)
 * each mass, disorder, and the curvature in b, sum c q (1 - q); t = c (q - e_y). */
typedef struct tnp_softmax_claimed {
    const tnp_softmax *loss;
    const double *shift; /* k: what scores are moved by for q, not for the loss */
} tnp_softmax_claimed;

void tnp_softmax_measure(void *arg, const tnp_wide_panel *panel);

/* Lower bound of the minimum from probabilities q with these sums; back (k, dim + 1) = sum c (q - e_y) x, sums of c (q
 * - e_y) last. */
double tnp_softmax_bound(const tnp_softmax_sums *sums, size_t k, size_t dim, bool bias, bool penalised,
                         const double *back);

#endif
