/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A representation as the learners see it: chosen rows, bad values handled, mapped, normalised, block by block.
 *
 * Rows are independent: the thread that reads some maps and normalises them too, while they are in its cache. The first bad row is
 * found by the smallest row number, not by the first thread to meet one. */
#include "base/base.h"
#include "read/source.h"
#include "transform/feed.h"
#include "transform/map.h"
#include "transform/normalize.h"

#include <math.h>
#include <string.h>

enum { PASS_ROWS = 1024, PASS_VALUES = 1 << 22 }; /* a block of the internal passes has at most so many, but one row */

struct tn_feed {
    const tn_source *src;
    const size_t *rows;
    const tn_map *map;       /* or NULL */
    size_t count, raw, cols; /* rows; columns of the source, and of what comes out */
    tn_normalize normalize;
    tn_nan_policy nan;
    double *means, *scales; /* z-scores: cols each */
};

typedef struct row_job {
    const tnp_kernels *k;
    const tn_feed *feed;
    size_t stride;
    float *in, *out; /* in place where they are the same rows: without a map, and with stride = cols */
    double *in_wide, *out_wide;
    bool *bad; /* rows: holds NaN or infinity */
} row_job;

static bool row_is_finite(const double *x, size_t n)
{
    bool fine = true;
    for (size_t j = 0; j < n; ++j)
        fine &= isfinite(x[j]) != 0;
    return fine;
}

static void prepare_row(const row_job *job, size_t i)
{
    const tn_feed *feed = job->feed;
    float *x = job->in + i * feed->raw, *y = job->out + i * job->stride;
    job->bad[i] = !job->k->all_finite(x, feed->raw);
    if (job->bad[i] && feed->nan != TN_NAN_ZERO)
        return;
    for (size_t j = 0; j < feed->raw && job->bad[i]; ++j)
        x[j] = isfinite(x[j]) ? x[j] : 0.0f;
    if (feed->map)
        tnp_phi_row(job->k, feed->map, x, feed->raw, y);
    tnp_normalize_row(job->k, feed->normalize, feed->means, feed->scales, feed->map ? y : x, y, feed->cols);
}

static void prepare_row_wide(const row_job *job, size_t i)
{
    const tn_feed *feed = job->feed;
    double *x = job->in_wide + i * feed->raw, *y = job->out_wide + i * job->stride;
    job->bad[i] = !row_is_finite(x, feed->raw);
    if (job->bad[i] && feed->nan != TN_NAN_ZERO)
        return;
    for (size_t j = 0; j < feed->raw && job->bad[i]; ++j)
        x[j] = isfinite(x[j]) ? x[j] : 0.0;
    if (feed->map)
        tnp_phi_row_wide(feed->map, x, feed->raw, y);
    tnp_normalize_row_wide(feed->normalize, feed->means, feed->scales, feed->map ? y : x, y, feed->cols);
}

/* Rows just read, still in the cache. */
static void prepare_rows(void *arg, size_t first, size_t n)
{
    const row_job *job = arg;
    for (size_t i = first; i < first + n; ++i)
        if (job->out)
            prepare_row(job, i);
        else
            prepare_row_wide(job, i);
}

/* Reads and prepares file rows index[start], ..., or start, ...; job has its outputs set, and its inputs where the raw rows
 * go. */
static tn_status read_rows(tn_ctx *ctx, const tn_feed *feed, const size_t *index, size_t start, size_t count,
                           row_job *job, float *raw, double *raw_wide)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, count, sizeof *job->bad, &job->bad));
    job->k = tnp_kernels_get();
    job->feed = feed;
    job->in = raw;
    job->in_wide = raw_wide;
    TN_TRY(tnp_source_read_then(ctx, feed->src, index, start, count, raw, raw_wide, feed->cols / tnp_max(feed->raw, 1),
                                prepare_rows, job));
    for (size_t i = 0; i < count && feed->nan != TN_NAN_ZERO; ++i)
        if (job->bad[i]) {
            size_t row = index ? index[start + i] : start + i;
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu holds NaN or infinity (--nan drop or zero accepts it)",
                            tn_source_path(feed->src), row));
        }
