/* SPDX-License-Identifier: BSD-3-Clause
 *
 * As many digits as a set needs, and no more: the log evidence is to be within 1e-6 of the exact one.
 *
 *   1   moments as they were read: float products for float files, which is right for features of networks
 *   2   moments in double about the means, read again: of a single candidate for itself, since the joint moments of all
 *       cost the square of how much wider they are; for the ensemble once, if any of its larger sets asks for it
 *   3   singular values of the rows (ridge/root.c), for the one set, where double moments do not hold its spectrum
 *
 * A step is taken when the estimate of tnp_evidence_error is above GOAL; when a column changes by less than the noise;
 * and when eigenvalues that no constant column explains are lost in it. The last is no proof of harm: a column that
 * depends on others does it too. From 2 to 3 it counts only where 3 is quick, and for rows that repeat, where it takes
 * no time. What is not affordable stays as it is, and its error says so. */
#include "select/ensemble_inside.h"
#include "select/evidence.h"

#include <math.h>

static const double GOAL = 1e-6;
/* Half a minute, half a second, 10 ms on two cores. */
static const double MUST_FLOPS = 1e12, MAY_FLOPS = 1e10, TWINS_FLOPS = 2e8;

static bool must_refine(const tnp_spectrum *s, const tn_evidence *e)
{
    return !(e->error <= GOAL) || s->noise.faint > 0;
}

static void drop(tnp_ridge **ridge, tn_evidence **evidence)
{
    tnp_ridge_free(*ridge);
    tn_evidence_free(*evidence);
    *ridge = NULL;
    *evidence = NULL;
}

/* Step 2. */
static tn_status widened(tn_ctx *ctx, tnp_ensemble *ensemble, const size_t *members, size_t count, tnp_ridge **out)
{
    if (count == 1 && tnp_ensemble_within_budget(ctx, ensemble, members[0]))
        return tnp_ensemble_widen_one(ctx, ensemble, members[0], out);
    tn_status st = tnp_ensemble_widen(ctx, ensemble);
    return st == TN_OK ? tnp_ensemble_ridge(ctx, ensemble, members, count, out) : st;
}

/* Whether the rows themselves are to be decomposed, and may be. */
static bool wants_root(const tn_ctx *ctx, const tnp_ensemble *ensemble, const size_t *members, size_t count,
                       const tnp_spectrum *s, const tn_evidence *e)
{
    double flops = 0, bytes = 0;
    tnp_ensemble_root_cost(ensemble, members, count, &flops, &bytes);
    double may = s->hidden > s->noise.twins ? MAY_FLOPS : s->hidden > 0 ? TWINS_FLOPS : 0;
    double most = must_refine(s, e) ? MUST_FLOPS : may;
    return flops <= most && bytes <= (double)tnp_budget_left(ctx);
}

tn_status tnp_ensemble_evidence(tn_ctx *ctx, tnp_ensemble *ensemble, const size_t *members, size_t count,
                                const bool *constant, const tnp_evidence_options *options, tnp_ridge **ridge,
                                tn_evidence **evidence)
{
    tn_status st = TN_OK;
    tnp_ridge *r = NULL, *better = NULL;
    tn_evidence *e = NULL;
    if (tnp_ensemble_take(ctx, ensemble, members, count, ridge, evidence))
        return TN_OK;
    TN_TRY(tnp_ensemble_ridge(ctx, ensemble, members, count, &r));
    TN_TRY(tnp_evidence_new(ctx, r->spectrum, r->rows, r->dim, constant, options, &e));
    if (!r->spectrum->dual && tnp_ensemble_can_widen(ensemble) &&
        (must_refine(r->spectrum, e) || r->spectrum->hidden > 0)) {
        drop(&r, &e);
        TN_TRY(widened(ctx, ensemble, members, count, &r));
        TN_TRY(tnp_evidence_new(ctx, r->spectrum, r->rows, r->dim, constant, options, &e));
    }
    if (wants_root(ctx, ensemble, members, count, r->spectrum, e)) {
        TN_TRY(tnp_ensemble_root(ctx, ensemble, members, count, &better));
        drop(&r, &e);
        r = better;
        better = NULL;
        TN_TRY(tnp_evidence_new(ctx, r->spectrum, r->rows, r->dim, constant, options, &e));
    } else if (r->spectrum->noise.faint > 0) {
        e->error = INFINITY;
    }
    if (count == 1)
        tnp_ensemble_note(ensemble, members[0], e);
    *ridge = r;
    *evidence = e;
    r = NULL;
    e = NULL;
done:
    drop(&r, &e);
    tnp_ridge_free(better);
    return st;
}
