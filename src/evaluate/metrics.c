/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The metrics of a score matrix: one door for three tasks. N scored rows, K classes, s scores, y labels.
 *
 *   multi-class   place[i] = #{c : s[i,c] > s[i,y_i]} + #{c < y_i : s[i,c] == s[i,y_i]}, 0 being the arg-max
 *                 with ties to the lower class index
 *                 accuracy = #{place == 0} / N               top5 = #{place < 5} / N
 *                 recall[c] = #{place == 0, y_i == c} / #{y_i == c}; balanced accuracy = their mean where defined
 *   multi-label   yes means s[i,c] > threshold; balanced accuracy = mean over classes of (TPR + TNR) / 2
 *   regression    mse[c] = sum_i (y - s)^2 / N               r2[c] = 1 - sum_i (y - s)^2 / sum_i (y - mean y)^2
 *
 * Ranking metrics of both classifications are in ranking_metrics.c, those of probabilities in probability_metrics.c.
 * A target is constant when its least and largest value are equal, not when its sum of squares comes out as zero: the
 * mean of many equal numbers rounds.
 * place[i] < 1 is used instead of a search for the arg-max because top 5 comes with it.
 * Oracle: tests/ref/ref_metrics.c and scikit-learn, tests/fixtures/make_metrics.py. */
#include "evaluate/details.h"

#include <math.h>

enum { BLOCK = 256 }; /* rows */

/* What is known of a row; 0: not scored. */
enum { SCORED = 1, BEST = 2, AMONG_5 = 4, BAD = 8 };

typedef struct job {
    tn_view scores;
    const tn_labels *labels;
    unsigned char *marks; /* labels->rows */
    tn_metrics *out;
} job;

tn_status tnp_metrics_check(tn_ctx *ctx, tn_view scores, const tn_labels *labels, double threshold)
{
    if (scores.rows != labels->rows)
        return tnp_fail(ctx, TN_ERR_SHAPE, "evaluate: scores have %zu rows, labels %zu", scores.rows, labels->rows);
    if (scores.cols != labels->classes)
        return tnp_fail(ctx, TN_ERR_SHAPE, "evaluate: scores have %zu columns, labels %zu classes", scores.cols,
                        labels->classes);
    if (scores.rows > 1 && scores.stride < scores.cols)
        return tnp_fail(ctx, TN_ERR_SHAPE, "evaluate: scores have stride %zu, less than their %zu columns",
                        scores.stride, scores.cols);
    if (labels->classes == 0)
        return tnp_fail(ctx, TN_ERR_DATA, "evaluate: labels have no class");
    if (labels->task == TN_TASK_MULTILABEL && isnan(threshold))
        return tnp_fail(ctx, TN_ERR_ARG, "evaluate: the threshold is NaN");
    return TN_OK;
}

bool tnp_metrics_counts(const tn_labels *labels, size_t i)
{
    return labels->known[i] && (labels->task != TN_TASK_MULTICLASS || labels->first[i] != labels->first[i + 1]);
}

/* False for a score, or a target, that no metric can use. */
static bool usable(const job *work, size_t i, size_t c)
{
    float score = work->scores.data[i * work->scores.stride + c];
    if (work->labels->task != TN_TASK_REGRESSION)
        return !isnan(score);
    return isfinite(score) && isfinite(work->labels->values[i * work->labels->classes + c]);
}

static unsigned char mark_row(const job *work, size_t i)
{
    const tn_labels *labels = work->labels;
    const bool one = labels->task == TN_TASK_MULTICLASS;
    const size_t classes = labels->classes;
    if (!tnp_metrics_counts(labels, i))
        return 0;
    for (size_t c = 0; c < classes; ++c)
        if (!usable(work, i, c))
            return SCORED | BAD;
    if (!one)
        return SCORED;
    const float *row = work->scores.data + i * work->scores.stride;
    const size_t y = labels->cls[labels->first[i]];
    size_t before = 0;
    for (size_t c = 0; c < y; ++c)
        before += row[c] >= row[y];
    for (size_t c = y + 1; c < classes; ++c)
        before += row[c] > row[y];
    return (unsigned char)(SCORED | (before == 0 ? BEST : 0) | (before < 5 ? AMONG_5 : 0));
}

static void mark_rows(void *arg, size_t b)
{
    job *work = arg;
    size_t end = tnp_min((b + 1) * BLOCK, work->labels->rows);
    for (size_t i = b * BLOCK; i < end; ++i)
        work->marks[i] = mark_row(work, i);
}

