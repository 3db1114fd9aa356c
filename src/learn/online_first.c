/* SPDX-License-Identifier: BSD-3-Clause
 *
 * First-order rules on a block: an update of class c by a at sample t moves the later scores by a x_t'x_j, known from the
 * block's Gram matrix, so that the weights are written once, at the end of the block.
 *
 *   MUL   two classes an update; the moves of a class are added to it one by one, classes in parallel
 *   OVR   all classes at once: ranges of LANES of them go through the block in parallel, for they do not meet; the weights
 *         take one product  mu += delta'X */
#include "base/blas.h"
#include "learn/online_block.h"

#include <string.h>

enum { LANES = 32 };

/* Upper triangle of x x' + the constant's 1. */
static tn_status block_gram(tn_ctx *ctx, const tnp_visit *v)
{
    size_t n = v->in->count, dim = v->o->shape.dim;
    float *gram = v->o->room->gram;
    tn_status st = tnp_ssyrk_rows(ctx, n, dim, v->in->x, dim, gram);
    for (size_t i = 0; v->o->shape.bias && i < n; ++i)
        for (size_t j = i; j < n; ++j)
            gram[i * n + j] += 1;
    return st;
}

/* ---- multi-class ---- */

static void note_move(tnp_online_room *r, size_t t, size_t c, float step)
{
    uint32_t at = (uint32_t)r->move_count++;
    r->moves[at] = (tnp_move){(uint32_t)t, r->last[c], step};
    if (r->last[c] == 0)
        r->touched[r->touched_count++] = (uint32_t)c;
    r->last[c] = at + 1;
}

static void visit_samples(const tnp_visit *v)
{
    tnp_online *o = v->o;
    tnp_online_room *r = o->room;
    size_t n = v->in->count, k = o->shape.classes;
    for (size_t t = 0; t < n; ++t) {
        const float *s = r->s + t * k;
        size_t y = v->in->cls[v->in->first[t]], wrong = tnp_best_wrong(s, k, y);
        double m = (double)s[y] - (double)s[wrong], a = 0, b = 0;
        o->mistakes += m <= 0;
        if (!tnp_rule_step(&o->rule, (double)tnp_sample_weight(v->in, t), m, 0, 2 * r->length[t], &a, &b))
            continue;
        ++o->updates;
        note_move(r, t, y, (float)a);
        note_move(r, t, wrong, -(float)a);
        for (size_t j = t + 1; j < n; ++j) {
            float g = (float)a * r->gram[t * n + j];
            r->s[j * k + y] += g;
            r->s[j * k + wrong] -= g;
        }
    }
}

/* Writes the moves of one touched class, the last first: the same order for every thread count. */
static void write_class(void *arg, size_t i)
{
    const tnp_visit *v = arg;
    tnp_online *o = v->o;
    const tnp_online_room *r = o->room;
    size_t c = r->touched[i], dim = o->shape.dim;
    float *mu = o->mu + c * o->width, *u = o->u ? o->u + c * o->width : NULL, one = o->shape.bias ? 1.0f : 0.0f;
    for (uint32_t at = r->last[c]; at != 0; at = r->moves[at - 1].before) {
        const tnp_move *m = &r->moves[at - 1];
        const float *x = v->in->x + m->sample * dim;
        float late = m->step * (float)(o->seen + m->sample);
        r->kernels->add_scaled(m->step, x, mu, dim);
        mu[dim] += m->step * one;
        if (!u)
            continue;
        r->kernels->add_scaled(late, x, u, dim);
        u[dim] += late * one;
    }
}

tn_status tnp_online_first_mul(tn_ctx *ctx, tnp_visit *v)
{
    const tnp_online_room *r = v->o->room;
    tn_status st = block_gram(ctx, v);
    if (st != TN_OK)
        return st;
    visit_samples(v);
    tnp_parallel(ctx, tnp_threads_for(ctx, 4.0 * (double)r->move_count * (double)v->o->shape.dim), r->touched_count,
                 write_class, v);
    return TN_OK;
}

/* ---- one-vs-rest ---- */

/* Steps of sample t in classes [from, to); true when one of them moved. */
static bool step_classes(const tnp_visit *v, size_t t, size_t from, size_t to)
{
    const tnp_online *o = v->o;
    const tnp_samples *in = v->in;
    tnp_online_room *r = o->room;
    size_t k = o->shape.classes, p = in->first[t], end = in->first[t + 1];
    bool moved = false;
    while (p < end && in->cls[p] < from)
        ++p;
    for (size_t c = from; c < to; ++c) {
        bool positive = p < end && in->cls[p] == c;
        double s = (double)r->s[t * k + c], m = positive ? s : -s, a = 0, b = 0;
        p += positive;
        r->delta[t * k + c] = 0;
        if (in->skip && in->skip[t * k + c])
            continue;
        r->mistakes[c] += m <= 0;
        if (!tnp_rule_step(&o->rule, (double)tnp_sample_weight(in, t), m, 0, r->length[t], &a, &b))
            continue;
        ++r->updates[c];
        r->delta[t * k + c] = (float)(positive ? a : -a);
        moved = true;
    }
    return moved;
}

static void visit_classes(void *arg, size_t chunk)
{
    const tnp_visit *v = arg;
    tnp_online_room *r = v->o->room;
    size_t k = v->o->shape.classes, from = chunk * LANES, to = tnp_min(k, from + LANES), n = v->in->count;
    memset(r->updates + from, 0, (to - from) * sizeof *r->updates);
    memset(r->mistakes + from, 0, (to - from) * sizeof *r->mistakes);
    for (size_t t = 0; t < n; ++t) {
        const float *delta = r->delta + t * k;
        bool moved = step_classes(v, t, from, to);
        for (size_t j = t + 1; moved && j < n; ++j)
            for (size_t c = from; c < to; ++c)
                r->s[j * k + c] += r->gram[t * n + j] * delta[c];
        for (size_t c = from; r->late && c < to; ++c)
            r->late[t * k + c] = delta[c] * (float)(v->o->seen + t);
    }
}

/* target (classes, width) += moves'x, the constant last. */
static tn_status add_moves(tn_ctx *ctx, const tnp_visit *v, const float *moves, float *target)
{
    const tnp_online *o = v->o;
    size_t k = o->shape.classes, dim = o->shape.dim;
    for (size_t t = 0; o->shape.bias && t < v->in->count; ++t)
        for (size_t c = 0; c < k; ++c)
            target[c * o->width + dim] += moves[t * k + c];
    return tnp_sgemm_tn(ctx, k, dim, v->in->count, moves, k, v->in->x, dim, 1, target, o->width);
}

tn_status tnp_online_first_ovr(tn_ctx *ctx, tnp_visit *v)
{
    tn_status st = TN_OK;
    tnp_online *o = v->o;
    size_t k = o->shape.classes, n = v->in->count;
    TN_TRY(block_gram(ctx, v));
    tnp_parallel(ctx, tnp_threads_for(ctx, 2.0 * (double)n * (double)n * (double)k), (k + LANES - 1) / LANES,
                 visit_classes, v);
    TN_TRY(add_moves(ctx, v, o->room->delta, o->mu));
    if (o->u)
        TN_TRY(add_moves(ctx, v, o->room->late, o->u));
done:
    return st;
}
