/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Additive kernels and their explicit maps as they are written down, in long double. Plain integers stand for the
 * choices, so that nothing of the library is needed. */
#ifndef TN_REF_MAP_H
#define TN_REF_MAP_H

#include "ref_dense.h"

/* phi(x) = W'f(x): weight (39, rank), plain 0 scaled-fourier, 1 fourier; split 0 odd, 1 [phi(x+), phi(x-)]. |x| beyond
 * 1 is 1. */
void ref_map_learned(int plain, int split, const double *weight, size_t rank, ref_real x, ref_real *out);

/* kind 0 hellinger, 1 chi2, 2 intersection, 3 js. k(x, y) for x, y > 0, and the map of 1 or 7 values. */
ref_real ref_kernel_named(int kind, ref_real x, ref_real y);
/* Coefficient j of the Fourier series of its signature on one period, by so many midpoints. */
ref_real ref_signature_coefficient(int kind, int j, int points);
void ref_map_named(int kind, int split, ref_real x, ref_real *out);

#endif
