/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The evidence by definition: y ~ N(0, I/beta + XX'/alpha), and what follows from its eigenvalues, in long double.
 * With an intercept the rows are replaced by their n - 1 Helmert contrasts, which carry all that does not depend on
 * the mean: no centring and no formula for it enter here. */
#ifndef TN_REF_EVIDENCE_H
#define TN_REF_EVIDENCE_H

#include "ref_dense.h"
#include "ref_random.h"

/* log N(y | 0, I/beta + XX'/alpha) of class c by Cholesky of the matrix itself. alpha may be infinite. */
ref_real ref_dense_evidence(const ref_problem *p, bool intercept, size_t c, ref_real alpha, ref_real beta);

/* Eigenvalues s of XX' (the largest m of them) and the energies (v_i'y)^2 of every class; the rest of y'y lies where
 * XX' is zero. */
typedef struct ref_eigen {
    size_t n, m, k; /* n: rows, or contrasts */
    ref_real *s;    /* (m) */
    ref_real *e;    /* (k,m) */
    ref_real *rest; /* (k) */
    ref_real largest;
} ref_eigen;

ref_eigen ref_eigen_of(const ref_problem *p, bool intercept);
/* The same without a square anywhere: one-sided Jacobi on the rows, which loses no more digits to small directions than
 * the data do. weight (n), or NULL: rows and targets are multiplied by its roots, and an intercept takes off that
 * direction. */
ref_eigen ref_eigen_exact(const ref_problem *p, const double *weight, bool intercept);
void ref_eigen_free(ref_eigen *q);

/* R = min_w |y - Xw|^2 + lambda |w|^2, |w|^2, residual |y - Xw|^2 of class c; lambda may be infinite in R. */
ref_real ref_r(const ref_eigen *q, size_t c, ref_real lambda);
ref_real ref_ww(const ref_eigen *q, size_t c, ref_real lambda);
ref_real ref_residual(const ref_eigen *q, size_t c, ref_real lambda);
/* gamma, sum log(1 + s/lambda). */
ref_real ref_gamma(const ref_eigen *q, ref_real lambda);
ref_real ref_logdet(const ref_eigen *q, ref_real lambda);
/* The log density above at beta = n / R and alpha = lambda beta; lambda may be infinite: no features. */
ref_real ref_f(const ref_eigen *q, size_t c, ref_real lambda);
/* The same at any alpha and beta. */
ref_real ref_f_at(const ref_eigen *q, size_t c, ref_real alpha, ref_real beta);
/* Sum over classes at one lambda. */
ref_real ref_f_sum(const ref_eigen *q, ref_real lambda);

/* The largest f over `points` lambdas, equally spaced in log between from and to, then golden section around the best.
 * c >= k: the sum over classes. */
ref_real ref_best(const ref_eigen *q, size_t c, ref_real from, ref_real to, size_t points, ref_real *lambda);

/* N sum_k |y_k - H y_k|^2 / trace(I - H)^2 with the hat matrix written out; H includes the mean with an intercept. */
ref_real ref_gcv(const ref_problem *p, bool intercept, ref_real lambda);

#endif
