/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent: what its two routes share. Both visit blocks of rows; they differ in where the scores of a
 * block come from and what they bring up to date behind it: the weights (svm_rows.c) or the scores of all rows
 * (svm_gram.c). */
#ifndef TNP_SVM_ROUTE_H
#define TNP_SVM_ROUTE_H

#include "learn/linear/svm_dual.h"

enum { TNP_DUAL_MOST = 128 }; /* rows of a block at most */

typedef struct tnp_dual tnp_dual;

/* One way to keep the scores; its state is v->own. */
typedef struct tnp_route {
    tn_status (*open)(tnp_dual *v);
    void (*close)(tnp_dual *v);
    /* What it keeps, from the multipliers. */
    tn_status (*rebuild)(tnp_dual *v);
    /* One pass over all rows. */
    tn_status (*pass)(tnp_dual *v, tnp_rng *rng);
    /* v->sums of all rows by tnp_dual_measure, from zeros, and |w|^2 of every column into v->square. */
    tn_status (*measure)(tnp_dual *v);
    /* |w|^2 of every column into v->square, and what it keeps times factor (k), as the multipliers are then. */
    void (*squares)(tnp_dual *v);
    void (*scale)(tnp_dual *v, const double *factor);
    /* Columns that are not kept leave with factor w; called before the shared arrays are packed. */
    void (*pack)(tnp_dual *v, const bool *keep, float *w);
    /* All columns have left: w (count, dim + 1). NULL when pack has handed it over. */
    tn_status (*finish)(tnp_dual *v, float *w);
} tnp_route;

extern const tnp_route tnp_route_rows, tnp_route_gram;

/* Rows that are visited one after the other, in the columns v->cols[from .. from + k). */
typedef struct tnp_visit {
    size_t n, from, k;
    const size_t *rows; /* n: which */
    const float *gram;  /* (n, n): products of the rows without the constant's; of it the upper triangle */
    float *s;           /* (n, k): scores */
    float *delta;       /* (n, k): what becomes of y alpha in these visits */
    float *cost;        /* (n, k): scratch */
} tnp_visit;

struct tnp_dual {
    tn_ctx *ctx;
    tnp_design *x;
    const tnp_columns *columns;
    const tnp_dual_options *opt;
    const tnp_route *route;
    void *own;
    size_t k;            /* columns at work */
    size_t *cols;        /* count: columns by the caller's numbers, ascending; after the first k those that have left */
    size_t *cols_left;   /* count: scratch */
    bool *called_solved; /* count, in the caller's order: whether a column left because its gap was small enough */
    float *alpha;        /* (rows, count): multipliers of the columns cols; the caller's, or own_alpha */
    float *own_alpha;
    /* a block at hand, of TNP_DUAL_MOST rows at most, in all columns at work */
    size_t n;                /* rows */
    size_t *rows;            /* n: which */
    float *s, *delta, *cost; /* (n, k): scores, changes of y alpha, signed costs */
    /* the check, k each: see check() in svm_dual.c */
    double stretch;                 /* 1 + tolerance / 4 */
    double *sums;                   /* (k, 3): losses at w, at stretch w, terms of the dual */
    double *square;                 /* |w|^2 */
    double *primal, *dual, *factor; /* the better objective, the dual's, what w is to be multiplied by */
    double *objective, *gap;        /* count, in the caller's order: of a column when it leaves */
    bool warm;                      /* whether it started from multipliers of others */
    /* progress */
    double tolerance; /* of the check, below opt's when the certificate has asked for more */
    size_t passes, marked;
    double *mark; /* k: relative gaps after `marked` passes */
};

/* Sets alpha of these rows and columns, and delta. Columns do not meet: threads may visit at once, each its own. */
void tnp_dual_visit(const tnp_dual *v, const tnp_visit *at);
/* The rows v->rows, whose scores are v->s, in all columns, by many threads; gram as that of a tnp_visit. */
void tnp_dual_visit_all(tnp_dual *v, const float *gram);
/* Losses and dual terms of a row by its scores s (k), added to sums (k, 3); cost (k) is scratch. */
void tnp_dual_measure(const tnp_dual *v, size_t row, const float *s, float *cost, double *sums);
/* to (k): y alpha of a row in the columns v->cols. */
void tnp_dual_signed(tnp_dual *v, size_t row, float *to);
/* w (k, stride), intercept last, = sum y alpha x for the columns v->cols: one pass. */
tn_status tnp_dual_weights(tnp_dual *v, float *w, size_t stride);
/* 0, 1, ... in random order. */
void tnp_dual_shuffle(tnp_rng *rng, size_t *order, size_t count);

/* Bytes of the route's own. */
size_t tnp_route_rows_bytes(size_t rows, size_t dim, size_t columns);
size_t tnp_route_gram_bytes(size_t rows, size_t dim, size_t columns);

#endif
