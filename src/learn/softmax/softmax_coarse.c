/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With V = U X' (rank, N) known, everything in the subspace is cheap: a product is rank / dim of one with X.
 *
 *   f(A) = 1/2 |W + A U|^2 + loss(S + V'A' + b),   gradient  (W + A U) U' + R'V',   product  P + C(V'P')'V'
 *
 * Newton's method with conjugate gradients, preconditioned by the diagonal 1 + rho_k |v_j|^2, rho_k the mean weight of
 * class k. U is turned so that V V' is that diagonal, free intercepts are those about the mean of V: a sixth less work
 * along a path of 1500 x 512 with 15 classes. Rows are visited block by block, so that of all that is (N, k) only the
 * scores are kept. 48 directions: with 64 no step is saved and each costs more. Of few classes 32 do as well while C is
 * small, and find a path's end a twentieth sooner. Milliseconds with 48 and 32 to 1e-2, (1500 x 512, 15 classes): C = 1
 * 5.2 and 4.5, C = 10 9.0 and 8.3, C = 100 11.3 and 13.7; (3030 x 1280, 101) C = 0.1 14 and 20, C = 100 97 and 106. */
#include "learn/softmax/softmax_coarse.h"
#include "algebra/blas.h"
#include "learn/design/tiles.h"
#include "learn/softmax/class_space.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { CG_MOST = 12 };
static const double FORCING = 0.15, LEFT = 1e-4; /* of the residual a step; of the squared gradient in all */

size_t tnp_coarse_most(size_t dim)
{
    return tnp_min(TNP_COARSE_RANK, dim) + 1;
}

size_t tnp_coarse_bytes(size_t rows, size_t dim, size_t k)
{
    size_t q = tnp_coarse_most(dim);
    size_t sums = tnp_softmax_sum_capacity(k), made = tnp_class_space_bytes(rows, dim, k, TNP_COARSE_RANK),
           turned = 4 * q * tnp_max(rows, dim + 1) + 32 * q * (q + 1);
    return 4 * (q * dim + rows * q + 8 * k * q) + 16 * q + 8 * sums +
           tnp_max(tnp_max(made, turned), tnp_tiles_bytes(rows, q, k, TNP_SOFTMAX_CHUNK, sums));
}

/* Takes the columns' means off xu; now is scratch. */
static void centre(tnp_coarse *c, size_t rows)
{
    const tnp_simd *simd = tnp_simd_get();
    for (size_t i = 0; i < rows; ++i)
        simd->add_to_double(c->xu + i * c->q, c->mean, c->q);
    c->mean[c->rank] = 0;
    for (size_t j = 0; j < c->q; ++j)
        c->now[j] = (float)(c->mean[j] /= (double)rows);
    for (size_t i = 0; i < rows; ++i)
        simd->shift_scale(c->xu + i * c->q, c->now, 1, c->xu + i * c->q, c->q);
}

/* Turns the directions so that the columns of xu have no products with each other: (q, q) t turns rows of q numbers. */
static tn_status turn(tnp_coarse *c, size_t rows, const float *t)
{
    tn_status st = TN_OK;
    float *was = NULL;
    size_t dim = c->dim, q = c->q;
    TN_TRY(tnp_alloc_raw(c->ctx, tnp_max(rows * q, c->rank * dim), sizeof *was, &was));
    memcpy(was, c->xu, rows * q * sizeof *was);
    TN_TRY(tnp_sgemm_nt(c->ctx, rows, q, q, was, q, t, q, 0, c->xu, q));
    memcpy(was, c->u, c->rank * dim * sizeof *was);
    TN_TRY(tnp_sgemm_nn(c->ctx, c->rank, dim, c->rank, t, q, was, dim, 0, c->u, dim));
done:
    tnp_free(was);
    return st;
}

static tn_status turn_apart(tnp_coarse *c, size_t rows)
{
    tn_status st = TN_OK;
    size_t q = c->q, r = c->rank;
    float *t = NULL;
    double *a = NULL, *value = NULL, *mean = NULL;
    TN_TRY(tnp_alloc(c->ctx, q * q, sizeof *t, &t));
    TN_TRY(tnp_alloc(c->ctx, tnp_max(1, r * r), sizeof *a, &a));
    TN_TRY(tnp_alloc(c->ctx, tnp_max(1, r), sizeof *value, &value));
    TN_TRY(tnp_alloc(c->ctx, q, sizeof *mean, &mean));
    TN_TRY(tnp_ssyrk_cols(c->ctx, rows, q, c->xu, q, 0, t));
    for (size_t i = 0; i < r * r; ++i)
        a[i] = (double)t[i / r * q + i % r];
    c->square[r] = (double)t[r * q + r];
    if (r > 0)
        TN_TRY(tnp_eigen(c->ctx, r, a, value));
    memset(t, 0, q * q * sizeof *t);
    t[r * q + r] = 1;
    for (size_t i = 0; i < r; ++i) {
        c->square[i] = fmax(0, value[i]);
        for (size_t j = 0; j < r; ++j) {
            t[i * q + j] = (float)a[i * r + j];
            mean[i] += a[i * r + j] * c->mean[j];
        }
    }
    memcpy(c->mean, mean, q * sizeof *mean);
    TN_TRY(turn(c, rows, t));
done:
    tnp_free_all(t, a, value, mean);
    return st;
}

