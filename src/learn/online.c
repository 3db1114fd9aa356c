/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of an online learner, and its blocks of samples.
 *
 * Exact blocking: the scores of B samples are one product S = X_B mu', and what an update changes in the scores of later
 * samples of the block is brought into them, so that every sample meets the weights it would have met alone. With one true class
 * (online_mul.c) only the best wrong class matters: the product is of whole numbers, coarse but with proven bounds, and few true
 * scores decide (online_screen.c). One class against the rest (online_ovr.c) needs the scores of all.
 *
 * Averaging: u collects t0 times every move (t0: samples seen before), so that the mean of the weights after every sample is
 * mu - u / T; one more addition a move, whatever the rule.
 * Oracle: the literal loop over samples, tests/ref/ref_online.c. Ushiku, Hidaka, Harada, CVPR 2014. */
#include "base/blas.h"
#include "learn/online_block.h"

/* Multi-class: half of rows / classes more products, a wake of the threads a block; 64 is the fastest or near it for 10 to 1000
 * classes, first and second order. One-vs-rest, first order: the Gram costs half of rows / classes of the scores, so few classes
 * take small blocks; second order: on average as many scores are taken anew as a block has rows. */
size_t tnp_online_block(tnp_online_rule rule, tnp_online_scheme scheme, size_t classes)
{
    if (scheme == TNP_MUL || tnp_rule_second_order(rule))
        return 64;
    return classes <= 64 ? 32 : classes <= 256 ? 64 : classes <= 512 ? 128 : 256;
}

static bool needs_variances(const tnp_rule *rule, const tnp_online_shape *shape)
{
    return shape->scheme == TNP_OVR && tnp_rule_margin_needs_variance(rule->kind);
}

size_t tnp_online_bytes(const tnp_rule *rule, const tnp_online_shape *shape)
{
    size_t rows = shape->block, state = shape->classes * tnp_row_stride(shape->dim + 1) * sizeof(float);
    size_t parts = 1 + (size_t)shape->average + (size_t)tnp_rule_second_order(rule->kind);
    size_t squares = needs_variances(rule, shape) ? rows * shape->dim : 0;
    if (shape->scheme == TNP_MUL)
        return parts * state + tnp_screen_bytes(shape->classes, shape->dim, rows, !tnp_rule_second_order(rule->kind));
    return parts * state + sizeof(float) * (4 * rows * shape->classes + rows * rows + squares);
}

static tn_status multiclass_room(tn_ctx *ctx, const tnp_online_shape *shape, bool first, tnp_online_room *r)
{
    tn_status st = TN_OK;
    size_t rows = shape->block, k = shape->classes;
    TN_TRY(tnp_screen_new(ctx, k, shape->dim, rows, shape->bias, first, &r->screen));
    TN_TRY(tnp_alloc(ctx, k, sizeof *r->begin, &r->begin));
    TN_TRY(tnp_alloc(ctx, k, sizeof *r->end, &r->end));
    if (first && shape->average) {
        TN_TRY(tnp_alloc_raw(ctx, 2 * rows, sizeof *r->moves, &r->moves));
        TN_TRY(tnp_alloc(ctx, 2 * rows, sizeof *r->touched, &r->touched));
    }
done:
    return st;
}

static tn_status rest_room(tn_ctx *ctx, const tnp_online_shape *shape, bool first, bool variances, tnp_online_room *r)
{
    tn_status st = TN_OK;
    size_t rows = shape->block, k = shape->classes;
    TN_TRY(tnp_alloc(ctx, rows, sizeof *r->length, &r->length));
    TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->s, &r->s));
    TN_TRY(tnp_alloc(ctx, k, sizeof *r->updates, &r->updates));
    TN_TRY(tnp_alloc(ctx, k, sizeof *r->mistakes, &r->mistakes));
    if (first) {
        TN_TRY(tnp_alloc_raw(ctx, rows * rows, sizeof *r->gram, &r->gram));
        TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->delta, &r->delta));
    }
    if (first && shape->average)
        TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->late, &r->late));
    if (variances) {
        TN_TRY(tnp_alloc_raw(ctx, rows * shape->dim, sizeof *r->squares, &r->squares));
        TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->v, &r->v));
    }
done:
    return st;
}

static tn_status room_new(tn_ctx *ctx, const tnp_rule *rule, const tnp_online_shape *shape, tnp_online_room **out)
{
    tn_status st = TN_OK;
    bool first = !tnp_rule_second_order(rule->kind);
    tnp_online_room *r = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *r, &r));
    *out = r; /* the learner frees it, whatever happens below */
    r->kernels = tnp_kernels_get();
    r->rows = shape->block;
    if (shape->scheme == TNP_MUL)
        TN_TRY(multiclass_room(ctx, shape, first, r));
    else
        TN_TRY(rest_room(ctx, shape, first, needs_variances(rule, shape), r));
done:
    return st;
}

static void room_free(tnp_online_room *r)
{
    if (!r)
        return;
    void *all[] = {r->length, r->moves,   r->begin, r->end,  r->touched, r->s,       r->gram,
                   r->delta,  r->squares, r->v,     r->late, r->updates, r->mistakes};
    tnp_screen_free(r->screen);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        tnp_free(all[i]);
    tnp_free(r);
}

tn_status tnp_online_new(tn_ctx *ctx, const tnp_rule *rule, const tnp_online_shape *shape, tnp_online **out)
{
    tn_status st = TN_OK;
    tnp_online *o = NULL;
    size_t size = 0;
    TN_TRY(tnp_mul(ctx, shape->classes, tnp_row_stride(shape->dim + 1), &size));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *o, &o));
    o->rule = *rule;
    o->shape = *shape;
    o->width = tnp_row_stride(shape->dim + 1);
    TN_TRY(tnp_alloc(ctx, size, sizeof *o->mu, &o->mu));
    if (shape->average)
        TN_TRY(tnp_alloc(ctx, size, sizeof *o->u, &o->u));
    if (tnp_rule_second_order(rule->kind)) {
        TN_TRY(tnp_alloc_raw(ctx, size, sizeof *o->sigma, &o->sigma));
        for (size_t i = 0; i < size; ++i)
            o->sigma[i] = 1;
    }
    TN_TRY(room_new(ctx, rule, shape, &o->room));
    *out = o;
    o = NULL;
done:
    tnp_online_free(o);
    return st;
}

void tnp_online_free(tnp_online *o)
{
    if (!o)
        return;
    room_free(o->room);
    tnp_free(o->mu);
    tnp_free(o->u);
    tnp_free(o->sigma);
    tnp_free(o);
}

void tnp_online_weights(const tnp_online *o, float *out)
{
    double seen = o->seen > 0 ? (double)o->seen : 1;
    for (size_t i = 0; i < o->shape.classes * o->width; ++i)
        out[i] = o->shape.average ? (float)((double)o->mu[i] - (double)o->u[i] / seen) : o->mu[i];
}

tn_status tnp_online_update(tn_ctx *ctx, tnp_online *o, const tnp_samples *samples)
{
    tn_status st = TN_OK;
    tnp_visit visit = {o, samples};
    if (o->shape.scheme == TNP_MUL)
        tnp_online_mul(ctx, &visit);
    else
        st = tnp_online_ovr(ctx, &visit);
    o->seen += samples->count;
    return st;
}
