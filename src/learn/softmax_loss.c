/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multinomial logistic loss, row by row, with p = softmax(s), y the row's class and c its cost:
 *
 *   loss = c (log sum_k exp s_k - s_y),   d/ds = c (p - e_y),   d2/ds2 z = c (p o z - p (p'z))
 *   along z:  first = c (p'z - z_y),   second = c (p'z^2 - (p'z)^2)
 *
 * Rows go to the threads in chunks of fixed size; every chunk has its own sums. Probabilities are made once a place and kept:
 * the exponentials of a product with the second derivative would cost more than the product of a small class. */
#include "learn/softmax_loss.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 64, SEARCHES = 12 };
static const double ENOUGH = 0.1;

static size_t chunks_of(size_t rows)
{
    return (rows + CHUNK - 1) / CHUNK;
}

size_t tnp_softmax_rows_bytes(size_t rows, size_t k)
{
    return 12 * chunks_of(rows) * (k + 2);
}

tn_status tnp_softmax_rows_init(tn_ctx *ctx, const tnp_softmax *loss, tnp_softmax_rows *r)
{
    tn_status st = TN_OK;
    size_t room;
    *r = (tnp_softmax_rows){.ctx = ctx, .loss = loss, .rows = loss->y->rows, .k = loss->y->classes};
    room = chunks_of(r->rows) * tnp_max(r->k, 2);
    TN_TRY(tnp_alloc_raw(ctx, room, sizeof *r->partial, &r->partial));
    TN_TRY(tnp_alloc_raw(ctx, room, sizeof *r->scratch, &r->scratch));
done:
    return st;
}

void tnp_softmax_rows_destroy(tnp_softmax_rows *r)
{
    tnp_free(r->partial);
    tnp_free(r->scratch);
}

typedef enum row_work { VALUE, SLOPE, CURVE, WEIGHT, LINE, MOVE } row_work;

typedef struct row_job {
    const tnp_softmax_rows *r;
    row_work work;
    const float *in; /* s or p, as the function of this work has it */
    float *out;      /* p, g or z; s of MOVE */
    const float *z;  /* of LINE and MOVE */
    float t;
    size_t sums; /* how many a chunk has */
} row_job;

static float row_cost(const tnp_softmax *l, size_t row)
{
    return l->cost * (l->row_weight ? l->row_weight[row] : 1.0f);
}

static void slope_row(const float *p, size_t k, size_t y, float cost, float *g, double *sum)
{
    for (size_t j = 0; j < k; ++j)
        g[j] = cost * p[j];
    g[y] -= cost;
    for (size_t j = 0; j < k; ++j)
        sum[j] += (double)g[j];
}

static void curve_row(const float *p, size_t k, float cost, float *z)
{
    double sums[2];
    tnp_kernels_get()->moments(p, z, k, sums);
    float mean = (float)sums[0];
    for (size_t j = 0; j < k; ++j)
        z[j] = cost * p[j] * (z[j] - mean);
}

static void weight_row(const float *p, size_t k, float cost, double *sum)
{
    for (size_t j = 0; j < k; ++j)
        sum[j] += (double)(cost * p[j] * (1 - p[j]));
}

static void line_row(const float *s, const float *z, float t, size_t k, size_t y, float cost, float *p, double *sum)
{
    double sums[2];
    for (size_t j = 0; j < k; ++j)
        p[j] = s[j] + t * z[j];
    tnp_kernels_get()->softmax(p, p, k);
    tnp_kernels_get()->moments(p, z, k, sums);
    sum[0] += (double)cost * (sums[0] - (double)z[y]);
    sum[1] += (double)cost * (sums[1] - sums[0] * sums[0]);
}

static void row_chunk(void *arg, size_t chunk)
{
    const row_job *job = arg;
    const tnp_softmax_rows *r = job->r;
    size_t k = r->k, end = tnp_min(r->rows, (chunk + 1) * CHUNK);
    double *sum = r->partial + chunk * job->sums;
    memset(sum, 0, job->sums * sizeof *sum);
    for (size_t row = chunk * CHUNK; row < end; ++row) {
        const tnp_targets *y = r->loss->y;
        size_t own = y->cls[y->first[row]];
        float cost = row_cost(r->loss, row), *out = job->out ? job->out + row * k : NULL;
        const float *in = job->in + row * k, *z = job->z ? job->z + row * k : NULL;
        switch (job->work) {
        case VALUE:
            sum[0] += (double)cost * (tnp_kernels_get()->softmax(in, out, k) - (double)in[own]);
            break;
        case SLOPE:
            slope_row(in, k, own, cost, out, sum);
            break;
        case CURVE:
            curve_row(in, k, cost, out);
            break;
        case WEIGHT:
            weight_row(in, k, cost, sum);
            break;
        case LINE:
            line_row(in, z, job->t, k, own, cost, r->scratch + chunk * k, sum);
            break;
        case MOVE:
            for (size_t j = 0; j < k; ++j)
                out[j] += job->t * z[j];
        }
    }
}

/* Sums of the chunks, in their order, into total (job->sums). */
static void on_rows(const row_job *job, double *total)
{
    const tnp_softmax_rows *r = job->r;
    size_t chunks = chunks_of(r->rows);
    tnp_parallel(r->ctx, tnp_threads_for(r->ctx, 8.0 * (double)r->rows * (double)r->k), chunks, row_chunk,
                 (void *)(uintptr_t)job);
    for (size_t j = 0; j < job->sums; ++j)
        total[j] = 0;
    for (size_t c = 0; c < chunks; ++c)
        for (size_t j = 0; j < job->sums; ++j)
            total[j] += r->partial[c * job->sums + j];
}

double tnp_softmax_value(const tnp_softmax_rows *r, const float *s, float *p)
{
    double value;
    on_rows(&(row_job){.r = r, .work = VALUE, .in = s, .out = p, .sums = 1}, &value);
    return value;
}

void tnp_softmax_slope(const tnp_softmax_rows *r, const float *p, float *g, double *sums)
{
    on_rows(&(row_job){.r = r, .work = SLOPE, .in = p, .out = g, .sums = r->k}, sums);
}

void tnp_softmax_curve(const tnp_softmax_rows *r, const float *p, float *z)
{
    on_rows(&(row_job){.r = r, .work = CURVE, .in = p, .out = z}, NULL);
}

void tnp_softmax_weight(const tnp_softmax_rows *r, const float *p, double *sums)
{
    on_rows(&(row_job){.r = r, .work = WEIGHT, .in = p, .sums = r->k}, sums);
}

void tnp_softmax_line(const tnp_softmax_rows *r, const float *s, const float *z, double t, double *first,
                      double *second)
{
    double sums[2];
    on_rows(&(row_job){.r = r, .work = LINE, .in = s, .z = z, .t = (float)t, .sums = 2}, sums);
    *first = sums[0];
    *second = sums[1];
}

/* Newton's method on the derivative, which rises; where it leaves what is known to hold the root, half of that. */
double tnp_softmax_search(const tnp_softmax_rows *r, const float *s, const float *z, double slope, double ridge)
{
    double low = 0, high = 0, t = 1, first, second, at_zero, aside;
    tnp_softmax_line(r, s, z, 0, &at_zero, &second);
    aside = slope - at_zero; /* the penalty's part at 0 */
    for (int round = 0; round < SEARCHES && slope < 0; ++round) {
        tnp_softmax_line(r, s, z, t, &first, &second);
        first += aside + t * ridge;
        if (fabs(first) <= ENOUGH * fabs(slope))
            return t;
        low = first < 0 ? t : low;
        high = first > 0 ? t : high;
        double next = t - first / (second + ridge);
        if (high == 0)
            next = fmin(next, 4 * t);
        t = high == 0 || (next > low && next < high) ? next : (low + high) / 2;
    }
    return slope < 0 ? low : 0;
}

void tnp_softmax_move(const tnp_softmax_rows *r, double t, const float *z, float *s)
{
    on_rows(&(row_job){.r = r, .work = MOVE, .in = z, .out = s, .z = z, .t = (float)t}, NULL);
}
