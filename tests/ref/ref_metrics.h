/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Literal metrics: loops over pairs of rows and over thresholds, no sorting. */
#ifndef TN_REF_METRICS_H
#define TN_REF_METRICS_H

#include <stdbool.h>
#include <stddef.h>

/* One class: score and membership of n rows, `step` floats apart. NaN unless both kinds of rows occur. */
double ref_auc(const float *scores, size_t step, const bool *positive, size_t n);
double ref_ap(const float *scores, size_t step, const bool *positive, size_t n);
double ref_ap_voc07(const float *scores, size_t step, const bool *positive, size_t n);
/* (TPR + TNR) / 2 of score > threshold. */
double ref_balanced(const float *scores, size_t step, const bool *positive, size_t n, double threshold);
/* One row of k scores: is `cls` among the `top` best, taking out the best, lowest index first, `top` times? */
bool ref_among_top(const float *row, size_t k, size_t cls, size_t top);
/* n decisions: mean of -log(chance of what is true), the chance not below 1e-15. */
double ref_nll(const double *chance, size_t n);
/* n decisions: for each of 15 bins (b/15, (b+1)/15], the first with 0 too, |mean p - share true| times the bin's
 * share. */
double ref_ece(const float *p, const bool *came_true, size_t n);

#endif
