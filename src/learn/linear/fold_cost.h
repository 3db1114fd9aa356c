/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a training without some fold counts: its rows, the weights of its classes, its C. */
#ifndef TNP_FOLD_COST_H
#define TNP_FOLD_COST_H

#include "learn/linear/linear.h"

/* Rows outside fold f, all without folds, and those of each class among them; sizes (classes). */
size_t tnp_count_training(const tnp_linear *linear, size_t f, size_t *sizes);
/* Whether folds change the weights of classes. */
bool tnp_balances_folds(const tnp_linear *linear);
/* Row weights balance the classes of all rows; weight (folds, classes) makes them those of the rows outside each fold.
 * sizes (2 classes) is scratch. */
void tnp_fold_weights(const tnp_linear *linear, size_t *sizes, float *weight);
/* C of a training on n rows. */
double tnp_cost_of(const tnp_linear *linear, double cost, size_t n);

#endif
