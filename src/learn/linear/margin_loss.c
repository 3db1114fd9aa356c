/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses of the margin y s, row by row, with a = y c the signed cost of the row in a column:
 *
 *   squared hinge   c v^2, v = max(0, 1 - y s)   d/ds = -2 a v               d2/ds2 = 2 c [v > 0]
 *   logistic        c log(1 + exp(-y s))         d/ds = -a q, q = 1/(1+exp(y s))   d2/ds2 = c q (1 - q)
 *
 * Duals: -c loss*(-alpha / c) is alpha - alpha^2 / 4 c, c (H(p) with p = alpha / c, H the entropy of p and 1 - p), and
 * alpha for the hinge, alpha <= c. All are concave and 0 at 0.
 *
 * Rows are negative in nearly every column: all costs are set so in one plain loop, then the few positives are put
 * right; after that the loops need not ask. */
#include "learn/linear/margin_loss.h"

#include <math.h>
#include <string.h>

/* First of the ascending cols[0..k) that is at least `column`. */
static size_t find(const size_t *cols, size_t k, size_t column)
{
    size_t low = 0, high = k;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cols[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tnp_signed_costs(const tnp_columns *c, size_t row, const size_t *cols, size_t k, float *a)
{
    size_t classes = c->y->classes, folds = c->count / classes;
    float weight = c->row_weight ? c->row_weight[row] : 1.0f;
    for (size_t j = 0; j < k; ++j)
        a[j] = -weight * c->negative_cost[cols[j]];
    for (size_t p = c->y->first[row]; p < c->y->first[row + 1]; ++p)
        for (size_t f = 0; f < folds; ++f) {
            size_t column = f * classes + c->y->cls[p], j = find(cols, k, column);
            if (j < k && cols[j] == column)
                a[j] = weight * c->positive_cost[column];
        }
    for (size_t j = 0; c->fold && c->fold_weight && j < k; ++j)
        a[j] *= c->fold_weight[c->fold[cols[j]] * classes + c->y->cls[c->y->first[row]]];
    if (c->fold && c->row_fold[row] < folds) { /* whose columns stand together */
        size_t own = c->row_fold[row] * classes, from = find(cols, k, own);
        memset(a + from, 0, (find(cols, k, own + classes) - from) * sizeof *a);
    }
}

void tnp_column_costs(const tnp_columns *c, size_t column, size_t rows, float *a)
{
    size_t classes = c->y->classes, k = column % classes, f = column / classes;
    for (size_t i = 0; i < rows; ++i) {
        float cost = -c->negative_cost[column];
        for (size_t p = c->y->first[i]; p < c->y->first[i + 1]; ++p)
            cost = c->y->cls[p] == k ? c->positive_cost[column] : cost;
        a[i] = cost * (c->row_weight ? c->row_weight[i] : 1.0f);
        if (c->fold && c->fold_weight)
            a[i] *= c->fold_weight[f * classes + c->y->cls[c->y->first[i]]];
        if (c->fold && c->fold[column] == c->row_fold[i])
            a[i] = 0;
    }
}

/* max(0, 1 - y s), y the sign of a. */
static float violation(float a, float s)
{
    float v = 1 - (a < 0 ? -s : s);
    return v > 0 ? v : 0;
}

static void slope(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *a, float *g,
                  double *value)
{
    tnp_signed_costs(arg, row, cols, k, a);
    for (size_t j = 0; j < k; ++j) {
        float v = violation(a[j], s[j]);
        g[j] = -2 * a[j] * v;
        value[j] += (double)(fabsf(a[j]) * v * v);
    }
}

static void curve(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *a, float *z)
{
    tnp_signed_costs(arg, row, cols, k, a);
    for (size_t j = 0; j < k; ++j)
        z[j] *= violation(a[j], s[j]) > 0 ? 2 * fabsf(a[j]) : 0;
}

static void weight(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *a, double *sum)
{
    tnp_signed_costs(arg, row, cols, k, a);
    for (size_t j = 0; j < k; ++j)
        sum[j] += violation(a[j], s[j]) > 0 ? 2 * (double)fabsf(a[j]) : 0;
}

tnp_loss tnp_squared_hinge(const tnp_columns *columns)
{
    return (tnp_loss){columns, slope, curve, weight};
}

/* 1 / (1 + exp(y s)): the probability given to the wrong side. */
static float wrong_side(float a, float s)
{
    return 1 / (1 + expf(a < 0 ? -s : s));
}

/* log(1 + exp(-m)) without overflow. */
static double log_loss(double m)
{
    return m > 0 ? log1p(exp(-m)) : -m + log1p(exp(m));
}

double tnp_margin_value(tnp_margin loss, double c, double m)
{
    double v = fmax(0, 1 - m);
    return c * (loss == TNP_LOGISTIC ? log_loss(m) : loss == TNP_HINGE ? v : v * v);
}

double tnp_margin_multiplier(tnp_margin loss, double c, double m)
{
    double v = fmax(0, 1 - m);
    return c * (loss == TNP_LOGISTIC ? 1 / (1 + exp(m)) : loss == TNP_HINGE ? (v > 0 ? 1 : 0) : 2 * v);
}

static double entropy(double p)
{
    return p > 0 ? -p * log(p) : 0;
}

double tnp_margin_dual(tnp_margin loss, double c, double alpha)
{
    if (c == 0)
        return 0;
    if (loss == TNP_LOGISTIC)
        return c * (entropy(alpha / c) + entropy(1 - alpha / c));
    return loss == TNP_HINGE ? alpha : alpha - alpha * alpha / (4 * c);
}

static void logistic_slope(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *a,
                           float *g, double *value)
{
    tnp_signed_costs(arg, row, cols, k, a);
    for (size_t j = 0; j < k; ++j) {
        g[j] = -a[j] * wrong_side(a[j], s[j]);
        value[j] += fabs((double)a[j]) * log_loss((double)(a[j] < 0 ? -s[j] : s[j]));
    }
}

static void logistic_curve(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *a,
                           float *z)
{
    tnp_signed_costs(arg, row, cols, k, a);
    for (size_t j = 0; j < k; ++j) {
        float q = wrong_side(a[j], s[j]);
        z[j] *= fabsf(a[j]) * q * (1 - q);
    }
}

static void logistic_weight(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *a,
                            double *sum)
{
    tnp_signed_costs(arg, row, cols, k, a);
    for (size_t j = 0; j < k; ++j) {
        float q = wrong_side(a[j], s[j]);
        sum[j] += (double)(fabsf(a[j]) * q * (1 - q));
    }
}

tnp_loss tnp_binary_logistic(const tnp_columns *columns)
{
    return (tnp_loss){columns, logistic_slope, logistic_curve, logistic_weight};
}
