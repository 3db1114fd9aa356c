/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of the pipeline that would hide its plot: candidates, the figures of a set, the head of a set. */
#ifndef TNP_PIPELINE_PARTS_H
#define TNP_PIPELINE_PARTS_H

#include "evaluate/loo.h"
#include "learn/head.h"
#include "learn/task.h"
#include "select/ensemble.h"
#include "select/evidence.h"
#include "select/search.h"
#include "tenon/pipeline.h"

/* Every pair of source and normalisation, with its feed over the task's rows. */
typedef struct tnp_candidates {
    size_t count;
    tn_feed **feeds;
    char **names;
} tnp_candidates;

tn_status tnp_candidates_new(tn_ctx *ctx, const tn_source *const *sources, size_t count, const tnp_task *task,
                             const tn_rank_options *options, tnp_candidates **out);
void tnp_candidates_free(tnp_candidates *candidates);

/* Everything that the figures of a set need besides the set. */
typedef struct tnp_bench {
    const tnp_task *task;
    const tnp_candidates *candidates;
    const tnp_ensemble *ensemble;
    const tn_rank_options *options;
    const tnp_sample *sample; /* NULL: no leave-one-out */
} tnp_bench;

/* Evidence and leave-one-out of a set into *out (named by its members), its ridge problem and evidence to the caller
 * when he asks for them. */
tn_status tnp_measure_set(tn_ctx *ctx, const tnp_bench *bench, const size_t *members, size_t count, tn_candidate *out,
                          tnp_ridge **ridge, tn_evidence **evidence);
/* As tnp_set_fn: log evidence of a set; arg is a tnp_bench. */
tn_status tnp_set_evidence(tn_ctx *ctx, void *arg, const size_t *members, size_t count, double *log_evidence);

/* lambda (classes) by the rule the options name; *word is what was used. */
tn_status tnp_choose_lambda(tn_ctx *ctx, const tnp_bench *bench, const tn_fit_options *options, const tnp_ridge *ridge,
                            const tn_evidence *evidence, const size_t *members, size_t count, double *lambda,
                            const char **word);
/* The head of a set at these lambdas. */
tn_status tnp_make_head(tn_ctx *ctx, const tnp_bench *bench, const tn_labels *labels, const tn_fit_options *options,
                        const tnp_ridge *ridge, double log_evidence, const size_t *members, size_t count,
                        const double *lambda, tn_head **out);

/* Results under construction. */
tn_status tnp_ranking_new(tn_ctx *ctx, const tnp_task *task, size_t count, tn_ranking **out);
void tnp_ranking_sort(tn_ranking *ranking);
tn_status tnp_fit_info_new(tn_ctx *ctx, const tnp_task *task, size_t candidates, tn_fit_info **out);
tn_status tnp_fit_info_steps(tn_ctx *ctx, const tnp_candidates *candidates, const tnp_search *search,
                             tn_fit_info *info);

/* Reads --loo: a number of rows, "all" (SIZE_MAX) or "0". */
tn_status tnp_parse_loo(tn_ctx *ctx, const char *text, size_t *rows);
/* Names of a set joined by " + ". */
tn_status tnp_join_names(tn_ctx *ctx, const tnp_candidates *candidates, const size_t *members, size_t count,
                         char **out);

#endif
