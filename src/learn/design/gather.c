/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streaming of feeds into moments.
 *
 * Primal: one pass over blocks of rows, the representations of a block side by side in one buffer, so that the
 * blocks X_a'X_b of every pair come from the same product.
 *
 * Dual: products of rows. Rows are taken in bands that fit a buffer; where all rows fit, which is the usual case for
 * N < D, each row is read once. They are multiplied in double whatever the file holds: where features interpolate the
 * labels the best lambda is small, and the error of float products would be what F is made of there. */
#include "learn/design/gather.h"
#include "learn/head/task.h"
#include "tenon/learn.h"
#include "algebra/blas.h"
#include "base/team.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

enum { BAND_BYTES = 32 << 20 };

static bool any_wide(const tn_feed *const *feeds, size_t count)
{
    bool wide = false;
    for (size_t f = 0; f < count; ++f)
        wide |= tn_features_is_wide(tn_feed_features(feeds[f]));
    return wide;
}

tn_status tnp_check_range(tn_ctx *ctx, double largest)
{
    const double least = 1e-120, most = 1e120; /* squares, and what is made of them, stay within 1e-300 and 1e300 */
    if (largest == 0 || (largest >= least && largest <= most))
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_DATA,
                    "features: they differ by up to %.1e, expected between %.0e and %.0e; rescale or normalise them",
                    largest, least, most);
}

/* Squares that vanished altogether leave sums behind. */
tn_status tnp_check_squares(tn_ctx *ctx, const tnp_moments *s)
{
    double largest = 0, left = 0;
    for (size_t j = 0; j < s->dim; ++j) {
        double g = s->gram[j * s->dim + j] / s->weight;
        largest = isfinite(g) ? fmax(largest, g) : INFINITY;
        left = fmax(left, fabs(s->sum[j] / s->weight));
        for (size_t k = 0; k < s->classes; ++k)
            left = fmax(left, fabs(s->xty[k * s->dim + j] / s->weight));
    }
    return tnp_check_range(ctx, largest > 0 ? sqrt(largest) : left);
}

size_t tnp_feeds_cols(const tn_feed *const *feeds, size_t count)
{
    size_t dim = 0;
    for (size_t f = 0; f < count; ++f)
        dim += tn_feed_cols(feeds[f]);
    return dim;
}

tn_status tnp_feeds_read(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t start, size_t n, float *out,
                         size_t ld)
{
    tn_status st = TN_OK;
    for (size_t f = 0; f < count && st == TN_OK; out += tn_feed_cols(feeds[f++]))
        st = tn_feed_read(ctx, feeds[f], start, n, out, ld);
    return st;
}

tn_status tnp_feeds_read_wide(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t start, size_t n,
                              double *out, size_t ld)
{
    tn_status st = TN_OK;
    for (size_t f = 0; f < count && st == TN_OK; out += tn_feed_cols(feeds[f++]))
        st = tn_feed_read_wide(ctx, feeds[f], start, n, out, ld);
    return st;
}

typedef struct centre_job {
    size_t dim;
    const double *centre;
    double *rows;
} centre_job;

static void centre_row(void *arg, size_t i)
{
    const centre_job *job = arg;
    for (size_t j = 0; j < job->dim; ++j)
        job->rows[i * job->dim + j] -= job->centre[j];
}

tn_status tnp_feeds_pick_wide(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const size_t *rows, size_t n,
                              const double *centre, double *out)
{
    enum {
        VALUES = 1 << 20
    }; /* at once: what a feed may want beside them is little, and an interrupt is heard between */
    tn_status st = TN_OK;
    size_t dim = tnp_feeds_cols(feeds, count), most = VALUES / tnp_max(dim, 1) + 1;
    for (size_t from = 0; from < n; from += most) {
        size_t some = tnp_min(most, n - from);
        centre_job job = {dim, centre, out + from * dim};
        for (size_t f = 0, at = 0; f < count; at += tn_feed_cols(feeds[f++]))
            TN_TRY(tnp_feed_pick_wide(ctx, feeds[f], rows + from, some, job.rows + at, dim));
        if (centre)
            tnp_parallel(ctx, tnp_threads_for(ctx, (double)some * (double)dim), some, centre_row, &job);
        TN_TRY(tnp_cancelled(ctx));
    }
done:
    return st;
}

