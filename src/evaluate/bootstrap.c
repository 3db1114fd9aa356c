/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap of the scored rows: N rows drawn with replacement, `resamples` times (Efron 1979). weights[i, b] is how
 * often row i was drawn; every figure is computed again with the rows counted so often.
 *
 *   interval   figure -+ 1.96 se, se the standard deviation over the resamples, cut to where the figure can be.
 *              Percentiles were refused: a row drawn twice ties with itself, and average precisions of resamples lie
 *              above that of the rows.
 *              Accuracy and top 5 of multi-class rows are shares of independent rows: Wilson's interval.
 *
 * The same seed draws the same rows for whatever scores: two heads can be compared resample by resample. A sample of
 * rows x classes beyond WORK is drawn less often, down to LEAST: the se is then known to 1 / sqrt(2 LEAST).
 * Ranking metrics are in curves.c. Oracle: tests/metrics/run, which draws for itself and compares the se. */
#include "evaluate/details.h"

#include <math.h>
#include <string.h>

enum { LEAST = 100, MOST_BYTES = 1 << 28 };
static const double work_most = 4e9, z = 1.959963984540054;

typedef struct job {
    tn_view scores;
    const double *thresholds;
    const tn_details *d;
    uint32_t *counts; /* (classes, 3, resamples): hits, predicted, support */
} job;

/* ---- the draws ---- */

static size_t limited(const tn_details *d, size_t wanted)
{
    const double pairs = (double)d->rows * (double)d->labels->classes;
    size_t most = (size_t)fmax(LEAST, work_most / pairs);
    most = tnp_min(most, tnp_max(1, MOST_BYTES / d->labels->rows));
    return tnp_min(wanted, most);
}

tn_status tnp_bootstrap_draw(tn_ctx *ctx, tn_details *d, size_t wanted, uint64_t seed)
{
    tn_status st = TN_OK;
    size_t *rows = NULL, count = 0;
    d->resamples = limited(d, wanted);
    TN_TRY(tnp_alloc(ctx, tnp_max(1, d->labels->rows * d->resamples), 1, &d->weights));
    TN_TRY(tnp_alloc(ctx, TNP_FIGURES * d->resamples, sizeof *d->values, &d->values));
    TN_TRY(tnp_alloc(ctx, d->rows, sizeof *rows, &rows));
    for (size_t i = 0; i < TNP_FIGURES * d->resamples; ++i)
        d->values[i] = (double)NAN;
    for (size_t i = 0; i < d->labels->rows; ++i)
        if (d->scored[i])
            rows[count++] = i;
    for (size_t b = 0; b < d->resamples; ++b) {
        tnp_rng rng;
        tnp_rng_init(&rng, seed, b);
        for (size_t k = 0; k < count; ++k) {
            uint8_t *weight = &d->weights[rows[tnp_rng_below(&rng, count)] * d->resamples + b];
            *weight = (uint8_t)(*weight + (*weight < UINT8_MAX));
        }
    }
done:
    tnp_free(rows);
    return st;
}

static double *values_of(const tn_details *d, size_t figure)
{
    return d->values + figure * d->resamples;
}

/* ---- decisions ---- */

static void add_weights(uint32_t *restrict sum, const uint8_t *restrict weight, size_t count)
{
    for (size_t b = 0; b < count; ++b)
        sum[b] += weight[b];
}

static uint32_t *counts_of(const job *work, size_t c, size_t which)
{
    return work->counts + (3 * c + which) * work->d->resamples;
}

static void count_multiclass(const job *work)
{
    const tn_details *d = work->d;
    for (size_t i = 0; i < d->labels->rows; ++i) {
        if (!d->scored[i])
            continue;
        const uint8_t *weight = d->weights + i * d->resamples;
        size_t y = d->labels->cls[d->labels->first[i]];
        add_weights(counts_of(work, d->predicted[i], 1), weight, d->resamples);
        add_weights(counts_of(work, y, 2), weight, d->resamples);
        if (d->predicted[i] == y)
            add_weights(counts_of(work, y, 0), weight, d->resamples);
    }
}

static void count_label(void *arg, size_t c)
{
    const job *work = arg;
    const tn_details *d = work->d;
    for (size_t i = 0; i < d->labels->rows; ++i) {
        if (!d->scored[i])
            continue;
        const uint8_t *weight = d->weights + i * d->resamples;
        bool there = tnp_metrics_has(d->labels, i, c);
        bool yes = (double)work->scores.data[i * work->scores.stride + c] > work->thresholds[c];
        if (yes)
            add_weights(counts_of(work, c, 1), weight, d->resamples);
        if (there)
            add_weights(counts_of(work, c, 2), weight, d->resamples);
        if (yes && there)
            add_weights(counts_of(work, c, 0), weight, d->resamples);
    }
}

