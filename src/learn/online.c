/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of an online learner, and its blocks of samples.
 *
 * Exact blocking: the scores of B samples are one product S = X_B mu', and what an update changes in the scores of later
 * samples of the block is brought into them, so that every sample meets the weights it would have met alone: by the block's
 * Gram matrix for first-order rules (online_first.c), by taking the scores of the classes that moved anew for second-order
 * rules (online_second.c).
 *
 * Averaging: u collects t0 times every move (t0: samples seen before), so that the mean of the weights after every sample is
 * mu - u / T; one more addition a move, whatever the rule.
 * Oracle: the literal loop over samples, tests/ref/ref_online.c. Ushiku, Hidaka, Harada, CVPR 2014. */
#include "base/blas.h"
#include "learn/online_block.h"

#include <string.h>

/* First order: the Gram costs half of rows / classes of the scores, so few classes take small blocks; with 1000 classes of 4096
 * columns 256 rows are 17 % faster than 128, whose product runs at 168 GFLOP/s where 256 reach 189. Second order: on average
 * as many scores are taken anew as a block has rows. */
size_t tnp_online_block(tnp_online_rule rule, size_t classes)
{
    if (tnp_rule_second_order(rule))
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
    return parts * state + sizeof(float) * (4 * rows * shape->classes + rows * rows + squares);
}

static tn_status room_new(tn_ctx *ctx, const tnp_rule *rule, const tnp_online_shape *shape, tnp_online_room **out)
{
    tn_status st = TN_OK;
    size_t rows = shape->block, k = shape->classes;
    bool first = !tnp_rule_second_order(rule->kind), ovr = shape->scheme == TNP_OVR;
    tnp_online_room *r = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *r, &r));
    *out = r; /* the learner frees it, whatever happens below */
    r->kernels = tnp_kernels_get();
    r->rows = rows;
    TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->s, &r->s));
    TN_TRY(tnp_alloc(ctx, rows, sizeof *r->length, &r->length));
    TN_TRY(tnp_alloc(ctx, k, sizeof *r->last, &r->last));
    TN_TRY(tnp_alloc(ctx, 2 * rows, sizeof *r->touched, &r->touched));
    if (first)
        TN_TRY(tnp_alloc_raw(ctx, rows * rows, sizeof *r->gram, &r->gram));
    if (first && !ovr)
        TN_TRY(tnp_alloc_raw(ctx, 2 * rows, sizeof *r->moves, &r->moves));
    if (first && ovr)
        TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->delta, &r->delta));
    if (first && ovr && shape->average)
        TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->late, &r->late));
    if (needs_variances(rule, shape)) {
        TN_TRY(tnp_alloc_raw(ctx, rows * shape->dim, sizeof *r->squares, &r->squares));
        TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *r->v, &r->v));
    }
    if (ovr) {
        TN_TRY(tnp_alloc(ctx, k, sizeof *r->updates, &r->updates));
        TN_TRY(tnp_alloc(ctx, k, sizeof *r->mistakes, &r->mistakes));
    }
done:
    return st;
}

static void room_free(tnp_online_room *r)
{
    if (!r)
        return;
    void *all[] = {r->s,       r->length, r->last,  r->touched, r->gram,    r->moves,
                   r->squares, r->v,      r->delta, r->late,    r->updates, r->mistakes};
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

size_t tnp_best_wrong(const float *s, size_t classes, size_t y)
{
    size_t best = y == 0 ? 1 : 0;
    for (size_t c = best + 1; c < classes; ++c)
        if (s[c] > s[best] && c != y)
            best = c;
    return best;
}

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

tn_status tnp_online_update(tn_ctx *ctx, tnp_online *o, const tnp_samples *samples)
{
    tnp_visit visit = {o, samples};
    tnp_online_room *r = o->room;
    bool second = tnp_rule_second_order(o->rule.kind);
    for (size_t t = 0; t < samples->count; ++t)
        r->length[t] = r->kernels->sum_squares(samples->x + t * o->shape.dim, o->shape.dim) + (o->shape.bias ? 1 : 0);
    memset(r->last, 0, o->shape.classes * sizeof *r->last);
    r->touched_count = r->move_count = 0;
    tn_status st = score(ctx, o, samples);
    if (st != TN_OK)
        return st;
    if (o->shape.scheme == TNP_MUL)
        st = second ? tnp_online_second_mul(&visit) : tnp_online_first_mul(ctx, &visit);
    else
        st = second ? tnp_online_second_ovr(ctx, &visit) : tnp_online_first_ovr(ctx, &visit);
    for (size_t c = 0; r->updates && c < o->shape.classes; ++c) {
        o->updates += r->updates[c];
        o->mistakes += r->mistakes[c];
    }
    o->seen += samples->count;
    return st;
}