/* In double about `shift`, or about the mean of the first block when it is NULL; or in float. Of a team every member
 * reads its own blocks. */
static tn_status gather(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y, bool wide,
                        const double *shift, tnp_moments **out)
{
    tn_status st = TN_OK;
    tnp_moments *moments = NULL;
    float *narrow = NULL;
    double *block = NULL;
    size_t dim = tnp_feeds_cols(feeds, count), most = tnp_min(tnp_moments_block(dim, wide), y->rows);
    size_t *cut = NULL, from, to;
    TN_TRY(tnp_feeds_cut(ctx, feeds, count, tnp_moments_block(dim, wide), &cut));
    tnp_team_own(ctx, cut, &from, &to);
    TN_TRY(tnp_moments_new(ctx, dim, y->classes, wide, &moments));
    if (shift)
        tnp_moments_frame(moments, shift);
    TN_TRY(tnp_alloc_raw(ctx, wide ? 1 : most * dim, sizeof *narrow, &narrow));
    TN_TRY(tnp_alloc_raw(ctx, wide ? most * dim : 1, sizeof *block, &block));
    if (!shift && from > 0)
        TN_TRY(tnp_moments_share_frame(ctx, moments));
    for (size_t start = from, n; start < to; start += n) {
        n = tnp_min(most, to - start);
        TN_TRY(tnp_progress(ctx, "reading", start - from, to - from));
        TN_TRY(wide ? tnp_feeds_read_wide(ctx, feeds, count, start, n, block, dim)
                    : tnp_feeds_read(ctx, feeds, count, start, n, narrow, dim));
        TN_TRY(wide ? tnp_moments_add_wide(ctx, moments, block, y, start, n)
                    : tnp_moments_add(ctx, moments, narrow, y, start, n));
        if (!shift && start == 0)
            TN_TRY(tnp_moments_share_frame(ctx, moments));
    }
    TN_TRY(tnp_progress(ctx, "reading", y->rows, y->rows));
    tnp_moments_complete(moments);
    TN_TRY(tnp_moments_sum(ctx, moments));
    moments->framed = shift != NULL;
    if (wide)
        TN_TRY(tnp_check_squares(ctx, moments));
    *out = moments;
    moments = NULL;
done:
    tn_moments_free(moments);
    tnp_free_all(cut, narrow, block);
    return st;
}

tn_status tnp_gather_moments_wide(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                                  const double *shift, tnp_moments **out)
{
    return gather(ctx, feeds, count, y, true, shift, out);
}

tn_status tnp_gather_moments(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                             tnp_moments **out)
{
    tnp_moments *narrow = NULL;
    if (any_wide(feeds, count) || y->weight)
        return tnp_gather_moments_wide(ctx, feeds, count, y, NULL, out);
    tn_status st = gather(ctx, feeds, count, y, false, NULL, &narrow);
    if (st == TN_OK && tnp_moments_in_range(narrow)) {
        *out = narrow;
        return TN_OK;
    }
    tn_moments_free(narrow);
    return st == TN_OK ? tnp_gather_moments_wide(ctx, feeds, count, y, NULL, out) : st;
}

tn_status tn_moments_gather(tn_ctx *ctx, const tn_features *features, const tn_labels *labels, tn_normalize normalize,
                            tn_nan_policy nan, tn_moments **out)
{
    tn_status st = TN_OK;
    tnp_task *task = NULL;
    tn_feed *feed = NULL;
    if (normalize == TN_NORM_ZSCORE)
        return tnp_fail(ctx, TN_ERR_ARG, "statistics: z-scores depend on all rows, expected a row-wise normalisation");
    TN_TRY(tnp_task_rows(ctx, &features, 1, labels, nan, &task));
    TN_TRY(tn_feed_new(ctx, features, task->rows, task->y.rows, normalize, nan, NULL, &feed));
    TN_TRY(tnp_gather_moments(ctx, (const tn_feed *const *)&feed, 1, &task->y, out));
done:
    tn_feed_free(feed);
    tnp_task_free(task);
    return st;
}

