/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent that keeps w (see svm_dual.c). For a block of n rows X_B:
 *
 *   S = X_B W'   gram = X_B X_B'   visits   W += delta' X_B
 *
 * Rows come in a new random order each pass. Streamed designs shuffle runs of a few rows, put blocks together from them
 * and shuffle the rows of a block. Blocks of neighbours were refused: what one direction common to all rows (the
 * constant, their mean) asks of a visit is nearly always undone by the next few visits of the same block, so that the
 * sum of multipliers of a block that is the same in every pass changes at its ends only; 6000 rows in three such blocks
 * took 900 passes instead of 19. */
#include "learn/linear/svm_route.h"
#include "algebra/blas.h"

#include <string.h>

enum { FEW = 64, SOME = 192 };

typedef struct by_rows {
    size_t width;  /* tnp_row_stride(dim + 1) */
    float *w;      /* (k, width) */
    float *xb;     /* (n, dim): the rows at hand */
    size_t *order; /* of rows, or of those of a block */
    size_t *runs;  /* order of the runs, streamed only */
    size_t *place; /* block: numbers of its rows, streamed only */
} by_rows;

static tn_status open_rows(tnp_dual *v)
{
    tn_status st = TN_OK;
    by_rows *r = NULL;
    bool resident = v->x->resident;
    size_t dim = v->x->dim, run = tnp_design_run(v->x);
    TN_TRY(tnp_alloc(v->ctx, 1, sizeof *r, &r));
    v->own = r;
    r->width = tnp_row_stride(dim + 1);
    TN_TRY(tnp_alloc(v->ctx, v->k * r->width, sizeof *r->w, &r->w));
    TN_TRY(tnp_alloc_raw(v->ctx, TNP_DUAL_MOST * dim, sizeof *r->xb, &r->xb));
    TN_TRY(tnp_alloc(v->ctx, resident ? v->x->rows : v->x->block, sizeof *r->order, &r->order));
    if (!resident) {
        TN_TRY(tnp_alloc(v->ctx, v->x->block, sizeof *r->place, &r->place));
        TN_TRY(tnp_alloc(v->ctx, (v->x->rows + run - 1) / run, sizeof *r->runs, &r->runs));
    }
done:
    return st;
}

static void close_rows(tnp_dual *v)
{
    by_rows *r = v->own;
    if (!r)
        return;
    tnp_free_all(r->w, r->xb, r->order, r->runs, r->place, r);
}

size_t tnp_route_rows_bytes(size_t rows, size_t dim, size_t columns)
{
    return sizeof(by_rows) + 4 * (columns * tnp_row_stride(dim + 1) + TNP_DUAL_MOST * dim) + 24 * rows;
}

/* ---- a pass ---- */

/* xb holds the n rows v->rows. */
static tn_status visit_block(tnp_dual *v, by_rows *r)
{
    tn_status st = TN_OK;
    size_t dim = v->x->dim, k = v->k, n = v->n;
    float bias = v->opt->bias ? 1.0f : 0.0f;
    for (size_t t = 0; t < n; ++t)
        for (size_t j = 0; j < k; ++j)
            v->s[t * k + j] = bias * r->w[j * r->width + dim];
    TN_TRY(tnp_sgemm_nt(v->ctx, n, k, dim, r->xb, dim, r->w, r->width, 1, v->s, k));
    TN_TRY(tnp_ssyrk_rows(v->ctx, n, dim, r->xb, dim, 0, v->gram));
    tnp_dual_visit(v);
    TN_TRY(tnp_sgemm_tn(v->ctx, k, dim, n, v->delta, k, r->xb, dim, 1, r->w, r->width));
    for (size_t t = 0; t < n; ++t)
        for (size_t j = 0; j < k; ++j)
            r->w[j * r->width + dim] += bias * v->delta[t * k + j];
done:
    return st;
}

/* Rows a block: its Gram costs n D a row where the scores cost 2 D k, so that few columns want small blocks. */
static size_t block_rows(size_t columns)
{
    return columns < FEW ? 32 : columns < SOME ? 64 : TNP_DUAL_MOST;
}

/* Visits the first `count` rows of r->order, which lie at x, a block at a time; place: their numbers, NULL for as they
 * lie. */
static tn_status visit_rows(tnp_dual *v, by_rows *r, const float *x, const size_t *place, size_t count)
{
    const size_t *order = r->order;
    size_t dim = v->x->dim, most = block_rows(v->k);
    for (size_t at = 0; at < count; at += most) {
        v->n = tnp_min(most, count - at);
        for (size_t t = 0; t < v->n; ++t) {
            v->rows[t] = place ? place[order[at + t]] : order[at + t];
            memcpy(r->xb + t * dim, x + order[at + t] * dim, dim * sizeof *x);
        }
        tn_status st = visit_block(v, r);
        if (st == TN_OK)
            st = tnp_cancelled(v->ctx);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
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

/* One product over all rows. */
static tn_status measure_rows(tnp_dual *v)
{
    const by_rows *r = v->own;
    size_t dim = v->x->dim, k = v->k;
    for (size_t b = 0; b < v->x->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        tn_status st = tnp_design_block(v->ctx, v->x, b, &x, &start, &count);
        for (size_t at = 0; st == TN_OK && at < count; at += TNP_DUAL_MOST) {
            v->n = tnp_min(TNP_DUAL_MOST, count - at);
            for (size_t t = 0; t < v->n; ++t) {
                v->rows[t] = start + at + t;
                for (size_t j = 0; j < k; ++j)
                    v->s[t * k + j] = v->opt->bias ? r->w[j * r->width + dim] : 0;
            }
            st = tnp_sgemm_nt(v->ctx, v->n, k, dim, x + at * dim, dim, r->w, r->width, 1, v->s, k);
            if (st == TN_OK)
                tnp_dual_measure(v);
        }
        if (st != TN_OK)
            return st;
    }
    for (size_t j = 0; j < k; ++j) {
        v->square[j] = 0;
        for (size_t i = 0; i < r->width; ++i)
            v->square[j] += (double)r->w[j * r->width + i] * (double)r->w[j * r->width + i];
    }
    return TN_OK;
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
const tnp_route tnp_route_rows = {open_rows, close_rows, rebuild_rows, pass_rows, measure_rows, pack_rows, NULL};
