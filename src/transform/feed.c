/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A representation as the learners see it: chosen rows, bad values handled, mapped, normalised, less their centre,
 * block by block.
 *
 * Rows are independent: the thread that reads some maps and normalises them too, while they are in its cache. The first
 * bad row is found by the smallest row number, not by the first thread to meet one.
 *
 * Rows as float go one of two ways. Ordinary ones are rounded first, if they are not floats already, and prepared in
 * float. With a centre, with z-scores of doubles, and where a double is out of the range of float, rows are prepared in
 * double and rounded last: rounding first would cost the digits that are left when a mean is taken off, and 1e300 is
 * finite. Doing so for all rows was refused: it takes twice the time and changes the last bit of what needs no more. */
#include "base/team.h"
#include "read/features.h"
#include "transform/feed.h"
#include "transform/map.h"
#include "transform/normalize.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    PASS_ROWS = 1024,
    PASS_VALUES = 1 << 22, /* a block of the internal passes has at most so many, but one row */
    WIDE_VALUES = 1 << 20  /* doubles that rows wait in to be rounded */
};

typedef enum row_state { FINE, NOT_FINITE, TOO_LARGE } row_state;

typedef struct row_job {
    const tnp_simd *k;
    const tn_feed *feed;
    size_t stride, wide_stride; /* of out, out_wide */
    float *in, *out;            /* in place where they are the same rows: without a map, and with stride = cols */
    double *in_wide, *out_wide; /* the same; with both outputs out is out_wide, rounded, and in is room for maps */
    row_state *state;           /* rows */
} row_job;

static bool row_is_finite(const double *x, size_t n)
{
    bool fine = true;
    for (size_t j = 0; j < n; ++j)
        fine &= isfinite(x[j]) != 0;
    return fine;
}

/* Whether rows may come out too large: other normalisations keep values within 1, and maps are bounded. */
static bool is_unbounded(const tn_feed *feed)
{
    bool far = feed->normalize == TN_NORM_ZSCORE || feed->centre || (feed->normalize == TN_NORM_NONE && !feed->map);
    return far && isfinite(feed->limit);
}

static row_state size_of_wide(const tn_feed *feed, const double *y)
{
    bool fine = true;
    for (size_t j = 0; j < feed->cols; ++j)
        fine &= fabs(y[j]) <= feed->limit;
    return fine ? FINE : TOO_LARGE;
}

/* x (raw), finite, to y (cols); x may be overwritten, and be y where there is no map. */
static void map_and_normalise(const row_job *job, float *x, float *y)
{
    const tn_feed *feed = job->feed;
    if (feed->map)
        tnp_map_row(job->k, feed->map, x, feed->raw, y);
    tnp_normalize_row(job->k, feed->normalize, feed->means, feed->scales, feed->map ? y : x, y, feed->cols);
}

static void prepare_row(const row_job *job, size_t i)
{
    const tn_feed *feed = job->feed;
    float *x = job->in + i * feed->raw, *y = job->out + i * job->stride, most = (float)feed->limit;
    bool plain = feed->normalize == TN_NORM_NONE && !feed->map, small = plain && job->k->all_within(x, feed->raw, most);
    bool bad = !small && !job->k->all_within(x, feed->raw, FLT_MAX);
    job->state[i] = bad ? NOT_FINITE : FINE;
    if (bad && feed->nan != TN_NAN_ZERO)
        return;
    for (size_t j = 0; j < feed->raw && bad; ++j)
        x[j] = isfinite(x[j]) ? x[j] : 0.0f;
    map_and_normalise(job, x, y);
    small |= !is_unbounded(feed) || job->k->all_within(y, feed->cols, most);
    job->state[i] = small ? FINE : TOO_LARGE;
}

/* A row of doubles as a row of floats, where rounding it first costs nothing: no centre, no mean to be taken off, and a
 * norm well within the range of float. False: it is another kind of row. */
static bool prepare_rounded(const row_job *job, size_t i, const double *x, float *y)
{
    const tn_feed *feed = job->feed;
    if (feed->centre || feed->normalize == TN_NORM_ZSCORE)
        return false;
    float *to = feed->map ? job->in + i * feed->raw : y;
    for (size_t j = 0; j < feed->raw; ++j)
        to[j] = (float)x[j];
    double squares = is_unbounded(feed) ? 0 : job->k->sum_squares(to, feed->raw);
    bool fine = is_unbounded(feed) ? job->k->all_within(to, feed->raw, (float)feed->limit)
                                   : squares > 0x1p-100 && squares < 0x1p100;
    if (fine)
        map_and_normalise(job, to, y);
    return fine;
}

