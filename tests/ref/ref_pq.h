/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Product quantisation as it is written down: plain loops in long double. Matrices are row-major and compact. */
#ifndef TN_REF_PQ_H
#define TN_REF_PQ_H

#include "ref_dense.h"

/* |a - b|^2 over d values. */
ref_real ref_distance(const float *a, const float *b, size_t d);
/* The nearest of the rows of centers (k,d); the first of equals. */
size_t ref_nearest(const float *x, const float *centers, size_t k, size_t d);
/* One iteration of Lloyd from centers (k,d): code (n) and the means (k,d) of the rows of each; a centre without rows
 * keeps its place. Returns the sum of squared distances to the centres that came. */
ref_real ref_lloyd(const float *x, size_t n, const float *centers, size_t k, size_t d, size_t *code, ref_real *means);
/* Value j of a row of which codes are known: centroids (k,dim), sub columns a code. */
float ref_decoded(const float *centroids, size_t dim, size_t sub, const unsigned char *codes, size_t j);

#endif
