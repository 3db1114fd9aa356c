/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With B = diag(h)^1/2 X over the active rows (A of them) and u = h^1/2, the system in (d, the intercept's e) is
 *
 *   [ I + B'B    B'u     ] [d]     [g  ]
 *   [ u'B        u'u + r ] [e] = - [g_b]      r the intercept's ridge
 *
 * More active rows than columns: the matrix itself, by its Cholesky factor. Fewer: through K = I + B B' (A, A), as
 * (I + B'B)^-1 = I - B' K^-1 B: with p = K^-1 u and q = K^-1 B g
 *
 *   e = (u'q - g_b) / (u'p + r),   d = -g + B'(q - e p).
 *
 * A class of a hundred against the rest has few hundred active rows after the first steps, whatever the width. Conjugate gradients
 * were refused here: what comes to this file is so conditioned that they need thousands of passes. */
#include "learn/linear/exact_step.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { PANEL = 256, ROWS = 64, PIECE = 512 };
/* Of the largest diagonal entry: tried one after the other until the factor exists. */
static const double SHIFTS[] = {0, 1e-15, 1e-12, 1e-9, 1e-6};
enum { SHIFT_COUNT = sizeof SHIFTS / sizeof *SHIFTS };

/* ---- products ---- */

typedef struct row_job {
    const float *x;
    const double *a, *r;
    double *out;
    size_t rows, dim, start;
} row_job;

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

static void times_chunk(void *arg, size_t chunk)
{
    const row_job *job = arg;
    for (size_t i = chunk * ROWS; i < tnp_min(job->rows, (chunk + 1) * ROWS); ++i)
        job->out[job->start + i] = mixed_dot(job->x + i * job->dim, job->a, job->dim) + job->a[job->dim];
}

static void back_piece(void *arg, size_t piece)
{
    const row_job *job = arg;
    size_t from = piece * PIECE, n = tnp_min(PIECE, job->dim - from);
    for (size_t i = 0; i < job->rows; ++i) {
        double r = job->r[job->start + i], *out = job->out + from;
        const float *x = job->x + i * job->dim + from;
        for (size_t j = 0; r != 0 && j < n; ++j)
            out[j] += r * (double)x[j];
    }
}

tn_status tnp_rows_times(tn_ctx *ctx, tnp_design *design, const double *a, double *out)
{
    for (size_t b = 0; b < design->blocks; ++b) {
        row_job job = {.a = a, .out = out, .dim = design->dim};
        tn_status st = tnp_design_block(ctx, design, b, &job.x, &job.start, &job.rows);
        if (st != TN_OK)
            return st;
        tnp_parallel(ctx, tnp_threads_for(ctx, 2.0 * (double)job.rows * (double)job.dim), (job.rows + ROWS - 1) / ROWS,
                     times_chunk, &job);
    }
    return TN_OK;
}

tn_status tnp_times_rows(tn_ctx *ctx, tnp_design *design, const double *r, double *out)
{
    memset(out, 0, (design->dim + 1) * sizeof *out);
    for (size_t b = 0; b < design->blocks; ++b) {
        row_job job = {.r = r, .out = out, .dim = design->dim};
        tn_status st = tnp_design_block(ctx, design, b, &job.x, &job.start, &job.rows);
        if (st != TN_OK)
            return st;
        tnp_parallel(ctx, tnp_threads_for(ctx, 2.0 * (double)job.rows * (double)job.dim), (job.dim + PIECE - 1) / PIECE,
                     back_piece, &job);
    }
    for (size_t i = 0; i < design->rows; ++i)
        out[design->dim] += r[i];
    return TN_OK;
}

/* ---- factors ---- */

/* a (n, n) + shift I = R'R, R in the upper triangle. *found is false where it is not definite: a is lost then. */
static tn_status factor(tn_ctx *ctx, size_t n, double shift, double *a, bool *found)
{
    for (size_t i = 0; i < n; ++i)
        a[i * n + i] += shift;
    tn_status st = tnp_cholesky(ctx, n, a);
    *found = st == TN_OK;
    return st == TN_ERR_NUMERIC ? TN_OK : st;
}

/* b <- (R'R)^-1 b. */
static void solve(size_t n, const double *r, double *b)
{
    for (size_t i = 0; i < n; ++i) {
        b[i] /= r[i * n + i];
        for (size_t j = i + 1; j < n; ++j)
            b[j] -= r[i * n + j] * b[i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; ++j)
            b[i] -= r[i * n + j] * b[j];
        b[i] /= r[i * n + i];
    }
}

static double largest(size_t n, const double *a)
{
    double most = 0;
    for (size_t i = 0; i < n; ++i)
        most = fmax(most, a[i * n + i]);
    return most;
}

/* ---- many active rows ---- */

/* a (width, width) += B'B with u as B's last column; `rows` (PANEL, width) is scratch. */
static tn_status add_products(tn_ctx *ctx, tnp_design *x, const tnp_system *v, double *rows, double *a)
{
    tn_status st = TN_OK;
    size_t dim = x->dim, width = dim + 1;
    for (size_t b = 0; b < x->blocks; ++b) {
        const float *from = NULL;
        size_t start, count, n = 0;
        TN_TRY(tnp_design_block(ctx, x, b, &from, &start, &count));
        for (size_t i = 0; i < count; ++i) {
            double root = sqrt(v->h[start + i]);
            for (size_t j = 0; root > 0 && j < dim; ++j)
                rows[n * width + j] = root * (double)from[i * dim + j];
            rows[n * width + dim] = v->bias ? root : 0;
            n += root > 0;
            if (n == PANEL || (i + 1 == count && n > 0)) {
                TN_TRY(tnp_dsyrk_cols(ctx, n, width, rows, width, a));
                n = 0;
            }
        }
    }
done:
    return st;
}

static tn_status by_columns(tn_ctx *ctx, tnp_design *x, const tnp_system *v, double *d, bool *found)
{
    tn_status st = TN_OK;
    double *rows = NULL, *a = NULL;
    size_t width = x->dim + 1;
    TN_TRY(tnp_alloc_raw(ctx, PANEL * width, sizeof *rows, &rows));
    TN_TRY(tnp_alloc_raw(ctx, width * width, sizeof *a, &a));
    *found = false;
    for (size_t i = 0; !*found && i < SHIFT_COUNT; ++i) {
        memset(a, 0, width * width * sizeof *a);
        TN_TRY(add_products(ctx, x, v, rows, a));
        double most = largest(width, a);
        for (size_t j = 0; j < width; ++j)
            a[j * width + j] += j < x->dim || !v->bias ? 1 : v->ridge;
        TN_TRY(factor(ctx, width, SHIFTS[i] * most, a, found));
    }
    for (size_t i = 0; i < width; ++i)
        d[i] = -v->g[i];
    if (*found)
        solve(width, a, d);
    if (!v->bias)
        d[x->dim] = 0;
done:
    tnp_free(rows);
    tnp_free(a);
    return st;
}

/* ---- few active rows ---- */

/* b (active, dim), u (active). */
static tn_status gather_active(tn_ctx *ctx, tnp_design *x, const double *h, double *b, double *u)
{
    size_t dim = x->dim, n = 0;
    for (size_t at = 0; at < x->blocks; ++at) {
        const float *from = NULL;
        size_t start, count;
        tn_status st = tnp_design_block(ctx, x, at, &from, &start, &count);
        if (st != TN_OK)
            return st;
        for (size_t i = 0; i < count; ++i) {
            if (!(h[start + i] > 0))
                continue;
            u[n] = sqrt(h[start + i]);
            for (size_t j = 0; j < dim; ++j)
                b[n * dim + j] = u[n] * (double)from[i * dim + j];
            ++n;
        }
    }
    return TN_OK;
}

typedef struct few {
    size_t n, dim;
    double *b, *u, *k, *p, *q; /* (n, dim), n, (n, n), n, n */
} few;

/* d and its intercept, from the factor of K. */
static void substitute(const few *f, const tnp_system *v, double *d)
{
    double up = 0, uq = 0, e = 0;
    for (size_t i = 0; i < f->n; ++i) {
        f->p[i] = f->u[i];
        f->q[i] = 0;
        for (size_t j = 0; j < f->dim; ++j)
            f->q[i] += f->b[i * f->dim + j] * v->g[j];
    }
    solve(f->n, f->k, f->p);
    solve(f->n, f->k, f->q);
    for (size_t i = 0; i < f->n; ++i) {
        up += f->u[i] * f->p[i];
        uq += f->u[i] * f->q[i];
    }
    if (v->bias && up + v->ridge > 0)
        e = (uq - v->g[f->dim]) / (up + v->ridge);
    for (size_t j = 0; j < f->dim; ++j)
        d[j] = -v->g[j];
    d[f->dim] = e;
    for (size_t i = 0; i < f->n; ++i)
        for (size_t j = 0; j < f->dim; ++j)
            d[j] += (f->q[i] - e * f->p[i]) * f->b[i * f->dim + j];
}

static tn_status by_rows(tn_ctx *ctx, tnp_design *x, const tnp_system *v, size_t active, double *d, bool *found)
{
    tn_status st = TN_OK;
    few f = {.n = active, .dim = x->dim};
    size_t room = tnp_max(active, 1);
    TN_TRY(tnp_alloc_raw(ctx, room * f.dim, sizeof *f.b, &f.b));
    TN_TRY(tnp_alloc_raw(ctx, room, sizeof *f.u, &f.u));
    TN_TRY(tnp_alloc_raw(ctx, room * room, sizeof *f.k, &f.k));
    TN_TRY(tnp_alloc_raw(ctx, room, sizeof *f.p, &f.p));
    TN_TRY(tnp_alloc_raw(ctx, room, sizeof *f.q, &f.q));
    TN_TRY(gather_active(ctx, x, v->h, f.b, f.u));
    *found = active == 0;
    for (size_t i = 0; !*found && i < SHIFT_COUNT; ++i) {
        memset(f.k, 0, active * active * sizeof *f.k);
        TN_TRY(tnp_dsyrk_rows(ctx, active, f.dim, f.b, f.dim, f.k));
        TN_TRY(factor(ctx, active, 1 + SHIFTS[i] * largest(active, f.k), f.k, found));
    }
    if (*found)
        substitute(&f, v, d);
done:
    tnp_free(f.b);
    tnp_free(f.u);
    tnp_free(f.k);
    tnp_free(f.p);
    tnp_free(f.q);
    return st;
}

static size_t bytes_by_rows(size_t dim, size_t active)
{
    return 8 * active * (dim + active + 3) + 256;
}

static size_t bytes_by_columns(size_t dim)
{
    return 8 * (dim + 1) * (dim + 1 + PANEL) + 256;
}

size_t tnp_step_bytes(size_t dim, size_t active)
{
    return tnp_min(bytes_by_rows(dim, active), bytes_by_columns(dim));
}

tn_status tnp_step(tn_ctx *ctx, tnp_design *design, const tnp_system *system, double *d, bool *found)
{
    size_t active = 0;
    for (size_t i = 0; i < design->rows; ++i)
        active += system->h[i] > 0;
    size_t by = bytes_by_rows(design->dim, active);
    if (active <= design->dim && (by <= tnp_budget_left(ctx) || by <= bytes_by_columns(design->dim)))
        return by_rows(ctx, design, system, active, d, found);
    return by_columns(ctx, design, system, d, found);
}
