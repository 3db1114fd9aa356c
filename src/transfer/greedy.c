/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GreedyTL (Kuzborskij, Orabona, Caputo, 2015) in O(rows cols) a step. Z, y: standardised columns and target, C = Z'Z,
 * b = Z'y, S the columns chosen, P = I - Z_S (Z_S'Z_S + lambda I)^-1 Z_S'. The criterion is to maximise
 * b_S'(C_S + lambda I)^-1 b_S; adding i to S raises it by exactly
 *
 *   gain_i = g_i^2 / (lambda + c_i)        g = Z'P y        c = diag(Z'P Z)
 *
 *   step: q = P z_i, den = lambda + z_i'q, t = Z'q:   g -= t g_i/den   c -= t^2/den   P -= q q'/den
 *
 * One pass over Z a step: t of a run of tiles, then its g, its c and its largest gain while they are in the nearest cache. P is never formed: P = I - sum_s q_s q_s'/den_s, so q costs O(rows |S|). The q_s'z_i/den_s found on the way are
 * the row of the unit lower factor L of C_S + lambda I and den its pivots, so the weights of every prefix are one back
 * substitution. With lambda = 0, P is a projection and the q are orthogonal: a second sweep keeps them so.
 *
 * Without groups c starts at 1, with them at |z_j|^2 (transfer_problem.c). Chosen and constant columns have c = infinity and so no gain, without a question in the loop. Equal gains: rounding moves g
 * by about e |z|, c by e |z|^2, e = (rows + steps) eps, so a gain by 2 e (|z| sqrt(gain/den) + |z|^2 gain/den); twice that
 * below the largest still ties with it. An exact comparison would send columns that are multiples of each other where rounding says.
 * Refused: keeping P z_j for all columns, which saves q = P z_i and doubles the memory and its traffic.
 * Oracle: tests/ref/ref_transfer.c, which solves the criterion anew for every candidate of every step. */
#include "transfer/greedy.h"
#include "simd/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double left_least = 1e-10; /* of a column's variance */

typedef struct scan_job {
    const tnp_simd *kernels;
    const tnp_transfer_problem *problem;
    const double *q;
    double lambda, step, inverse; /* g -= t step, c -= t^2 inverse */
    double *g, *c;                /* padded to whole tiles */
    double *best;                 /* a run of tiles: its largest gain */
} scan_job;

/* As greedy_gains has it, to the bit. */
static double gain_of(double g, double c, double lambda)
{
    double den = lambda + c > left_least ? lambda + c : INFINITY;
    return g * g / den;
}

static void scan_run(void *arg, size_t run)
{
    const scan_job *job = arg;
    size_t first = run * TNP_TILE_RUN, count = tnp_min(TNP_TILE_RUN, job->problem->columns->tiles - first);
    double t[TNP_TILE_RUN * TNP_TILE];
    tnp_transfer_tiles_product(job->problem, first, count, job->q, t);
    job->best[run] = job->kernels->greedy_gains(count * TNP_TILE, t, job->step, job->inverse, job->lambda, left_least,
                                                job->g + first * TNP_TILE, job->c + first * TNP_TILE);
}

/* The lowest column with a gain of at least `enough`, which some column has. */
static size_t first_with(const scan_job *job, double enough)
{
    size_t run = 0;
    while (job->best[run] < enough)
        ++run;
    size_t j = run * TNP_TILE_RUN * TNP_TILE;
    while (gain_of(job->g[j], job->c[j], job->lambda) < enough)
        ++j;
    return j;
}

/* The lowest column whose gain ties with the largest; false when there is no gain. */
static bool next_pick(const scan_job *job, size_t runs, size_t steps, size_t *pick)
{
    double most = 0;
    for (size_t r = 0; r < runs; ++r)
        most = fmax(most, job->best[r]);
    if (!(most > 0))
        return false;
    size_t best = first_with(job, most);
    double ratio = tnp_transfer_power(job->problem, best) * most / (job->lambda + job->c[best]);
    double slack = 4 * (double)(job->problem->rows + steps) * DBL_EPSILON * (sqrt(ratio) + ratio);
    *pick = first_with(job, fmax(most - slack, most / 2));
    return true;
}

