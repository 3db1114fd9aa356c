/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent that keeps w (see svm_dual.c). Rows come panel by panel, and a panel is cut into blocks X_B
 * of n rows:
 *
 *   gram = X_B X_B'                               by threads that take blocks
 *   S = X_B W'   visits   W += delta' X_B         by threads that take columns, through all blocks of the panel
 *
 * Products of a few rows keep one thread busy at most. Columns do not meet, so that threads wait for each other twice
 * per panel, not in every block. A BLAS was refused for all three: it packs what it multiplies, and products of so few
 * rows are over before that pays. To a gap of 1e-3, C = 1, it took 22 ms instead of 10 for (1500 x 512, 15 columns), 266
 * instead of 140 for (5994 x 512, 200).
 *
 * Rows come in a new random order each pass. Streamed designs shuffle runs of a few rows, put blocks together from them
 * and shuffle the rows of a block. Blocks of neighbours were refused: what one direction common to all rows (the
 * constant, their mean) asks of a visit is nearly always undone by the next few visits of the same block, so that the
 * sum of multipliers of a block that is the same in every pass changes at its ends only; 6000 rows in three such blocks
 * took 900 passes instead of 19. So were fixed blocks of 32 rows whose Grams are kept: 44 passes instead of 20 on 1500
 * real rows. */
#include "learn/linear/svm_route.h"
#include "algebra/blas.h"
#include "base/crew.h"

#include <string.h>

enum { FEW = 16, MANY = 64, LEAST_COLUMNS = 6, CHUNK = 64, PANEL_BYTES = 2 << 20 };

typedef struct by_rows {
    size_t width;  /* tnp_row_stride(dim + 1) */
    float *w;      /* (k, width) */
    float *flat;   /* (k, dim + 1): the same without gaps */
    size_t *order; /* of rows, or of those of a block of the design */
    size_t *runs;  /* order of the runs, streamed only */
    size_t *place; /* block of the design: numbers of its rows, streamed only */
    tnp_crew crew;
    /* the panel at hand */
    size_t most, count, block; /* rows at most, rows, rows of a block */
    float *x;                  /* (count, dim) */
    float *grams;              /* (blocks, block, block): the rows' products */
    size_t *rows;              /* count: their numbers */
} by_rows;

static size_t panel_rows(size_t dim)
{
    return tnp_max(TNP_DUAL_MOST, PANEL_BYTES / (sizeof(float) * dim) / TNP_DUAL_MOST * TNP_DUAL_MOST);
}

static tn_status open_rows(tnp_dual *v)
{
    tn_status st = TN_OK;
    by_rows *r = NULL;
    bool resident = v->x->resident;
    size_t dim = v->x->dim, run = tnp_design_run(v->x);
    TN_TRY(tnp_alloc(v->ctx, 1, sizeof *r, &r));
    v->own = r;
    r->width = tnp_row_stride(dim + 1);
    r->most = tnp_min(panel_rows(dim), v->x->rows);
    TN_TRY(tnp_alloc(v->ctx, v->k * r->width, sizeof *r->w, &r->w));
    TN_TRY(tnp_alloc_raw(v->ctx, v->k * (dim + 1), sizeof *r->flat, &r->flat));
    TN_TRY(tnp_alloc_raw(v->ctx, r->most * dim, sizeof *r->x, &r->x));
    TN_TRY(tnp_alloc_raw(v->ctx, (r->most + MANY) * MANY, sizeof *r->grams, &r->grams));
    TN_TRY(tnp_alloc(v->ctx, r->most, sizeof *r->rows, &r->rows));
    TN_TRY(tnp_alloc(v->ctx, resident ? v->x->rows : v->x->block, sizeof *r->order, &r->order));
    if (!resident) {
        TN_TRY(tnp_alloc(v->ctx, v->x->block, sizeof *r->place, &r->place));
        TN_TRY(tnp_alloc(v->ctx, (v->x->rows + run - 1) / run, sizeof *r->runs, &r->runs));
    }
    TN_TRY(tnp_crew_new(v->ctx, 0, &r->crew));
done:
    return st;
}

static void close_rows(tnp_dual *v)
{
    by_rows *r = v->own;
    if (!r)
        return;
    tnp_crew_free(v->ctx, &r->crew);
    tnp_free_all(r->w, r->flat, r->order, r->runs, r->place, r->x, r->grams, r->rows, r);
}

