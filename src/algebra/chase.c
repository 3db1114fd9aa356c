/* SPDX-License-Identifier: BSD-3-Clause
 *
 * B = Q2 T Q2': column after column of the band is cleared below its second entry, and the bulge that this makes is
 * chased down the band in steps of b rows. Step s of column j works on rows [j + 1 + s b, + b), with r = its first row:
 *
 *   e = B[r .. r+b, r-b .. r)   from the right by the reflection of step s - 1, from the left by the one that clears
 *                               its first column (s = 0: the column j itself)
 *   d = B[r .. r+b, r .. r+b)   from both sides by that
 *
 * Step (j, s) comes after (j, s-1) and (j-1, s+1). Columns are taken in groups of COLUMNS, each by one thread; its steps
 * with u = s + (j - first of the group) in a chunk of CHUNK are taken column by column, so that they stay within CHUNK b
 * columns, in the cache. Chunk c of group g comes after c-1 of it and c+1 of group g-1, with which it then has no
 * column in common, since CHUNK > COLUMNS: a thread waits for the one before it and for nobody else. A barrier after
 * all chunks with the same c + 2 g was refused: there are few of them, and one thread more often waits than not.
 *
 * The vectors of column j cover rows [j+1, n) without a gap: they lie in row n-1-j of the triangle of `a` that is free.
 * Applied to vectors, reflections of a group are taken with s descending, so that a window of b + COLUMNS rows takes
 * those of a whole group in turn.
 *
 * Oracle: Q2 T Q2' against B, tests/unit/test_band.c. */
#include "algebra/band.h"

#include <string.h>

enum { COLUMNS = 16, CHUNK = 20, TOGETHER = 8 }; /* TOGETHER: tiles that share the windows, at most */
enum { GROUPS = 64 };                            /* taken before progress is told */
enum {
    FOUR = 4,
    ROWS = TNP_BAND + FOUR - 1
}; /* reflections that are applied at once, and the rows that they have together */

typedef struct chase_job {
    const tnp_band_loops *k;
    tn_ctx *ctx;
    size_t n, first;     /* group that a call of tnp_parallel begins with */
    atomic_size_t *done; /* (groups): chunks */
    double *band, *a;
} chase_job;

static size_t steps_of(size_t n, size_t column)
{
    return (n - 1 - column + TNP_BAND - 1) / TNP_BAND;
}

/* The vector of a step, and its length. */
static double *vector_at(double *a, size_t n, size_t column, size_t step, size_t *length)
{
    *length = tnp_min(TNP_BAND, n - 1 - column - step * TNP_BAND);
    return a + (n - 1 - column) * n + step * TNP_BAND;
}

static double *entry(double *band, size_t i, size_t j)
{
    return band + j * TNP_BAND_HEIGHT + i - j;
}

static void chase_step(const chase_job *job, size_t column, size_t step)
{
    double w[TNP_BAND] = {0}, next[TNP_BAND];
    size_t row = column + 1 + step * TNP_BAND, length;
    if (step == 0) {
        job->k->reflection(entry(job->band, row, column), next);
    } else {
        const double *before = vector_at(job->a, job->n, column, step - 1, &length);
        memcpy(w, before, length * sizeof *w);
        job->k->chase_below(entry(job->band, row, row - TNP_BAND), w, next);
    }
    double *kept = vector_at(job->a, job->n, column, step, &length);
    memcpy(kept, next, length * sizeof *kept);
    job->k->chase_diagonal(entry(job->band, row, row), next);
}

static void chase_chunk(const chase_job *job, size_t group, size_t chunk)
{
    size_t begin = group * COLUMNS, end = tnp_min(begin + COLUMNS, job->n - 2);
    for (size_t j = begin; j < end; ++j) {
        size_t late = j - begin, from = chunk * CHUNK, to = tnp_min(from + CHUNK, late + steps_of(job->n, j));
        for (size_t u = tnp_max(from, late); u < to; ++u)
            chase_step(job, j, u - late);
    }
}

