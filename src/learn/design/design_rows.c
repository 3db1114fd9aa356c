/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's rows: a design, block by block in their order, so that every sum has one order of its terms.
 *
 * Float: a panel is a block, or as many of its rows as the body takes; products lie in the learner's arrays where it
 * keeps them. Double: a panel is small enough to stay in the cache while it is widened and multiplied forth and back:
 * rows are fetched once per pass, and no more than a panel of them is ever there in double. One column is multiplied
 * without being widened. */
#include "learn/design/rows.h"
#include "algebra/blas.h"
#include "learn/design/design.h"
#include "learn/design/gather.h"
#include "learn/design/tiles.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { PANEL_BYTES = 2 << 20, LEAST = 8, MOST = 256, CHUNK = 64, PIECE = 512 };

static size_t panel_rows(size_t dim)
{
    return tnp_min(MOST, tnp_max(LEAST, PANEL_BYTES / (sizeof(double) * dim)));
}

size_t tnp_pass_bytes(size_t rows, size_t dim, size_t k, size_t chunk, size_t each)
{
    size_t block = tnp_design_block_rows(rows, dim);
    return 8 * (block + 2) * k + 8 * (block / chunk + 1) * each;
}

size_t tnp_wide_pass_bytes(size_t dim, size_t k, size_t chunk, size_t each)
{
    size_t panel = panel_rows(dim);
    return sizeof(double) * (panel * (dim + 2 * k) + 2 * k + (panel / chunk + 1) * each);
}

size_t tnp_rows_gram_bytes(size_t dim)
{
    return sizeof(double) * MOST * (dim + 1);
}

void tnp_add_wide(const double *x, double *to, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        to[i] += x[i];
}

/* The body of an inner product of n numbers of any two precisions. */
#define DOT(a, b, n)                                                                                                   \
    double part[8] = {0};                                                                                              \
    size_t i = 0;                                                                                                      \
    for (; i + 8 <= (n); i += 8)                                                                                       \
        for (size_t l = 0; l < 8; ++l)                                                                                 \
            part[l] += (double)(a)[i + l] * (double)(b)[i + l];                                                        \
    for (; i < (n); ++i)                                                                                               \
        part[0] += (double)(a)[i] * (double)(b)[i];                                                                    \
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]))

double tnp_dot(const float *a, const float *b, size_t n)
{
    DOT(a, b, n);
}

double tnp_dot_wide(const double *a, const double *b, size_t n)
{
    DOT(a, b, n);
}

static double dot_mixed(const float *a, const double *b, size_t n)
{
    DOT(a, b, n);
}

/* Calls body for all rows in their order, at most `most` of a block at once: rows [start, start + n), which lie at
 * x; x is NULL when they are not to be read. */
static tn_status walk(tn_ctx *ctx, tnp_design *d, bool read, size_t most,
                      tn_status (*body)(void *arg, const float *x, size_t start, size_t n), void *arg)
{
    for (size_t b = 0; b < d->blocks; ++b) {
        const float *x = NULL;
        size_t start = b * d->block, count = tnp_min(d->block, d->rows - start);
        tn_status st = read ? tnp_design_block(ctx, d, b, &x, &start, &count) : tnp_cancelled(ctx);
        for (size_t at = 0; st == TN_OK && at < count; at += most)
            st = body(arg, x ? x + at * d->dim : NULL, start + at, tnp_min(most, count - at));
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* ---- passes ---- */

typedef struct widen_job {
    const float *from;
    double *to, *square; /* either may be NULL */
    size_t dim;
} widen_job;

static void widen_row(void *arg, size_t i)
{
    const widen_job *job = arg;
    const float *from = job->from + i * job->dim;
    for (size_t j = 0; job->to && j < job->dim; ++j)
        job->to[i * job->dim + j] = (double)from[j];
    if (job->square)
        job->square[i] = tnp_dot(from, from, job->dim);
}

/* n rows as double into `to`, which it returns, and the largest square into *longest; either may be NULL, n at most
 * MOST. */
static const double *widen(tn_ctx *ctx, const float *x, size_t n, size_t dim, double *to, double *longest)
{
    double square[MOST];
    widen_job job = {x, to, longest ? square : NULL, dim};
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)n * (double)dim), n, widen_row, &job);
    for (size_t i = 0; longest && i < n; ++i)
        *longest = fmax(*longest, square[i]);
    return to;
}

