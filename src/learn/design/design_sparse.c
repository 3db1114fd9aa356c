/* SPDX-License-Identifier: BSD-3-Clause
 *
 * G = X X' for rows of D groups of r columns, most groups zero. Rows are packed by group, zeros left out:
 *
 *   piece (a block of rows): for every group j the rows that have it, and their r values side by side
 *
 * and G is made tile by tile, rows of a band of pieces by 64 rows of a block: for every group j the packed rows take
 * part, with the 64 transposed, b (r, 64): an outer product of rank r, kernel outer_add. Zeros are left out on one side
 * only; leaving them out on both would need the sums to be scattered one by one, which costs what it saves. With 3 of 4
 * groups of 23 zero this is a quarter of the products at 0.6 of the speed of the BLAS.
 *
 * Every sum runs over the groups in their order: the same bits for every number of threads. Oracle:
 * tests/unit/test_design.c. */
#include "learn/design/design_sparse.h"
#include "simd/simd.h"

#include <string.h>

enum {
    LEAST_GROUP = 4,        /* or a tile is loaded and stored for too few products */
    BAND_BYTES = 512 << 20, /* of pieces */
    HEIGHT = 512,           /* rows of a tile at most: 128 KB, which stay in the level-two cache */
    CHUNK = 16,             /* groups transposed at once */
    SLOTS = 16              /* tiles at work at once, at most */
};

typedef struct piece {
    size_t start, rows;
    size_t *first; /* D + 1: where the rows of a group begin */
    uint16_t *place;
    float *value; /* (first[D], r) */
} piece;

typedef struct sparse_job {
    tn_ctx *ctx;
    tnp_design *x;
    size_t group, groups; /* r, D */
    float *gram;
    /* packing */
    const float *rows; /* a block, (count, dim) */
    size_t count;
    piece *pieces; /* of the band */
    size_t piece_count, piece_most, bytes;
    /* tiles: panel p of the block by pieces [begin, end) of a run */
    size_t start; /* row of the block's first */
    size_t *run;  /* runs + 1: first piece of each */
    size_t runs, panels, next;
    float *scratch; /* (SLOTS, HEIGHT * TNP_PANEL + CHUNK * r * TNP_PANEL) */
} sparse_job;

size_t tnp_design_group(const tnp_design *d)
{
    const tn_map *map = tn_feed_map(d->feeds[0]);
    size_t group = map ? tn_map_made_of(map)->rank : 1;
    for (size_t f = 1; f < d->feed_count && group > 1; ++f) {
        map = tn_feed_map(d->feeds[f]);
        group = map && tn_map_made_of(map)->rank == group ? group : 1;
    }
    return group >= LEAST_GROUP ? group : 1;
}

static bool is_zero(const float *x, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (x[i] != 0)
            return false;
    return true;
}

static size_t scratch_values(size_t group)
{
    return (size_t)SLOTS * (HEIGHT + CHUNK * group) * TNP_PANEL;
}

tn_status tnp_design_is_sparse(tn_ctx *ctx, tnp_design *d, size_t group, bool *out)
{
    const float *x = NULL;
    size_t start, count, zeros = 0, groups = d->dim / group, left = tnp_budget_left(ctx);
    tn_status st = tnp_design_block(ctx, d, 0, &x, &start, &count);
    for (size_t e = 0; st == TN_OK && e < count * groups; ++e)
        zeros += is_zero(x + e * group, group);
    size_t need = 4 * (scratch_values(group) + d->block * d->dim) + 16 * d->rows;
    /* What a product takes here against one of the BLAS, measured: loads and stores of the tile weigh more in small
     * groups. */
    double slower = 1.4 + 8 / (double)group, part = 1 - (double)zeros / (double)(count * groups);
    *out = part * slower < 1 && need <= left;
    return st;
}

/* ---- packing ---- */

/* Groups [j * CHUNK, ...): how many rows have them. */
static void count_chunk(void *arg, size_t chunk)
{
    sparse_job *job = arg;
    const piece *p = &job->pieces[job->piece_count];
    size_t r = job->group, end = tnp_min((chunk + 1) * CHUNK, job->groups);
    for (size_t i = 0; i < job->count; ++i)
        for (size_t j = chunk * CHUNK; j < end; ++j)
            p->first[j + 1] += !is_zero(job->rows + (i * job->groups + j) * r, r);
}

