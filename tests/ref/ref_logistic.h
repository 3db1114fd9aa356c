/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Smooth linear classifiers as they are written down, in long double: objective, gradient and Hessian by loops, the
 * optimum by Newton's method with a dense Cholesky factor.
 *
 *   f(W) = 1/2 sum_k (|w_k|^2 + [b_k^2]) + sum_i loss_i,   s_ik = w_k'x_i + b_k
 *
 *   logistic        loss_i = sum_k c_ik log(1 + exp(-y_ik s_ik))
 *   squared hinge   loss_i = sum_k c_ik max(0, 1 - y_ik s_ik)^2
 *   softmax         loss_i = c_i0 (log sum_k exp s_ik - s_iy) */
#ifndef TN_REF_LOGISTIC_H
#define TN_REF_LOGISTIC_H

#include "ref_dense.h"

#include <stdbool.h>

typedef enum ref_loss { REF_LOGISTIC, REF_SQUARED_HINGE, REF_SOFTMAX } ref_loss;

typedef struct ref_smooth {
    size_t n, d, k;
    const double *x; /* (n,d) */
    const double *y; /* (n,k): 1 positive, 0 negative; softmax: one 1 a row */
    const double *c; /* (n,k): costs */
    ref_loss loss;
    bool bias, penalised;
} ref_smooth;

/* w (k,d+1), intercepts last and 0 without them; g the same. */
ref_real ref_smooth_objective(const ref_smooth *p, const ref_real *w);
void ref_smooth_gradient(const ref_smooth *p, const ref_real *w, ref_real *g);
/* From w = 0 until |gradient| stops falling; returns the objective. */
ref_real ref_smooth_solve(const ref_smooth *p, ref_real *w);
/* How much f may move when each score is off by u times the sum of its absolute products, plus u f. */
ref_real ref_smooth_rounding(const ref_smooth *p, const ref_real *w, ref_real u);

#endif
