/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streaming of feeds into moments.
 *
 * Primal: one pass over blocks of rows, the representations of a block side by side in one buffer, so that the
 * blocks X_a'X_b of every pair come from the same product.
 *
 * Dual: products of rows. Rows are taken in bands that fit a buffer; where all rows fit, which is the usual case for
 * N < D, each row is read once. Float products run over at most 1024 columns before they are added in double, for
 * the reason given in matrix/stats.c. */
#include "learn/gather.h"
#include "learn/task.h"
#include "tenon/learn.h"
#include "base/blas.h"
#include "kernel/kernel.h"

#include <string.h>

enum { INNER = 1024, BAND_BYTES = 64 << 20 };

static bool any_wide(const tn_feed *const *feeds, size_t count)
{
    bool wide = false;
    for (size_t f = 0; f < count; ++f)
        wide |= tn_source_is_wide(tn_feed_source(feeds[f]));
    return wide;
}

tn_status tnp_gather_stats(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                           tnp_stats **out)
{
    tn_status st = TN_OK;
    tnp_stats *stats = NULL;
    float *block = NULL;
    double *block_wide = NULL;
    bool wide = any_wide(feeds, count);
    size_t dim = 0, most;
    for (size_t f = 0; f < count; ++f)
        dim += tn_feed_cols(feeds[f]);
    most = tnp_min(tnp_stats_block(dim, wide), y->rows);
    TN_TRY(tnp_stats_new(ctx, dim, y->classes, wide, &stats));
    if (wide)
        TN_TRY(tnp_alloc_raw(ctx, most * dim, sizeof *block_wide, &block_wide));
    else
        TN_TRY(tnp_alloc_raw(ctx, most * dim, sizeof *block, &block));
    for (size_t start = 0, n; start < y->rows; start += n) {
        n = tnp_min(most, y->rows - start);
        TN_TRY(tnp_progress(ctx, "reading", start, y->rows));
        for (size_t f = 0, at = 0; f < count; at += tn_feed_cols(feeds[f++]))
            if (wide)
                TN_TRY(tn_feed_read_wide(ctx, feeds[f], start, n, block_wide + at, dim));
            else
                TN_TRY(tn_feed_read(ctx, feeds[f], start, n, block + at, dim));
        if (wide)
            TN_TRY(tnp_stats_add_wide(ctx, stats, block_wide, y, start, n));
        else
            TN_TRY(tnp_stats_add(ctx, stats, block, y, start, n));
    }
    TN_TRY(tnp_progress(ctx, "reading", y->rows, y->rows));
    *out = stats;
    stats = NULL;
done:
    tn_stats_free(stats);
    tnp_free(block);
    tnp_free(block_wide);
    return st;
}

tn_status tn_stats_gather(tn_ctx *ctx, const tn_source *src, const tn_labels *labels, tn_normalize normalize,
                          tn_nan_policy nan, tn_stats **out)
{
    tn_status st = TN_OK;
    tnp_task *task = NULL;
    tn_feed *feed = NULL;
    if (normalize == TN_NORM_ZSCORE)
        return tnp_fail(ctx, TN_ERR_ARG, "statistics: z-scores depend on all rows, expected a row-wise normalisation");
    TN_TRY(tnp_task_rows(ctx, &src, 1, labels, nan, &task));
    TN_TRY(tn_feed_new(ctx, src, task->rows, task->y.rows, normalize, nan, &feed));
    TN_TRY(tnp_gather_stats(ctx, (const tn_feed *const *)&feed, 1, &task->y, out));
done:
    tn_feed_free(feed);
    tnp_task_free(task);
    return st;
}

/* Bands of rows of one feed, and where their products go. */
typedef struct product_job {
    const tnp_kernels *k;
    const tn_feed *feed;
    bool wide;
    size_t rows, cols, band;
    float *x[2], *product, *shift; /* x: two bands; product (band, band) */
    double *x_wide[2], *product_wide, *shift_wide;
    double *out; /* (rows, rows) */
    size_t row0, col0, height, width;
} product_job;

static size_t band_rows(size_t rows, size_t cols, bool wide)
{
    size_t fit = BAND_BYTES / (cols * (wide ? sizeof(double) : sizeof(float)));
    return tnp_min(rows, tnp_max(fit, 64));
}

size_t tnp_gather_products_bytes(size_t rows, size_t cols, bool wide)
{
    size_t band = band_rows(rows, cols, wide), size = wide ? sizeof(double) : sizeof(float);
    return size * band * (cols * (band < rows ? 2 : 1) + band) + size * cols;
}

static tn_status job_alloc(tn_ctx *ctx, product_job *job)
{
    tn_status st = TN_OK;
    size_t copies = job->band < job->rows ? 2 : 1, size = job->band * job->cols;
    for (size_t i = 0; i < copies; ++i)
        if (job->wide)
            TN_TRY(tnp_alloc_raw(ctx, size, sizeof(double), &job->x_wide[i]));
        else
            TN_TRY(tnp_alloc_raw(ctx, size, sizeof(float), &job->x[i]));
    if (job->wide) {
        TN_TRY(tnp_alloc(ctx, job->band * job->band, sizeof(double), &job->product_wide));
        TN_TRY(tnp_alloc(ctx, job->cols, sizeof(double), &job->shift_wide));
    } else {
        TN_TRY(tnp_alloc_raw(ctx, job->band * job->band, sizeof(float), &job->product));
        TN_TRY(tnp_alloc(ctx, job->cols, sizeof(float), &job->shift));
    }
done:
    return st;
}

