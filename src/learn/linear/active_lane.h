/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A column of learn/active.c at work: where it is, its active rows, and its way along a step. */
#ifndef TNP_ACTIVE_LANE_H
#define TNP_ACTIVE_LANE_H

#include "learn/linear/active.h"
#include "learn/linear/factor.h"

/* What all lanes share. */
typedef struct tnp_lanes_rows {
    const tnp_columns *columns;
    const tnp_active_options *opt;
    tnp_at_hand hand; /* rows, or this member's part of them */
    size_t n, dim, width;
    double least_ease; /* of columns that start with nothing */
} tnp_lanes_rows;

typedef struct tnp_lane {
    size_t column;
    bool entering;          /* d is where to start */
    bool stale;             /* a factor of its own is due */
    bool fresh;             /* the factor was made for this step */
    bool lost;              /* no factor leads further */
    double ease;            /* share of the costs that counts in this step, at most 1 */
    float *a, *h;           /* n: signed costs; twice their size, eased */
    double *m;              /* n: margins */
    float *q;               /* n: their change along d */
    float *near;            /* (n, 3): slack, change and h of rows that the line search may meet */
    double *w, *g, *d;      /* width: place, gradient, step */
    size_t *which, active;  /* n: active rows, in the order of the rows */
    size_t first, here;     /* which[first .. first + here) are at hand */
    double f, loss, sum;    /* objective, its loss, sum of the multipliers */
    double lower, before;   /* bound of the minimum; f one step ago */
    size_t steps, products; /* steps so far; products of the last */
    float *scratch;         /* tnp_factor_scratch */
    tnp_conjugate descent;
    tnp_factor own;
    const tnp_factor *factor;
} tnp_lane;

/* *out is the caller's to free also after a failure. */
tn_status tnp_lane_new(tn_ctx *ctx, const tnp_lanes_rows *v, tnp_lane **out);
void tnp_lane_free(tnp_lane *l);
size_t tnp_lane_bytes(size_t rows, size_t dim);

/* Costs of l->column; margins 0. */
void tnp_lane_begin(const tnp_lanes_rows *v, tnp_lane *l);
/* Along d to the minimum of f, with q the change of the margins; entering all the way. Then objective, active rows and
 * the gradient of the loss, as far as its rows are at hand, at the next ease of the costs. */
void tnp_lane_move(const tnp_lanes_rows *v, tnp_lane *l);
/* That gradient, of all rows, becomes f's, and bounds the minimum. */
void tnp_lane_bound(const tnp_lanes_rows *v, tnp_lane *l);

#endif
