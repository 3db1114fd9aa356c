/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is minimised over the mixture, variable projection: the machines' weights are always their best,
 *
 *   f(x) = sum_l min_{w,b} [1/2 (|w|^2 + b^2) + C/n sum_i max(0, 1 - y_i (w'phi_i(x) + b))^2]
 *          + penalty C sum_p a_p (x_p - start_p)^2
 *
 * over x = (log weights, means / sigma_0, log deviations, projection in units of data.c), a_p the weight that the
 * Gaussian of parameter p began with, 1 of the projection; other sums over l stand in machines.h. By the envelope
 * theorem df/dx = sum_i (df/dphi_i)' dphi_i/dx with the weights held. Bags in blocks of BAGS, each summed by one
 * thread, blocks added up in order: the same gradient for every number of threads. */
#include "pipeline/refine/refining.h"

#include "tenon/evaluate.h"

#include <math.h>
#include <string.h>

enum { BAGS = 8, BLOCKS = 64, SUMS = 1 << 22 };
static const double TOLERANCE = 1e-5; /* of the machines: a hundredth of what a late round still gains */

/* ---- vectors ---- */

typedef struct encoding {
    tnp_refining *r;
    const tnp_vectors *to;
    bool thin; /* training bags with dropout */
} encoding;

/* Streams: two for each bag and round, so that a round draws anew. */
static uint64_t stream_of(const tnp_refining *r, size_t bag, unsigned which)
{
    return ((uint64_t)r->round << 33) + 2 * (uint64_t)bag + which;
}

static tn_status get_bag(tn_ctx *ctx, const tnp_refining *r, const tnp_vectors *v, size_t i, bool thin, tnp_seen *seen)
{
    tn_status st = tnp_descriptors_get(ctx, v->from, v->bags[i], &seen->bag);
    if (st == TN_OK && thin && r->options->dropout > 0)
        tnp_described_bag_thin(v->from, 1 - r->options->dropout, r->seed, stream_of(r, v->bags[i], 0), &seen->bag);
    return st;
}

static tn_status encode_wide(tn_ctx *ctx, const tnp_refining *r, const tnp_seen *seen, float *psi)
{
    tn_status st = TN_OK;
    size_t cols = tn_encoder_cols(r->e);
    double *wide = NULL;
    tnp_fisher_bag bag = tnp_seen_bag(seen);
    TN_TRY(tnp_alloc_raw(ctx, cols, sizeof *wide, &wide));
    TN_TRY(tnp_fisher_wide(ctx, r->e, &r->point, &bag, wide));
    for (size_t i = 0; i < cols; ++i)
        psi[i] = (float)wide[i];
done:
    tnp_free(wide);
    return st;
}

static tn_status encode_block(tn_ctx *ctx, void *arg, size_t block)
{
    tn_status st = TN_OK;
    const encoding *job = arg;
    const tnp_refining *r = job->r;
    const tnp_vectors *v = job->to;
    size_t cols = tn_encoder_cols(r->e);
    tnp_seen seen = {.rows = NULL};
    TN_TRY(tnp_seen_new(ctx, r, v->from, &seen));
    for (size_t i = block * BAGS; i < tnp_min(v->count, (block + 1) * BAGS); ++i) {
        float *psi = v->psi + i * cols, *phi = v->phi + i * cols;
        TN_TRY(get_bag(ctx, r, v, i, job->thin, &seen));
        TN_TRY(tnp_seen_look(ctx, r->e, v->from, &seen));
        TN_TRY(r->options->precision ? encode_wide(ctx, r, &seen, psi)
                                     : tnp_encode_raw(ctx, r->e, seen.rows, seen.bag.starts, psi));
        memcpy(phi, psi, cols * sizeof *phi);
        tnp_encode_norm(r->e, phi);
    }
done:
    tnp_seen_free(&seen);
    return st;
}

static tn_status encode(tn_ctx *ctx, tnp_refining *r, const tnp_vectors *v, bool thin)
{
    double before = tnp_seconds();
    encoding job = {r, v, thin};
    tn_status st = tnp_crew_run(ctx, &r->crew, "vectors", (v->count + BAGS - 1) / BAGS, encode_block, &job);
    r->encode_seconds += tnp_seconds() - before;
    return st;
}

/* ---- the objective ---- */

static double penalty_factor(const tnp_refining *r)
{
    return r->options->optimizer == TNP_REFINE_GD ? 0 : r->options->penalty * r->machines.cost;
}

static tn_status solve(tn_ctx *ctx, tnp_refining *r, tnp_at how)
{
    double before = tnp_seconds();
    tn_status st = how == TNP_AT_SOLVE ? tnp_machines_solve(ctx, &r->machines, r->train.phi, TOLERANCE)
                                       : tnp_machines_look(ctx, &r->machines, r->train.phi);
    r->solve_seconds += tnp_seconds() - before;
    return st;
}

/* Is all of it such that an encoder can have it as floats, and a file of it be read again? Log deviations: variances
 * from 1e-30 to 1e29. */
static bool is_mixture(const tnp_refining *r, const double *theta)
{
    size_t k = r->point.count, kd = k * r->point.dim;
    for (size_t i = 0; i < r->size; ++i) {
        double most = i < k ? 1e6 : i < k + kd || i >= k + 2 * kd ? 1e15 : 34;
        if (!(fabs(theta[i]) < most))
            return false;
    }
    return true;
}

tn_status tnp_refining_at(tn_ctx *ctx, tnp_refining *r, const double *x, tnp_at how)
{
    tn_status st = TN_OK;
    double *theta = NULL, moves = 0;
    TN_TRY(tnp_alloc_raw(ctx, r->size, sizeof *theta, &theta));
    for (size_t i = 0; i < r->size; ++i) {
        theta[i] = x[i] * r->unit[i];
        moves += r->anchor[i] * (x[i] - r->start[i]) * (x[i] - r->start[i]);
    }
    r->objective = r->machines.loss = HUGE_VAL;
    if (!is_mixture(r, theta))
        goto done;
    tnp_fisher_point_set(&r->point, theta);
    tnp_fisher_give(&r->point, r->e);
    TN_TRY(encode(ctx, r, &r->train, true));
    TN_TRY(solve(ctx, r, how));
    r->objective = r->machines.objective + penalty_factor(r) * moves;
done:
    tnp_free(theta);
    return st;
}

/* ---- its gradient ---- */

typedef struct going_back {
    tnp_refining *r;
    tnp_fisher_options options;
    size_t first; /* block of sums[0] */
    double *sums; /* (blocks at once, size) */
} going_back;

/* What one block of bags needs. */
typedef struct back_scratch {
    tnp_seen seen;
    double *psi, *slope; /* (cols) */
    size_t *whole;       /* (atoms + 1) */
} back_scratch;

static tn_status back_bag(tn_ctx *ctx, const going_back *job, size_t i, back_scratch *s, double *sums)
{
    tn_status st = TN_OK;
    const tnp_refining *r = job->r;
    const tnp_vectors *v = &r->train;
    size_t cols = tn_encoder_cols(r->e), atoms = v->from->atoms;
    bool some = r->options->part < 1;
    TN_TRY(get_bag(ctx, r, v, i, true, &s->seen));
    memcpy(s->whole, s->seen.bag.starts, (atoms + 1) * sizeof *s->whole);
    if (some)
        tnp_described_bag_thin(v->from, r->options->part, r->seed, stream_of(r, v->bags[i], 1), &s->seen.bag);
    TN_TRY(tnp_seen_look(ctx, r->e, v->from, &s->seen));
    for (size_t j = 0; j < cols; ++j)
        s->psi[j] = (double)v->psi[i * cols + j];
    tnp_machines_slope(&r->machines, i, s->slope);
    tnp_fisher_bag from = tnp_seen_bag(&s->seen);
    from.whole = some ? s->whole : NULL;
    from.psi = s->psi;
    from.slope = s->slope;
    TN_TRY(tnp_fisher_back(ctx, r->e, &r->point, &from, &job->options, sums));
done:
    return st;
}

static tn_status back_block(tn_ctx *ctx, void *arg, size_t number)
{
    tn_status st = TN_OK;
    const going_back *job = arg;
    const tnp_vectors *v = &job->r->train;
    size_t block = job->first + number, cols = tn_encoder_cols(job->r->e);
    back_scratch s = {.psi = NULL};
    double *sums = job->sums + number * job->r->size;
    TN_TRY(tnp_seen_new(ctx, job->r, v->from, &s.seen));
    TN_TRY(tnp_alloc_raw(ctx, cols, sizeof *s.psi, &s.psi));
    TN_TRY(tnp_alloc_raw(ctx, cols, sizeof *s.slope, &s.slope));
    TN_TRY(tnp_alloc_raw(ctx, v->from->atoms + 1, sizeof *s.whole, &s.whole));
    memset(sums, 0, job->r->size * sizeof *sums);
    for (size_t i = block * BAGS; i < tnp_min(v->count, (block + 1) * BAGS); ++i)
        TN_TRY(back_bag(ctx, job, i, &s, sums));
done:
    tnp_seen_free(&s.seen);
    tnp_free_all(s.psi, s.slope, s.whole);
    return st;
}

/* As many as have SUMS values together, one for each of the crew at least: of a projection from 2048 columns to 256 the
 * sums of 64 blocks would be 268 MB. The gradient does not depend on it. */
static size_t blocks_at_once(const tnp_refining *r)
{
    return tnp_max(r->crew.count, tnp_min(BLOCKS, SUMS / r->size));
}

tn_status tnp_refining_slope(tn_ctx *ctx, tnp_refining *r, double *g)
{
    tn_status st = TN_OK;
    const tnp_refine_options *o = r->options;
    double before = tnp_seconds(), factor = 2 * penalty_factor(r);
    size_t blocks = (r->train.count + BAGS - 1) / BAGS, at_once = blocks_at_once(r);
    going_back job = {.r = r};
    job.options = (tnp_fisher_options){.soften = r->exact || o->optimizer == TNP_REFINE_GD ? 0 : o->soften,
                                       .reach = o->threshold > 0 ? (float)-log(o->threshold) : 0,
                                       .wide = o->precision != 0};
    TN_TRY(tnp_machines_turn(ctx, &r->machines, r->train.phi));
    TN_TRY(tnp_alloc_raw(ctx, at_once * r->size, sizeof *job.sums, &job.sums));
    memset(g, 0, r->size * sizeof *g);
    for (; job.first < blocks; job.first += at_once) {
        size_t some = tnp_min(at_once, blocks - job.first);
        TN_TRY(tnp_crew_run(ctx, &r->crew, "gradient", some, back_block, &job));
        for (size_t b = 0; b < some; ++b)
            for (size_t i = 0; i < r->size; ++i)
                g[i] += job.sums[b * r->size + i];
    }
    if (o->learn == TNP_LEARN_PROJECTION) /* the mixture stays where it is */
        memset(g, 0, tnp_fisher_size(r->point.count, r->point.dim) * sizeof *g);
    for (size_t i = 0; i < r->size; ++i) {
        double x = r->point.theta[i] / r->unit[i];
        g[i] = g[i] * r->unit[i] + factor * r->anchor[i] * (x - r->start[i]);
    }
done:
    tnp_free(job.sums);
    r->back_seconds += tnp_seconds() - before;
    return st;
}

/* ---- validation ---- */

static tn_status score_valid(tn_ctx *ctx, const tnp_refining *r, double *mean_ap)
{
    tn_status st = TN_OK;
    float *scores = NULL;
    tn_metrics *metrics = NULL;
    size_t rows = r->valid.count, classes = r->machines.classes;
    *mean_ap = (double)NAN;
    if (rows == 0)
        return TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, rows * classes, sizeof *scores, &scores));
    TN_TRY(tnp_machines_score(ctx, &r->machines, r->valid.phi, rows, scores));
    TN_TRY(tn_metrics_compute(ctx, (tn_view){scores, rows, classes, classes}, r->judge, 0, &metrics));
    *mean_ap = metrics->mean_ap;
    for (size_t l = 0; l < classes; ++l)
        r->valid_ap[l] = metrics->per_class[l].ap;
done:
    tn_metrics_free(metrics);
    tnp_free(scores);
    return st;
}

tn_status tnp_refining_judge(tn_ctx *ctx, tnp_refining *r, double *mean_ap)
{
    tn_status st = encode(ctx, r, &r->valid, false);
    return st == TN_OK ? score_valid(ctx, r, mean_ap) : st;
}

tn_status tnp_refining_choose_cost(tn_ctx *ctx, tnp_refining *r, double *mean_ap)
{
    static const double grid[] = {30, 100, 300, 1000};
    enum { GRID = sizeof grid / sizeof *grid, USUAL = 1 };
    tn_status st = TN_OK;
    double best = -1, given = r->options->cost.value, found;
    double times = r->machines.kind == TNP_OBJECTIVE_MULTINOMIAL ? 30 : 1; /* its losses bend less */
    size_t chosen = USUAL;
    TN_TRY(encode(ctx, r, &r->train, true));
    TN_TRY(encode(ctx, r, &r->valid, false));
    for (size_t i = 0; given == 0 && r->judge && i < GRID; ++i) {
        r->machines.cost = times * grid[i];
        TN_TRY(solve(ctx, r, TNP_AT_SOLVE));
        TN_TRY(score_valid(ctx, r, &found));
        if (found > best) {
            best = found;
            chosen = i;
        }
    }
    r->machines.cost = given > 0 ? given : times * grid[chosen];
    TN_TRY(solve(ctx, r, TNP_AT_SOLVE));
    TN_TRY(score_valid(ctx, r, mean_ap));
    r->objective = r->machines.objective;
done:
    return st;
}