/* Sums over the classes of one resample. */
typedef struct sums {
    double occurring, balanced_count, balanced, right, precision, recall, f1;
} sums;

static void add_class(const job *work, size_t c, size_t b, sums *sum)
{
    const double rows = (double)work->d->rows, hits = counts_of(work, c, 0)[b], predicted = counts_of(work, c, 1)[b],
                 support = counts_of(work, c, 2)[b];
    const bool one = work->d->labels->task == TN_TASK_MULTICLASS;
    sum->right += one ? hits : rows - predicted - support + 2 * hits;
    if (support > 0 && (one || support < rows)) {
        double no = one ? 0 : (rows - support - predicted + hits) / (rows - support);
        sum->balanced_count += 1;
        sum->balanced += one ? hits / support : (hits / support + no) / 2;
    }
    if (predicted + support == 0)
        return;
    sum->occurring += 1;
    sum->precision += predicted > 0 ? hits / predicted : 0;
    sum->recall += support > 0 ? hits / support : 0;
    sum->f1 += 2 * hits / (predicted + support);
}

static void take_figures(const job *work, size_t b)
{
    const tn_details *d = work->d;
    const bool one = d->labels->task == TN_TASK_MULTICLASS;
    const double decisions = (double)d->rows * (one ? 1 : (double)d->labels->classes);
    sums sum = {0};
    for (size_t c = 0; c < d->labels->classes; ++c)
        add_class(work, c, b, &sum);
    double balanced = sum.balanced_count > 0 ? sum.balanced / sum.balanced_count : (double)NAN;
    double occurring = sum.occurring > 0 ? sum.occurring : (double)NAN;
    values_of(d, TNP_CV_ACCURACY)[b] = sum.right / decisions;
    values_of(d, TNP_CV_BALANCED)[b] = balanced;
    if (one)
        values_of(d, TNP_CV_MEAN_CLASS)[b] = balanced;
    values_of(d, TNP_FIGURE_PRECISION)[b] = sum.precision / occurring;
    values_of(d, TNP_FIGURE_RECALL)[b] = sum.recall / occurring;
    values_of(d, TNP_FIGURE_F1)[b] = sum.f1 / occurring;
}

static void take_top5(const tn_details *d)
{
    double *values = values_of(d, TNP_CV_TOP5);
    for (size_t b = 0; b < d->resamples; ++b)
        values[b] = 0;
    for (size_t i = 0; i < d->labels->rows; ++i)
        for (size_t b = 0; d->scored[i] && d->place[i] < 5 && b < d->resamples; ++b)
            values[b] += (double)d->weights[i * d->resamples + b] / (double)d->rows;
}

static tn_status bootstrap_decisions(tn_ctx *ctx, job *work)
{
    tn_status st = TN_OK;
    const tn_details *d = work->d;
    size_t classes = d->labels->classes;
    TN_TRY(tnp_alloc(ctx, 3 * classes * d->resamples, sizeof *work->counts, &work->counts));
    if (d->labels->task == TN_TASK_MULTICLASS) {
        count_multiclass(work);
        if (classes > 5)
            take_top5(d);
    } else {
        double flops = 3 * (double)d->rows * (double)classes * (double)d->resamples;
        tnp_parallel(ctx, tnp_threads_for(ctx, flops), classes, count_label, work);
    }
    for (size_t b = 0; b < d->resamples; ++b)
        take_figures(work, b);
done:
    tnp_free(work->counts);
    return st;
}

/* ---- regression ---- */

/* r2 of a target that does not change is 1 without an error, else 0, as in metrics.c. */
static void regress(const tn_details *d, tn_view scores, size_t c, size_t b, double centre)
{
    const size_t outputs = d->labels->classes;
    double sum = 0, squares = 0, error = 0, least = INFINITY, largest = -INFINITY, rows = (double)d->rows;
    for (size_t i = 0; i < d->labels->rows; ++i) {
        double w = d->weights[i * d->resamples + b];
        if (w == 0)
            continue;
        double y = d->labels->values[i * outputs + c] - centre;
        double e = y + centre - (double)scores.data[i * scores.stride + c];
        sum += w * y;
        squares += w * y * y;
        error += w * e * e;
        least = fmin(least, y);
        largest = fmax(largest, y);
    }
    double spread = squares - sum * sum / rows;
    double r2 = least < largest && spread > 0 ? 1 - error / spread : error == 0 ? 1 : 0;
    values_of(d, TNP_CV_MSE)[b] += error / rows / (double)outputs;
    values_of(d, TNP_CV_R2)[b] += r2 / (double)outputs;
}

