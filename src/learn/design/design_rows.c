/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's rows: a design, block by block in their order, so that every sum has one order of its terms.
 *
 * Float: a panel is a block, or as many of its rows as the body takes; products lie in the learner's arrays where it keeps them.
 * Double: a panel is small enough to stay in the cache while it is widened and multiplied forth and back: rows are fetched once
 * per pass, and no more than a panel of them is ever there in double. One column is multiplied without being widened. */
#include "learn/design/rows.h"
#include "algebra/blas.h"
#include "learn/design/design.h"
#include "learn/design/gather.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { PANEL_BYTES = 2 << 20, LEAST = 8, MOST = 256, CHUNK = 64, PIECE = 512 };

static size_t panel_rows(size_t dim)
{
    return tnp_min(MOST, tnp_max(LEAST, PANEL_BYTES / (sizeof(double) * dim)));
}

size_t tnp_pass_bytes(size_t rows, size_t dim, size_t k)
{
    return 8 * (tnp_design_block_rows(rows, dim) + 1) * k;
}

size_t tnp_wide_pass_bytes(size_t dim, size_t k)
{
    return sizeof(double) * (panel_rows(dim) * (dim + 2 * k) + k + MOST);
}

size_t tnp_rows_gram_bytes(size_t dim)
{
    return sizeof(double) * MOST * (dim + 1);
}

