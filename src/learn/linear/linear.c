/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One way to train every linear classifier: columns (class, or class and fold) with their costs, a loss, a solver.
 *
 *   svm, squared hinge                 Newton on the active rows, active.c; at a small C after coordinate descent, of
 *                                      a team at once
 *   the same with its rows in files    dual coordinate descent, svm_dual.c; with a free intercept Newton, newton.c
 *   svm, hinge                         dual coordinate descent (a free intercept is refused: no second derivative)
 *   logistic, multi-class              L-BFGS with a subspace or with blocks of classes, softmax.c
 *   logistic, multi-label              Newton, a binary logistic model per class
 *
 * These work in float. What they hand out is certified in double (certify.c, certify_softmax.c); a column whose gap is
 * larger than what was asked for changes to whole Hessians in double (exact.c), the softmax to softmax_exact.c, each as
 * far as max-passes and the budget allow. What then is not converged says so.
 *
 * A held-out class that has no positive row left is trained like any other: it learns to say no. */
#include "learn/linear/linear.h"
#include "algebra/blas.h"
#include "base/team.h"
#include "learn/linear/active.h"
#include "learn/linear/certify.h"
#include "learn/linear/exact.h"
#include "learn/linear/fold_cost.h"
#include "learn/softmax/softmax.h"
#include "learn/linear/svm_dual.h"
#include "learn/linear/train_softmax.h"

#include <math.h>
#include <string.h>

static const double NOTHING = 1e-3; /* of the mean objective of a column */
static const double MOST_COST = 1e30;
static const double FAR = 1.0 / 85; /* of tnp_active_reach, per column of the rows: C = 3 with 512 and a length of 1 */
static const double FAR_WARM =
    3.5; /* of it from WIDE columns on, with the weights of others: C = 1.8 with a length of 1 */
enum { SLIM = 160, WIDE = 512 }; /* columns: of rows that begin with no weights, and with those of others */

tn_status tnp_grid_new(tn_ctx *ctx, const tnp_reals *given, const double *standard, size_t standard_count, double **out,
                       size_t *count)
{
    double *grid = NULL;
    const double *from = given->count > 0 ? given->items : standard;
    *count = given->count > 0 ? given->count : standard_count;
    tn_status st = tnp_alloc(ctx, *count, sizeof *grid, &grid);
    if (st != TN_OK)
        return st;
    memcpy(grid, from, *count * sizeof *grid);
    *out = grid;
    return TN_OK;
}

/* Arrays that a tnp_columns borrows. */
typedef struct column_arrays {
    uint32_t *fold;
    float *positive, *negative, *fold_weight;
} column_arrays;

static void column_arrays_free(column_arrays *own)
{
    tnp_free_all(own->fold, own->positive, own->negative, own->fold_weight);
}

/* Costs of the columns of fold f, whose training has n rows and sizes (classes) of them positive. */
static void fold_costs(const tnp_linear *l, double cost, size_t f, size_t n, const size_t *sizes, column_arrays *own)
{
    bool balance = l->options->class_weight == TNP_WEIGHT_BALANCED && l->task->kind == TN_TASK_MULTILABEL;
    size_t classes = l->task->y.classes;
    double c = tnp_cost_of(l, cost, n);
    for (size_t k = 0; k < classes; ++k) {
        size_t j = f * classes + k;
        double share = balance && sizes[k] > 0 && sizes[k] < n ? (double)sizes[k] / (double)n : 0.5;
        own->fold[j] = (uint32_t)f;
        /* A constant class costs nothing and is solved at once; the head gives it its constant. */
        own->positive[j] = l->task->constant[k] ? 0 : (float)(c * 0.5 / share);
        own->negative[j] = l->task->constant[k] ? 0 : (float)(c * 0.5 / (1 - share));
    }
}

static tn_status make_columns(tn_ctx *ctx, const tnp_linear *l, double cost, column_arrays *own, tnp_columns *out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &l->task->y;
    size_t count = y->classes * l->folds, *sizes = NULL;
    TN_TRY(tnp_alloc(ctx, count, sizeof *own->fold, &own->fold));
    TN_TRY(tnp_alloc(ctx, count, sizeof *own->positive, &own->positive));
    TN_TRY(tnp_alloc(ctx, count, sizeof *own->negative, &own->negative));
    TN_TRY(tnp_alloc(ctx, 2 * y->classes, sizeof *sizes, &sizes));
    for (size_t f = 0; f < l->folds; ++f) {
        size_t n = tnp_count_training(l, f, sizes);
        fold_costs(l, cost, f, n, sizes, own);
    }
    if (tnp_balances_folds(l)) {
        TN_TRY(tnp_alloc(ctx, count, sizeof *own->fold_weight, &own->fold_weight));
        tnp_fold_weights(l, sizes, own->fold_weight);
    }
    *out = (tnp_columns){.y = y,
                         .count = count,
                         .fold = l->row_fold ? own->fold : NULL,
                         .row_fold = l->row_fold,
                         .row_weight = l->row_weight,
                         .positive_cost = own->positive,
                         .negative_cost = own->negative,
                         .fold_weight = own->fold_weight};
done:
    tnp_free(sizes);
    return st;
}

