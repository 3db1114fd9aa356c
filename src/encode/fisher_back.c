/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reverse mode through a Fisher vector. With alpha = (x - mu)/sigma, q the posteriors, T descriptors in a cell:
 *
 *   psi[F,k] = mean_t q alpha / sqrt pi_k             psi[G,k] = mean_t q (alpha^2 - 1) / sqrt(2 pi_k)
 *   phi      = psi by the encoder's norm, cell by cell, then over its length
 *
 * Given dL/dphi, back through the norm to g = dL/dpsi, and then, per cell,
 *
 *   u = g[F,k] / (T sqrt pi_k)     v = g[G,k] / (T sqrt(2 pi_k))
 *   e_tk = <alpha_tk, u_k> + <alpha_tk^2 - 1, v_k>         = dL/dq_tk
 *   d_tk = q_tk (e_tk - sum_j q_tj e_tj)                   = dL/d log(pi_k N(x_t; mu_k, sigma_k))
 *   dL/d mu_k        = (1/sigma_k) (sum_t d alpha - u sum_t q) - (sqrt 2 / sigma_k) g[G,k] psi[F,k]
 *   dL/d log sigma_k = sum_t d alpha^2 - sum_t d - 2 v sum_t q - g[F,k] psi[F,k] - 2 g[G,k] psi[G,k]
 *   dL/d log pi_k    = p_k - pi_k sum_j p_j,   p_k = sum_t d - 1/2 (<g[F,k], psi[F,k]> + <g[G,k], psi[G,k]>)
 *   dL/d x_t         = sum_k (q (u + 2 alpha v) - d alpha) / sigma_k
 *   dL/dP            = sum_t dL/dx_t (r_t - m)'      where x = P (r - m) of a descriptor r: one product per 512 rows
 *
 * The mean m is no parameter: to move it is to move all means of the mixture by P times as much.
 * The sums of q alpha and q alpha^2 that the derivatives need are psi again, so that descriptors are met once, with one
 * loop more than encoding has: about 1.4 encodings, where the formulas (7) to (14) of the paper (Sydorov, Sakurada,
 * Lampert, CVPR 2014) multiply 2 K d by as many derivatives for every descriptor. Atoms of a pyramid lie in several
 * cells: their u and v are sums over these.
 *
 * At psi = 0 the signed root has no derivative; 0 is taken. Oracle: tests/ref/ref_fisher_back.c, and differences of it.
 * */
#include "encode/fisher_back.h"

#include "algebra/blas.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { ROWS = 512 };

size_t tnp_fisher_size(size_t count, size_t dim)
{
    return count * (1 + 2 * dim);
}

/* ---- parameters ---- */

/* What depends on theta. */
static void make_ready(tnp_fisher_point *p)
{
    size_t k = p->count, kd = k * p->dim;
    double top = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < k; ++i)
        top = fmax(top, p->theta[i]);
    for (size_t i = 0; i < k; ++i)
        sum += exp(p->theta[i] - top);
    for (size_t i = 0; i < k; ++i) {
        p->log_weight[i] = p->theta[i] - top - log(sum);
        p->weight[i] = exp(p->log_weight[i]);
    }
    for (size_t i = 0; i < kd; ++i) {
        p->sigma[i] = exp(p->theta[k + kd + i]);
        p->inverse[i] = exp(-p->theta[k + kd + i]);
    }
}

void tnp_fisher_point_set(tnp_fisher_point *p, const double *theta)
{
    memcpy(p->theta, theta, p->size * sizeof *theta);
    make_ready(p);
}

void tnp_fisher_take(const tn_encoder *e, tnp_fisher_point *p)
{
    const tnp_mixture *m = &e->mixture;
    size_t k = m->count, kd = k * m->dim;
    for (size_t i = 0; i < k; ++i)
        p->theta[i] = log((double)m->weights[i]);
    for (size_t i = 0; i < kd; ++i) {
        p->theta[k + i] = (double)m->means[i];
        p->theta[k + kd + i] = 0.5 * log((double)m->variances[i]);
    }
    for (size_t i = 0; i < p->to * p->from; ++i)
        p->theta[k + 2 * kd + i] = (double)e->projection.basis[i];
    make_ready(p);
}

void tnp_fisher_give(const tnp_fisher_point *p, tn_encoder *e)
{
    const double least = 1e-12;
    tnp_mixture *m = &e->mixture;
    size_t k = p->count, kd = k * p->dim;
    for (size_t i = 0; i < p->to * p->from; ++i)
        e->projection.basis[i] = (float)p->basis[i];
    for (size_t i = 0; i < k; ++i)
        m->weights[i] = (float)fmax(p->weight[i], least);
    for (size_t i = 0; i < kd; ++i) {
        m->means[i] = (float)p->theta[k + i];
        m->variances[i] = (float)(p->sigma[i] * p->sigma[i]);
    }
    tnp_mixture_ready(m);
}