static void bootstrap_regression(const tn_details *d, tn_view scores)
{
    for (size_t b = 0; b < d->resamples; ++b)
        values_of(d, TNP_CV_MSE)[b] = values_of(d, TNP_CV_R2)[b] = 0;
    for (size_t c = 0; c < d->labels->classes; ++c) {
        double centre = 0; /* sums of squares of y itself would cancel where its mean is large */
        for (size_t i = 0; i < d->labels->rows; ++i)
            centre += d->scored[i] ? d->labels->values[i * d->labels->classes + c] / (double)d->rows : 0;
        for (size_t b = 0; b < d->resamples; ++b)
            regress(d, scores, c, b, centre);
    }
}

tn_status tnp_bootstrap_scores(tn_ctx *ctx, tn_details *d, tn_view scores, const double *thresholds)
{
    job work = {.scores = scores, .thresholds = thresholds, .d = d};
    tn_status st = tnp_progress(ctx, "intervals", 0, 1);
    if (st != TN_OK || d->resamples == 0)
        return st;
    if (d->labels->task != TN_TASK_REGRESSION)
        return bootstrap_decisions(ctx, &work);
    bootstrap_regression(d, scores);
    return TN_OK;
}

/* ---- probabilities ---- */

tn_status tnp_bootstrap_probabilities(tn_ctx *ctx, tn_details *d, tn_view probabilities)
{
    tn_status st = TN_OK;
    double *apart = NULL, *loss = values_of(d, TNP_CV_NLL), *ece = values_of(d, TNP_CV_ECE);
    const size_t count = d->resamples;
    TN_TRY(tnp_alloc(ctx, TNP_BINS * count, sizeof *apart, &apart));
    for (size_t b = 0; b < count; ++b)
        loss[b] = ece[b] = 0;
    for (size_t i = 0; i < d->labels->rows; ++i) {
        double row_loss, row_apart[TNP_BINS];
        if (!d->scored[i])
            continue;
        const uint8_t *weight = d->weights + i * count;
        tnp_probability_row(probabilities, d->labels, i, &row_loss, row_apart);
        for (size_t b = 0; b < count; ++b)
            loss[b] += weight[b] * row_loss / (double)d->rows;
        for (size_t bin = 0; bin < TNP_BINS; ++bin)
            for (size_t b = 0; row_apart[bin] != 0 && b < count; ++b)
                apart[bin * count + b] += weight[b] * row_apart[bin];
    }
    for (size_t bin = 0; bin < TNP_BINS; ++bin)
        for (size_t b = 0; b < count; ++b)
            ece[b] += fabs(apart[bin * count + b]) / (double)d->rows;
done:
    tnp_free(apart);
    return st;
}

/* ---- intervals ---- */

double tnp_deviation(const double *values, const double *less, size_t count)
{
    double sum = 0, squares = 0, n = 0;
    for (size_t b = 0; b < count; ++b) {
        double value = values[b] - (less ? less[b] : 0);
        n += !isnan(value);
        sum += isnan(value) ? 0 : value;
    }
    for (size_t b = 0; b < count; ++b) {
        double value = values[b] - (less ? less[b] : 0) - sum / n;
        squares += isnan(value) ? 0 : value * value;
    }
    return n > 1 ? sqrt(squares / (n - 1)) : (double)NAN;
}

void tnp_bootstrap_intervals(const tn_metrics *metrics, tn_details *d)
{
    const double none = (double)NAN;
    for (size_t f = 0; f < TNP_FIGURES; ++f) {
        double value = tnp_figure_of(metrics, f), se = tnp_deviation(values_of(d, f), NULL, d->resamples);
        bool share = d->labels->task == TN_TASK_MULTICLASS && (f == TNP_CV_ACCURACY || f == TNP_CV_TOP5);
        double least = f == TNP_CV_R2 ? -INFINITY : 0, most = f == TNP_CV_MSE || f == TNP_CV_NLL ? INFINITY : 1;
        if (isnan(value) || (!share && isnan(se)))
            d->intervals[f] = (tnp_interval){none, none, none};
        else if (share)
            d->intervals[f] = tnp_wilson((size_t)llround(value * (double)d->rows), d->rows);
        else
            d->intervals[f] = (tnp_interval){fmax(least, value - z * se), fmin(most, value + z * se), se};
    }
}
