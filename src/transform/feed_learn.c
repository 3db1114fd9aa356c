/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a feed learns from its rows before training: z-scores from all of them, the centre (feed.h) from a few.
 *
 *   z-scores   mean[j], scale[j] = 1 / sqrt(sum_i (x_ij - mean[j])^2 / rows), 0 for a constant column
 *   centre     c[j] = m[j] where |m[j]| > far s[j] and s[j] > 0, else 0; m, s: mean and deviation over the sample
 *
 * The centre is taken column by column, since an ordinary column beside a far one loses nothing, and a learner that
 * penalises its intercept sees another problem in every column that is moved. Its sample is spread evenly, not drawn:
 * rows sorted by their label are as well covered, and the same rows give the same centre without a seed. */
#include "base/team.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

/* ---- z-scores ---- */

/* Sums over the rows, cols each. */
typedef struct column_sums {
    double *origin; /* the first row, then the means */
    double *sum;
    double *most; /* largest |x - first row| */
    double *unit; /* power of two that brings squares of differences into the range of double */
} column_sums;

/* Pass 0: sums of x - origin and their largest. */
static void add_differences(const double *block, size_t rows, size_t cols, column_sums *s)
{
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) {
            double d = block[i * cols + j] - s->origin[j], size = fabs(d);
            s->sum[j] += d;
            s->most[j] = size > s->most[j] ? size : s->most[j];
        }
}

/* Pass 1: squares about the means. */
static void add_squares(const double *block, size_t rows, size_t cols, column_sums *s)
{
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) {
            double d = (block[i * cols + j] - s->origin[j]) * s->unit[j];
            s->sum[j] += d * d;
        }
}

static void end_differences(size_t rows, size_t cols, column_sums *s)
{
    for (size_t j = 0; j < cols; ++j) {
        bool far = s->most[j] > 0 && (s->most[j] < 0x1p-400 || s->most[j] > 0x1p400);
        s->unit[j] = far ? ldexp(1, -(int)fmax(ilogb(s->most[j]), -1000)) : 1;
        s->origin[j] += s->sum[j] / (double)rows;
        s->sum[j] = 0;
    }
}

/* Sums of squares to scales, in place. */
static tn_status end_squares(tn_ctx *ctx, const tn_feed *feed, column_sums *s)
{
    for (size_t j = 0; j < feed->cols; ++j) {
        double variance = s->sum[j] / (double)feed->count;
        s->sum[j] = variance > 0 ? s->unit[j] / sqrt(variance) : 0;
        if (!isfinite(s->sum[j]) || !isfinite(s->origin[j]))
            return tnp_fail(
                ctx, TN_ERR_DATA,
                "%s: column %zu varies by %.3g, expected 1e-307 to 1e+307, or nothing: option normalize zscore "
                "has no double for it",
                tn_features_path(feed->features), j, s->most[j]);
    }
    return TN_OK;
}

/* Two passes over the rows, of a team over each member's part. The first sums differences from the first row, the
 * second squares about the means, so that a large offset costs no digits and a constant column has a deviation of
 * exactly zero. */
