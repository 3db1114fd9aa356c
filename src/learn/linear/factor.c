/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With B = diag(h)^1/2 X over the active rows (A of them) and u = h^1/2, the matrix over (d, the intercept's e) is
 *
 *   H = [ I + B'B    B'u     ]
 *       [ u'B        u'u + r ]      r the intercept's ridge
 *
 * More active rows than columns: H = R'R itself. Fewer: through K = I + B B' (A, A) = R'R, as
 * (I + B'B)^-1 = I - B' K^-1 B; with p = K^-1 u and q = K^-1 B v the solution of H (d, e) = (v, v_b) is
 *
 *   e = (v_b - u'q) / (u'p + r),   d = v - B'(q + e p).
 *
 * Members of a team add up their B'B, in double, and each factors the sum; K, of rows that lie in several places, is not
 * for them.
 *
 * Factors are kept as floats: as preconditioners they need no more, and conjugate gradients ask for the exact product
 * with the rows, which are read once for both of its halves. So they are also made in floats, at half the price, while
 * roundings of the matrix are far below the ridge; from MOST on its diagonal they would be felt, and it is summed and
 * factored in double. */
#include "learn/linear/factor.h"
#include "algebra/blas.h"
#include "base/team.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { PANEL = 256 };
static const float MOST = 3e5f; /* times a unit in the last place: 2 per cent of the ridge */

void tnp_factor_clear(tnp_factor *f)
{
    tnp_free_all(f->r, f->which, f->u, f->p);
    *f = (tnp_factor){0};
}

static bool goes_by_rows(const tnp_active_rows *a)
{
    return !a->at.parts && a->all < a->dim;
}

static const float *row_at(const tnp_active_rows *a, size_t row)
{
    return a->at.x + (row - a->at.first) * a->at.stride;
}

static size_t order_of(const tnp_active_rows *a)
{
    return goes_by_rows(a) ? a->all : a->dim + a->bias;
}

size_t tnp_factor_bytes(size_t dim)
{
    return 4 * (dim + 1) * (dim + 1) + 16 * (dim + 1);
}

size_t tnp_factor_make_bytes(size_t dim)
{
    return 8 * (dim + 1) * (dim + 1 + tnp_max(dim, PANEL));
}

double tnp_factor_make_flops(const tnp_active_rows *a)
{
    double n = (double)order_of(a), m = goes_by_rows(a) ? (double)a->dim : (double)a->all;
    return n * n * (m + n / 3);
}

double tnp_factor_flops(const tnp_factor *f, size_t dim)
{
    double n = (double)f->n;
    return 2 * n * n + (f->by_rows ? 4 * n * (double)dim : 0);
}

/* ---- making ---- */

typedef struct gather_job {
    const tnp_active_rows *a;
    size_t from, width;
    double *to;
    float *narrow; /* in its place */
} gather_job;

static void gather_row(void *arg, size_t i)
{
    const gather_job *job = arg;
    const tnp_active_rows *a = job->a;
    size_t row = a->which[job->from + i];
    const float *x = row_at(a, row);
    double root = sqrt((double)a->h[row]), *to = job->to + i * job->width;
    for (size_t j = 0; j < a->dim; ++j)
        to[j] = root * (double)x[j];
    if (job->width > a->dim)
        to[a->dim] = root;
}

/* to (count, width): active rows [from, from + count) times the roots of h, with a constant where width has a place. */
static void gather(tn_ctx *ctx, const tnp_active_rows *a, size_t from, size_t count, size_t width, double *to)
{
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)count * (double)width), count, gather_row,
                 &(gather_job){.a = a, .from = from, .width = width, .to = to});
}

static void gather_row_float(void *arg, size_t i)
{
    const gather_job *job = arg;
    const tnp_active_rows *a = job->a;
    size_t row = a->which[job->from + i];
    const float *x = row_at(a, row);
    float root = sqrtf(a->h[row]), *to = job->narrow + i * job->width;
    for (size_t j = 0; j < a->dim; ++j)
        to[j] = root * x[j];
    if (job->width > a->dim)
        to[a->dim] = root;
}

static void gather_float(tn_ctx *ctx, const tnp_active_rows *a, size_t from, size_t count, size_t width, float *to)
{
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)count * (double)width), count, gather_row_float,
                 &(gather_job){.a = a, .from = from, .width = width, .narrow = to});
}

/* k (A, A), upper triangle: I + B B'. */
static tn_status products_of_rows(tn_ctx *ctx, const tnp_active_rows *a, double *k)
{
    tn_status st = TN_OK;
    double *b = NULL;
    TN_TRY(tnp_alloc_raw(ctx, a->count * a->dim, sizeof *b, &b));
    gather(ctx, a, 0, a->count, a->dim, b);
    TN_TRY(tnp_dsyrk_rows(ctx, a->count, a->dim, b, a->dim, 0, k));
    for (size_t i = 0; i < a->count; ++i)
        k[i * a->count + i] += 1;
done:
    tnp_free(b);
    return st;
}

