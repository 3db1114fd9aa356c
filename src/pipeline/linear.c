/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training of support vector machines and logistic regression on a chosen set. */
#include "pipeline/parts.h"
#include "learn/head/calibrate.h"
#include "learn/head/folds.h"

#include <math.h>
#include <string.h>

typedef struct linear_job {
    const tnp_chosen *chosen;
    tnp_linear linear;
    float *row_weight, *w, *held_out; /* held_out (rows, classes): scores by models that did not see the row */
    uint32_t *fold;
    size_t width;
} linear_job;

static tn_status check(tn_ctx *ctx, const tnp_chosen *c)
{
    if (c->selection->task->kind == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "option method %s needs classes, but the task is a regression",
                        c->info->method);
    return TN_OK;
}

/* Models a class and fold on the rows outside it: for cross-validation and for calibration. */
static tn_status with_folds(tn_ctx *ctx, linear_job *job)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    const tnp_task *task = c->selection->task;
    TN_TRY(tnp_folds_new(ctx, &task->y, task->kind, c->info->folds, c->options->rank.seed, &job->fold));
    TN_TRY(tnp_alloc(ctx, task->y.rows * task->y.classes, sizeof *job->held_out, &job->held_out));
    job->linear.row_fold = job->fold;
    job->linear.folds = c->info->folds;
done:
    return st;
}

/* C by cross-validation along the grid; leaves the held-out scores at the best. */
static tn_status choose_cost(tn_ctx *ctx, linear_job *job)
{
    static const double standard[] = {0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10}; /* the paper's */
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    tnp_cross *cross = NULL;
    double *grid = NULL;
    float *w = NULL, *alpha = NULL;
    size_t count = 0, columns, rows = c->selection->task->y.rows;
    tnp_learn_options loose = c->options->learn;
    loose.gap =
        fmax(loose.gap, 1e-3); /* a tenth of a per cent of the objective moves no accuracy that folds can tell apart */
    job->linear.options = &loose;
    TN_TRY(tnp_grid_new(ctx, &c->options->learn.grid, standard, sizeof standard / sizeof *standard, &grid, &count));
    TN_TRY(with_folds(ctx, job));
    columns = job->linear.folds * c->selection->task->y.classes;
    TN_TRY(tnp_cross_new(ctx, grid, count, job->linear.folds, &cross));
    TN_TRY(tnp_alloc(ctx, columns * job->width, sizeof *w, &w));
    TN_TRY(tnp_alloc(ctx, rows * columns, sizeof *alpha, &alpha));
    job->linear.alpha = alpha;
    TN_TRY(tnp_svm_cv(ctx, &job->linear, tnp_measure_rows, (void *)(uintptr_t)c->selection->task, cross, w,
                      job->held_out));
    if (cross->best < cross->count) {
        c->info->cost = cross->grid[cross->best];
    } else { /* no scores at a best C either */
        tnp_free(job->held_out);
        job->held_out = NULL;
        TN_TRY(tnp_say_no_probabilities(ctx, c, 0));
    }
    tnp_keep_cross(c, cross);
done:
    job->linear.alpha = NULL;
    job->linear.options = &c->options->learn;
    tnp_cross_free(cross);
    tnp_free(grid);
    tnp_free(w);
    tnp_free(alpha);
    return st;
}

/* Held-out scores at the cost that is used anyway: as many trainings again as there are folds. */
static tn_status score_held_out(tn_ctx *ctx, linear_job *job)
{
    tn_status st = TN_OK;
    float *w = NULL;
    tnp_training training;
    const tnp_task *task = job->chosen->selection->task;
    TN_TRY(with_folds(ctx, job));
    TN_TRY(tnp_alloc(ctx, job->linear.folds * task->y.classes * job->width, sizeof *w, &w));
    TN_TRY(tnp_linear_train(ctx, &job->linear, job->chosen->info->cost, w, &training));
    TN_TRY(tnp_linear_held_out(ctx, &job->linear, w, job->held_out));
done:
    tnp_free(w);
    return st;
}

/* Score of a class that every training row has, or none: the log-odds of n + 1/2 rows against 1/2. */
static float constant_score(const tnp_task *task, size_t k)
{
    double odds = log(2 * (double)task->y.rows + 1);
    return (float)(tnp_target(&task->y, 0, k) > 0.5 ? odds : -odds);
}

static void fill_head(const linear_job *job, tn_head *head)
{
    const tnp_task *task = job->chosen->selection->task;
    bool apart =
        !(job->linear.logistic && task->kind == TN_TASK_MULTICLASS); /* the softmax trains absent classes too */
    for (size_t k = 0; k < head->classes; ++k) {
        memcpy(head->weight + k * head->dim, job->w + k * job->width, head->dim * sizeof *head->weight);
        head->bias[k] = apart && task->constant[k] ? constant_score(task, k) : job->w[k * job->width + head->dim];
    }
    head->threshold = 0;
    head->log_evidence = NAN;
}

