/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfer for one class against the rest: the standardised problem, the method that was asked for or that
 * leave-one-out prefers, and an account of what it picked. MultiKT is not among the candidates of auto: its weights are
 * fitted to the very leave-one-out predictions that would judge it. */
#include "pipeline/transfer.h"
#include "learn/ridge/ridge.h"
#include "base/text.h"
#include "transfer/loo.h"
#include "transfer/multikt.h"
#include "transfer/logistic.h"
#include "transfer/ridge.h"

#include <math.h>
#include <string.h>

static const double ELASTIC_MIX = 0.5;

void tnp_transfer_found_destroy(transfer_found *f)
{
    tnp_greedy_path_free(f->path);
    tnp_free(f->steps);
    f->path = NULL;
    f->steps = NULL;
}

void tnp_transfer_drop_problem(transfer_job *job)
{
    tnp_transfer_problem_free(job->problem);
    tnp_ridge_basis_free(job->of_features);
    tnp_ridge_basis_free(job->of_all);
    job->problem = NULL;
    job->of_features = job->of_all = NULL;
}

tn_status tnp_transfer_constant(tn_ctx *ctx, const transfer_job *job, size_t k)
{
    return tnp_fail(ctx, TN_ERR_DATA, "%s: class '%s' is in all rows or in none", job->labels->path,
                    job->labels->names[k]);
}

/* job->problem for class k: other labels for the problem of the class before, or a new one. */
static tn_status set_problem(tn_ctx *ctx, transfer_job *job, size_t k)
{
    tn_status st = TN_OK;
    bool balanced = job->options->class_weight == TNP_WEIGHT_BALANCED;
    double *y = NULL, *weights = NULL;
    TN_TRY(tnp_alloc(ctx, job->rows, sizeof *y, &y));
    TN_TRY(tnp_alloc(ctx, job->rows, sizeof *weights, &weights));
    for (size_t i = 0; i < job->rows; ++i) {
        y[i] = tnp_target(&job->task->y, i, k) > 0.5 ? 1 : -1;
        weights[i] = job->row_weight ? job->row_weight[i] : 1;
    }
    if (job->task->constant[k])
        TN_TRY(tnp_transfer_constant(ctx, job, k));
    if (job->problem && !balanced) {
        TN_TRY(tnp_transfer_problem_relabel(ctx, job->problem, y));
    } else {
        tnp_transfer_drop_problem(job);
        if (balanced)
            tnp_transfer_balance(job->rows, y, weights);
        TN_TRY(tnp_transfer_problem_new(ctx, job->columns, y, weights, &job->problem));
    }
done:
    tnp_free_all(y, weights);
    return st;
}

static tnp_leaving leaving_of(const transfer_job *job)
{
    return (tnp_leaving){job->columns, job->problem->y, job->options->class_weight == TNP_WEIGHT_BALANCED,
                         job->row_weight};
}

static tn_status run_greedy(tn_ctx *ctx, const transfer_job *job, transfer_found *f)
{
    tn_status st = TN_OK;
    const tnp_transfer_problem *problem = job->problem;
    tnp_leaving leaving = leaving_of(job);
    double *w = NULL, *predicted = NULL, delta = job->options->delta;
    f->lambda = f->method == TNP_TRANSFER_BY_FORWARD ? 0 : job->options->lambda;
    TN_TRY(tnp_greedy_path_new(ctx, problem, f->lambda, delta, job->most, &f->path));
    size_t count = f->path->count;
    TN_TRY(tnp_alloc_raw(ctx, (count + 1) * job->rows, sizeof *predicted, &predicted));
    TN_TRY(tnp_alloc(ctx, count + 1, sizeof *f->steps, &f->steps));
    TN_TRY(tnp_leave_greedy(ctx, &leaving, f->lambda, delta, count, predicted, f->steps));
    f->picks = job->by_loo ? tnp_greedy_best(f->steps, count) : count;
    f->score = f->steps[f->picks];
    TN_TRY(tnp_alloc(ctx, f->picks, sizeof *w, &w));
    tnp_greedy_weights(f->path, f->picks, w);
    f->intercept = tnp_transfer_unscale(problem, f->path->picks, f->picks, w);
    for (size_t i = 0; i < f->picks; ++i)
        f->w[f->path->picks[i]] = w[i];
done:
    tnp_free_all(w, predicted);
    return st;
}

