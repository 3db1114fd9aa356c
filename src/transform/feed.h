/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of a feed, for the files that read rows and that learn how to prepare them, and feeds for readers that choose
 * their own order of rows or train on float.
 *
 * The centre. A float has 24 bits: of a column with mean 1e8 and deviation 1 nothing but the mean is left in it, and w
 * x + b of float weights cancels. So columns that lie far from zero have a centre c, and what learners see is
 *
 *   y[j] = float(map and normalisation of x, in double, less c[j])
 *
 * c lies in the bulk of the column and need not be its mean. It is 0 where a column needs none, and ordinary feeds have
 * none. */
#ifndef TNP_FEED_H
#define TNP_FEED_H

#include "base/base.h"
#include "tenon/transform.h"

struct tn_feed {
    const tn_features *features;
    const size_t *rows; /* of the features; NULL: first, first + 1, ... */
    size_t first;
    const tn_map *map;       /* or NULL */
    size_t count, raw, cols; /* rows; columns of the source, and of what comes out */
    tn_normalize normalize;
    tn_nan_policy nan;
    double *means, *scales; /* z-scores: cols each */
    double *centre;         /* cols, or NULL */
    double limit;           /* largest |y| that may come out */
    double spread;          /* of the survey (feed_learn.c); 0 before it */
};

/* Rows [from, from + count) of a feed as a feed, which borrows everything while that lives and is not freed. */
tn_feed tnp_feed_slice(const tn_feed *feed, size_t from, size_t count);
/* Rows rows[0], rows[1], ... of the feed, in that order, else as tn_feed_read. */
tn_status tnp_feed_pick(tn_ctx *ctx, const tn_feed *feed, const size_t *rows, size_t count, float *out, size_t stride);
tn_status tnp_feed_pick_wide(tn_ctx *ctx, const tn_feed *feed, const size_t *rows, size_t count, double *out,
                             size_t stride);
/* Advice to the system: rows [start, start + count) of the feed will be read soon, or are no longer needed. */
void tnp_feed_expect(const tn_feed *feed, size_t start, size_t count, bool soon);
/* Bytes that a call of tn_feed_read takes beside its output, when it reads so many rows into rows of this stride. */
size_t tnp_feed_scratch(const tn_feed *feed, size_t count, size_t stride);
/* How far doubles that are read may be from exact ones, as a share of what they were before tnp_feed_taken_off was
 * taken off: one standard deviation. 0 for values of the file, and their z-scores: what is taken off these costs no
 * digits. */
double tnp_feed_rounding(const tn_feed *feed);
/* What is taken off column j last: its centre, or the mean of a z-score. */
double tnp_feed_taken_off(const tn_feed *feed, size_t j);
/* Rows of a block of a pass over rows of doubles. */
size_t tnp_feed_pass_rows(size_t cols);
/* feed_cuts.c: cut (members + 1), where the parts of a team's members begin that share the rows of these feeds, side by
 * side, by bytes; parts begin at multiples of `unit` rows. The first is empty only where there are no rows. {0, rows}
 * without a team. Owned by the caller, free with tnp_free. */
tn_status tnp_feeds_cut(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, size_t unit, size_t **cut);

/* ---- what is in range ---- */

/* Weights are about 1 / |y|, and both are float: 2^100 leaves 27 bits of exponent for the number of columns and the
 * labels. */
#define TNP_FEED_LARGEST 0x1p100
#define TNP_FEED_SMALLEST 0x1p-100
/* Learners that sum squares of rows in float: 2^24 columns of 2^100 are within its range. */
#define TNP_FEED_LARGEST_SQUARED 0x1p50

/* Refuses rows with larger values from now on. Only where values are not bounded by their normalisation: none and
 * z-scores. */
void tnp_feed_set_limit(tn_feed *feed, double limit);

/* ---- feed_learn.c: what a feed learns from its rows ---- */

/* Means and scales of z-scores. */
tn_status tnp_feed_learn_zscore(tn_ctx *ctx, tn_feed *feed);

/* A column is far from zero when its mean has this many deviations: of 24 bits 7 are spent. Below it nothing is
 * centred, so that ordinary heads are what they always were. */
#define TNP_FEED_FAR 0x1p7
/* Where learners in float can no longer do without a centre: a thousandth of the deviation is lost. */
#define TNP_FEED_TOO_FAR 0x1p14

typedef struct tnp_survey {
    bool any; /* there is a column with a centre */
    double
        spread; /* how far rows lie from their mean, against its length: root mean square; infinite for z-scores, zeros, one row */
} tnp_survey;

/* Looks at rows spread evenly over the feed, 256 at most, before training. centre (cols): the mean of every column
 * whose mean has more than `far` deviations, else 0. Constant columns have none: they have no digits to lose.
 * TN_ERR_DATA when all values of all rows are below TNP_FEED_SMALLEST but not zero. */
tn_status tnp_feed_survey(tn_ctx *ctx, const tn_feed *feed, double far, double *centre, tnp_survey *out);
/* The survey, and its centre for the feed. */
tn_status tnp_feed_learn_centre(tn_ctx *ctx, tn_feed *feed, double far);
/* Gives a feed a centre (cols), copied, in the place of the one it has; NULL, or all zeros: none. */
tn_status tnp_feed_set_centre(tn_ctx *ctx, tn_feed *feed, const double *centre);

#endif
