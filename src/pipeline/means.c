/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Class means in ridge heads of many classes.
 *
 * An infinite lambda: no lambda that all classes share has a higher evidence (or less
 * error) than no features. With one row per class that is always so: sum_k F_k(lambda) <= sum_k F_k(infinity),
 * docs/math.md 1.9. Weights of 0 would name one class for every row, though the rows are not all alike; the ridge's
 * weights have a limit direction as lambda grows, towards the class means, and the head takes the nearest of them.
 *
 * Few rows, a finite lambda: the head is the mean of the ridge's scores and those of the nearest class mean. The
 * evidence's lambda is often too small there and never knows it; on eleven pairs of network and data set with 2 to 5
 * rows per class the ridge is 2.7 points below the nearest class mean to 6.5 above it, their mean 0.4 below to 3.8
 * above, and 1 point above the ridge on average. It is not taken where rows that are left out speak for the ridge by
 * more than a standard error: columns of very different sizes, say.
 *
 * With many rows an infinite lambda says that the features are noise; then class means are noise too, and naming the
 * largest class is better. Rows that are left out decide where they can: class means that are right less often than the
 * largest class is frequent are not taken. */
#include "pipeline/parts.h"

#include <math.h>

/* Above this many times the largest eigenvalue what is left of the weights drowns in the rounding of float scores. */
static const double LIMIT = 1e6;

/* True when no class has a lambda at which it has weights. Lambdas beyond the limit become infinite. */
static bool is_null(const tnp_task *task, const tnp_ridge *ridge, double *lambda)
{
    double most = LIMIT * ridge->spectrum->largest;
    bool null = true;
    for (size_t k = 0; k < ridge->classes; ++k)
        null &= task->constant[k] || !(lambda[k] <= most);
    for (size_t k = 0; null && k < ridge->classes; ++k)
        lambda[k] = INFINITY;
    return null;
}

double tnp_shared_or_null(const tn_evidence *e)
{
    const double least = 1e-6; /* nats per label */
    double labels = (double)e->rows * (double)(e->classes - e->degenerate_classes);
    return e->log_evidence_shared - e->log_null > least * labels ? e->lambda_shared : INFINITY;
}

/* 1 where the largest score of row i of the sample is that of its class. */
static double is_right(const tnp_targets *y, size_t row, const double *scores)
{
    size_t best = 0;
    for (size_t k = 1; k < y->classes; ++k)
        best = scores[k] > scores[best] ? k : best;
    return y->cls[y->first[row]] == best ? 1 : 0;
}

static double weight_of(const tnp_targets *y, size_t row)
{
    return y->weight ? y->weight[row] : 1;
}

/* Of the largest class in the weights of all rows. share (classes) is scratch. */
static double largest_share(const tnp_targets *y, double *share)
{
    double most = 0, all = 0;
    for (size_t k = 0; k < y->classes; ++k)
        share[k] = 0;
    for (size_t i = 0; i < y->rows; ++i) {
        share[y->cls[y->first[i]]] += weight_of(y, i);
        all += weight_of(y, i);
    }
    for (size_t k = 0; k < y->classes; ++k)
        most = share[k] > most ? share[k] : most;
    return most / all;
}

/* Share of the sample's weights whose rows are right; sample->weight undoes that the sample is balanced. */
static double right_share(const tnp_sample *sample, const tnp_targets *y, const double *scores)
{
    double right = 0, all = 0;
    for (size_t i = 0; i < sample->count; ++i) {
        double w = sample->weight[i] * weight_of(y, sample->rows[i]);
        right += w * is_right(y, sample->rows[i], scores + i * y->classes);
        all += w;
    }
    return y->weight ? right / all : right; /* without weights of rows those of the sample sum to 1 */
}

/* Rows to leave out, whatever --loo says; NULL where no row can be judged. */
static tn_status judges(tn_ctx *ctx, const tnp_selection *selection, tnp_sample **out)
{
    enum { ROWS = 2000 };
    const tnp_task *task = selection->task;
    tn_status st = tnp_sample_new(ctx, &task->y, task->kind, ROWS, selection->options->seed, out);
    return st == TN_OK ? tnp_sample_judged(ctx, &task->y, task->kind, out) : st;
}

