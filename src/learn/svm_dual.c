/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent (Hsieh et al. 2008), the same visits for every column, at the speed of matrix products.
 *
 *   minimise over alpha >= 0 (<= c for the hinge)   1/2 |w|^2 + sum alpha_i^2 / (4 c_i) [squared hinge] - sum alpha_i
 *   w = sum y_i alpha_i x_i;   visit i:  alpha_i <- clip(alpha_i - (y_i s_i - 1 + alpha_i / 2 c_i) / (|x_i|^2 + 1 / 2 c_i))
 *
 * Exact blocking: for B rows the scores S = X_B W' are one product; a change of y_i alpha_i by delta in column k moves the later
 * scores of the block by delta x_i'x_j, known from the block's Gram; W is brought up to date by one product at the end of
 * the block. Columns do not meet, so threads take ranges of them through the whole block. Rows come in a new random
 * order each pass; streamed designs shuffle blocks, and rows within them.
 *
 * LIBLINEAR's shrinking was refused: what it saves is one column's rows, while a product serves all columns. Instead a column
 * whose duality gap is small enough leaves, and what remains is packed together. */
#include "learn/svm_dual.h"
#include "base/blas.h"

#include <math.h>
#include <string.h>

static const double TIGHT = 5e-5, PASS = 0.6; /* PASS: what a pass leaves of a gap, about */
enum { B = 128, LANES = 32, FEW = 64, SOME = 192, FIRST_CHECK = 4, LONGEST_WAIT = 6 };

typedef struct solver {
    tn_ctx *ctx;
    tnp_design *x;
    const tnp_columns *columns;
    const tnp_dual_options *opt;
    size_t k, width;       /* columns at work; tnp_row_stride(dim + 1) */
    size_t *cols;          /* k: their numbers in the caller's order */
    float *alpha;          /* (rows, k) */
    float *w;              /* (k, width) */
    float *xb;             /* (B, dim): the rows at hand */
    float *s;              /* (B, k): their scores */
    float *delta;          /* (B, k): changes of y alpha */
    float *cost;           /* (B, k): signed costs */
    float *gram;           /* (n, n): upper triangle of the rows' products, without the constant's */
    size_t *order;         /* of rows or of blocks */
    size_t *rows;          /* B: the rows at hand */
    size_t n;              /* how many */
    double *primal, *dual; /* k: sums of the check */
} solver;

/* ---- one block ---- */

/* Visits the rows of the block in columns [LANES chunk, ...). */
static void visit_columns(void *arg, size_t chunk)
{
    solver *v = arg;
    size_t k = v->k, from = chunk * LANES, lanes = tnp_min(LANES, k - from);
    bool squared = v->opt->squared;
    float bias = v->opt->bias ? 1.0f : 0.0f;
    for (size_t t = 0; t < v->n; ++t) {
        const float *a = v->cost + t * k + from, *s = v->s + t * k + from;
        float *alpha = v->alpha + v->rows[t] * k + from, *delta = v->delta + t * k + from;
        float square = v->gram[t * v->n + t] + bias, moved = 0;
        for (size_t l = 0; l < lanes; ++l) {
            float c = fabsf(a[l]), y = a[l] < 0 ? -1.0f : 1.0f, soft = squared && c > 0 ? 0.5f / c : 0;
            float curve = square + soft, before = alpha[l];
            float next = before - (y * s[l] - 1 + before * soft) / curve;
            next = next > 0 ? next : 0;
            next = !squared && next > c ? c : next;
            next = curve > 0 ? next : c; /* the hinge of a row of zeros: no w can help it, its multiplier is full */
            next = c > 0 ? next : 0;
            alpha[l] = next;
            delta[l] = y * (next - before);
            moved += fabsf(delta[l]);
        }
        for (size_t u = t + 1; moved > 0 && u < v->n; ++u) {
            float *later = v->s + u * k + from, g = v->gram[t * v->n + u] + bias;
            for (size_t l = 0; l < lanes; ++l)
                later[l] += g * delta[l];
        }
    }
}