tn_status tnp_transfer_run(tn_ctx *ctx, transfer_job *job, const tnp_transfer_choice *choice, transfer_found *f)
{
    tn_status st = TN_OK;
    const tnp_transfer_problem *problem = job->problem;
    tnp_transfer_model *m = NULL;
    switch (f->method) {
    case TNP_TRANSFER_BY_NONE:
        st = tnp_transfer_ridge(ctx, problem, job->features, TNP_TRANSFER_NONE, &job->of_features, choice, &m);
        break;
    case TNP_TRANSFER_BY_RLS:
        st = tnp_transfer_ridge(ctx, problem, job->features, TNP_TRANSFER_RLS, &job->of_all, choice, &m);
        break;
    case TNP_TRANSFER_BY_DAM:
        st = tnp_transfer_ridge(ctx, problem, job->features, TNP_TRANSFER_DAM, &job->of_features, choice, &m);
        break;
    case TNP_TRANSFER_BY_AVERAGE:
        st = tnp_transfer_average(ctx, problem, job->features, &m);
        break;
    case TNP_TRANSFER_BY_MULTIKT_L1:
    case TNP_TRANSFER_BY_MULTIKT_L2:
        st = tnp_multikt(ctx, problem, job->features,
                         f->method == TNP_TRANSFER_BY_MULTIKT_L1 ? TNP_BALL_L1 : TNP_BALL_L2, &job->of_features, choice,
                         &m);
        break;
    default:
        st =
            tnp_transfer_logistic(ctx, problem, f->method == TNP_TRANSFER_BY_L1_LOGISTIC ? 1 : ELASTIC_MIX, choice, &m);
        break;
    }
    if (!m)
        return st;
    memcpy(f->w, m->weights, job->cols * sizeof *f->w);
    f->intercept = m->intercept;
    f->score = m->score;
    f->lambda = m->lambda;
    f->tau = m->tau;
    if (f->loo)
        memcpy(f->loo, m->loo, job->rows * sizeof *f->loo);
    tnp_transfer_model_free(m);
    return TN_OK;
}

static tn_status run_method(tn_ctx *ctx, transfer_job *job, transfer_found *f)
{
    memset(f->w, 0, job->cols * sizeof *f->w);
    bool greedy = tnp_transfer_method_of(f->method)->uses.family == TNP_TRANSFER_GREEDY;
    return greedy ? run_greedy(ctx, job, f) : tnp_transfer_run(ctx, job, NULL, f);
}

/* Ridge chose its lambda by leave-one-out; to be compared it must do so again without the row. Of many rows the least
 * of nine errors is hardly less than it should be, and a decomposition a part would cost more than all else. */
static tn_status judge(tn_ctx *ctx, const transfer_job *job, transfer_found *f)
{
    tn_status st = TN_OK;
    tnp_leaving leaving = leaving_of(job);
    tnp_ridge_method method = f->method == TNP_TRANSFER_BY_RLS ? TNP_TRANSFER_RLS : TNP_TRANSFER_NONE;
    double *predicted = NULL;
    if (f->path || job->rows > TNP_LEAVE_SINGLY)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, job->rows, sizeof *predicted, &predicted));
    TN_TRY(tnp_leave_ridge(ctx, &leaving, job->features, method, predicted, &f->score));
done:
    tnp_free(predicted);
    return st;
}

/* The candidate of the lowest leave-one-out error, the simpler of equals; errors go to out. */
static tn_status choose(tn_ctx *ctx, transfer_job *job, transfer_found *best, tn_transfer_class *out)
{
    static const int candidates[] = {TNP_TRANSFER_BY_NONE, TNP_TRANSFER_BY_RLS, TNP_TRANSFER_BY_GREEDYTL};
    double *const errors[] = {&out->none, &out->rls, &out->greedy};
    tn_status st = TN_OK;
    double *w = NULL;
    transfer_found trial = {.method = TNP_TRANSFER_BY_AUTO};
    bool any = false;
    TN_TRY(tnp_alloc(ctx, job->cols, sizeof *w, &w));
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; ++i) {
        if (candidates[i] == TNP_TRANSFER_BY_NONE && job->features == 0)
            continue;
        trial = (transfer_found){.method = candidates[i], .w = w};
        TN_TRY(run_method(ctx, job, &trial));
        TN_TRY(judge(ctx, job, &trial));
        *errors[i] = trial.score.error;
        if (!any || tnp_transfer_better(trial.score, best->score)) {
            double *kept = best->w;
            tnp_transfer_found_destroy(best);
            *best = trial;
            best->w = kept;
            memcpy(kept, w, job->cols * sizeof *w);
            trial.path = NULL; /* the best's now */
            trial.steps = NULL;
            any = true;
        }
        tnp_transfer_found_destroy(&trial);
    }
