/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of an online learner, and its blocks of samples.
 *
 * Exact blocking: a block of samples is multiplied with all classes by products of whole numbers, which give estimates
 * with proven bounds (online_screen.c). What they leave open is decided by full scores at the weights of the moment, so
 * that every sample meets the weights it would have met alone: the best wrong class (online_mul.c), or the classes
 * whose margin may not be met (online_ovr.c). A product of floats, corrected by a Gram matrix as samples move the
 * weights, was refused: half as fast with one true class, a quarter against the rest, and its last bits depend on
 * blocks and threads.
 *
 * Averaging: u collects t0 times every move (t0: samples seen before), so that the mean of the weights after every
 * sample is mu - u / T; one more addition per move, whatever the rule.
 *
 * Oracle: the literal loop over samples, tests/ref/ref_online.c. Ushiku, Hidaka, Harada, CVPR 2014. */
#include "algebra/blas.h"
#include "learn/online/online_block.h"

size_t tnp_online_bytes(const tnp_rule *rule, const tnp_online_shape *shape)
{
    bool second = tnp_rule_second_order(rule->kind);
    size_t parts = 1 + (size_t)shape->average + (size_t)second;
    return parts * shape->classes * tnp_row_stride(shape->dim + 1) * sizeof(float) +
           tnp_screen_bytes(shape->classes, shape->dim, shape->block, !second);
}

static tn_status scratch_new(tn_ctx *ctx, const tnp_rule *rule, const tnp_online_shape *shape, tnp_online_scratch **out)
{
    tn_status st = TN_OK;
    size_t rows = shape->block, k = shape->classes;
    bool first = !tnp_rule_second_order(rule->kind);
    tnp_online_scratch *r = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *r, &r));
    *out = r; /* the learner frees it, whatever happens below */
    r->simd = tnp_simd_get();
    TN_TRY(tnp_screen_new(ctx, k, shape->dim, rows, shape->bias, first, &r->screen));
    if (shape->scheme == TNP_OVR) {
        TN_TRY(tnp_alloc(ctx, k, sizeof *r->updates, &r->updates));
        TN_TRY(tnp_alloc(ctx, k, sizeof *r->mistakes, &r->mistakes));
    } else if (first && shape->average) {
        TN_TRY(tnp_alloc(ctx, k, sizeof *r->begin, &r->begin));
        TN_TRY(tnp_alloc(ctx, k, sizeof *r->end, &r->end));
        TN_TRY(tnp_alloc_raw(ctx, 2 * rows, sizeof *r->moves, &r->moves));
        TN_TRY(tnp_alloc(ctx, 2 * rows, sizeof *r->touched, &r->touched));
    }
done:
    return st;
}

static void scratch_free(tnp_online_scratch *r)
{
    if (!r)
        return;
    void *all[] = {r->moves, r->begin, r->end, r->touched, r->updates, r->mistakes};
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
    TN_TRY(scratch_new(ctx, rule, shape, &o->scratch));
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
    scratch_free(o->scratch);
    tnp_free_all(o->mu, o->u, o->sigma, o);
}

void tnp_online_weights(const tnp_online *o, float *out)
{
    double seen = o->seen > 0 ? (double)o->seen : 1;
    for (size_t i = 0; i < o->shape.classes * o->width; ++i)
        out[i] = o->shape.average ? (float)((double)o->mu[i] - (double)o->u[i] / seen) : o->mu[i];
}

void tnp_online_update(tn_ctx *ctx, tnp_online *o, const tnp_samples *samples)
{
    tnp_visit visit = {o, samples};
    if (o->shape.scheme == TNP_MUL)
        tnp_online_mul(ctx, &visit);
    else
        tnp_online_ovr(ctx, &visit);
    o->seen += samples->count;
}
