/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Learning of an additive kernel as it is written down: every function of every entry side by side, one machine a task,
 * the sum of the products of their weights. */
#ifndef TN_REF_MAP_LEARN_H
#define TN_REF_MAP_LEARN_H

#include "ref_dense.h"

enum { REF_BASIS = 39 };

/* out (n, d * sides * 39) for x (n, d): rows to unit L1 norm, times scale, sizes beyond 1 to 1, then f of every entry;
 * plain and split as in ref_map.h, sides 2 when split. */
void ref_map_features(int plain, int split, double scale, const double *x, size_t n, size_t d, double *out);
/* a (39, 39) += V V' for the weights w (entries * 39) of one machine. */
void ref_map_add(const ref_real *w, size_t entries, ref_real *a);

#endif
