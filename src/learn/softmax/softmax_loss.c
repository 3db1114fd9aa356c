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

enum { CHUNK = TNP_SOFTMAX_CHUNK, BLOCK_FLOATS = 1 << 17, MOST_KEPT = 1 << 22, SEARCHES = 12, MOST_SEARCHES = 60 };

static size_t block_of(size_t rows, size_t k)
{
    size_t chunks = tnp_max(BLOCK_FLOATS / tnp_max(k, 1) / CHUNK, 4);
    return tnp_min(chunks, (rows + CHUNK - 1) / CHUNK) * CHUNK;
}

/* Numbers that the sums of a chunk have memory for: the kernel adds 0 to what is behind its columns. */
size_t tnp_softmax_sum_capacity(size_t k)
{
    return 1 + 2 * k + TNP_PROBE_PAD;
}

static bool keeps(size_t rows, size_t k)
{
    return rows * k <= MOST_KEPT;
}

size_t tnp_softmax_rows_bytes(size_t rows, size_t k)
{
    size_t block = block_of(rows, k), kept = keeps(rows, k) ? 4 * rows * k : 0;
    return 8 * block * k + block / CHUNK * (8 * tnp_softmax_sum_capacity(k) + 4 * k) + kept; /* z, and t of a pass */
}

tn_status tnp_softmax_rows_init(tn_ctx *ctx, const tnp_softmax *loss, tnp_softmax_rows *r)
{
    tn_status st = TN_OK;
    size_t k = loss->y->classes, chunks;
    *r = (tnp_softmax_rows){
        .ctx = ctx, .loss = loss, .rows = loss->y->rows, .k = k, .block = block_of(loss->y->rows, k)};
    chunks = r->block / CHUNK;
    TN_TRY(tnp_alloc_raw(ctx, r->block * k, sizeof *r->z, &r->z));
    TN_TRY(tnp_alloc_raw(ctx, chunks * tnp_softmax_sum_capacity(k), sizeof *r->partial, &r->partial));
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

/* n rows from number i of the range on. sum: the loss, then slopes and weights of the columns. */
static void slope_rows(const row_job *job, size_t i, size_t n, double *sum)
{
    const tnp_softmax_rows *r = job->r;
    const tnp_targets *y = r->loss->y;
    size_t k = r->k, first = job->range.start + i * job->range.stride;
    float cost[TNP_SLOPE_ROWS], *g = job->out + i * k;
    double whole[TNP_SLOPE_ROWS];
    for (size_t j = 0; j < n; ++j)
        cost[j] = row_cost(r->loss, first + j);
    tnp_simd_get()->softmax_slope(&(tnp_slope_rows){.rows = n,
                                                    .k = k,
                                                    .s = job->s + first * k,
                                                    .cost = cost,
                                                    .p = r->p ? r->p + first * k : g,
                                                    .g = g,
                                                    .slope = sum + 1,
                                                    .weight = sum + 1 + k,
                                                    .whole = whole});
    for (size_t j = 0; j < n; ++j) {
        size_t own = y->cls[y->first[first + j]];
        sum[0] += (double)cost[j] * (whole[j] - (double)job->s[(first + j) * k + own]);
        sum[1 + own] -= (double)cost[j];
        g[j * k + own] -= cost[j];
    }
}

static void line_row(const float *s, const float *z, float t, size_t k, size_t y, float cost, double *sum)
{
    double sums[2];
    tnp_simd_get()->softmax_line(s, z, t, k, sums);
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

/* As slope_rows; one row where probabilities are made. */
static void curve_sums_rows(const row_job *job, size_t i, size_t n, float *scratch, double *sum)
{
    const tnp_softmax_rows *r = job->r;
    size_t first = job->range.start + i * job->range.stride;
    float cost[TNP_SLOPE_ROWS];
    for (size_t j = 0; j < n; ++j)
        cost[j] = row_cost(r->loss, first + j);
    const float *p = probabilities(r, first, job->s + first * r->k, scratch);
    tnp_simd_get()->softmax_curve_sums(&(tnp_curve_rows){n, r->k, p, cost, job->z, sum});
}

static void visit_row(const row_job *job, size_t i, float *scratch, double *sum)
{
    const tnp_softmax_rows *r = job->r;
    const tnp_targets *y = r->loss->y;
    size_t k = r->k, row = job->range.start + i * job->range.stride;
    const float *s = job->s + row * k;
    float cost = row_cost(r->loss, row);
    if (job->work == CURVE)
        tnp_simd_get()->softmax_curve(probabilities(r, row, s, scratch), cost, job->out + i * k, k);
    else
        line_row(s, job->z + i * k, job->t, k, y->cls[y->first[row]], cost, sum);
}

/* Rows [from, end) of the range; scratch (k). */
static void visit(const row_job *job, size_t from, size_t end, float *scratch, double *sum)
{
    bool neighbours = job->range.stride == 1;
    size_t most = neighbours && (job->work == SLOPE || (job->work == CURVE_SUMS && job->r->p)) ? TNP_SLOPE_ROWS : 1;
    for (size_t i = from, n; i < end; i += n) {
        n = tnp_min(most, end - i);
        if (job->work == SLOPE)
            slope_rows(job, i, n, sum);
        else if (job->work == CURVE_SUMS)
            curve_sums_rows(job, i, n, scratch, sum);
        else
            visit_row(job, i, scratch, sum);
    }
}

static void row_chunk(void *arg, size_t chunk)
{
    const row_job *job = arg;
    const tnp_softmax_rows *r = job->r;
    size_t capacity = tnp_softmax_sum_capacity(r->k);
    double *sum = r->partial + chunk * capacity;
    memset(sum, 0, capacity * sizeof *sum);
    visit(job, chunk * CHUNK, tnp_min(job->range.count, (chunk + 1) * CHUNK), r->scratch + chunk * r->k, sum);
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
            total[j] += r->partial[c * tnp_softmax_sum_capacity(r->k) + j];
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

void tnp_softmax_slope_here(const tnp_softmax_rows *r, size_t start, size_t count, const float *s, float *g,
                            double *sums)
{
    visit(&(row_job){.r = r, .work = SLOPE, .range = {start, 1, count}, .s = s, .out = g}, 0, count, NULL, sums);
}

void tnp_softmax_curve_here(const tnp_softmax_rows *r, size_t start, size_t count, const float *s, float *scratch,
                            float *z)
{
    visit(&(row_job){.r = r, .work = CURVE, .range = {start, 1, count}, .s = s, .out = z}, 0, count, scratch, NULL);
}

void tnp_softmax_line_here(const tnp_softmax_rows *r, size_t start, size_t count, const float *s, const float *z,
                           double t, double *sums)
{
    row_job job = {.r = r, .work = LINE, .range = {start, 1, count}, .s = s, .z = z, .t = (float)t};
    visit(&job, 0, count, NULL, sums);
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
