/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training of support vector machines and logistic regression on a chosen set. */
#include "pipeline/parts.h"
#include "learn/head/folds.h"

#include <math.h>
#include <string.h>

typedef struct linear_job {
    const tnp_chosen *chosen;
    tnp_linear linear;
    float *row_weight, *w, *held_out; /* held_out (rows that judge, classes): scores by models that did not see them */
    uint32_t *fold;
    size_t width;
    tnp_task *valid; /* rows of option valid; NULL: those of the task judge */
    tn_head *probe;  /* takes the weights that they judge */
} linear_job;

static tn_status check(tn_ctx *ctx, const tnp_chosen *c)
{
    if (c->selection->task->kind == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "option method %s needs classes, but the task is a regression",
                        c->info->method);
    return TN_OK;
}

/* Models a class and fold on the rows outside it: for cross-validation and for calibration. A hold-out is one fold. */
static tn_status with_folds(tn_ctx *ctx, linear_job *job)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    const tnp_task *task = c->selection->task;
    TN_TRY(tnp_make_folds(ctx, c, &job->fold));
    TN_TRY(tnp_alloc(ctx, task->y.rows * task->y.classes, sizeof *job->held_out, &job->held_out));
    job->linear.row_fold = job->fold;
    job->linear.folds = c->info->folds;
done:
    return st;
}

/* w (classes, dim + 1) into the head; a class that was not trained has a score of its own. */
static void fill_weights(const linear_job *job, const float *w, tn_head *head)
{
    const tnp_task *task = job->chosen->selection->task;
    bool apart =
        !(job->linear.logistic && task->kind == TN_TASK_MULTICLASS); /* the softmax trains absent classes too */
    for (size_t k = 0; k < head->classes; ++k) {
        memcpy(head->weight + k * head->dim, w + k * job->width, head->dim * sizeof *head->weight);
        head->bias[k] = apart && task->constant[k] ? tnp_constant_score(task, k) : w[k * job->width + head->dim];
    }
}

static tn_status score_valid(tn_ctx *ctx, void *self, const float *w, float *scores)
{
    linear_job *job = self;
    fill_weights(job, w, job->probe);
    return tnp_valid_scores(ctx, &job->chosen->options->valid, job->valid, job->probe, scores);
}

/* Rows that are none of the training's judge: one model per class, trained on all rows of the task. */
static tn_status walk_by_valid(tn_ctx *ctx, linear_job *job, tnp_cross *cross, float *w)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &job->valid->y;
    tnp_judges judges = {y, NULL, score_valid, job};
    uint32_t *fold = NULL; /* zeros */
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *fold, &fold));
    TN_TRY(tnp_alloc(ctx, y->rows * y->classes, sizeof *job->held_out, &job->held_out));
    TN_TRY(tnp_begin_head(ctx, job->chosen, &job->probe));
    judges.row_fold = fold;
    TN_TRY(tnp_linear_path(ctx, &job->linear, &judges, tnp_measure_valid, job->valid, cross, w, job->held_out));
done:
    tnp_free(fold);
    return st;
}

/* The mean of the folds' models at the best C: where the training on all rows starts. */
static void start_from_folds(const linear_job *job, const float *w)
{
    size_t size = job->chosen->info->classes * job->width, folds = job->linear.folds;
    for (size_t i = 0; i < size; ++i) {
        double sum = 0;
        for (size_t f = 0; f < folds; ++f)
            sum += (double)w[f * size + i];
        job->w[i] = (float)(sum / (double)folds);
    }
}

static tn_status new_cross(tn_ctx *ctx, const linear_job *job, tnp_cross **out)
{
    const tnp_reals *given = &job->chosen->options->learn.grid;
    if (given->count == 0)
        return tnp_cross_found(ctx, &job->linear, job->linear.folds, out);
    return tnp_cross_new(ctx, given->items, given->count, job->linear.folds, out);
}

