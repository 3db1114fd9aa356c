/* SPDX-License-Identifier: BSD-3-Clause
 *
 * f and its parts at a place w of one column (see active.c), the exact line search along a step, and how the costs grow
 * from step to step. */
#include "learn/linear/active_lane.h"
#include "learn/softmax/softmax_loss.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32, LONGEST = 8 };
static const double MORE = 2, LEAP = 4; /* of the costs, in a step; from the optimum of others */

static double ridge(const tnp_lanes_rows *v, size_t i)
{
    return i < v->dim || (v->opt->bias && v->opt->penalised) ? 1 : 0;
}

static double dot(const tnp_lanes_rows *v, const double *a, const double *b)
{
    return tnp_dot_wide(a, b, v->dim + (v->opt->bias && v->opt->penalised));
}

typedef struct line_job {
    const float *near;
    size_t count;
    double wd, dd;
} line_job;

/* First and second derivative of f at w + t d. */
static tn_status line(void *arg, double t, double *first, double *second)
{
    const line_job *job = arg;
    double slope = 0, curve = 0;
    for (size_t i = 0; i < 3 * job->count; i += 3) {
        double q = (double)job->near[i + 1], v = (double)job->near[i] - t * q,
               hq = v > 0 ? (double)job->near[i + 2] * q : 0;
        slope += hq * v;
        curve += hq * q;
    }
    *first = job->wd + t * job->dd - slope;
    *second = job->dd + curve;
    return TN_OK;
}

/* Rows that are active anywhere between w and w + LONGEST d. Here and in advance() no branch (& and |, not && and ||):
 * which rows are near the margin is not to be foreseen. */
static size_t gather_near(const tnp_lanes_rows *v, tnp_lane *l)
{
    const double *m = l->m;
    const float *q = l->q, *h = l->h;
    size_t count = 0;
    for (size_t i = 0; i < v->n; ++i) {
        float slack = (float)(1 - m[i]), ahead = slack - (float)LONGEST * q[i], *at = l->near + 3 * count;
        at[0] = slack;
        at[1] = q[i];
        at[2] = h[i];
        count += (size_t)((h[i] > 0) & ((slack > 0) | (ahead > 0)));
    }
    return count;
}

/* Margins t further along d, and which rows are active there. */
static void advance(const tnp_lanes_rows *v, tnp_lane *l, double t)
{
    double *m = l->m;
    const float *q = l->q, *h = l->h;
    size_t *which = l->which, active = 0;
    for (size_t i = 0; i < v->n; ++i) {
        m[i] += t * (double)q[i];
        which[active] = i;
        active += (size_t)((m[i] < 1) & (h[i] > 0));
    }
    l->active = active;
}

/* Objective at the present margins. */
static void look(const tnp_lanes_rows *v, tnp_lane *l)
{
    l->loss = l->sum = 0;
    for (size_t i = 0; i < l->active; ++i) {
        double slack = 1 - l->m[l->which[i]], h = (double)l->h[l->which[i]];
        l->sum += h * slack;
        l->loss += h * slack * slack / 2;
    }
    l->f = dot(v, l->w, l->w) / 2 + l->loss;
}

static void set_ease(const tnp_lanes_rows *v, tnp_lane *l, double ease)
{
    l->ease = ease;
    for (size_t i = 0; i < v->n; ++i)
        l->h[i] = 2 * (float)ease * fabsf(l->a[i]);
}

void tnp_lane_begin(const tnp_lanes_rows *v, tnp_lane *l)
{
    tnp_column_costs(v->columns, l->column, v->n, l->a);
    memset(l->m, 0, v->n * sizeof *l->m);
    set_ease(v, l, 1);
}

/* The share of its costs that a place w is the optimum of, about: there |w|^2 = sum h v m. */
static double ease_of(const tnp_lanes_rows *v, const tnp_lane *l)
{
    double square = dot(v, l->w, l->w), sum = 0;
    for (size_t i = 0; i < l->active; ++i) {
        size_t row = l->which[i];
        sum += (double)l->h[row] * (1 - l->m[row]) * l->m[row];
    }
    return square < sum ? square / sum : 1;
}

/* What the next step is to count of the costs. */
static void next_ease(const tnp_lanes_rows *v, tnp_lane *l)
{
    bool cold = l->f == l->loss;
    double ease = !l->entering ? MORE * l->ease : cold ? v->least_ease : LEAP * ease_of(v, l);
    ease = fmin(1, ease);
    if (ease == l->ease)
        return;
    set_ease(v, l, ease);
    l->before = INFINITY;
    l->lower = 0;
    look(v, l);
}

