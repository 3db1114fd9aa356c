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

enum { STEPS = 4, CG_MOST = 12 };
static const double SMALL = 1e-7, FORCING = 0.01; /* of the mass of all rows; of the residual */

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

/* d ~ -H^-1 e. A class that no row is near has no curvature, and stays. */
static void direction(const tnp_softmax_rows *rows, const float *s, const work *v)
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
    target = FORCING * FORCING * rz;
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

tn_status tnp_softmax_settle(const tnp_softmax_rows *rows, double enough, float *s, float *intercept, size_t stride)
{
    tn_status st = TN_OK;
    size_t k = rows->k;
    double last = INFINITY;
    work v = {0};
    TN_TRY(tnp_alloc(rows->ctx, 1 + 2 * k, sizeof *v.sums, &v.sums));
    TN_TRY(tnp_alloc(rows->ctx, 1 + 2 * k, sizeof *v.product, &v.product));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.d, &v.d));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.r, &v.r));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.p, &v.p));
    TN_TRY(tnp_alloc(rows->ctx, k, sizeof *v.narrow, &v.narrow));
    for (int step = 0; step < STEPS; ++step) {
        double off = 0, mass = 0;
        visit(rows, s, NULL, v.sums);
        for (size_t j = 0; j < k; ++j)
            off += fabs(v.sums[1 + j]);
        for (size_t i = 0; i < rows->rows; ++i)
            mass += tnp_softmax_cost(rows->loss, i);
        if (v.sums[0] > last) /* the last step went too far: back, and no further */
            for (size_t j = 0; j < k; ++j)
                v.d[j] = -v.d[j];
        else if (off > fmax(SMALL * mass, enough))
            direction(rows, s, &v);
        else
            break;
        move(rows, &v, s, intercept, stride);
        if (v.sums[0] > last)
            break;
        last = v.sums[0];
    }
done:
    tnp_free_all(v.sums, v.product, v.d, v.r, v.p, v.narrow);
    return st;
}