/* xu: the rows in the subspace. */
static tn_status project(const tnp_rows *x, tnp_coarse *c)
{
    tn_status st = TN_OK;
    size_t dim = c->dim, width = dim + 1;
    float *w = NULL; /* (q, width): u, and what has no product but the constant */
    TN_TRY(tnp_alloc(c->ctx, c->q * width, sizeof *w, &w));
    for (size_t j = 0; j < c->rank; ++j)
        memcpy(w + j * width, c->u + j * dim, dim * sizeof *w);
    w[c->rank * width + dim] = c->bias ? 1 : 0;
    TN_TRY(tnp_rows_pass(c->ctx, x, &(tnp_pass){.k = c->q, .w = w, .s = c->xu}));
    if (c->bias && !c->bias_penalised)
        centre(c, x->rows);
    TN_TRY(turn_apart(c, x->rows));
done:
    tnp_free(w);
    return st;
}

tn_status tnp_coarse_init(const tnp_rows *x, const tnp_softmax_rows *rows, size_t most, bool bias, bool penalised,
                          tnp_coarse *c)
{
    tn_status st = TN_OK;
    tn_ctx *ctx = rows->ctx;
    *c = (tnp_coarse){
        .ctx = ctx, .rows = rows, .dim = x->dim, .k = rows->k, .bias = bias, .bias_penalised = bias && penalised};
    c->count = rows->rows;
    TN_TRY(tnp_class_space(ctx, x, rows->loss->y, rows->loss->row_weight, most, &c->u, &c->rank));
    c->q = c->rank + 1;
    float **wide[] = {&c->now, &c->moved, &c->g, &c->d, &c->r, &c->p, &c->hp, &c->m};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i)
        TN_TRY(tnp_alloc(ctx, c->k * c->q, sizeof(float), wide[i]));
    TN_TRY(tnp_alloc_raw(ctx, rows->rows * c->q, sizeof *c->xu, &c->xu));
    TN_TRY(tnp_alloc(ctx, c->q, sizeof *c->square, &c->square));
    TN_TRY(tnp_alloc(ctx, c->q, sizeof *c->mean, &c->mean));
    TN_TRY(tnp_alloc(ctx, tnp_softmax_sum_capacity(c->k), sizeof *c->sums, &c->sums));
    TN_TRY(project(x, c));
done:
    return st;
}

void tnp_coarse_destroy(tnp_coarse *c)
{
    tnp_free_all(c->u, c->xu, c->square, c->mean, c->now, c->moved, c->g, c->d, c->r, c->p, c->hp, c->m, c->sums);
}

void tnp_coarse_take(const tnp_softmax_rows *rows, tnp_coarse *from, tnp_coarse *to)
{
    if (rows && from->count != rows->rows) {
        tnp_coarse_destroy(from);
        *from = (tnp_coarse){0};
    }
    *to = *from;
    *from = (tnp_coarse){0};
    to->rows = rows;
    to->ctx = rows && to->count ? rows->ctx : NULL;
}

/* Is coordinate i of (k, q) penalised? */
static bool ridge(const tnp_coarse *c, size_t i)
{
    return i % c->q < c->rank || c->bias_penalised;
}

static double dot(const tnp_coarse *c, const float *a, const float *b)
{
    return tnp_dot(a, b, c->k * c->q);
}

/* A pass over the rows in the subspace, where the constant is the intercept. */
typedef struct visit {
    const tnp_coarse *c;
    const float *s;
    double t; /* of the line */
} visit;

static tn_status on_rows(const tnp_coarse *c, const visit *at, tnp_pass pass)
{
    tnp_tiled_rows x = {c->xu, c->q, c->rows->rows, c->rank};
    pass.k = c->k;
    pass.arg = (void *)(uintptr_t)at;
    pass.chunk = TNP_SOFTMAX_CHUNK;
    pass.work = 16 * (double)c->k;
    tn_status st = tnp_tiles_pass(c->ctx, &x, &pass);
    for (size_t j = 0; pass.back && !c->bias && j < c->k; ++j)
        pass.back[j * c->q + c->rank] = 0;
    return st;
}

static void slope_panel(void *arg, const tnp_panel *at)
{
    const visit *v = arg;
    tnp_softmax_slope_here(v->c->rows, at->start, at->count, v->s, at->t, at->sums);
}

static void curve_panel(void *arg, const tnp_panel *at)
{
    const visit *v = arg;
    memcpy(at->t, at->s, at->count * v->c->k * sizeof *at->t);
    tnp_softmax_curve_here(v->c->rows, at->start, at->count, v->s, at->scratch, at->t);
}

