/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out of a ridge problem in closed form, on a sample of its rows. */
#ifndef TNP_LOO_H
#define TNP_LOO_H

#include "learn/ridge/ridge.h"

/* Rows to leave out, ascending. weight: how many rows of the data each stands for, divided by all rows; sums to 1. */
typedef struct tnp_sample {
    size_t *rows;
    double *weight;
    size_t count;
} tnp_sample;

/* `most` rows (SIZE_MAX: all), seeded. Multi-class: as many of every class as there are, up to an equal share, if the
 * sample has room for two of each; otherwise and for other tasks a plain random sample. */
tn_status tnp_sample_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t most, size_t seed, tnp_sample **out);
/* Takes multi-class rows out of the sample that are alone in their class: a model without such a row has never seen the
 * class and is wrong about it whatever it learned. *sample is freed and NULL when none is left. */
tn_status tnp_sample_judged(tn_ctx *ctx, const tnp_targets *y, tn_task task, tnp_sample **sample);
void tnp_sample_free(tnp_sample *sample);

typedef struct tnp_loo tnp_loo;

/* Reads the sampled rows and rotates them: 2 m n^2 flops for m rows, order n. Everything is borrowed while it lives. */
tn_status tnp_loo_new(tn_ctx *ctx, const tnp_ridge *ridge, const tn_feed *const *feeds, size_t count,
                      const tnp_targets *y, const tnp_sample *sample, tnp_loo **out);
void tnp_loo_free(tnp_loo *loo);

/* Prediction for each sampled row by the model that never saw it, (m, classes), at one lambda, maybe infinite. */
tn_status tnp_loo_predict(tn_ctx *ctx, tnp_loo *loo, double lambda, double *out);

/* The same with a lambda of its own for each class. */
tn_status tnp_loo_predict_each(tn_ctx *ctx, tnp_loo *loo, const double *lambda, double *out);

/* A row of the sample that has more weight in its own prediction, at the last lambda, than a row of the problem can
 * have, so that it is none of it; of a team, in this member's part. SIZE_MAX: there is none. */
size_t tnp_loo_impossible(const tnp_loo *loo);

typedef struct tnp_loo_result {
    double accuracy, se; /* multi-class: arg-max; multi-label: share of right decisions at 0.5; NaN in regression */
    double r2;           /* regression, mean over outputs; NaN else */
} tnp_loo_result;

/* Figures of predictions (sample rows, classes), however they were made. se: of accuracy as an estimate for new rows of
 * the same kind. */
void tnp_loo_judge(const tnp_sample *sample, const tnp_targets *y, tn_task task, const double *predicted,
                   tnp_loo_result *out);
/* Weighted squared error over the sample and all classes at one lambda, maybe infinite; arg is a tnp_loo. */
tn_status tnp_loo_squared_error(tn_ctx *ctx, void *arg, double lambda, double *value);

#endif
