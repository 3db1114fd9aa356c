/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stands behind the metrics of a classification: the decision of every row, and what can be counted of them.
 *
 *   multi-class   predicted[i] = arg max_c s[i,c], ties to the lower index; cells: #{i : y_i = t, predicted[i] = p}
 *                 top[k-1] = #{place < k} / N, place as in metrics.c
 *   multi-label   class c is predicted for row i when s[i,c] > thresholds[c]
 *   per class     hits, predicted, support;  precision = hits / predicted   recall = hits / support
 *                 f1 = 2 hits / (predicted + support)
 *   micro         of the sums over classes; macro: mean over the classes that occur in truth or decisions, a figure
 *                 without denominator counting 0; weighted: mean by support. As scikit-learn with zero_division = 0.
 *
 * The confusion matrix is a list of its cells that are not 0: K^2 numbers for N rows would be mostly zeros.
 * Wilson's interval: (p + z^2/2n +- z sqrt(p (1-p) / n + z^2/4n^2)) / (1 + z^2/n), z the normal 97.5 % point; the
 * usual p +- z se has no width at p = 1 and is far too narrow for classes of few rows.
 * Oracle: scikit-learn on random problems, tests/metrics/run; tests/unit/test_details.c by hand. */
#include "evaluate/details.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 };

typedef struct job {
    tn_view scores;
    const double *thresholds;
    tn_details *out;
} job;

const char *tnp_figure_name(size_t figure)
{
    static const char *const names[] = {"macro_precision", "macro_recall", "macro_f1"};
    return figure < TNP_CV_METRICS ? tnp_cv_metrics[figure].name : names[figure - TNP_CV_METRICS];
}

double tnp_figure_of(const tn_metrics *metrics, size_t figure)
{
    if (figure < TNP_CV_METRICS)
        return *(const double *)(const void *)((const char *)metrics + tnp_cv_metrics[figure].offset);
    const double macro[] = {metrics->details->macro.precision, metrics->details->macro.recall,
                            metrics->details->macro.f1};
    return macro[figure - TNP_CV_METRICS];
}

tnp_interval tnp_wilson(size_t hits, size_t count)
{
    static const double z = 1.959963984540054;
    const double none = (double)NAN;
    if (count == 0)
        return (tnp_interval){none, none, none};
    double n = (double)count, p = (double)hits / n, wide = z * z / n;
    double centre = (p + wide / 2) / (1 + wide);
    double half = z * sqrt(p * (1 - p) / n + wide / (4 * n)) / (1 + wide);
    return (tnp_interval){fmax(0, centre - half), fmin(1, centre + half), none};
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

tnp_prf tnp_prf_of(const tnp_tally *t)
{
    return (tnp_prf){ratio((double)t->hits, (double)t->predicted), ratio((double)t->hits, (double)t->support),
                     ratio(2 * (double)t->hits, (double)(t->predicted + t->support))};
}

/* ---- decisions ---- */

static void decide_row(const job *work, size_t i)
{
    tn_details *d = work->out;
    const float *row = work->scores.data + i * work->scores.stride;
    const size_t classes = work->scores.cols, y = d->labels->cls[d->labels->first[i]];
    size_t best = 0;
    uint32_t before = 0;
    for (size_t c = 1; c < classes; ++c)
        if (row[c] > row[best])
            best = c;
    float second = -INFINITY;
    for (size_t c = 0; c < classes; ++c) {
        before += c < y ? row[c] >= row[y] : row[c] > row[y];
        if (c != best)
            second = fmaxf(second, row[c]);
    }
    d->predicted[i] = (uint32_t)best;
    d->confidence[i] = classes > 1 ? row[best] - second : 0;
    d->place[i] = before;
}

static void decide_rows(void *arg, size_t b)
{
    const job *work = arg;
    const tn_details *d = work->out;
    size_t end = tnp_min((b + 1) * BLOCK, d->labels->rows);
    for (size_t i = b * BLOCK; i < end; ++i)
        if (d->scored[i])
            decide_row(work, i);
}

static int by_cell(const void *a, const void *b)
{
    const tnp_cell *x = a, *y = b;
    if (x->truth != y->truth)
        return x->truth < y->truth ? -1 : 1;
    return x->predicted < y->predicted ? -1 : x->predicted > y->predicted;
}

/* One cell per row, sorted, equal ones put together. */
static tn_status fill_cells(tn_ctx *ctx, tn_details *d)
{
    const tn_labels *labels = d->labels;
    tnp_cell *cells = NULL;
    tn_status st = tnp_alloc(ctx, d->rows, sizeof *cells, &cells);
    if (st != TN_OK)
        return st;
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < labels->rows; ++i)
        if (d->scored[i])
            cells[count++] = (tnp_cell){labels->cls[labels->first[i]], d->predicted[i], 1};
    qsort(cells, count, sizeof *cells, by_cell);
    for (size_t i = 0; i < count; ++i) {
        if (kept > 0 && by_cell(&cells[kept - 1], &cells[i]) == 0)
            ++cells[kept - 1].count;
        else
            cells[kept++] = cells[i];
    }
    d->cells = cells;
    d->cell_count = kept;
    return TN_OK;
}

