/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 4, transform: a representation as the learners see it. A feed joins a source, the rows that take part,
 * the policy for NaN and infinity, and a normalisation; blocks come out ready for matrix products. */
#ifndef TENON_TRANSFORM_H
#define TENON_TRANSFORM_H

#include "tenon/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* l2: rows to unit Euclidean norm. root: signed square root, then l2. l1: rows to unit sum of absolute values.
 * zscore: columns to mean 0 and variance 1 over the training rows. All-zero rows and constant columns stay 0. */
typedef enum tn_normalize { TN_NORM_L2, TN_NORM_ROOT, TN_NORM_L1, TN_NORM_ZSCORE, TN_NORM_NONE } tn_normalize;
#define TN_NORMALIZE_WORDS "l2|root|l1|zscore|none"
#define TN_NORMALIZE_COUNT 5

TN_API const char *tn_normalize_name(tn_normalize kind);
/* Reads a list such as "l2,root" into kinds (room for TN_NORMALIZE_COUNT), each at most once. TN_ERR_ARG. */
TN_API tn_status tn_normalize_parse(tn_ctx *ctx, const char *text, tn_normalize *kinds, size_t *count);

/* What to do with rows that hold NaN or infinity: refuse them, leave them out, or put zeros in their place. */
typedef enum tn_nan_policy { TN_NAN_ERROR, TN_NAN_DROP, TN_NAN_ZERO } tn_nan_policy;
#define TN_NAN_WORDS "error|drop|zero"

typedef struct tn_feed tn_feed;

/* Makes a feed over `count` rows of src: row i is rows[i], or i when rows is NULL. src and rows are borrowed
 * while the feed lives. TN_NORM_ZSCORE reads the rows once here to learn its columns' means and deviations.
 * With TN_NAN_ERROR and TN_NAN_DROP a bad row met later is TN_ERR_DATA naming file and row: rows to be
 * dropped are left out of `rows` by the caller, see tn_rows_finite. Owned by the caller, free with tn_feed_free. */
TN_API tn_status tn_feed_new(tn_ctx *ctx, const tn_source *src, const size_t *rows, size_t count,
                             tn_normalize normalize, tn_nan_policy nan, tn_feed **out);
TN_API void tn_feed_free(tn_feed *feed);

TN_API size_t tn_feed_rows(const tn_feed *feed);
TN_API size_t tn_feed_cols(const tn_feed *feed);
TN_API const tn_source *tn_feed_source(const tn_feed *feed);
TN_API tn_normalize tn_feed_normalize(const tn_feed *feed);
/* Column means and reciprocal deviations of a z-score, cols values each; NULL for other normalisations. */
TN_API const double *tn_feed_means(const tn_feed *feed);
TN_API const double *tn_feed_scales(const tn_feed *feed);
/* Gives a feed the means and scales of a trained one (prediction). cols values each, copied. */
TN_API tn_status tn_feed_set_zscore(tn_ctx *ctx, tn_feed *feed, const double *means, const double *scales);

/* Rows [start, start+count), normalised, into out: row i begins at out[i * stride]. O(count * cols). */
TN_API tn_status tn_feed_read(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, float *out, size_t stride);
TN_API tn_status tn_feed_read_wide(tn_ctx *ctx, const tn_feed *feed, size_t start, size_t count, double *out,
                                   size_t stride);

/* Marks in keep (rows of src) every row that holds NaN or infinity as false. O(rows * cols). */
TN_API tn_status tn_rows_finite(tn_ctx *ctx, const tn_source *src, bool *keep);

#ifdef __cplusplus
}
#endif
#endif