/* Chunks of a group. */
static size_t chunks_of(size_t n, size_t group)
{
    return (steps_of(n, group * COLUMNS) + COLUMNS - 1 + CHUNK - 1) / CHUNK;
}

/* An interrupted group counts as done: those that wait for it hear of the interrupt themselves. */
static void chase_group(void *arg, size_t i)
{
    const chase_job *job = arg;
    size_t group = job->first + i, chunks = chunks_of(job->n, group);
    for (size_t chunk = 0; chunk < chunks && !tnp_was_cancelled(job->ctx); ++chunk) {
        if (group > 0)
            tnp_await(&job->done[group - 1], tnp_min(chunk + 2, chunks_of(job->n, group - 1)));
        chase_chunk(job, group, chunk);
        atomic_store(&job->done[group], chunk + 1);
    }
    atomic_store(&job->done[group], chunks);
}

tn_status tnp_band_chase(tn_ctx *ctx, size_t n, double *band, double *a, double *diag, double *off)
{
    tn_status st = TN_OK;
    chase_job job = {.k = tnp_simd_get()->bands, .ctx = ctx, .n = n, .band = band, .a = a};
    size_t groups = n > 2 ? (n - 2 + COLUMNS - 1) / COLUMNS : 0;
    TN_TRY(tnp_alloc(ctx, tnp_max(groups, 1), sizeof *job.done, &job.done));
    for (; job.first < groups; job.first += GROUPS) {
        size_t count = tnp_min(GROUPS, groups - job.first), together = chunks_of(n, job.first) / 2 + 1;
        double flops = 12.0 * TNP_BAND * COLUMNS * (double)(n - job.first * COLUMNS) * (double)count;
        TN_TRY(tnp_progress(ctx, "tridiagonal form", job.first, groups));
        tnp_parallel(ctx, tnp_min(together, tnp_threads_for(ctx, flops)), count, chase_group, &job);
    }
    TN_TRY(tnp_cancelled(ctx));
    for (size_t j = 0; j < n; ++j) {
        diag[j] = band[j * TNP_BAND_HEIGHT];
        if (j + 1 < n)
            off[j] = band[j * TNP_BAND_HEIGHT + 1];
    }
done:
    tnp_free(job.done);
    return st;
}

/* ---- Q2 ---- */

typedef struct turn_job {
    tn_ctx *ctx;
    const tnp_band_loops *k;
    size_t n, count, tiles, tasks;
    bool transpose;
    const double *a;
    double *c, *scratch; /* (count, n); (tiles, n, TNP_LANES) */
} turn_job;

/* The vectors of step `step` of the columns of a group, four at a time as reflect_four takes them: (ROWS, 4), the first
 * to be applied first, rows from that of the lowest column on; columns that have no such step are zero. Rows of `a`
 * that lie a power of two apart would drive each other out of the cache while the tiles are turned, hence the copy;
 * those of the step after it are called for. */
typedef struct window {
    double w[COLUMNS / FOUR][ROWS * FOUR], products[COLUMNS / FOUR][FOUR * FOUR];
    size_t row; /* of the first column's vector */
} window;

/* Row by row: six sums side by side, none of which waits for another. */
static void multiply_columns(const double *w, double *products)
{
    double sum[FOUR * FOUR] = {0};
    for (size_t row = 0; row < ROWS; ++row, w += FOUR)
        for (size_t i = 1; i < FOUR; ++i)
            for (size_t j = 0; j < i; ++j)
                sum[i * FOUR + j] += w[i] * w[j];
    memcpy(products, sum, sizeof sum);
}