static void count_top(tn_details *d)
{
    size_t within[TNP_TOP] = {0};
    d->top_count = tnp_min(TNP_TOP, d->labels->classes);
    for (size_t i = 0; i < d->labels->rows; ++i)
        if (d->scored[i] && d->place[i] < d->top_count)
            ++within[d->place[i]];
    size_t sum = 0;
    for (size_t k = 0; k < d->top_count; ++k) {
        sum += within[k];
        d->top[k] = (double)sum / (double)d->rows;
    }
}

static tn_status decide_multiclass(tn_ctx *ctx, job *work)
{
    tn_status st = TN_OK;
    tn_details *d = work->out;
    const tn_labels *labels = d->labels;
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *d->predicted, &d->predicted));
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *d->confidence, &d->confidence));
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *d->place, &d->place));
    size_t threads = tnp_threads_for(ctx, 4 * (double)labels->rows * (double)labels->classes);
    tnp_parallel(ctx, threads, (labels->rows + BLOCK - 1) / BLOCK, decide_rows, work);
    TN_TRY(fill_cells(ctx, d));
    for (size_t i = 0; i < d->cell_count; ++i) {
        const tnp_cell *cell = &d->cells[i];
        d->tallies[cell->truth].support += cell->count;
        d->tallies[cell->predicted].predicted += cell->count;
        d->tallies[cell->truth].hits += cell->truth == cell->predicted ? cell->count : 0;
    }
    count_top(d);
done:
    return st;
}

static void decide_multilabel(const job *work)
{
    tn_details *d = work->out;
    const tn_labels *labels = d->labels;
    for (size_t i = 0; i < labels->rows; ++i) {
        const float *row = work->scores.data + i * work->scores.stride;
        size_t at = labels->first[i], end = labels->first[i + 1];
        for (size_t c = 0; d->scored[i] && c < labels->classes; ++c) {
            bool there = at < end && labels->cls[at] == c, yes = (double)row[c] > work->thresholds[c];
            at += there;
            d->tallies[c].support += there;
            d->tallies[c].predicted += yes;
            d->tallies[c].hits += there && yes;
        }
    }
}

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static void add_prf(tnp_prf *sum, tnp_prf value, double weight)
{
    sum->precision += weight * or_zero(value.precision);
    sum->recall += weight * or_zero(value.recall);
    sum->f1 += weight * or_zero(value.f1);
}

static void take_averages(tn_details *d)
{
    tnp_tally all = {0, 0, 0};
    tnp_prf macro = {0, 0, 0}, weighted = {0, 0, 0};
    double occurring = 0;
    for (size_t c = 0; c < d->labels->classes; ++c) {
        const tnp_tally *t = &d->tallies[c];
        all = (tnp_tally){all.hits + t->hits, all.predicted + t->predicted, all.support + t->support};
        if (t->predicted + t->support == 0)
            continue;
        occurring += 1;
        add_prf(&macro, tnp_prf_of(t), 1);
        add_prf(&weighted, tnp_prf_of(t), (double)t->support);
    }
    const double support = (double)all.support;
    d->micro = tnp_prf_of(&all);
    d->macro = (tnp_prf){ratio(macro.precision, occurring), ratio(macro.recall, occurring), ratio(macro.f1, occurring)};
    d->weighted =
        (tnp_prf){ratio(weighted.precision, support), ratio(weighted.recall, support), ratio(weighted.f1, support)};
}

