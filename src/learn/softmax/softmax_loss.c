/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multinomial logistic loss, row by row, with p = softmax(s), y the row's class and c its cost:
 *
 *   loss = c (log sum_k exp s_k - s_y),   d/ds = c (p - e_y),   d2/ds2 z = c (p o z - p (p'z))
 *   along z:  first = c (p'z - z_y),   second = c (p'z^2 - (p'z)^2)
 *
 * A block of rows is small enough for z to stay in the cache between the products before and after; its rows go to the
 * threads in chunks of fixed size, each with its own sums. Up to MOST_KEPT probabilities are kept from a slope for the
 * products after it. More are made anew at every visit: fetched from memory they cost as much as the exponentials. */
#include "learn/softmax/softmax_loss.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 64, BLOCK_FLOATS = 1 << 17, MOST_KEPT = 1 << 22, SEARCHES = 12, MOST_SEARCHES = 60 };

static size_t block_of(size_t rows, size_t k)
{
    size_t chunks = tnp_max(BLOCK_FLOATS / tnp_max(k, 1) / CHUNK, 4);
    return tnp_min(chunks, (rows + CHUNK - 1) / CHUNK) * CHUNK;
}

static bool keeps(size_t rows, size_t k)
{
    return rows * k <= MOST_KEPT;
}

size_t tnp_softmax_rows_bytes(size_t rows, size_t k)
{
    size_t block = block_of(rows, k), kept = keeps(rows, k) ? 4 * rows * k : 0;
    return 8 * block * k + block / CHUNK * (8 * (2 * k + 1) + 4 * k) + kept; /* z, and t of a pass */
}

tn_status tnp_softmax_rows_init(tn_ctx *ctx, const tnp_softmax *loss, tnp_softmax_rows *r)
{
    tn_status st = TN_OK;
    size_t k = loss->y->classes, chunks;
    *r = (tnp_softmax_rows){
        .ctx = ctx, .loss = loss, .rows = loss->y->rows, .k = k, .block = block_of(loss->y->rows, k)};
    chunks = r->block / CHUNK;
    TN_TRY(tnp_alloc_raw(ctx, r->block * k, sizeof *r->z, &r->z));
    TN_TRY(tnp_alloc_raw(ctx, chunks * (2 * k + 1), sizeof *r->partial, &r->partial));
    TN_TRY(tnp_alloc_raw(ctx, chunks * k, sizeof *r->scratch, &r->scratch));
    if (keeps(r->rows, k))
        TN_TRY(tnp_alloc_raw(ctx, r->rows * k, sizeof *r->p, &r->p));
done:
    return st;
}

void tnp_softmax_rows_destroy(tnp_softmax_rows *r)
{
    tnp_free_all(r->z, r->partial, r->scratch, r->p);
}

typedef enum row_work { SLOPE, CURVE, CURVE_SUMS, LINE } row_work;

typedef struct row_job {
    const tnp_softmax_rows *r;
    row_work work;
    tnp_softmax_range range;
    const float *s;
    float *out;     /* g of SLOPE, z of CURVE */
    const float *z; /* of LINE; of CURVE_SUMS, for all rows */
    float t;
    size_t sums; /* how many a chunk has */
} row_job;

static float row_cost(const tnp_softmax *l, size_t row)
{
    return l->cost * (l->row_weight ? l->row_weight[row] : 1.0f);
}

/* sum: the loss first, then those of the columns. p (k) may be g. */
static void slope_row(const float *s, size_t k, size_t y, float cost, float *p, float *g, double *sum)
{
    double *slope = sum + 1, *weight = slope + k;
    sum[0] += (double)cost * (tnp_simd_get()->softmax(s, p, k) - (double)s[y]);
    for (size_t j = 0; j < k; ++j) {
        float q = p[j];
        g[j] = cost * q;
        weight[j] += (double)(g[j] * (1 - q));
    }
    g[y] -= cost;
    for (size_t j = 0; j < k; ++j)
        slope[j] += (double)g[j];
}

static void curve_row(const float *p, size_t k, float cost, float *z)
{
    double sums[2];
    tnp_simd_get()->moments(p, z, k, sums);
    float mean = (float)sums[0];
    for (size_t j = 0; j < k; ++j)
        z[j] = cost * p[j] * (z[j] - mean);
}

static void curve_sums_row(const float *p, const float *z, size_t k, float cost, double *sum)
{
    double sums[2];
    tnp_simd_get()->moments(p, z, k, sums);
    float mean = (float)sums[0];
    for (size_t j = 0; j < k; ++j)
        sum[j] += (double)(cost * p[j] * (z[j] - mean));
}

static void line_row(const float *s, const float *z, float t, size_t k, size_t y, float cost, float *p, double *sum)
{
    double sums[2];
    for (size_t j = 0; j < k; ++j)
        p[j] = s[j] + t * z[j];
    tnp_simd_get()->softmax(p, p, k);
    tnp_simd_get()->moments(p, z, k, sums);
    sum[0] += (double)cost * (sums[0] - (double)z[y]);
    sum[1] += (double)cost * (sums[1] - sums[0] * sums[0]);
}

/* Probabilities of a row, kept or made into scratch (k). */
static const float *probabilities(const tnp_softmax_rows *r, size_t row, const float *s, float *scratch)
{
    if (r->p)
        return r->p + row * r->k;
    tnp_simd_get()->softmax(s, scratch, r->k);
    return scratch;
}

static void row_chunk(void *arg, size_t chunk)
{
    const row_job *job = arg;
    const tnp_softmax_rows *r = job->r;
    const tnp_targets *y = r->loss->y;
    size_t k = r->k, end = tnp_min(job->range.count, (chunk + 1) * CHUNK);
    double *sum = r->partial + chunk * job->sums;
    float *p = r->scratch + chunk * k;
    memset(sum, 0, job->sums * sizeof *sum);
    for (size_t i = chunk * CHUNK; i < end; ++i) {
        size_t row = job->range.start + i * job->range.stride, own = y->cls[y->first[row]];
        const float *s = job->s + row * k;
        float cost = row_cost(r->loss, row), *out = job->out ? job->out + i * k : NULL;
        switch (job->work) {
        case SLOPE:
            slope_row(s, k, own, cost, r->p ? r->p + row * k : out, out, sum);
            break;
        case CURVE:
            curve_row(probabilities(r, row, s, p), k, cost, out);
            break;
        case CURVE_SUMS:
            curve_sums_row(probabilities(r, row, s, p), job->z, k, cost, sum);
            break;
        case LINE:
            line_row(s, job->z + i * k, job->t, k, own, cost, p, sum);
        }
    }
}

/* Adds the sums of the chunks, in their order, to total (job->sums). */
static void on_rows(const row_job *job, double *total)
{
    const tnp_softmax_rows *r = job->r;
    size_t chunks = (job->range.count + CHUNK - 1) / CHUNK;
    tnp_parallel(r->ctx, tnp_threads_for(r->ctx, 16.0 * (double)job->range.count * (double)r->k), chunks, row_chunk,
                 (void *)(uintptr_t)job);
    for (size_t c = 0; c < chunks; ++c)
        for (size_t j = 0; j < job->sums; ++j)
            total[j] += r->partial[c * job->sums + j];
}

void tnp_softmax_slope(const tnp_softmax_rows *r, tnp_softmax_range range, const float *s, float *g, double *sums)
{
    on_rows(&(row_job){.r = r, .work = SLOPE, .range = range, .s = s, .out = g, .sums = 1 + 2 * r->k}, sums);
}

void tnp_softmax_curve(const tnp_softmax_rows *r, tnp_softmax_range range, const float *s, float *z)
{
    on_rows(&(row_job){.r = r, .work = CURVE, .range = range, .s = s, .out = z}, NULL);
}

void tnp_softmax_curve_sums(const tnp_softmax_rows *r, tnp_softmax_range range, const float *s, const float *z,
                            double *sums)
{
    on_rows(&(row_job){.r = r, .work = CURVE_SUMS, .range = range, .s = s, .z = z, .sums = r->k}, sums);
}

void tnp_softmax_line(const tnp_softmax_rows *r, tnp_softmax_range range, const float *s, const float *z, double t,
                      double *sums)
{
    on_rows(&(row_job){.r = r, .work = LINE, .range = range, .s = s, .z = z, .t = (float)t, .sums = 2}, sums);
}

/* Newton's method on the derivative, which rises; where it leaves what is known to hold the root, half of that. It ends
 * early with a place that is on the near side of the root; none is found early where the losses are saturated and the
 * step is far too long. */
tn_status tnp_line_search(tnp_line line, void *arg, double slope, double enough, double *step)
{
    double low = 0, high = 0, t = 1, first, second;
    for (int round = 0; (round < SEARCHES || (low == 0 && round < MOST_SEARCHES)) && slope < 0; ++round) {
        tn_status st = line(arg, t, &first, &second);
        if (st != TN_OK)
            return st;
        if (fabs(first) <= enough * fabs(slope)) {
            *step = t;
            return TN_OK;
        }
        low = first < 0 ? t : low;
        high = first > 0 ? t : high;
        double next = t - first / second;
        if (high == 0)
            next = fmin(next, 4 * t);
        t = high == 0 || (next > low && next < high) ? next : (low + high) / 2;
    }
    *step = slope < 0 ? low : 0;
    return TN_OK;
}
