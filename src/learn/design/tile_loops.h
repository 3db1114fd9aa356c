/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass by groups of rows in one precision. tiles.c includes it once per precision, with REAL, PASS and PANEL (of
 * rows.h), WIDENED (whether a tile's rows are copied) and ROWS (the tile's rows as REAL), DONE (what the job has found
 * beside the sums), GEMM_NT, GEMM_TN, ADD and ADD_WIDE (n numbers to others, and to doubles), and NAME, which tells its
 * names apart. */

#define JOB NAME(job)

typedef struct JOB {
    const tnp_tiled_rows *x;
    const PASS *p;
    size_t groups, tile; /* rows of a tile: whole chunks */
    size_t lanes;        /* threads; each takes the next group that none has */
    atomic_size_t next;  /* group */
    REAL *rows;          /* (lanes, tile, dim), where they are copied */
    REAL *last;          /* k: intercepts */
    REAL *s, *t;         /* (lanes, tile, k), where the pass has no own */
    REAL *part;          /* (groups, k, dim) */
    double *sum;         /* (groups, k): of t */
    double *sums;        /* (groups, sum_count): what the bodies add */
    REAL *scratch;       /* (lanes, p->scratch) */
    double longest[GROUPS];
} JOB;

static size_t NAME(chunk_of)(const PASS *p)
{
    return p->body ? p->chunk : 1;
}

/* Whole chunks, or none where a chunk is too long. */
static size_t NAME(tile_of)(size_t rows, size_t dim, size_t chunk)
{
    return tnp_min(tile_rows(dim, WIDENED) / chunk * chunk, group_rows(rows, chunk));
}

/* At most: with a lane for every group. */
static size_t NAME(bytes)(size_t rows, size_t dim, size_t k, size_t chunk, size_t scratch, size_t sum_count)
{
    size_t groups = group_count(rows), tile = NAME(tile_of)(rows, dim, chunk);
    return sizeof(REAL) * (groups * (tile * (2 * k + (WIDENED ? dim : 0)) + k * dim + scratch) + k) +
           sizeof(double) * groups * (k + sum_count) + 64;
}

static bool NAME(suit)(const tn_ctx *ctx, size_t rows, size_t dim, const PASS *p)
{
    bool chunks = !p->body || (p->chunk > 0 && p->chunk <= tile_rows(dim, WIDENED));
    return chunks && p->k * dim <= MOST_PART &&
           NAME(bytes)(rows, dim, p->k, NAME(chunk_of)(p), p->scratch, p->sum_count) <= tnp_budget_left(ctx) / 4;
}

static void NAME(forward)(const JOB *job, const REAL *x, size_t ld, size_t n, REAL *s)
{
    const PASS *p = job->p;
    size_t k = p->k, dim = job->x->dim;
    for (size_t i = 0; !p->add && i < n; ++i)
        memcpy(s + i * k, job->last, k * sizeof *s);
    GEMM_NT(n, k, dim, x, ld, p->w, dim + 1, true, s, k);
    for (size_t i = 0; p->add && i < n; ++i)
        ADD(job->last, s + i * k, k);
}

static void NAME(run_body)(const JOB *job, size_t lane, size_t start, size_t n, const REAL *s, REAL *t, double *sums)
{
    const PASS *p = job->p;
    for (size_t from = 0; from < n; from += p->chunk)
        p->body(p->arg, &(PANEL){start + from, tnp_min(p->chunk, n - from), s ? s + from * p->k : NULL, t + from * p->k,
                                 sums, job->scratch + lane * p->scratch});
}

static void NAME(run_group)(JOB *job, size_t lane, size_t group)
{
    const PASS *p = job->p;
    size_t k = p->k, dim = job->x->dim, ld = WIDENED ? dim : job->x->ld;
    size_t each = group_rows(job->x->rows, NAME(chunk_of)(p)), end = tnp_min(job->x->rows, (group + 1) * each);
    REAL *part = job->part + group * k * dim;
    for (size_t start = group * each, n; start < end; start += n) {
        n = tnp_min(job->tile, end - start);
        const REAL *x = ROWS(job, lane, group, job->x->x + start * job->x->ld, n);
        REAL *s = p->s ? p->s + start * k : job->s ? job->s + lane * job->tile * k : NULL;
        REAL *own = job->t ? job->t + lane * job->tile * k : NULL;
        if (p->w)
            NAME(forward)(job, x, ld, n, s);
        if (p->body)
            NAME(run_body)(job, lane, start, n, s, own, job->sums + group * p->sum_count);
        if (p->back) {
            const REAL *t = p->t ? p->t + start * k : p->body ? own : s;
            for (size_t i = 0; i < n; ++i)
                ADD_WIDE(t + i * k, job->sum + group * k, k);
            GEMM_TN(k, dim, n, t, k, x, ld, start > group * each, part, dim);
        }
    }
}

