/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent that keeps the scores of all rows (see svm_dual.c), for designs that are wider than they have
 * rows. With G = X X' (N, N), kept by the design, and for a block of n rows:
 *
 *   S (k, N) = (y alpha)' G without the intercept, which is b (k) = sum y alpha
 *   s = S_B + b   gram = G_BB   visits   S += delta' G_B, b += sum delta
 *
 * A pass costs at most 2 N^2 k flops whatever the width is, and X is read twice in all: for G and for w = (y alpha)' X
 * at the end. After the first passes most multipliers are at rest; then the changes that there are go into S one by
 * one, which leaves the rest of the product out. Rows come in a new random order each pass, also for streamed designs.
 * */
#include "learn/linear/svm_route.h"
#include "algebra/blas.h"
#include "simd/simd.h"

#include <string.h>

enum { BLOCK = 32 }; /* rows: of each the products with the others are looked up all over the Gram */
enum { SPARSE = 8 }; /* one change in so many: a product is about as many times faster than single changes */

typedef struct by_gram {
    const tnp_simd *simd;
    const float *gram; /* (N, N): the design's */
    size_t stride;     /* tnp_row_stride(N) */
    float *scores;     /* (k, stride) */
    float *bias;       /* k */
    float *gb;         /* (n, stride): rows of the Gram */
    float *among;      /* (n, n): upper triangle of the block's own products */
    float *factor;     /* count: of the columns that are done */
    size_t *order;     /* N */
} by_gram;

static tn_status open_gram(tnp_dual *v)
{
    tn_status st = TN_OK;
    by_gram *g = NULL;
    tn_ctx *ctx = v->ctx;
    size_t n = v->x->rows;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *g, &g));
    v->own = g;
    g->simd = tnp_simd_get();
    g->stride = tnp_row_stride(n);
    TN_TRY(tnp_design_gram(ctx, v->x, &g->gram));
    TN_TRY(tnp_alloc(ctx, v->k * g->stride, sizeof *g->scores, &g->scores));
    TN_TRY(tnp_alloc(ctx, v->k, sizeof *g->bias, &g->bias));
    TN_TRY(tnp_alloc(ctx, v->k, sizeof *g->factor, &g->factor));
    TN_TRY(tnp_alloc_raw(ctx, TNP_DUAL_MOST * g->stride, sizeof *g->gb, &g->gb));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK * BLOCK, sizeof *g->among, &g->among));
    TN_TRY(tnp_alloc(ctx, n, sizeof *g->order, &g->order));
done:
    return st;
}

static void close_gram(tnp_dual *v)
{
    by_gram *g = v->own;
    if (!g)
        return;
    tnp_free_all(g->scores, g->bias, g->factor, g->gb, g->among, g->order, g);
}

size_t tnp_route_gram_bytes(size_t rows, size_t dim, size_t columns)
{
    size_t stride = tnp_row_stride(rows);
    return sizeof(by_gram) + 4 * (columns * (stride + 2) + TNP_DUAL_MOST * stride + BLOCK * BLOCK) + 8 * rows +
           tnp_design_gram_bytes(rows, dim);
}

/* ---- a pass ---- */

/* Column j of the scores, by the changes that are not zero, in the block's order. */
static void spread_column(void *arg, size_t j)
{
    const tnp_dual *v = arg;
    const by_gram *g = v->own;
    size_t rows = v->x->rows;
    for (size_t t = 0; t < v->n; ++t) {
        float delta = v->delta[t * v->k + j];
        if (delta != 0)
            g->simd->add_scaled(delta, g->gram + v->rows[t] * rows, g->scores + j * g->stride, rows);
    }
}

/* Brings all scores up to date with the block's changes. */
static tn_status spread(tnp_dual *v)
{
    by_gram *g = v->own;
    size_t k = v->k, rows = v->x->rows, changes = 0;
    for (size_t t = 0; t < v->n; ++t)
        for (size_t j = 0; j < k; ++j) {
            g->bias[j] += v->delta[t * k + j];
            changes += v->delta[t * k + j] != 0;
        }
    if (changes < v->n * k / SPARSE) {
        tnp_parallel(v->ctx, tnp_threads_for(v->ctx, 2 * (double)changes * (double)rows), k, spread_column, v);
        return TN_OK;
    }
    for (size_t t = 0; t < v->n; ++t)
        memcpy(g->gb + t * g->stride, g->gram + v->rows[t] * rows, rows * sizeof *g->gb);
    return tnp_sgemm_tn(v->ctx, k, rows, v->n, v->delta, k, g->gb, g->stride, 1, g->scores, g->stride);
}