done:
    tnp_free(job->bad);
    return st;
}

static bool needs_raw(const tn_feed *feed, size_t stride)
{
    return feed->map || stride != feed->cols;
}

tn_status tn_feed_read(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, float *out, size_t stride)
{
    tn_status st = TN_OK;
    float *raw = NULL;
    row_job job = {.stride = stride, .out = out};
    if (needs_raw(feed, stride))
        TN_TRY(tnp_alloc_raw(ctx, count * feed->raw, sizeof *raw, &raw));
    TN_TRY(read_rows(ctx, feed, feed->rows, start, count, &job, raw ? raw : out, NULL));
done:
    tnp_free(raw);
    return st;
}

tn_status tnp_feed_pick(tn_ctx *ctx, const tn_feed *feed, const size_t *rows, size_t count, float *out, size_t stride)
{
    tn_status st = TN_OK;
    float *raw = NULL;
    size_t *index = NULL;
    row_job job = {.stride = stride, .out = out};
    TN_TRY(tnp_alloc_raw(ctx, count, sizeof *index, &index));
    for (size_t i = 0; i < count; ++i)
        index[i] = feed->rows ? feed->rows[rows[i]] : rows[i];
    if (needs_raw(feed, stride))
        TN_TRY(tnp_alloc_raw(ctx, count * feed->raw, sizeof *raw, &raw));
    TN_TRY(read_rows(ctx, feed, index, 0, count, &job, raw ? raw : out, NULL));
done:
    tnp_free(index);
    tnp_free(raw);
    return st;
}

void tnp_feed_expect(const tn_feed *feed, size_t start, size_t count, bool soon)
{
    tnp_source_expect(feed->src, feed->rows, start, count, soon);
}

tn_status tn_feed_read_wide(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, double *out, size_t stride)
{
    tn_status st = TN_OK;
    double *raw = NULL;
    row_job job = {.stride = stride, .out_wide = out};
    if (needs_raw(feed, stride))
        TN_TRY(tnp_alloc_raw(ctx, count * feed->raw, sizeof *raw, &raw));
    TN_TRY(read_rows(ctx, feed, feed->rows, start, count, &job, NULL, raw ? raw : out));
done:
    tnp_free(raw);
    return st;
}

static size_t pass_rows(size_t cols)
{
    return tnp_max(1, tnp_min(PASS_ROWS, PASS_VALUES / tnp_max(cols, 1)));
}

/* Adds x - origin (pass 0) or its square (pass 1) of every row to sums (cols). */
static void add_deviations(const double *block, size_t rows, size_t cols, const double *origin, int pass, double *sums)
{
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) {
            double d = block[i * cols + j] - origin[j];
            sums[j] += pass == 0 ? d : d * d;
        }
}

/* Means and reciprocal deviations in two passes over the rows. The first sums differences from the first row, the second
 * squares about the means, so that a large offset costs no digits and a constant column has a deviation of exactly zero. */
static tn_status learn_zscore(tn_ctx *ctx, tn_feed *feed)
{
    tn_status st = TN_OK;
    double *block = NULL;
    const size_t cols = feed->cols, rows = feed->count;
    tn_feed plain = *feed;
    plain.normalize = TN_NORM_NONE;
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &feed->means));
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &feed->scales));
    const size_t most = pass_rows(cols);
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(rows, most) * cols, sizeof *block, &block));
    TN_TRY(tn_feed_read_wide(ctx, &plain, 0, 1, feed->means, cols));
    for (int pass = 0; pass < 2; ++pass) {
        for (size_t start = 0; start < rows; start += most) {
            size_t count = tnp_min(most, rows - start);
            TN_TRY(tn_feed_read_wide(ctx, &plain, start, count, block, cols));
            TN_TRY(tnp_progress(ctx, "column means", start + count, rows));
            add_deviations(block, count, cols, feed->means, pass, feed->scales);
        }
        for (size_t j = 0; j < cols; ++j) {
            double mean = feed->scales[j] / (double)rows;
            feed->means[j] += pass == 0 ? mean : 0;
            feed->scales[j] = pass == 0 || !(mean > 0) ? 0 : 1 / sqrt(mean);
        }
    }
