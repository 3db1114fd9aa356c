/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Iterative parameter mixing (McDonald, Hall, Mann 2010): every member r passes over its p_r of the rows from the same
 * weights, and the next pass begins, for all, with
 *
 *   mu = sum_r p_r mu_r      sigma = sum_r p_r sigma_r      mean = sum_r p_r mean_r      seen = sum_r p_r seen_r
 *
 * mean_r = mu_r - u_r / seen_r are the averaged weights, and u = (mu - mean) seen carries them on. Variances are averaged
 * as they are; adding up precisions instead would count what the members began with once per member. Samples count as
 * those of one member, so that all passes weigh alike in the mean. The Perceptron's bound on mistakes holds for these
 * shares, with one process's bound per member: more members need more passes, and a pass takes less time. */
#include "learn/online/online_mix.h"
#include "algebra/blas.h"
#include "base/team.h"

#include <math.h>
#include <string.h>

enum { PIECE = 1 << 18 };

/* x (n) of all members, each times its share. */
static tn_status mix_array(tn_ctx *ctx, double share, float *x, size_t n, double *piece)
{
    for (size_t at = 0; at < n; at += PIECE) {
        size_t count = tnp_min(PIECE, n - at);
        for (size_t i = 0; i < count; ++i)
            piece[i] = share * (double)x[at + i];
        tn_status st = tnp_team_sum(ctx, piece, count);
        if (st != TN_OK)
            return st;
        for (size_t i = 0; i < count; ++i)
            x[at + i] = (float)piece[i];
    }
    return TN_OK;
}

static tn_status mix_counts(tn_ctx *ctx, double share, tnp_counted before, tnp_online *online)
{
    double counts[] = {share * (double)online->seen, (double)(online->updates - before.updates),
                       (double)(online->mistakes - before.mistakes)};
    tn_status st = tnp_team_sum(ctx, counts, sizeof counts / sizeof *counts);
    if (st != TN_OK)
        return st;
    online->seen = (uint64_t)llround(counts[0]);
    online->updates = before.updates + (uint64_t)counts[1];
    online->mistakes = before.mistakes + (uint64_t)counts[2];
    return TN_OK;
}

/* A learner that begins with the state of another: what it derives from its state is not told of changes. */
static tn_status begin_anew(tn_ctx *ctx, tnp_online **online)
{
    tnp_online *old = *online, *fresh = NULL;
    size_t size = old->shape.classes * old->width;
    tn_status st = tnp_online_new(ctx, &old->rule, &old->shape, &fresh);
    if (st != TN_OK)
        return st;
    memcpy(fresh->mu, old->mu, size * sizeof *old->mu);
    if (old->u)
        memcpy(fresh->u, old->u, size * sizeof *old->u);
    if (old->sigma)
        memcpy(fresh->sigma, old->sigma, size * sizeof *old->sigma);
    fresh->seen = old->seen;
    fresh->updates = old->updates;
    fresh->mistakes = old->mistakes;
    tnp_online_free(old);
    *online = fresh;
    return TN_OK;
}

tn_status tnp_online_mix(tn_ctx *ctx, double share, tnp_counted before, tnp_online **online)
{
    tn_status st = TN_OK;
    tnp_online *o = *online;
    size_t size = o->shape.classes * o->width;
    double *piece = NULL;
    float *mean = NULL;
    if (!tnp_team_shares(ctx))
        return TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(PIECE, size), sizeof *piece, &piece));
    TN_TRY(tnp_alloc_raw(ctx, o->u ? size : 1, sizeof *mean, &mean));
    if (o->u)
        tnp_online_weights(o, mean);
    TN_TRY(mix_array(ctx, share, o->mu, size, piece));
    if (o->sigma)
        TN_TRY(mix_array(ctx, share, o->sigma, size, piece));
    if (o->u)
        TN_TRY(mix_array(ctx, share, mean, size, piece));
    TN_TRY(mix_counts(ctx, share, before, o));
    for (size_t i = 0; o->u && i < size; ++i)
        o->u[i] = (o->mu[i] - mean[i]) * (float)o->seen;
    TN_TRY(begin_anew(ctx, online));
done:
    tnp_free_all(piece, mean);
    return st;
}