/* What is not converged says so where people see it; `worst` is the largest gap beside what it is measured by. Classes
 * that are trained one by one are judged one by one. Folds say it once for all, whatever C it was: they only choose. */
static void tell(tn_ctx *ctx, const tnp_linear *l, const tnp_training *out, double worst, bool by_class)
{
    if (out->converged)
        return;
    if (l->row_fold)
        tnp_warn(ctx, "training: models of some folds did not reach the option gap that was asked for");
    else
        tnp_warn(
            ctx,
            "training: after %zu passes %s is only certain to be within %.3g %% of %s optimum, option gap asks for "
            "%.2g %%: more option max-passes, more option mem or another option normalize may help",
            out->passes, by_class ? "a class" : "the head", 100 * worst, by_class ? "its" : "the",
            100 * l->options->gap);
}

static tnp_newton_options newton_options(const tnp_linear *l)
{
    return (tnp_newton_options){l->options->gap, tnp_min(l->options->max_passes, 200), l->bias,
                                l->options->penalise_bias && !l->logistic, l->seed};
}

/* What the columns of a training are solved with, and where their results go. */
typedef struct training_job {
    const tnp_linear *l;
    const tnp_columns *columns;
    float *w;
    double *objective, *gap; /* columns each */
    size_t *cols;            /* columns: scratch */
    tnp_training *out;
} training_job;

static tnp_margin loss_of(const tnp_linear *l)
{
    return l->logistic ? TNP_LOGISTIC : l->options->loss == TNP_SVM_HINGE ? TNP_HINGE : TNP_SQUARED_HINGE;
}

static bool penalised(const tnp_linear *l)
{
    return l->options->penalise_bias && !l->logistic;
}

/* Objective and gap of the columns job->cols[0..count). */
static tn_status certify(tn_ctx *ctx, const training_job *job, size_t count)
{
    const tnp_linear *l = job->l;
    tnp_claim claim = {.columns = job->columns,
                       .loss = loss_of(l),
                       .bias = l->bias,
                       .penalised = penalised(l),
                       .count = count,
                       .cols = job->cols,
                       .w = job->w};
    return tnp_certify(ctx, &l->rows, &claim, job->objective, job->gap);
}

/* Makes job->cols all columns; how many. */
static size_t all_columns(const training_job *job)
{
    for (size_t j = 0; j < job->columns->count; ++j)
        job->cols[j] = j;
    return job->columns->count;
}

/* Columns whose gap is larger than what was asked for, into job->cols, and the largest gap of one beside its objective.
 * One that can be brought to nothing (a fold without any row of one side) never has a small gap beside its own
 * objective: where the gap of all is small enough beside all, it may be small beside their mean. */
static size_t unsolved(const training_job *job, double *worst)
{
    size_t n = 0, count = job->columns->count;
    double total = 0, sum = 0, least = 0, asked = job->l->options->gap;
    for (size_t j = 0; j < count; ++j) {
        total += job->objective[j];
        sum += job->gap[j];
    }
    if (sum <= asked * total)
        least = NOTHING * total / (double)count;
    *worst = 0;
    for (size_t j = 0; j < count; ++j)
        if (job->gap[j] > asked * fmax(job->objective[j], least)) {
            *worst = fmax(*worst, job->gap[j] / job->objective[j]);
            job->cols[n++] = j;
        }
    return n;
}

/* Of the columns job->cols[0..count) those whose gap is larger than what was asked for; how many. */
static size_t keep_unsolved(const training_job *job, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; ++i) {
        size_t j = job->cols[i];
        if (!(job->gap[j] <= job->l->options->gap * job->objective[j]))
            job->cols[n++] = j;
    }
    return n;
}

/* Columns that are worse than no weights at all, whose objective is the sum of their costs (logistic: times log 2):
 * float lost them, or has no such numbers. They start anew, and are certified there. */
