/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Method lda: linear discriminants with a shrunk covariance (learn/ridge/discriminant.c) on a chosen set. They are the
 * ridge head at one lambda with a matrix of classes by classes behind it, so that everything that reads rows is the
 * ridge's.
 *
 *   lambda        as given, or the best of option grid by the rows of option valid, of a hold-out, or of folds
 *                 (lambda_search.c); without a row to judge by the middle of the grid that is tried otherwise
 *   temperature   of the scores that the choice has held out; without such scores 1, for these are log-odds, as a
 *                 logistic head's are
 *   few rows      discriminants are there for any lambda above 0. As many classes as rows: nothing is known of how rows
 *                 lie about their class mean, the head is the nearest class mean, and there are no probabilities
 *
 * Closed-form leave-one-out is the ridge's: its figures beside such a head speak for the representations. */
#include "pipeline/parts.h"
#include "learn/ridge/discriminant.h"

#include <math.h>
#include <string.h>

typedef struct lda_job {
    const tnp_chosen *chosen;
    tnp_task *valid; /* rows of option valid, where they choose; else NULL */
    uint32_t *fold;
    float *held_out; /* scores of rows that judge, by models without them; NULL: there are none */
    double lambda;
} lda_job;

tn_status tnp_check_lda(tn_ctx *ctx, const tnp_fit_options *o, tn_task task)
{
    if (o->method != TNP_METHOD_LDA)
        return TN_OK;
    if (task != TN_TASK_MULTICLASS)
        return tnp_fail(ctx, TN_ERR_ARG, "option method lda needs one class per row, but the task is %s",
                        tn_task_name(task));
    if (!o->rank.evidence.intercept)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option method lda goes by class means about the mean of all rows; got option "
                        "intercept no, expected yes");
    return TN_OK;
}

tn_status tnp_discriminate(tn_ctx *ctx, const tnp_ridge *ridge, double lambda, tn_head *head)
{
    tn_status st = TN_OK;
    tnp_discriminant *d = NULL;
    TN_TRY(tnp_discriminant_new(ctx, ridge, lambda, &d));
    TN_TRY(tnp_discriminant_weights(ctx, d, head->dim, head->weight, head->bias));
    head->threshold = 0;
done:
    tnp_discriminant_free(d);
    return st;
}

double tnp_plain_temperature(const tnp_ridge *ridge)
{
    size_t present = 0;
    for (size_t k = 0; k < ridge->classes; ++k)
        present += ridge->ymean[k] > 0;
    return ridge->rows > present ? 1 : 0;
}

/* Qualities of the grid by folds or a hold-out, and the scores of the best. */
static tn_status judge_by_folds(tn_ctx *ctx, lda_job *job, tnp_cross *cross)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    tnp_lambda_search search = {.task = c->selection->task,
                                .cross = cross,
                                .discriminants = true,
                                .keep = c->options->learn.calibrate != TNP_CALIBRATE_NO};
    TN_TRY(tnp_make_folds(ctx, c, &job->fold));
    search.fold = job->fold;
    TN_TRY(tnp_lambda_search_init(ctx, &search));
    const tnp_also asks = tnp_lambda_search_asks(&search);
    TN_TRY(tnp_ridge_folds(ctx, c->ridge, c->feeds, c->count, &search.task->y, &asks, 1, job->fold, cross->folds));
    tnp_lambda_search_end(&search);
    if (cross->best < cross->count)
        TN_TRY(tnp_lambda_search_scores(ctx, &search, cross->best, &job->held_out));
done:
    tnp_lambda_search_destroy(&search);
    return st;
}

/* Lambda by rows that are held out. One that was given is all there is to try: for its scores. */
static tn_status choose_lambda(tn_ctx *ctx, lda_job *job)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    bool chooses = tnp_chooses(c->options);
    double usual[TNP_LAMBDA_COUNT], *grid = NULL;
    size_t count = tnp_lambdas_about(tnp_middle_lambda(c), true, usual);
    tnp_cross *cross = NULL;
    TN_TRY(tnp_grid_new(ctx, &c->options->learn.grid, usual, count, &grid, &count));
    TN_TRY(tnp_cross_new(ctx, chooses ? grid : &job->lambda, chooses ? count : 1, tnp_max(c->info->folds, 1), &cross));
    TN_TRY(job->valid ? tnp_judge_by_valid(ctx, c, job->valid, cross) : judge_by_folds(ctx, job, cross));
    if (chooses && cross->best < cross->count) {
        job->lambda = cross->grid[cross->best];
        c->info->lambda_rule = "cv";
    }
    if (chooses)
        tnp_keep_cross(c, cross, job->valid ? job->valid->y.rows : c->info->validation_rows);
done:
    tnp_free(grid);
    tnp_cross_free(cross);
    return st;
}

/* Which rows judge, and lambda. */
static tn_status find_lambda(tn_ctx *ctx, lda_job *job)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    bool chooses = tnp_chooses(c->options);
    TN_TRY(tnp_alloc(ctx, c->info->classes, sizeof *c->info->lambda, &c->info->lambda));
    job->lambda = chooses ? tnp_middle_lambda(c) : c->options->lambda.value;
    c->info->lambda_rule = chooses ? "auto" : "fixed";
    if (chooses && c->options->valid.count > 0)
        TN_TRY(tnp_valid_open(ctx, c, &job->valid));
    else if (chooses || c->options->learn.calibrate == TNP_CALIBRATE_YES)
        TN_TRY(tnp_plan_folds(ctx, c));
    if (job->valid || c->info->folds > 0)
        TN_TRY(choose_lambda(ctx, job));
    tnp_set_lambda(c, job->lambda);
done:
    return st;
}

static tn_status set_temperature(tn_ctx *ctx, lda_job *job, tn_head *head)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    double value;
    head->temperature = tnp_plain_temperature(c->ridge);
    if (job->valid && c->options->learn.calibrate != TNP_CALIBRATE_NO) {
        size_t size = job->valid->y.rows * job->valid->y.classes;
        TN_TRY(tnp_alloc_raw(ctx, size, sizeof *job->held_out, &job->held_out));
        TN_TRY(tnp_valid_judge(ctx, &c->options->valid, job->valid, head, job->held_out, &value));
    }
    if (job->held_out)
        TN_TRY(tnp_held_out_temperature(ctx, c, job->valid, job->fold, job->held_out, head));
    else if (c->options->learn.calibrate == TNP_CALIBRATE_YES)
        head->temperature = 0;
    TN_TRY(tnp_say_no_probabilities(ctx, c, head->temperature));
done:
    c->info->temperature = head->temperature;
    return st;
}

tn_status tnp_train_lda(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    lda_job job = {.chosen = c};
    tn_head *head = NULL;
    tnp_share whole = tnp_progress_now(ctx);
    (void)tnp_progress_part(ctx, whole, 0, 0.8);
    TN_TRY(find_lambda(ctx, &job));
    (void)tnp_progress_part(ctx, whole, 0.8, 1);
    TN_TRY(tnp_begin_head(ctx, c, &head));
    TN_TRY(tnp_fill_ridge(ctx, c, c->ridge, NULL, head));
    TN_TRY(tnp_discriminate(ctx, c->ridge, job.lambda, head));
    TN_TRY(tnp_head_add_lambda(ctx, head));
    memcpy(head->lambda, c->info->lambda, head->classes * sizeof *head->lambda);
    TN_TRY(set_temperature(ctx, &job, head));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tnp_task_free(job.valid);
    tnp_free_all(job.fold, job.held_out);
    return st;
}
