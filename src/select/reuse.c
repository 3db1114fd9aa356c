/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a search over sets need not do twice. The problem of the best set is kept, for it is likely to be taken. And a set
 * of n columns that has one of s < n columns in it, whose form is known, is asked for beside it (rough.c), with
 * m = n - s:
 *
 *   operations     a form of its own     4/3 n^3 at 2/3 of the speed of products
 *                  beside the other      2 s^2 m + 8 (s m^2 + m^3 / 3) at 9/10       0.55 of the former at s = 2 m, 0.24 at 5 m
 *
 * The known one is what is kept, or the set without the candidate that is new in it, where the search is going to ask for
 * it with others too: whichever has the fewest operations, also against a form of the set's own. What is gained is the
 * forms of sets that are left: a search that takes every candidate has little to gain.
 *
 * One lambda for all classes instead of each class's own was refused: it is another figure, and another choice. So was a
 * tree of Cholesky factors at fixed lambdas: nine of them, extended from set to set, have more operations than the forms.
 *
 * Oracle: the search that measures every set, tests/unit/test_rough.c. */
#include "base/team.h"
#include "select/ensemble_inside.h"
#include "select/rough.h"

#include <math.h>
#include <string.h>

enum { ROUGH_FROM = 1024, IN_VAIN = 2 };
/* Of the operations of a form: below it there is something to gain. A set that is likely to be taken is asked for with
 * less hope: what comes after it lacks its form. */
static const double WORTH = 0.8, WORTH_ALONE = 0.7;
static const double BY_CHANCE = 3; /* nats that noise may gain for a class, at a lambda that may be anything */

/* ---- sets that are kept ---- */

static void forget(tnp_solved *s)
{
    tnp_free(s->members);
    tnp_ridge_free(s->ridge);
    tn_evidence_free(s->evidence);
    memset(s, 0, sizeof *s);
}

void tnp_ensemble_forget(tnp_ensemble *e)
{
    forget(&e->best);
    forget(&e->base);
}

static bool is_set(const tnp_solved *s, const size_t *members, size_t count)
{
    return s->ridge && s->count == count && memcmp(s->members, members, count * sizeof *members) == 0;
}

/* Takes the problem and the evidence over, also on failure. */
static tn_status hold(tn_ctx *ctx, tnp_solved *s, const size_t *members, size_t count, tnp_ridge *ridge,
                      tn_evidence *evidence)
{
    size_t *copy = NULL;
    tn_status st = tnp_alloc(ctx, count, sizeof *copy, &copy);
    if (st != TN_OK) {
        tnp_ridge_free(ridge);
        tn_evidence_free(evidence);
        return st;
    }
    memcpy(copy, members, count * sizeof *copy);
    forget(s);
    *s = (tnp_solved){copy, count, ridge, evidence};
    return TN_OK;
}

tn_status tnp_ensemble_keep(tn_ctx *ctx, tnp_ensemble *e, const size_t *members, size_t count, tnp_ridge *ridge,
                            tn_evidence *evidence)
{
    if (!e->best.ridge || evidence->log_evidence > e->best.evidence->log_evidence)
        return hold(ctx, &e->best, members, count, ridge, evidence);
    tnp_ridge_free(ridge);
    tn_evidence_free(evidence);
    return TN_OK;
}

static void give(tnp_solved *s, tnp_ridge **ridge, tn_evidence **evidence)
{
    *ridge = s->ridge;
    *evidence = s->evidence;
    s->ridge = NULL;
    s->evidence = NULL;
    forget(s);
}

bool tnp_ensemble_take(tn_ctx *ctx, tnp_ensemble *e, const size_t *members, size_t count, tnp_ridge **ridge,
                       tn_evidence **evidence)
{
    size_t order = tnp_min(tnp_ensemble_columns(e, members, count), e->rows);
    size_t bytes = 8 * order * order + tnp_spectrum_bytes(order, e->classes);
    tnp_solved *kept[2] = {&e->base, &e->best};
    for (size_t i = 0; i < 2; ++i)
        if (is_set(kept[i], members, count)) {
            give(kept[i], ridge, evidence);
            return true;
        }
    for (size_t i = 0; i < 2; ++i)
        if (bytes > tnp_budget_left(ctx))
            forget(kept[i]);
    return false;
}