static tn_status start_anew(tn_ctx *ctx, const training_job *job)
{
    tn_status st = TN_OK;
    const tnp_columns *columns = job->columns;
    size_t count = columns->count, width = job->l->rows.dim + 1, n = 0;
    double *nothing = NULL;
    float *a = NULL;
    TN_TRY(tnp_alloc(ctx, count, sizeof *nothing, &nothing));
    TN_TRY(tnp_alloc(ctx, count, sizeof *a, &a));
    for (size_t j = 0; j < count; ++j)
        job->cols[j] = j;
    for (size_t i = 0; i < columns->y->rows; ++i) {
        tnp_signed_costs(columns, i, job->cols, count, a);
        for (size_t j = 0; j < count; ++j)
            nothing[j] += fabs((double)a[j]) * (job->l->logistic ? log(2) : 1);
    }
    for (size_t j = 0; j < count; ++j)
        if (!(job->objective[j] <= nothing[j])) {
            memset(job->w + j * width, 0, width * sizeof *job->w);
            job->cols[n++] = j;
        }
    TN_TRY(certify(ctx, job, n));
done:
    tnp_free_all(nothing, a);
    return st;
}

/* Changes the route for the columns that the first did not bring to their gap, which took `passes` of those allowed. */
static tn_status by_exact(tn_ctx *ctx, const training_job *job, size_t passes)
{
    const tnp_learn_options *o = job->l->options;
    double worst;
    size_t count = unsolved(job, &worst);
    if (passes >= o->max_passes)
        return TN_OK;
    tnp_exact_options options = {loss_of(job->l), job->l->bias, penalised(job->l), o->gap, o->max_passes - passes};
    return tnp_exact_solve(ctx, &job->l->rows, job->columns, job->cols, count, &options, job->l->alpha, job->w,
                           job->objective, job->gap, &job->out->passes);
}

static tn_status by_newton(tn_ctx *ctx, const training_job *job, size_t *steps)
{
    const tnp_linear *l = job->l;
    tnp_loss loss = l->logistic ? tnp_binary_logistic(job->columns) : tnp_squared_hinge(job->columns);
    tnp_newton_options options = newton_options(l);
    tnp_newton_info info = {0};
    tn_status st =
        tnp_newton_solve(ctx, &l->rows, job->columns->count, &loss, &options, job->w, job->objective, job->gap, &info);
    job->out->passes = info.products;
    *steps = info.iterations;
    return st == TN_OK ? certify(ctx, job, all_columns(job)) : st;
}

/* Models of folds only choose: what their solvers say of them is enough, and a certificate would cost a quarter of their
 * time. */
static bool is_rough(const tnp_linear *l)
{
    return l->row_fold != NULL;
}

static tn_status by_dual(tn_ctx *ctx, const training_job *job, bool active, size_t *passes)
{
    const tnp_linear *l = job->l;
    tnp_dual_options options = {.squared = l->options->loss == TNP_SVM_SQUARED_HINGE,
                                .bias = l->bias,
                                .tolerance = l->options->gap,
                                .max_passes = l->options->max_passes,
                                .seed = l->seed,
                                .gram = l->gram,
                                .slow = active ? TNP_SLOW_TO_ACTIVE : TNP_SLOW_TO_EXACT,
                                .rough = is_rough(l)};
    tnp_dual_info info = {0};
    tn_status st =
        tnp_dual_solve(ctx, l->design, job->columns, &options, l->alpha, job->w, job->objective, job->gap, &info);
    *passes = job->out->passes = info.passes;
    return st;
}

/* ---- the squared hinge with its rows at hand ---- */

static tn_status active_can(tn_ctx *ctx, const tnp_linear *l, bool *can)
{
    size_t left = 0;
    *can = loss_of(l) == TNP_SQUARED_HINGE && l->rows.ops->at_hand(l->rows.self).x;
    tn_status st = *can ? tnp_team_budget_left(ctx, &left) : TN_OK;
    *can = *can && tnp_active_bytes(l->rows.rows, l->rows.dim) <= left;
    return st;
}

/* Columns job->cols[0..count). */
static tn_status by_active(tn_ctx *ctx, const training_job *job, size_t count, size_t *passes)
{
    tn_status st = TN_OK;
    const tnp_linear *l = job->l;
    if (count == 0 || *passes >= l->options->max_passes)
        return TN_OK;
    tnp_active_options options = {l->bias, penalised(l), l->options->gap, l->options->max_passes - *passes,
                                  is_rough(l)};
    TN_TRY(tnp_active_solve(ctx, &l->rows, job->columns, job->cols, count, &options, job->w, job->objective, job->gap,
                            passes));
    job->out->passes = *passes;
    if (is_rough(l))
        count = keep_unsolved(job, count);
    TN_TRY(certify(ctx, job, count));
done:
    return st;
}

