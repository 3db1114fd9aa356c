/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass of rows.h by one thread per group of rows:
 *
 *   for a tile of the group   s = x w' + b    body, chunk by chunk    part += t'x
 *   back = sum of the parts, in their order
 *
 * A product that two threads share takes a tenth of a millisecond here, as long as they need to meet before and after it,
 * and the threads of the BLAS then look for work for milliseconds on the cores that the next loop over rows is to have.
 * So the rows meet once per pass, and every product is made by one thread. Groups depend on the number of rows only: the
 * bits are the same for every number of threads. */
#include "learn/design/tiles.h"
#include "algebra/blas.h"
#include "simd/simd.h"

#include <string.h>

enum { GROUPS = 8, GROUP_ROWS = 256, TILE = 256, MOST_PART = 1 << 18 };

typedef struct tile_job {
    const tnp_tiled_rows *x;
    const tnp_pass *p;
    size_t groups, tile, chunks; /* chunks of all rows; one group's begin where a tile does */
    float *last;                 /* k: intercepts */
    float *s, *t;                /* (groups, tile, k), where the pass has no own */
    float *part;                 /* (groups, k, dim) */
    double *sum;                 /* (groups, k): of t */
    double *partial;             /* (chunks, sum_count) */
    float *scratch;              /* (groups, p->scratch) */
} tile_job;

static size_t group_count(size_t rows)
{
    size_t pairs = (rows + 2 * GROUP_ROWS - 1) / (2 * GROUP_ROWS);
    return tnp_min(GROUPS, 2 * tnp_max(1, pairs));
}

/* Rows of a group: whole chunks, so that a chunk is never of two groups. */
static size_t group_rows(size_t rows, size_t chunk)
{
    size_t each = (rows + group_count(rows) - 1) / group_count(rows);
    return (each + chunk - 1) / chunk * chunk;
}

static size_t chunk_of(const tnp_pass *p)
{
    return p->body ? p->chunk : 1;
}

size_t tnp_tiles_bytes(size_t rows, size_t dim, size_t k, size_t chunk, size_t sum_count)
{
    size_t groups = group_count(rows), tile = tnp_min(TILE, group_rows(rows, chunk));
    return groups * k * (8 * tile + 4 * dim + 12) + 4 * k + 8 * (rows / chunk + 1) * sum_count + 64;
}

bool tnp_tiles_suit(const tn_ctx *ctx, size_t rows, size_t dim, const tnp_pass *p)
{
    bool chunks = !p->body || (p->chunk > 0 && p->chunk <= TILE && p->scratch <= p->k);
    return chunks && p->k * dim <= MOST_PART &&
           tnp_tiles_bytes(rows, dim, p->k, chunk_of(p), p->sum_count) <= tnp_budget_left(ctx) / 4;
}

static void forward(const tile_job *job, const float *x, size_t n, float *s)
{
    const tnp_pass *p = job->p;
    size_t k = p->k, dim = job->x->dim;
    for (size_t i = 0; !p->add && i < n; ++i)
        memcpy(s + i * k, job->last, k * sizeof *s);
    tnp_sgemm_nt_alone(n, k, dim, x, job->x->ld, p->w, dim + 1, 1, s, k);
    for (size_t i = 0; p->add && i < n; ++i)
        tnp_simd_get()->add_scaled(1, job->last, s + i * k, k);
}

static void run_body(const tile_job *job, size_t group, size_t start, size_t n, const float *s, float *t)
{
    const tnp_pass *p = job->p;
    for (size_t from = 0; from < n; from += p->chunk) {
        double *sums = job->partial + (start + from) / p->chunk * p->sum_count;
        memset(sums, 0, p->sum_count * sizeof *sums);
        p->body(p->arg, &(tnp_panel){start + from, tnp_min(p->chunk, n - from), s ? s + from * p->k : NULL,
                                     t + from * p->k, sums, job->scratch + group * p->scratch});
    }
}