tn_status tnp_fisher_point_new(tn_ctx *ctx, const tn_encoder *e, bool projected, tnp_fisher_point *out)
{
    tn_status st = TN_OK;
    size_t count = e->mixture.count, dim = e->dim, mixture = tnp_fisher_size(count, dim);
    out->count = count;
    out->dim = dim;
    out->to = projected ? e->projection.to : 0;
    out->from = projected ? e->from : 0;
    out->size = mixture + out->to * out->from;
    TN_TRY(tnp_alloc(ctx, out->size, sizeof(double), &out->theta));
    out->basis = projected ? out->theta + mixture : NULL;
    TN_TRY(tnp_alloc(ctx, count, sizeof(double), &out->weight));
    TN_TRY(tnp_alloc(ctx, count, sizeof(double), &out->log_weight));
    TN_TRY(tnp_alloc(ctx, count * dim, sizeof(double), &out->sigma));
    TN_TRY(tnp_alloc(ctx, count * dim, sizeof(double), &out->inverse));
done:
    return st;
}

void tnp_fisher_point_free(tnp_fisher_point *p)
{
    tnp_free_all(p->theta, p->weight, p->log_weight, p->sigma, p->inverse);
}

/* ---- back through the norm ---- */

/* In four lanes, which do not wait for each other. */
static double dot(const double *a, const double *b, size_t n)
{
    enum { WIDTH = 4 };
    double lanes[WIDTH] = {0}, sum = 0;
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH)
        for (size_t l = 0; l < WIDTH; ++l)
            lanes[l] += a[i + l] * b[i + l];
    for (; i < n; ++i)
        sum += a[i] * b[i];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + sum;
}

/* x over its length, by whose inverse it is multiplied; returns that, 0 of what has none. */
static double over_length(double *x, size_t n)
{
    double length = sqrt(dot(x, x, n)), inverse = length > 0 ? 1 / length : 0;
    for (size_t i = 0; i < n; ++i)
        x[i] *= inverse;
    return inverse;
}

/* g = dL/d(x over its length) becomes dL/dx; x becomes x over its length. */
static void length_back(double *x, double *g, size_t n)
{
    double inverse = over_length(x, n), along = dot(g, x, n);
    for (size_t i = 0; i < n; ++i)
        g[i] = (g[i] - x[i] * along) * inverse;
}

/* root (n) is scratch. */
static void root_back(const double *psi, double soften, size_t n, double *root, double *g)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += fabs(psi[i]);
    tnp_simd_get()->roots(psi, soften * sum / (double)n, root, n);
    for (size_t i = 0; i < n; ++i) {
        double slope = g[i] / (2 * root[i]);
        g[i] = root[i] > 0 ? slope : 0;
    }
}

/* A cell as it is before it is divided by its length. */
static void before_length(const tn_encoder *e, const double *psi, size_t n, double *out)
{
    memcpy(out, psi, n * sizeof *out);
    if (e->norm == TNP_NORM_ROOT)
        tnp_simd_get()->roots(psi, 0, out, n);
    for (size_t i = 0; e->norm == TNP_NORM_ROOT && i < n; ++i)
        out[i] = copysign(out[i], psi[i]);
    for (size_t w = 0; e->norm == TNP_NORM_INTRA && w < n; w += e->dim)
        (void)over_length(out + w, e->dim);
}

/* g = dL/dphi becomes dL/dpsi; x (cols) is scratch. */
static void norm_back(const tn_encoder *e, const double *psi, double soften, double *x, double *g)
{
    size_t cells = e->pyramid.cells, cell = tnp_encoder_cell(e);
    if (e->norm == TNP_NORM_RAW)
        return;
    for (size_t c = 0; cells > 1 && c < cells; ++c) {
        before_length(e, psi + c * cell, cell, x + c * cell);
        (void)over_length(x + c * cell, cell);
    }
    if (cells > 1)
        length_back(x, g, cells * cell);
    for (size_t c = 0; c < cells; ++c) {
        const double *from = psi + c * cell;
        double *at = x + c * cell, *slope = g + c * cell;
        before_length(e, from, cell, at);
        length_back(at, slope, cell);
        if (e->norm == TNP_NORM_ROOT)
            root_back(from, soften, cell, at, slope);
        memcpy(at, from, cell * sizeof *at);
        for (size_t w = 0; e->norm == TNP_NORM_INTRA && w < cell; w += e->dim)
            length_back(at + w, slope + w, e->dim);
    }
}