/* Whether the training starts from weights that others left. */
static bool is_warm(const training_job *job)
{
    size_t size = job->columns->count * (job->l->rows.dim + 1);
    for (size_t i = 0; i < size; ++i)
        if (job->w[i] != 0)
            return true;
    return false;
}

/* Where active.c begins: where it is the faster way, and for a team, which has no other by single rows. From no weights
 * its first steps have thousands of active rows, and cost the more the wider rows are; coordinate descent leaves some
 * hundred after a dozen passes, and hands over what is slow then (active_pays in svm_dual.c). Milliseconds of two threads
 * to a gap of 1e-3, active and dual first, at C = 1, 10, 100 with rows of length 1 and 5994 x 64, 128, 160 and 192, 200
 * columns: 89, 117, 163 and 95, 182, 232; 135, 157, 219 and 102, 170, 257; 134, 193, 286 and 103, 179, 233; 103, 220, 321
 * and 103, 175, 236.
 * Weights that others left are near, whatever the width: a step or two where coordinate descent has to find all
 * multipliers again. Narrow rows have cheap steps at any C. Seconds of svm-cv where active begins at a reach of 0.35, 1,
 * 3.5, 10 and never: (5994 x 64, 100 classes) 0.27, 0.31, 0.46, 0.65, 0.71; (5994 x 128, 200) 0.63, 0.73, 0.89, 0.95,
 * 1.11; (3030 x 256, 101) 0.34, 0.33, 0.34, 0.45, 0.53; (5994 x 512, 200) 1.65, 1.09, 1.00, 1.06, 1.06; (3030 x 1280,
 * 101) 1.48, 1.12, 0.96, 1.17, 1.53; (5000 x 2048, 50) 2.5, 1.9, 1.3, 1.4, 1.4; by products of rows (1000 x 8192, 50)
 * 2.8, 1.8, 0.75, 0.41, 0.40. */
static tn_status active_begins(tn_ctx *ctx, const training_job *job, tnp_linear_method method, bool *begins)
{
    const tnp_linear *l = job->l;
    double reach;
    tn_status st = tnp_active_reach(ctx, &l->rows, job->columns, l->bias, &reach);
    bool warm = is_warm(job);
    double dim = (double)l->rows.dim, from = l->gram ? FAR / 4 * dim : FAR_WARM * fmin(pow(dim / WIDE, 1.5), 1);
    bool far = st == TN_OK && reach > (warm ? from : FAR * dim);
    far &= warm || (!l->gram && l->rows.dim < SLIM);
    *begins = !l->design || method == TNP_BY_NEWTON || far;
    return st;
}

/* By the first route, then what it has not solved by the others. */
static tn_status solve_columns(tn_ctx *ctx, const training_job *job, tnp_linear_method method)
{
    tn_status st = TN_OK;
    const tnp_linear *l = job->l;
    bool active = false, begins = false;
    size_t passes = 0;
    double worst;
    TN_TRY(active_can(ctx, l, &active));
    if (active)
        TN_TRY(active_begins(ctx, job, method, &begins));
    if (begins)
        TN_TRY(by_active(ctx, job, all_columns(job), &passes));
    else if (method == TNP_BY_NEWTON || (!l->design && loss_of(l) == TNP_SQUARED_HINGE))
        TN_TRY(by_newton(ctx, job, &passes));
    else
        TN_TRY(l->design ? by_dual(ctx, job, active, &passes) : certify(ctx, job, all_columns(job)));
    TN_TRY(start_anew(ctx, job));
    if (active && !begins)
        TN_TRY(by_active(ctx, job, unsolved(job, &worst), &passes));
    TN_TRY(by_exact(ctx, job, passes));
done:
    return st;
}

static void sum_up(tn_ctx *ctx, const training_job *job)
{
    double worst;
    job->out->objective = job->out->gap = 0;
    for (size_t j = 0; j < job->columns->count; ++j) {
        job->out->objective += job->objective[j];
        job->out->gap += job->gap[j];
    }
    job->out->converged = unsolved(job, &worst) == 0;
    tell(ctx, job->l, job->out, worst, true);
}

