/* SPDX-License-Identifier: BSD-3-Clause
 *
 * l1 and elastic-net logistic regression as rivals of the greedy selection. */
#ifndef TNP_TRANSFER_LOGISTIC_H
#define TNP_TRANSFER_LOGISTIC_H

#include "transfer/ridge.h"

/* All columns; mix 1 is l1, below it elastic net. lambda from the grid by leave-one-out refits, of equals the larger,
 * or as `choice` says. The model's scores are log-odds; loo has the expected labels tanh(score/2), so that squared
 * residuals mean the same as elsewhere. A row that is the only one of its class is predicted as the other one. Owned by
 * the caller. */
tn_status tnp_transfer_logistic(tn_ctx *ctx, const tnp_transfer_problem *problem, double mix,
                                const tnp_transfer_choice *choice, tnp_transfer_model **out);

#endif