static tn_status more_room(tn_ctx *ctx, tnp_greedy_path *path)
{
    size_t old = path->room, now = tnp_max(32, 2 * old), m = path->rows, triangle = 0, wide = 0;
    tn_status st = TN_OK;
    TN_TRY(tnp_mul(ctx, now, now, &triangle));
    TN_TRY(tnp_mul(ctx, now, m, &wide));
    TN_TRY(tnp_grow(ctx, &path->picks, old, now, sizeof *path->picks));
    TN_TRY(tnp_grow(ctx, &path->objective, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &path->solved, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &path->pivot, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &path->lower, old * (old - (old > 0)) / 2, triangle / 2, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &path->q, old * m, wide, sizeof(double)));
    path->room = now;
done:
    return st;
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

/* q = P z and the row of L, with the picks so far. The sweep takes its coefficients from `from`: z the first time, and for a
 * projection what is left of it the second. */
static void sweep(const tnp_greedy_path *path, const double *from, double *q, double *row)
{
    size_t m = path->rows;
    for (size_t s = 0; s < path->count; ++s) {
        double share = dot(m, path->q + s * m, from) / path->pivot[s];
        row[s] += share;
        for (size_t i = 0; i < m; ++i)
            q[i] -= share * path->q[s * m + i];
    }
}

typedef struct state {
    double *r;        /* (rows): P y */
    double *z, *rest; /* (rows): the column that comes in, and scratch */
} state;

/* Adds a column unless its gain is too small; the next scan's q, step and inverse. False: the path ends here. */
static bool take(scan_job *job, const state *s, size_t pick, double delta, tnp_greedy_path *path)
{
    size_t m = path->rows, n = path->count;
    double *q = path->q + n * m, *row = path->lower + n * (n - (n > 0)) / 2;
    tnp_transfer_column(job->problem, pick, s->z);
    memcpy(q, s->z, m * sizeof *q);
    sweep(path, s->z, q, row);
    if (job->lambda == 0) {
        memcpy(s->rest, q, m * sizeof *q);
        sweep(path, s->rest, q, row);
    }
    double g = dot(m, s->z, s->r), den = job->lambda + dot(m, s->z, q), gain = g * g / den;
    if (n > 0 && gain < delta)
        return false;
    for (size_t i = 0; i < m; ++i)
        s->r[i] -= q[i] * (g / den);
    path->picks[n] = pick;
    path->objective[n] = (n ? path->objective[n - 1] : 0) + gain;
    path->pivot[n] = den;
    path->solved[n] = g / den;
    path->count = n + 1;
    job->q = q;
    job->step = g / den;
    job->inverse = 1 / den;
    job->c[pick] = INFINITY;
    return true;
}

static tn_status walk(tn_ctx *ctx, scan_job *job, const state *s, double delta, size_t most, tnp_greedy_path *path)
{
    const tnp_transfer_problem *p = job->problem;
    tn_status st = TN_OK;
    size_t runs = (p->columns->tiles + TNP_TILE_RUN - 1) / TNP_TILE_RUN, pick = 0;
    size_t threads = tnp_threads_for(ctx, 3.0 * (double)p->rows * (double)p->cols);
    TN_TRY(more_room(ctx, path));
    while (path->count < most) {
        TN_TRY(tnp_cancelled(ctx));
        if (path->count == path->room) {
            TN_TRY(more_room(ctx, path));
            job->q = path->q + (path->count - 1) * p->rows; /* moved */
        }
        tnp_parallel(ctx, threads, runs, scan_run, job);
        if (!next_pick(job, runs, path->count, &pick) || !take(job, s, pick, delta, path))
            break;
    }
done:
    return st;
}

tn_status tnp_greedy_path_new(tn_ctx *ctx, const tnp_transfer_problem *problem, double lambda, double delta,
                              size_t most, tnp_greedy_path **out)
{
    tn_status st = TN_OK;
    size_t m = problem->rows, tiles = problem->columns->tiles, padded = tiles * TNP_TILE;
    tnp_greedy_path *path = NULL;
    state s = {NULL, NULL, NULL};
    /* The first scan makes g = Z'y of g = 0: step -1, c as it is. */
    scan_job job = {tnp_simd_get(), problem, problem->target, lambda, -1, 0, NULL, NULL, NULL};
    if (lambda != 0 && !(lambda >= 1e-6 && isfinite(lambda)))
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "transfer: lambda is %g, expected 0 or a number from 1e-6", lambda));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *path, &path));
    path->rows = m;
    TN_TRY(tnp_alloc(ctx, padded, sizeof(double), &job.g));
    TN_TRY(tnp_alloc_raw(ctx, padded, sizeof(double), &job.c));
    TN_TRY(tnp_alloc(ctx, tiles / TNP_TILE_RUN + 1, sizeof(double), &job.best));
    TN_TRY(tnp_alloc(ctx, 3 * m, sizeof(double), &s.r));
    s.z = s.r + m;
    s.rest = s.z + m;
    memcpy(s.r, problem->target, m * sizeof(double));
    for (size_t j = 0; j < padded; ++j)
        job.c[j] = problem->inverse[j] > 0 ? tnp_transfer_power(problem, j) : INFINITY;
    TN_TRY(walk(ctx, &job, &s, delta, most, path));
    *out = path;
    path = NULL;
done:
    tnp_greedy_path_free(path);
    tnp_free(job.g);
    tnp_free(job.c);
    tnp_free(job.best);
    tnp_free(s.r);
    return st;
}

void tnp_greedy_path_free(tnp_greedy_path *path)
{
    if (!path)
        return;
    tnp_free(path->picks);
    tnp_free(path->objective);
    tnp_free(path->solved);
    tnp_free(path->lower);
    tnp_free(path->pivot);
    tnp_free(path->q);
    tnp_free(path);
}

void tnp_greedy_weights(const tnp_greedy_path *path, size_t prefix, double *w)
{
    memcpy(w, path->solved, prefix * sizeof *w);
    for (size_t s = prefix; s-- > 1;)
        for (size_t j = 0; j < s; ++j)
            w[j] -= path->lower[s * (s - 1) / 2 + j] * w[s];
}

/* With z~ the standardised row and v = L^-1 z~_S, by forward substitution: w'z~ of the first s picks is sum v_j (L^-1 b)_j/D_j. */
void tnp_greedy_predict(const tnp_greedy_path *path, const tnp_transfer_problem *problem, size_t row, double *room,
                        double *out)
{
    out[0] = problem->target_mean;
    for (size_t s = 0; s < path->count; ++s) {
        size_t j = path->picks[s];
        const double *lower = path->lower + s * (s - (s > 0)) / 2;
        double z = (tnp_transfer_value(problem->columns, row, j) - problem->mean[j]) * problem->inverse[j];
        room[s] = z - dot(s, lower, room);
        out[s + 1] = out[s] + problem->target_scale * room[s] * path->solved[s];
    }
}
