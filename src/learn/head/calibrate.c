/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Temperature scaling (Guo et al. 2017). With t = 1 / temperature,
 *
 *   multi-class   L(t) = sum_i w_i (log sum_k exp(t s_ik) - t s_iy)
 *   multi-label   L(t) = sum_i w_i sum_k log(1 + exp(-+ t (s_ik - threshold)))       - for a positive, + for a negative
 *
 * A score that is NaN takes no part: it comes from a model that could not know its class. The row whose own score is
 * NaN is left out, and so are a class of the softmax and a pair of row and label.
 *
 * Both are convex in t: Newton, kept inside a bracket of 1e-6 to 1e6 over the scores' spread. Decisions that are all
 * right have no finite optimum, and n of them do not prove that the next is certain: then one more decision is added
 * that is wrong by the mean margin m of the others, L(t) + log(1 + exp(t m)), so that probabilities claim about one
 * error in n. Adding it always was refused: where there are errors they speak for themselves. One number changes no
 * decision and no order: Platt's second parameter and isotonic maps were refused, they do. */
#include "learn/head/calibrate.h"
#include "learn/head/head.h"
#include "learn/ridge/ridge.h"
#include "simd/simd.h"

#include <math.h>

typedef struct sums {
    double value, slope, curve;
} sums;

/* The largest of the scores that take part, class `besides` left out. */
static double largest(const float *s, size_t k, size_t besides)
{
    float most = -INFINITY;
    for (size_t c = 0; c < k; ++c)
        most = c != besides && s[c] > most ? s[c] : most; /* NaN is not larger */
    return (double)most;
}

/* most: the largest of s. */
static void add_softmax(const float *s, size_t k, size_t y, double most, double t, double w, sums *out)
{
    double moment[3], own = (double)s[y] - most;
    tnp_simd_get()->softmax_moments(s, k, most, t, moment);
    double mean = moment[1] / moment[0], square = moment[2] / moment[0];
    out->value += w * (log(moment[0]) - t * own);
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
    const double *most; /* count: the largest score of each row, multi-class; NULL: not known */
    double wrong;       /* margin of the decision that is added; 0: none */
    double wrong_weight;
    tn_ctx *ctx; /* whose threads share the rows, PART at a time; NULL: by one loop */
    sums *part;
    double t;
} calibration;

enum { PART = 128 };
static const double CLOSE = 1e-5;
static const double WORK = 8; /* of an exponential and what goes with it, in flops */

static size_t row_of(const calibration *c, size_t i)
{
    return c->rows ? c->rows[i] : i;
}

static double weight_of(const calibration *c, size_t i)
{
    return c->weight ? c->weight[i] : 1;
}

/* Margin of the decision about score j of row i: above the threshold, or above the best other class. */
static double margin(const calibration *c, size_t i, size_t j)
{
    const float *s = c->scores + i * c->y->classes;
    if (c->task == TN_TASK_MULTICLASS)
        return (double)s[j] - largest(s, c->y->classes, j);
    double m = (double)s[j] - c->threshold;
    return tnp_target(c->y, row_of(c, i), j) > 0.5 ? m : -m;
}

/* Whether score j of row i is a decision that counts: of a multi-class row there is one, about its own class, if another
 * takes part. */
static bool decides(const calibration *c, size_t i, size_t j)
{
    size_t row = row_of(c, i);
    bool own = c->task == TN_TASK_MULTILABEL || c->y->cls[c->y->first[row]] == j;
    return own && weight_of(c, i) > 0 && isfinite(margin(c, i, j));
}

/* The largest score of row i where the row has a decision, else NaN. */
static double most_of(const calibration *c, size_t i)
{
    size_t k = c->y->classes, own = c->y->cls[c->y->first[row_of(c, i)]];
    return decides(c, i, own) ? largest(c->scores + i * k, k, k) : (double)NAN;
}

static size_t add_class(const calibration *c, size_t i, double t, sums *out)
{
    size_t k = c->y->classes, own = c->y->cls[c->y->first[row_of(c, i)]];
    double most = c->most ? c->most[i] : most_of(c, i);
    if (isnan(most))
        return 0;
    add_softmax(c->scores + i * k, k, own, most, t, weight_of(c, i), out);
    return 1;
}

/* Adds the decisions of row i; how many there are. */
static size_t add_row(const calibration *c, size_t i, double t, sums *out)
{
    size_t k = c->y->classes, n = 0;
    if (c->task == TN_TASK_MULTICLASS)
        return add_class(c, i, t, out);
    for (size_t j = 0; j < k; ++j)
        if (decides(c, i, j)) {
            add_logistic(margin(c, i, j), t, weight_of(c, i), out);
            ++n;
        }
    return n;
}

static void add_part(void *arg, size_t part)
{
    const calibration *c = arg;
    sums out = {0, 0, 0};
    for (size_t i = part * PART; i < tnp_min(c->count, (part + 1) * PART); ++i)
        (void)add_row(c, i, c->t, &out);
    c->part[part] = out;
}

/* Sums of the parts, in their order. */
static sums at(calibration *c, double t)
{
    sums out = {0, 0, 0};
    size_t parts = c->ctx ? (c->count + PART - 1) / PART : 0;
    c->t = t;
    if (c->ctx)
        tnp_parallel(c->ctx, tnp_threads_for(c->ctx, WORK * (double)c->count * (double)c->y->classes), parts, add_part,
                     c);
    for (size_t p = 0; p < parts; ++p) {
        out.value += c->part[p].value;
        out.slope += c->part[p].slope;
        out.curve += c->part[p].curve;
    }
    for (size_t i = 0; !c->ctx && i < c->count; ++i)
        (void)add_row(c, i, t, &out);
    if (c->wrong > 0)
        add_logistic(-c->wrong, t, c->wrong_weight, &out);
    return out;
}

