/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Negative log-likelihood and expected calibration error of probabilities p (N, K), y the truth.
 *
 *   multi-class   N decisions: q = p[i, y_i], confidence c = max_k p[i,k], true when the arg-max is y_i
 *   multi-label   N K decisions: q = y ? p : 1 - p, confidence c = p, true when y
 *   nll = sum -log max(q, 1e-15) / decisions             1 - p counts as 2^-25 at least
 *   ece = sum_b |sum of c - number true| / decisions     over decisions with b/15 < c <= (b+1)/15, b = 0 also c = 0
 *
 * Weighting |mean c - share true| by the bin's share is the same as the last line. 15 c is exact in double, so a
 * confidence on the edge of a bin is where the definition puts it. For multi-label tasks the bins are over p and not
 * over the confidence in the decision, max(p, 1 - p): most labels are absent, and the easy noes would hide the rest.
 * 2^-25 is half the distance from 1 to the float before it: rounding to 1 must not cost as much as certainty.
 * Blocks of rows are added up in order: the same bits for every thread count.
 * Oracle: tests/ref/ref_metrics.c; scikit-learn's log_loss by tests/fixtures/make_metrics.py.
 * Guo, Pleiss, Sun, Weinberger, ICML 2017. */
#include "evaluate/details.h"

#include <math.h>

enum { BLOCK = 256, BINS = TNP_BINS };

static const double least_q = 1e-15, least_no = 0x1p-25, slack = 1e-3;

typedef struct part {
    double loss, confidence[BINS];
    size_t decisions, right[BINS], count[BINS];
    size_t bad_row, bad_col; /* bad_row: labels->rows when all is well; bad_col: classes when it is the row's sum */
} part;

typedef struct job {
    tn_view p;
    const tn_labels *labels;
    part *parts;
} job;

static void add_decision(part *sum, double q, double confidence, bool right)
{
    double edge = ceil(confidence * BINS);
    size_t bin = edge < 1 ? 0 : (size_t)edge - 1;
    sum->loss -= log(fmax(q, least_q));
    sum->confidence[bin] += confidence;
    sum->right[bin] += right;
    ++sum->count[bin];
    ++sum->decisions;
}

/* First column that holds no probability; K + 1 when there is none, K when they are but do not sum to 1. */
static size_t find_bad(const job *work, size_t i)
{
    const float *row = work->p.data + i * work->p.stride;
    double sum = 0;
    for (size_t c = 0; c < work->p.cols; ++c) {
        if (!(row[c] >= 0 && row[c] <= 1))
            return c;
        sum += (double)row[c];
    }
    bool whole = work->labels->task != TN_TASK_MULTICLASS || fabs(sum - 1) <= slack;
    return work->p.cols + whole;
}

static void add_row(const job *work, size_t i, part *sum)
{
    const tn_labels *labels = work->labels;
    const float *row = work->p.data + i * work->p.stride;
    size_t at = labels->first[i], end = labels->first[i + 1];
    if (labels->task == TN_TASK_MULTICLASS) {
        size_t best = 0, y = labels->cls[at];
        for (size_t c = 1; c < labels->classes; ++c)
            if (row[c] > row[best])
                best = c;
        add_decision(sum, (double)row[y], (double)row[best], best == y);
        return;
    }
    for (size_t c = 0; c < labels->classes; ++c) {
        double p = (double)row[c];
        bool there = at < end && labels->cls[at] == c;
        at += there;
        add_decision(sum, there ? p : fmax(1 - p, least_no), p, there);
    }
}

static void add_block(void *arg, size_t b)
{
    const job *work = arg;
    part *sum = &work->parts[b];
    size_t end = tnp_min((b + 1) * BLOCK, work->labels->rows);
    sum->bad_row = work->labels->rows;
    for (size_t i = b * BLOCK; i < end; ++i) {
        if (!tnp_metrics_counts(work->labels, i))
            continue;
        sum->bad_col = find_bad(work, i);
        if (sum->bad_col <= work->p.cols) {
            sum->bad_row = i;
            return;
        }
        add_row(work, i, sum);
    }
}