static void prepare_row_wide(const row_job *job, size_t i)
{
    const tn_feed *feed = job->feed;
    double *x = job->in_wide + i * feed->raw, *y = job->out_wide + i * job->wide_stride;
    float *rounded = job->out ? job->out + i * job->stride : NULL;
    job->state[i] = FINE;
    if (rounded && prepare_rounded(job, i, x, rounded))
        return;
    bool bad = !row_is_finite(x, feed->raw);
    job->state[i] = bad ? NOT_FINITE : FINE;
    if (bad && feed->nan != TN_NAN_ZERO)
        return;
    for (size_t j = 0; j < feed->raw && bad; ++j)
        x[j] = isfinite(x[j]) ? x[j] : 0.0;
    if (feed->map)
        tnp_map_row_wide(feed->map, x, feed->raw, y);
    tnp_normalize_row_wide(feed->normalize, feed->means, feed->scales, feed->map ? y : x, y, feed->cols);
    for (size_t j = 0; feed->centre && j < feed->cols; ++j)
        y[j] -= feed->centre[j];
    job->state[i] = is_unbounded(feed) ? size_of_wide(feed, y) : FINE;
    for (size_t j = 0; rounded && j < feed->cols; ++j)
        rounded[j] = (float)y[j];
}

/* Rows just read, still in the cache. */
static void prepare_rows(void *arg, size_t first, size_t n)
{
    const row_job *job = arg;
    for (size_t i = first; i < first + n; ++i)
        if (job->out_wide)
            prepare_row_wide(job, i);
        else
            prepare_row(job, i);
}

/* ---- reading ---- */

static tn_status read_double(tn_ctx *ctx, const tn_feed *feed, const size_t *index, size_t start, size_t count,
                             double *out, size_t stride);

/* A row that is too large, with the first value that makes it so. */
static tn_status too_large(tn_ctx *ctx, const tn_feed *feed, size_t row)
{
    tn_status st = TN_OK;
    tn_feed any = *feed;
    double *y = NULL;
    size_t j = 0;
    any.limit = INFINITY;
    TN_TRY(tnp_alloc_raw(ctx, feed->cols, sizeof *y, &y));
    TN_TRY(read_double(ctx, &any, &row, 0, 1, y, feed->cols));
    while (j + 1 < feed->cols && fabs(y[j]) <= feed->limit)
        ++j;
    st = tnp_fail(ctx, TN_ERR_DATA,
                  "%s: row %zu, column %zu: %.3g after option normalize %s, expected at most %.3g, or sums of float32 "
                  "overflow (option normalize l2, root or l1 takes values of any size)",
                  tn_features_path(feed->features), row, j, y[j], tn_normalize_name(feed->normalize), feed->limit);
done:
    tnp_free(y);
    return st;
}

/* Reads and prepares file rows index[start], ..., or start, ...; job has its outputs set, and its inputs where the raw
 * rows go. */
static tn_status read_rows(tn_ctx *ctx, const tn_feed *feed, const size_t *index, size_t start, size_t count,
                           row_job *job, float *raw, double *raw_wide)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, count, sizeof *job->state, &job->state));
    job->k = tnp_simd_get();
    job->feed = feed;
    job->in = raw;
    job->in_wide = raw_wide;
    TN_TRY(tnp_features_read_then(ctx, feed->features, index, start, count, raw_wide ? NULL : raw, raw_wide,
                                  feed->cols / tnp_max(feed->raw, 1), prepare_rows, job));
    for (size_t i = 0; i < count; ++i) {
        size_t row = index ? index[start + i] : start + i;
        if (job->state[i] == NOT_FINITE && feed->nan != TN_NAN_ZERO)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: row %zu holds NaN or infinity (option nan drop or zero accepts it)",
                            tn_features_path(feed->features), row));
        if (job->state[i] == TOO_LARGE)
            TN_TRY(too_large(ctx, feed, row));
    }
done:
    tnp_free(job->state);
    return st;
}

static bool needs_raw(const tn_feed *feed, size_t stride)
{
    return feed->map || stride != feed->cols;
}

/* Whether rows as float are prepared in double. */
static bool is_rounded(const tn_feed *feed)
{
    return feed->centre || tn_features_is_wide(feed->features);
}

static size_t rounded_rows(const tn_feed *feed, size_t count)
{
    return tnp_min(count, tnp_max(1, WIDE_VALUES / tnp_max(feed->cols, 1)));
}