static const float *row_at(const tnp_lanes_rows *v, size_t row)
{
    return v->hand.x + (row - v->hand.first) * v->hand.stride;
}

/* g = - sum h (1 - m) y x over the active rows at hand: float sums of BLOCK rows, added up in double. */
static void find_gradient(const tnp_lanes_rows *v, tnp_lane *l)
{
    const tnp_simd *simd = tnp_simd_get();
    float *part = l->scratch;
    double last = 0;
    memset(l->g, 0, v->width * sizeof *l->g);
    for (size_t at = l->first, end = at + l->here; at < end; at += BLOCK) {
        memset(part, 0, v->dim * sizeof *part);
        for (size_t i = at; i < tnp_min(at + BLOCK, end); ++i) {
            size_t row = l->which[i];
            double slope = (double)l->h[row] * (1 - l->m[row]) * (l->a[row] < 0 ? 1 : -1);
            if (i + 1 < end)
                tnp_row_ahead(row_at(v, l->which[i + 1]), v->dim);
            simd->add_scaled((float)slope, row_at(v, row), part, v->dim);
            last += slope;
        }
        simd->add_to_double(part, l->g, v->dim);
    }
    l->g[v->dim] = v->opt->bias ? last : 0;
}

/* With a free intercept the bound is an estimate (see newton.c). */
void tnp_lane_bound(const tnp_lanes_rows *v, tnp_lane *l)
{
    double square = dot(v, l->g, l->g), best = 0, curve = 0;
    if (l->sum > 0)
        best = l->sum * l->sum / (4 * (l->loss + square / 2));
    for (size_t i = 0; i < v->width; ++i)
        l->g[i] += ridge(v, i) * l->w[i];
    l->lower = fmax(l->lower, best);
    if (v->opt->bias && !v->opt->penalised) {
        for (size_t i = 0; i < l->active; ++i)
            curve += (double)l->h[l->which[i]];
        l->lower = l->f - dot(v, l->g, l->g) / 2 - (curve > 0 ? pow(l->g[v->dim], 2) / curve : 0);
    }
}

/* How far to go along d. */
static double search(const tnp_lanes_rows *v, tnp_lane *l)
{
    line_job job = {l->near, gather_near(v, l), dot(v, l->w, l->d), dot(v, l->d, l->d)};
    double t = 1, slope = 0, second;
    (void)line(&job, 0, &slope, &second);
    (void)tnp_line_search(line, &job, slope, 0.01, &t);
    return fmin(t, (double)LONGEST);
}

void tnp_lane_move(const tnp_lanes_rows *v, tnp_lane *l)
{
    double t = l->entering ? 1 : search(v, l);
    advance(v, l, t);
    l->first = tnp_count_below(l->which, l->active, v->hand.first);
    l->here = tnp_count_below(l->which, l->active, v->hand.first + v->hand.count) - l->first;
    for (size_t i = 0; i < v->width; ++i)
        l->w[i] += t * l->d[i];
    ++l->steps;
    l->before = l->f;
    look(v, l);
    next_ease(v, l);
    find_gradient(v, l);
    l->entering = false;
}

size_t tnp_lane_bytes(size_t rows, size_t dim)
{
    return sizeof(tnp_lane) + (40 + 4) * rows + (24 + 4 + 8) * (dim + 1) + 4 * tnp_factor_scratch(dim) +
           tnp_factor_bytes(dim);
}

tn_status tnp_lane_new(tn_ctx *ctx, const tnp_lanes_rows *v, tnp_lane **out)
{
    tn_status st = TN_OK;
    tnp_lane *l = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *l, &l));
    *out = l;
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->a, &l->a));
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->h, &l->h));
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->m, &l->m));
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->q, &l->q));
    TN_TRY(tnp_alloc(ctx, v->n + 1, 3 * sizeof *l->near, &l->near));
    TN_TRY(tnp_alloc(ctx, v->n + 1, sizeof *l->which, &l->which));
    TN_TRY(tnp_alloc(ctx, v->width, sizeof *l->w, &l->w));
    TN_TRY(tnp_alloc(ctx, v->width, sizeof *l->g, &l->g));
    TN_TRY(tnp_alloc(ctx, v->width, sizeof *l->d, &l->d));
    TN_TRY(tnp_alloc(ctx, tnp_factor_scratch(v->dim), sizeof *l->scratch, &l->scratch));
done:
    return st;
}

void tnp_lane_free(tnp_lane *l)
{
    if (!l)
        return;
    tnp_free_all(l->a, l->h, l->m, l->q, l->near, l->which, l->w, l->g, l->d, l->scratch);
    tnp_factor_clear(&l->own);
    tnp_free(l);
}
