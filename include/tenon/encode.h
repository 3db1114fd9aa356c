/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stage 3, encode. Product quantisation: the columns of a representation are cut into groups of `sub`, and each group
 * of a row is replaced by the number of the nearest of at most 256 centroids, one byte. Representations of codes are
 * opened by tn_features_open like any other. Files: tn_pq_save, tn_pq_load, tn_codes_save in report.h. */
#ifndef TENON_ENCODE_H
#define TENON_ENCODE_H

#include "tenon/read.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_pq tn_pq;

typedef struct tn_pq_info {
    size_t rows;       /* trained on, or encoded */
    size_t iterations; /* of the group that took most; training only */
    size_t unfinished; /* groups that were stopped by the limit on iterations; training only */
    double error;      /* sum of squared differences between the rows and what their codes stand for */
    double energy;     /* sum of the squares of the rows */
    double seconds;
} tn_pq_info;

/* Trains a quantiser on a sample of the rows of src, as they are stored, group by group: Lloyd's k-means until an
 * iteration lowers the error by less than 1e-4 of it. options: of "pq". features are borrowed until return; info may be
 * NULL. Owned by the caller, free with tn_pq_free. TN_ERR_ARG; TN_ERR_DATA for a row with NaN or infinity; TN_ERR_IO,
 * TN_ERR_MEMORY, TN_ERR_BUDGET. O(iterations * sample * centroids * columns), the memory of about 4 million values. The
 * same for every number of threads. */
TN_API tn_status tn_pq_fit(tn_ctx *ctx, const tn_features *features, const tn_options *options, tn_pq_info *info,
                           tn_pq **out);
TN_API void tn_pq_free(tn_pq *pq);

TN_API size_t tn_pq_dim(const tn_pq *pq);       /* columns of a row */
TN_API size_t tn_pq_sub(const tn_pq *pq);       /* columns of a code */
TN_API size_t tn_pq_groups(const tn_pq *pq);    /* codes of a row: ceil(dim / sub) */
TN_API size_t tn_pq_centroids(const tn_pq *pq); /* of a group */

/* The codes of the rows of x (rows x dim) into codes (rows x groups); of equally near centroids the first. *error,
 * unless NULL, becomes the sum of squared differences. TN_ERR_SHAPE; TN_ERR_DATA for a row with NaN or infinity. Safe
 * to call concurrently on one quantiser with different contexts. O(rows * dim * centroids). */
TN_API tn_status tn_pq_encode(tn_ctx *ctx, const tn_pq *pq, tn_view x, uint8_t *codes, double *error);
/* What the codes (rows x groups) stand for, into out (rows x dim, compact). TN_ERR_DATA for a code that has no
 * centroid. */
TN_API tn_status tn_pq_decode(tn_ctx *ctx, const tn_pq *pq, const uint8_t *codes, size_t rows, float *out);

#ifdef __cplusplus
}
#endif
#endif
