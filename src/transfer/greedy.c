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
 * One pass over Z a step: t of a run of tiles, then its g, its c and its largest gain while they are in the nearest
 * cache. P is never formed: P = I - sum_s q_s q_s'/den_s, so q costs O(rows |S|). The q_s'z_i/den_s found on the way
 * are the row of the unit lower factor L of C_S + lambda I and den its pivots, so the weights of every prefix are one
 * back substitution. With lambda = 0, P is a projection and the q are orthogonal: a second round keeps them so.
 *
 * With C at hand (problem.h), which all labels of the same columns share, t comes from it and from the t of the steps
 * before,
 *
 *   t = C_i - sum_s t_s t_si/den_s               t_si/den_s: the same row of L
 *
 * in O(cols |S|) a step, where the pass over Z is O(rows cols): 1000 classes of three rows need minutes, not hours. The
 * digits are those of a Cholesky factor of C_S + lambda I, eps times its condition; so that is not the way where lambda
 * is next to nothing.
 *
 * Without groups c starts at 1, with them at |z_j|^2 (transfer/problem.c). Chosen and constant columns have c =
 * infinity and so no gain, without a question in the loop. Equal gains: rounding moves g by about e |z|, c by e |z|^2,
 * e = (rows + steps) eps, so a gain by 2 e (|z| sqrt(gain/den) + |z|^2 gain/den); twice that below the largest still
 * ties with it. An exact comparison would send columns that are multiples of each other where rounding says. Refused:
 * keeping P z_j for all columns, which saves q = P z_i and doubles the memory and its traffic. Oracle:
 * tests/ref/ref_transfer.c, which solves the criterion anew for every candidate of every step. */
#include "transfer/greedy.h"
#include "simd/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double left_least = 1e-10;        /* of a column's variance */
static const double least_lambda_share = 1e-7; /* of the trace of C, for steps from C: weights to some 1e-9 */

typedef struct scan_job {
    const tnp_simd *simd;
    const tnp_transfer_problem *problem;
    const double *q;              /* (rows); NULL: t by products */
    bool by_products;             /* of C, once there is a pick: */
    const double *from, *row;     /* (whole tiles): C_i of the last one; its row of L */
    double *before;               /* steps: t of the picks before it, */
    size_t taken;                 /* so many */
    double lambda, step, inverse; /* g -= t step, c -= t^2 inverse */
    double *g, *c;                /* padded to whole tiles */
    double *best;                 /* a run of tiles: its largest gain */
} scan_job;

/* ---- steps: a vector of `tiles` tiles per pick, in blocks of BLOCK picks (tiles, BLOCK, TNP_TILE), the last one
 * filled up with zeros: a sum of all of them is a few long products ---- */

enum { BLOCK = 32 };

static size_t steps_size(size_t tiles, size_t steps)
{
    return (steps + BLOCK - 1) / BLOCK * BLOCK * tiles * TNP_TILE;
}

static double *step_at(double *steps, size_t tiles, size_t step, size_t tile)
{
    return steps + ((step / BLOCK * tiles + tile) * BLOCK + step % BLOCK) * TNP_TILE;
}

/* t (count tiles, at most a run) = sum_s row_s step_s over the first n steps, tiles [first, first + count). */
static void steps_product(const tnp_simd *simd, double *steps, size_t tiles, size_t n, const double *row, size_t first,
                          size_t count, double *t)
{
    double sum[TNP_TILE_RUN * TNP_TILE];
    memset(t, 0, count * TNP_TILE * sizeof *t);
    for (size_t s = 0; s < n; s += BLOCK) {
        double part[BLOCK] = {0};
        memcpy(part, row + s, tnp_min(BLOCK, n - s) * sizeof *part);
        simd->tile_products(step_at(steps, tiles, s, first), count, BLOCK, part, sum);
        for (size_t j = 0; j < count * TNP_TILE; ++j)
            t[j] += sum[j];
    }
}

/* ---- the scan ---- */

/* As greedy_gains has it, to the bit. */
static double gain_of(double g, double c, double lambda)
{
    double den = lambda + c > left_least ? lambda + c : INFINITY;
    return g * g / den;
}

/* t of some tiles from C, kept for later steps. */
static void scan_products(const scan_job *job, size_t first, size_t count, double *t)
{
    size_t tiles = job->problem->columns->tiles;
    steps_product(job->simd, job->before, tiles, job->taken, job->row, first, count, t);
    for (size_t b = 0; b < count; ++b) {
        double *kept = step_at(job->before, tiles, job->taken, first + b);
        for (size_t l = 0; l < TNP_TILE; ++l)
            kept[l] = t[b * TNP_TILE + l] = job->from[(first + b) * TNP_TILE + l] - t[b * TNP_TILE + l];
    }
}