#define REAL float
#define PASS tnp_pass
#define PANEL tnp_panel
#define NAME(part) narrow_##part
#define ROWS(job, x, n) (x)
#define NEEDS_ROWS(p) ((p)->w || (p)->back)
#define GEMM_NT tnp_sgemm_nt
#define GEMM_TN tnp_sgemm_tn
#define ADD(x, to, n) tnp_simd_get()->add_scaled(1, x, to, n)
#define ADD_WIDE(x, to, n) tnp_simd_get()->add_to_double(x, to, n)
#include "learn/design/pass_loops.h"

#define REAL double
#define PASS tnp_wide_pass
#define PANEL tnp_wide_panel
#define NAME(part) wide_##part
#define ROWS(job, x, n) widen((job)->ctx, x, n, (job)->d->dim, (job)->rows, (job)->p->longest)
#define NEEDS_ROWS(p) ((p)->w || (p)->back || (p)->longest)
#define GEMM_NT tnp_dgemm_nt
#define GEMM_TN tnp_dgemm_tn
#define ADD tnp_add_wide
#define ADD_WIDE tnp_add_wide
#include "learn/design/pass_loops.h"

/* One column, whose rows are not widened: rows of a chunk forward, columns of a piece backward. */
typedef struct column_job {
    const float *x;
    size_t n, dim;
    const double *w, *t;
    double *s, *back;
    bool add;
} column_job;

static void forward_chunk(void *arg, size_t chunk)
{
    const column_job *job = arg;
    for (size_t i = chunk * CHUNK; i < tnp_min(job->n, (chunk + 1) * CHUNK); ++i)
        job->s[i] = (job->add ? job->s[i] : 0) + dot_mixed(job->x + i * job->dim, job->w, job->dim) + job->w[job->dim];
}

static void backward_piece(void *arg, size_t piece)
{
    const column_job *job = arg;
    size_t from = piece * PIECE, n = tnp_min(PIECE, job->dim - from);
    for (size_t i = 0; i < job->n; ++i) {
        const float *x = job->x + i * job->dim + from;
        double t = job->t[i], *out = job->back + from;
        for (size_t j = 0; t != 0 && j < n; ++j)
            out[j] += t * (double)x[j];
    }
}

static tn_status column_panel(void *arg, const float *x, size_t start, size_t n)
{
    wide_job *job = arg;
    const tnp_wide_pass *p = job->p;
    size_t dim = job->d->dim, threads = tnp_threads_for(job->ctx, 2.0 * (double)n * (double)dim);
    double *s = p->s ? p->s + start : job->s;
    column_job at = {x, n, dim, p->w, p->t ? p->t + start : p->body ? job->t : s, s, p->back, p->add};
    if (p->longest)
        widen(job->ctx, x, n, dim, NULL, p->longest);
    if (p->w)
        tnp_parallel(job->ctx, threads, (n + CHUNK - 1) / CHUNK, forward_chunk, &at);
    if (p->body)
        wide_body(job, start, n, s);
    if (p->back && start == 0)
        memset(p->back, 0, (dim + 1) * sizeof *p->back);
    if (p->back)
        tnp_parallel(job->ctx, threads, (dim + PIECE - 1) / PIECE, backward_piece, &at);
    for (size_t i = 0; p->back && i < n; ++i)
        p->back[dim] += at.t[i];
    return TN_OK;
}

static tn_status pass(tn_ctx *ctx, void *self, const tnp_pass *p)
{
    tnp_design *d = self;
    if (d->resident && (p->w || p->back) && tnp_tiles_suit(ctx, d->rows, d->dim, p))
        return tnp_tiles_pass(ctx, &(tnp_tiled_rows){d->data, d->dim, d->rows, d->dim}, p);
    return narrow_run(ctx, d, p, p->most ? tnp_min(p->most, d->block) : d->block, 0, narrow_panel);
}

static tn_status wide_pass(tn_ctx *ctx, void *self, const tnp_wide_pass *p)
{
    tnp_design *d = self;
    bool column = p->k <= 1;
    size_t most = tnp_min(d->block, column && !p->longest ? SIZE_MAX : panel_rows(d->dim));
    if (p->longest)
        *p->longest = 0;
    if (d->resident && !column && (p->w || p->back) && tnp_tiles_suit_wide(ctx, d->rows, d->dim, p))
        return tnp_tiles_wide_pass(ctx, &(tnp_tiled_rows){d->data, d->dim, d->rows, d->dim}, p);
    return wide_run(ctx, d, p, p->most ? tnp_min(p->most, most) : most, column ? 0 : d->dim,
                    column ? column_panel : wide_panel);
}

/* ---- the others ---- */

typedef struct models_job {
    tn_ctx *ctx;
    size_t dim, k, models;
    const uint32_t *model;
    const float *w;
    float *s, *rows, *part; /* rows (block, dim), part (block, k) */
} models_job;

