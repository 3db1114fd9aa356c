/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense linear algebra as the textbooks write it, in long double: slow, and by another hand than the library. Matrices
 * are row-major. */
#ifndef TN_REF_DENSE_H
#define TN_REF_DENSE_H

#include <stddef.h>

typedef long double ref_real;

/* Zeroed array that a test may use without asking: ends the program when there is no memory. */
void *ref_alloc(size_t count, size_t size);

/* g (d,d) = x'x and k (n,n) = xx' for x (n,d), both triangles. */
void ref_gram(const ref_real *x, size_t n, size_t d, ref_real *g);
void ref_outer(const ref_real *x, size_t n, size_t d, ref_real *k);

/* a = LL', L in the lower triangle; returns 0 when a is not positive definite. */
int ref_cholesky(ref_real *a, size_t n);
/* b = (LL')^-1 b, and log det LL'. */
void ref_cholesky_solve(const ref_real *l, size_t n, ref_real *b);
ref_real ref_cholesky_logdet(const ref_real *l, size_t n);

/* Cyclic Jacobi: a = V diag(values) V', columns of v are the vectors. a is destroyed; order of values as it falls. */
void ref_jacobi(ref_real *a, size_t n, ref_real *values, ref_real *v);

/* Householder: x (n,d), n >= d, becomes R in its upper d rows; y (n,k) becomes Q'y. */
void ref_qr(ref_real *x, size_t n, size_t d, ref_real *y, size_t k);
/* Makes the rows of a (n,n) orthonormal by Gram-Schmidt, done twice. */
void ref_orthonormalise(ref_real *a, size_t n);

/* Helmert contrasts: out (n-1,d) = H x, rows of H (n-1,n) orthonormal and orthogonal to the ones vector. */
void ref_contrasts(const ref_real *x, size_t n, size_t d, ref_real *out);

ref_real *ref_widen(const double *x, size_t count);

#endif
