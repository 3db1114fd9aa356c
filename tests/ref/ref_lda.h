/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linear discriminants with a shrunk covariance as they are written down, in long double: class means, scatter, its
 * inverse. No ridge problem, no matrix of classes by classes. */
#ifndef TN_REF_LDA_H
#define TN_REF_LDA_H

#include "ref_dense.h"
#include "ref_random.h"

/* Scores (count, k) of rows x (count, d) by the discriminants of p, whose targets are one class per row:
 *
 *   c (m_k'P (x - m) - m_k'P m_k / 2) + log n_k/N,   P = (S + lambda I)^-1,   c = N - classes that have rows, at least 1
 *
 * m_k about the mean m of all rows; weight (n), or NULL: sums of weights in the place of counts, c times their mean. A
 * class without rows: the mean of the others' by their shares, less log(2 N + 1). quadratic (k), or NULL: m_k'P m_k. */
void ref_lda(const ref_problem *p, const double *weight, ref_real lambda, const double *x, size_t count, ref_real *out,
             ref_real *quadratic);

#endif