static tn_status bad_row(tn_ctx *ctx, const job *work, size_t i)
{
    size_t c = 0;
    while (usable(work, i, c))
        ++c;
    double score = (double)work->scores.data[i * work->scores.stride + c];
    if (work->labels->task == TN_TASK_REGRESSION && isfinite(score))
        return tnp_fail(ctx, TN_ERR_DATA, "evaluate: the target at row %zu, column %zu is %g, expected a finite number",
                        i, c, work->labels->values[i * work->labels->classes + c]);
    return tnp_fail(ctx, TN_ERR_DATA, "evaluate: the score at row %zu, column %zu is %g, expected a %s", i, c, score,
                    work->labels->task == TN_TASK_REGRESSION ? "finite number" : "number");
}

/* Counts the scored rows and the positives of each class, and refuses the first bad row. */
static tn_status count_scored(tn_ctx *ctx, const job *work)
{
    const tn_labels *labels = work->labels;
    tn_metrics *m = work->out;
    for (size_t i = 0; i < labels->rows; ++i) {
        if (work->marks[i] & BAD)
            return bad_row(ctx, work, i);
        if (!work->marks[i])
            continue;
        ++m->rows;
        if (labels->task != TN_TASK_REGRESSION)
            for (size_t p = labels->first[i]; p < labels->first[i + 1]; ++p)
                ++m->per_class[labels->cls[p]].positives;
    }
    if (m->rows == 0)
        return tnp_fail(ctx, TN_ERR_DATA, "evaluate: none of the %zu rows has a known label", labels->rows);
    return TN_OK;
}

static tn_status decide_multiclass(tn_ctx *ctx, const job *work)
{
    tn_status st = TN_OK;
    const tn_labels *labels = work->labels;
    tn_metrics *m = work->out;
    size_t *right = NULL, best = 0, among = 0, occurring = 0;
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *right, &right));
    for (size_t i = 0; i < labels->rows; ++i) {
        among += (work->marks[i] & AMONG_5) != 0;
        if (work->marks[i] & BEST) {
            ++best;
            ++right[labels->cls[labels->first[i]]];
        }
    }
    double sum = 0;
    for (size_t c = 0; c < labels->classes; ++c) {
        tn_class_metrics *k = &m->per_class[c];
        if (k->positives == 0)
            continue;
        k->accuracy = (double)right[c] / (double)k->positives;
        sum += k->accuracy;
        ++occurring;
    }
    m->accuracy = (double)best / (double)m->rows;
    if (labels->classes > 5)
        m->top5_accuracy = (double)among / (double)m->rows;
    m->mean_class_accuracy = m->balanced_accuracy = sum / (double)occurring;
done:
    tnp_free(right);
    return st;
}

static void regress_output(void *arg, size_t c)
{
    const job *work = arg;
    const tn_labels *labels = work->labels;
    const double rows = (double)work->out->rows;
    double sum = 0, least = INFINITY, largest = -INFINITY, error = 0, spread = 0;
    for (size_t i = 0; i < labels->rows; ++i) {
        if (!work->marks[i])
            continue;
        double y = labels->values[i * labels->classes + c];
        sum += y;
        least = fmin(least, y);
        largest = fmax(largest, y);
    }
    const double mean = sum / rows;
    for (size_t i = 0; i < labels->rows; ++i) {
        if (!work->marks[i])
            continue;
        double y = labels->values[i * labels->classes + c];
        double e = y - (double)work->scores.data[i * work->scores.stride + c];
        error += e * e;
        spread += (y - mean) * (y - mean);
    }
    tn_class_metrics *k = &work->out->per_class[c];
    k->mse = error / rows;
    if (work->out->rows < 2)
        return;
    if (least < largest)
        k->r2 = 1 - error / spread;
    else
        k->r2 = error == 0 ? 1 : 0;
}

/* Squares of values beyond 1e154 leave the range of double. */
static tn_status check_finite(tn_ctx *ctx, const tn_metrics *m)
{
    for (size_t c = 0; c < m->classes; ++c)
        if (!isfinite(m->per_class[c].mse) || (m->rows > 1 && !isfinite(m->per_class[c].r2)))
            return tnp_fail(ctx, TN_ERR_NUMERIC, "evaluate: the squared error of output %zu is %g, its r2 %g", c,
                            m->per_class[c].mse, m->per_class[c].r2);
    return TN_OK;
}

