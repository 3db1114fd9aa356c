/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Residuals r = y - prediction of every output of a regression, over the scored rows.
 *
 *   mean, sd (of N - 1), mean |r|, Pearson's correlation of y and prediction, quantiles (linear between order
 *   statistics, as numpy's default), and a histogram of TNP_HIST bars of equal width from the least to the largest.
 *
 * Oracle: numpy, tests/metrics/run. */
#include "evaluate/details.h"

#include <math.h>
#include <stdlib.h>

const double tnp_quantile_levels[TNP_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of sorted values. */
static double quantile(const double *values, size_t count, double level)
{
    double at = level * (double)(count - 1);
    size_t low = (size_t)at;
    double part = at - (double)low;
    return low + 1 < count ? values[low] + part * (values[low + 1] - values[low]) : values[count - 1];
}

static double correlation_of(const tn_details *d, tn_view scores, size_t c)
{
    const size_t classes = d->labels->classes;
    double n = (double)d->rows, sum_y = 0, sum_p = 0, yy = 0, pp = 0, yp = 0;
    for (size_t i = 0; i < d->labels->rows; ++i)
        if (d->scored[i]) {
            sum_y += d->labels->values[i * classes + c];
            sum_p += (double)scores.data[i * scores.stride + c];
        }
    for (size_t i = 0; i < d->labels->rows; ++i)
        if (d->scored[i]) {
            double y = d->labels->values[i * classes + c] - sum_y / n;
            double p = (double)scores.data[i * scores.stride + c] - sum_p / n;
            yy += y * y;
            pp += p * p;
            yp += y * p;
        }
    return yy > 0 && pp > 0 ? yp / (sqrt(yy) * sqrt(pp)) : (double)NAN;
}

/* r: (rows) scratch. */
static void fill_output(const tn_details *d, tn_view scores, size_t c, double *r)
{
    tnp_residuals *out = &d->residuals[c];
    size_t n = 0;
    double sum = 0, squares = 0, sizes = 0;
    for (size_t i = 0; i < d->labels->rows; ++i)
        if (d->scored[i])
            r[n++] = d->labels->values[i * d->labels->classes + c] - (double)scores.data[i * scores.stride + c];
    qsort(r, n, sizeof *r, ascending);
    for (size_t i = 0; i < n; ++i) {
        sum += r[i];
        sizes += fabs(r[i]);
    }
    out->mean = sum / (double)n;
    out->mean_absolute = sizes / (double)n;
    out->low = r[0];
    out->high = r[n - 1];
    const double width = out->high - out->low;
    for (size_t i = 0; i < n; ++i) {
        squares += (r[i] - out->mean) * (r[i] - out->mean);
        double place = width > 0 ? (r[i] - out->low) / width * TNP_HIST : 0;
        ++out->bars[tnp_min((size_t)place, TNP_HIST - 1)];
    }
    out->sd = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
    out->correlation = correlation_of(d, scores, c);
    for (size_t q = 0; q < TNP_QUANTILES; ++q)
        out->quantiles[q] = quantile(r, n, tnp_quantile_levels[q]);
}

tn_status tnp_details_residuals(tn_ctx *ctx, tn_details *d, tn_view scores)
{
    tn_status st = TN_OK;
    double *r = NULL;
    TN_TRY(tnp_alloc(ctx, d->labels->classes, sizeof *d->residuals, &d->residuals));
    TN_TRY(tnp_alloc(ctx, d->rows, sizeof *r, &r));
    for (size_t c = 0; c < d->labels->classes; ++c)
        fill_output(d, scores, c, r);
done:
    tnp_free(r);
    return st;
}