/* k (n, n), upper triangle: H. */
static tn_status products_of_columns(tn_ctx *ctx, const tnp_active_rows *a, size_t n, double *k)
{
    tn_status st = TN_OK;
    double *b = NULL;
    TN_TRY(tnp_alloc_raw(ctx, PANEL * n, sizeof *b, &b));
    memset(k, 0, n * n * sizeof *k);
    for (size_t at = 0; at < a->count; at += PANEL) {
        size_t count = tnp_min(PANEL, a->count - at);
        gather(ctx, a, at, count, n, b);
        TN_TRY(tnp_dsyrk_cols(ctx, count, n, b, n, 1, k));
    }
    if (a->at.parts)
        TN_TRY(tnp_team_sum(ctx, k, n * n));
    for (size_t i = 0; i < n; ++i)
        k[i * n + i] += i < a->dim ? 1 : a->ridge;
done:
    tnp_free(b);
    return st;
}

/* r (n, n), upper triangle: K or H as floats. */
static tn_status products_in_float(tn_ctx *ctx, const tnp_active_rows *a, size_t n, float *r)
{
    tn_status st = TN_OK;
    bool by_rows = goes_by_rows(a);
    size_t width = by_rows ? a->dim : n, panel = by_rows ? n : tnp_min(PANEL, a->count);
    float *b = NULL;
    TN_TRY(tnp_alloc_raw(ctx, panel * width, sizeof *b, &b));
    for (size_t at = 0; at < a->count; at += panel) {
        size_t count = tnp_min(panel, a->count - at);
        gather_float(ctx, a, at, count, width, b);
        TN_TRY(by_rows ? tnp_ssyrk_rows(ctx, n, width, b, width, 0, r)
                       : tnp_ssyrk_cols(ctx, count, n, b, width, at > 0 ? 1 : 0, r));
    }
    for (size_t i = 0; i < n; ++i)
        r[i * n + i] += i < a->dim ? 1 : (float)a->ridge;
done:
    tnp_free(b);
    return st;
}

/* r (n, n): the factor, in floats. *found is false where they do not do. */
static tn_status factor_in_float(tn_ctx *ctx, const tnp_active_rows *a, size_t n, float *r, bool *found)
{
    tn_status st = TN_OK;
    TN_TRY(products_in_float(ctx, a, n, r));
    *found = true;
    for (size_t i = 0; i < n; ++i)
        *found &= r[i * n + i] <= MOST;
    if (*found)
        st = tnp_cholesky_float(ctx, n, r);
    *found &= st == TN_OK;
    st = st == TN_ERR_NUMERIC ? TN_OK : st;
done:
    return st;
}

static tn_status factor_in_double(tn_ctx *ctx, const tnp_active_rows *a, size_t n, float *r, bool *found)
{
    tn_status st = TN_OK;
    double *k = NULL;
    TN_TRY(tnp_alloc_raw(ctx, n * n, sizeof *k, &k));
    TN_TRY(goes_by_rows(a) ? products_of_rows(ctx, a, k) : products_of_columns(ctx, a, n, k));
    st = tnp_cholesky(ctx, n, k);
    *found = st == TN_OK;
    st = st == TN_ERR_NUMERIC ? TN_OK : st;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j)
            r[i * n + j] = (float)k[i * n + j];
done:
    tnp_free(k);
    return st;
}

/* b <- (R'R)^-1 b. */
static void solve(const tnp_simd *simd, size_t n, const float *r, float *b)
{
    for (size_t i = 0; i < n; ++i) {
        b[i] /= r[i * n + i];
        simd->add_scaled(-b[i], r + i * n + i + 1, b + i + 1, n - i - 1);
    }
    for (size_t i = n; i-- > 0;)
        b[i] = (b[i] - (float)simd->dot(r + i * n + i + 1, b + i + 1, n - i - 1)) / r[i * n + i];
}

static void take_rows(const tnp_active_rows *a, tnp_factor *f)
{
    for (size_t i = 0; i < f->n; ++i) {
        f->which[i] = a->which[i];
        f->u[i] = f->p[i] = sqrtf(a->h[a->which[i]]);
    }
    solve(tnp_simd_get(), f->n, f->r, f->p);
    f->up = a->ridge;
    for (size_t i = 0; i < f->n; ++i)
        f->up += (double)f->u[i] * (double)f->p[i];
}

tn_status tnp_factor_begin(tn_ctx *ctx, const tnp_active_rows *a, tnp_factor *f)
{
    tn_status st = TN_OK;
    size_t n = order_of(a);
    tnp_factor_clear(f);
    TN_TRY(tnp_alloc_raw(ctx, tnp_max(1, n * n), sizeof *f->r, &f->r));
    f->n = n;
    f->by_rows = goes_by_rows(a);
    if (f->by_rows) {
        TN_TRY(tnp_alloc(ctx, n, sizeof *f->which, &f->which));
        TN_TRY(tnp_alloc(ctx, n, sizeof *f->u, &f->u));
        TN_TRY(tnp_alloc(ctx, n, sizeof *f->p, &f->p));
    }
done:
    return st;
}

