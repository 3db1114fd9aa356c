/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One class against the rest, on a block: classes do not meet, so every one of them goes through the block on its own,
 * groups of them in parallel. The screen estimates all scores at the weights the block begins with. Most samples are
 * far on the right side of most classes: where the estimate proves that the margin is met nothing else is done;
 * elsewhere the score is taken in full at the weights of the moment, which are written at once.
 *
 * Moves are followed as in online_mul.c. Where a class sees few samples (e- and w-OVR of many classes) a full score for
 * each of them is cheaper than estimates for all, and none are made. */
#include "learn/online/online_block.h"

#include <math.h>

/* GROUP classes share a cache line of estimates. FEW: an estimate costs about a sixteenth of a full score. */
enum { GROUP = 16, FEW = 16 };

/* True when the estimate proves that sample t is beyond the margin of class c, whose variance is most_v or less. */
static bool is_passive(const tnp_visit *v, size_t c, size_t t, bool positive, double most_v)
{
    const tnp_screen *s = v->o->scratch->screen;
    if (!v->o->scratch->estimated)
        return false;
    double estimate = (double)s->s[t * s->classes + c];
    return (positive ? estimate : -estimate) - tnp_screen_bound(s, c, t) > tnp_rule_passive_margin(&v->o->rule, most_v);
}

static void move(const tnp_visit *v, size_t c, size_t t, double a, double b, double var)
{
    const tnp_online *o = v->o;
    tnp_screen *screen = o->scratch->screen;
    if (tnp_rule_second_order(o->rule.kind)) {
        tnp_class_move(v, c, t, a, b);
        tnp_screen_drift(screen, c, fabs(a) * sqrt(var));
        return;
    }
    tnp_class_add(v, c, t, (float)a, o->mu);
    if (o->u)
        tnp_class_add(v, c, t, (float)a * (float)(o->seen + t), o->u);
    if (o->scratch->estimated)
        tnp_screen_move(screen, t, v->in->count, c, (float)a);
    else
        tnp_screen_drift(screen, c, fabs(a) * (double)screen->size[t]);
}

/* Rules whose margin hangs on the variance take that first: with the estimate it settles most of what the bound v <=
 * |x|^2, as Sigma <= 1, has left. */
static void learn_sample(const tnp_visit *v, size_t c, size_t t, bool positive)
{
    const tnp_online *o = v->o;
    const tnp_online_scratch *r = o->scratch;
    bool early = tnp_rule_margin_needs_variance(o->rule.kind), second = tnp_rule_second_order(o->rule.kind);
    double length = r->screen->length[t], var = early ? tnp_class_variance(v, c, t) : 0, a, b;
    if (early && is_passive(v, c, t, positive, var))
        return;
    double s = (double)tnp_class_score(v, c, t), m = positive ? s : -s;
    r->mistakes[c] += m <= 0;
    if (second && !early && m < 1)
        var = tnp_class_variance(v, c, t);
    double weight = (double)tnp_sample_weight(v->in, t) * (double)(v->in->side ? v->in->side[2 * c + positive] : 1);
    if (!tnp_rule_step(&o->rule, weight, m, var, length, &a, &b))
        return;
    ++r->updates[c];
    move(v, c, t, positive ? a : -a, b, var);
}

static void visit_class(const tnp_visit *v, size_t c)
{
    const tnp_samples *in = v->in;
    const tnp_online_scratch *r = v->o->scratch;
    size_t k = v->o->shape.classes;
    r->updates[c] = r->mistakes[c] = 0;
    for (size_t t = 0; t < in->count; ++t) {
        if (in->skip && in->skip[t * k + c])
            continue;
        bool positive = tnp_is_positive(in, t, c);
        if (!is_passive(v, c, t, positive, r->screen->length[t]))
            learn_sample(v, c, t, positive);
    }
}

static void visit_group(void *arg, size_t group)
{
    const tnp_visit *v = arg;
    for (size_t c = group * GROUP; c < tnp_min(v->o->shape.classes, (group + 1) * GROUP); ++c)
        visit_class(v, c);
}

/* Whether the classes see so few samples of the block that estimates do not pay. */
static bool sees_few(const tnp_samples *in, size_t classes)
{
    size_t seen = 0, all = in->count * classes;
    for (size_t i = 0; in->skip && i < all; ++i)
        seen += !in->skip[i];
    return in->skip && seen * FEW < all;
}

void tnp_online_ovr(tn_ctx *ctx, tnp_visit *v)
{
    tnp_online *o = v->o;
    tnp_online_scratch *r = o->scratch;
    size_t k = o->shape.classes, n = v->in->count;
    r->estimated = n > TNP_FULL_SCORES && !sees_few(v->in, k);
    if (r->estimated)
        tnp_screen_estimate(ctx, r->screen, o->mu, o->width, v->in->x, n);
    else
        tnp_screen_lengths(ctx, r->screen, v->in->x, n);
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)n * (double)k * (double)o->shape.dim), (k + GROUP - 1) / GROUP,
                 visit_group, v);
    for (size_t c = 0; c < k; ++c) {
        o->updates += r->updates[c];
        o->mistakes += r->mistakes[c];
    }
}
