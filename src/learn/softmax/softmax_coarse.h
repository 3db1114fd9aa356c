/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multinomial problem in a small subspace: W moves by A U, U the space of classes, and the intercepts move freely.
 * */
#ifndef TNP_SOFTMAX_COARSE_H
#define TNP_SOFTMAX_COARSE_H

#include "learn/design/rows.h"
#include "learn/softmax/softmax_loss.h"

typedef struct tnp_coarse {
    tn_ctx *ctx;
    const tnp_softmax_rows *rows;
    size_t dim, k, rank, q; /* q = rank + 1 */
    size_t count;           /* of rows */
    bool bias, bias_penalised;
    float *u;                                    /* (rank, dim), orthonormal rows */
    float *xu;                                   /* (rows, q): X u', then the constant, 0 without intercept */
    double *square, *mean;                       /* q: sums of squares of xu's columns; what was taken off them */
    float *now, *moved, *g, *d, *r, *p, *hp, *m; /* (k, q) */
    double *sums;                                /* 1 + 2 k and more: of the last gradient */
} tnp_coarse;

/* Directions: those that pay at any C, and those that do of few classes while C is small. */
enum { TNP_COARSE_RANK = 48, TNP_COARSE_FEW = 32 };

/* Of at most `most` directions. Borrows rows. Destroy is legal after failure, and on zeros. */
tn_status tnp_coarse_init(const tnp_rows *x, const tnp_softmax_rows *rows, size_t most, bool bias, bool penalised,
                          tnp_coarse *out);
void tnp_coarse_destroy(tnp_coarse *coarse);
/* Takes what `from` holds, which becomes zeros, for these rows. One of another number of rows is destroyed. NULL: of no
 * rows, until it is taken again. */
void tnp_coarse_take(const tnp_softmax_rows *rows, tnp_coarse *from, tnp_coarse *to);
size_t tnp_coarse_bytes(size_t rows, size_t dim, size_t k);
/* The most that q may be. */
size_t tnp_coarse_most(size_t dim);

/* Moves w (k, dim + 1) and the scores s with it, by at most `steps` steps of Newton, until the squared gradient in the
 * subspace is at most `enough`, or a ten-thousandth of what it was. */
tn_status tnp_coarse_solve(tnp_coarse *coarse, size_t steps, double enough, float *w, float *s);

#endif
