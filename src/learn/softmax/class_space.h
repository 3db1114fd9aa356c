/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The directions in which the means of classes differ most, from one pass over the rows. */
#ifndef TNP_CLASS_SPACE_H
#define TNP_CLASS_SPACE_H

#include "learn/design/rows.h"
#include "matrix/moments.h"

/* u (*rank, dim), orthonormal rows, *rank <= most; y are lists, and a row goes by its first class. Rows of weight 0
 * (NULL: none) take no part: a training that stops before its optimum would know the classes of the rows it holds out.
 * Owned by the caller, free with tnp_free. */
tn_status tnp_class_space(tn_ctx *ctx, const tnp_rows *x, const tnp_targets *y, const float *row_weight, size_t most,
                          float **u, size_t *rank);
/* Bytes that it needs meanwhile, the result included. */
size_t tnp_class_space_bytes(size_t rows, size_t dim, size_t classes, size_t most);

#endif