/* What the path found: C and where to start, or that no row could judge, and so no scores at a best C either. */
static tn_status take_cost(tn_ctx *ctx, linear_job *job, const tnp_cross *cross, const float *w)
{
    if (cross->best < cross->count) {
        job->chosen->info->cost = cross->grid[cross->best];
        start_from_folds(job, w);
        return TN_OK;
    }
    tnp_free(job->held_out);
    job->held_out = NULL;
    return tnp_say_no_probabilities(ctx, job->chosen, 0);
}

/* C by the path over the grid; leaves the held-out scores at the best. */
static tn_status choose_cost(tn_ctx *ctx, linear_job *job)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    const tnp_task *task = c->selection->task;
    tnp_cross *cross = NULL;
    float *w = NULL, *alpha = NULL;
    size_t columns;
    tnp_learn_options loose = c->options->learn;
    if (!job->valid) { /* so much of the objective moves no accuracy that folds can tell apart */
        loose.gap = fmax(loose.gap, 5e-3);
        TN_TRY(with_folds(ctx, job));
    }
    job->linear.options = &loose;
    columns = job->linear.folds * task->y.classes;
    TN_TRY(new_cross(ctx, job, &cross));
    TN_TRY(tnp_alloc(ctx, columns * job->width, sizeof *w, &w));
    if (!job->linear.logistic)
        TN_TRY(tnp_alloc(ctx, task->y.rows * columns, sizeof *alpha, &alpha));
    job->linear.alpha = alpha;
    if (job->valid)
        TN_TRY(walk_by_valid(ctx, job, cross, w));
    else
        TN_TRY(tnp_linear_cv(ctx, &job->linear, tnp_measure_rows, (void *)(uintptr_t)task, cross, w, job->held_out));
    TN_TRY(take_cost(ctx, job, cross, w));
    tnp_keep_cross(c, cross, job->valid ? job->valid->y.rows : c->info->validation_rows);
done:
    job->linear.alpha = NULL;
    job->linear.options = &c->options->learn;
    tnp_cross_free(cross);
    tnp_free_all(w, alpha);
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

/* The figure and the scores of rows of option valid are those of the head, which is trained further than its path. */
static tn_status judge_by_valid(tn_ctx *ctx, linear_job *job, const tn_head *head)
{
    tn_status st = TN_OK;
    tnp_task *valid = job->valid;
    tn_fit_info *info = job->chosen->info;
    float *scores = NULL;
    size_t size = valid->y.rows * valid->y.classes;
    TN_TRY(tnp_alloc_raw(ctx, size, sizeof *scores, &scores));
    TN_TRY(tnp_valid_judge(ctx, &job->chosen->options->valid, valid, head, scores, &info->validation_value));
    info->validation_se = valid->kind == TN_TASK_MULTICLASS ? (double)NAN : info->validation_se;
    tnp_keep_validation(info, "valid", valid->kind, valid->y.rows);
    if (job->held_out)
        memcpy(job->held_out, scores, size * sizeof *scores);
done:
    tnp_free(scores);
    return st;
}

static tn_status set_temperature(tn_ctx *ctx, const linear_job *job, tn_head *head)
{
    tn_status st = TN_OK;
    if (!job->held_out) {
        head->temperature = job->linear.logistic ? 1 : 0; /* log-odds as they are; margins are none */
        return TN_OK;
    }
    TN_TRY(tnp_held_out_temperature(ctx, job->chosen, job->valid, job->fold, job->held_out, head));
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
    bool choose = tnp_chooses(job->chosen->options) && (info->folds > 0 || job->valid);
    info->cost = learn->cost;
    TN_TRY(tnp_alloc(ctx, info->classes * job->width, sizeof *job->w, &job->w));
    (void)tnp_progress_part(ctx, whole, 0, 0.8);
    if (choose)
        TN_TRY(choose_cost(ctx, job));
    else if (info->folds > 0)
        TN_TRY(score_held_out(ctx, job));
    if (job->held_out && learn->calibrate == TNP_CALIBRATE_NO) {
        tnp_free(job->held_out);
        job->held_out = NULL;
    }
    job->linear.row_fold = NULL;
    job->linear.folds = 1;
    (void)tnp_progress_part(ctx, whole, choose || info->folds > 0 ? 0.8 : 0, 1);
    TN_TRY(tnp_linear_train(ctx, &job->linear, info->cost, job->w, &training));
    info->objective = training.objective;
    info->gap = training.gap;
    info->passes = training.passes;
    info->converged = training.converged;
done:
    return st;
}

