/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a random problem to the library's tridiagonal form, for the tests that start there. */
#ifndef TN_TESTS_SPECTRUM_OF_H
#define TN_TESTS_SPECTRUM_OF_H

#include "learn/ridge/spectrum.h"
#include "ctx_of.h"
#include "ref_random.h"

static inline tnp_spectrum *spectrum_of(tn_ctx *ctx, const ref_problem *p, bool dual, bool intercept)
{
    size_t order = dual ? p->n : p->d;
    double *a = NULL, *rhs = NULL, *yy = NULL;
    tnp_spectrum *s = NULL;
    assert_fine(ctx, tnp_alloc(ctx, order * order, sizeof *a, &a));
    assert_fine(ctx, tnp_alloc(ctx, p->k * order, sizeof *rhs, &rhs));
    assert_fine(ctx, tnp_alloc(ctx, p->k, sizeof *yy, &yy));
    ref_moments(p, dual, intercept, a, rhs, yy);
    assert_fine(ctx, tnp_spectrum_new(ctx, dual, order, p->k, (double)p->n - (intercept ? 1 : 0), a, rhs, yy, &s));
    tnp_free(rhs);
    tnp_free(yy);
    return s;
}

#endif