void tnp_ensemble_note(tnp_ensemble *e, size_t member, const tn_evidence *evidence)
{
    tnp_own *own = &e->own[member];
    *own = (tnp_own){true, INFINITY, -INFINITY};
    for (size_t k = 0; k < evidence->classes; ++k) {
        if (evidence->state[k] != TN_CLASS_FITTED)
            continue;
        own->least = fmin(own->least, log(evidence->lambda[k]));
        if (evidence->log_class[k] - evidence->log_class_null[k] > BY_CHANCE)
            own->most = fmax(own->most, log(evidence->lambda[k]));
    }
}

/* ---- a set beside another ---- */

void tnp_ensemble_when_rough(tnp_ensemble *e, size_t cols, double worth)
{
    e->rough_from = cols;
    e->rough_worth = worth;
}

static bool holds(const size_t *members, size_t count, size_t member)
{
    for (size_t i = 0; i < count; ++i)
        if (members[i] == member)
            return true;
    return false;
}

/* Members of `all` that are not in `some`; their number. */
static size_t without(const size_t *all, size_t count, const size_t *some, size_t some_count, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < count; ++i)
        if (!holds(some, some_count, all[i]))
            out[n++] = all[i];
    return n;
}

/* Operations of asking for a set of `columns` beside the one kept, in those of a form of its own; infinite where that is
 * no part of it. */
static double share_beside(const tnp_ensemble *e, const tnp_solved *s, const tnp_ask *ask, size_t columns)
{
    if (!s->ridge || s->ridge->spectrum->dual || s->count >= ask->count)
        return INFINITY;
    for (size_t i = 0; i < s->count; ++i)
        if (!holds(ask->members, ask->count, s->members[i]))
            return INFINITY;
    size_t inner = s->ridge->dim;
    return tnp_border_cost(inner, columns - inner, e->classes, TNP_ROUGH_USUAL) / tnp_spectrum_cost(columns);
}

/* Measures the set without its new member, and keeps it. */
static tn_status measure_others(tn_ctx *ctx, tnp_ensemble *e, const tnp_ask *ask, const bool *constant,
                                const tnp_evidence_options *options, tnp_solved **base)
{
    tn_status st = TN_OK;
    size_t *others = NULL, count;
    tnp_ridge *ridge = NULL;
    tn_evidence *evidence = NULL;
    TN_TRY(tnp_alloc(ctx, ask->count, sizeof *others, &others));
    count = without(ask->members, ask->count, &ask->added, 1, others);
    TN_TRY(tnp_ensemble_evidence(ctx, e, others, count, constant, options, &ridge, &evidence));
    TN_TRY(hold(ctx, &e->base, others, count, ridge, evidence));
    *base = e->base.ridge->spectrum->dual ? NULL : &e->base;
done:
    tnp_free(others);
    return st;
}

/* The kept set to ask for this one beside; NULL: measuring it is better. */
static tn_status find_base(tn_ctx *ctx, tnp_ensemble *e, const tnp_ask *ask, const bool *constant,
                           const tnp_evidence_options *options, tnp_solved **base)
{
    size_t columns = tnp_ensemble_columns(e, ask->members, ask->count);
    size_t added = tnp_ensemble_columns(e, &ask->added, 1), others = columns - added;
    double best = share_beside(e, &e->best, ask, columns), beside = share_beside(e, &e->base, ask, columns);
    double anew =
        (tnp_spectrum_cost(others) / (double)ask->alike + tnp_border_cost(others, added, e->classes, TNP_ROUGH_USUAL)) /
        tnp_spectrum_cost(columns);
    double worth = e->rough_from ? e->rough_worth : ask->alike > 1 ? WORTH : WORTH_ALONE;
    *base = NULL;
    if (ask->exact || tnp_team_shares(ctx) || e->in_vain >= IN_VAIN || options->start > 0 || !e->moments ||
        tnp_ensemble_is_dual(e, columns) || columns < (e->rough_from ? e->rough_from : ROUGH_FROM) ||
        !(fmin(fmin(best, beside), anew) <= worth))
        return TN_OK;
    if (anew < fmin(best, beside))
        return measure_others(ctx, e, ask, constant, options, base);
    *base = beside < best ? &e->base : &e->best;
    return TN_OK;
}

