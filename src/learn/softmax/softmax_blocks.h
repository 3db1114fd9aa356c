/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A preconditioner of the multinomial problem: what the rows near a class's border tell of its curvature. */
#ifndef TNP_SOFTMAX_BLOCKS_H
#define TNP_SOFTMAX_BLOCKS_H

#include "learn/design/rows.h"
#include "learn/softmax/softmax_loss.h"

/* Rows that blocks are made of: row i is number i * stride of all, at x + i ld. */
typedef struct tnp_block_rows {
    const float *x;
    size_t ld, stride, count;
} tnp_block_rows;

typedef struct tnp_class_block {
    size_t first, count; /* its pairs */
    size_t order;        /* of t; 0: the block is its diagonal */
    bool wide;           /* t is of the columns, not of the rows */
    float weight, last;  /* base^-1/2: of a weight, of the intercept */
    float *t;            /* (order, order), upper triangle: the Cholesky factor */
} tnp_class_block;

typedef struct tnp_blocks {
    tn_ctx *ctx;
    const tnp_softmax *loss;
    tnp_block_rows rows;
    size_t k, dim, most; /* most: numbers that all t may have */
    bool bias, penalised;
    float *mean;            /* dim: of the rows; 0 without intercept */
    double spread;          /* mean squared distance of their entries from it */
    float *common;          /* (2, dim + 1): means of the classes */
    tnp_class_block *block; /* k */
    uint32_t *row;          /* pairs */
    float *root, *t;        /* pairs: sqrt of the curvature; most */
    size_t pairs;           /* there is memory for */
    double *curve;          /* k */
} tnp_blocks;

/* Borrows rows and loss. Destroy is legal after failure, and on zeros. */
tn_status tnp_blocks_init(tn_ctx *ctx, const tnp_softmax *loss, tnp_block_rows rows, size_t dim, bool bias,
                          bool penalised, tnp_blocks *out);
void tnp_blocks_destroy(tnp_blocks *blocks);
size_t tnp_blocks_bytes(size_t rows, size_t dim, size_t k);

/* The blocks at scores s (all rows, k); p, or NULL: their probabilities, where they are known. */
tn_status tnp_blocks_update(tnp_blocks *blocks, const float *s, const float *p);
/* out (k, dim + 1) = M^-1 in; may be the same. */
void tnp_blocks_apply(const tnp_blocks *blocks, const float *in, float *out);

#endif