done:
    tnp_transfer_found_destroy(&trial);
    tnp_free(w);
    return st;
}

/* ---- the account ---- */

static tn_status name_pick(tn_ctx *ctx, const transfer_job *job, size_t column, tn_pick *out)
{
    tn_status st = TN_OK;
    char *name = NULL;
    tnp_text text;
    size_t t = 0, j = column;
    out->is_source = column >= job->features;
    out->index = out->is_source ? column - job->features : column;
    if (out->is_source) {
        TN_TRY(tnp_transfer_source_name(ctx, job, out->index, true, &name));
    } else {
        while (j >= tn_feed_cols(job->candidates->feeds[t]))
            j -= tn_feed_cols(job->candidates->feeds[t++]);
        tnp_text_init(&text, ctx);
        tnp_text_add(&text, "%s[%zu]", job->candidates->names[t], j);
        TN_TRY(tnp_text_take(&text, &name));
    }
    TN_TRY(tnp_strdup(ctx, name, &out->name));
done:
    tn_text_free(name);
    return st;
}

/* Features of a dense method are not a choice: its picks are the sources. */
static bool is_dense(int method)
{
    int family = tnp_transfer_method_of(method)->uses.family;
    return family != TNP_TRANSFER_GREEDY && family != TNP_TRANSFER_LOGISTIC;
}

static tn_status list_picks(tn_ctx *ctx, const transfer_job *job, const transfer_found *f, tn_transfer_class *out)
{
    tn_status st = TN_OK;
    size_t first = is_dense(f->method) ? job->features : 0, count = 0;
    for (size_t j = first; j < job->cols; ++j)
        count += f->w[j] != 0;
    count = f->path ? f->picks : count;
    TN_TRY(tnp_alloc(ctx, count, sizeof *out->picks, &out->picks));
    for (size_t i = 0, j = first; i < count; ++i, ++j) {
        while (!f->path && f->w[j] == 0)
            ++j;
        size_t column = f->path ? f->path->picks[i] : j;
        TN_TRY(name_pick(ctx, job, column, &out->picks[i]));
        out->picks[i].weight = f->w[column];
        ++out->pick_count;
    }
done:
    return st;
}

static tn_status list_steps(tn_ctx *ctx, const transfer_found *f, tn_transfer_class *out)
{
    tn_status st = TN_OK;
    if (!f->path)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, f->path->count, sizeof *out->objective, &out->objective));
    TN_TRY(tnp_alloc(ctx, f->path->count + 1, sizeof *out->path, &out->path));
    out->step_count = f->path->count;
    memcpy(out->objective, f->path->objective, f->path->count * sizeof *out->objective);
    for (size_t s = 0; s <= f->path->count; ++s)
        out->path[s] = f->steps[s].error;
done:
    return st;
}

tn_status tnp_transfer_account(tn_ctx *ctx, const transfer_job *job, const transfer_found *f, tn_transfer_class *out)
{
    tn_status st = TN_OK;
    out->method = tnp_transfer_method_of(f->method)->uses.word;
    out->loo_error = f->score.error;
    out->lambda = f->lambda;
    out->tau = f->tau;
    TN_TRY(list_picks(ctx, job, f, out));
    TN_TRY(list_steps(ctx, f, out));
done:
    return st;
}

tn_status tnp_transfer_class(tn_ctx *ctx, transfer_job *job, size_t k, size_t r, tn_transfer_class *out)
{
    tn_status st = TN_OK;
    transfer_found f = {.method = job->options->method, .w = job->weights + r * job->cols};
    out->none = out->rls = out->greedy = NAN;
    TN_TRY(set_problem(ctx, job, k));
    if (f.method == TNP_TRANSFER_BY_AUTO)
        TN_TRY(choose(ctx, job, &f, out));
    else
        TN_TRY(run_method(ctx, job, &f));
    job->intercepts[r] = f.intercept;
    TN_TRY(tnp_transfer_account(ctx, job, &f, out));
done:
    tnp_transfer_found_destroy(&f);
    return st;
}