/* Mean of one member over the classes where it is not NaN; NaN when there is none. */
static double mean_of(const tn_metrics *m, size_t member)
{
    double sum = 0;
    size_t count = 0;
    for (size_t c = 0; c < m->classes; ++c) {
        double value = *(const double *)(const void *)((const char *)&m->per_class[c] + member);
        if (!isnan(value)) {
            sum += value;
            ++count;
        }
    }
    return count == 0 ? (double)NAN : sum / (double)count;
}

static void take_means(tn_metrics *m)
{
    m->mean_ap = mean_of(m, offsetof(tn_class_metrics, ap));
    m->mean_ap_voc07 = mean_of(m, offsetof(tn_class_metrics, ap_voc07));
    m->mean_auc = mean_of(m, offsetof(tn_class_metrics, auc));
    m->r2 = mean_of(m, offsetof(tn_class_metrics, r2));
    m->mse = mean_of(m, offsetof(tn_class_metrics, mse));
    if (m->task == TN_TASK_MULTILABEL) {
        m->accuracy = mean_of(m, offsetof(tn_class_metrics, accuracy)); /* every class has the same rows */
        m->balanced_accuracy = mean_of(m, offsetof(tn_class_metrics, balanced_accuracy));
    }
}

static tn_status metrics_new(tn_ctx *ctx, const tn_labels *labels, tn_metrics **out)
{
    tn_status st = TN_OK;
    const double none = (double)NAN;
    tn_metrics *m = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *m, &m));
    m->task = labels->task;
    m->classes = labels->classes;
    m->accuracy = m->top5_accuracy = m->mean_class_accuracy = m->balanced_accuracy = none;
    m->mean_ap = m->mean_ap_voc07 = m->mean_auc = m->r2 = m->mse = m->nll = m->ece = none;
    TN_TRY(tnp_alloc(ctx, m->classes, sizeof *m->per_class, &m->per_class));
    for (size_t c = 0; c < m->classes; ++c) {
        tn_class_metrics *k = &m->per_class[c];
        k->accuracy = k->ap = k->ap_voc07 = k->auc = k->balanced_accuracy = k->r2 = k->mse = none;
    }
    *out = m;
    m = NULL;
done:
    tn_metrics_free(m);
    return st;
}

void tn_metrics_free(tn_metrics *metrics)
{
    if (!metrics)
        return;
    tnp_free(metrics->per_class);
    tnp_details_free(metrics->details);
    tnp_free(metrics);
}

tn_status tn_metrics_compute(tn_ctx *ctx, tn_view scores, const tn_labels *labels, double threshold, tn_metrics **out)
{
    tn_status st = TN_OK;
    double *thresholds = NULL;
    TN_TRY(tnp_metrics_check(ctx, scores, labels, threshold));
    TN_TRY(tnp_alloc(ctx, labels->classes, sizeof *thresholds, &thresholds));
    for (size_t c = 0; c < labels->classes; ++c)
        thresholds[c] = threshold;
    TN_TRY(tn_metrics_compute_at(ctx, scores, labels, thresholds, out));
done:
    tnp_free(thresholds);
    return st;
}

tn_status tn_metrics_compute_at(tn_ctx *ctx, tn_view scores, const tn_labels *labels, const double *thresholds,
                                tn_metrics **out)
{
    tn_status st = TN_OK;
    job work = {.scores = scores, .labels = labels};
    for (size_t c = 0; c < labels->classes; ++c)
        TN_TRY(tnp_metrics_check(ctx, scores, labels, thresholds[c]));
    TN_TRY(metrics_new(ctx, labels, &work.out));
    TN_TRY(tnp_alloc(ctx, labels->rows, sizeof *work.marks, &work.marks));
    size_t threads = tnp_threads_for(ctx, 2 * (double)labels->rows * (double)labels->classes);
    tnp_parallel(ctx, threads, (labels->rows + BLOCK - 1) / BLOCK, mark_rows, &work);
    TN_TRY(count_scored(ctx, &work));
    if (labels->task == TN_TASK_REGRESSION) {
        tnp_parallel(ctx, threads, labels->classes, regress_output, &work);
        TN_TRY(check_finite(ctx, work.out));
    } else {
        if (labels->task == TN_TASK_MULTICLASS)
            TN_TRY(decide_multiclass(ctx, &work));
        TN_TRY(tnp_metrics_rank(ctx, scores, labels, work.marks, work.out->rows, thresholds, work.out->per_class));
    }
    take_means(work.out);
    *out = work.out;
    work.out = NULL;
done:
    tnp_free(work.marks);
    tn_metrics_free(work.out);
    return st;
}