static void begin_block(tnp_dual *v, const size_t *order)
{
    const by_gram *g = v->own;
    size_t k = v->k, rows = v->x->rows;
    for (size_t t = 0; t < v->n; ++t) {
        size_t i = v->rows[t] = order[t];
        for (size_t j = 0; j < k; ++j)
            v->s[t * k + j] = g->scores[j * g->stride + i] + (v->opt->bias ? g->bias[j] : 0);
        for (size_t u = t; u < v->n; ++u)
            g->among[t * v->n + u] = g->gram[i * rows + order[u]];
    }
}

static tn_status pass_gram(tnp_dual *v, tnp_rng *rng)
{
    by_gram *g = v->own;
    tn_status st = TN_OK;
    size_t rows = v->x->rows;
    tnp_dual_shuffle(rng, g->order, rows);
    for (size_t at = 0; at < rows; at += v->n) {
        v->n = tnp_min(BLOCK, rows - at);
        begin_block(v, g->order + at);
        tnp_dual_visit_all(v, g->among);
        TN_TRY(spread(v));
        TN_TRY(tnp_cancelled(v->ctx));
    }
done:
    return st;
}

/* ---- what it keeps ---- */

static tn_status rebuild_gram(tnp_dual *v)
{
    by_gram *g = v->own;
    tn_status st = TN_OK;
    size_t k = v->k, rows = v->x->rows;
    memset(g->scores, 0, k * g->stride * sizeof *g->scores);
    memset(g->bias, 0, k * sizeof *g->bias);
    for (size_t at = 0; at < rows; at += v->n) {
        v->n = tnp_min(TNP_DUAL_MOST, rows - at);
        for (size_t t = 0; t < v->n; ++t) {
            v->rows[t] = at + t;
            tnp_dual_signed(v, at + t, v->delta + t * k);
        }
        TN_TRY(spread(v));
    }
done:
    return st;
}

/* Scores of row i into v->s; adds its part of |w|^2 = sum y alpha s, b^2 included. */
static void take_row(tnp_dual *v, size_t i)
{
    const by_gram *g = v->own;
    tnp_dual_signed(v, i, v->delta);
    for (size_t j = 0; j < v->k; ++j) {
        v->s[j] = g->scores[j * g->stride + i] + (v->opt->bias ? g->bias[j] : 0);
        v->square[j] += (double)v->delta[j] * (double)v->s[j];
    }
}

static tn_status measure_gram(tnp_dual *v)
{
    memset(v->square, 0, v->k * sizeof *v->square);
    for (size_t i = 0; i < v->x->rows; ++i) {
        take_row(v, i);
        tnp_dual_measure(v, i, v->s, v->cost, v->sums);
    }
    return tnp_cancelled(v->ctx);
}

static void squares_gram(tnp_dual *v)
{
    memset(v->square, 0, v->k * sizeof *v->square);
    for (size_t i = 0; i < v->x->rows; ++i)
        take_row(v, i);
}

static void scale_gram(tnp_dual *v, const double *factor)
{
    by_gram *g = v->own;
    for (size_t j = 0; j < v->k; ++j) {
        for (size_t i = 0; i < g->stride; ++i)
            g->scores[j * g->stride + i] *= (float)factor[j];
        g->bias[j] *= (float)factor[j];
    }
}

static void pack_gram(tnp_dual *v, const bool *keep, float *w)
{
    by_gram *g = v->own;
    size_t to = 0;
    (void)w; /* of all columns together, at the end */
    for (size_t j = 0; j < v->k; ++j)
        if (keep[j]) {
            memmove(g->scores + to * g->stride, g->scores + j * g->stride, g->stride * sizeof *g->scores);
            g->bias[to++] = g->bias[j];
        } else {
            g->factor[v->cols[j]] = (float)v->factor[j];
        }
}

static tn_status finish_gram(tnp_dual *v, float *w)
{
    const by_gram *g = v->own;
    size_t width = v->x->dim + 1;
    tn_status st = tnp_dual_weights(v, w, width);
    for (size_t j = 0; st == TN_OK && j < v->k; ++j)
        for (size_t i = 0; i < width; ++i)
            w[j * width + i] *= g->factor[j];
    return st;
}

const tnp_route tnp_route_gram = {open_gram,    close_gram, rebuild_gram, pass_gram,  measure_gram,
                                  squares_gram, scale_gram, pack_gram,    finish_gram};
