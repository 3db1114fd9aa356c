/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out of everything: standardisation, picks and the choice of lambda too. The closed forms for given picks or
 * a given lambda, residual (P y)_i/(P_ii - u_i^2), choose lambda but were refused for judging: twenty rows and a
 * thousand columns leave so much to choose from that picks made with a row fit it, and that form says 0 % of errors
 * where new rows have 10 to 20 %; the least of nine errors is too hopeful likewise, and methods that are compared must
 * not be so to different degrees. A row of weight 0 is not there (transfer/problem.c), so the raw columns serve all
 * parts. Oracle: tests/ref/ref_transfer.c, which does everything literally on the other rows. */
#include "transfer/loo.h"

#include <string.h>

typedef struct part_job {
    const tnp_leaving *leaving;
    size_t steps;      /* predictions of a row */
    double *predicted; /* (steps, rows) */
    size_t *part;      /* (rows) */
    double *weights;   /* (rows) */
    double *work;      /* (steps): predictions of a row; scratch of tnp_greedy_predict */
    /* The greedy path's, and ridge's. */
    double lambda, delta;
    size_t features;
    tnp_ridge_method method;
} part_job;

/* Fits without the rows of weight 0; predictions of those in part `which`. */
typedef tn_status refit(tn_ctx *ctx, const part_job *job, const tnp_transfer_problem *problem, size_t which);

/* Rows of one class after those of the other, in turn. */
static void deal(const part_job *job, size_t many)
{
    const double *y = job->leaving->y;
    size_t next = 0;
    for (int side = 1; side >= -1; side -= 2)
        for (size_t i = 0; i < job->leaving->columns->rows; ++i)
            if (y[i] * side > 0)
                job->part[i] = next++ % many;
}

/* The class of the rows that stay when they have one only; 0: both. */
static double only_class(const part_job *job)
{
    const double *y = job->leaving->y;
    double seen = 0;
    for (size_t i = 0; i < job->leaving->columns->rows; ++i) {
        if (job->weights[i] > 0 && seen != 0 && y[i] != seen)
            return 0;
        seen = job->weights[i] > 0 ? y[i] : seen;
    }
    return seen;
}

static tn_status leave_part(tn_ctx *ctx, const part_job *job, refit *fit, size_t which)
{
    const tnp_leaving *from = job->leaving;
    tn_status st = TN_OK;
    size_t rows = from->columns->rows;
    tnp_transfer_problem *problem = NULL;
    for (size_t i = 0; i < rows; ++i)
        job->weights[i] = job->part[i] == which ? 0 : from->row_weight ? from->row_weight[i] : 1;
    double only = only_class(job);
    for (size_t i = 0; only != 0 && i < rows; ++i)
        for (size_t s = 0; job->part[i] == which && s < job->steps; ++s)
            job->predicted[s * rows + i] = only;
    if (only != 0)
        return TN_OK;
    if (from->balanced)
        tnp_transfer_balance(rows, from->y, job->weights);
    TN_TRY(tnp_transfer_problem_new(ctx, from->columns, from->y, job->weights, &problem));
    TN_TRY(fit(ctx, job, problem, which));
done:
    tnp_transfer_problem_free(problem);
    return st;
}

static tn_status leave_all(tn_ctx *ctx, part_job *job, refit *fit, tnp_transfer_score *score)
{
    tn_status st = TN_OK;
    size_t rows = job->leaving->columns->rows, many = tnp_leave_parts(rows);
    TN_TRY(tnp_alloc(ctx, rows, sizeof *job->part, &job->part));
    TN_TRY(tnp_alloc(ctx, rows, sizeof *job->weights, &job->weights));
    TN_TRY(tnp_alloc(ctx, job->steps + tnp_greedy_work(job->steps, 1), sizeof *job->work, &job->work));
    deal(job, many);
    for (size_t which = 0; which < many; ++which) {
        TN_TRY(tnp_progress(ctx, "leave-one-out", which, many));
        TN_TRY(leave_part(ctx, job, fit, which));
    }
    for (size_t s = 0; s < job->steps; ++s)
        score[s] = tnp_transfer_score_of(rows, job->leaving->y, job->predicted + s * rows);
done:
    tnp_free_all(job->part, job->weights, job->work);
    return st;
}

static tn_status refit_greedy(tn_ctx *ctx, const part_job *job, const tnp_transfer_problem *problem, size_t which)
{
    size_t rows = problem->rows, most = job->steps - 1;
    tnp_greedy_path *path = NULL;
    tn_status st = tnp_greedy_path_new(ctx, problem, job->lambda, job->delta, most, &path);
    for (size_t i = 0; st == TN_OK && i < rows; ++i) {
        if (job->part[i] != which)
            continue;
        tnp_greedy_predict(path, problem, &i, 1, job->work + job->steps, job->work);
        for (size_t s = 0; s <= most; ++s)
            job->predicted[s * rows + i] = job->work[tnp_min(s, path->count)];
    }
    tnp_greedy_path_free(path);
    return st;
}

tn_status tnp_leave_greedy(tn_ctx *ctx, const tnp_leaving *leaving, double lambda, double delta, size_t count,
                           double *predicted, tnp_transfer_score *score)
{
    part_job job = {.leaving = leaving, .steps = count + 1, .predicted = predicted, .lambda = lambda, .delta = delta};
    return leave_all(ctx, &job, refit_greedy, score);
}

size_t tnp_greedy_best(const tnp_transfer_score *score, size_t count)
{
    size_t best = 0;
    for (size_t s = 1; s <= count; ++s)
        if (tnp_transfer_better(score[s], score[best]))
            best = s;
    return best;
}

static tn_status refit_ridge(tn_ctx *ctx, const part_job *job, const tnp_transfer_problem *problem, size_t which)
{
    tnp_transfer_model *model = NULL;
    tn_status st = tnp_transfer_ridge(ctx, problem, job->features, job->method, NULL, NULL, &model);
    for (size_t i = 0; st == TN_OK && i < problem->rows; ++i) {
        if (job->part[i] != which)
            continue;
        double sum = model->intercept;
        for (size_t j = 0; j < problem->cols; ++j)
            sum += model->weights[j] * tnp_transfer_value(problem->columns, i, j);
        job->predicted[i] = sum;
    }
    tnp_transfer_model_free(model);
    return st;
}

tn_status tnp_leave_ridge(tn_ctx *ctx, const tnp_leaving *leaving, size_t features, tnp_ridge_method method,
                          double *predicted, tnp_transfer_score *score)
{
    part_job job = {.leaving = leaving, .steps = 1, .predicted = predicted, .features = features, .method = method};
    return leave_all(ctx, &job, refit_ridge, score);
}
