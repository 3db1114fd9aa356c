/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moments in the place of rows: gathered, ranked, fitted. */
#ifndef TNP_PIPELINE_MOMENTS_H
#define TNP_PIPELINE_MOMENTS_H

#include "learn/tally/tally.h"
#include "pipeline/parts.h"

tn_status tnp_tally_gather(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                           const tnp_tally_options *options, tn_tally **out);
tn_status tnp_tally_rank(tn_ctx *ctx, const tn_tally *tally, const tnp_rank_options *options, tn_ranking **out);
tn_status tnp_tally_fit(tn_ctx *ctx, const tn_tally *tally, const tnp_fit_options *options, tn_fit_info **info,
                        tn_head **head);

/* Some of the rows that went in, to be left out one by one: sample.c. */
typedef struct tnp_sampled {
    tnp_task *task;  /* their targets over the tally's classes; NULL: none were given */
    tn_feed **feeds; /* feed_count, one per candidate */
    size_t feed_count;
    tnp_sample rows; /* of the task */
} tnp_sampled;

/* What ranking and fitting share: the candidates of a tally and a task without rows. */
typedef struct tnp_tallied {
    const tn_tally *tally;
    tnp_task task;             /* kind, numbers of rows and classes, constant classes; nothing of single rows */
    tnp_candidates candidates; /* names; no feeds */
    tnp_range *columns;        /* candidates: in the moments */
    tnp_moments *owned;        /* NULL where those of the tally are used */
    const tnp_moments *all;
    tnp_ensemble *ensemble;
    tnp_selection selection;
    tnp_sampled sampled;
} tnp_tallied;

/* Destroy is legal after failure, and on zeros. options are borrowed as long. */
tn_status tnp_tallied_init(tn_ctx *ctx, const tn_tally *tally, const tnp_rank_options *options, tnp_tallied *out);
void tnp_tallied_destroy(tnp_tallied *tallied);
/* tnp_measure_set, and leave-one-out of the sample. */
tn_status tnp_tallied_set(tn_ctx *ctx, const tnp_tallied *tallied, const size_t *members, size_t count,
                          tn_candidate *out, tnp_ridge **ridge, tn_evidence **evidence);
/* Every candidate by itself, in candidate order. */
tn_status tnp_tallied_measure(tn_ctx *ctx, const tnp_tallied *tallied, tn_ranking *ranking);

/* Rows of option rows, checked against the tally. Destroy is legal after failure, and on zeros. */
tn_status tnp_sampled_init(tn_ctx *ctx, const tnp_tallied *tallied, const tnp_rank_options *options,
                           tnp_sampled *sampled);
void tnp_sampled_destroy(tnp_sampled *sampled);
/* Leave-one-out figures of a set into the loo_ members of *out, which stay as they are without a sample: at lambda
 * (classes); at the one that all classes share. */
tn_status tnp_sampled_judge(tn_ctx *ctx, const tnp_tallied *tallied, const tnp_ridge *ridge, const double *lambda,
                            const size_t *members, size_t count, tn_candidate *out);
tn_status tnp_sampled_measure(tn_ctx *ctx, const tnp_tallied *tallied, const tnp_ridge *ridge,
                              const tn_evidence *evidence, const size_t *members, size_t count, tn_candidate *out);

/* R^2 of held-out folds for every lambda of the grid: folds.c. parts: columns of the set; constant (classes): left
 * out. */
tn_status tnp_ridge_cv_tally(tn_ctx *ctx, const tn_tally *tally, const tnp_range *parts, size_t count, bool intercept,
                             const bool *constant, tnp_cross *cross);

#endif
