/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ladder of values that grids of C are made of: ..., 0.1, 0.3, 1, 3, 10, ... */
#ifndef TNP_PATH_H
#define TNP_PATH_H

#include "learn/head/cross.h"

#define TNP_LOWEST_SCALED 1e-6 /* of C s^2: bounds of a grid that was found */
#define TNP_HIGHEST_SCALED 1e6
/* C s^2 that suits most features: C = 1 for svm and 10 for logistic on rows of length 1, whose s^2 is about 0.55. */
#define TNP_USUAL_SVM 0.55
#define TNP_USUAL_LOGISTIC 5.5
#define TNP_LEAST_COST 1e-30 /* bounds of the option */
#define TNP_MOST_COST 1e30

/* Rung i, number 0 is 1; and the number of the largest that is at most c. */
double tnp_rung(int i);
int tnp_rung_below(double c);
/* What C is multiplied with to be the variance of scores: s^2 times the weight that a row has beside C. 1 where rows do
 * not differ. */
tn_status tnp_path_scale(tn_ctx *ctx, const tnp_linear *linear, double *scale);

#endif