static void run_group(void *arg, size_t group)
{
    const tile_job *job = arg;
    const tnp_pass *p = job->p;
    size_t k = p->k, dim = job->x->dim, each = group_rows(job->x->rows, chunk_of(p));
    size_t end = tnp_min(job->x->rows, (group + 1) * each);
    float *part = job->part + group * k * dim;
    for (size_t start = group * each, n; start < end; start += n) {
        n = tnp_min(job->tile, end - start);
        const float *x = job->x->x + start * job->x->ld;
        float *s = p->s ? p->s + start * k : job->s ? job->s + group * job->tile * k : NULL;
        float *own = job->t ? job->t + group * job->tile * k : NULL;
        if (p->w)
            forward(job, x, n, s);
        if (p->body)
            run_body(job, group, start, n, s, own);
        if (p->back) {
            const float *t = p->t ? p->t + start * k : p->body ? own : s;
            for (size_t i = 0; i < n; ++i)
                tnp_simd_get()->add_to_double(t + i * k, job->sum + group * k, k);
            tnp_sgemm_tn_alone(k, dim, n, t, k, x, job->x->ld, start > group * each ? 1 : 0, part, dim);
        }
    }
}

/* Row j of back, in the order of the groups; those without rows have no part. */
static void add_parts(void *arg, size_t j)
{
    const tile_job *job = arg;
    size_t k = job->p->k, dim = job->x->dim, each = group_rows(job->x->rows, chunk_of(job->p));
    float *to = job->p->back + j * (dim + 1);
    double sum = 0;
    memset(to, 0, dim * sizeof *to);
    for (size_t g = 0; g * each < job->x->rows; ++g) {
        tnp_simd_get()->add_scaled(1, job->part + (g * k + j) * dim, to, dim);
        sum += job->sum[g * k + j];
    }
    to[dim] = (float)sum;
}

static tn_status take_memory(tn_ctx *ctx, tile_job *job)
{
    tn_status st = TN_OK;
    const tnp_pass *p = job->p;
    size_t lanes = job->groups * job->tile * p->k;
    if (p->w) {
        TN_TRY(tnp_alloc_raw(ctx, p->k, sizeof *job->last, &job->last));
        for (size_t j = 0; j < p->k; ++j)
            job->last[j] = p->w[j * (job->x->dim + 1) + job->x->dim];
    }
    if (p->w && !p->s)
        TN_TRY(tnp_alloc_raw(ctx, lanes, sizeof *job->s, &job->s));
    if (p->body) {
        TN_TRY(tnp_alloc_raw(ctx, lanes, sizeof *job->t, &job->t));
        TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, job->chunks * p->sum_count), sizeof *job->partial, &job->partial));
        TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, job->groups * p->scratch), sizeof *job->scratch, &job->scratch));
    }
    if (p->back) {
        TN_TRY(tnp_alloc_raw(ctx, job->groups * p->k * job->x->dim, sizeof *job->part, &job->part));
        TN_TRY(tnp_alloc(ctx, job->groups * p->k, sizeof *job->sum, &job->sum));
    }
done:
    return st;
}

tn_status tnp_tiles_pass(tn_ctx *ctx, const tnp_tiled_rows *x, const tnp_pass *p)
{
    tn_status st = TN_OK;
    size_t chunk = chunk_of(p);
    double flops = (double)x->rows * ((double)p->k * (double)x->dim * 2 * ((p->w != 0) + (p->back != 0)) + p->work);
    tile_job job = {.x = x, .p = p, .groups = group_count(x->rows), .chunks = (x->rows + chunk - 1) / chunk};
    job.tile = tnp_min(TILE / chunk * chunk, group_rows(x->rows, chunk));
    TN_TRY(tnp_cancelled(ctx));
    TN_TRY(take_memory(ctx, &job));
    tnp_blas_begin_alone();
    tnp_parallel(ctx, tnp_threads_for(ctx, flops / 8), job.groups, run_group, &job);
    tnp_blas_end_alone();
    for (size_t i = 0; i < p->sum_count; ++i)
        p->sums[i] = 0;
    for (size_t i = 0; p->body && i < job.chunks * p->sum_count; ++i)
        p->sums[i % p->sum_count] += job.partial[i];
    if (p->back)
        tnp_parallel(ctx, tnp_threads_for(ctx, 2.0 * (double)(job.groups * p->k * x->dim)), p->k, add_parts, &job);
done:
    tnp_free_all(job.last, job.s, job.t, job.part, job.sum, job.partial, job.scratch);
    return st;
}
