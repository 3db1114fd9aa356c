/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Row-wise normalisation of one row, in either precision. */
#ifndef TNP_NORMALIZE_H
#define TNP_NORMALIZE_H

#include "simd/simd.h"
#include "tenon/transform.h"

/* Normalises row x (n) into y; x == y allowed. means and scales (n) are for z-scores only. */
void tnp_normalize_row(const tnp_simd *k, tn_normalize kind, const double *means, const double *scales, const float *x,
                       float *y, size_t n);
void tnp_normalize_row_wide(tn_normalize kind, const double *means, const double *scales, const double *x, double *y,
                            size_t n);

#endif
