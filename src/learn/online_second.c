/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Second-order rules on a block: an update moves a class by a Sigma_c x_t, which no common Gram matrix holds. The class is
 * written at once, and its scores and variances for later samples are taken anew; those of classes that have not moved are
 * as the block's products found them.
 *
 *   MUL   sample by sample: scores of the touched classes, then the update of two
 *   OVR   class by class, in parallel: classes do not meet, and one class's weights stay in the cache for the whole block
 *
 * The variances of a whole block are a product as large as that of the scores. It is made only for rules that ask for every
 * variance (CW, SCW) one-vs-rest; the others ask when a margin is not met, and are answered one by one. */
#include "base/blas.h"
#include "learn/online_block.h"

#include <string.h>

static const float *sample(const tnp_visit *v, size_t t)
{
    return v->in->x + t * v->o->shape.dim;
}

static float class_score(const tnp_visit *v, size_t c, size_t t)
{
    const tnp_online *o = v->o;
    const float *mu = o->mu + c * o->width;
    return (float)o->room->kernels->dot(mu, sample(v, t), o->shape.dim) + mu[o->shape.dim];
}

/* x'Sigma x of a class. */
static double class_variance(const tnp_visit *v, size_t c, size_t t)
{
    const tnp_online *o = v->o;
    const float *sigma = o->sigma + c * o->width;
    double sum = o->room->kernels->weighted_squares(sample(v, t), sigma, o->shape.dim);
    return o->shape.bias ? sum + (double)sigma[o->shape.dim] : sum;
}

/* mu_c += a Sigma_c x, 1/Sigma_c += b x^2, and the average. */
static void move_class(const tnp_visit *v, size_t c, size_t t, double a, double b)
{
    static const float one = 1;
    const tnp_online *o = v->o;
    const tnp_kernels *k = o->room->kernels;
    size_t dim = o->shape.dim, at = c * o->width;
    float late = (float)(o->seen + t), step = (float)a, grow = (float)b;
    k->confident_move(sample(v, t), step, grow, late, o->mu + at, o->u ? o->u + at : NULL, o->sigma + at, dim);
    at += dim;
    if (o->shape.bias)
        k->confident_move(&one, step, grow, late, o->mu + at, o->u ? o->u + at : NULL, o->sigma + at, 1);
}

/* ---- multi-class ---- */

static void touch(tnp_online_room *r, size_t c)
{
    if (r->last[c] == 0)
        r->touched[r->touched_count++] = (uint32_t)c;
    r->last[c] = 1;
}

tn_status tnp_online_second_mul(tnp_visit *v)
{
    tnp_online *o = v->o;
    tnp_online_room *r = o->room;
    size_t k = o->shape.classes;
    bool early = tnp_rule_margin_needs_variance(o->rule.kind);
    for (size_t t = 0; t < v->in->count; ++t) {
        float *s = r->s + t * k;
        for (size_t i = 0; i < r->touched_count; ++i)
            s[r->touched[i]] = class_score(v, r->touched[i], t);
        size_t y = v->in->cls[v->in->first[t]], wrong = tnp_best_wrong(s, k, y);
        double m = (double)s[y] - (double)s[wrong], a = 0, b = 0, var = 0;
        o->mistakes += m <= 0;
        if (early || m < 1)
            var = class_variance(v, y, t) + class_variance(v, wrong, t);
        if (!tnp_rule_step(&o->rule, (double)tnp_sample_weight(v->in, t), m, var, 2 * r->length[t], &a, &b))
            continue;
        ++o->updates;
        move_class(v, y, t, a, b);
        move_class(v, wrong, t, -a, b);
        touch(r, y);
        touch(r, wrong);
    }
    return TN_OK;
}

/* ---- one-vs-rest ---- */

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
        double s = (double)(moved ? class_score(v, c, t) : r->s[t * k + c]), m = positive ? s : -s, a = 0, b = 0,
               var = 0;
        r->mistakes[c] += m <= 0;
        if (early && !moved)
            var = (double)r->v[t * k + c];
        else if (early || m < 1)
            var = class_variance(v, c, t);
        if (!tnp_rule_step(&o->rule, (double)tnp_sample_weight(in, t), m, var, r->length[t], &a, &b))
            continue;
        ++r->updates[c];
        move_class(v, c, t, positive ? a : -a, b);
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

tn_status tnp_online_second_ovr(tn_ctx *ctx, tnp_visit *v)
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
