/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One Newton system of a squared hinge, (R + sum_i h_i z_i z_i') d = -g over its active rows, z_i = (x_i, 1) and R the
 * penalty, and factors of such systems: exact for the rows they were made of, and good preconditioners while the active
 * rows are nearly the same. Of a team every member has some of the active rows, and sums over them are added up. */
#ifndef TNP_FACTOR_H
#define TNP_FACTOR_H

#include "learn/design/rows.h"

typedef struct tnp_active_rows {
    tnp_at_hand at;
    size_t dim;
    bool bias;           /* whether z ends with a 1 */
    double ridge;        /* the penalty of the intercept, 1 or 0 */
    size_t all;          /* active rows, wherever they are */
    size_t count;        /* of these at hand */
    const size_t *which; /* count, ascending */
    const float *h;      /* by the numbers in which: above 0 */
} tnp_active_rows;

typedef struct tnp_factor {
    size_t n;     /* order; 0: H is I */
    bool found;   /* whether it was made */
    bool by_rows; /* which of the two forms */
    float *r;     /* (n, n), upper triangle */
    size_t *which;
    float *u, *p; /* by rows, n each: roots of h, and K^-1 u */
    double up;    /* u'p + ridge */
} tnp_factor;

/* Replaces what factor holds by the memory for one of these rows. */
tn_status tnp_factor_begin(tn_ctx *ctx, const tnp_active_rows *rows, tnp_factor *factor);
/* Makes it there: found stays false when the matrix is not definite by its doubles. What is allocated is freed again.
 * Calls BLAS, and of a team the other members. */
tn_status tnp_factor_make(tn_ctx *ctx, const tnp_active_rows *rows, tnp_factor *factor);
void tnp_factor_clear(tnp_factor *factor);
/* Bytes that a factor has at most; that one needs besides while it is made; and about how many flops that takes. */
size_t tnp_factor_bytes(size_t dim);
size_t tnp_factor_make_bytes(size_t dim);
double tnp_factor_make_flops(const tnp_active_rows *rows);
/* Flops of applying it once. */
double tnp_factor_flops(const tnp_factor *factor, size_t dim);

/* d (dim + 1) = -H^-1 g by conjugate gradients in float, until the residual has fallen to `enough` of what it was, or
 * for `most` products; with 0 of them by the factor alone, which is then that of these rows. After the beginning, in turn
 * until it is over: precondition, turn, multiply, step. They are apart so that systems with a common factor can be
 * preconditioned together, and members of a team can add up their products. No BLAS: for bodies of tnp_parallel. */
typedef struct tnp_conjugate {
    const tnp_factor *factor;
    float *r, *z, *p, *hp, *sum, *q; /* dim + 1 each, in scratch; sum: the solution so far */
    double rz, enough, goal;
    size_t products, most;
    bool over;
} tnp_conjugate;

/* scratch: tnp_factor_scratch floats. What the factor's rows were is read from `rows` too, whose x must be that of its
 * making. */
void tnp_conjugate_begin(const tnp_active_rows *rows, const tnp_factor *factor, const double *g, double enough,
                         size_t most, float *scratch, tnp_conjugate *descent);
/* z = P^-1 r with the factor's P. */
void tnp_conjugate_precondition(const tnp_active_rows *rows, tnp_conjugate *descent);
/* The same for many that have one factor by columns: z (count, n of the factor) holds what is r of each, and then z. It
 * calls BLAS. */
tn_status tnp_factor_solve(tn_ctx *ctx, const tnp_factor *factor, size_t count, float *z);
/* The next direction p, from z; false: it is over. */
bool tnp_conjugate_turn(const tnp_active_rows *rows, tnp_conjugate *descent);
/* hp = H p, or of a team this member's part of it: hp of all is their sum. */
void tnp_conjugate_multiply(const tnp_active_rows *rows, tnp_conjugate *descent);
/* Along p, with the product. */
void tnp_conjugate_step(const tnp_active_rows *rows, tnp_conjugate *descent);
size_t tnp_factor_scratch(size_t dim);

/* Asks the memory for a row that is needed soon: rows lie too far apart for the processor to foresee the next. */
static inline void tnp_row_ahead(const float *x, size_t dim)
{
    enum { LINE = 16 };
    for (size_t j = 0; j < dim; j += LINE)
        __builtin_prefetch(x + j);
}

#endif