tn_status tnp_feed_learn_zscore(tn_ctx *ctx, tn_feed *feed)
{
    tn_status st = TN_OK;
    double *block = NULL;
    column_sums s = {0};
    const size_t cols = feed->cols, rows = feed->count, most = tnp_feed_pass_rows(cols);
    size_t *cut = NULL, from, to;
    tn_feed plain = *feed;
    plain.normalize = TN_NORM_NONE;
    plain.limit = INFINITY;
    TN_TRY(tnp_feeds_cut(ctx, (const tn_feed *const[]){feed}, 1, most, &cut));
    tnp_team_own(ctx, cut, &from, &to);
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &s.origin));
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &s.sum));
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &s.most));
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &s.unit));
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(rows, most) * cols, sizeof *block, &block));
    TN_TRY(tn_feed_read_wide(ctx, &plain, 0, 1, s.origin, cols));
    for (int pass = 0; pass < 2; ++pass) {
        for (size_t start = from; start < to; start += most) {
            size_t count = tnp_min(most, to - start);
            TN_TRY(tn_feed_read_wide(ctx, &plain, start, count, block, cols));
            TN_TRY(tnp_progress(ctx, "column means", start + count, rows));
            (pass == 0 ? add_differences : add_squares)(block, count, cols, &s);
        }
        TN_TRY(tnp_team_sum(ctx, s.sum, cols));
        TN_TRY(tnp_team_most(ctx, s.most, cols));
        if (pass == 0)
            end_differences(rows, cols, &s);
    }
    TN_TRY(end_squares(ctx, feed, &s));
    feed->means = s.origin;
    feed->scales = s.sum;
    s.origin = s.sum = NULL;
done:
    tnp_free_all(cut, block, s.origin, s.sum, s.most, s.unit);
    return st;
}

/* ---- centre ---- */

enum {
    SAMPLE_ROWS = 256, /* the deviation within a tenth, which is enough to tell 128 of them */
    LEAST_ROWS = 16,
    SAMPLE_VALUES = 1 << 20, /* rows of very many columns, as maps make them, are fewer */
    BLOCK_ROWS = 64          /* the deviation within a fifth, which is enough where no column is half as far */
};

/* Differences from the first row of the sample, their sums and sums of squares (cols). The first row is of the sample,
 * so that it is within sqrt(rows) deviations of the mean and the variance keeps its digits. */
static void add_sample(const double *block, size_t rows, size_t cols, const double *origin, double *sum, double *square)
{
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < cols; ++j) {
            double d = block[i * cols + j] - origin[j];
            sum[j] += d;
            square[j] += d * d;
        }
}

/* centre: in, the first row of the sample; out, the centre. Returns the largest size of a column: its deviation, or
 * where it stays in its place the root of its mean square. */
static double end_sample(size_t rows, size_t cols, double far, const double *sum, const double *square, double *centre,
                         tnp_survey *out)
{
    double most = 0, n = (double)rows, deviations = 0, means = 0;
    far *= rows == 2   ? 0x1p7
           : rows == 3 ? 0x1p3
                       : 1; /* so few are close together by chance, in one column of a hundred */
    for (size_t j = 0; j < cols; ++j) {
        double shift = sum[j] / n, variance = fmax(square[j] / n - shift * shift, 0), mean = centre[j] + shift;
        bool is_far = square[j] > 0 && isfinite(square[j]) && fabs(mean) > far * sqrt(variance);
        centre[j] = is_far ? mean : 0;
        out->any |= is_far;
        deviations += variance;
        means += mean * mean;
        most = fmax(most, is_far ? sqrt(variance) : fmax(fabs(mean), sqrt(variance)));
    }
    out->spread = means > 0 && rows > 1 ? sqrt(deviations / means) : INFINITY;
    return most;
}

/* Whether the first rows of a sample leave no doubt that all columns stay in their places and are no smaller than they
 * may be: of data as they usually are the others need not be read. A fit of (720 x 1280) took 3.7 ms with them, and
 * takes 3.1. */
static bool all_stay(size_t rows, size_t cols, double far, const double *sum, const double *square,
                     const double *origin)
{
    double most = 0;
    for (size_t j = 0; j < cols; ++j) {
        double shift = sum[j] / (double)rows, mean = fabs(origin[j] + shift);
        double deviation = sqrt(fmax(square[j] / (double)rows - shift * shift, 0));
        if (!(mean <= far / 2 * deviation) && mean != 0)
            return false;
        most = fmax(most, deviation);
    }
    return most >= TNP_FEED_SMALLEST && isfinite(most);
}

/* Whether any value of the feed, less the centre, reaches TNP_FEED_SMALLEST, or all are zero. Members of a team look at
 * all rows, each: it happens to bad files only, and ends with the first good value. */