static void ranges_of(const tnp_ensemble *e, const size_t *members, size_t count, tnp_range *out)
{
    for (size_t m = 0; m < count; ++m)
        out[m] = e->columns[members[m]];
}

/* Mean square of the columns of a set that are not in the base, in that of those that are; scale: of all, in order. */
static double relative_size(const tnp_ensemble *e, const tnp_solved *base, const tnp_ask *ask, const double *scale)
{
    double sum[2] = {0}, columns[2] = {0};
    for (size_t m = 0; m < ask->count; ++m) {
        size_t count = tnp_ensemble_columns(e, &ask->members[m], 1);
        bool inner = holds(base->members, base->count, ask->members[m]);
        for (size_t j = 0; j < count; ++j)
            sum[inner] += *scale++;
        columns[inner] += (double)count;
    }
    return sum[0] / columns[0] / (sum[1] / columns[1]);
}

/* Everything that rough.c asks, for the set beside the base. */
static tn_status ask_beside(tn_ctx *ctx, const tnp_ensemble *e, const tnp_solved *base, const tnp_ask *ask,
                            const bool *constant, double *value, bool *sure)
{
    tn_status st = TN_OK;
    tnp_border *border = NULL;
    tnp_range *parts = NULL;
    size_t *outer = NULL, n;
    double *scale = NULL;
    tnp_noise noise;
    tnp_rough_of of = {base->ridge->spectrum, base->evidence, &noise, constant, INFINITY, -INFINITY, 0};
    TN_TRY(tnp_alloc(ctx, 2 * ask->count, sizeof *parts, &parts));
    TN_TRY(tnp_alloc(ctx, ask->count, sizeof *outer, &outer));
    TN_TRY(tnp_alloc(ctx, tnp_ensemble_columns(e, ask->members, ask->count), sizeof *scale, &scale));
    ranges_of(e, ask->members, ask->count, parts);
    tnp_moments_noise(e->moments, parts, ask->count, e->intercept, scale, &noise);
    of.size = relative_size(e, base, ask, scale);
    n = without(ask->members, ask->count, base->members, base->count, outer);
    for (size_t i = 0; i < n; ++i) {
        const tnp_own *own = &e->own[outer[i]];
        of.own_least = fmin(of.own_least, own->known ? own->least : -INFINITY);
        of.own_most = fmax(of.own_most, own->known ? own->most : INFINITY);
    }
    ranges_of(e, base->members, base->count, parts);
    ranges_of(e, outer, n, parts + base->count);
    *sure = false;
    if (!tnp_rough_may_begin(&of) ||
        tnp_border_bytes(base->ridge->dim, tnp_ensemble_columns(e, outer, n), e->classes) > tnp_budget_left(ctx))
        goto done;
    TN_TRY(tnp_border_new(ctx, of.known, e->moments,
                          &(tnp_border_columns){parts, parts + base->count, base->count, n, e->intercept}, &border));
    TN_TRY(tnp_rough_evidence(ctx, &of, border, value, sure));
done:
    tnp_border_free(border);
    tnp_free_all(parts, outer, scale);
    return st;
}

tn_status tnp_ensemble_try(tn_ctx *ctx, tnp_ensemble *e, const tnp_ask *ask, const bool *constant,
                           const tnp_evidence_options *options, double *value, bool *exact)
{
    tn_status st = TN_OK;
    tnp_solved *base = NULL;
    tnp_ridge *ridge = NULL;
    tn_evidence *evidence = NULL;
    bool sure = false;
    TN_TRY(find_base(ctx, e, ask, constant, options, &base));
    if (base)
        TN_TRY(ask_beside(ctx, e, base, ask, constant, value, &sure));
    e->in_vain = sure ? 0 : e->in_vain + (base ? 1 : 0);
    *exact = !sure;
    if (sure)
        return TN_OK;
    TN_TRY(tnp_ensemble_evidence(ctx, e, ask->members, ask->count, constant, options, &ridge, &evidence));
    *value = evidence->log_evidence;
    TN_TRY(tnp_ensemble_keep(ctx, e, ask->members, ask->count, ridge, evidence));
done:
    return st;
}
