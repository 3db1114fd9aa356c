/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Temperatures: scores to probabilities. */
#ifndef TNP_CALIBRATE_H
#define TNP_CALIBRATE_H

#include "matrix/moments.h"
#include "tenon/learn.h"

/* The temperature with the least negative log-likelihood of the targets of `rows` (count; NULL: 0, 1, ...) given their
 * scores (count, classes), which must come from models that did not see them; NaN where there is no such score. weight
 * (count), or NULL. 0 where no decision is left to go by: then there are no probabilities. */
tn_status tnp_temperature_fit(tn_ctx *ctx, const tnp_targets *y, tn_task task, double threshold, const size_t *rows,
                              size_t count, const double *weight, const float *scores, double *temperature);
/* loss (count): negative log-likelihood of the targets of each of those rows at a temperature above 0, multi-label the
 * mean over its labels; NaN for a row that has no decision to go by. */
void tnp_temperature_losses(const tnp_targets *y, tn_task task, double threshold, const size_t *rows, size_t count,
                            const float *scores, double temperature, double *loss);
/* Mean negative log-likelihood of the same decisions at a temperature, in nats; NaN where there is no decision. */
double tnp_log_loss(const tnp_targets *y, tn_task task, double threshold, const size_t *rows, size_t count,
                    const double *weight, const float *scores, double temperature);

#endif
