/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Candidates with their moments, read once; the ridge problem of any set of them without touching a file again. */
#ifndef TNP_ENSEMBLE_H
#define TNP_ENSEMBLE_H

#include "learn/ridge/ridge.h"
#include "select/options.h"
#include "select/search.h"

typedef struct tnp_ensemble tnp_ensemble;

/* Reads the moments that sets of these feeds need. feeds and y are borrowed while it lives. The primal joint Gram
 * is made when some set has fewer columns than rows, row products when some set has more; where there is no memory for
 * those of all, they are made for each set from its files again. `sets`: whether sets of several will be asked for, or
 * single candidates only. TN_ERR_BUDGET with the figure, before reading. */
tn_status tnp_ensemble_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y, bool intercept,
                           bool sets, tnp_ensemble **out);
/* The same of candidates whose rows are elsewhere, from their joint moments: candidate c is the columns columns[c]. Both
 * are borrowed while it lives. A set of as many columns as rows, less the intercept, is TN_ERR_DATA: its labels can be
 * interpolated, which moments cannot tell from noise. */
tn_status tnp_ensemble_of_moments(tn_ctx *ctx, const tnp_moments *moments, const tnp_range *columns, size_t count,
                                  bool intercept, tnp_ensemble **out);
void tnp_ensemble_free(tnp_ensemble *ensemble);

/* The ridge problem of the candidates `members` (ascending) side by side. An ensemble of one candidate that was made
 * without `sets` gives its moments away instead of copying them: it answers once. */
tn_status tnp_ensemble_ridge(tn_ctx *ctx, tnp_ensemble *ensemble, const size_t *members, size_t count, tnp_ridge **out);

/* Whether its moments can be had with more digits: they are of float products, or about a point far from the mean. */
bool tnp_ensemble_can_widen(const tnp_ensemble *ensemble);
/* Reads them again in double, about the means, in place of what there was. */
tn_status tnp_ensemble_widen(tn_ctx *ctx, tnp_ensemble *ensemble);
/* The same for one candidate of several alone: its ridge problem from such moments, which the ensemble does not keep;
 * and whether there is the memory for them beside those of all. */
tn_status tnp_ensemble_widen_one(tn_ctx *ctx, const tnp_ensemble *ensemble, size_t member, tnp_ridge **out);
bool tnp_ensemble_within_budget(const tn_ctx *ctx, const tnp_ensemble *ensemble, size_t member);

/* The ridge problem and the evidence of a set, with as many digits as the set needs; refine.c. constant: as
 * tnp_evidence_new. Both are the caller's. */
tn_status tnp_ensemble_evidence(tn_ctx *ctx, tnp_ensemble *ensemble, const size_t *members, size_t count,
                                const bool *constant, const tnp_evidence_options *options, tnp_ridge **ridge,
                                tn_evidence **evidence);
/* Takes a set's problem and evidence over, also on failure, for when the set is asked for again: the best one is kept,
 * until the moments change or the next problem needs the memory. */
tn_status tnp_ensemble_keep(tn_ctx *ctx, tnp_ensemble *ensemble, const size_t *members, size_t count, tnp_ridge *ridge,
                            tn_evidence *evidence);
/* Gives them back if they are of this set; makes way for the set's problem if not. */
bool tnp_ensemble_take(tn_ctx *ctx, tnp_ensemble *ensemble, const size_t *members, size_t count, tnp_ridge **ridge,
                       tn_evidence **evidence);
/* The log evidence of a set as the search asks for it (select/search.h), rough where that costs less: beside the form
 * of a set that is kept, or of the set without the candidate that is new, which is then kept; reuse.c. */
tn_status tnp_ensemble_try(tn_ctx *ctx, tnp_ensemble *ensemble, const tnp_ask *ask, const bool *constant,
                           const tnp_evidence_options *options, double *log_evidence, bool *exact);
/* For tests: sets of fewer columns are measured, and those for which that costs less than 1/worth of the other way. */
void tnp_ensemble_when_rough(tnp_ensemble *ensemble, size_t cols, double worth);
/* The same problem from the rows, by singular values; and what that takes. */
tn_status tnp_ensemble_root(tn_ctx *ctx, const tnp_ensemble *ensemble, const size_t *members, size_t count,
                            tnp_ridge **out);
void tnp_ensemble_root_cost(const tnp_ensemble *ensemble, const size_t *members, size_t count, double *flops,
                            double *bytes);

#endif
