/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gram matrices of blocks of float rows, added up in double. */
#ifndef TNP_GRAM_H
#define TNP_GRAM_H

#include "base/base.h"

/* Bytes of scratch for blocks of at most `rows` rows of n columns. */
size_t tnp_gram_scratch(size_t rows, size_t n);
/* gram (n,n), upper triangle += x'x for x (rows,n), a product whose sums over the rows are float; squares (n): its
 * diagonal. After a failure both hold anything. */
tn_status tnp_gram_add(tn_ctx *ctx, size_t rows, size_t n, const float *x, void *scratch, double *gram,
                       double *squares);

#endif
