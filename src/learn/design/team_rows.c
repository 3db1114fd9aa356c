/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of a team: every member passes over its own part, a design of this process, by the host's operations; sums and
 * back-products are then added up over all, scores are gathered. All members run the same learner on the same numbers.
 *
 *   pass     k (D + 1) + sums doubles added up, N k floats gathered where scores are kept
 *   Gram     (D + 1)^2 doubles           groups   groups D doubles           picked rows   count D floats
 *
 * Back-products of float passes are added up in double and rounded once. A member without rows adds zeros. */
#include "base/team.h"
#include "learn/design/design.h"

#include <string.h>

/* A body is told the numbers that rows have among all. */
typedef struct moved {
    const tnp_pass *pass;
    const tnp_wide_pass *wide;
    size_t by;
} moved;

static void moved_body(void *arg, const tnp_panel *at)
{
    const moved *m = arg;
    tnp_panel own = *at;
    own.start += m->by;
    m->pass->body(m->pass->arg, &own);
}

static void moved_wide_body(void *arg, const tnp_wide_panel *at)
{
    const moved *m = arg;
    tnp_wide_panel own = *at;
    own.start += m->by;
    m->wide->body(m->wide->arg, &own);
}

/* The part by the host's operation; a member without rows leaves the caller's zeros. */
static tn_status own_pass(tn_ctx *ctx, const tnp_design *d, const tnp_pass *all, double *sums)
{
    if (!d->own)
        return TN_OK;
    moved m = {all, NULL, d->from};
    tnp_pass own = *all;
    tnp_rows rows = tnp_design_rows(d->own);
    own.s = all->s ? all->s + d->from * all->k : NULL;
    own.t = all->t ? all->t + d->from * all->k : NULL;
    own.body = all->body ? moved_body : NULL;
    own.arg = &m;
    own.sums = sums;
    bool was = tnp_team_pause(ctx);
    tn_status st = tnp_rows_pass(ctx, &rows, &own);
    tnp_team_resume(ctx, was);
    return st;
}

/* Scores that the pass made, of all rows. */
static tn_status gather_scores(tn_ctx *ctx, const tnp_design *d, bool made, void *s, size_t size)
{
    return made ? tnp_team_gather_cut(ctx, s, d->cut, size) : TN_OK;
}

static tn_status pass(tn_ctx *ctx, void *self, const tnp_pass *all)
{
    tn_status st = TN_OK;
    const tnp_design *d = self;
    size_t back = all->back ? all->k * (d->dim + 1) : 0, n = back + all->sum_count;
    double *sums = NULL;
    TN_TRY(tnp_alloc(ctx, n, sizeof *sums, &sums));
    TN_TRY(own_pass(ctx, d, all, sums + back));
    for (size_t i = 0; d->own && i < back; ++i)
        sums[i] = (double)all->back[i];
    if (n > 0)
        TN_TRY(tnp_team_sum(ctx, sums, n));
    for (size_t i = 0; i < back; ++i)
        all->back[i] = (float)sums[i];
    if (all->sum_count > 0)
        memcpy(all->sums, sums + back, all->sum_count * sizeof *sums);
    TN_TRY(gather_scores(ctx, d, all->w && all->s, all->s, all->k * sizeof *all->s));
done:
    tnp_free(sums);
    return st;
}

static tn_status own_wide_pass(tn_ctx *ctx, const tnp_design *d, const tnp_wide_pass *all, double *back, double *sums,
                               double *longest)
{
    if (!d->own)
        return TN_OK;
    moved m = {NULL, all, d->from};
    tnp_wide_pass own = *all;
    tnp_rows rows = tnp_design_rows(d->own);
    own.s = all->s ? all->s + d->from * all->k : NULL;
    own.t = all->t ? all->t + d->from * all->k : NULL;
    own.body = all->body ? moved_wide_body : NULL;
    own.arg = &m;
    own.back = all->back ? back : NULL;
    own.sums = sums;
    own.longest = all->longest ? longest : NULL;
    bool was = tnp_team_pause(ctx);
    tn_status st = tnp_rows_wide_pass(ctx, &rows, &own);
    tnp_team_resume(ctx, was);
    return st;
}

