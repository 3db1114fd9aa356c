/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Temperature scaling (Guo et al. 2017). With t = 1 / temperature,
 *
 *   multi-class   L(t) = sum_i w_i (log sum_k exp(t s_ik) - t s_iy)
 *   multi-label   L(t) = sum_i w_i sum_k log(1 + exp(-+ t (s_ik - threshold)))       - for a positive, + for a negative
 *
 * Both are convex in t: Newton, kept inside a bracket. Scores that separate the classes perfectly have no finite optimum; t
 * then ends at the bracket's end, 1e6 over the scores' spread. One number changes no decision and no order: Platt's second
 * parameter and isotonic maps were refused, they do. */
#include "learn/calibrate.h"
#include "learn/head.h"
#include "learn/ridge.h"

#include <math.h>

typedef struct sums {
    double value, slope, curve;
} sums;

static void add_softmax(const float *s, size_t k, size_t y, double t, double w, sums *out)
{
    double most = (double)s[0], total = 0, mean = 0, square = 0;
    for (size_t c = 1; c < k; ++c)
        most = fmax(most, (double)s[c]);
    for (size_t c = 0; c < k; ++c) {
        double d = (double)s[c] - most, p = exp(t * d);
        total += p;
        mean += p * d;
        square += p * d * d;
    }
    mean /= total;
    square /= total;
    double own = (double)s[y] - most;
    out->value += w * (log(total) - t * own);
    out->slope += w * (mean - own);
    out->curve += w * (square - mean * mean);
}

/* m: the margin of a decision, positive when right. */
static void add_logistic(double m, double t, double w, sums *out)
{
    double q = 1 / (1 + exp(t * m));
    out->value += w * (t * m > 0 ? log1p(exp(-t * m)) : -t * m + log1p(exp(t * m)));
    out->slope -= w * q * m;
    out->curve += w * q * (1 - q) * m * m;
}

typedef struct calibration {
    const tnp_targets *y;
    tn_task task;
    double threshold;
    const size_t *rows;
    size_t count;
    const double *weight;
    const float *scores;
} calibration;

static sums at(const calibration *c, double t)
{
    sums out = {0, 0, 0};
    size_t k = c->y->classes;
    for (size_t i = 0; i < c->count; ++i) {
        size_t row = c->rows ? c->rows[i] : i;
        double w = c->weight ? c->weight[i] : 1;
        const float *s = c->scores + i * k;
        if (c->task == TN_TASK_MULTICLASS)
            add_softmax(s, k, c->y->cls[c->y->first[row]], t, w, &out);
        for (size_t j = 0; c->task == TN_TASK_MULTILABEL && j < k; ++j) {
            double m = (double)s[j] - c->threshold;
            add_logistic(tnp_target(c->y, row, j) > 0.5 ? m : -m, t, w, &out);
        }
    }
    return out;
}

/* Root mean square distance of scores from their threshold, or from the row's mean: what sets the scale of t. */
static double spread(const calibration *c)
{
    double sum = 0;
    size_t k = c->y->classes;
    for (size_t i = 0; i < c->count; ++i) {
        double mean = c->threshold;
        for (size_t j = 0; c->task == TN_TASK_MULTICLASS && j < k; ++j)
            mean = (j ? mean : 0) + (double)c->scores[i * k + j] / (double)k;
        for (size_t j = 0; j < k; ++j)
            sum += ((double)c->scores[i * k + j] - mean) * ((double)c->scores[i * k + j] - mean);
    }
    return sqrt(sum / ((double)c->count * (double)k));
}

tn_status tnp_temperature_fit(tn_ctx *ctx, const tnp_targets *y, tn_task task, double threshold, const size_t *rows,
                              size_t count, const double *weight, const float *scores, double *temperature)
{
    calibration c = {y, task, threshold, rows, count, weight, scores};
    double scale = spread(&c);
    if (task == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "calibration: a regression has no probabilities");
    if (!(scale > 0) || !isfinite(scale)) { /* all scores equal: any temperature gives the same probabilities */
        *temperature = 1;
        return TN_OK;
    }
    double low = 1e-6 / scale, high = 1e6 / scale, t = 1 / scale, width = INFINITY;
    for (int i = 0; i < 200 && high - low > 1e-9 * high; ++i) {
        sums s = at(&c, t);
        if (s.slope > 0)
            high = t;
        else
            low = t;
        double next = t - s.slope / s.curve, now = log(high / low);
        if (!(next > low && next < high) || (i % 4 == 3 && now > width / 2)) /* along a flat tail Newton crawls */
            next = sqrt(low * high);
        width = i % 4 == 3 ? now : width;
        if (fabs(next - t) <= 1e-9 * t)
            break;
        t = next;
    }
    *temperature = 1 / t;
    return TN_OK;
}

double tn_head_temperature(const tn_head *head)
{
    return head->temperature;
}

static void softmax_row(float *s, size_t k, double t)
{
    double most = (double)s[0], total = 0;
    for (size_t c = 1; c < k; ++c)
        most = fmax(most, (double)s[c]);
    for (size_t c = 0; c < k; ++c)
        total += exp(((double)s[c] - most) / t);
    for (size_t c = 0; c < k; ++c)
        s[c] = (float)(exp(((double)s[c] - most) / t) / total);
}

tn_status tn_head_probabilities(tn_ctx *ctx, const tn_head *head, size_t rows, float *scores)
{
    size_t k = head->classes;
    double t = head->temperature;
    if (!(t > 0))
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "the head has no probabilities: fit it with --calibrate yes");
    for (size_t i = 0; i < rows; ++i) {
        if (head->task == TN_TASK_MULTICLASS)
            softmax_row(scores + i * k, k, t);
        for (size_t c = 0; head->task == TN_TASK_MULTILABEL && c < k; ++c)
            scores[i * k + c] = (float)(1 / (1 + exp(-((double)scores[i * k + c] - head->threshold) / t)));
    }
    return TN_OK;
}
