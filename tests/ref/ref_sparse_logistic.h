/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Logistic regression with an elastic-net penalty as it is written down, in long double.
 *
 *   P(w, b) = sum_i c_i log(1 + exp(-y_i (b + a_i'w))) + lambda (mix |w|_1 + (1 - mix)/2 |w|^2) */
#ifndef TN_REF_SPARSE_LOGISTIC_H
#define TN_REF_SPARSE_LOGISTIC_H

#include "ref_dense.h"

typedef struct ref_sparse {
    size_t m, p;
    const ref_real *a; /* (m,p) */
    const double *y;   /* (m): -1 or 1 */
    const ref_real *c; /* (m) */
    ref_real lambda, mix;
} ref_sparse;

ref_real ref_sparse_objective(const ref_sparse *s, const ref_real *w, ref_real b);
/* The largest distance of the subdifferential from zero over all coordinates, the intercept's slope among them. */
ref_real ref_sparse_violation(const ref_sparse *s, const ref_real *w, ref_real b);
/* One coordinate after the other by Newton steps bounded by the largest curvature, until the violation is below
 * `small`. From w, b as they are. */
void ref_sparse_solve(const ref_sparse *s, ref_real small, ref_real *w, ref_real *b);

#endif