/* v->xb holds the n rows v->rows. */
static tn_status visit_block(solver *v)
{
    tn_status st = TN_OK;
    size_t dim = v->x->dim, k = v->k, n = v->n;
    float bias = v->opt->bias ? 1.0f : 0.0f;
    for (size_t t = 0; t < n; ++t) {
        tnp_signed_costs(v->columns, v->rows[t], v->cols, k, v->cost + t * k);
        for (size_t j = 0; j < k; ++j)
            v->s[t * k + j] = bias * v->w[j * v->width + dim];
    }
    TN_TRY(tnp_sgemm_nt(v->ctx, n, k, dim, v->xb, dim, v->w, v->width, 1, v->s, k));
    TN_TRY(tnp_ssyrk_rows(v->ctx, n, dim, v->xb, dim, v->gram));
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, (double)n * (double)n * (double)k), (k + LANES - 1) / LANES,
                 visit_columns, v);
    TN_TRY(tnp_sgemm_tn(v->ctx, k, dim, n, v->delta, k, v->xb, dim, 1, v->w, v->width));
    for (size_t t = 0; t < n; ++t)
        for (size_t j = 0; j < k; ++j)
            v->w[j * v->width + dim] += bias * v->delta[t * k + j];
done:
    return st;
}

/* ---- a pass ---- */

/* Rows a block: its Gram costs n D a row where the scores cost 2 D k, so that few columns want small blocks. */
static size_t block_rows(size_t columns)
{
    return columns < FEW ? 32 : columns < SOME ? 64 : B;
}