static tn_status set_temperature(tn_ctx *ctx, const linear_job *job, tn_head *head)
{
    tn_status st = TN_OK;
    const tnp_task *task = job->chosen->selection->task;
    if (!job->held_out) {
        head->temperature = job->linear.logistic ? 1 : 0; /* log-odds as they are; margins are none */
        return TN_OK;
    }
    TN_TRY(tnp_folds_hide(ctx, &task->y, job->fold, job->chosen->info->folds, job->held_out));
    TN_TRY(tnp_temperature_fit(ctx, &task->y, task->kind, head->threshold, NULL, task->y.rows, NULL, job->held_out,
                               &head->temperature));
    TN_TRY(tnp_say_no_probabilities(ctx, job->chosen, head->temperature));
done:
    return st;
}

static tn_status train(tn_ctx *ctx, linear_job *job)
{
    tn_status st = TN_OK;
    tn_fit_info *info = job->chosen->info;
    const tnp_learn_options *learn = &job->chosen->options->learn;
    tnp_training training = {0};
    tnp_share whole = tnp_progress_now(ctx);
    info->cost = learn->cost;
    (void)tnp_progress_part(ctx, whole, 0, 0.8);
    if (info->folds > 0 && tnp_method_of(job->chosen->options->method)->cross_validates)
        TN_TRY(choose_cost(ctx, job));
    else if (info->folds > 0)
        TN_TRY(score_held_out(ctx, job));
    if (job->held_out && learn->calibrate == TNP_CALIBRATE_NO) {
        tnp_free(job->held_out);
        job->held_out = NULL;
    }
    job->linear.row_fold = NULL;
    job->linear.folds = 1;
    (void)tnp_progress_part(ctx, whole, info->folds > 0 ? 0.8 : 0, 1);
    TN_TRY(tnp_alloc(ctx, info->classes * job->width, sizeof *job->w, &job->w));
    TN_TRY(tnp_linear_train(ctx, &job->linear, info->cost, job->w, &training));
    info->objective = training.objective;
    info->gap = training.gap;
    info->passes = training.passes;
    info->converged = training.converged;
done:
    return st;
}

/* What training will need beside the rows: its solver for as many models as it trains at once, and for folds also their
 * weights, multipliers and held-out scores. Decides whether the solver works by products of rows. */
static size_t reserve(tn_ctx *ctx, const tnp_chosen *c, size_t dim, bool *gram)
{
    const tnp_learn_options *learn = &c->options->learn;
    bool logistic = c->options->method == TNP_METHOD_LOGISTIC, cv = tnp_method_of(c->options->method)->cross_validates;
    tnp_linear_method method =
        tnp_linear_method_of(learn, logistic, c->options->rank.evidence.intercept, c->selection->task->kind);
    size_t folds = c->info->folds, rows = c->selection->task->y.rows, k = c->info->classes;
    size_t columns = k * tnp_max(folds, 1);
    size_t kept = folds ? 4 * (3 * rows * k + columns * (dim + 1) + (cv ? rows * columns : 0)) : 0;
    method = tnp_linear_method_for(ctx, learn, method, rows, dim, columns, kept);
    *gram = method == TNP_BY_GRAM;
    return tnp_linear_bytes(rows, dim, method == TNP_BY_SOFTMAX ? k : columns, method) + kept;
}

tn_status tnp_train_linear(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    tnp_design *design = NULL;
    linear_job job = {.chosen = c};
    bool gram = false;
    size_t dim = 0;
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t m = 0; m < c->count; ++m)
        dim += tn_feed_cols(c->feeds[m]);
    job.width = dim + 1;
    (void)tnp_progress_part(ctx, whole, 0, 0.2);
    TN_TRY(check(ctx, c));
    if (tnp_method_of(c->options->method)->cross_validates || c->options->learn.calibrate == TNP_CALIBRATE_YES)
        TN_TRY(tnp_plan_folds(ctx, c));
    TN_TRY(tnp_row_weights(ctx, c->selection->task, &c->options->learn, &job.row_weight));
    TN_TRY(tnp_design_new(ctx, c->feeds, c->count, reserve(ctx, c, dim, &gram), &design));
    job.linear = (tnp_linear){.rows = tnp_design_rows(design),
                              .design = design,
                              .task = c->selection->task,
                              .options = &c->options->learn,
                              .logistic = c->options->method == TNP_METHOD_LOGISTIC,
                              .bias = c->options->rank.evidence.intercept,
                              .gram = gram,
                              .seed = c->options->rank.seed,
                              .row_weight = job.row_weight,
                              .folds = 1};
    (void)tnp_progress_part(ctx, whole, 0.2, 1);
    TN_TRY(train(ctx, &job));
    TN_TRY(tnp_begin_head(ctx, c, &head));
    fill_head(&job, head);
    TN_TRY(set_temperature(ctx, &job, head));
    c->info->temperature = head->temperature;
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_design_free(design);
    tnp_free(job.row_weight);
    tnp_free(job.w);
    tnp_free(job.held_out);
    tnp_free(job.fold);
    return st;
}