/* The common vector: the mean of the first band. */
static tn_status set_shift(tn_ctx *ctx, product_job *job, size_t count)
{
    double *sum = NULL;
    tn_status st = tnp_alloc(ctx, job->cols, sizeof *sum, &sum);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < count; ++i) {
        if (!job->wide)
            job->k->add_to_double(job->x[0] + i * job->cols, sum, job->cols);
        for (size_t j = 0; job->wide && j < job->cols; ++j)
            sum[j] += job->x_wide[0][i * job->cols + j];
    }
    for (size_t j = 0; j < job->cols; ++j)
        if (job->wide)
            job->shift_wide[j] = sum[j] / (double)count;
        else
            job->shift[j] = (float)(sum[j] / (double)count);
    tnp_free(sum);
    return TN_OK;
}

/* Reads a band into buffer `which`; the first one read defines the shift. */
static tn_status read_band(tn_ctx *ctx, product_job *job, int which, size_t start, bool shifted)
{
    tn_status st = TN_OK;
    size_t count = tnp_min(job->band, job->rows - start);
    if (job->wide)
        TN_TRY(tn_feed_read_wide(ctx, job->feed, start, count, job->x_wide[which], job->cols));
    else
        TN_TRY(tn_feed_read(ctx, job->feed, start, count, job->x[which], job->cols));
    if (!shifted)
        goto done;
    if (which == 0 && start == 0)
        TN_TRY(set_shift(ctx, job, count));
    for (size_t i = 0; i < count; ++i) {
        if (!job->wide)
            job->k->shift_scale(job->x[which] + i * job->cols, job->shift, 1.0f, job->x[which] + i * job->cols,
                                job->cols);
        for (size_t j = 0; job->wide && j < job->cols; ++j)
            job->x_wide[which][i * job->cols + j] -= job->shift_wide[j];
    }
done:
    return st;
}

static void add_row(void *arg, size_t i)
{
    const product_job *job = arg;
    size_t from = job->row0 == job->col0 ? i : 0; /* a diagonal band holds its upper triangle only */
    double *out = job->out + (job->row0 + i) * job->rows + job->col0 + from;
    job->k->add_to_double(job->product + i * job->width + from, out, job->width - from);
}

static void put_row_wide(void *arg, size_t i)
{
    const product_job *job = arg;
    size_t from = job->row0 == job->col0 ? i : 0;
    double *out = job->out + (job->row0 + i) * job->rows + job->col0 + from;
    memcpy(out, job->product_wide + i * job->width + from, (job->width - from) * sizeof *out);
}

/* Products of the bands at row0 and col0, which lie in buffers 0 and 1. */
static tn_status multiply(tn_ctx *ctx, product_job *job)
{
    tn_status st = TN_OK;
    size_t cols = job->cols, threads = tnp_threads_for(ctx, (double)job->height * (double)job->width);
    if (job->wide) {
        memset(job->product_wide, 0, job->height * job->width * sizeof(double));
        if (job->row0 == job->col0)
            TN_TRY(tnp_dsyrk_rows(ctx, job->height, cols, job->x_wide[0], cols, job->product_wide));
        else
            TN_TRY(tnp_dgemm_nt(ctx, job->height, job->width, cols, job->x_wide[0], cols, job->x_wide[1], cols, 0,
                                job->product_wide, job->width));
        tnp_parallel(ctx, threads, job->height, put_row_wide, job);
        return TN_OK;
    }
    for (size_t c = 0; c < cols; c += INNER) {
        size_t n = tnp_min(INNER, cols - c);
        if (job->row0 == job->col0)
            TN_TRY(tnp_ssyrk_rows(ctx, job->height, n, job->x[0] + c, cols, job->product));
        else
            TN_TRY(tnp_sgemm_nt(ctx, job->height, job->width, n, job->x[0] + c, cols, job->x[1] + c, cols, 0,
                                job->product, job->width));
        tnp_parallel(ctx, threads, job->height, add_row, job);
    }
done:
    return st;
}

tn_status tnp_gather_products(tn_ctx *ctx, const tn_feed *feed, bool shifted, double *products)
{
    tn_status st = TN_OK;
    product_job job = {.k = tnp_kernels_get(), .feed = feed, .wide = any_wide(&feed, 1), .out = products};
    size_t n = job.rows = tn_feed_rows(feed);
    job.cols = tn_feed_cols(feed);
    job.band = band_rows(n, job.cols, job.wide);
    memset(products, 0, n * n * sizeof *products);
    TN_TRY(job_alloc(ctx, &job));
    for (size_t i = 0; i < n; i += job.band) {
        TN_TRY(tnp_progress(ctx, "reading", i, n));
        TN_TRY(read_band(ctx, &job, 0, i, shifted));
        for (size_t j = i; j < n; j += job.band) {
            if (j > i)
                TN_TRY(read_band(ctx, &job, 1, j, shifted));
            job.row0 = i;
            job.col0 = j;
            job.height = tnp_min(job.band, n - i);
            job.width = tnp_min(job.band, n - j);
            TN_TRY(multiply(ctx, &job));
        }
    }
    TN_TRY(tnp_progress(ctx, "reading", n, n));
done:
    for (int i = 0; i < 2; ++i) {
        tnp_free(job.x[i]);
        tnp_free(job.x_wide[i]);
    }
    tnp_free(job.product);
    tnp_free(job.product_wide);
    tnp_free(job.shift);
    tnp_free(job.shift_wide);
    return st;
}
