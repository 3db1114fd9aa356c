/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method in the k intercepts alone, by conjugate gradients with the diagonal as preconditioner:
 *
 *   slope e_k = sum_i c_i (p_ik - [y_i = k]),   product  sum_i c_i (p_i o z - p_i (p_i'z))
 *
 * The scores are kept, so that a product costs N k exponentials and no pass over X. A bound of the minimum from the
 * softmax of the scores needs e = 0: what is left of e costs the bound in proportion, not in squares. */
#include "learn/softmax/softmax_settle.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { CG_MOST = 12 };
static const double SMALL = 1e-7;                             /* of the mass of all rows: rounding of slopes, */
static const double NOTHING = 1e-12;                          /* and of their mean, which no curvature may be below */
static const double MOST_FORCING = 0.1, LEAST_FORCING = 0.01; /* of the residual */
static const double WHOLE = 0.5;                              /* of max |d| */

/* sums (1 + 2 k) as tnp_softmax_slope has them; with z: its first k become the product with z instead. */
static void visit(const tnp_softmax_rows *r, const float *s, const float *z, double *sums)
{
    memset(sums, 0, (1 + 2 * r->k) * sizeof *sums);
    for (size_t start = 0; start < r->rows; start += r->block) {
        tnp_softmax_range range = {start, 1, tnp_min(r->block, r->rows - start)};
        if (z)
            tnp_softmax_curve_sums(r, range, s, z, sums);
        else
            tnp_softmax_slope(r, range, s, r->z, sums);
    }
}

typedef struct work {
    double *sums, *product; /* 1 + 2 k */
    double *d, *r, *p;      /* k */
    double *own;            /* k: costs of the class's rows */
    float *narrow;          /* k: p as the products take it, d as scores do */
} work;

/* Takes the mean off the classes that have a curvature. A constant added to all intercepts changes nothing, so that
 * slopes and products sum to 0 but for rounding; what rounding leaves there would be divided by nothing. */
static void centre(const double *weight, size_t k, double *a)
{
    double sum = 0, count = 0;
    for (size_t j = 0; j < k; ++j) {
        sum += weight[j] > 0 ? a[j] : 0;
        count += weight[j] > 0;
    }
    for (size_t j = 0; j < k; ++j)
        a[j] = weight[j] > 0 ? a[j] - sum / count : 0;
}

/* d ~ -H^-1 e, `forcing` of the residual left. A class without curvature stays. */
static void direction(const tnp_softmax_rows *rows, const float *s, double forcing, const work *v)
{
    size_t k = rows->k;
    const double *slope = v->sums + 1, *weight = slope + k;
    double rz = 0, target;
    for (size_t j = 0; j < k; ++j) {
        v->d[j] = 0;
        v->r[j] = -slope[j];
    }
    centre(weight, k, v->r);
    for (size_t j = 0; j < k; ++j) {
        v->p[j] = weight[j] > 0 ? v->r[j] / weight[j] : 0;
        rz += v->r[j] * v->p[j];
    }
    target = forcing * forcing * rz;
    for (int round = 0; round < CG_MOST && rz > target; ++round) {
        double bent = 0, next = 0;
        centre(weight, k, v->p);
        for (size_t j = 0; j < k; ++j)
            v->narrow[j] = (float)v->p[j];
        visit(rows, s, v->narrow, v->product);
        centre(weight, k, v->product);
        for (size_t j = 0; j < k; ++j)
            bent += v->p[j] * v->product[j];
        if (!(bent > 0))
            break;
        for (size_t j = 0; j < k; ++j) {
            v->d[j] += rz / bent * v->p[j];
            v->r[j] -= rz / bent * v->product[j];
            next += weight[j] > 0 ? v->r[j] * v->r[j] / weight[j] : 0;
        }
        for (size_t j = 0; j < k; ++j)
            v->p[j] = (weight[j] > 0 ? v->r[j] / weight[j] : 0) + next / rz * v->p[j];
        rz = next;
    }
}

typedef struct move_job {
    const float *d;
    float *s;
    size_t k;
} move_job;

static void move_row(void *arg, size_t i)
{
    const move_job *job = arg;
    tnp_simd_get()->add_scaled(1, job->d, job->s + i * job->k, job->k);
}

static void move(const tnp_softmax_rows *rows, const work *v, float *s, float *intercept, size_t stride)
{
    size_t k = rows->k;
    for (size_t j = 0; j < k; ++j)
        intercept[j * stride] += v->narrow[j] = (float)v->d[j];
    tnp_parallel(rows->ctx, tnp_threads_for(rows->ctx, 2.0 * (double)(rows->rows * k)), rows->rows, move_row,
                 &(move_job){v->narrow, s, k});
}

/* d becomes the step that is taken, d'H d = -e'd by conjugate gradients. With m = max |d| the second derivative along it
 * changes by a factor of at most exp(2 m t), so that f falls by
 *
 *   d'H d (t - (exp(2 m t) - 2 m t - 1) / 4 m^2) or more:   a quarter of d'H d at t = 1 and m <= WHOLE,
 *
 * beyond that most at t = log(1 + 2 m) / 2 m: nothing is to be searched. A class without rows goes down by 1 and more for
 * ever; f falls with it however far it goes, and m is that of the others. Returns m. */
static double shorten(const work *v, size_t k)
{
    double most = 0;
    for (size_t j = 0; j < k; ++j)
        most = v->own[j] > 0 || v->d[j] > 0 ? fmax(most, fabs(v->d[j])) : most;
    for (size_t j = 0; most > WHOLE && j < k; ++j)
        v->d[j] *= v->own[j] > 0 || v->d[j] > 0 ? log1p(2 * most) / (2 * most) : 1;
    return most;
}

/* Sum of the slopes' sizes at the scores; a class that no row is near has no curvature. */
static double look(const tnp_softmax_rows *rows, const float *s, double mass, const work *v)
{
    double off = 0, *weight = v->sums + 1 + rows->k;
    visit(rows, s, NULL, v->sums);
    for (size_t j = 0; j < rows->k; ++j) {
        off += fabs(v->sums[1 + j]);
        weight[j] = weight[j] > NOTHING * mass ? weight[j] : 0;
    }
    return off;
}

static void take_steps(const tnp_softmax_rows *rows, size_t most, double enough, float *s, float *intercept,
                       size_t stride, const work *v)
{
    const tnp_targets *y = rows->loss->y;
    double mass = 0;
    for (size_t i = 0; i < rows->rows; ++i) {
        double c = tnp_softmax_cost(rows->loss, i);
        v->own[y->cls[y->first[i]]] += c;
        mass += c;
    }
    enough = fmax(enough, SMALL * mass);
    for (size_t step = 0; step < most; ++step) {
        double off = look(rows, s, mass, v);
        if (off <= enough)
            return;
        double forcing = fmin(fmax(enough / off / 2, LEAST_FORCING), MOST_FORCING);
        direction(rows, s, forcing, v);
        double length = shorten(v, rows->k);
        move(rows, v, s, intercept, stride);
        if (off * (2 * length + forcing) <= enough) /* about what is left: no visit that would only see it */
            return;
    }
}

tn_status tnp_softmax_settle(const tnp_softmax_rows *rows, size_t steps, double enough, float *s, float *intercept,
                             size_t stride)
{
    tn_status st = TN_OK;
    size_t k = rows->k;
    work v = {0};
    TN_TRY(tnp_alloc(rows->ctx, 1 + 2 * k, sizeof *v.sums, &v.sums));
    TN_TRY(tnp_alloc(rows->ctx, 1 + 2 * k, sizeof *v.product, &v.product));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.d, &v.d));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.r, &v.r));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.p, &v.p));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.own, &v.own));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.narrow, &v.narrow));
    take_steps(rows, steps, enough, s, intercept, stride, &v);
done:
    tnp_free_all(v.sums, v.product, v.d, v.r, v.p, v.own, v.narrow);
    return st;
}
