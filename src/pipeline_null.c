/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What becomes of a multi-class ridge head whose lambda is infinite: no lambda that all classes share has a higher evidence (or less
 * error) than no features. With one row per class that is always so: sum_k F_k(lambda) <= sum_k F_k(infinity), docs/math.md 1.9. Weights of 0 would name one class for every row, though the rows are not all alike; the
 * ridge's weights have a limit direction as lambda grows, towards the class means, and the head takes the nearest of them.
 *
 * With many rows an infinite lambda says that the features are noise; then class means are noise too, and naming the largest
 * class is better. Rows that are left out decide where they can: class means that are right less often than the largest class is
 * frequent are not taken. */
#include "pipeline_parts.h"

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
    const double least = 1e-6; /* nats a label */
    double labels = (double)e->rows * (double)(e->classes - e->degenerate_classes);
    return e->log_evidence_shared - e->log_null > least * labels ? e->lambda_shared : INFINITY;
}

static double largest_share(const tnp_class_means *means, size_t rows)
{
    size_t most = 0;
    for (size_t k = 0; k < means->classes; ++k)
        most = tnp_max(most, means->sizes[k]);
    return (double)most / (double)rows;
}

/* Whether rows that are left out speak against the class means. */
static tn_status is_useless(tn_ctx *ctx, const tnp_left_out *l, bool *useless)
{
    enum { ROWS = 2000 };
    tn_status st = TN_OK;
    const tnp_task *task = l->bench->task;
    tnp_sample *sample = NULL;
    double *scores = NULL;
    tnp_loo_result result;
    TN_TRY(tnp_sample_new(ctx, &task->y, task->kind, ROWS, l->bench->options->seed, &sample));
    TN_TRY(tnp_sample_judged(ctx, &task->y, task->kind, &sample));
    *useless = false;
    if (sample) {
        TN_TRY(tnp_alloc_raw(ctx, sample->count * task->y.classes, sizeof *scores, &scores));
        TN_TRY(tnp_left_out_scores(ctx, l, sample, scores));
        tnp_loo_judge(sample, &task->y, task->kind, scores, &result);
        *useless = result.accuracy < largest_share(l->means, task->y.rows);
    }
done:
    tnp_sample_free(sample);
    tnp_free(scores);
    return st;
}

tn_status tnp_means_of_null(tn_ctx *ctx, const tnp_bench *bench, const tn_feed *const *feeds, size_t count,
                            const tnp_ridge *ridge, double *lambda, tnp_class_means **out)
{
    tn_status st = TN_OK;
    tnp_class_means *means = NULL;
    bool useless = true;
    *out = NULL;
    if (bench->task->kind != TN_TASK_MULTICLASS || !is_null(bench->task, ridge, lambda))
        return TN_OK;
    TN_TRY(tnp_class_means_new(ctx, feeds, count, &bench->task->y, NULL, ridge->intercept, &means));
    const tnp_left_out l = {bench, feeds, count, ridge, lambda, means};
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