static void gather_window(const turn_job *job, size_t begin, size_t end, size_t step, size_t after, window *out)
{
    memset(out->w, 0, sizeof out->w);
    out->row = begin + 1 + step * TNP_BAND;
    for (size_t column = begin; column < end && step < steps_of(job->n, column); ++column) {
        const double *row = job->a + (job->n - 1 - column) * job->n, *from = row + step * TNP_BAND;
        size_t at = (column - begin) % FOUR, length = tnp_min(TNP_BAND, job->n - 1 - column - step * TNP_BAND);
        double *to = out->w[(column - begin) / FOUR] + at * FOUR + (job->transpose ? at : FOUR - 1 - at);
        for (size_t i = 0; i < TNP_BAND; i += 8)
            __builtin_prefetch(row + after * TNP_BAND + i);
        for (size_t i = 0; i < length; ++i)
            to[i * FOUR] = from[i];
    }
    for (size_t four = 0; four < COLUMNS / FOUR; ++four)
        multiply_columns(out->w[four], out->products[four]);
}

static void turn_window(const turn_job *job, const window *win, double *tile)
{
    for (size_t i = 0; i < COLUMNS / FOUR; ++i) {
        size_t four = job->transpose ? i : COLUMNS / FOUR - 1 - i, row = win->row + four * FOUR;
        if (row < job->n)
            job->k->reflect_four(tnp_min(ROWS, job->n - row), win->w[four], win->products[four],
                                 tile + row * TNP_LANES);
    }
}

static void turn_group(const turn_job *job, size_t group, size_t first, size_t last)
{
    size_t begin = group * COLUMNS, end = tnp_min(begin + COLUMNS, job->n - 2), steps = steps_of(job->n, begin);
    window win;
    for (size_t i = 0; i < steps; ++i) {
        size_t step = job->transpose ? steps - 1 - i : i, after = job->transpose ? step - (step > 0) : step + 1;
        gather_window(job, begin, end, step, after, &win);
        for (size_t tile = first; tile < last; ++tile)
            turn_window(job, &win, job->scratch + tile * job->n * TNP_LANES);
    }
}

static void turn_tiles(void *arg, size_t task)
{
    const turn_job *job = arg;
    size_t first = task * job->tiles / job->tasks, last = (task + 1) * job->tiles / job->tasks, n = job->n;
    size_t groups = (n - 2 + COLUMNS - 1) / COLUMNS;
    for (size_t r = first * TNP_LANES; r < last * TNP_LANES; ++r)
        for (size_t i = 0; i < n; ++i)
            job->scratch[(r / TNP_LANES * n + i) * TNP_LANES + r % TNP_LANES] = r < job->count ? job->c[r * n + i] : 0;
    for (size_t g = 0; g < groups && !tnp_was_cancelled(job->ctx); ++g)
        turn_group(job, job->transpose ? g : groups - 1 - g, first, last);
    for (size_t r = first * TNP_LANES; r < tnp_min(last * TNP_LANES, job->count); ++r)
        for (size_t i = 0; i < n; ++i)
            job->c[r * n + i] = job->scratch[(r / TNP_LANES * n + i) * TNP_LANES + r % TNP_LANES];
}

tn_status tnp_chase_apply(tn_ctx *ctx, size_t n, const double *a, bool transpose, size_t count, double *c)
{
    tn_status st = TN_OK;
    turn_job job = {.ctx = ctx, .k = tnp_simd_get()->bands, .n = n, .count = count, .transpose = transpose, .a = a};
    job.tiles = (count + TNP_LANES - 1) / TNP_LANES;
    job.c = c;
    if (n < 3 || count == 0)
        return TN_OK;
    size_t threads = tnp_threads_for(ctx, 2.0 * (double)count * (double)n * (double)n);
    job.tasks = tnp_min(job.tiles, (job.tiles + threads * TOGETHER - 1) / (threads * TOGETHER) * threads);
    TN_TRY(tnp_alloc_raw(ctx, job.tiles * n * TNP_LANES, sizeof *job.scratch, &job.scratch));
    tnp_parallel(ctx, threads, job.tasks, turn_tiles, &job);
    TN_TRY(tnp_cancelled(ctx));
done:
    tnp_free(job.scratch);
    return st;
}
