/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's transfer problem of a literal one. */
#ifndef TN_TESTS_TRANSFER_OF_H
#define TN_TESTS_TRANSFER_OF_H

#include "ctx_of.h"
#include "ref_transfer.h"
#include "transfer/problem.h"

#include <stdlib.h>

/* Columns as doubles, or as floats, which lose nothing when ref_transfer_narrow made the values. */
static inline tnp_transfer_columns *columns_of(tn_ctx *ctx, const ref_transfer *r, bool wide)
{
    tnp_transfer_columns *c = NULL;
    float *x = ref_alloc(r->p, sizeof *x);
    assert_fine(ctx, tnp_transfer_columns_new(ctx, r->m, r->p, wide, &c));
    for (size_t i = 0; i < r->m; ++i) {
        for (size_t j = 0; j < r->p; ++j)
            x[j] = (float)r->x[i * r->p + j];
        if (wide)
            tnp_transfer_put_wide(c, i, 0, r->p, r->x + i * r->p);
        else
            tnp_transfer_put(c, i, 0, r->p, x);
    }
    free(x);
    return c;
}

static inline tnp_transfer_problem *problem_of(tn_ctx *ctx, const ref_transfer *r)
{
    tnp_transfer_problem *p = NULL;
    assert_fine(ctx, tnp_transfer_problem_new(ctx, columns_of(ctx, r, true), r->y, r->weights, &p));
    return p;
}

/* With its columns. */
static inline void problem_done(tnp_transfer_problem *p)
{
    tnp_transfer_columns_free((tnp_transfer_columns *)(uintptr_t)p->columns);
    tnp_transfer_problem_free(p);
}

/* Its columns under other labels: every row has that of the row behind it. */
static inline tnp_transfer_problem *turned_problem_of(tn_ctx *ctx, const ref_transfer *r)
{
    tnp_transfer_problem *p = problem_of(ctx, r);
    double *y = ref_alloc(r->m, sizeof *y);
    for (size_t i = 0; i < r->m; ++i)
        y[i] = r->y[(i + 1) % r->m];
    assert_fine(ctx, tnp_transfer_problem_relabel(ctx, p, y));
    free(y);
    return p;
}

#endif
