/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GreedyTL: columns chosen one by one for a ridge model; forward regression when lambda is 0. */
#ifndef TNP_GREEDY_TRANSFER_H
#define TNP_GREEDY_TRANSFER_H

#include "transfer/problem.h"

typedef struct tnp_greedy_path {
    size_t rows, count; /* picks */
    size_t *picks;      /* (count): columns, in the order they were chosen */
    double *objective;  /* (count): b_S'(C_S + lambda I)^-1 b_S of the first s + 1 picks */
    /* C_S + lambda I = L D L' with unit lower L: what weights are solved from. */
    double *solved;  /* (count): (L^-1 b)_s / D_s */
    double *lower;   /* row s of L at s(s - 1)/2, s values */
    double *pivot;   /* (count): D */
    double *q;       /* (count, rows): q_s = P z_s, P before z_s was added */
    size_t capacity; /* picks there is memory for */
} tnp_greedy_path;

/* At most `most` picks; ends when nothing is left to gain, and from the second pick on when the gain is below delta: a
 * first one is always made unless no column has any correlation with y. lambda 0 is forward regression with
 * least-squares weights, where a column of which less than 1e-10 of the variance is left is not picked; otherwise
 * lambda >= 1e-6, TN_ERR_ARG. Gains that differ by rounding only are equal, and the lower column is taken. O(rows cols)
 * a pick, two doubles a column of memory; the same bits for every thread count. The problem is borrowed until return.
 */
tn_status tnp_greedy_path_new(tn_ctx *ctx, const tnp_transfer_problem *problem, double lambda, double delta,
                              size_t most, tnp_greedy_path **out);
void tnp_greedy_path_free(tnp_greedy_path *path);
/* Keeps picks and objective only. */
void tnp_greedy_path_trim(tnp_greedy_path *path);

/* w (prefix): weights of the standardised columns picks[0 .. prefix-1] (see tnp_transfer_unscale). */
void tnp_greedy_weights(const tnp_greedy_path *path, size_t prefix, double *w);
/* out (row_count, count + 1): what the first s picks, s = 0 .. count, predict for rows of the problem's columns,
 * whether or not they took part, TNP_GREEDY_ROWS of them at most; work (tnp_greedy_work of as many picks and rows) is
 * scratch. */
enum { TNP_GREEDY_ROWS = 4 * TNP_TILE };
size_t tnp_greedy_work(size_t picks, size_t row_count);
void tnp_greedy_predict(const tnp_greedy_path *path, const tnp_transfer_problem *problem, const size_t *rows,
                        size_t row_count, double *work, double *out);

#endif