/* ---- the door ---- */

static tn_status mark_scored(tn_ctx *ctx, tn_details *d)
{
    tn_status st = tnp_alloc(ctx, d->labels->rows, sizeof *d->scored, &d->scored);
    for (size_t i = 0; st == TN_OK && i < d->labels->rows; ++i) {
        d->scored[i] = tnp_metrics_counts(d->labels, i);
        d->rows += d->scored[i];
    }
    return st;
}

static tn_status fill(tn_ctx *ctx, tn_details *d, tn_view scores, const double *thresholds)
{
    tn_status st = TN_OK;
    job work = {.scores = scores, .thresholds = thresholds, .out = d};
    if (d->labels->task == TN_TASK_REGRESSION)
        return tnp_details_residuals(ctx, d, scores);
    TN_TRY(tnp_alloc(ctx, d->labels->classes, sizeof *d->tallies, &d->tallies));
    if (d->labels->task == TN_TASK_MULTICLASS)
        TN_TRY(decide_multiclass(ctx, &work));
    else
        decide_multilabel(&work);
    take_averages(d);
done:
    return st;
}

static tn_status check(tn_ctx *ctx, const tn_metrics *metrics, tn_view scores, const tn_labels *labels,
                       const double *thresholds)
{
    const bool need = labels->task == TN_TASK_MULTILABEL;
    if (need && !thresholds)
        return tnp_fail(ctx, TN_ERR_ARG, "evaluate: several labels per row need a threshold per class");
    if (metrics->task != labels->task || metrics->classes != labels->classes)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "evaluate: metrics of %zu classes, labels of %zu; expected those of the metrics",
                        metrics->classes, labels->classes);
    for (size_t c = 0; c < (need ? labels->classes : 1); ++c) {
        tn_status st = tnp_metrics_check(ctx, scores, labels, need ? thresholds[c] : 0);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

tn_status tn_metrics_detail(tn_ctx *ctx, tn_metrics *metrics, tn_view scores, const tn_labels *labels,
                            const double *thresholds, size_t resamples, uint64_t seed)
{
    tn_status st = TN_OK;
    tn_details *d = NULL;
    TN_TRY(check(ctx, metrics, scores, labels, thresholds));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *d, &d));
    d->labels = labels;
    TN_TRY(mark_scored(ctx, d));
    if (d->rows != metrics->rows)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "evaluate: metrics of %zu rows, labels of %zu; expected those of the metrics",
                        metrics->rows, d->rows));
    TN_TRY(fill(ctx, d, scores, thresholds));
    TN_TRY(tnp_bootstrap_draw(ctx, d, resamples, seed));
    TN_TRY(tnp_bootstrap_scores(ctx, d, scores, thresholds));
    if (labels->task != TN_TASK_REGRESSION)
        TN_TRY(tnp_details_curves(ctx, d, scores));
    tnp_details_free(metrics->details);
    metrics->details = d;
    tnp_bootstrap_intervals(metrics, d);
    d = NULL;
done:
    tnp_details_free(d);
    return st;
}

tn_status tn_metrics_probabilities(tn_ctx *ctx, tn_metrics *metrics, tn_view probabilities, const tn_labels *labels)
{
    tn_status st = TN_OK;
    tn_details *d = metrics->details;
    TN_TRY(tnp_probability_bins(ctx, probabilities, labels, &metrics->nll, &metrics->ece, d ? d->bins : NULL));
    if (!d)
        return TN_OK;
    d->has_probabilities = true;
    for (size_t i = 0; d->confidence && i < labels->rows; ++i)
        if (d->scored[i])
            d->confidence[i] = probabilities.data[i * probabilities.stride + d->predicted[i]];
    TN_TRY(tnp_bootstrap_probabilities(ctx, d, probabilities));
    tnp_bootstrap_intervals(metrics, d);
done:
    return st;
}

void tnp_details_free(tn_details *d)
{
    if (!d)
        return;
    if (d->comparison)
        tnp_free(d->comparison->name);
    tnp_free_all(d->scored, d->predicted, d->place, d->confidence, d->cells, d->tallies, d->roc, d->pr, d->residuals,
                 d->weights, d->values, d->comparison, d);
}
