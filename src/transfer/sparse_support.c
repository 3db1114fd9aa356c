/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Coordinate descent finds in a few rounds which coordinates are 0 and what sign the others have, and then needs dozens
 * to bring them where they belong, for columns of few rows are far from orthogonal. With S the coordinates that are not
 * 0, sigma their signs, H = diag(h) and m the present move, the model as a function of a step delta of S and e of the
 * intercept is
 *
 *   1/2 |H^1/2 (m + A delta + e)|^2 + g'(A delta + e) + ridge/2 |next + delta|^2 + bound sigma'delta
 *
 * Taking e out of it centres: B = H^1/2 (A - 1 mean'), mean = A'h/sum h, and
 *
 *   (B'B + ridge I) delta = -r      r = A'(g + H m) + ridge next + bound sigma - mean r_0      r_0 = sum (g + H m)
 *   e = -(r_0/sum h + mean'delta)
 *
 * a system of |S| unknowns, or with more coordinates than rows of as many as there are rows:
 *
 *   (B B' + ridge I) z = B r      delta = -(r - B'z)/ridge
 *
 * A step that would turn a sign ends where the first one is 0. Oracle: tests/unit/test_sparse_logistic.c. */
#include "transfer/sparse_support.h"

#include <math.h>
#include <string.h>

enum { MOST = 128 }; /* unknowns: the cube of more costs more than the rounds that it saves */

tn_status tnp_support_init(tn_ctx *ctx, size_t rows, tnp_support *support)
{
    tn_status st = TN_OK;
    size_t stride = (rows + TNP_LANES - 1) / TNP_LANES * TNP_LANES;
    tnp_support made = {.rows = rows, .stride = stride};
    TN_TRY(tnp_alloc(ctx, MOST * MOST + MOST + stride, sizeof(double), &made.system));
    made.right = made.system + MOST * MOST;
    made.root = made.right + MOST;
    *support = made;
done:
    return st;
}

void tnp_support_destroy(tnp_support *support)
{
    tnp_free_all(support->at, support->bent, support->mean, support->rest, support->by, support->system);
    *support = (tnp_support){0};
}

tn_status tnp_support_reserve(tn_ctx *ctx, tnp_support *support, size_t count)
{
    tn_status st = TN_OK;
    if (count <= support->capacity)
        return TN_OK;
    support->capacity = 0;
    TN_TRY(tnp_grow(ctx, &support->at, 0, count, sizeof *support->at));
    TN_TRY(tnp_grow(ctx, &support->bent, 0, count * support->stride, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &support->mean, 0, count, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &support->rest, 0, count, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &support->by, 0, count, sizeof(double)));
    support->capacity = count;
done:
    return st;
}

/* B, mean and r of the coordinates that are not 0. */
static void gather(tnp_support *s, const tnp_descent *d, double first, double curvature)
{
    size_t n = 0;
    for (size_t k = 0; k < d->count; ++k) {
        if (d->next[k] == 0 || d->inverse[k] == 0)
            continue;
        const double *a = d->a + k * d->rows, *curved = d->bent + k * d->rows;
        double *b = s->bent + n * s->stride, mean = 0;
        for (size_t i = 0; i < s->stride; ++i)
            mean += curved[i];
        mean /= curvature;
        for (size_t i = 0; i < s->stride; ++i)
            b[i] = s->root[i] * (a[i] - mean);
        s->at[n] = k;
        s->mean[n] = mean;
        s->rest[n] = d->gradient[k] + tnp_padded_dot(curved, d->move, s->stride) + d->ridge * (d->next[k] - d->w[k]) +
                     copysign(d->bound, d->next[k]) - mean * first;
        ++n;
    }
}

/* x <- a^-1 x for a (n, n) symmetric, lower triangle given, which is overwritten. False: it is not positive definite.
 */
static bool solve(size_t n, double *a, double *x)
{
    for (size_t i = 0; i < n; ++i) {
        double *row = a + i * n;
        for (size_t j = 0; j <= i; ++j) {
            const double *other = a + j * n;
            double sum = row[j];
            for (size_t k = 0; k < j; ++k)
                sum -= row[k] * other[k];
            if (j < i)
                row[j] = sum / other[j];
            else if (sum > 1e-12 * row[i])
                row[i] = sqrt(sum);
            else
                return false;
        }
        for (size_t k = 0; k < i; ++k)
            x[i] -= row[k] * x[k];
        x[i] /= row[i];
    }
    for (size_t i = n; i-- > 0;) {
        x[i] /= a[i * n + i];
        for (size_t k = 0; k < i; ++k)
            x[k] -= a[i * n + k] * x[i];
    }
    return true;
}

/* by = delta from as many unknowns as coordinates. */
static bool step_by_coordinates(tnp_support *s, size_t n, double ridge)
{
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j <= i; ++j)
            s->system[i * n + j] = tnp_padded_dot(s->bent + i * s->stride, s->bent + j * s->stride, s->stride);
        s->system[i * n + i] += ridge;
        s->by[i] = -s->rest[i];
    }
    return solve(n, s->system, s->by);
}

/* The same from as many as rows. */
static bool step_by_rows(tnp_support *s, size_t n, double ridge)
{
    size_t rows = s->rows;
    memset(s->system, 0, rows * rows * sizeof(double));
    memset(s->right, 0, rows * sizeof(double));
    for (size_t k = 0; k < n; ++k) {
        const double *b = s->bent + k * s->stride;
        for (size_t i = 0; i < rows; ++i) {
            double *row = s->system + i * rows, factor = b[i];
            s->right[i] += factor * s->rest[k];
            for (size_t j = 0; j <= i; ++j)
                row[j] += factor * b[j];
        }
    }
    for (size_t i = 0; i < rows; ++i)
        s->system[i * rows + i] += ridge;
    if (!solve(rows, s->system, s->right))
        return false;
    for (size_t k = 0; k < n; ++k) {
        const double *b = s->bent + k * s->stride;
        double sum = s->rest[k];
        for (size_t i = 0; i < rows; ++i)
            sum -= b[i] * s->right[i];
        s->by[k] = -sum / ridge;
    }
    return true;
}

/* The largest part of the step that turns no sign, at most 1. */
static double part_of(const tnp_support *s, size_t n, const double *next)
{
    double part = 1;
    for (size_t k = 0; k < n; ++k) {
        double now = next[s->at[k]];
        if (now * (now + part * s->by[k]) < 0)
            part = -now / s->by[k];
    }
    return part;
}

void tnp_support_jump(tnp_support *support, const tnp_descent *d, const double *h, double slope, double curvature,
                      double *shift)
{
    tnp_support *s = support;
    size_t count = 0;
    double first = slope + tnp_padded_dot(h, d->move, s->stride), moved = 0;
    for (size_t k = 0; k < d->count; ++k)
        count += d->next[k] != 0 && d->inverse[k] != 0;
    bool by_rows = count > s->rows && d->ridge > 0;
    if (count == 0 || (by_rows ? s->rows : count) > MOST)
        return;
    for (size_t i = 0; i < s->stride; ++i)
        s->root[i] = sqrt(h[i]);
    gather(s, d, first, curvature);
    if (!(by_rows ? step_by_rows(s, count, d->ridge) : step_by_coordinates(s, count, d->ridge)))
        return;
    double part = part_of(s, count, d->next);
    for (size_t k = 0; k < count; ++k) {
        const double *a = d->a + s->at[k] * s->stride;
        double now = d->next[s->at[k]], next = now + part * s->by[k];
        next = part < 1 && -now / s->by[k] == part ? 0 : next;
        d->next[s->at[k]] = next;
        moved -= s->mean[k] * (next - now);
        for (size_t i = 0; i < s->stride; ++i)
            d->move[i] += (next - now) * a[i];
    }
    moved -= part * first / curvature;
    for (size_t i = 0; i < s->rows; ++i)
        d->move[i] += moved;
    *shift += moved;
}
