/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The multinomial logistic loss, row by row, with p = softmax(s) and y the row's class:
 *
 *   loss = c (log sum_k exp s_k - s_y),   d/ds = c (p - e_y),   d2/ds2 z = c (p o z - p (p'z)) */
#include "learn/softmax_loss.h"

#include <math.h>

/* p (k) = softmax(s); returns log sum exp. */
static double softmax(const float *s, size_t k, float *p)
{
    float most = s[0];
    double sum = 0;
    for (size_t j = 1; j < k; ++j)
        most = s[j] > most ? s[j] : most;
    for (size_t j = 0; j < k; ++j) {
        p[j] = expf(s[j] - most);
        sum += (double)p[j];
    }
    float scale = (float)(1 / sum);
    for (size_t j = 0; j < k; ++j)
        p[j] *= scale;
    return (double)most + log(sum);
}

static float row_cost(const tnp_softmax *l, size_t row)
{
    return l->cost * (l->row_weight ? l->row_weight[row] : 1.0f);
}

static void slope(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *p, float *g,
                  double *value)
{
    const tnp_softmax *l = arg;
    float cost = row_cost(l, row);
    size_t y = l->y->cls[l->y->first[row]];
    (void)cols; /* a coupled problem keeps all its columns */
    double total = softmax(s, k, p);
    value[0] += (double)cost * (total - (double)s[y]);
    for (size_t j = 0; j < k; ++j)
        g[j] = cost * p[j];
    g[y] -= cost;
}

static void curve(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *p, float *z)
{
    float cost = row_cost(arg, row);
    double mean = 0;
    (void)cols;
    softmax(s, k, p);
    for (size_t j = 0; j < k; ++j)
        mean += (double)p[j] * (double)z[j];
    for (size_t j = 0; j < k; ++j)
        z[j] = cost * p[j] * (z[j] - (float)mean);
}

static void weight(const void *arg, size_t row, const size_t *cols, size_t k, const float *s, float *p, double *sum)
{
    double cost = (double)row_cost(arg, row);
    (void)cols;
    softmax(s, k, p);
    for (size_t j = 0; j < k; ++j)
        sum[j] += cost * (double)p[j] * (1 - (double)p[j]);
}

tnp_loss tnp_softmax_loss(const tnp_softmax *l)
{
    return (tnp_loss){l, true, slope, curve, weight};
}
