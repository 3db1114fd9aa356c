/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out of greedy selection: everything is done again without the row, standardisation and picks too. The closed form
 * for given picks, residual (P y)_i/(P_ii - u_i^2), is free but was refused: twenty rows and a thousand columns leave so much to
 * choose from that picks made with a row fit it; that form says 0 % of errors where new rows have 10 to 20 %, and would
 * never let `auto` or `k` decide against a longer path. A row of weight 0 is not there (transfer_problem.c), so the raw columns
 * serve all parts. Oracle: tests/ref/ref_transfer.c, which walks the literal criterion on the other rows. */
#include "select/greedy_loo.h"

#include <string.h>

typedef struct parts {
    const tnp_transfer_columns *columns;
    const double *y;
    bool balanced;
    double lambda, delta;
    size_t count;    /* picks at most */
    size_t *part;    /* (rows) */
    double *weights; /* (rows) */
    double *path;    /* (2 count + 1): predictions of a row for all prefixes, and scratch */
    double *predicted;
} parts;

/* Rows of one class after those of the other, in turn. */
static void deal(const parts *p, size_t rows, size_t many)
{
    size_t next = 0;
    for (int side = 1; side >= -1; side -= 2)
        for (size_t i = 0; i < rows; ++i)
            if (p->y[i] * side > 0)
                p->part[i] = next++ % many;
}

/* The class of the rows that stay when they have one only; 0: both. */
static double only_class(const parts *p)
{
    double seen = 0;
    for (size_t i = 0; i < p->columns->rows; ++i) {
        if (p->weights[i] > 0 && seen != 0 && p->y[i] != seen)
            return 0;
        seen = p->weights[i] > 0 ? p->y[i] : seen;
    }
    return seen;
}

static tn_status leave_out(tn_ctx *ctx, const parts *p, size_t which)
{
    tn_status st = TN_OK;
    size_t rows = p->columns->rows;
    tnp_transfer_problem *problem = NULL;
    tnp_greedy_path *path = NULL;
    for (size_t i = 0; i < rows; ++i)
        p->weights[i] = p->part[i] != which;
    double only = only_class(p);
    if (only == 0) {
        if (p->balanced)
            tnp_transfer_balance(rows, p->y, p->weights);
        TN_TRY(tnp_transfer_problem_new(ctx, p->columns, p->y, p->weights, &problem));
        TN_TRY(tnp_greedy_path_new(ctx, problem, p->lambda, p->delta, p->count, &path));
    }
    for (size_t i = 0; i < rows; ++i) {
        if (p->part[i] != which)
            continue;
        if (path)
            tnp_greedy_predict(path, problem, i, p->path + p->count + 1, p->path);
        for (size_t s = 0; s <= p->count; ++s)
            p->predicted[s * rows + i] = path ? p->path[tnp_min(s, path->count)] : only;
    }
done:
    tnp_greedy_path_free(path);
    tnp_transfer_problem_free(problem);
    return st;
}

tn_status tnp_greedy_loo(tn_ctx *ctx, const tnp_transfer_columns *columns, const double *y, bool balanced,
                         double lambda, double delta, size_t count, double *predicted, tnp_transfer_score *score)
{
    tn_status st = TN_OK;
    size_t rows = columns->rows, many = tnp_min(rows, TNP_GREEDY_PARTS);
    parts p = {columns, y, balanced, lambda, delta, count, NULL, NULL, NULL, predicted};
    TN_TRY(tnp_alloc(ctx, rows, sizeof *p.part, &p.part));
    TN_TRY(tnp_alloc(ctx, rows, sizeof *p.weights, &p.weights));
    TN_TRY(tnp_alloc(ctx, 2 * count + 1, sizeof *p.path, &p.path));
    deal(&p, rows, many);
    for (size_t which = 0; which < many; ++which)
        TN_TRY(leave_out(ctx, &p, which));
    for (size_t s = 0; s <= count; ++s)
        score[s] = tnp_transfer_score_of(rows, y, predicted + s * rows);
done:
    tnp_free(p.part);
    tnp_free(p.weights);
    tnp_free(p.path);
    return st;
}

size_t tnp_greedy_best(const tnp_transfer_score *score, size_t count)
{
    size_t best = 0;
    for (size_t s = 1; s <= count; ++s)
        if (tnp_transfer_better(score[s], score[best]))
            best = s;
    return best;
}
