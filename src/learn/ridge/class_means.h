/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The nearest class mean as a linear head: what is left of a ridge head when lambda goes to infinity. */
#ifndef TNP_CLASS_MEANS_H
#define TNP_CLASS_MEANS_H

#include "matrix/moments.h"
#include "tenon/transform.h"

typedef struct tnp_class_means {
    size_t classes, dim, present; /* present: classes that have rows */
    bool intercept;
    size_t *sizes;  /* rows of each class */
    double *total;  /* classes: sum of their weights; as many as rows without weights */
    double *mean;   /* (classes, dim), about the centre; zeros for an absent class */
    double *square; /* classes: |mean|^2 */
    double *centre; /* (dim): mean of the class means; zeros without an intercept */
    double scale;   /* of the scores; 0: all class means are the same, and say nothing */
} tnp_class_means;

/* Of multi-class targets, by their weights where they have any; skip (rows), or NULL: rows that take no part. Reads
 * every feed once, in double. Owned by the caller, free with tnp_class_means_free. */
tn_status tnp_class_means_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                              const bool *skip, bool intercept, tnp_class_means **out);
void tnp_class_means_free(tnp_class_means *means);

/* Weights (classes, dim) and intercepts (classes). */
void tnp_class_means_weights(const tnp_class_means *means, float *weight, float *bias);
/* The same of a head that goes by the directions of the means alone, see class_directions.c. */
tn_status tnp_class_directions_weights(tn_ctx *ctx, const tnp_class_means *means, float *weight, float *bias);

/* Scores (n, classes) of `rows` (n), in double. */
tn_status tnp_class_means_scores(tn_ctx *ctx, const tnp_class_means *means, const tn_feed *const *feeds, size_t count,
                                 const size_t *rows, size_t n, double *out);
/* Scores (n, classes) of `rows` (n), each by the means without it. A row that is alone in its class is scored by zeros.
 * */
tn_status tnp_class_means_loo(tn_ctx *ctx, const tnp_class_means *means, const tn_feed *const *feeds, size_t count,
                              const tnp_targets *y, const size_t *rows, size_t n, double *out);

#endif