double tnp_dot(const float *a, const float *b, size_t n)
{
    double part[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t l = 0; l < 8; ++l)
            part[l] += (double)a[i + l] * (double)b[i + l];
    for (; i < n; ++i)
        part[0] += (double)a[i] * (double)b[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

double tnp_square(const double *a, size_t n)
{
    double part[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t l = 0; l < 8; ++l)
            part[l] += a[i + l] * a[i + l];
    for (; i < n; ++i)
        part[0] += a[i] * a[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* ---- passes in float ---- */

typedef struct float_job {
    tn_ctx *ctx;
    const tnp_design *d;
    const tnp_pass *p;
    float *s, *t; /* (panel, k), where the pass has no array of its own */
    double *sum;  /* k */
} float_job;

/* s (n, k) = x w' + b, or that added. */
static tn_status forward(const float_job *job, const float *x, size_t n, float *s)
{
    const tnp_pass *p = job->p;
    size_t k = p->k, dim = job->d->dim, width = dim + 1;
    for (size_t i = 0; !p->add && i < n; ++i)
        for (size_t j = 0; j < k; ++j)
            s[i * k + j] = p->w[j * width + dim];
    tn_status st = tnp_sgemm_nt(job->ctx, n, k, dim, x, dim, p->w, width, 1, s, k);
    for (size_t i = 0; p->add && i < n; ++i)
        for (size_t j = 0; j < k; ++j)
            s[i * k + j] += p->w[j * width + dim];
    return st;
}

/* back += t'x; the first panel overwrites. */
static tn_status backward(const float_job *job, const float *x, size_t n, const float *t, bool first)
{
    size_t k = job->p->k, dim = job->d->dim, width = dim + 1;
    float *back = job->p->back;
    for (size_t j = 0; j < k; ++j)
        job->sum[j] = first ? 0 : (double)back[j * width + dim];
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < k; ++j)
            job->sum[j] += (double)t[i * k + j];
    for (size_t j = 0; j < k; ++j)
        back[j * width + dim] = (float)job->sum[j];
    return tnp_sgemm_tn(job->ctx, k, dim, n, t, k, x, dim, first ? 0 : 1, back, width);
}

static tn_status float_panel(const float_job *job, const float *x, size_t start, size_t n)
{
    tn_status st = TN_OK;
    const tnp_pass *p = job->p;
    float *s = p->s ? p->s + start * p->k : job->s;
    const float *t = p->t ? p->t + start * p->k : p->body ? job->t : s;
    if (p->w)
        TN_TRY(forward(job, x, n, s));
    if (p->body)
        p->body(p->arg, start, n, s, job->t, p->sums);
    if (p->back)
        TN_TRY(backward(job, x, n, t, start == 0));
done:
    return st;
}

static tn_status pass(tn_ctx *ctx, void *self, const tnp_pass *p)
{
    tn_status st = TN_OK;
    tnp_design *d = self;
    float_job job = {.ctx = ctx, .d = d, .p = p};
    size_t most = p->most ? tnp_min(p->most, d->block) : d->block;
    if (p->w && !p->s)
        TN_TRY(tnp_alloc_raw(ctx, most * p->k, sizeof *job.s, &job.s));
    if (p->body)
        TN_TRY(tnp_alloc_raw(ctx, most * p->k, sizeof *job.t, &job.t));
    if (p->back)
        TN_TRY(tnp_alloc_raw(ctx, p->k, sizeof *job.sum, &job.sum));
    for (size_t i = 0; i < p->sum_count; ++i)
        p->sums[i] = 0;
    for (size_t b = 0; b < d->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        TN_TRY(tnp_design_block(ctx, d, b, &x, &start, &count));
        for (size_t at = 0; at < count; at += most)
            TN_TRY(float_panel(&job, x + at * d->dim, start + at, tnp_min(most, count - at)));
    }
done:
    tnp_free(job.s);
    tnp_free(job.t);
    tnp_free(job.sum);
    return st;
}

/* ---- passes in double ---- */

typedef struct wide_job {
    tn_ctx *ctx;
    const tnp_design *d;
    const tnp_wide_pass *p;
    double *rows, *s, *t, *sum, *square; /* (panel, dim), (panel, k), (panel, k), k, panel */
    /* the panel at hand */
    const float *x;
    size_t n;
    double *to;
    const double *from;
} wide_job;

static void widen_row(void *arg, size_t i)
{
    const wide_job *job = arg;
    size_t dim = job->d->dim;
    for (size_t j = i * dim; job->rows && j < (i + 1) * dim; ++j)
        job->rows[j] = (double)job->x[j];
    if (job->square)
        job->square[i] = tnp_dot(job->x + i * dim, job->x + i * dim, dim);
}

static double mixed_dot(const float *x, const double *a, size_t n)
{
    double part[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t l = 0; l < 8; ++l)
            part[l] += (double)x[i + l] * a[i + l];
    for (; i < n; ++i)
        part[0] += (double)x[i] * a[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* One column: rows of a chunk forward, columns of a piece backward. */
static void forward_chunk(void *arg, size_t chunk)
{
    const wide_job *job = arg;
    size_t dim = job->d->dim;
    for (size_t i = chunk * CHUNK; i < tnp_min(job->n, (chunk + 1) * CHUNK); ++i)
        job->to[i] = mixed_dot(job->x + i * dim, job->p->w, dim) + job->p->w[dim];
}

static void backward_piece(void *arg, size_t piece)
{
    const wide_job *job = arg;
    size_t dim = job->d->dim, from = piece * PIECE, n = tnp_min(PIECE, dim - from);
    for (size_t i = 0; i < job->n; ++i) {
        const float *x = job->x + i * dim + from;
        double t = job->from[i], *out = job->p->back + from;
        for (size_t j = 0; t != 0 && j < n; ++j)
            out[j] += t * (double)x[j];
    }
}

static tn_status forward_wide(wide_job *job)
{
    const tnp_wide_pass *p = job->p;
    size_t k = p->k, dim = job->d->dim, width = dim + 1, n = job->n;
    if (k == 1) {
        tnp_parallel(job->ctx, tnp_threads_for(job->ctx, 2.0 * (double)n * (double)dim), (n + CHUNK - 1) / CHUNK,
                     forward_chunk, job);
        return TN_OK;
    }
    for (size_t i = 0; i < n * k; ++i)
        job->to[i] = p->w[i % k * width + dim];
    return tnp_dgemm_nt(job->ctx, n, k, dim, job->rows, dim, p->w, width, 1, job->to, k);
}

static tn_status backward_wide(wide_job *job)
{
    const tnp_wide_pass *p = job->p;
    size_t k = p->k, dim = job->d->dim, width = dim + 1, n = job->n;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < k; ++j)
            job->sum[j] += job->from[i * k + j];
    if (k == 1) {
        tnp_parallel(job->ctx, tnp_threads_for(job->ctx, 2.0 * (double)n * (double)dim), (dim + PIECE - 1) / PIECE,
                     backward_piece, job);
        return TN_OK;
    }
    return tnp_dgemm_tn(job->ctx, k, dim, n, job->from, k, job->rows, dim, 1, p->back, width);
}

static tn_status wide_panel(wide_job *job, const float *x, size_t start, size_t n)
{
    tn_status st = TN_OK;
    const tnp_wide_pass *p = job->p;
    job->x = x;
    job->n = n;
    job->to = p->s ? p->s + start * p->k : job->s;
    job->from = p->t ? p->t + start * p->k : p->body ? job->t : job->to;
    if (job->rows || job->square)
        tnp_parallel(job->ctx, tnp_threads_for(job->ctx, (double)n * (double)job->d->dim), n, widen_row, job);
    for (size_t i = 0; job->square && i < n; ++i)
        *p->longest = fmax(*p->longest, job->square[i]);
    if (p->w)
        TN_TRY(forward_wide(job));
    if (p->body)
        p->body(p->arg, start, n, job->to, job->t, p->sums);
    if (p->back)
        TN_TRY(backward_wide(job));
done:
    return st;
}

static tn_status wide_alloc(wide_job *job, size_t panel)
{
    tn_status st = TN_OK;
    const tnp_wide_pass *p = job->p;
    if (p->k > 1 && (p->w || p->back))
        TN_TRY(tnp_alloc_raw(job->ctx, panel * job->d->dim, sizeof *job->rows, &job->rows));
    if (p->w && !p->s)
        TN_TRY(tnp_alloc_raw(job->ctx, panel * p->k, sizeof *job->s, &job->s));
    if (p->body)
        TN_TRY(tnp_alloc_raw(job->ctx, panel * p->k, sizeof *job->t, &job->t));
    if (p->back)
        TN_TRY(tnp_alloc(job->ctx, p->k, sizeof *job->sum, &job->sum));
    if (p->longest)
        TN_TRY(tnp_alloc_raw(job->ctx, panel, sizeof *job->square, &job->square));
done:
    return st;
}

static tn_status wide_pass(tn_ctx *ctx, void *self, const tnp_wide_pass *p)
{
    tn_status st = TN_OK;
    tnp_design *d = self;
    wide_job job = {.ctx = ctx, .d = d, .p = p};
    size_t panel = p->k > 1 || p->longest ? panel_rows(d->dim) : d->block;
    panel = tnp_min(d->block, p->most ? tnp_min(p->most, panel) : panel);
    TN_TRY(wide_alloc(&job, panel));
    for (size_t i = 0; i < p->sum_count; ++i)
        p->sums[i] = 0;
    for (size_t i = 0; p->back && i < p->k * (d->dim + 1); ++i)
        p->back[i] = 0;
    if (p->longest)
        *p->longest = 0;
    for (size_t b = 0; b < d->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        TN_TRY(tnp_design_block(ctx, d, b, &x, &start, &count));
        for (size_t at = 0; at < count; at += panel)
            TN_TRY(wide_panel(&job, x + at * d->dim, start + at, tnp_min(panel, count - at)));
    }
    for (size_t j = 0; p->back && j < p->k; ++j)
        p->back[j * (d->dim + 1) + d->dim] = job.sum[j];
done:
    tnp_free(job.rows);
    tnp_free(job.sum);
    tnp_free(job.s);
    tnp_free(job.t);
    tnp_free(job.square);
    return st;
}

/* ---- the others ---- */

/* The rows of a model are copied together, so that each is multiplied with its own weights only. */
static tn_status scores_by(tn_ctx *ctx, void *self, const uint32_t *model, size_t models, size_t k, const float *w,
                           float *s)
{
    tn_status st = TN_OK;
    tnp_design *d = self;
    float *rows = NULL, *part = NULL;
    size_t *places = NULL, dim = d->dim, width = dim + 1;
    TN_TRY(tnp_alloc_raw(ctx, d->block * dim, sizeof *rows, &rows));
    TN_TRY(tnp_alloc_raw(ctx, d->block * k, sizeof *part, &part));
    TN_TRY(tnp_alloc(ctx, d->block, sizeof *places, &places));
    for (size_t b = 0; b < d->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        TN_TRY(tnp_design_block(ctx, d, b, &x, &start, &count));
        for (size_t m = 0; m < models; ++m) {
            const float *own = w + m * k * width;
            size_t n = 0;
            for (size_t i = 0; i < count; ++i)
                if (model[start + i] == m) {
                    memcpy(rows + n * dim, x + i * dim, dim * sizeof *rows);
                    for (size_t c = 0; c < k; ++c)
                        part[n * k + c] = own[c * width + dim];
                    places[n++] = start + i;
                }
            TN_TRY(tnp_sgemm_nt(ctx, n, k, dim, rows, dim, own, width, 1, part, k));
            for (size_t i = 0; i < n; ++i)
                memcpy(s + places[i] * k, part + i * k, k * sizeof *s);
        }
    }
done:
    tnp_free(rows);
    tnp_free(part);
    tnp_free(places);
    return st;
}

/* Adds n rows of `width`, which are weighed already. */
static tn_status add_products(tn_ctx *ctx, const tnp_gram *g, const double *rows, size_t n, size_t width, double *a)
{
    if (!g->diagonal)
        return tnp_dsyrk_cols(ctx, n, width, rows, width, 1, a);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < width; ++j)
            a[j] += rows[i * width + j] * rows[i * width + j];
    return TN_OK;
}

static tn_status gram(tn_ctx *ctx, void *self, const tnp_gram *g, double *a)
{
    tn_status st = TN_OK;
    tnp_design *d = self;
    double *rows = NULL;
    size_t dim = d->dim, width = dim + g->constant;
    memset(a, 0, (g->diagonal ? 1 : width) * width * sizeof *a);
    TN_TRY(tnp_alloc_raw(ctx, MOST * width, sizeof *rows, &rows));
    for (size_t b = 0; b < d->blocks; ++b) {
        const float *x = NULL;
        size_t start, count, n = 0;
        TN_TRY(tnp_design_block(ctx, d, b, &x, &start, &count));
        for (size_t i = 0; i < count; ++i) {
            double root = g->h ? sqrt(g->h[start + i]) : 1, *row = rows + n * width;
            for (size_t j = 0; root > 0 && j < dim; ++j)
                row[j] = root * ((double)x[i * dim + j] - (g->mean ? g->mean[j] : 0));
            if (g->constant)
                row[dim] = root;
            n += root > 0;
            if (n == MOST || (i + 1 == count && n > 0)) {
                TN_TRY(add_products(ctx, g, rows, n, width, a));
                n = 0;
            }
        }
    }
done:
    tnp_free(rows);
    return st;
}

typedef struct cross_job {
    const float *x;
    const size_t *group;
    double *sums;
    size_t rows, dim;
} cross_job;

/* Columns [PIECE piece, ...) of the rows at hand. */
static void cross_piece(void *arg, size_t piece)
{
    const cross_job *job = arg;
    size_t from = piece * PIECE, n = tnp_min(PIECE, job->dim - from);
    for (size_t i = 0; i < job->rows; ++i)
        tnp_simd_get()->add_to_double(job->x + i * job->dim + from, job->sums + job->group[i] * job->dim + from, n);
}

static tn_status cross(tn_ctx *ctx, void *self, const size_t *group, size_t groups, double *sums)
{
    tnp_design *d = self;
    memset(sums, 0, groups * d->dim * sizeof *sums);
    for (size_t b = 0; b < d->blocks; ++b) {
        cross_job job = {.sums = sums, .dim = d->dim};
        size_t start;
        tn_status st = tnp_design_block(ctx, d, b, &job.x, &start, &job.rows);
        if (st != TN_OK)
            return st;
        job.group = group + start;
        tnp_parallel(ctx, tnp_threads_for(ctx, (double)job.rows * (double)d->dim), (d->dim + PIECE - 1) / PIECE,
                     cross_piece, &job);
    }
    return TN_OK;
}

static tn_status pick(tn_ctx *ctx, void *self, const size_t *rows, size_t count, float *out)
{
    tnp_design *d = self;
    for (size_t at = 0; at < count;) {
        const float *x = NULL;
        size_t start, n;
        tn_status st = tnp_design_block(ctx, d, rows[at] / d->block, &x, &start, &n);
        if (st != TN_OK)
            return st;
        for (; at < count && rows[at] < start + n; ++at)
            memcpy(out + at * d->dim, x + (rows[at] - start) * d->dim, d->dim * sizeof *out);
    }
    return TN_OK;
}

static tn_status sample(tn_ctx *ctx, void *self, size_t stride, const float **x, size_t *ld, float **kept)
{
    tn_status st = TN_OK;
    tnp_design *d = self;
    float *copy = NULL;
    size_t *which = NULL, count = (d->rows + stride - 1) / stride;
    if (!d->resident) {
        TN_TRY(tnp_alloc_raw(ctx, count * d->dim, sizeof *copy, &copy));
        TN_TRY(tnp_alloc(ctx, count, sizeof *which, &which));
        for (size_t i = 0; i < count; ++i)
            which[i] = i * stride;
        TN_TRY(pick(ctx, d, which, count, copy));
    }
    *x = copy ? copy : d->data;
    *ld = copy ? d->dim : stride * d->dim;
    *kept = copy;
    copy = NULL;
done:
    tnp_free(copy);
    tnp_free(which);
    return st;
}

static tn_status moments(tn_ctx *ctx, void *self, const tnp_targets *y, const double *shift, tnp_moments **out)
{
    const tnp_design *d = self;
    return shift ? tnp_gather_moments_wide(ctx, d->feeds, d->feed_count, y, shift, out)
                 : tnp_gather_moments(ctx, d->feeds, d->feed_count, y, out);
}

tnp_rows tnp_design_rows(tnp_design *d)
{
    static const tnp_rows_ops ops = {pass, wide_pass, scores_by, gram, cross, pick, sample, moments};
    return (tnp_rows){d->rows, d->dim, &ops, d};
}