done:
    tnp_free(block);
    return st;
}

tn_status tn_feed_new(tn_ctx *ctx, const tn_source *src, const size_t *rows, size_t count, tn_normalize normalize,
                      tn_nan_policy nan, const tn_map *map, tn_feed **out)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    if (!rows && count > tn_source_rows(src))
        return tnp_fail(ctx, TN_ERR_ARG, "%s: %zu rows asked for, it has %zu", tn_source_path(src), count,
                        tn_source_rows(src));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *feed, &feed));
    feed->src = src;
    feed->rows = rows;
    feed->count = count;
    feed->map = map;
    feed->raw = tn_source_cols(src);
    TN_TRY(tnp_mul(ctx, feed->raw, map ? tn_map_width(map) : 1, &feed->cols));
    if (map)
        TN_TRY(tnp_phi_ready(ctx, map));
    feed->normalize = normalize;
    feed->nan = nan;
    if (normalize == TN_NORM_ZSCORE && count > 0)
        TN_TRY(learn_zscore(ctx, feed));
    *out = feed;
    feed = NULL;
done:
    tn_feed_free(feed);
    return st;
}

void tn_feed_free(tn_feed *feed)
{
    if (!feed)
        return;
    tnp_free(feed->means);
    tnp_free(feed->scales);
    tnp_free(feed);
}

size_t tn_feed_rows(const tn_feed *feed)
{
    return feed->count;
}

size_t tn_feed_cols(const tn_feed *feed)
{
    return feed->cols;
}

const tn_source *tn_feed_source(const tn_feed *feed)
{
    return feed->src;
}

const tn_map *tn_feed_map(const tn_feed *feed)
{
    return feed->map;
}

tn_normalize tn_feed_normalize(const tn_feed *feed)
{
    return feed->normalize;
}

const double *tn_feed_means(const tn_feed *feed)
{
    return feed->means;
}

const double *tn_feed_scales(const tn_feed *feed)
{
    return feed->scales;
}

tn_status tn_feed_set_zscore(tn_ctx *ctx, tn_feed *feed, const double *means, const double *scales)
{
    tn_status st = TN_OK;
    double *m = NULL, *s = NULL;
    size_t bytes = feed->cols * sizeof *m;
    TN_TRY(tnp_alloc(ctx, feed->cols, sizeof *m, &m));
    TN_TRY(tnp_alloc(ctx, feed->cols, sizeof *s, &s));
    memcpy(m, means, bytes);
    memcpy(s, scales, bytes);
    tnp_free(feed->means);
    tnp_free(feed->scales);
    feed->means = m;
    feed->scales = s;
    feed->normalize = TN_NORM_ZSCORE;
    m = s = NULL;
done:
    tnp_free(m);
    tnp_free(s);
    return st;
}

tn_status tn_rows_finite(tn_ctx *ctx, const tn_source *src, bool *keep)
{
    tn_status st = TN_OK;
    double *block = NULL;
    size_t rows = tn_source_rows(src), cols = tn_source_cols(src), most = pass_rows(cols);
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(rows, most) * cols, sizeof *block, &block));
    for (size_t start = 0; start < rows; start += most) {
        size_t count = tnp_min(most, rows - start);
        TN_TRY(tn_source_read_wide(ctx, src, NULL, start, count, 0, cols, block));
        TN_TRY(tnp_progress(ctx, "finite rows", start + count, rows));
        for (size_t i = 0; i < count; ++i)
            if (!row_is_finite(block + i * cols, cols))
                keep[start + i] = false;
    }
done:
    tnp_free(block);
    return st;
}
