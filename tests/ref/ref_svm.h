/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A linear support vector machine as it is written down, one column, in long double:
 *
 *   primal   1/2 |w|^2 + sum_i c_i loss(y_i (w'x_i + b))     loss(m) = max(0, 1 - m), squared or not
 *   dual     sum_i alpha_i - 1/2 |sum_i y_i alpha_i x_i|^2 - [squared: sum_i alpha_i^2 / (4 c_i)],   0 <= alpha_i <= [c_i]
 *
 * A penalised intercept is a 1 behind every row. */
#ifndef TN_REF_SVM_H
#define TN_REF_SVM_H

#include "ref_dense.h"

#include <stdbool.h>

typedef struct ref_svm {
    size_t n, d;
    const double *x; /* (n,d) */
    const double *y; /* (n): -1 or 1 */
    const double *c; /* (n): cost of the row, 0 leaves it out */
    bool squared, bias;
} ref_svm;

/* w (d+1), the intercept last and 0 without one. */
ref_real ref_svm_primal(const ref_svm *p, const ref_real *w);
ref_real ref_svm_dual(const ref_svm *p, const ref_real *alpha);
/* sum_i y_i alpha_i x_i. */
void ref_svm_weights(const ref_svm *p, const ref_real *alpha, ref_real *w);

/* Rows order[0..count) one after the other: alpha_i to the minimum of the dual along it, w with it. */
void ref_svm_visit(const ref_svm *p, const size_t *order, size_t count, ref_real *alpha, ref_real *w);
/* Passes over the rows as they come until primal - dual <= 1e-11 primal. Returns the primal; alpha may be NULL. Ends the
 * program when that takes too long: the problem is not a tiny one. */
ref_real ref_svm_solve(const ref_svm *p, ref_real *alpha, ref_real *w);

/* The same optimum by Newton's method on the dual with a barrier, (n, n) systems: the number of steps does not hang on
 * how rows are scaled or how large c is. Returns the least objective found: no less than the minimum, and within
 * 1e-12 of it but for the worst-scaled problems, where long double ends before. */
ref_real ref_svm_barrier(const ref_svm *p);

/* How much the primal may move when each row's score is off by u times the sum of its absolute products:
 * u sum_i c_i |loss'(m_i)| sum_j |x_ij w_j|, and u times the primal itself for its own sums. */
ref_real ref_svm_rounding(const ref_svm *p, const ref_real *w, ref_real u);

#endif