/* Visits rows order[0..count) of x (whose row 0 is row `start`), a block at a time. */
static tn_status visit_rows(solver *v, const float *x, size_t start, const size_t *order, size_t count)
{
    size_t dim = v->x->dim, most = block_rows(v->k);
    for (size_t at = 0; at < count; at += most) {
        v->n = tnp_min(most, count - at);
        for (size_t t = 0; t < v->n; ++t) {
            v->rows[t] = start + order[at + t];
            memcpy(v->xb + t * dim, x + order[at + t] * dim, dim * sizeof *x);
        }
        tn_status st = visit_block(v);
        if (st == TN_OK)
            st = tnp_cancelled(v->ctx);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

static void shuffled(tnp_rng *rng, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        order[i] = i;
    tnp_rng_shuffle(rng, order, count);
}

static tn_status pass(solver *v, size_t number)
{
    tnp_rng rng;
    tnp_design *x = v->x;
    tnp_rng_init(&rng, v->opt->seed, number);
    if (x->resident) {
        shuffled(&rng, v->order, x->rows);
        return visit_rows(v, x->data, 0, v->order, x->rows);
    }
    size_t *blocks = v->order + x->block; /* room for both orders, see solver_alloc */
    shuffled(&rng, blocks, x->blocks);
    for (size_t b = 0; b < x->blocks; ++b) {
        const float *data = NULL;
        size_t start, count;
        tn_status st = tnp_design_block(v->ctx, x, blocks[b], &data, &start, &count);
        shuffled(&rng, v->order, st == TN_OK ? count : 0);
        if (st == TN_OK)
            st = visit_rows(v, data, start, v->order, count);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* ---- the certificate ---- */

/* Losses of the rows at hand and their dual terms, added to primal and dual. */
static void measure_rows(solver *v)
{
    size_t k = v->k;
    bool squared = v->opt->squared;
    for (size_t t = 0; t < v->n; ++t) {
        float *a = v->cost;
        const float *s = v->s + t * k, *alpha = v->alpha + v->rows[t] * k;
        tnp_signed_costs(v->columns, v->rows[t], v->cols, k, a);
        for (size_t j = 0; j < k; ++j) {
            double c = fabs((double)a[j]), slack = fmax(0, 1 - (a[j] < 0 ? -1 : 1) * (double)s[j]),
                   x = (double)alpha[j];
            if (c == 0)
                continue;
            v->primal[j] += c * (squared ? slack * slack : slack);
            v->dual[j] += x - (squared ? x * x / (4 * c) : 0);
        }
    }
}

/* w = sum y alpha x from the multipliers: one product. */
static tn_status rebuild(solver *v)
{
    size_t dim = v->x->dim, k = v->k;
    memset(v->w, 0, k * v->width * sizeof *v->w);
    for (size_t b = 0; b < v->x->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        tn_status st = tnp_design_block(v->ctx, v->x, b, &x, &start, &count);
        for (size_t at = 0; st == TN_OK && at < count; at += B) {
            size_t n = tnp_min(B, count - at);
            for (size_t t = 0; t < n; ++t) {
                const float *alpha = v->alpha + (start + at + t) * k;
                tnp_signed_costs(v->columns, start + at + t, v->cols, k, v->cost);
                for (size_t j = 0; j < k; ++j) {
                    v->delta[t * k + j] = v->cost[j] < 0 ? -alpha[j] : v->cost[j] > 0 ? alpha[j] : 0;
                    v->w[j * v->width + dim] += v->opt->bias ? v->delta[t * k + j] : 0;
                }
            }
            st = tnp_sgemm_tn(v->ctx, k, dim, n, v->delta, k, x + at * dim, dim, 1, v->w, v->width);
        }
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* Primal and dual objectives at the present w and alpha: one product over all rows. A tight gap needs w to be that of
 * alpha to the last digits, which thousands of float additions since the start do not leave it. */
static tn_status check(solver *v)
{
    size_t dim = v->x->dim, k = v->k;
    tn_status rebuilt = v->opt->tolerance < TIGHT ? rebuild(v) : TN_OK;
    if (rebuilt != TN_OK)
        return rebuilt;
    memset(v->primal, 0, k * sizeof *v->primal);
    memset(v->dual, 0, k * sizeof *v->dual);
    for (size_t b = 0; b < v->x->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        tn_status st = tnp_design_block(v->ctx, v->x, b, &x, &start, &count);
        for (size_t at = 0; st == TN_OK && at < count; at += B) {
            v->n = tnp_min(B, count - at);
            for (size_t t = 0; t < v->n; ++t) {
                v->rows[t] = start + at + t;
                for (size_t j = 0; j < k; ++j)
                    v->s[t * k + j] = v->opt->bias ? v->w[j * v->width + dim] : 0;
            }
            st = tnp_sgemm_nt(v->ctx, v->n, k, dim, x + at * dim, dim, v->w, v->width, 1, v->s, k);
            if (st == TN_OK)
                measure_rows(v);
        }
        if (st != TN_OK)
            return st;
    }
    for (size_t j = 0; j < k; ++j) {
        double square = 0;
        for (size_t i = 0; i < v->width; ++i)
            square += (double)v->w[j * v->width + i] * (double)v->w[j * v->width + i];
        v->primal[j] += square / 2;
        v->dual[j] -= square / 2;
    }
    return TN_OK;
}

/* Multipliers of column j to the caller. */
static void hand_over(const solver *v, size_t j, float *alpha)
{
    for (size_t i = 0; i < v->x->rows; ++i)
        alpha[i * v->columns->count + v->cols[j]] = v->alpha[i * v->k + j];
}

/* Hands over the columns whose gap is small enough, or all, and packs the others. */
static void retire(solver *v, bool all, float *alpha, float *w, double *objective, double *gap)
{
    size_t to = 0, k = v->k;
    bool *keep = (bool *)(void *)v->delta; /* free between passes, and larger than k bools */
    for (size_t j = 0; j < k; ++j) {
        double distance = fmax(0, v->primal[j] - v->dual[j]);
        keep[j] = !all && distance > v->opt->tolerance * v->primal[j];
        if (keep[j])
            continue;
        memcpy(w + v->cols[j] * (v->x->dim + 1), v->w + j * v->width, (v->x->dim + 1) * sizeof *w);
        objective[v->cols[j]] = v->primal[j];
        gap[v->cols[j]] = distance;
        if (alpha)
            hand_over(v, j, alpha);
    }
    for (size_t i = 0; i < v->x->rows; ++i)
        for (size_t j = 0; j < k; ++j)
            if (keep[j])
                v->alpha[to++] = v->alpha[i * k + j];
    to = 0;
    for (size_t j = 0; j < k; ++j)
        if (keep[j]) {
            memmove(v->w + to * v->width, v->w + j * v->width, v->width * sizeof *v->w);
            v->primal[to] = v->primal[j];
            v->dual[to] = v->dual[j];
            v->cols[to++] = v->cols[j];
        }
    v->k = to;
}

/* Passes until the next check: until the column that is closest may be done; a check costs nearly half a pass, so that with most
 * columns still there two passes are the least. */
static size_t next_wait(const solver *v)
{
    double least = INFINITY;
    for (size_t j = 0; j < v->k; ++j)
        least = fmin(least, (v->primal[j] - v->dual[j]) / v->primal[j]);
    double wait = fmin(log(least / v->opt->tolerance) / log(1 / PASS), LONGEST_WAIT);
    size_t shortest = 2 * v->k < v->columns->count ? 1 : 2;
    return wait > (double)shortest ? (size_t)wait : shortest;
}

/* ---- the whole ---- */

size_t tnp_dual_bytes(size_t rows, size_t dim, size_t columns)
{
    return 4 * (rows * columns + columns * tnp_row_stride(dim + 1) + 3 * B * columns + B * (dim + B)) + 16 * rows +
           8 * B + 24 * columns;
}

static tn_status solver_alloc(tn_ctx *ctx, solver *v)
{
    tn_status st = TN_OK;
    size_t k = v->k, orders = v->x->resident ? v->x->rows : v->x->block + v->x->blocks;
    TN_TRY(tnp_alloc(ctx, k, sizeof *v->cols, &v->cols));
    TN_TRY(tnp_alloc(ctx, v->x->rows * k, sizeof *v->alpha, &v->alpha));
    TN_TRY(tnp_alloc(ctx, k * v->width, sizeof *v->w, &v->w));
    TN_TRY(tnp_alloc_raw(ctx, B * v->x->dim, sizeof *v->xb, &v->xb));
    TN_TRY(tnp_alloc_raw(ctx, B * k, sizeof *v->s, &v->s));
    TN_TRY(tnp_alloc_raw(ctx, B * k, sizeof *v->delta, &v->delta));
    TN_TRY(tnp_alloc_raw(ctx, B * k, sizeof *v->cost, &v->cost));
    TN_TRY(tnp_alloc_raw(ctx, B * B, sizeof *v->gram, &v->gram));
    TN_TRY(tnp_alloc(ctx, orders, sizeof *v->order, &v->order));
    TN_TRY(tnp_alloc(ctx, B, sizeof *v->rows, &v->rows));
    TN_TRY(tnp_alloc(ctx, k, sizeof *v->primal, &v->primal));
    TN_TRY(tnp_alloc(ctx, k, sizeof *v->dual, &v->dual));
    for (size_t j = 0; j < k; ++j)
        v->cols[j] = j;
done:
    return st;
}

static void solver_destroy(solver *v)
{
    void *all[] = {v->cols, v->alpha, v->w,     v->xb,   v->s,      v->delta,
                   v->cost, v->gram,  v->order, v->rows, v->primal, v->dual};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        tnp_free(all[i]);
}

tn_status tnp_dual_solve(tn_ctx *ctx, tnp_design *design, const tnp_columns *columns, const tnp_dual_options *options,
                         float *alpha, float *w, double *objective, double *gap, tnp_dual_info *info)
{
    tn_status st = TN_OK;
    solver v = {.ctx = ctx,
                .x = design,
                .columns = columns,
                .opt = options,
                .k = columns->count,
                .width = tnp_row_stride(design->dim + 1)};
    size_t number = 0, due = FIRST_CHECK;
    TN_TRY(solver_alloc(ctx, &v));
    if (alpha) {
        memcpy(v.alpha, alpha, design->rows * v.k * sizeof *alpha);
        TN_TRY(rebuild(&v));
    }
    while (v.k > 0 && number < options->max_passes) {
        TN_TRY(tnp_progress(ctx, "training", columns->count - v.k, columns->count));
        TN_TRY(pass(&v, number++));
        if (number == due || number == options->max_passes) {
            TN_TRY(check(&v));
            retire(&v, false, alpha, w, objective, gap);
            due = number + next_wait(&v);
        }
    }
    info->passes = number;
    info->converged = v.k == 0;
    retire(&v, true, alpha, w, objective, gap);
    TN_TRY(tnp_progress(ctx, "training", columns->count, columns->count));
done:
    solver_destroy(&v);
    return st;
}