static void scan_run(void *arg, size_t run)
{
    const scan_job *job = arg;
    size_t first = run * TNP_TILE_RUN, count = tnp_min(TNP_TILE_RUN, job->problem->columns->tiles - first);
    double t[TNP_TILE_RUN * TNP_TILE];
    if (job->q)
        tnp_transfer_tiles_product(job->problem, first, count, job->q, t);
    else
        scan_products(job, first, count, t);
    job->best[run] = job->simd->greedy_gains(count * TNP_TILE, t, job->step, job->inverse, job->lambda, left_least,
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

static tn_status enlarge(tn_ctx *ctx, scan_job *job, tnp_greedy_path *path)
{
    size_t old = path->capacity, now = tnp_max(BLOCK, 2 * old), m = path->rows, triangle = 0, wide = 0;
    size_t tiles = job->problem->columns->tiles;
    tn_status st = TN_OK;
    TN_TRY(tnp_mul(ctx, now, now, &triangle));
    TN_TRY(tnp_mul(ctx, now, m, &wide));
    TN_TRY(tnp_grow(ctx, &path->picks, old, now, sizeof *path->picks));
    TN_TRY(tnp_grow(ctx, &path->objective, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &path->solved, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &path->pivot, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &path->lower, old * (old - (old > 0)) / 2, triangle / 2, sizeof(double)));
    if (job->by_products)
        TN_TRY(tnp_grow(ctx, &job->before, steps_size(tiles, old), steps_size(tiles, now), sizeof(double)));
    else
        TN_TRY(tnp_grow(ctx, &path->q, old * m, wide, sizeof(double)));
    path->capacity = now;
done:
    return st;
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum[4] = {0}; /* four chains of additions take a quarter of the time of one */
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t l = 0; l < 4; ++l)
            sum[l] += a[i + l] * b[i + l];
    for (; i < n; ++i)
        sum[0] += a[i] * b[i];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* q = P z and the row of L, with the picks so far. Coefficients come from `from`: z the first time, and
 * for a projection what is left of it the second. */
static void take_off_picks(const tnp_greedy_path *path, const double *from, double *q, double *row)
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

static double *row_of_lower(const tnp_greedy_path *path, size_t s)
{
    return path->lower + s * (s - (s > 0)) / 2;
}

/* g and den of a column, its q and its row of L. */
static void project(const scan_job *job, const state *s, size_t pick, const tnp_greedy_path *path, double *g,
                    double *den)
{
    size_t m = path->rows, n = path->count;
    double *q = path->q + n * m, *row = row_of_lower(path, n);
    tnp_transfer_column(job->problem, pick, s->z);
    memcpy(q, s->z, m * sizeof *q);
    take_off_picks(path, s->z, q, row);
    if (job->lambda == 0) {
        memcpy(s->rest, q, m * sizeof *q);
        take_off_picks(path, s->rest, q, row);
    }
    *g = dot(m, s->z, s->r);
    *den = job->lambda + dot(m, s->z, q);
    for (size_t i = 0; i < m; ++i)
        s->r[i] -= q[i] * (*g / *den);
}

/* The same by products, which have no q. */
static void look_up(const scan_job *job, size_t pick, const tnp_greedy_path *path, double *g, double *den)
{
    double *row = row_of_lower(path, path->count);
    *g = job->g[pick];
    *den = job->lambda + tnp_transfer_products(job->problem, pick)[pick];
    for (size_t s = 0; s < path->count; ++s) {
        double t = step_at(job->before, job->problem->columns->tiles, s, pick / TNP_TILE)[pick % TNP_TILE];
        row[s] = t / path->pivot[s];
        *den -= row[s] * t;
    }
}

/* Adds a column unless its gain is too small. False: the path ends here. */
static bool take(scan_job *job, const state *s, size_t pick, double delta, tnp_greedy_path *path)
{
    size_t n = path->count;
    double g = 0, den = 0;
    if (job->by_products)
        look_up(job, pick, path, &g, &den);
    else
        project(job, s, pick, path, &g, &den);
    double gain = g * g / den;
    if (n > 0 && gain < delta)
        return false;
    path->picks[n] = pick;
    path->objective[n] = (n ? path->objective[n - 1] : 0) + gain;
    path->pivot[n] = den;
    path->solved[n] = g / den;
    path->count = n + 1;
    job->step = g / den;
    job->inverse = 1 / den;
    job->c[pick] = INFINITY;
    return true;
}

/* The next scan is that of the last pick. */
static void aim(scan_job *job, const tnp_greedy_path *path)
{
    size_t last = path->count - 1;
    job->q = job->by_products ? NULL : path->q + last * path->rows;
    job->from = job->by_products ? tnp_transfer_products(job->problem, path->picks[last]) : NULL;
    job->row = row_of_lower(path, last);
    job->taken = last;
}

static tn_status walk(tn_ctx *ctx, scan_job *job, const state *s, double delta, size_t most, tnp_greedy_path *path)
{
    const tnp_transfer_problem *p = job->problem;
    tn_status st = TN_OK;
    size_t runs = (p->columns->tiles + TNP_TILE_RUN - 1) / TNP_TILE_RUN, pick = 0;
    TN_TRY(enlarge(ctx, job, path));
    while (path->count < most) {
        TN_TRY(tnp_cancelled(ctx));
        if (path->count == path->capacity)
            TN_TRY(enlarge(ctx, job, path));
        if (path->count > 0)
            aim(job, path);
        double flops = job->q ? 3.0 * (double)p->rows : 2.0 * (double)path->count;
        tnp_parallel(ctx, tnp_threads_for(ctx, flops * (double)p->cols), runs, scan_run, job);
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
    double trace = 0;
    tnp_greedy_path *path = NULL;
    state s = {NULL, NULL, NULL};
    /* The first scan makes g = Z'y of g = 0: step -1, c as it is. */
    scan_job job = {.simd = tnp_simd_get(), .problem = problem, .q = problem->target, .lambda = lambda, .step = -1};
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
    for (size_t j = 0; j < padded; ++j) {
        job.c[j] = problem->inverse[j] > 0 ? tnp_transfer_power(problem, j) : INFINITY;
        trace += problem->inverse[j] > 0 ? job.c[j] : 0;
    }
    job.by_products = problem->products && lambda >= least_lambda_share * trace;
    TN_TRY(walk(ctx, &job, &s, delta, most, path));
    *out = path;
    path = NULL;
done:
    tnp_greedy_path_free(path);
    tnp_free_all(job.g, job.c, job.best, job.before, s.r);
    return st;
}

void tnp_greedy_path_trim(tnp_greedy_path *path)
{
    tnp_free_all(path->solved, path->lower, path->pivot, path->q);
    path->solved = path->lower = path->pivot = path->q = NULL;
}

void tnp_greedy_path_free(tnp_greedy_path *path)
{
    if (!path)
        return;
    tnp_greedy_path_trim(path);
    tnp_free_all(path->picks, path->objective, path);
}

void tnp_greedy_weights(const tnp_greedy_path *path, size_t prefix, double *w)
{
    memcpy(w, path->solved, prefix * sizeof *w);
    for (size_t s = prefix; s-- > 1;)
        for (size_t j = 0; j < s; ++j)
            w[j] -= path->lower[s * (s - 1) / 2 + j] * w[s];
}

/* With z~ the standardised row and v = L^-1 z~_S, by forward substitution: w'z~ of the first s picks is sum v_j (L^-1
 * b)_j/D_j. */
void tnp_greedy_predict(const tnp_greedy_path *path, const tnp_transfer_problem *problem, const size_t *rows,
                        size_t row_count, double *work, double *out)
{
    const tnp_simd *simd = tnp_simd_get();
    size_t wide = path->count + 1, tiles = (row_count + TNP_TILE - 1) / TNP_TILE;
    for (size_t i = 0; i < row_count; ++i)
        out[i * wide] = problem->target_mean;
    memset(work, 0, steps_size(tiles, path->count) * sizeof *work);
    for (size_t s = 0; s < path->count; ++s) {
        size_t j = path->picks[s];
        double solved[TNP_GREEDY_ROWS], step = problem->target_scale * path->solved[s];
        steps_product(simd, work, tiles, s, row_of_lower(path, s), 0, tiles, solved);
        for (size_t i = 0; i < row_count; ++i) {
            double z = (tnp_transfer_value(problem->columns, rows[i], j) - problem->mean[j]) * problem->inverse[j];
            double v = z - solved[i];
            step_at(work, tiles, s, i / TNP_TILE)[i % TNP_TILE] = v;
            out[i * wide + s + 1] = out[i * wide + s] + step * v;
        }
    }
}

size_t tnp_greedy_work(size_t picks, size_t row_count)
{
    return steps_size((row_count + TNP_TILE - 1) / TNP_TILE, picks);
}