/* Whether rows that are left out speak against the class means. */
static tn_status is_useless(tn_ctx *ctx, const tnp_left_out *l, bool *useless)
{
    tn_status st = TN_OK;
    const tnp_task *task = l->selection->task;
    tnp_sample *sample = NULL;
    double *scores = NULL, *share = NULL;
    TN_TRY(judges(ctx, l->selection, &sample));
    *useless = false;
    if (sample) {
        TN_TRY(tnp_alloc_raw(ctx, sample->count * task->y.classes, sizeof *scores, &scores));
        TN_TRY(tnp_alloc(ctx, task->y.classes, sizeof *share, &share));
        TN_TRY(tnp_left_out_scores(ctx, l, sample, scores));
        *useless = right_share(sample, &task->y, scores) < largest_share(&task->y, share);
    }
done:
    tnp_sample_free(sample);
    tnp_free_all(scores, share);
    return st;
}

tn_status tnp_means_of_null(tn_ctx *ctx, const tnp_selection *selection, const tn_feed *const *feeds, size_t count,
                            const tnp_ridge *ridge, double *lambda, tnp_class_means **out)
{
    tn_status st = TN_OK;
    tnp_class_means *means = NULL;
    bool useless = true;
    *out = NULL;
    if (selection->task->kind != TN_TASK_MULTICLASS || !is_null(selection->task, ridge, lambda))
        return TN_OK;
    TN_TRY(tnp_class_means_new(ctx, feeds, count, &selection->task->y, NULL, ridge->intercept, &means));
    const tnp_left_out l = {selection, feeds, count, ridge, lambda, means, 1};
    if (means->scale > 0)
        TN_TRY(is_useless(ctx, &l, &useless));
    if (!useless) {
        *out = means;
        means = NULL;
    }
done:
    tnp_class_means_free(means);
    return st;
}

/* Whether rows that are left out speak for the ridge alone: it is right more often than the mean of both by more than
 * the standard error of the difference. */
static tn_status ridge_is_better(tn_ctx *ctx, const tnp_left_out *both, bool *better)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &both->selection->task->y;
    tnp_left_out ridge = *both;
    tnp_sample *sample = NULL;
    double *one = NULL, *two = NULL, sum = 0, square = 0;
    ridge.share = 0;
    TN_TRY(judges(ctx, both->selection, &sample));
    size_t n = sample ? sample->count : 0, k = y->classes;
    TN_TRY(tnp_alloc(ctx, n * k, sizeof *one, &one));
    TN_TRY(tnp_alloc(ctx, n * k, sizeof *two, &two));
    if (n > 0) {
        TN_TRY(tnp_left_out_scores(ctx, &ridge, sample, one));
        TN_TRY(tnp_left_out_scores(ctx, both, sample, two));
    }
    for (size_t i = 0; i < n; ++i) {
        double d = is_right(y, sample->rows[i], one + i * k) - is_right(y, sample->rows[i], two + i * k);
        sum += d;
        square += d * d;
    }
    *better = sum > 0 && sum * sum > square - sum * sum / (double)n; /* the variance of the sum, n times that of d */
done:
    tnp_sample_free(sample);
    tnp_free_all(one, two);
    return st;
}

tn_status tnp_means_of_few(tn_ctx *ctx, const tnp_selection *selection, const tn_feed *const *feeds, size_t count,
                           const tnp_ridge *ridge, const double *lambda, tnp_class_means **out)
{
    tn_status st = TN_OK;
    tnp_class_means *means = NULL;
    bool better = true;
    size_t few = 0;
    *out = NULL;
    TN_TRY(tnp_few_rows(ctx, selection->task, ridge->dim, &few));
    for (size_t k = 0; k < ridge->classes; ++k)
        few = selection->task->constant[k] || isfinite(lambda[k]) ? few : 0;
    if (few == 0)
        return TN_OK;
    TN_TRY(tnp_class_means_new(ctx, feeds, count, &selection->task->y, NULL, ridge->intercept, &means));
    const tnp_left_out l = {selection, feeds, count, ridge, lambda, means, TNP_HALF};
    if (means->scale > 0)
        TN_TRY(ridge_is_better(ctx, &l, &better));
    if (!better) {
        *out = means;
        means = NULL;
    }
done:
    tnp_class_means_free(means);
    return st;
}
