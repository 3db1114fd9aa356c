/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Evidence from statistics alone: rows that were read elsewhere, merged, loaded from files. There are no rows to go
 * back to: what rounding may have left of the digits is in the result's error. */
#include "learn/ridge/ridge.h"
#include "select/evidence.h"

/* A target never changes when its squares about the mean are rounding noise of its squares. */
static size_t find_constant(const tn_moments *moments, bool *constant)
{
    size_t useful = 0;
    double n = (double)moments->rows;
    for (size_t k = 0; k < moments->classes; ++k) {
        constant[k] = !(moments->yy[k] - moments->ysum[k] * moments->ysum[k] / n > 1e-13 * moments->yy[k]);
        useful += !constant[k];
    }
    return useful;
}

tn_status tnp_moments_evidence(tn_ctx *ctx, const tn_moments *moments, const tnp_evidence_options *options,
                               tn_evidence **out)
{
    tn_status st = TN_OK;
    bool *constant = NULL;
    tnp_ridge *ridge = NULL;
    tnp_range all = {0, moments->dim};
    TN_TRY(tnp_alloc(ctx, moments->classes, sizeof *constant, &constant));
    if (moments->rows <= moments->dim + (options->intercept ? 1 : 0))
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "statistics: %zu rows of %zu columns, expected more rows than columns",
                        moments->rows, moments->dim));
    if (find_constant(moments, constant) == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "statistics: every target is constant, there is nothing to learn"));
    TN_TRY(tnp_ridge_primal(ctx, moments, &all, 1, options->intercept, &ridge));
    TN_TRY(tnp_evidence_new(ctx, ridge->spectrum, ridge->rows, ridge->dim, constant, options, out));
done:
    tnp_ridge_free(ridge);
    tnp_free(constant);
    return st;
}

tn_status tn_moments_evidence(tn_ctx *ctx, const tn_moments *moments, const tn_options *options, tn_evidence **out)
{
    tnp_evidence_options values;
    tn_status st = tnp_options_read(ctx, options, &tnp_evidence_kind, &values);
    return st == TN_OK ? tnp_moments_evidence(ctx, moments, &values, out) : st;
}
