/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The grid of C that a path along it has where none is given (path.c tells what it goes by). Oracle: the formula, in
 * tests/unit/test_path.c. */
#include "learn/head/path.h"

#include <math.h>

enum { STEPS = 11, SAMPLE = 4096 };
static const double FIRST = 0.01; /* of C s^2 */

/* Mean |x - mean|^2 over a sample of rows, which is rounded to a third of itself anyway. */
static tn_status spread(tn_ctx *ctx, const tnp_linear *l, double *out)
{
    tn_status st = TN_OK;
    const float *x = NULL;
    float *kept = NULL;
    size_t ld = 0, stride = (l->rows.rows + SAMPLE - 1) / SAMPLE, n = (l->rows.rows + stride - 1) / stride;
    TN_TRY(l->rows.ops->sample(ctx, l->rows.self, stride, &x, &ld, &kept));
    TN_TRY(tnp_spread(ctx, x, ld, n, l->rows.dim, l->bias, out));
done:
    tnp_free(kept);
    return st;
}

tn_status tnp_path_scale(tn_ctx *ctx, const tnp_linear *l, double *scale)
{
    double weight = 0, n = (double)l->task->y.rows;
    tn_status st = spread(ctx, l, scale);
    for (size_t i = 0; l->row_weight && i < l->task->y.rows; ++i)
        weight += (double)l->row_weight[i] / n;
    *scale *= l->row_weight ? weight : 1;
    *scale /= l->options->mean_cost ? n : 1;
    *scale = st == TN_OK && *scale > 0 && isfinite(*scale) ? *scale : 1;
    return st;
}

double tnp_rung(int i)
{
    int tens = (i - (i & 1)) / 2;
    double digit = i & 1 ? 3 : 1;
    return tens < 0 ? digit / pow(10, -tens) : digit * pow(10, tens);
}

int tnp_rung_below(double c)
{
    int i = (int)(2 * floor(log10(c))) - 1;
    while (tnp_rung(i + 1) <= c * (1 + 1e-9))
        ++i;
    return i;
}

/* The rung that is nearest to c, by its logarithm. */
static double nearest_rung(double c)
{
    double below = tnp_rung(tnp_rung_below(c)), above = tnp_rung(tnp_rung_below(c) + 1);
    return c / below < above / c ? below : above;
}

tn_status tnp_cross_found(tn_ctx *ctx, const tnp_linear *l, size_t folds, tnp_cross **out)
{
    tn_status st = TN_OK;
    tnp_cross *c = NULL;
    double scale;
    TN_TRY(tnp_path_scale(ctx, l, &scale));
    int lowest = tnp_rung_below(fmax(TNP_LOWEST_SCALED / scale, TNP_LEAST_COST)),
        highest = tnp_rung_below(fmin(TNP_HIGHEST_SCALED / scale, TNP_MOST_COST));
    int first = tnp_rung_below(fmin(fmax(FIRST / scale, TNP_LEAST_COST), TNP_MOST_COST));
    int last = first + STEPS - 1 < highest ? first + STEPS - 1 : highest;
    lowest = lowest < first ? lowest : first;
    last = last > first ? last : first;
    TN_TRY(tnp_cross_sized(ctx, (size_t)((highest > last ? highest : last) - lowest + 1), folds, &c));
    for (int i = first; i <= last; ++i)
        c->grid[c->count++] = fmax(tnp_rung(i), TNP_LEAST_COST);
    c->planned = c->count;
    c->scale = scale;
    c->usual = nearest_rung((l->logistic ? TNP_USUAL_LOGISTIC : TNP_USUAL_SVM) / scale);
    *out = c;
done:
    return st;
}