static void fill_chunk(void *arg, size_t chunk)
{
    sparse_job *job = arg;
    const piece *p = &job->pieces[job->piece_count];
    size_t r = job->group, begin = chunk * CHUNK, end = tnp_min(begin + CHUNK, job->groups), at[CHUNK];
    for (size_t j = begin; j < end; ++j)
        at[j - begin] = p->first[j];
    for (size_t i = 0; i < job->count; ++i)
        for (size_t j = begin; j < end; ++j) {
            const float *from = job->rows + (i * job->groups + j) * r;
            if (is_zero(from, r))
                continue;
            p->place[at[j - begin]] = (uint16_t)i;
            memcpy(p->value + at[j - begin]++ * r, from, r * sizeof *from);
        }
}

/* Adds rows [start, start + count), which lie in job->rows, to the band. */
static tn_status pack(sparse_job *job, size_t start)
{
    tn_status st = TN_OK;
    tn_ctx *ctx = job->ctx;
    piece *p = &job->pieces[job->piece_count];
    size_t chunks = (job->groups + CHUNK - 1) / CHUNK, values;
    size_t threads = tnp_threads_for(ctx, (double)job->count * (double)job->x->dim);
    *p = (piece){.start = start, .rows = job->count};
    TN_TRY(tnp_alloc(ctx, job->groups + 1, sizeof *p->first, &p->first));
    tnp_parallel(ctx, threads, chunks, count_chunk, job);
    for (size_t j = 0; j < job->groups; ++j)
        p->first[j + 1] += p->first[j];
    values = p->first[job->groups];
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *p->place, &p->place));
    TN_TRY(tnp_alloc_raw(ctx, values * job->group, sizeof *p->value, &p->value));
    tnp_parallel(ctx, threads, chunks, fill_chunk, job);
    job->bytes += values * (job->group * sizeof(float) + sizeof(uint16_t));
    ++job->piece_count;
    return TN_OK;
done:
    tnp_free_all(p->first, p->place);
    return st;
}

static void drop_band(sparse_job *job)
{
    for (size_t i = 0; i < job->piece_count; ++i)
        tnp_free_all(job->pieces[i].first, job->pieces[i].place, job->pieces[i].value);
    job->piece_count = job->bytes = 0;
}

/* ---- tiles ---- */

/* Groups [begin, end) of 64 rows, or fewer, transposed: b (end - begin, r, TNP_PANEL). */
static void transpose(const sparse_job *job, size_t row, size_t begin, size_t end, float *b)
{
    size_t r = job->group, n = tnp_min(TNP_PANEL, job->count - row), width = (end - begin) * r;
    if (n < TNP_PANEL)
        memset(b, 0, width * TNP_PANEL * sizeof *b);
    for (size_t l = 0; l < n; ++l) {
        const float *from = job->rows + ((row + l) * job->groups + begin) * r;
        for (size_t m = 0; m < width; ++m)
            b[m * TNP_PANEL + l] = from[m];
    }
}

/* Tile of the task next + slot: panel by run. */
static void make_tile(void *arg, size_t slot)
{
    sparse_job *job = arg;
    const tnp_simd *k = tnp_simd_get();
    size_t task = job->next + slot, row = task % job->panels * TNP_PANEL, r = job->group, n = job->x->rows;
    const piece *begin = job->pieces + job->run[task / job->panels],
                *end = job->pieces + job->run[task / job->panels + 1];
    size_t column = job->start + row, width = tnp_min(TNP_PANEL, job->count - row);
    float *tile = job->scratch + slot * (HEIGHT + CHUNK * r) * TNP_PANEL, *b = tile + HEIGHT * TNP_PANEL;
    if (begin->start >= column + width)
        return; /* below the diagonal */
    memset(tile, 0, (end[-1].start + end[-1].rows - begin->start) * TNP_PANEL * sizeof *tile);
    for (size_t j = 0; j < job->groups; j += CHUNK) {
        size_t last = tnp_min(j + CHUNK, job->groups);
        transpose(job, row, j, last, b);
        for (const piece *p = begin; p < end; ++p)
            for (size_t g = j; g < last; ++g)
                k->outer_add(p->value + p->first[g] * r, p->place + p->first[g], p->first[g + 1] - p->first[g], r,
                             b + (g - j) * r * TNP_PANEL, tile + (p->start - begin->start) * TNP_PANEL);
    }
    for (const piece *p = begin; p < end; ++p)
        for (size_t i = 0; i < p->rows; ++i)
            memcpy(job->gram + (p->start + i) * n + column, tile + (p->start - begin->start + i) * TNP_PANEL,
                   width * sizeof *tile);
}

