/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ridge regression as it is written down, in long double: the normal equations with a column of ones that is not
 * penalised, and leave-one-out by fitting again without the row. No centring, no dual, no hat matrix. */
#ifndef TN_REF_RIDGE_H
#define TN_REF_RIDGE_H

#include "ref_dense.h"
#include "ref_random.h"

/* minimise |y_c - b_c - X w_c|^2 + lambda |w_c|^2 for every class: w (k,d), b (k). lambda > 0, may be infinite. */
void ref_ridge(const ref_problem *p, bool intercept, ref_real lambda, ref_real *w, ref_real *b);

/* Half the gradient of that objective for class c, at any weights: (d) for w, then one for b. */
void ref_ridge_gradient(const ref_problem *p, size_t c, ref_real lambda, const ref_real *w, ref_real b, ref_real *out);

/* Prediction for each row by the model fitted without it: (n,k). */
void ref_loo(const ref_problem *p, bool intercept, ref_real lambda, ref_real *out);
/* Mean over rows of the squared errors of these, summed over classes. */
ref_real ref_loo_error(const ref_problem *p, bool intercept, ref_real lambda);

#endif
