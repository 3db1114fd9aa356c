/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a contender got, in units that can be compared with another's one by one:
 *
 *   multi-class   a row                 1 where the largest score is its class's, else 0; none where it was not trained
 *   multi-label   a class in a fold     average precision
 *   regression    an output in a fold   R^2
 *
 * With d_u the difference of two contenders in unit u, their lead is mean(d) and its standard error
 * sqrt(sum (d - mean)^2 / (n (n - 1))), with one more unit that goes the other way: three of three rows prove little.
 * Both see the same rows, and most rows are right or wrong for both: this error is below that of a mean. Standard
 * errors over folds were refused: five numbers say little of their own spread. Over classes it is too wide rather than
 * too narrow, for classes also differ in themselves.
 *
 * A temperature is taken where it lowers the log loss of rows that it was not fitted to: fitted to one half of the judged
 * rows and tried on the other, both ways round, against 1. Scores of a logistic model may do without.
 *
 * The log loss is that of the softmax of scores at their own best temperature, so that margins and log-odds compare. */
#include "learn/head/calibrate.h"
#include "learn/head/folds.h"
#include "pipeline/race/race.h"

#include <math.h>
#include <string.h>

size_t tnp_round_units(const tnp_task *task, const tnp_round *round)
{
    return task->kind == TN_TASK_MULTICLASS ? task->y.rows : round->folds * task->y.classes;
}

static void summarise(tnp_entry *e, size_t units)
{
    double n = 0, sum = 0, square = 0;
    for (size_t u = 0; u < units; ++u) {
        n += !isnan(e->unit[u]);
        sum += isnan(e->unit[u]) ? 0 : e->unit[u];
    }
    for (size_t u = 0; u < units; ++u)
        square += isnan(e->unit[u]) ? 0 : (e->unit[u] - sum / n) * (e->unit[u] - sum / n);
    e->mean = n > 0 ? sum / n : (double)NAN;
    e->se = n > 1 ? sqrt(square / (n * (n - 1))) : (double)NAN;
}

void tnp_lead(const tnp_entry *a, const tnp_entry *b, size_t units, double *lead, double *se)
{
    double n = 0, sum = 0, square = 0, most = 0;
    for (size_t u = 0; u < units; ++u) {
        double d = a->unit[u] - b->unit[u];
        if (isnan(d))
            continue;
        ++n;
        sum += d;
        square += d * d;
        most = fmax(most, fabs(d));
    }
    *lead = n > 0 ? sum / n : 0;
    sum -= copysign(most, sum);
    square += most * most;
    *se = n > 0 ? sqrt(fmax(square - sum * sum / (n + 1), 0) / (n * (n + 1))) : INFINITY;
}

/* ---- classes ---- */

/* The class of the largest score; NaN scores are of classes that the model has not seen. */
static size_t largest(const float *s, size_t k)
{
    size_t best = k;
    for (size_t c = 0; c < k; ++c)
        if (!isnan(s[c]) && (best == k || s[c] > s[best]))
            best = c;
    return best;
}

/* log sum exp(s / t) - s[y] / t over the scores that are there. */
static double loss_of(const float *s, size_t k, size_t y, double t)
{
    double most = (double)s[largest(s, k)], sum = 0;
    for (size_t c = 0; c < k; ++c)
        sum += isnan(s[c]) ? 0 : exp(((double)s[c] - most) / t);
    return log(sum) - ((double)s[y] - most) / t;
}

/* The scores, without those of classes that were not in training. The caller's, free with tnp_free. */
static tn_status known_scores(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, const tnp_entry *e,
                              float **out)
{
    tn_status st = TN_OK;
    size_t size = task->y.rows * task->y.classes;
    float *known = NULL;
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *known, &known));
    memcpy(known, e->scores, size * sizeof *known);
    TN_TRY(tnp_folds_hide(ctx, &task->y, round->fold, round->folds, known));
    *out = known;
    known = NULL;
done:
    tnp_free(known);
    return st;
}

static void judge_rows(const tnp_targets *y, const float *known, tnp_entry *e)
{
    size_t k = y->classes;
    e->judged = 0;
    for (size_t i = 0; i < y->rows; ++i) {
        size_t own = y->cls[y->first[i]];
        const float *s = known + i * k;
        bool judged = !isnan(s[own]);
        e->unit[i] = judged ? largest(s, k) == own : (double)NAN;
        e->judged += judged;
    }
}

/* Temperature and log loss of the rows that were judged. */
static tn_status measure_loss(tn_ctx *ctx, const tnp_task *task, const float *known, tnp_entry *e)
{
    const tnp_targets *y = &task->y;
    size_t k = y->classes;
    tn_status st = tnp_temperature_fit(ctx, y, task->kind, 0, NULL, y->rows, NULL, known, &e->temperature);
    e->log_loss = e->judged > 0 ? 0 : (double)NAN;
    for (size_t i = 0; st == TN_OK && i < y->rows; ++i) {
        size_t own = y->cls[y->first[i]];
        if (!isnan(known[i * k + own]))
            e->log_loss += loss_of(known + i * k, k, own, e->temperature) / (double)e->judged;
    }
    return st;
}

/* ---- folds ---- */

