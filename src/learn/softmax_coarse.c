/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With V = U X' (rank, N) known, everything in the subspace is cheap: a product is rank / dim of one with X.
 *
 *   f(A) = 1/2 |W + A U|^2 + loss(S + V'A' + b),   gradient  (W + A U) U' + R'V',   product  P + C(V'P')'V'
 *
 * Newton's method with conjugate gradients, preconditioned by the diagonal 1 + rho_k |v_j|^2, rho_k the mean weight of
 * class k; the step is searched on kept scores. 48 directions: with 32 the steps after the first are
 * as many or one more, with 64 none is saved and each costs more. */
#include "learn/softmax_coarse.h"
#include "base/blas.h"
#include "learn/class_space.h"

#include <math.h>
#include <string.h>

enum { MOST_RANK = 48, CG_MOST = 12 };
static const double FORCING = 0.15, LEFT = 1e-4; /* of the residual a step; of the squared gradient in all */

size_t tnp_coarse_bytes(size_t rows, size_t dim, size_t k)
{
    size_t q = tnp_min(MOST_RANK, dim) + 1;
    return 4 * (q * dim + rows * q + 8 * k * q) + 8 * q + 16 * k + tnp_class_space_bytes(dim, k, MOST_RANK) +
           8 * tnp_design_block_rows(rows, dim);
}

/* xu: the rows in the subspace, and the squares of its columns. */
static tn_status project(tn_ctx *ctx, tnp_design *design, tnp_coarse *c)
{
    for (size_t b = 0; b < design->blocks; ++b) {
        const float *x = NULL;
        size_t start, n;
        tn_status st = tnp_design_block(ctx, design, b, &x, &start, &n);
        if (st == TN_OK)
            st = tnp_sgemm_nt(ctx, n, c->rank, c->dim, x, c->dim, c->u, c->dim, 0, c->xu + start * c->q, c->q);
        if (st != TN_OK)
            return st;
    }
    for (size_t i = 0; i < design->rows; ++i) {
        float *v = c->xu + i * c->q;
        v[c->rank] = c->bias ? 1 : 0;
        for (size_t j = 0; j < c->q; ++j)
            c->square[j] += (double)v[j] * (double)v[j];
    }
    return TN_OK;
}

tn_status tnp_coarse_init(tnp_design *design, const tnp_softmax_rows *rows, bool bias, bool penalised, tnp_coarse *c)
{
    tn_status st = TN_OK;
    tn_ctx *ctx = rows->ctx;
    *c = (tnp_coarse){
        .ctx = ctx, .rows = rows, .dim = design->dim, .k = rows->k, .bias = bias, .bias_penalised = bias && penalised};
    TN_TRY(tnp_class_space(ctx, design, rows->loss->y, MOST_RANK, &c->u, &c->rank));
    c->q = c->rank + 1;
    float **wide[] = {&c->now, &c->moved, &c->g, &c->d, &c->r, &c->p, &c->hp, &c->m};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i)
        TN_TRY(tnp_alloc(ctx, c->k * c->q, sizeof(float), wide[i]));
    TN_TRY(tnp_alloc_raw(ctx, rows->rows * c->q, sizeof *c->xu, &c->xu));
    TN_TRY(tnp_alloc(ctx, c->q, sizeof *c->square, &c->square));
    TN_TRY(tnp_alloc(ctx, c->k, sizeof *c->weight, &c->weight));
    TN_TRY(tnp_alloc(ctx, c->k, sizeof *c->sums, &c->sums));
    TN_TRY(project(ctx, design, c));
done:
    return st;
}

void tnp_coarse_destroy(tnp_coarse *c)
{
    void *all[] = {c->u, c->xu, c->square, c->now, c->moved, c->g, c->d, c->r, c->p, c->hp, c->m, c->weight, c->sums};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        tnp_free(all[i]);
}

/* Is coordinate i of (k, q) penalised? */
static bool ridge(const tnp_coarse *c, size_t i)
{
    return i % c->q < c->rank || c->bias_penalised;
}

