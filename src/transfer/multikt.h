/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MultiKT: a ridge model of the features on top of a weighted sum of source scores. */
#ifndef TNP_MULTIKT_H
#define TNP_MULTIKT_H

#include "transfer/ridge.h"

typedef enum tnp_ball { TNP_BALL_L1, TNP_BALL_L2 } tnp_ball;

/* The nearest point of |b|_1 <= tau, in place; scratch (n) is written to. */
void tnp_project_l1(size_t n, double tau, double *b, double *scratch);

/* lambda and tau from the grids by leave-one-out score; of equals the larger lambda, then the smaller tau. The weights
 * of the sources are beta. kept, choice: as of tnp_transfer_ridge. TN_ERR_ARG without features or without sources.
 * Owned by the caller. Thread counts agree to the rounding of the kernel's eigenvectors, which are the BLAS's. */
tn_status tnp_multikt(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features, tnp_ball ball,
                      tnp_ridge_basis **kept, const tnp_transfer_choice *choice, tnp_transfer_model **out);

#endif