/* ---- back through the sums ---- */

typedef struct back {
    const tn_encoder *e;
    const tnp_fisher_point *p;
    const tnp_fisher_bag *bag;
    const tnp_fisher_options *options;
    size_t cell_rows[TNP_MOST_CELLS];
    double *g, *x;                  /* (cols) each: dL/dpsi; scratch */
    double *u, *v;                  /* (K, d): of the atom at hand */
    float *linear, *square, *level; /* the same as tnp_mixture_slopes wants them */
    double *shares;                 /* (K) */
    tnp_mixture_sums sums;
    float *pulls;   /* (ROWS, d): dL/dx; where the projection is learned, and with it one of the next two */
    float *product; /* (to, from): dL/dP of the atom at hand */
    double *turns;  /* the same in double */
    double *weights, *means, *sigmas; /* of the gradient; weights hold p until the end */
    double *basis;
} back;

static tn_status make_turns(tn_ctx *ctx, back *b)
{
    tn_status st = TN_OK;
    size_t values = b->p->to * b->p->from;
    if (b->options->wide)
        return tnp_alloc_raw(ctx, values, sizeof *b->turns, &b->turns);
    TN_TRY(tnp_alloc_raw(ctx, ROWS * b->p->dim, sizeof *b->pulls, &b->pulls));
    TN_TRY(tnp_alloc_raw(ctx, values, sizeof *b->product, &b->product));
done:
    return st;
}

static tn_status make_back(tn_ctx *ctx, back *b, double *gradient)
{
    tn_status st = TN_OK;
    size_t k = b->p->count, kd = k * b->p->dim, cols = tn_encoder_cols(b->e);
    TN_TRY(tnp_alloc_raw(ctx, cols, sizeof *b->g, &b->g));
    TN_TRY(tnp_alloc_raw(ctx, cols, sizeof *b->x, &b->x));
    TN_TRY(tnp_alloc_raw(ctx, kd, sizeof *b->u, &b->u));
    TN_TRY(tnp_alloc_raw(ctx, kd, sizeof *b->v, &b->v));
    TN_TRY(tnp_alloc_raw(ctx, kd, sizeof *b->linear, &b->linear));
    TN_TRY(tnp_alloc_raw(ctx, kd, sizeof *b->square, &b->square));
    TN_TRY(tnp_alloc_raw(ctx, k, sizeof *b->level, &b->level));
    TN_TRY(tnp_alloc(ctx, k, sizeof *b->shares, &b->shares));
    TN_TRY(tnp_alloc(ctx, k, sizeof *b->weights, &b->weights));
    TN_TRY(tnp_mixture_sums_new(ctx, &b->e->mixture, &b->sums));
    if (b->p->to)
        TN_TRY(make_turns(ctx, b));
    b->means = gradient + k;
    b->sigmas = b->means + kd;
    b->basis = b->sigmas + kd;
done:
    return st;
}

static void free_back(back *b)
{
    tnp_free_all(b->g, b->x, b->u, b->v, b->linear, b->square, b->level, b->shares, b->weights, b->pulls, b->product,
                 b->turns);
    tnp_mixture_sums_free(&b->sums);
}

/* u and v of an atom: sums over the cells that it lies in. */
static void make_slopes(const back *b, size_t atom)
{
    size_t k = b->p->count, d = b->p->dim, kd = k * d;
    memset(b->u, 0, kd * sizeof *b->u);
    memset(b->v, 0, kd * sizeof *b->v);
    for (size_t c = 0; c < b->e->pyramid.cells; ++c) {
        const double *g = b->g + c * 2 * kd;
        if (!tnp_pyramid_holds(&b->e->pyramid, c, atom))
            continue;
        for (size_t w = 0; w < k; ++w) {
            double over = 1 / ((double)b->cell_rows[c] * sqrt(b->p->weight[w])), less = over / sqrt(2);
            for (size_t i = w * d; i < (w + 1) * d; ++i) {
                b->u[i] += g[i] * over;
                b->v[i] += g[kd + i] * less;
            }
        }
    }
}

/* u and v as tnp_mixture_slopes wants them. */
static void round_slopes(const back *b)
{
    size_t d = b->p->dim;
    for (size_t k = 0; k < b->p->count; ++k) {
        double sum = 0;
        for (size_t i = k * d; i < (k + 1) * d; ++i) {
            double inverse = b->p->inverse[i];
            b->linear[i] = (float)(b->u[i] * inverse);
            b->square[i] = (float)(b->v[i] * inverse * inverse);
            sum += b->v[i];
        }
        b->level[k] = (float)sum;
    }
}

