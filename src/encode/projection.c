/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Principal components.
 *
 *   C = sum_i (x[i] - mean)(x[i] - mean)' / n = V diag(s) V'          s descending
 *   y = basis (x - mean)     basis[k] = v[k], or v[k] / sqrt(s[k] + 1e-9 s[0]) when whitened
 *
 * Of v and -v that one is taken whose largest entry, the first of equals, is above 0, so that the result does not depend
 * on the factorisation. Sums are of float products over BLOCK rows, added up in double; rows have the mean of the first
 * block taken from them first. Applied as basis x - basis mean, without a copy of x: descriptors are near enough to their
 * mean for that. Oracle: test_projection.c, loops and the eigenvalue equation. */
#include "encode/projection.h"

#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 1024 };

tn_status tnp_scatter_new(tn_ctx *ctx, size_t dim, tnp_scatter *out)
{
    tn_status st = TN_OK;
    size_t square = 0;
    out->dim = dim;
    TN_TRY(tnp_mul(ctx, dim, dim, &square));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *out->shift, &out->shift));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *out->sum, &out->sum));
    TN_TRY(tnp_alloc(ctx, square, sizeof *out->gram, &out->gram));
    TN_TRY(tnp_alloc_raw(ctx, square, sizeof *out->product, &out->product));
    TN_TRY(tnp_alloc_raw(ctx, BLOCK * dim, sizeof *out->centred, &out->centred));
done:
    return st;
}

void tnp_scatter_free(tnp_scatter *s)
{
    tnp_free_all(s->shift, s->sum, s->gram, s->product, s->centred);
}

static void take_shift(tnp_scatter *s, const float *x, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < s->dim; ++j)
            s->shift[j] += (double)x[i * s->dim + j];
    for (size_t j = 0; j < s->dim; ++j)
        s->shift[j] = (double)(float)(s->shift[j] / (double)n);
}

static tn_status add_block(tn_ctx *ctx, tnp_scatter *s, const float *x, size_t n)
{
    size_t d = s->dim;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < d; ++j) {
            s->centred[i * d + j] = x[i * d + j] - (float)s->shift[j];
            s->sum[j] += (double)s->centred[i * d + j];
        }
    tn_status st = tnp_ssyrk_cols(ctx, n, d, s->centred, d, 0, s->product);
    for (size_t i = 0; st == TN_OK && i < d; ++i)
        for (size_t j = i; j < d; ++j)
            s->gram[i * d + j] += (double)s->product[i * d + j];
    s->rows += n;
    return st;
}

tn_status tnp_scatter_add(tn_ctx *ctx, tnp_scatter *s, const float *x, size_t n)
{
    tn_status st = TN_OK;
    if (s->rows == 0 && n != 0)
        take_shift(s, x, tnp_min(n, BLOCK));
    for (size_t i = 0; st == TN_OK && i < n; i += BLOCK)
        st = add_block(ctx, s, x + i * s->dim, tnp_min(BLOCK, n - i));
    return st;
}

/* c (dim, dim), upper: the covariance. */
static void centre(const tnp_scatter *s, double *c)
{
    size_t d = s->dim;
    double n = (double)s->rows;
    for (size_t i = 0; i < d; ++i)
        for (size_t j = i; j < d; ++j)
            c[i * d + j] = s->gram[i * d + j] / n - s->sum[i] / n * (s->sum[j] / n);
}

/* Component k of the eigenvectors, which are rows in ascending order. */
static void take_component(const double *vectors, size_t d, size_t k, double factor, float *out)
{
    const double *v = vectors + (d - 1 - k) * d;
    size_t most = 0;
    for (size_t j = 1; j < d; ++j)
        if (fabs(v[j]) > fabs(v[most]))
            most = j;
    factor = v[most] < 0 ? -factor : factor;
    for (size_t j = 0; j < d; ++j)
        out[j] = (float)(v[j] * factor);
}

tn_status tnp_projection_make(tn_ctx *ctx, const tnp_scatter *s, size_t to, bool whiten, double *kept,
                              tnp_projection *out)
{
    tn_status st = TN_OK;
    size_t d = s->dim;
    double *c = NULL, *values = NULL, all = 0, some = 0;
    if (s->rows < 2)
        return tnp_fail(ctx, TN_ERR_DATA, "encoder: %zu descriptors, expected two or more for a PCA", s->rows);
    out->from = d;
    out->to = to;
    TN_TRY(tnp_alloc(ctx, d * d, sizeof *c, &c));
    TN_TRY(tnp_alloc(ctx, d, sizeof *values, &values));
    TN_TRY(tnp_alloc(ctx, d, sizeof *out->mean, &out->mean));
    TN_TRY(tnp_alloc(ctx, to * d, sizeof *out->basis, &out->basis));
    centre(s, c);
    TN_TRY(tnp_eigen(ctx, d, c, values));
    for (size_t j = 0; j < d; ++j) {
        out->mean[j] = (float)(s->shift[j] + s->sum[j] / (double)s->rows);
        all += fmax(values[j], 0);
    }
    double top = fmax(values[d - 1], 0);
    for (size_t k = 0; k < to; ++k) {
        double value = fmax(values[d - 1 - k], 0);
        some += value;
        take_component(c, d, k, whiten && top > 0 ? 1 / sqrt(value + 1e-9 * top) : 1, out->basis + k * d);
    }
    *kept = all > 0 ? some / all : 1;
done:
    tnp_free_all(c, values);
    return st;
}

tn_status tnp_projection_apply(tn_ctx *ctx, const tnp_projection *p, const float *x, size_t n, float *y, size_t stride)
{
    tn_status st = TN_OK;
    float *offset = NULL;
    TN_TRY(tnp_alloc_raw(ctx, p->to, sizeof *offset, &offset));
    for (size_t k = 0; k < p->to; ++k) {
        double sum = 0;
        for (size_t j = 0; j < p->from; ++j)
            sum -= (double)p->basis[k * p->from + j] * (double)p->mean[j];
        offset[k] = (float)sum;
    }
    for (size_t i = 0; i < n; ++i)
        memcpy(y + i * stride, offset, p->to * sizeof *y);
    TN_TRY(tnp_sgemm_nt(ctx, n, p->to, p->from, x, p->from, p->basis, p->from, 1, y, stride));
done:
    tnp_free(offset);
    return st;
}

void tnp_projection_free(tnp_projection *p)
{
    tnp_free_all(p->mean, p->basis);
}