tn_status tnp_factor_make(tn_ctx *ctx, const tnp_active_rows *a, tnp_factor *f)
{
    tn_status st = TN_OK;
    f->found = f->n == 0;
    if (!f->found && !a->at.parts)
        TN_TRY(factor_in_float(ctx, a, f->n, f->r, &f->found));
    if (!f->found)
        TN_TRY(factor_in_double(ctx, a, f->n, f->r, &f->found));
    if (f->found && f->by_rows)
        take_rows(a, f);
done:
    return st;
}

/* ---- conjugate gradients ---- */

/* out (dim + 1) = P^-1 v; q (n) is scratch. */
static void precondition(const tnp_simd *simd, const tnp_active_rows *a, const tnp_factor *f, const float *v, float *q,
                         float *out)
{
    size_t dim = a->dim;
    memcpy(out, v, (dim + 1) * sizeof *out);
    if (!f->by_rows) {
        solve(simd, f->n, f->r, out);
        return;
    }
    double uq = 0, e = 0;
    for (size_t i = 0; i < f->n; ++i)
        q[i] = f->u[i] * (float)simd->dot(row_at(a, f->which[i]), v, dim);
    solve(simd, f->n, f->r, q);
    for (size_t i = 0; i < f->n; ++i)
        uq += (double)f->u[i] * (double)q[i];
    if (a->bias && f->up > 0)
        e = ((double)v[dim] - uq) / f->up;
    out[dim] = (float)e;
    for (size_t i = 0; i < f->n; ++i)
        simd->add_scaled(-f->u[i] * (q[i] + (float)e * f->p[i]), row_at(a, f->which[i]), out, dim);
}

size_t tnp_factor_scratch(size_t dim)
{
    return 6 * (dim + 1);
}

void tnp_conjugate_begin(const tnp_active_rows *a, const tnp_factor *f, const double *g, double enough, size_t most,
                         float *scratch, tnp_conjugate *d)
{
    size_t width = a->dim + 1;
    float *r = scratch, *z = r + width, *p = z + width, *hp = p + width, *sum = hp + width, *q = sum + width;
    for (size_t i = 0; i < width; ++i) {
        r[i] = (float)-g[i];
        sum[i] = 0;
    }
    *d = (tnp_conjugate){
        .factor = f, .r = r, .z = z, .p = p, .hp = hp, .sum = sum, .q = q, .enough = enough, .most = most};
}

void tnp_conjugate_precondition(const tnp_active_rows *a, tnp_conjugate *d)
{
    precondition(tnp_simd_get(), a, d->factor, d->r, d->q, d->z);
}

tn_status tnp_factor_solve(tn_ctx *ctx, const tnp_factor *f, size_t count, float *z)
{
    return tnp_solve_factored_float(ctx, count, f->n, f->r, z);
}

bool tnp_conjugate_turn(const tnp_active_rows *a, tnp_conjugate *d)
{
    size_t width = a->dim + 1;
    double next = d->over ? 0 : tnp_simd_get()->dot(d->r, d->z, width);
    bool first = d->products == 0;
    if (first)
        d->goal = d->enough * d->enough * next;
    if (first && d->most == 0)
        memcpy(d->sum, d->z, width * sizeof *d->sum);
    d->over |= d->products == d->most || !(next > (first ? 0 : d->goal));
    for (size_t i = 0; !d->over && i < width; ++i)
        d->p[i] = d->z[i] + (first ? 0 : (float)(next / d->rz) * d->p[i]);
    d->rz = next;
    return !d->over;
}

/* Of a team the penalty's part is that of the first member, who alone has rows from 0 on. */
void tnp_conjugate_multiply(const tnp_active_rows *a, tnp_conjugate *d)
{
    const tnp_simd *simd = tnp_simd_get();
    size_t dim = a->dim;
    bool first = a->at.first == 0;
    double last = first ? a->ridge * (double)d->p[dim] : 0;
    memset(d->hp, 0, dim * sizeof *d->hp);
    if (first)
        memcpy(d->hp, d->p, dim * sizeof *d->hp);
    for (size_t i = 0; i < a->count; ++i) {
        const float *x = row_at(a, a->which[i]);
        if (i + 1 < a->count)
            tnp_row_ahead(row_at(a, a->which[i + 1]), dim);
        float t = a->h[a->which[i]] * (float)(simd->dot(x, d->p, dim) + (double)d->p[dim]);
        simd->add_scaled(t, x, d->hp, dim);
        last += (double)t;
    }
    d->hp[dim] = a->bias ? (float)last : 0;
}

void tnp_conjugate_step(const tnp_active_rows *a, tnp_conjugate *d)
{
    const tnp_simd *simd = tnp_simd_get();
    size_t width = a->dim + 1;
    double curve = simd->dot(d->p, d->hp, width);
    ++d->products;
    d->over = !(curve > 0);
    if (d->over)
        return;
    float step = (float)(d->rz / curve);
    simd->add_scaled(step, d->p, d->sum, width);
    simd->add_scaled(-step, d->hp, d->r, width);
}