static tn_status check_smallest(tn_ctx *ctx, const tn_feed *feed, const double *centre)
{
    tn_status st = TN_OK;
    double *block = NULL, top = 0;
    const size_t cols = feed->cols, most = tnp_feed_pass_rows(cols);
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(feed->count, most) * cols, sizeof *block, &block));
    for (size_t start = 0; start < feed->count && top < TNP_FEED_SMALLEST; start += most) {
        size_t n = tnp_min(most, feed->count - start);
        TN_TRY(tn_feed_read_wide(ctx, feed, start, n, block, cols));
        for (size_t i = 0; i < n * cols; ++i)
            top = fmax(top, fabs(block[i] - centre[i % cols]));
    }
    if (top > 0 && top < TNP_FEED_SMALLEST)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "%s: no value exceeds %.3g after option normalize %s, expected %.3g or more, or float32 has no "
                        "weights for them (option normalize l2, root or l1 takes values of any size)",
                        tn_features_path(feed->features), top, tn_normalize_name(feed->normalize), TNP_FEED_SMALLEST));
done:
    tnp_free(block);
    return st;
}

tn_status tnp_feed_survey(tn_ctx *ctx, const tn_feed *feed, double far, double *centre, tnp_survey *out)
{
    tn_status st = TN_OK;
    const size_t cols = feed->cols,
                 wanted = tnp_max(tnp_min(SAMPLE_ROWS, SAMPLE_VALUES / tnp_max(cols, 1)), LEAST_ROWS);
    const size_t rows = tnp_min(feed->count, wanted);
    size_t seen = 0;
    double *block = NULL, *sum = NULL, *square = NULL;
    tn_feed lenient = *feed; /* which row is bad, and which is the first, the reading of all rows will tell */
    lenient.nan = TN_NAN_ZERO;
    lenient.limit = INFINITY;
    *out = (tnp_survey){false, INFINITY};
    memset(centre, 0, cols * sizeof *centre);
    if (rows == 0 || feed->normalize == TN_NORM_ZSCORE) /* which has its mean at zero and its deviation at one */
        return TN_OK;
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(rows, BLOCK_ROWS) * cols, sizeof *block, &block));
    TN_TRY(tnp_alloc(ctx, cols, sizeof *sum, &sum));
    TN_TRY(tnp_alloc(ctx, cols, sizeof *square, &square));
    /* Part p has every parts-th row of the sample from its p-th on: it is spread over all of the feed. */
    const size_t parts = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    for (size_t part = 0; part < parts; ++part) {
        size_t index[BLOCK_ROWS], n = 0;
        if (part == 1 && all_stay(seen, cols, far, sum, square, centre))
            break;
        for (size_t i = part; i < rows; i += parts)
            index[n++] = (size_t)((double)i / (double)rows * (double)feed->count);
        TN_TRY(tnp_feed_pick_wide(ctx, &lenient, index, n, block, cols));
        if (part == 0)
            memcpy(centre, block, cols * sizeof *centre);
        add_sample(block, n, cols, centre, sum, square);
        seen += n;
    }
    double most = end_sample(seen, cols, far, sum, square, centre, out);
    if (most > 0 && most < TNP_FEED_SMALLEST)
        TN_TRY(check_smallest(ctx, feed, centre));
done:
    tnp_free_all(block, sum, square);
    return st;
}

tn_status tnp_feed_learn_centre(tn_ctx *ctx, tn_feed *feed, double far)
{
    tn_status st = TN_OK;
    double *centre = NULL;
    tnp_survey found;
    TN_TRY(tnp_alloc_raw(ctx, feed->cols, sizeof *centre, &centre));
    TN_TRY(tnp_feed_survey(ctx, feed, far, centre, &found));
    feed->spread = found.spread;
    TN_TRY(tnp_feed_set_centre(ctx, feed, centre));
done:
    tnp_free(centre);
    return st;
}
