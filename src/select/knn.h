/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the nearest other rows say of a row: a second opinion on features that trains nothing. */
#ifndef TNP_KNN_H
#define TNP_KNN_H

#include "learn/ridge/loo.h"

/* Neighbours that are asked: docs/results/transferability.md. */
enum { TNP_NEIGHBOURS = 10 };

/* out (sample rows, classes): mean target of the k nearest other rows, of all rows of the feeds side by side. 2 m N D
 * flops for m rows of the sample; the feeds are read once for as many of them as memory has room for. TN_ERR_BUDGET
 * when not even a few are. */
tn_status tnp_knn_predict(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                          const tnp_sample *sample, size_t k, double *out);

#endif