/* Costs are floats, and so are their products with rows. */
static tn_status check_costs(tn_ctx *ctx, const tnp_linear *l, double cost)
{
    for (size_t i = 0; l->row_weight && i < l->task->y.rows; ++i)
        if (cost * (double)l->row_weight[i] > MOST_COST)
            return tnp_fail(ctx, TN_ERR_DATA,
                            "option sample-weight: C times the weight of training row %zu is %.3g, expected at most %g",
                            i, cost * (double)l->row_weight[i], MOST_COST);
    return TN_OK;
}

tn_status tnp_linear_train(tn_ctx *ctx, const tnp_linear *l, double cost, float *w, tnp_training *out)
{
    tn_status st = TN_OK;
    column_arrays own = {0};
    tnp_columns columns;
    training_job job = {.l = l, .columns = &columns, .w = w, .out = out};
    tnp_linear_method method = tnp_linear_method_of(l->options, l->logistic, l->bias, l->task->kind);
    if (!l->logistic && method == TNP_BY_NEWTON && l->options->loss == TNP_SVM_HINGE)
        return tnp_fail(ctx, TN_ERR_ARG, "option loss hinge needs option penalise-bias yes (or option intercept no)");
    TN_TRY(check_costs(ctx, l, cost));
    if (method == TNP_BY_SOFTMAX) {
        TN_TRY(tnp_train_softmax(ctx, l, cost, w, out));
        tell(ctx, l, out, out->objective > 0 ? out->gap / out->objective : 0, false);
        return TN_OK;
    }
    TN_TRY(make_columns(ctx, l, cost, &own, &columns));
    TN_TRY(tnp_alloc(ctx, columns.count, sizeof *job.objective, &job.objective));
    TN_TRY(tnp_alloc(ctx, columns.count, sizeof *job.gap, &job.gap));
    TN_TRY(tnp_alloc(ctx, columns.count, sizeof *job.cols, &job.cols));
    TN_TRY(solve_columns(ctx, &job, method));
    sum_up(ctx, &job);
done:
    column_arrays_free(&own);
    tnp_free_all(job.objective, job.gap, job.cols);
    return st;
}

tn_status tnp_linear_held_out(tn_ctx *ctx, const tnp_linear *l, const float *w, float *scores)
{
    size_t k = l->task->y.classes;
    for (size_t i = 0; i < l->task->y.rows; ++i)
        for (size_t c = 0; l->row_fold[i] >= l->folds && c < k; ++c)
            scores[i * k + c] = NAN;
    return l->rows.ops->scores_by(ctx, l->rows.self, l->row_fold, l->folds, k, w, scores);
}

size_t tnp_linear_bytes(size_t rows, size_t dim, size_t columns, tnp_linear_method method)
{
    if (method == TNP_BY_SOFTMAX)
        return tnp_softmax_bytes(rows, dim, columns);
    if (method == TNP_BY_NEWTON) /* one after the other */
        return tnp_max(tnp_newton_bytes(rows, dim, columns), tnp_certify_bytes(dim, columns));
    return tnp_dual_bytes(rows, dim, columns, method == TNP_BY_GRAM);
}

size_t tnp_linear_more_bytes(size_t rows, size_t dim, size_t columns, tnp_linear_method method)
{
    return method == TNP_BY_SOFTMAX ? tnp_softmax_more_bytes(rows, dim, columns) : 0;
}

tnp_linear_method tnp_linear_method_of(const tnp_learn_options *options, bool logistic, bool bias, tn_task task)
{
    if (logistic)
        return task == TN_TASK_MULTICLASS ? TNP_BY_SOFTMAX : TNP_BY_NEWTON;
    return bias && !options->penalise_bias ? TNP_BY_NEWTON : TNP_BY_DUAL;
}

tnp_linear_method tnp_linear_method_for(const tn_ctx *ctx, const tnp_learn_options *options, tnp_linear_method method,
                                        size_t rows, size_t dim, size_t columns, size_t besides)
{
    size_t block = tnp_design_block_rows(rows, dim) * dim * sizeof(float), left = tnp_budget_left(ctx);
    bool squared = options->loss == TNP_SVM_SQUARED_HINGE;
    if (method == TNP_BY_DUAL && tnp_team_shares(ctx)) /* which needs single rows: see solve_columns */
        return TNP_BY_NEWTON;
    bool gram = method == TNP_BY_DUAL && tnp_dual_wants_gram(rows, dim, columns, squared) && besides < left &&
                tnp_dual_bytes(rows, dim, columns, true) + block <= left - besides;
    return gram ? TNP_BY_GRAM : method;
}