/* Root mean square distance of scores from their threshold, or from the row's mean: what sets the scale of t. 0 when no
 * score takes part. */
static double spread(const calibration *c)
{
    double sum = 0, all = 0;
    size_t k = c->y->classes;
    for (size_t i = 0; i < c->count; ++i) {
        const float *s = c->scores + i * k;
        double mean = c->task == TN_TASK_MULTICLASS ? 0 : c->threshold, n = 0;
        for (size_t j = 0; j < k; ++j)
            n += !isnan(s[j]);
        for (size_t j = 0; c->task == TN_TASK_MULTICLASS && j < k; ++j)
            mean += isnan(s[j]) ? 0 : (double)s[j] / n;
        for (size_t j = 0; j < k; ++j)
            sum += isnan(s[j]) ? 0 : ((double)s[j] - mean) * ((double)s[j] - mean);
        all += n;
    }
    return all > 0 ? sqrt(sum / all) : 0;
}

/* Number, mean margin and mean weight of the decisions; whether all are right. */
static size_t survey(const calibration *c, double *mean, double *weight, bool *right)
{
    size_t n = 0, k = c->y->classes;
    *mean = *weight = 0;
    *right = true;
    for (size_t i = 0; i < c->count; ++i)
        for (size_t j = 0; j < k; ++j)
            if (decides(c, i, j)) {
                double m = margin(c, i, j);
                *right &= m > 0;
                *mean += m;
                *weight += weight_of(c, i);
                ++n;
            }
    *mean /= (double)tnp_max(n, 1);
    *weight /= (double)tnp_max(n, 1);
    return n;
}

/* The t in [1e-6, 1e6] / scale with the least loss. A step of CLOSE is the last: what it leaves is about its square. */
static double minimise(calibration *c, double scale)
{
    double low = 1e-6 / scale, high = 1e6 / scale, t = 1 / scale, width = INFINITY;
    for (int i = 0; i < 200 && high - low > 1e-9 * high; ++i) {
        sums s = at(c, t);
        if (s.slope > 0)
            high = t;
        else
            low = t;
        double next = t - s.slope / s.curve, now = log(high / low);
        if (fabs(next - t) <= CLOSE * t)
            return next;
        if (!(next > low && next < high) || (i % 4 == 3 && now > width / 2)) /* along a flat tail Newton crawls */
            next = sqrt(low * high);
        width = i % 4 == 3 ? now : width;
        t = next;
    }
    return t;
}

/* Where scores have a spread and decisions. */
static tn_status fit(tn_ctx *ctx, calibration *c, double scale, double *temperature)
{
    tn_status st = TN_OK;
    double *most = NULL;
    TN_TRY(tnp_alloc(ctx, (c->count + PART - 1) / PART, sizeof *c->part, &c->part));
    if (c->task == TN_TASK_MULTICLASS)
        TN_TRY(tnp_alloc_raw(ctx, c->count, sizeof *most, &most));
    for (size_t i = 0; most && i < c->count; ++i)
        most[i] = most_of(c, i);
    c->most = most;
    c->ctx = ctx;
    *temperature = 1 / minimise(c, scale);
done:
    tnp_free_all(most, c->part);
    return st;
}

tn_status tnp_temperature_fit(tn_ctx *ctx, const tnp_targets *y, tn_task task, double threshold, const size_t *rows,
                              size_t count, const double *weight, const float *scores, double *temperature)
{
    calibration c = {
        .y = y, .task = task, .threshold = threshold, .rows = rows, .count = count, .weight = weight, .scores = scores};
    double scale = spread(&c), mean, typical;
    bool right;
    if (task == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "calibration: a regression has no probabilities");
    if (survey(&c, &mean, &typical, &right) == 0) { /* nothing to go by */
        *temperature = 0;
        return TN_OK;
    }
    if (!(scale > 0) || !isfinite(scale)) { /* all scores equal: any temperature gives the same probabilities */
        *temperature = 1;
        return TN_OK;
    }
    if (right) {
        c.wrong = mean;
        c.wrong_weight = typical;
    }
    return fit(ctx, &c, scale, temperature);
}

void tnp_temperature_losses(const tnp_targets *y, tn_task task, double threshold, const size_t *rows, size_t count,
                            const float *scores, double temperature, double *loss)
{
    calibration c = {.y = y, .task = task, .threshold = threshold, .rows = rows, .count = count, .scores = scores};
    for (size_t i = 0; i < count; ++i) {
        sums row = {0, 0, 0};
        size_t n = add_row(&c, i, 1 / temperature, &row);
        loss[i] = n > 0 ? row.value / (double)n : (double)NAN;
    }
}

double tnp_log_loss(const tnp_targets *y, tn_task task, double threshold, const size_t *rows, size_t count,
                    const double *weight, const float *scores, double temperature)
{
    calibration c = {
        .y = y, .task = task, .threshold = threshold, .rows = rows, .count = count, .weight = weight, .scores = scores};
    double mean, typical;
    bool right;
    size_t n = survey(&c, &mean, &typical, &right);
    return n > 0 ? at(&c, 1 / temperature).value / ((double)n * typical) : (double)NAN;
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
        return tnp_fail(ctx, TN_ERR_UNSUPPORTED, "the head has no probabilities: fit it with option calibrate yes");
    for (size_t i = 0; i < rows; ++i) {
        if (head->task == TN_TASK_MULTICLASS)
            softmax_row(scores + i * k, k, t);
        for (size_t c = 0; head->task == TN_TASK_MULTILABEL && c < k; ++c)
            scores[i * k + c] = (float)(1 / (1 + exp(-((double)scores[i * k + c] - head->threshold) / t)));
    }
    return TN_OK;
}
