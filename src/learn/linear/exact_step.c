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
 * A class of a hundred against the rest has few hundred active rows after the first steps, whatever the width.
 * Conjugate gradients were refused here: what comes to this file is so conditioned that they need thousands of passes.
 * */
#include "learn/linear/exact_step.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { PICKED = 64 };
/* Of the largest diagonal entry: tried one after the other until the factor exists. */
static const double SHIFTS[] = {0, 1e-15, 1e-12, 1e-9, 1e-6};
enum { SHIFT_COUNT = sizeof SHIFTS / sizeof *SHIFTS };

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

static tn_status by_columns(tn_ctx *ctx, const tnp_rows *x, const tnp_system *v, double *d, bool *found)
{
    tn_status st = TN_OK;
    double *a = NULL;
    size_t width = x->dim + v->bias;
    TN_TRY(tnp_alloc_raw(ctx, width * width, sizeof *a, &a));
    *found = false;
    for (size_t i = 0; !*found && i < SHIFT_COUNT; ++i) {
        TN_TRY(x->ops->gram(ctx, x->self, &(tnp_gram){.h = v->h, .constant = v->bias}, a));
        double most = largest(width, a);
        for (size_t j = 0; j < width; ++j)
            a[j * width + j] += j < x->dim ? 1 : v->ridge;
        TN_TRY(factor(ctx, width, SHIFTS[i] * most, a, found));
    }
    d[x->dim] = 0;
    for (size_t i = 0; i < width; ++i)
        d[i] = -v->g[i];
    if (*found)
        solve(width, a, d);
done:
    tnp_free(a);
    return st;
}

/* ---- few active rows ---- */

typedef struct few {
    size_t n, dim;
    double *b, *u, *k, *p, *q; /* (n, dim), n, (n, n), n, n */
} few;

/* b and u. */
static tn_status gather_active(tn_ctx *ctx, const tnp_rows *x, const double *h, const few *f)
{
    tn_status st = TN_OK;
    float *rows = NULL;
    size_t dim = f->dim, which[PICKED], n = 0, at = 0;
    TN_TRY(tnp_alloc_raw(ctx, PICKED * dim, sizeof *rows, &rows));
    for (size_t i = 0; i < x->rows; ++i) {
        if (h[i] > 0) {
            f->u[at + n] = sqrt(h[i]);
            which[n++] = i;
        }
        if (n < PICKED && i + 1 < x->rows)
            continue;
        TN_TRY(x->ops->pick(ctx, x->self, which, n, rows));
        for (size_t j = 0; j < n * dim; ++j)
            f->b[at * dim + j] = f->u[at + j / dim] * (double)rows[j];
        at += n;
        n = 0;
    }
done:
    tnp_free(rows);
    return st;
}

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

static tn_status by_rows(tn_ctx *ctx, const tnp_rows *x, const tnp_system *v, size_t active, double *d, bool *found)
{
    tn_status st = TN_OK;
    few f = {.n = active, .dim = x->dim};
    size_t size = tnp_max(active, 1);
    TN_TRY(tnp_alloc_raw(ctx, size * f.dim, sizeof *f.b, &f.b));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *f.u, &f.u));
    TN_TRY(tnp_alloc_raw(ctx, size * size, sizeof *f.k, &f.k));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *f.p, &f.p));
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *f.q, &f.q));
    TN_TRY(gather_active(ctx, x, v->h, &f));
    *found = active == 0;
    for (size_t i = 0; !*found && i < SHIFT_COUNT; ++i) {
        TN_TRY(tnp_dsyrk_rows(ctx, active, f.dim, f.b, f.dim, 0, f.k));
        TN_TRY(factor(ctx, active, 1 + SHIFTS[i] * largest(active, f.k), f.k, found));
    }
    if (*found)
        substitute(&f, v, d);
done:
    tnp_free_all(f.b, f.u, f.k, f.p, f.q);
    return st;
}

static size_t bytes_by_rows(size_t dim, size_t active)
{
    return 8 * active * (dim + active + 3) + PICKED * (4 * dim + 8) + 256;
}

static size_t bytes_by_columns(size_t dim)
{
    return 8 * (dim + 1) * (dim + 1) + tnp_rows_gram_bytes(dim) + 256;
}

size_t tnp_step_bytes(size_t dim, size_t active)
{
    return tnp_min(bytes_by_rows(dim, active), bytes_by_columns(dim));
}

tn_status tnp_step(tn_ctx *ctx, const tnp_rows *x, const tnp_system *system, double *d, bool *found)
{
    size_t active = 0;
    for (size_t i = 0; i < x->rows; ++i)
        active += system->h[i] > 0;
    size_t by = bytes_by_rows(x->dim, active);
    if (active <= x->dim && (by <= tnp_budget_left(ctx) || by <= bytes_by_columns(x->dim)))
        return by_rows(ctx, x, system, active, d, found);
    return by_columns(ctx, x, system, d, found);
}