static void line_panel(void *arg, const tnp_panel *at)
{
    const visit *v = arg;
    tnp_softmax_line_here(v->c->rows, at->start, at->count, v->s, at->s, v->t, at->sums);
}

/* g = R'V' and the sums. */
static tn_status gradient(const tnp_coarse *c, const float *s)
{
    tnp_pass pass = {.body = slope_panel, .back = c->g, .sum_count = tnp_softmax_sum_capacity(c->k), .sums = c->sums};
    return on_rows(c, &(visit){.c = c, .s = s}, pass);
}

/* hp = C(V'p')'V'. */
static tn_status product(const tnp_coarse *c, const float *s)
{
    tnp_pass pass = {.w = c->p, .body = curve_panel, .scratch = c->k, .back = c->hp};
    return on_rows(c, &(visit){.c = c, .s = s}, pass);
}

/* a += the penalty's part, where the place is b. */
static void add_ridge(const tnp_coarse *c, const float *b, float *a)
{
    for (size_t i = 0; i < c->k * c->q; ++i)
        a[i] += ridge(c, i) ? b[i] : 0;
}

/* m = inverse of the diagonal, by the sums of the last gradient. */
static void make_diagonal(tnp_coarse *c)
{
    const double *weight = c->sums + 1 + c->k;
    for (size_t i = 0; i < c->k * c->q; ++i) {
        double value = weight[i / c->q] / (double)c->rows->rows * c->square[i % c->q] + (ridge(c, i) ? 1 : 0);
        c->m[i] = value > 0 ? (float)(1 / value) : 0;
    }
}

/* d ~ -H^-1 g by conjugate gradients. */
static tn_status direction(tnp_coarse *c, const float *s)
{
    tn_status st = TN_OK;
    size_t size = c->k * c->q;
    double rz = 0, target;
    make_diagonal(c);
    for (size_t i = 0; i < size; ++i) {
        c->d[i] = 0;
        c->r[i] = -c->g[i];
        c->p[i] = c->m[i] * c->r[i];
        rz += (double)c->r[i] * (double)c->p[i];
    }
    target = FORCING * FORCING * rz;
    for (size_t round = 0; round < CG_MOST && rz > target; ++round) {
        TN_TRY(product(c, s));
        add_ridge(c, c->p, c->hp);
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
    for (size_t j = 0; j < c->k; ++j) {
        double last = (double)c->moved[j * c->q + c->rank];
        for (size_t i = 0; i < c->rank; ++i)
            last -= (double)c->moved[j * c->q + i] * c->mean[i];
        w[j * width + c->dim] += (float)last;
    }
    return tnp_sgemm_nn(c->ctx, c->k, c->dim, c->rank, c->moved, c->q, c->u, c->dim, 1, w, width);
}

typedef struct line_job {
    const tnp_coarse *c;
    const float *s;
    double aside, stiff; /* the penalty's first derivative at 0, and its second */
} line_job;

static tn_status line(void *arg, double t, double *first, double *second)
{
    const line_job *job = arg;
    double sums[2] = {0};
    tn_status st = on_rows(job->c, &(visit){job->c, job->s, t},
                           (tnp_pass){.w = job->c->d, .body = line_panel, .sum_count = 2, .sums = sums});
    *first = sums[0] + job->aside + t * job->stiff;
    *second = sums[1] + job->stiff;
    return st;
}

/* Along d as far as the slope falls: scores, and the place in the subspace. */
static tn_status take_step(tnp_coarse *c, float *s)
{
    tn_status st = TN_OK;
    line_job job = {.c = c, .s = s};
    double t = 0;
    for (size_t i = 0; i < c->k * c->q; ++i) {
        job.aside += ridge(c, i) ? (double)c->now[i] * (double)c->d[i] : 0;
        job.stiff += ridge(c, i) ? (double)c->d[i] * (double)c->d[i] : 0;
    }
    TN_TRY(tnp_line_search(line, &job, dot(c, c->g, c->d), 0.1, &t));
    for (size_t i = 0; i < c->k * c->q; ++i) {
        c->d[i] *= (float)t;
        c->now[i] += c->d[i];
        c->moved[i] += c->d[i];
    }
    TN_TRY(on_rows(c, NULL, (tnp_pass){.w = c->d, .s = s, .add = true}));
done:
    return st;
}

tn_status tnp_coarse_solve(tnp_coarse *c, size_t steps, double enough, float *w, float *s)
{
    tn_status st = TN_OK;
    memset(c->moved, 0, c->k * c->q * sizeof *c->moved);
    TN_TRY(look(c, w));
    for (size_t step = 0; step < steps; ++step) {
        TN_TRY(gradient(c, s));
        add_ridge(c, c->now, c->g);
        double square = dot(c, c->g, c->g);
        enough = step ? enough : fmax(enough, LEFT * square);
        if (square <= enough)
            break;
        TN_TRY(direction(c, s));
        TN_TRY(take_step(c, s));
        TN_TRY(tnp_cancelled(c->ctx));
    }
    TN_TRY(give_back(c, w));
done:
    return st;
}