static tn_status judge_folds(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, tnp_entry *e)
{
    tn_status st = TN_OK;
    size_t k = task->y.classes, n = task->y.rows, *rows = NULL;
    float *part = NULL;
    TN_TRY(tnp_alloc(ctx, n, sizeof *rows, &rows));
    TN_TRY(tnp_alloc_raw(ctx, n * k, sizeof *part, &part));
    e->judged = 0;
    for (size_t f = 0; f < round->folds; ++f) {
        size_t count = 0;
        for (size_t i = 0; i < n; ++i)
            if (round->fold[i] == f && !isnan(e->scores[i * k])) {
                memcpy(part + count * k, e->scores + i * k, k * sizeof *part);
                rows[count++] = i;
            }
        for (size_t c = 0; c < k; ++c)
            e->unit[f * k + c] = (double)NAN;
        if (count > 0)
            TN_TRY(tnp_measure_each(ctx, task, rows, count, part, e->unit + f * k));
        e->judged += count;
    }
done:
    tnp_free_all(rows, part);
    return st;
}

static tn_status judge(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, bool loss, tnp_entry *e)
{
    tn_status st = TN_OK;
    float *known = NULL;
    if (task->kind != TN_TASK_REGRESSION)
        TN_TRY(known_scores(ctx, task, round, e, &known));
    e->log_loss = (double)NAN;
    if (task->kind == TN_TASK_MULTICLASS)
        judge_rows(&task->y, known, e);
    else
        TN_TRY(judge_folds(ctx, task, round, e));
    if (loss && task->kind == TN_TASK_MULTICLASS)
        TN_TRY(measure_loss(ctx, task, known, e));
    if (loss && task->kind == TN_TASK_MULTILABEL)
        TN_TRY(tnp_temperature_fit(ctx, &task->y, task->kind, e->who->threshold, NULL, task->y.rows, NULL, known,
                                   &e->temperature));
    summarise(e, tnp_round_units(task, round));
done:
    tnp_free(known);
    return st;
}

tn_status tnp_judge_entry(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, tnp_entry *e)
{
    return judge(ctx, task, round, true, e);
}

tn_status tnp_judge_units(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, tnp_entry *e)
{
    return judge(ctx, task, round, false, e);
}

/* ---- temperature ---- */

/* Sum of the log loss of the decisions about some rows, of which these are the scores (count, classes). */
static double loss_at(const tnp_task *task, const tnp_entry *e, const float *scores, const size_t *rows, size_t count,
                      double t)
{
    size_t k = task->y.classes;
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        const float *s = scores + i * k;
        size_t own = task->y.cls[task->y.first[rows[i]]];
        if (task->kind == TN_TASK_MULTICLASS)
            sum += isnan(s[own]) ? 0 : loss_of(s, k, own, t);
        for (size_t c = 0; task->kind == TN_TASK_MULTILABEL && c < k; ++c) {
            double side = tnp_target(&task->y, rows[i], c) > 0.5 ? 1 : -1;
            double m = side * ((double)s[c] - e->who->threshold) / t;
            sum += isnan(m) ? 0 : fmax(-m, 0) + log1p(exp(-fabs(m)));
        }
    }
    return sum;
}

/* Every second of the judged rows, and their scores. */
static size_t half_of(const tnp_task *task, const tnp_round *round, const float *scores, size_t which, size_t *rows,
                      float *part)
{
    size_t n = 0, k = task->y.classes, seen = 0;
    for (size_t i = 0; i < task->y.rows; ++i)
        if (round->fold[i] < round->folds && seen++ % 2 == which) {
            memcpy(part + n * k, scores + i * k, k * sizeof *part);
            rows[n++] = i;
        }
    return n;
}

tn_status tnp_choose_temperature(tn_ctx *ctx, const tnp_task *task, const tnp_round *round, const tnp_entry *e,
                                 bool must, double *temperature)
{
    tn_status st = TN_OK;
    size_t k = task->y.classes, n = task->y.rows, *rows[2] = {NULL, NULL}, count[2];
    float *known = NULL, *part[2] = {NULL, NULL};
    double gain = 0, t;
    *temperature = e->temperature;
    if (must || !(e->temperature > 0))
        return TN_OK;
    TN_TRY(known_scores(ctx, task, round, e, &known));
    for (size_t h = 0; h < 2; ++h) {
        TN_TRY(tnp_alloc(ctx, n, sizeof *rows[h], &rows[h]));
        TN_TRY(tnp_alloc_raw(ctx, n * k, sizeof *part[h], &part[h]));
        count[h] = half_of(task, round, known, h, rows[h], part[h]);
    }
    for (size_t h = 0; h < 2; ++h) {
        size_t other = 1 - h;
        TN_TRY(tnp_temperature_fit(ctx, &task->y, task->kind, e->who->threshold, rows[h], count[h], NULL, part[h], &t));
        if (t > 0)
            gain += loss_at(task, e, part[other], rows[other], count[other], 1) -
                    loss_at(task, e, part[other], rows[other], count[other], t);
    }
    *temperature = gain > 0 ? e->temperature : 1;
done:
    tnp_free(known);
    for (size_t h = 0; h < 2; ++h)
        tnp_free_all(rows[h], part[h]);
    return st;
}