/* Where the projection is learned, ROWS rows at a time: their slopes are still near when they are multiplied. */
static tn_status back_in_float(tn_ctx *ctx, back *b, const tnp_fisher_atom *atom)
{
    tn_status st = TN_OK;
    size_t d = b->p->dim, to = b->p->to, from = b->p->from, width = from + d - to, some = to ? ROWS : atom->count;
    tnp_mixture_slopes slopes = {b->linear, b->square, b->level, b->options->reach};
    round_slopes(b);
    for (size_t i = 0; i < atom->count; i += some) {
        size_t n = tnp_min(some, atom->count - i);
        TN_TRY(tnp_mixture_back(ctx, &b->e->mixture, &slopes, atom->rows + i * d, n, b->shares, &b->sums, b->pulls));
        if (to)
            TN_TRY(
                tnp_sgemm_tn(ctx, to, from, n, b->pulls, d, atom->raw + i * width, width, i ? 1 : 0, b->product, from));
    }
done:
    return st;
}

/* What the descriptors of an atom say. */
static tn_status add_atom(tn_ctx *ctx, back *b, size_t atom)
{
    tn_status st = TN_OK;
    const tnp_fisher_bag *bag = b->bag;
    size_t k = b->p->count, d = b->p->dim, start = bag->starts[atom], n = bag->starts[atom + 1] - start;
    size_t width = b->p->from + d - b->p->to;
    tnp_fisher_atom at = {bag->rows + start * d, b->p->to ? bag->raw + start * width : NULL, n, b->u, b->v};
    if (n == 0)
        return TN_OK;
    double times = bag->whole ? (double)(bag->whole[atom + 1] - bag->whole[atom]) / (double)n : 1;
    make_slopes(b, atom);
    memset(b->shares, 0, k * sizeof *b->shares);
    tnp_mixture_sums_clear(&b->e->mixture, &b->sums);
    TN_TRY(b->options->wide ? tnp_fisher_wide_back(ctx, b->p, &at, b->shares, &b->sums, b->turns)
                            : back_in_float(ctx, b, &at));
    for (size_t w = 0; w < k; ++w) {
        double share = b->shares[w], zero = b->sums.zero[w];
        for (size_t i = w * d; i < (w + 1) * d; ++i) {
            double inverse = b->p->inverse[i];
            b->means[i] += times * (b->sums.first[i] * inverse - b->u[i] * share) * inverse;
            b->sigmas[i] += times * (b->sums.second[i] * inverse * inverse - zero - 2 * b->v[i] * share);
        }
        b->weights[w] += times * zero;
    }
    for (size_t i = 0; i < b->p->to * b->p->from; ++i)
        b->basis[i] += times * (b->options->wide ? b->turns[i] : (double)b->product[i]);
done:
    return st;
}

/* What is known of a cell's descriptors by its vector. */
static void add_cell(const back *b, size_t c)
{
    size_t d = b->p->dim, kd = b->p->count * d;
    const double *g = b->g + c * 2 * kd, *psi = b->bag->psi + c * 2 * kd;
    for (size_t w = 0; w < b->p->count; ++w) {
        double sum = 0;
        for (size_t i = w * d; i < (w + 1) * d; ++i) {
            double first = g[i] * psi[i], second = g[kd + i] * psi[kd + i];
            b->means[i] -= sqrt(2) * b->p->inverse[i] * g[kd + i] * psi[i];
            b->sigmas[i] -= first + 2 * second;
            sum += first + second;
        }
        b->weights[w] -= 0.5 * sum;
    }
}

tn_status tnp_fisher_back(tn_ctx *ctx, const tn_encoder *e, const tnp_fisher_point *point, const tnp_fisher_bag *bag,
                          const tnp_fisher_options *options, double *gradient)
{
    tn_status st = TN_OK;
    back b = {.e = e, .p = point, .bag = bag, .options = options};
    double all = 0;
    TN_TRY(make_back(ctx, &b, gradient));
    tnp_encoder_cell_rows(e, bag->whole ? bag->whole : bag->starts, b.cell_rows);
    memcpy(b.g, bag->slope, tn_encoder_cols(e) * sizeof *b.g);
    norm_back(e, bag->psi, options->soften, b.x, b.g);
    for (size_t a = 0; a < tnp_encoder_atoms(e); ++a)
        TN_TRY(add_atom(ctx, &b, a));
    for (size_t c = 0; c < e->pyramid.cells; ++c)
        add_cell(&b, c);
    for (size_t k = 0; k < point->count; ++k)
        all += b.weights[k];
    for (size_t k = 0; k < point->count; ++k)
        gradient[k] += b.weights[k] - point->weight[k] * all;
done:
    free_back(&b);
    return st;
}
