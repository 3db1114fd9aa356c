/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A panel of rows is small enough to stay in the cache while it is widened to double and multiplied forth and back: rows are
 * fetched once a pass, and no more than a panel of them is ever there in double. */
#include "learn/design/sweep.h"
#include "algebra/blas.h"

#include <string.h>

enum { PANEL_BYTES = 2 << 20, LEAST = 8, MOST = 256 };

static size_t panel_rows(size_t dim)
{
    return tnp_min(MOST, tnp_max(LEAST, PANEL_BYTES / (sizeof(double) * dim)));
}

size_t tnp_sweep_bytes(size_t dim, size_t columns)
{
    return sizeof(double) * panel_rows(dim) * (dim + 2 * columns);
}

tn_status tnp_sweep_init(tn_ctx *ctx, tnp_design *design, size_t columns, tnp_sweep *v)
{
    tn_status st = TN_OK;
    *v = (tnp_sweep){.ctx = ctx, .x = design, .k = columns, .panel = panel_rows(design->dim)};
    TN_TRY(tnp_alloc_raw(ctx, v->panel * design->dim, sizeof *v->rows, &v->rows));
    TN_TRY(tnp_alloc_raw(ctx, v->panel * columns, sizeof *v->s, &v->s));
    TN_TRY(tnp_alloc_raw(ctx, v->panel * columns, sizeof *v->t, &v->t));
done:
    return st;
}

void tnp_sweep_destroy(tnp_sweep *v)
{
    tnp_free(v->rows);
    tnp_free(v->s);
    tnp_free(v->t);
    v->rows = v->s = v->t = NULL;
}

typedef struct widen_job {
    const float *from;
    double *to;
    size_t dim;
} widen_job;

static void widen_row(void *arg, size_t i)
{
    const widen_job *job = arg;
    for (size_t j = i * job->dim; j < (i + 1) * job->dim; ++j)
        job->to[j] = (double)job->from[j];
}

/* Rows [start, start + n), which lie at x. */
static tn_status on_panel(tnp_sweep *v, const float *x, size_t start, size_t n, size_t k, const double *w,
                          tnp_sweep_fn body, void *arg, double *back)
{
    tn_status st = TN_OK;
    size_t dim = v->x->dim, width = dim + 1;
    widen_job job = {x, v->rows, dim};
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, (double)n * (double)dim), n, widen_row, &job);
    for (size_t i = 0; w && i < n * k; ++i)
        v->s[i] = w[i % k * width + dim];
    if (w)
        TN_TRY(tnp_dgemm_nt(v->ctx, n, k, dim, v->rows, dim, w, width, 1, v->s, k));
    body(arg, start, n, v->s, v->t);
    if (!back)
        return TN_OK;
    TN_TRY(tnp_dgemm_nn(v->ctx, k, dim, n, v->t, n, v->rows, dim, 1, back, width));
    for (size_t j = 0; j < k; ++j)
        for (size_t i = 0; i < n; ++i)
            back[j * width + dim] += v->t[j * n + i];
done:
    return st;
}

tn_status tnp_sweep_run(tnp_sweep *v, size_t k, const double *w, tnp_sweep_fn body, void *arg, double *back)
{
    if (back)
        memset(back, 0, k * (v->x->dim + 1) * sizeof *back);
    for (size_t b = 0; b < v->x->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        tn_status st = tnp_design_block(v->ctx, v->x, b, &x, &start, &count);
        for (size_t at = 0; st == TN_OK && at < count; at += v->panel)
            st = on_panel(v, x + at * v->x->dim, start + at, tnp_min(v->panel, count - at), k, w, body, arg, back);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

double tnp_square(const double *a, size_t n)
{
    double part[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t l = 0; l < 8; ++l)
            part[l] += a[i + l] * a[i + l];
    for (; i < n; ++i)
        part[0] += a[i] * a[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