size_t tnp_route_rows_bytes(size_t rows, size_t dim, size_t columns)
{
    size_t panel = tnp_min(panel_rows(dim), rows);
    return sizeof(by_rows) + 4 * (columns * (tnp_row_stride(dim + 1) + dim + 1) + panel * dim + (panel + MANY) * MANY) +
           8 * panel + 24 * rows + tnp_pass_bytes(rows, dim, columns, CHUNK, 4 * columns) + 1024;
}

/* ---- a pass ---- */

typedef struct panel_job {
    tnp_dual *v;
    const float *from;           /* where the rows lie */
    const size_t *order, *place; /* which of them are the panel's; their numbers, NULL: as they lie */
    size_t ranges;               /* of columns */
} panel_job;

/* Rows and Gram of one block. */
static tn_status take_block(tn_ctx *ctx, void *arg, size_t item)
{
    const panel_job *job = arg;
    by_rows *r = job->v->own;
    size_t dim = job->v->x->dim, first = item * r->block, n = tnp_min(r->block, r->count - first);
    float *x = r->x + first * dim;
    for (size_t t = 0; t < n; ++t) {
        size_t at = job->order[first + t];
        r->rows[first + t] = job->place ? job->place[at] : at;
        memcpy(x + t * dim, job->from + at * dim, dim * sizeof *x);
    }
    return tnp_ssyrk_rows(ctx, n, dim, x, dim, 0, r->grams + first * r->block);
}

/* One block in the columns of a visit. */
static void visit_block(const tnp_dual *v, const float *x, const tnp_visit *at)
{
    const by_rows *r = v->own;
    size_t dim = v->x->dim, k = at->k;
    float *w = r->w + at->from * r->width, bias = v->opt->bias ? 1.0f : 0.0f;
    tnp_sgemm_nt_alone(at->n, k, dim, x, dim, w, r->width, false, at->s, k);
    for (size_t t = 0; t < at->n; ++t)
        for (size_t j = 0; j < k; ++j)
            at->s[t * k + j] += bias * w[j * r->width + dim];
    tnp_dual_visit(v, at);
    for (size_t t = 0; t < at->n; ++t)
        for (size_t j = 0; j < k; ++j)
            w[j * r->width + dim] += bias * at->delta[t * k + j];
    tnp_sgemm_tn_alone(k, dim, at->n, at->delta, k, x, dim, true, w, r->width);
}

/* A range of columns goes through the panel. What is cancelled here the caller says. */
static tn_status visit_range(tn_ctx *ctx, void *arg, size_t item)
{
    const panel_job *job = arg;
    const tnp_dual *v = job->v;
    const by_rows *r = v->own;
    size_t from = v->k * item / job->ranges, part = TNP_DUAL_MOST * from;
    tnp_visit at = {.from = from, .k = v->k * (item + 1) / job->ranges - from};
    (void)ctx;
    for (size_t first = 0; first < r->count && !tnp_was_cancelled(v->ctx); first += r->block) {
        at.n = tnp_min(r->block, r->count - first);
        at.rows = r->rows + first;
        at.gram = r->grams + first * r->block;
        at.s = v->s + part;
        at.delta = v->delta + part;
        at.cost = v->cost + part;
        visit_block(v, r->x + first * v->x->dim, &at);
    }
    return TN_OK;
}

/* Rows per block: their products cost up to 2 n D flops per row where those with w cost 4 D k, so that few columns want
 * small blocks. */
static size_t block_rows(size_t columns)
{
    return columns < MANY ? FEW : MANY;
}

/* Visits the first `count` rows of r->order, which lie at x, a panel at a time; place: their numbers, NULL for as they
 * lie. */
