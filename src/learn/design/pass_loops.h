/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over the host's rows in one precision. design_rows.c includes it once per precision, with REAL, PASS and PANEL
 * (of rows.h), ROWS (the rows of a panel as REAL), GEMM_NT, GEMM_TN, ADD and ADD_WIDE (n numbers to others, and to
 * doubles), and NAME, which tells its names apart. */

#define JOB NAME(job)

typedef struct JOB {
    tn_ctx *ctx;
    const tnp_design *d;
    const PASS *p;
    REAL *rows, *s, *t; /* (panel, dim), unless they are taken as they lie; (panel, k), where the pass has no own */
    REAL *last;         /* k: intercepts */
    double *sum;        /* k */
    size_t chunk;       /* rows of one call of the body */
    double *partial;    /* (chunks, sum_count) */
    REAL *scratch;      /* (chunks, p->scratch) */
    PANEL at;           /* the panel that chunks are taken from */
} JOB;

static void NAME(chunk)(void *arg, size_t c)
{
    const JOB *job = arg;
    const PASS *p = job->p;
    size_t from = c * job->chunk;
    double *sums = p->chunk ? job->partial + c * p->sum_count : p->sums;
    PANEL own = {job->at.start + from,
                 tnp_min(job->chunk, job->at.count - from),
                 job->at.s ? job->at.s + from * p->k : NULL,
                 job->at.t + from * p->k,
                 sums,
                 job->scratch + c * p->scratch};
    for (size_t i = 0; p->chunk && i < p->sum_count; ++i)
        sums[i] = 0;
    p->body(p->arg, &own);
}

static void NAME(body)(JOB *job, size_t start, size_t n, const REAL *s)
{
    const PASS *p = job->p;
    size_t chunks = (n + job->chunk - 1) / job->chunk;
    job->at = (PANEL){.start = start, .count = n, .s = s, .t = job->t};
    if (!p->chunk) { /* sums and threads are the body's own business */
        NAME(chunk)(job, 0);
        return;
    }
    tnp_parallel(job->ctx, tnp_threads_for(job->ctx, p->work * (double)n), chunks, NAME(chunk), job);
    for (size_t i = 0; i < chunks * p->sum_count; ++i)
        p->sums[i % p->sum_count] += job->partial[i];
}

/* s (n, k) = x w' + b, or that added. */
static tn_status NAME(forward)(const JOB *job, const REAL *x, size_t n, REAL *s)
{
    const PASS *p = job->p;
    size_t k = p->k, dim = job->d->dim;
    for (size_t i = 0; !p->add && i < n; ++i)
        memcpy(s + i * k, job->last, k * sizeof *s);
    tn_status st = GEMM_NT(job->ctx, n, k, dim, x, dim, p->w, dim + 1, 1, s, k);
    for (size_t i = 0; p->add && i < n; ++i)
        ADD(job->last, s + i * k, k);
    return st;
}

/* back += t'x; the first panel overwrites. */
static tn_status NAME(backward)(const JOB *job, const REAL *x, size_t n, const REAL *t, bool first)
{
    size_t k = job->p->k, dim = job->d->dim, width = dim + 1;
    REAL *back = job->p->back;
    for (size_t j = 0; j < k; ++j)
        job->sum[j] = first ? 0 : (double)back[j * width + dim];
    for (size_t i = 0; i < n; ++i)
        ADD_WIDE(t + i * k, job->sum, k);
    for (size_t j = 0; j < k; ++j)
        back[j * width + dim] = (REAL)job->sum[j];
    return GEMM_TN(job->ctx, k, dim, n, t, k, x, dim, first ? 0 : 1, back, width);
}

static tn_status NAME(panel)(void *arg, const float *x, size_t start, size_t n)
{
    tn_status st = TN_OK;
    JOB *job = arg;
    const PASS *p = job->p;
    const REAL *rows = x ? ROWS(job, x, n) : NULL;
    REAL *s = p->s ? p->s + start * p->k : job->s;
    if (p->w)
        TN_TRY(NAME(forward)(job, rows, n, s));
    if (p->body)
        NAME(body)(job, start, n, s);
    if (p->back)
        TN_TRY(NAME(backward)(job, rows, n, p->t ? p->t + start * p->k : p->body ? job->t : s, start == 0));
done:
    return st;
}

/* Panels of at most `most` rows by `panel`; row: values of a row that is not taken as it lies. */
static tn_status NAME(run)(tn_ctx *ctx, tnp_design *d, const PASS *p, size_t most, size_t row,
                           tn_status (*panel)(void *arg, const float *x, size_t start, size_t n))
{
    tn_status st = TN_OK;
    JOB job = {.ctx = ctx, .d = d, .p = p, .chunk = p->chunk ? p->chunk : most};
    size_t chunks = (most + job.chunk - 1) / job.chunk;
    if (row && NEEDS_ROWS(p))
        TN_TRY(tnp_alloc_raw(ctx, most * row, sizeof *job.rows, &job.rows));
    if (p->w && !p->s)
        TN_TRY(tnp_alloc_raw(ctx, most * p->k, sizeof *job.s, &job.s));
    if (p->body) {
        TN_TRY(tnp_alloc_raw(ctx, most * p->k, sizeof *job.t, &job.t));
        TN_TRY(tnp_alloc_raw(ctx, p->chunk ? chunks * p->sum_count + 1 : 1, sizeof *job.partial, &job.partial));
        TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, chunks * p->scratch), sizeof *job.scratch, &job.scratch));
    }
    if (p->back)
        TN_TRY(tnp_alloc_raw(ctx, p->k, sizeof *job.sum, &job.sum));
    if (p->w) {
        TN_TRY(tnp_alloc_raw(ctx, p->k, sizeof *job.last, &job.last));
        for (size_t j = 0; j < p->k; ++j)
            job.last[j] = p->w[j * (d->dim + 1) + d->dim];
    }
    for (size_t i = 0; i < p->sum_count; ++i)
        p->sums[i] = 0;
    TN_TRY(walk(ctx, d, NEEDS_ROWS(p), most, panel, &job));
done:
    tnp_free_all(job.rows, job.s, job.t, job.last, job.sum, job.partial, job.scratch);
    return st;
}

#undef REAL
#undef PASS
#undef PANEL
#undef ROWS
#undef NEEDS_ROWS
#undef GEMM_NT
#undef GEMM_TN
#undef ADD
#undef ADD_WIDE
#undef JOB
#undef NAME