/* Bands of rows of one feed, and where their products go. */
typedef struct product_job {
    const tn_feed *feed;
    size_t rows, cols, band;
    double *x[2];    /* (band, cols): two bands, or one when all rows fit */
    double *product; /* (band, band) */
    double *shift;   /* (cols) */
    double largest;  /* value that was multiplied */
    double *out;     /* (rows, rows) */
    size_t row0, col0, height, width;
} product_job;

static size_t band_rows(size_t rows, size_t cols)
{
    return tnp_min(rows, tnp_max(BAND_BYTES / (cols * sizeof(double)), 64));
}

size_t tnp_gather_products_bytes(const tn_feed *feed)
{
    size_t rows = tn_feed_rows(feed), cols = tn_feed_cols(feed), band = band_rows(rows, cols);
    size_t raw = tn_feed_map(feed) ? tn_features_cols(tn_feed_features(feed)) : 0; /* read, then mapped into the band */
    return sizeof(double) * (band * (cols * (band < rows ? 2 : 1) + band + raw) + cols);
}

/* The common vector: the mean of the first band. */
static void set_shift(product_job *job, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < job->cols; ++j)
            job->shift[j] += job->x[0][i * job->cols + j] / (double)count;
}

/* Reads a band into buffer `which`; the first one read defines the shift. */
static tn_status read_band(tn_ctx *ctx, product_job *job, int which, size_t start, bool shifted)
{
    size_t count = tnp_min(job->band, job->rows - start);
    tn_status st = tn_feed_read_wide(ctx, job->feed, start, count, job->x[which], job->cols);
    if (st != TN_OK)
        return st;
    if (shifted && which == 0 && start == 0)
        set_shift(job, count);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < job->cols; ++j) {
            double v = job->x[which][i * job->cols + j] -= job->shift[j];
            job->largest = fabs(v) > job->largest ? fabs(v) : job->largest;
        }
    return TN_OK;
}

static void put_row(void *arg, size_t i)
{
    const product_job *job = arg;
    size_t from = job->row0 == job->col0 ? i : 0; /* a diagonal band holds its upper triangle only */
    double *out = job->out + (job->row0 + i) * job->rows + job->col0 + from;
    memcpy(out, job->product + i * job->width + from, (job->width - from) * sizeof *out);
}

/* Products of the bands at row0 and col0, which lie in buffers 0 and 1. */
static tn_status multiply(tn_ctx *ctx, product_job *job)
{
    tn_status st = TN_OK;
    size_t cols = job->cols;
    if (job->row0 == job->col0)
        TN_TRY(tnp_dsyrk_rows(ctx, job->height, cols, job->x[0], cols, 0, job->product));
    else
        TN_TRY(tnp_dgemm_nt(ctx, job->height, job->width, cols, job->x[0], cols, job->x[1], cols, 0, job->product,
                            job->width));
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)job->height * (double)job->width), job->height, put_row, job);
done:
    return st;
}

tn_status tnp_gather_products(tn_ctx *ctx, const tn_feed *feed, bool shifted, double *products)
{
    tn_status st = TN_OK;
    product_job job = {.feed = feed, .out = products};
    size_t n = job.rows = tn_feed_rows(feed);
    job.cols = tn_feed_cols(feed);
    job.band = band_rows(n, job.cols);
    for (size_t i = 0; i < (job.band < n ? 2u : 1u); ++i)
        TN_TRY(tnp_alloc_raw(ctx, job.band * job.cols, sizeof(double), &job.x[i]));
    TN_TRY(tnp_alloc_raw(ctx, job.band * job.band, sizeof(double), &job.product));
    TN_TRY(tnp_alloc(ctx, job.cols, sizeof(double), &job.shift));
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
    TN_TRY(tnp_check_range(ctx, job.largest));
done:
    tnp_free_all(job.x[0], job.x[1], job.product, job.shift);
    return st;
}
