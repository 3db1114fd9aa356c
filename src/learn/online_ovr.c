/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One class against the rest, on a block: classes do not meet, so every one of them goes through the block on its own, from
 * scores that are one product S = X mu'.
 *
 *   first order    an update by a at sample t moves the later scores of its class by a x_t'x_j, known from the block's Gram
 *                  matrix; ranges of LANES classes in parallel; the weights take one product  mu += delta'X
 *   second order   an update moves a class by a Sigma x_t, which no common Gram matrix holds: the class is written at once, and
 *                  its later scores and variances are taken anew; class by class in parallel, its weights in the cache
 *
 * The variances of a whole block are a product as large as that of the scores. It is made only for rules that ask for every
 * variance (CW, SCW); the others ask when a margin is not met, and are answered one by one. */
#include "base/blas.h"
#include "learn/online_block.h"

#include <string.h>

enum { LANES = 32 };

/* ---- first order ---- */

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

static tn_status learn_first(tn_ctx *ctx, tnp_visit *v)
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

/* ---- second order ---- */

static void visit_class(void *arg, size_t c)
{
    const tnp_visit *v = arg;
    const tnp_online *o = v->o;
    const tnp_samples *in = v->in;
    tnp_online_room *r = o->room;
    size_t k = o->shape.classes;
    bool moved = false, early = tnp_rule_margin_needs_variance(o->rule.kind);
    r->updates[c] = r->mistakes[c] = 0;
    for (size_t t = 0; t < in->count; ++t) {
        if (in->skip && in->skip[t * k + c])
            continue;
        bool positive = tnp_is_positive(in, t, c);
        double s = (double)(moved ? tnp_class_score(v, c, t) : r->s[t * k + c]), m = positive ? s : -s, a = 0, b = 0,
               var = 0;
        r->mistakes[c] += m <= 0;
        if (early && !moved)
            var = (double)r->v[t * k + c];
        else if (early || m < 1)
            var = tnp_class_variance(v, c, t);
        if (!tnp_rule_step(&o->rule, (double)tnp_sample_weight(in, t), m, var, r->length[t], &a, &b))
            continue;
        ++r->updates[c];
        tnp_class_move(v, c, t, positive ? a : -a, b);
        moved = true;
    }
}

/* v (n, classes) = (x o x) Sigma' + the constant's: the variances before the block. */
static tn_status block_variances(tn_ctx *ctx, const tnp_visit *visit)
{
    const tnp_online *o = visit->o;
    size_t n = visit->in->count, k = o->shape.classes, dim = o->shape.dim;
    float *v = o->room->v, *squares = o->room->squares;
    for (size_t i = 0; i < n * dim; ++i)
        squares[i] = visit->in->x[i] * visit->in->x[i];
    for (size_t c = 0; c < k; ++c)
        v[c] = o->shape.bias ? o->sigma[c * o->width + dim] : 0;
    for (size_t t = 1; t < n; ++t)
        memcpy(v + t * k, v, k * sizeof *v);
    return tnp_sgemm_nt(ctx, n, k, dim, squares, dim, o->sigma, o->width, 1, v, k);
}

static tn_status learn_second(tn_ctx *ctx, tnp_visit *v)
{
    tn_status st = TN_OK;
    size_t k = v->o->shape.classes;
    if (v->o->room->v)
        TN_TRY(block_variances(ctx, v));
    tnp_parallel(ctx, tnp_threads_for(ctx, 4.0 * (double)v->in->count * (double)k * (double)v->o->shape.dim), k,
                 visit_class, v);
done:
    return st;
}

/* ---- both ---- */

/* s (n, classes) = x mu' + the constant's part. */
static tn_status score(tn_ctx *ctx, const tnp_online *o, const tnp_samples *in)
{
    size_t k = o->shape.classes, dim = o->shape.dim;
    float *s = o->room->s;
    for (size_t c = 0; c < k; ++c)
        s[c] = o->mu[c * o->width + dim]; /* stays 0 without bias */
    for (size_t t = 1; t < in->count; ++t)
        memcpy(s + t * k, s, k * sizeof *s);
    return tnp_sgemm_nt(ctx, in->count, k, dim, in->x, dim, o->mu, o->width, 1, s, k);
}

tn_status tnp_online_ovr(tn_ctx *ctx, tnp_visit *v)
{
    tn_status st = TN_OK;
    tnp_online *o = v->o;
    const tnp_online_room *r = o->room;
    for (size_t t = 0; t < v->in->count; ++t)
        r->length[t] = r->kernels->sum_squares(v->in->x + t * o->shape.dim, o->shape.dim) + (o->shape.bias ? 1 : 0);
    TN_TRY(score(ctx, o, v->in));
    TN_TRY(tnp_rule_second_order(o->rule.kind) ? learn_second(ctx, v) : learn_first(ctx, v));
    for (size_t c = 0; c < o->shape.classes; ++c) {
        o->updates += r->updates[c];
        o->mistakes += r->mistakes[c];
    }
done:
    return st;
}