static tn_status wide_pass(tn_ctx *ctx, void *self, const tnp_wide_pass *all)
{
    tn_status st = TN_OK;
    const tnp_design *d = self;
    size_t back = all->back ? all->k * (d->dim + 1) : 0, n = back + all->sum_count;
    double *sums = NULL, longest = 0;
    TN_TRY(tnp_alloc(ctx, n, sizeof *sums, &sums));
    TN_TRY(own_wide_pass(ctx, d, all, sums, sums + back, &longest));
    if (n > 0)
        TN_TRY(tnp_team_sum(ctx, sums, n));
    if (back > 0)
        memcpy(all->back, sums, back * sizeof *sums);
    if (all->sum_count > 0)
        memcpy(all->sums, sums + back, all->sum_count * sizeof *sums);
    if (all->longest) {
        TN_TRY(tnp_team_most(ctx, &longest, 1));
        *all->longest = longest;
    }
    TN_TRY(gather_scores(ctx, d, all->w && all->s, all->s, all->k * sizeof *all->s));
done:
    tnp_free(sums);
    return st;
}

static tn_status scores_by(tn_ctx *ctx, void *self, const uint32_t *model, size_t models, size_t k, const float *w,
                           float *s)
{
    tn_status st = TN_OK;
    const tnp_design *d = self;
    if (d->own) {
        tnp_rows own = tnp_design_rows(d->own);
        TN_TRY(own.ops->scores_by(ctx, own.self, model + d->from, models, k, w, s + d->from * k));
    }
    TN_TRY(tnp_team_gather_cut(ctx, s, d->cut, k * sizeof *s));
done:
    return st;
}

static tn_status gram(tn_ctx *ctx, void *self, const tnp_gram *all, double *a)
{
    tn_status st = TN_OK;
    const tnp_design *d = self;
    size_t width = d->dim + all->constant, size = all->diagonal ? width : width * width;
    tnp_gram part = *all;
    part.h = all->h ? all->h + d->from : NULL;
    if (d->own) {
        tnp_rows own = tnp_design_rows(d->own);
        TN_TRY(own.ops->gram(ctx, own.self, &part, a));
    } else {
        memset(a, 0, size * sizeof *a);
    }
    TN_TRY(tnp_team_sum(ctx, a, size));
done:
    return st;
}

static tn_status cross(tn_ctx *ctx, void *self, const size_t *group, size_t groups, double *sums)
{
    tn_status st = TN_OK;
    const tnp_design *d = self;
    if (d->own) {
        tnp_rows own = tnp_design_rows(d->own);
        TN_TRY(own.ops->cross(ctx, own.self, group + d->from, groups, sums));
    } else {
        memset(sums, 0, groups * d->dim * sizeof *sums);
    }
    TN_TRY(tnp_team_sum(ctx, sums, groups * d->dim));
done:
    return st;
}

static tn_status pick(tn_ctx *ctx, void *self, const size_t *rows, size_t count, float *out)
{
    tn_status st = TN_OK;
    const tnp_design *d = self;
    size_t *which = NULL, from, to;
    tnp_team_picked(ctx, rows, count, d->cut, &from, &to);
    TN_TRY(tnp_alloc(ctx, to - from, sizeof *which, &which));
    for (size_t i = from; i < to; ++i)
        which[i - from] = rows[i] - d->from;
    if (d->own && to > from) {
        tnp_rows own = tnp_design_rows(d->own);
        TN_TRY(own.ops->pick(ctx, own.self, which, to - from, out + from * d->dim));
    }
    TN_TRY(tnp_team_gather_picked(ctx, out, rows, count, d->cut, d->dim * sizeof *out));
done:
    tnp_free(which);
    return st;
}

static tnp_at_hand at_hand(const void *self)
{
    const tnp_design *d = self, *own = d->own;
    const float *x = own ? own->data : d->data; /* a member without rows has them at hand, all none of them */
    return (tnp_at_hand){d->at_hand ? x : NULL, d->dim, d->from, own ? own->rows : 0, true};
}

const tnp_rows_ops tnp_team_rows_ops = {pass, wide_pass,         scores_by,          gram,   cross,
                                        pick, tnp_design_sample, tnp_design_moments, at_hand};