static bool is_logistic(const tnp_chosen *c)
{
    return c->options->method == TNP_METHOD_LOGISTIC || c->options->method == TNP_METHOD_LOGISTIC_CV;
}

/* What training will need beside the rows: its solver for as many models as it trains at once, and for folds also their
 * weights, five times for a path, multipliers and held-out scores. Decides whether the solver works by products of
 * rows. */
static size_t reserve(tn_ctx *ctx, const tnp_chosen *c, size_t dim, bool *gram)
{
    const tnp_learn_options *learn = &c->options->learn;
    bool logistic = is_logistic(c), cv = tnp_chooses(c->options);
    tnp_linear_method method =
        tnp_linear_method_of(learn, logistic, c->options->rank.evidence.intercept, c->selection->task->kind);
    size_t folds = c->info->folds, rows = c->selection->task->y.rows, k = c->info->classes;
    size_t columns = k * tnp_max(folds, 1);
    size_t path = cv ? 4 * columns * (dim + 1) + 8 * rows + (logistic ? 0 : rows * columns) : 0;
    size_t kept = folds || cv ? 4 * (3 * rows * k + columns * (dim + 1) + path) : 0;
    method = tnp_linear_method_for(ctx, learn, method, rows, dim, columns, kept);
    *gram = method == TNP_BY_GRAM;
    columns = method == TNP_BY_SOFTMAX ? k : columns;
    size_t need = tnp_linear_bytes(rows, dim, columns, method) + kept,
           more = tnp_linear_more_bytes(rows, dim, columns, method);
    size_t block = tnp_design_block_rows(rows, dim) * dim * sizeof(float);
    return need + more + block <= tnp_budget_left(ctx) ? need + more : need;
}

tn_status tnp_train_linear(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    tnp_design *design = NULL;
    linear_job job = {.chosen = c};
    bool gram = false, cv = tnp_chooses(c->options);
    size_t dim = 0;
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t m = 0; m < c->count; ++m)
        dim += tn_feed_cols(c->feeds[m]);
    job.width = dim + 1;
    (void)tnp_progress_part(ctx, whole, 0, 0.2);
    TN_TRY(check(ctx, c));
    if (cv && c->options->valid.count > 0)
        TN_TRY(tnp_valid_open(ctx, c, &job.valid));
    else if (cv || c->options->learn.calibrate == TNP_CALIBRATE_YES)
        TN_TRY(tnp_plan_folds(ctx, c));
    TN_TRY(tnp_row_weights(ctx, c->selection->task, &c->options->learn, &job.row_weight));
    TN_TRY(tnp_design_new(ctx, c->feeds, c->count, reserve(ctx, c, dim, &gram), &design));
    job.linear = (tnp_linear){.rows = tnp_design_rows(design),
                              .design = tnp_design_here(design),
                              .task = c->selection->task,
                              .options = &c->options->learn,
                              .logistic = is_logistic(c),
                              .bias = c->options->rank.evidence.intercept,
                              .gram = gram,
                              .seed = c->options->rank.seed,
                              .row_weight = job.row_weight,
                              .folds = 1};
    (void)tnp_progress_part(ctx, whole, 0.2, 1);
    TN_TRY(train(ctx, &job));
    TN_TRY(tnp_begin_head(ctx, c, &head));
    fill_weights(&job, job.w, head);
    head->threshold = 0;
    head->log_evidence = NAN;
    if (job.valid)
        TN_TRY(judge_by_valid(ctx, &job, head));
    TN_TRY(set_temperature(ctx, &job, head));
    c->info->temperature = head->temperature;
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_design_free(design);
    tnp_free_all(job.row_weight, job.w, job.held_out, job.fold);
    tnp_task_free(job.valid);
    tn_head_free(job.probe);
    return st;
}