static void NAME(run_lane)(void *arg, size_t lane)
{
    JOB *job = arg;
    for (size_t group; (group = atomic_fetch_add(&job->next, 1)) < job->groups;)
        NAME(run_group)(job, lane, group);
}

/* Row j of back, in the order of the groups; those without rows have no part. */
static void NAME(add_parts)(void *arg, size_t j)
{
    const JOB *job = arg;
    size_t k = job->p->k, dim = job->x->dim, each = group_rows(job->x->rows, NAME(chunk_of)(job->p));
    REAL *to = job->p->back + j * (dim + 1);
    double sum = 0;
    memset(to, 0, dim * sizeof *to);
    for (size_t g = 0; g * each < job->x->rows; ++g) {
        ADD(job->part + (g * k + j) * dim, to, dim);
        sum += job->sum[g * k + j];
    }
    to[dim] = (REAL)sum;
}

static tn_status NAME(take_memory)(tn_ctx *ctx, JOB *job)
{
    tn_status st = TN_OK;
    const PASS *p = job->p;
    size_t numbers = job->lanes * job->tile * p->k;
    if (WIDENED)
        TN_TRY(tnp_alloc_raw(ctx, job->lanes * job->tile * job->x->dim, sizeof *job->rows, &job->rows));
    if (p->w) {
        TN_TRY(tnp_alloc_raw(ctx, p->k, sizeof *job->last, &job->last));
        for (size_t j = 0; j < p->k; ++j)
            job->last[j] = p->w[j * (job->x->dim + 1) + job->x->dim];
    }
    if (p->w && !p->s)
        TN_TRY(tnp_alloc_raw(ctx, numbers, sizeof *job->s, &job->s));
    if (p->body) {
        TN_TRY(tnp_alloc_raw(ctx, numbers, sizeof *job->t, &job->t));
        TN_TRY(tnp_alloc(ctx, tnp_max(1, job->groups * p->sum_count), sizeof *job->sums, &job->sums));
        TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, job->lanes * p->scratch), sizeof *job->scratch, &job->scratch));
    }
    if (p->back) {
        TN_TRY(tnp_alloc_raw(ctx, job->groups * p->k * job->x->dim, sizeof *job->part, &job->part));
        TN_TRY(tnp_alloc(ctx, job->groups * p->k, sizeof *job->sum, &job->sum));
    }
done:
    return st;
}

static tn_status NAME(pass)(tn_ctx *ctx, const tnp_tiled_rows *x, const PASS *p)
{
    tn_status st = TN_OK;
    size_t chunk = NAME(chunk_of)(p);
    double flops = (double)x->rows * ((double)p->k * (double)x->dim * 2 * ((p->w != 0) + (p->back != 0)) + p->work);
    JOB job = {.x = x, .p = p, .groups = group_count(x->rows)};
    job.tile = NAME(tile_of)(x->rows, x->dim, chunk);
    job.lanes = tnp_min(job.groups, tnp_threads_for(ctx, flops / 8));
    TN_TRY(tnp_cancelled(ctx));
    TN_TRY(NAME(take_memory)(ctx, &job));
    tnp_blas_begin_alone();
    tnp_parallel(ctx, job.lanes, job.lanes, NAME(run_lane), &job);
    tnp_blas_end_alone();
    for (size_t i = 0; i < p->sum_count; ++i)
        p->sums[i] = 0;
    for (size_t g = 0; p->body && g < job.groups; ++g)
        tnp_add_wide(job.sums + g * p->sum_count, p->sums, p->sum_count);
    if (p->back)
        tnp_parallel(ctx, tnp_threads_for(ctx, 2.0 * (double)(job.groups * p->k * x->dim)), p->k, NAME(add_parts),
                     &job);
    DONE(&job);
done:
    tnp_free_all(job.rows, job.last, job.s, job.t, job.part, job.sum, job.sums, job.scratch);
    return st;
}

#undef REAL
#undef PASS
#undef PANEL
#undef WIDENED
#undef ROWS
#undef DONE
#undef GEMM_NT
#undef GEMM_TN
#undef ADD
#undef ADD_WIDE
#undef JOB
#undef NAME
