/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folds of a cross-validation, and hold-outs.
 *
 * row_fold (rows) says by which models a row is judged: those of fold row_fold[i], which are trained without it. Every
 * number that is no fold, TNP_NO_FOLD by habit, says that the row always trains and is never judged. So a hold-out is
 * one fold: 0 for the rows held out, TNP_NO_FOLD for the others. Everything that cross-validates goes by this. */
#ifndef TNP_FOLDS_H
#define TNP_FOLDS_H

#include "matrix/moments.h"
#include "tenon/read.h"

#define TNP_NO_FOLD UINT32_MAX

/* How many folds these rows allow, at most `asked`: no more than rows where there are fewer than 10, in a regression
 * half of the rows, or 0 where no fold could judge anything: every class has one row, every label has one positive or
 * one negative, a regression has three rows or fewer. */
tn_status tnp_folds_for(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t asked, size_t *folds);

/* Held-out scores (rows, classes) become NaN where the class had the same label in all rows outside the row's fold: the
 * model that made the score could not know the class; and of rows in no fold. Not for regressions. */
tn_status tnp_folds_hide(tn_ctx *ctx, const tnp_targets *y, const uint32_t *row_fold, size_t folds, float *scores);

/* Fold of every row, (rows) numbers below `folds`, seeded. Multi-class: each class is dealt round the folds, going on
 * where the class before it stopped, so that classes and folds are both as even as can be; a class with fewer rows than
 * folds is absent from some. Other tasks: all rows are dealt. TN_ERR_ARG for fewer than 2 folds, TN_ERR_DATA for fewer
 * rows than folds. Owned by the caller, free with tnp_free. */
tn_status tnp_folds_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t folds, size_t seed, uint32_t **out);
/* A hold-out of about `share` (0 to 1, neither) of the rows as one fold, seeded: 0 or TNP_NO_FOLD per row, `held` of
 * them 0. Multi-class: every class gives its share to a row more or less, and keeps one row at least to train on.
 * TN_ERR_DATA where that leaves no row to hold out (a regression: fewer than two, of which R^2 knows nothing). Owned by
 * the caller, free with tnp_free. */
tn_status tnp_holdout_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, double share, size_t seed, uint32_t **out,
                          size_t *held);

#endif