static tn_status bad_row(tn_ctx *ctx, const job *work, const part *found)
{
    const float *row = work->p.data + found->bad_row * work->p.stride;
    if (found->bad_col < work->p.cols)
        return tnp_fail(ctx, TN_ERR_DATA,
                        "evaluate: the probability at row %zu, column %zu is %g, expected a number from 0 to 1",
                        found->bad_row, found->bad_col, (double)row[found->bad_col]);
    double sum = 0;
    for (size_t c = 0; c < work->p.cols; ++c)
        sum += (double)row[c];
    return tnp_fail(ctx, TN_ERR_DATA, "evaluate: the probabilities of row %zu sum to %g, expected 1", found->bad_row,
                    sum);
}

/* All blocks into the first. */
static tn_status merge(tn_ctx *ctx, const job *work, size_t blocks)
{
    part *sum = work->parts;
    for (size_t b = 0; b < blocks; ++b) {
        const part *more = &work->parts[b];
        if (more->bad_row < work->labels->rows)
            return bad_row(ctx, work, more);
        if (b == 0)
            continue;
        sum->loss += more->loss;
        sum->decisions += more->decisions;
        for (size_t bin = 0; bin < BINS; ++bin) {
            sum->confidence[bin] += more->confidence[bin];
            sum->right[bin] += more->right[bin];
            sum->count[bin] += more->count[bin];
        }
    }
    if (sum->decisions == 0)
        return tnp_fail(ctx, TN_ERR_DATA, "evaluate: none of the %zu rows has a known label", work->labels->rows);
    return TN_OK;
}

void tnp_probability_row(tn_view probabilities, const tn_labels *labels, size_t i, double *loss, double apart[TNP_BINS])
{
    const job work = {.p = probabilities, .labels = labels};
    part sum = {.loss = 0};
    add_row(&work, i, &sum);
    *loss = sum.loss / (double)sum.decisions;
    for (size_t bin = 0; bin < BINS; ++bin)
        apart[bin] = (sum.confidence[bin] - (double)sum.right[bin]) / (double)sum.decisions;
}

tn_status tn_probability_metrics_compute(tn_ctx *ctx, tn_view probabilities, const tn_labels *labels, double *nll,
                                         double *ece)
{
    return tnp_probability_bins(ctx, probabilities, labels, nll, ece, NULL);
}

tn_status tnp_probability_bins(tn_ctx *ctx, tn_view probabilities, const tn_labels *labels, double *nll, double *ece,
                               tnp_bin bins[TNP_BINS])
{
    tn_status st = TN_OK;
    job work = {.p = probabilities, .labels = labels};
    size_t blocks = tnp_max(1, (labels->rows + BLOCK - 1) / BLOCK);
    TN_TRY(tnp_metrics_check(ctx, probabilities, labels, 0));
    if (labels->task == TN_TASK_REGRESSION)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "evaluate: a regression has no probabilities"));
    TN_TRY(tnp_alloc(ctx, blocks, sizeof *work.parts, &work.parts));
    TN_TRY(tnp_progress(ctx, "evaluate", 0, 1));
    double flops = (labels->task == TN_TASK_MULTICLASS ? 3 : 30) * (double)labels->rows * (double)labels->classes;
    tnp_parallel(ctx, tnp_threads_for(ctx, flops), blocks, add_block, &work);
    TN_TRY(merge(ctx, &work, blocks));
    const part *sum = work.parts;
    const double decisions = (double)sum->decisions;
    double apart = 0;
    for (size_t bin = 0; bin < BINS; ++bin) {
        apart += fabs(sum->confidence[bin] - (double)sum->right[bin]);
        if (bins)
            bins[bin] = (tnp_bin){sum->confidence[bin], sum->right[bin], sum->count[bin]};
    }
    *nll = sum->loss / decisions;
    *ece = apart / decisions;
done:
    tnp_free(work.parts);
    return st;
}
