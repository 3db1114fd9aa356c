/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fisher vectors as functions of the mixture, in long double: the vector from its formula, and the derivatives of the
 * deep Fisher paper, (7) to (12), term by term. */
#ifndef REF_FISHER_BACK_H
#define REF_FISHER_BACK_H

#include "ref_encode.h"

/* Parameters, one behind the other: log weights (k), which need not sum to 1 yet, means (k, d), log deviations (k, d).
 * */
typedef struct ref_theta {
    size_t k, d;
    const ref_float *values;
} ref_theta;

/* out (2 k d): the raw Fisher vector of x (n, d); zeros when n is 0. */
void ref_fisher_of(const ref_theta *theta, const ref_float *x, size_t n, ref_float *out);
/* out (2 k d, k (1 + 2 d)): its derivatives, by (7) to (12) and t d/dt for logarithms. (7) and (10) are those of
 * weights that sum to 1, in which one is changed and all are divided by their sum again. O((2 k d)^2 n). */
void ref_fisher_jacobian(const ref_theta *theta, const float *x, size_t n, ref_float *out);

#endif
