/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of Householder reflections, applied to rows. */
#ifndef TNP_REFLECT_H
#define TNP_REFLECT_H

#include "base/base.h"

/* b reflections of which reflection l is I - tau v_l v_l', together H = I - V'TV: V (b, m), T (b, b) upper triangular, of
 * which the rest is not looked at. Each row of c (count, m) is multiplied by H' (transpose) or H. scratch holds
 * b (2 count + b) doubles. */
tn_status tnp_reflect(tn_ctx *ctx, bool transpose, size_t b, size_t m, const double *v, size_t ldv, const double *t,
                      size_t count, double *c, size_t ldc, double *scratch);

/* Each row of c (count,n) is multiplied by Q' (transpose) or Q, with Q as tnp_tridiagonalise (blas.h) left it. */
tn_status tnp_apply_q(tn_ctx *ctx, size_t n, const double *a, const double *tau, bool transpose, size_t count,
                      double *c);

#endif