/* The rows of a model are copied together, so that each is multiplied with its own weights only. */
static tn_status score_block(void *arg, const float *x, size_t start, size_t count)
{
    const models_job *job = arg;
    const uint32_t *model = job->model + start;
    size_t k = job->k, dim = job->dim, width = dim + 1;
    for (size_t m = 0; m < job->models; ++m) {
        const float *w = job->w + m * k * width;
        size_t n = 0;
        for (size_t i = 0; i < count; ++i)
            if (model[i] == m) {
                memcpy(job->rows + n * dim, x + i * dim, dim * sizeof *x);
                for (size_t c = 0; c < k; ++c)
                    job->part[n * k + c] = w[c * width + dim];
                ++n;
            }
        tn_status st = tnp_sgemm_nt(job->ctx, n, k, dim, job->rows, dim, w, width, 1, job->part, k);
        if (st != TN_OK)
            return st;
        for (size_t i = count; i-- > 0;)
            if (model[i] == m)
                memcpy(job->s + (start + i) * k, job->part + --n * k, k * sizeof *x);
    }
    return TN_OK;
}

static tn_status scores_by(tn_ctx *ctx, void *self, const uint32_t *model, size_t models, size_t k, const float *w,
                           float *s)
{
    tn_status st = TN_OK;
    tnp_design *d = self;
    models_job job = {.ctx = ctx, .dim = d->dim, .k = k, .models = models, .model = model, .w = w, .s = s};
    TN_TRY(tnp_alloc_raw(ctx, d->block * d->dim, sizeof(float), &job.rows));
    TN_TRY(tnp_alloc_raw(ctx, d->block * k, sizeof(float), &job.part));
    TN_TRY(walk(ctx, d, true, d->block, score_block, &job));
done:
    tnp_free_all(job.rows, job.part);
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
    tn_ctx *ctx;
    const float *x;
    const size_t *group, *own; /* of all rows; of those at hand */
    double *sums;
    size_t n, dim;
} cross_job;

/* Columns [PIECE piece, ...) of the rows at hand. */
static void cross_piece(void *arg, size_t piece)
{
    const cross_job *job = arg;
    size_t from = piece * PIECE, n = tnp_min(PIECE, job->dim - from);
    for (size_t i = 0; i < job->n; ++i)
        tnp_simd_get()->add_to_double(job->x + i * job->dim + from, job->sums + job->own[i] * job->dim + from, n);
}

static tn_status cross_block(void *arg, const float *x, size_t start, size_t n)
{
    cross_job *job = arg;
    job->x = x;
    job->n = n;
    job->own = job->group + start;
    tnp_parallel(job->ctx, tnp_threads_for(job->ctx, (double)n * (double)job->dim), (job->dim + PIECE - 1) / PIECE,
                 cross_piece, job);
    return TN_OK;
}

static tn_status cross(tn_ctx *ctx, void *self, const size_t *group, size_t groups, double *sums)
{
    tnp_design *d = self;
    memset(sums, 0, groups * d->dim * sizeof *sums);
    return walk(ctx, d, true, d->block, cross_block,
                &(cross_job){.ctx = ctx, .group = group, .sums = sums, .dim = d->dim});
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

tn_status tnp_design_sample(tn_ctx *ctx, void *self, size_t stride, const float **x, size_t *ld, float **kept)
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
        TN_TRY(tnp_design_rows(d).ops->pick(ctx, d, which, count, copy));
    }
    *x = copy ? copy : d->data;
    *ld = copy ? d->dim : stride * d->dim;
    *kept = copy;
    copy = NULL;
done:
    tnp_free_all(copy, which);
    return st;
}

tn_status tnp_design_moments(tn_ctx *ctx, void *self, const tnp_targets *y, const double *shift, tnp_moments **out)
{
    const tnp_design *d = self;
    return shift ? tnp_gather_moments_wide(ctx, d->feeds, d->feed_count, y, shift, out)
                 : tnp_gather_moments(ctx, d->feeds, d->feed_count, y, out);
}

static tnp_at_hand at_hand(const void *self)
{
    const tnp_design *d = self;
    return (tnp_at_hand){d->resident ? d->data : NULL, d->dim, 0, d->rows, false};
}

tnp_rows tnp_design_rows(tnp_design *d)
{
    static const tnp_rows_ops ops = {pass, wide_pass,         scores_by,          gram,   cross,
                                     pick, tnp_design_sample, tnp_design_moments, at_hand};
    return (tnp_rows){d->rows, d->dim, d->shared ? &tnp_team_rows_ops : &ops, d};
}

tnp_design *tnp_design_here(tnp_design *d)
{
    return d->shared ? NULL : d;
}