/* All tiles of the band and the block at hand. */
static tn_status make_tiles(sparse_job *job)
{
    size_t tasks;
    double flops = (double)job->bytes * TNP_PANEL; /* of all tasks; only whether it is little matters */
    job->panels = (job->count + TNP_PANEL - 1) / TNP_PANEL;
    tasks = job->panels * job->runs;
    for (job->next = 0; job->next < tasks; job->next += SLOTS) {
        tn_status st = tnp_cancelled(job->ctx);
        if (st != TN_OK)
            return st;
        tnp_parallel(job->ctx, tnp_threads_for(job->ctx, flops), tnp_min(SLOTS, tasks - job->next), make_tile, job);
    }
    return TN_OK;
}

/* Pieces that make one tile together: neighbours of at most HEIGHT rows. */
static void find_runs(sparse_job *job)
{
    job->runs = 0;
    for (size_t i = 0; i < job->piece_count; ++i) {
        const piece *p = &job->pieces[i];
        if (i == 0 || p->start + p->rows - job->pieces[job->run[job->runs - 1]].start > HEIGHT)
            job->run[job->runs++] = i;
    }
    job->run[job->runs] = job->piece_count;
}

/* ---- the whole ---- */

/* Reads pieces from row `start` on until the band is full; *end is the row behind it. */
static tn_status fill_band(sparse_job *job, size_t start, size_t *end)
{
    tnp_design *x = job->x;
    size_t most = tnp_min(BAND_BYTES, tnp_budget_left(job->ctx)), at = start;
    do {
        const float *rows = NULL;
        size_t first, count;
        tn_status st = tnp_design_block(job->ctx, x, at / x->block, &rows, &first, &count);
        for (size_t i = at - first; st == TN_OK && i < count;
             i += job->count) { /* a block of many rows is many pieces */
            job->rows = rows + i * x->dim;
            job->count = tnp_min(HEIGHT, count - i);
            st = pack(job, first + i);
        }
        if (st != TN_OK)
            return st;
        at = first + count;
    } while (at < x->rows && job->bytes + x->block * x->dim * sizeof(float) <= most);
    *end = at;
    return TN_OK;
}

tn_status tnp_design_gram_sparse(tn_ctx *ctx, tnp_design *x, size_t group, float *gram)
{
    tn_status st = TN_OK;
    sparse_job job = {.ctx = ctx, .x = x, .group = group, .groups = x->dim / group, .gram = gram};
    size_t most = x->blocks * (x->block / HEIGHT + 1);
    TN_TRY(tnp_alloc(ctx, most, sizeof *job.pieces, &job.pieces));
    TN_TRY(tnp_alloc(ctx, most + 1, sizeof *job.run, &job.run));
    TN_TRY(tnp_alloc_raw(ctx, scratch_values(group), sizeof(float), &job.scratch));
    for (size_t start = 0, end; start < x->rows; start = end) {
        TN_TRY(fill_band(&job, start, &end));
        find_runs(&job);
        for (size_t b = start / x->block; b < x->blocks; ++b) {
            TN_TRY(tnp_progress(ctx, "products of rows", start, x->rows));
            TN_TRY(tnp_design_block(ctx, x, b, &job.rows, &job.start, &job.count));
            TN_TRY(make_tiles(&job));
        }
        drop_band(&job);
    }
    TN_TRY(tnp_progress(ctx, "products of rows", x->rows, x->rows));
done:
    drop_band(&job);
    tnp_free_all(job.pieces, job.run, job.scratch);
    return st;
}
