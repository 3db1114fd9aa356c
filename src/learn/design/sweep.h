/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products with the rows of a design in double: what certificates and the last steps of a training are computed with, where
 * those of float have no digits left. */
#ifndef TNP_SWEEP_H
#define TNP_SWEEP_H

#include "learn/design/design.h"

typedef struct tnp_sweep {
    tn_ctx *ctx;
    tnp_design *x;
    size_t k, panel; /* columns; rows at a time */
    double *rows;    /* (panel, dim) */
    double *s;       /* (panel, k) */
    double *t;       /* (k, panel) */
} tnp_sweep;

/* Rows [start, start + count) and their scores s (count, k): writes t (k, count), column by column. */
typedef void (*tnp_sweep_fn)(void *arg, size_t start, size_t count, const double *s, double *t);

/* Destroy is legal after failure, and on zeros. */
tn_status tnp_sweep_init(tn_ctx *ctx, tnp_design *design, size_t columns, tnp_sweep *out);
void tnp_sweep_destroy(tnp_sweep *sweep);
size_t tnp_sweep_bytes(size_t dim, size_t columns);

/* One pass: s = X w' + b for w (k, dim + 1), intercepts last, then back (k, dim + 1) = t X with the sums of t last. Without w
 * the scores are left alone, without back t is not multiplied. k as given to init, or fewer columns. */
tn_status tnp_sweep_run(tnp_sweep *sweep, size_t k, const double *w, tnp_sweep_fn body, void *arg, double *back);

/* Sum of squares, in lanes of fixed number. */
double tnp_square(const double *a, size_t n);

#endif