static double dot(const tnp_coarse *c, const float *a, const float *b)
{
    double sum = 0;
    for (size_t i = 0; i < c->k * c->q; ++i)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* out (k, q) = z' xu + the penalty's part. */
static tn_status back(const tnp_coarse *c, const float *z, const float *from, float *out)
{
    tn_status st = tnp_sgemm_tn(c->ctx, c->k, c->q, c->rows->rows, z, c->k, c->xu, c->q, 0, out, c->q);
    for (size_t i = 0; i < c->k * c->q; ++i)
        out[i] += ridge(c, i) ? from[i] : 0;
    return st;
}

static tn_status ahead(const tnp_coarse *c, const float *a, float *z)
{
    return tnp_sgemm_nt(c->ctx, c->rows->rows, c->k, c->q, c->xu, c->q, a, c->q, 0, z, c->k);
}

/* m = inverse of the diagonal. */
static void make_diagonal(tnp_coarse *c, const float *p)
{
    tnp_softmax_weight(c->rows, p, c->weight);
    for (size_t i = 0; i < c->k * c->q; ++i) {
        double value = c->weight[i / c->q] / (double)c->rows->rows * c->square[i % c->q] + (ridge(c, i) ? 1 : 0);
        c->m[i] = value > 0 ? (float)(1 / value) : 0;
    }
}

/* d ~ -H^-1 g by conjugate gradients. */
static tn_status direction(tnp_coarse *c, const float *p, float *z)
{
    tn_status st = TN_OK;
    size_t size = c->k * c->q;
    double rz = 0, target;
    make_diagonal(c, p);
    for (size_t i = 0; i < size; ++i) {
        c->d[i] = 0;
        c->r[i] = -c->g[i];
        c->p[i] = c->m[i] * c->r[i];
        rz += (double)c->r[i] * (double)c->p[i];
    }
    target = FORCING * FORCING * rz;
    for (size_t round = 0; round < CG_MOST && rz > target; ++round) {
        TN_TRY(ahead(c, c->p, z));
        tnp_softmax_curve(c->rows, p, z);
        TN_TRY(back(c, z, c->p, c->hp));
        double bent = dot(c, c->p, c->hp), next = 0;
        if (!(bent > 0))
            break;
        float step = (float)(rz / bent);
        for (size_t i = 0; i < size; ++i) {
            c->d[i] += step * c->p[i];
            c->r[i] -= step * c->hp[i];
            next += (double)c->r[i] * (double)(c->m[i] * c->r[i]);
        }
        for (size_t i = 0; i < size; ++i)
            c->p[i] = c->m[i] * c->r[i] + (float)(next / rz) * c->p[i];
        rz = next;
    }
done:
    return st;
}

/* now (k, q) = w u', intercepts last. */
static tn_status look(tnp_coarse *c, const float *w)
{
    size_t width = c->dim + 1;
    for (size_t j = 0; j < c->k; ++j)
        c->now[j * c->q + c->rank] = w[j * width + c->dim];
    return tnp_sgemm_nt(c->ctx, c->k, c->rank, c->dim, w, width, c->u, c->dim, 0, c->now, c->q);
}

/* w += moved u, intercepts last. */
static tn_status give_back(tnp_coarse *c, float *w)
{
    size_t width = c->dim + 1;
    for (size_t j = 0; j < c->k; ++j)
        w[j * width + c->dim] += c->moved[j * c->q + c->rank];
    return tnp_sgemm_nn(c->ctx, c->k, c->dim, c->rank, c->moved, c->q, c->u, c->dim, 1, w, width);
}

tn_status tnp_coarse_solve(tnp_coarse *c, size_t steps, double enough, float *w, float *s, float *p, float *z)
{
    tn_status st = TN_OK;
    size_t size = c->k * c->q;
    memset(c->moved, 0, size * sizeof *c->moved);
    TN_TRY(look(c, w));
    for (size_t step = 0; step < steps; ++step) {
        double stiff = 0, t;
        tnp_softmax_value(c->rows, s, p);
        tnp_softmax_slope(c->rows, p, z, c->sums);
        TN_TRY(back(c, z, c->now, c->g));
        double square = dot(c, c->g, c->g);
        enough = step ? enough : fmax(enough, LEFT * square);
        if (square <= enough)
            break;
        TN_TRY(direction(c, p, z));
        TN_TRY(ahead(c, c->d, z));
        for (size_t i = 0; i < size; ++i)
            stiff += ridge(c, i) ? (double)c->d[i] * (double)c->d[i] : 0;
        t = tnp_softmax_search(c->rows, s, z, dot(c, c->g, c->d), stiff);
        tnp_softmax_move(c->rows, t, z, s);
        for (size_t i = 0; i < size; ++i) {
            c->now[i] += (float)t * c->d[i];
            c->moved[i] += (float)t * c->d[i];
        }
        TN_TRY(tnp_cancelled(c->ctx));
    }
    TN_TRY(give_back(c, w));
done:
    return st;
}
