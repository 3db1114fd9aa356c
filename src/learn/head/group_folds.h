/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds of a cross-validation over rows that belong together. */
#ifndef TNP_GROUP_FOLDS_H
#define TNP_GROUP_FOLDS_H

#include "matrix/moments.h"

/* Fold of every row, (rows) numbers below `folds`, seeded, so that no group (numbers below `groups`, (rows)) is in two
 * folds, and folds and the classes in them are as even as a greedy deal makes them. TN_ERR_DATA for fewer groups than
 * folds. Owned by the caller, free with tnp_free. O(folds * positives). */
tn_status tnp_group_folds_new(tn_ctx *ctx, const tnp_targets *y, const uint32_t *group, size_t groups, size_t folds,
                              size_t seed, uint32_t **out);

#endif
