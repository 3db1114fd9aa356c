/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-vs-rest losses for learn/newton.c. A column is a class, seen with its own weights and maybe without the rows of
 * one fold, so that classes and folds of a cross-validation are trained side by side. */
#ifndef TNP_MARGIN_LOSS_H
#define TNP_MARGIN_LOSS_H

#include "learn/linear/newton.h"
#include "matrix/moments.h"

typedef struct tnp_columns {
    const tnp_targets *y;       /* lists of classes */
    size_t count;               /* columns: classes, fold by fold */
    const uint32_t *fold;       /* count, or NULL: rows of this fold do not take part */
    const uint32_t *row_fold;   /* rows, or NULL */
    const float *row_weight;    /* rows, or NULL */
    const float *positive_cost; /* count: C times the weight of positive rows */
    const float *negative_cost; /* count */
    const float
        *fold_weight; /* (folds, classes), or NULL: times the weight of a row, by its class, in the columns of a fold */
} tnp_columns;

/* a (k): y times the cost of a row in the columns cols[0..k), ascending; 0 where its fold is held out. */
void tnp_signed_costs(const tnp_columns *columns, size_t row, const size_t *cols, size_t k, float *a);

/* a (rows): the same of one column in all rows. */
void tnp_column_costs(const tnp_columns *columns, size_t column, size_t rows, float *a);

typedef enum tnp_margin { TNP_HINGE, TNP_SQUARED_HINGE, TNP_LOGISTIC } tnp_margin;

/* A loss of the margin m = y s in double, and its dual: c loss(m), the multiplier alpha = -c loss'(m) (of the hinge c
 * below the margin), and what alpha adds to the dual objective, -c loss*(-alpha / c). alpha between 0 and c (squared
 * hinge: any). */
double tnp_margin_value(tnp_margin loss, double c, double m);
double tnp_margin_multiplier(tnp_margin loss, double c, double m);
double tnp_margin_dual(tnp_margin loss, double c, double alpha);

/* c max(0, 1 - y s)^2. */
tnp_loss tnp_squared_hinge(const tnp_columns *columns);
/* c log(1 + exp(-y s)). */
tnp_loss tnp_binary_logistic(const tnp_columns *columns);

#endif