static tn_status read_rounded(tn_ctx *ctx, const tn_feed *feed, const size_t *index, size_t start, size_t count,
                              float *out, size_t stride)
{
    tn_status st = TN_OK;
    double *raw = NULL, *mapped = NULL;
    float *narrow = NULL;
    size_t most = rounded_rows(feed, count);
    TN_TRY(tnp_alloc_raw(ctx, most * feed->raw, sizeof *raw, &raw));
    if (feed->map) {
        TN_TRY(tnp_alloc_raw(ctx, most * feed->cols, sizeof *mapped, &mapped));
        TN_TRY(tnp_alloc_raw(ctx, most * feed->raw, sizeof *narrow, &narrow));
    }
    for (size_t done = 0, n; done < count; done += n) {
        row_job job = {.stride = stride, .wide_stride = feed->cols, .out = out + done * stride};
        job.out_wide = mapped ? mapped : raw;
        n = tnp_min(most, count - done);
        TN_TRY(read_rows(ctx, feed, index, start + done, n, &job, narrow, raw));
    }
done:
    tnp_free_all(raw, mapped, narrow);
    return st;
}

static tn_status read_float(tn_ctx *ctx, const tn_feed *feed, const size_t *index, size_t start, size_t count,
                            float *out, size_t stride)
{
    tn_status st = TN_OK;
    float *raw = NULL;
    row_job job = {.stride = stride, .out = out};
    if (is_rounded(feed))
        return read_rounded(ctx, feed, index, start, count, out, stride);
    if (needs_raw(feed, stride))
        TN_TRY(tnp_alloc_raw(ctx, count * feed->raw, sizeof *raw, &raw));
    TN_TRY(read_rows(ctx, feed, index, start, count, &job, raw ? raw : out, NULL));
done:
    tnp_free(raw);
    return st;
}

static tn_status read_double(tn_ctx *ctx, const tn_feed *feed, const size_t *index, size_t start, size_t count,
                             double *out, size_t stride)
{
    tn_status st = TN_OK;
    double *raw = NULL;
    row_job job = {.wide_stride = stride, .out_wide = out};
    if (needs_raw(feed, stride))
        TN_TRY(tnp_alloc_raw(ctx, count * feed->raw, sizeof *raw, &raw));
    TN_TRY(read_rows(ctx, feed, index, start, count, &job, NULL, raw ? raw : out));
done:
    tnp_free(raw);
    return st;
}

tn_status tn_feed_read(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, float *out, size_t stride)
{
    return read_float(ctx, feed, feed->rows, feed->first + start, count, out, stride);
}

tn_status tn_feed_read_wide(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, double *out, size_t stride)
{
    return read_double(ctx, feed, feed->rows, feed->first + start, count, out, stride);
}

/* Rows of the file that are rows[0], ... of the feed. */
static tn_status file_rows(tn_ctx *ctx, const tn_feed *feed, const size_t *rows, size_t count, size_t **out)
{
    tn_status st = tnp_alloc_raw(ctx, count, sizeof **out, out);
    for (size_t i = 0; st == TN_OK && i < count; ++i)
        (*out)[i] = feed->rows ? feed->rows[rows[i]] : feed->first + rows[i];
    return st;
}

tn_status tnp_feed_pick(tn_ctx *ctx, const tn_feed *feed, const size_t *rows, size_t count, float *out, size_t stride)
{
    tn_status st = TN_OK;
    size_t *index = NULL;
    TN_TRY(file_rows(ctx, feed, rows, count, &index));
    TN_TRY(read_float(ctx, feed, index, 0, count, out, stride));
done:
    tnp_free(index);
    return st;
}

tn_status tnp_feed_pick_wide(tn_ctx *ctx, const tn_feed *feed, const size_t *rows, size_t count, double *out,
                             size_t stride)
{
    tn_status st = TN_OK;
    size_t *index = NULL;
    TN_TRY(file_rows(ctx, feed, rows, count, &index));
    TN_TRY(read_double(ctx, feed, index, 0, count, out, stride));
done:
    tnp_free(index);
    return st;
}

void tnp_feed_expect(const tn_feed *feed, size_t start, size_t count, bool soon)
{
    tnp_features_expect(feed->features, feed->rows, feed->first + start, count, soon);
}

size_t tnp_feed_scratch(const tn_feed *feed, size_t count, size_t stride)
{
    if (is_rounded(feed))
        return rounded_rows(feed, count) * (feed->raw + (feed->map ? feed->cols + feed->raw : 0)) * sizeof(double);
    return needs_raw(feed, stride) ? count * feed->raw * sizeof(float) : 0;
}

double tnp_feed_rounding(const tn_feed *feed)
{
    bool has_norm = feed->normalize != TN_NORM_NONE && feed->normalize != TN_NORM_ZSCORE;
    if (!has_norm && !feed->map)
        return 0;
    /* The value itself; and the sum of its row's norm, n terms that are not negative, by u sqrt(n)/3 as in
     * tnp_block_noise. */
    return DBL_EPSILON / 2 * (1 + (has_norm ? sqrt((double)feed->cols) / 3 : 0));
}

