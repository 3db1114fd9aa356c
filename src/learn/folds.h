/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds of a cross-validation. */
#ifndef TNP_FOLDS_H
#define TNP_FOLDS_H

#include "matrix/stats.h"
#include "tenon/read.h"

/* Fold of every row, (rows) numbers below `folds`, seeded. Multi-class: each class is dealt round the folds, going on where
 * the class before it stopped, so that classes and folds are both as even as can be; a class with fewer rows than folds is
 * absent from some. Other tasks: all rows are dealt. TN_ERR_ARG for fewer than 2 folds, TN_ERR_DATA for fewer rows than
 * folds. Owned by the caller, free with tnp_free. */
tn_status tnp_folds_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t folds, size_t seed, uint32_t **out);

#endif