static tn_status visit_rows(tnp_dual *v, by_rows *r, const float *x, const size_t *place, size_t count)
{
    tn_status st = TN_OK;
    double flops = 4 * (double)v->k * (double)v->x->dim * (double)tnp_min(r->most, count);
    tnp_crew crew = {tnp_min(r->crew.count, tnp_threads_for(v->ctx, flops)), r->crew.ctxs};
    panel_job job = {.v = v,
                     .from = x,
                     .order = r->order,
                     .place = place,
                     .ranges = tnp_min(crew.count, tnp_max(1, v->k / LEAST_COLUMNS))};
    r->block = block_rows(v->k);
    tnp_blas_hold(crew.ctxs, crew.count);
    for (size_t at = 0; at < count; at += r->count, job.order += r->count) {
        r->count = tnp_min(r->most, count - at);
        TN_TRY(tnp_crew_run(v->ctx, &crew, NULL, (r->count + r->block - 1) / r->block, take_block, &job));
        TN_TRY(tnp_crew_run(v->ctx, &crew, NULL, job.ranges, visit_range, &job));
        TN_TRY(tnp_cancelled(v->ctx));
    }
done:
    tnp_blas_release(crew.ctxs, crew.count);
    return st;
}

static tn_status pass_runs(tnp_dual *v, by_rows *r, tnp_rng *rng)
{
    tn_status st = TN_OK;
    tnp_design *x = v->x;
    size_t run = tnp_design_run(x), count = (x->rows + run - 1) / run, each = x->block / run;
    tnp_dual_shuffle(rng, r->runs, count);
    for (size_t at = 0; at < count; at += each) {
        const float *data = NULL;
        size_t rows = 0;
        TN_TRY(tnp_design_runs(v->ctx, x, r->runs + at, tnp_min(each, count - at), &data, r->place, &rows));
        tnp_dual_shuffle(rng, r->order, rows);
        TN_TRY(visit_rows(v, r, data, r->place, rows));
    }
done:
    return st;
}

static tn_status pass_rows(tnp_dual *v, tnp_rng *rng)
{
    by_rows *r = v->own;
    if (!v->x->resident)
        return pass_runs(v, r, rng);
    tnp_dual_shuffle(rng, r->order, v->x->rows);
    return visit_rows(v, r, v->x->data, NULL, v->x->rows);
}

/* ---- what it keeps ---- */

static tn_status rebuild_rows(tnp_dual *v)
{
    by_rows *r = v->own;
    return tnp_dual_weights(v, r->w, r->width);
}

static void measure_panel(void *arg, const tnp_panel *at)
{
    const tnp_dual *v = arg;
    for (size_t i = 0; i < at->count; ++i)
        tnp_dual_measure(v, at->start + i, at->s + i * v->k, at->scratch, at->sums);
}

static void squares_rows(tnp_dual *v)
{
    const by_rows *r = v->own;
    for (size_t j = 0; j < v->k; ++j)
        v->square[j] = tnp_dot(r->w + j * r->width, r->w + j * r->width, v->x->dim + 1);
}

static void scale_rows(tnp_dual *v, const double *factor)
{
    by_rows *r = v->own;
    for (size_t i = 0; i < v->k * r->width; ++i)
        r->w[i] *= (float)factor[i / r->width];
}

static tn_status measure_rows(tnp_dual *v)
{
    const by_rows *r = v->own;
    size_t dim = v->x->dim, k = v->k;
    tnp_rows x = tnp_design_rows(v->x);
    tnp_pass pass = {.k = k,
                     .w = r->flat,
                     .body = measure_panel,
                     .arg = v,
                     .chunk = CHUNK,
                     .work = 16 * (double)k,
                     .scratch = k,
                     .sum_count = 3 * k,
                     .sums = v->sums};
    squares_rows(v);
    for (size_t j = 0; j < k; ++j)
        memcpy(r->flat + j * (dim + 1), r->w + j * r->width, (dim + 1) * sizeof *r->w);
    return tnp_rows_pass(v->ctx, &x, &pass);
}

static void pack_rows(tnp_dual *v, const bool *keep, float *w)
{
    by_rows *r = v->own;
    size_t to = 0, dim = v->x->dim;
    for (size_t j = 0; j < v->k; ++j) {
        const float *from = r->w + j * r->width;
        float *out = w + v->cols[j] * (dim + 1), factor = (float)v->factor[j];
        if (keep[j])
            memmove(r->w + to++ * r->width, from, r->width * sizeof *from);
        for (size_t i = 0; !keep[j] && i <= dim; ++i)
            out[i] = factor * from[i];
    }
}

/* No finish: every column took its w along when it left. */
const tnp_route tnp_route_rows = {open_rows,    close_rows, rebuild_rows, pass_rows, measure_rows,
                                  squares_rows, scale_rows, pack_rows,    NULL};