double tnp_feed_taken_off(const tn_feed *feed, size_t j)
{
    if (feed->normalize == TN_NORM_ZSCORE)
        return feed->means[j] * feed->scales[j];
    return feed->centre ? feed->centre[j] : 0;
}

size_t tnp_feed_pass_rows(size_t cols)
{
    return tnp_max(1, tnp_min(PASS_ROWS, PASS_VALUES / tnp_max(cols, 1)));
}

/* ---- making ---- */

tn_status tn_feed_new(tn_ctx *ctx, const tn_features *features, const size_t *rows, size_t count,
                      tn_normalize normalize, tn_nan_policy nan, const tn_map *map, tn_feed **out)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    if (!rows && count > tn_features_rows(features))
        return tnp_fail(ctx, TN_ERR_ARG, "%s: %zu rows asked for, it has %zu", tn_features_path(features), count,
                        tn_features_rows(features));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *feed, &feed));
    feed->features = features;
    feed->rows = rows;
    feed->count = count;
    feed->map = map;
    feed->raw = tn_features_cols(features);
    TN_TRY(tnp_mul(ctx, feed->raw, map ? tn_map_width(map) : 1, &feed->cols));
    if (map)
        TN_TRY(tnp_map_ready(ctx, map));
    feed->normalize = normalize;
    feed->nan = nan;
    feed->limit = TNP_FEED_LARGEST;
    if (normalize == TN_NORM_ZSCORE && count > 0)
        TN_TRY(tnp_feed_learn_zscore(ctx, feed));
    *out = feed;
    feed = NULL;
done:
    tn_feed_free(feed);
    return st;
}

tn_feed tnp_feed_slice(const tn_feed *feed, size_t from, size_t count)
{
    tn_feed slice = *feed;
    slice.count = count;
    if (feed->rows)
        slice.rows += from;
    else
        slice.first += from;
    return slice;
}

void tn_feed_free(tn_feed *feed)
{
    if (!feed)
        return;
    tnp_free_all(feed->means, feed->scales, feed->centre, feed);
}

size_t tn_feed_rows(const tn_feed *feed)
{
    return feed->count;
}

size_t tn_feed_cols(const tn_feed *feed)
{
    return feed->cols;
}

const tn_features *tn_feed_features(const tn_feed *feed)
{
    return feed->features;
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
    tnp_free_all(feed->means, feed->scales);
    feed->means = m;
    feed->scales = s;
    feed->normalize = TN_NORM_ZSCORE;
    m = s = NULL;
done:
    tnp_free_all(m, s);
    return st;
}

tn_status tnp_feed_set_centre(tn_ctx *ctx, tn_feed *feed, const double *centre)
{
    tn_status st = TN_OK;
    double *copy = NULL;
    bool any = false;
    for (size_t j = 0; centre && j < feed->cols; ++j)
        any |= centre[j] != 0;
    if (any) {
        TN_TRY(tnp_alloc_raw(ctx, feed->cols, sizeof *copy, &copy));
        memcpy(copy, centre, feed->cols * sizeof *copy);
    }
    tnp_free(feed->centre);
    feed->centre = copy;
done:
    return st;
}

void tnp_feed_set_limit(tn_feed *feed, double limit)
{
    feed->limit = limit;
}

tn_status tn_rows_finite(tn_ctx *ctx, const tn_features *features, bool *keep)
{
    tn_status st = TN_OK;
    double *block = NULL;
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features), most = tnp_feed_pass_rows(cols);
    size_t *cut = NULL, from, to;
    const tn_feed all = {.features = features, .count = rows}, *feed = &all;
    TN_TRY(tnp_feeds_cut(ctx, &feed, 1, most, &cut));
    tnp_team_own(ctx, cut, &from, &to);
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(rows, most) * cols, sizeof *block, &block));
    for (size_t start = from; start < to; start += most) {
        size_t count = tnp_min(most, to - start);
        if (!memchr(keep + start, true, count))
            continue;
        TN_TRY(tn_features_read_wide(ctx, features, NULL, start, count, 0, cols, block));
        TN_TRY(tnp_progress(ctx, "finite rows", start + count, rows));
        for (size_t i = 0; i < count; ++i)
            if (!row_is_finite(block + i * cols, cols))
                keep[start + i] = false;
    }
    TN_TRY(tnp_team_gather_cut(ctx, keep, cut, sizeof *keep));
done:
    tnp_free_all(block, cut);
    return st;
}
