/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Evidence from statistics alone: rows that were read elsewhere, merged, loaded from files. There are no rows to go back to:
 * what rounding may have left of the digits is in the result's error. */
#include "learn/ridge.h"
#include "select/evidence.h"

/* A target never changes when its squares about the mean are rounding noise of its squares. */
static size_t find_constant(const tn_stats *stats, bool *constant)
{
    size_t useful = 0;
    double n = (double)stats->rows;
    for (size_t k = 0; k < stats->classes; ++k) {
        constant[k] = !(stats->yy[k] - stats->ysum[k] * stats->ysum[k] / n > 1e-13 * stats->yy[k]);
        useful += !constant[k];
    }
    return useful;
}

tn_status tn_stats_evidence(tn_ctx *ctx, const tn_stats *stats, const tn_evidence_options *options, tn_evidence **out)
{
    tn_status st = TN_OK;
    bool *constant = NULL;
    tnp_ridge *ridge = NULL;
    tnp_range all = {0, stats->dim};
    TN_TRY(tnp_alloc(ctx, stats->classes, sizeof *constant, &constant));
    if (stats->rows <= stats->dim + (options->intercept ? 1 : 0))
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "statistics: %zu rows of %zu columns, expected more rows than columns",
                        stats->rows, stats->dim));
    if (find_constant(stats, constant) == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "statistics: every target is constant, there is nothing to learn"));
    TN_TRY(tnp_ridge_primal(ctx, stats, &all, 1, options->intercept, &ridge));
    TN_TRY(tnp_evidence_new(ctx, ridge->spectrum, ridge->rows, ridge->dim, constant, options, out));
done:
    tnp_ridge_free(ridge);
    tnp_free(constant);
    return st;
}
