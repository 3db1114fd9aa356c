/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Classes that an arg-max compares. f_k(x), fitted to y_k = 1 in class k and -1 elsewhere by least squares, estimates
 * 2 P(k|x) - 1; an arg-max over k is right when all f_k are shrunk alike. A lambda, or a method, for every class was refused: a
 * class that shrinks less wins rows of all others, more often the more rows there are to choose by.
 *
 *   lambda, tau:   min over the grid of   sum_k sum_i counts_i (y_ki - f_k^(-i)(x_i))^2        ridge: transfer_joint_ridge.c
 *
 * The share of wrong arg-maxima was refused as the criterion: thirty rows have thirty values of it, and its least is
 * often at a lambda far from the best (docs/math.md). It is what judges: everything done again without the rows, then
 *
 *   error = share of i with argmax_k f_k^(-i)(x_i) != class_i       se = sqrt(error (1 - error) / (n - 1))
 *
 * Rows that stay take over the weight of those of their class that leave. Without that a class of two rows would be half as
 * frequent as the others when one of them is to be told, and f_k half as large: errors of 80 % where new rows have 20 %.
 * Row weights are the same for all classes, so columns are standardised and decomposed once a part, not once a class.
 * Oracle: tests/unit/test_transfer_joint.c, everything literally on the rows that stay. */
#include "select/transfer_joint.h"
#include "select/transfer_loo.h"

#include <math.h>
#include <string.h>

/* ---- rows and weights ---- */

void tnp_joint_labels(const tnp_joint *joint, size_t k, double *y)
{
    for (size_t i = 0; i < joint->columns->rows; ++i)
        y[i] = joint->class_of[i] == k ? 1 : -1;
}

/* Rows of class k with a weight. */
static size_t rows_of(const tnp_joint *joint, const double *weights, size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i < joint->columns->rows; ++i)
        n += weights[i] > 0 && joint->class_of[i] == k;
    return n;
}

void tnp_joint_weigh(const tnp_joint *joint, double *weights)
{
    for (size_t k = 0; k < joint->classes; ++k) {
        size_t all = 0, stay = rows_of(joint, weights, k);
        for (size_t i = 0; i < joint->columns->rows; ++i)
            all += joint->class_of[i] == k;
        double sum = joint->balanced ? (double)joint->columns->rows / (double)joint->classes : (double)all;
        for (size_t i = 0; i < joint->columns->rows; ++i)
            if (weights[i] > 0 && joint->class_of[i] == k)
                weights[i] = sum / (double)stay;
    }
}

bool tnp_joint_counts(const tnp_joint *joint, const double *weights, double *counts)
{
    bool any = false;
    for (size_t k = 0; k < joint->classes; ++k) {
        size_t n = rows_of(joint, weights, k);
        for (size_t i = 0; i < joint->columns->rows; ++i)
            if (joint->class_of[i] == k)
                counts[i] = n > 1 ? weights[i] : 0;
        any |= n > 1;
    }
    return any;
}

/* ---- one value for all classes ---- */

tn_status tnp_joint_choose(tn_ctx *ctx, const tnp_joint *joint, tnp_transfer_problem *problem, const double *weights,
                           tnp_joint_add *add, void *arg, size_t without, size_t *at)
{
    tn_status st = TN_OK;
    size_t rows = joint->columns->rows, best = 0, values = 0;
    double loss[TNP_GRID_MOST] = {0}, *work = NULL;
    TN_TRY(tnp_alloc(ctx, rows, 2 * sizeof *work, &work));
    double *counts = work, *y = work + rows;
    const tnp_transfer_choice choice = {.loss = loss, .counts = counts, .values = &values};
    *at = without;
    if (!tnp_joint_counts(joint, weights, counts))
        goto done;
    for (size_t k = 0; k < joint->classes; ++k) {
        if (rows_of(joint, weights, k) == 0)
            continue;
        tnp_joint_labels(joint, k, y);
        TN_TRY(tnp_transfer_problem_relabel(ctx, problem, y));
        TN_TRY(add(ctx, arg, &choice));
    }
    for (size_t g = 1; g < values; ++g)
        best = loss[g] < loss[best] ? g : best;
    *at = best;
done:
    tnp_free(work);
    return st;
}

/* ---- leaving out ---- */

typedef struct part_job {
    const tnp_joint *joint;
    const tnp_joint_model *model;
    tnp_joint_left *out;
    size_t *part;                 /* (rows) */
    double *weights, *y, *counts; /* (rows); counts of all rows */
    double *wrong, *rows_of_side; /* (classes, steps, 2); (classes, 2): -1, 1 */
    double *steps;                /* (2 steps): predictions of a row, and scratch */
} part_job;

/* Rows of one class after those of the other, in turn. */
static void deal(const part_job *job, size_t many)
{
    size_t next = 0;
    for (size_t k = 0; k < job->joint->classes; ++k)
        for (size_t i = 0; i < job->joint->columns->rows; ++i)
            if (job->joint->class_of[i] == k)
                job->part[i] = next++ % many;
}

/* Takes down what a row was predicted to be in class k after s = 0 .. count picks; later ones change nothing. */
static void note(const part_job *job, size_t k, size_t row, size_t count)
{
    tnp_joint_left *out = job->out;
    double y = job->joint->class_of[row] == k ? 1 : -1;
    job->rows_of_side[2 * k + (y > 0)] += 1;
    for (size_t s = 0; s < out->steps; ++s) {
        double f = job->steps[tnp_min(s, count)];
        job->wrong[2 * (k * out->steps + s) + (y > 0)] += !(y * f > 0);
        out->loss[s] += job->counts[row] > 0 ? job->counts[row] * (y - f) * (y - f) : 0;
    }
    out->predicted[k * job->joint->columns->rows + row] = job->steps[count];
}

static tn_status refit_ridge(tn_ctx *ctx, const part_job *job, const tnp_transfer_problem *problem, size_t at,
                             tnp_ridge_basis **basis, size_t k, size_t which)
{
    const tnp_transfer_choice choice = {.at = at};
    tnp_transfer_model *m = NULL;
    tn_status st = tnp_transfer_ridge(ctx, problem, job->joint->features, job->model->method, basis, &choice, &m);
    for (size_t i = 0; st == TN_OK && i < problem->rows; ++i) {
        if (job->part[i] != which)
            continue;
        job->steps[0] = m->intercept;
        for (size_t j = 0; j < problem->cols; ++j)
            job->steps[0] += m->weights[j] * tnp_transfer_value(problem->columns, i, j);
        note(job, k, i, 0);
    }
    tnp_transfer_model_free(m);
    return st;
}

static tn_status refit_greedy(tn_ctx *ctx, const part_job *job, const tnp_transfer_problem *problem, double lambda,
                              size_t k, size_t which)
{
    tnp_greedy_path *path = NULL;
    tn_status st = tnp_greedy_path_new(ctx, problem, lambda, job->model->delta, job->model->most[k], &path);
    for (size_t i = 0; st == TN_OK && i < problem->rows; ++i) {
        if (job->part[i] != which)
            continue;
        tnp_greedy_predict(path, problem, i, job->steps + job->out->steps, job->steps);
        note(job, k, i, path->count);
    }
    tnp_greedy_path_free(path);
    return st;
}

/* The rows of part `which` for a class that is fitted to nothing: f for all. */
static void note_all(const part_job *job, size_t k, size_t which, double f)
{
    for (size_t i = 0; i < job->joint->columns->rows; ++i)
        if (job->part[i] == which) {
            job->steps[0] = f;
            note(job, k, i, 0);
        }
}

/* All classes on the rows that stay, at least two of which are of different classes. */
static tn_status refit(tn_ctx *ctx, const part_job *job, tnp_transfer_problem *problem, size_t which)
{
    tn_status st = TN_OK;
    const tnp_joint_model *model = job->model;
    tnp_ridge_basis *basis = NULL;
    size_t at = 0;
    double lambda = model->lambda;
    if (!model->greedy || lambda < 0)
        TN_TRY(tnp_joint_ridge(ctx, job->joint, problem, job->weights, model->greedy ? TNP_TRANSFER_RLS : model->method,
                               &basis, &at));
    if (lambda < 0)
        lambda = tnp_ridge_lambda(problem, basis, at);
    for (size_t k = 0; k < job->joint->classes; ++k) {
        if (rows_of(job->joint, job->weights, k) == 0) {
            note_all(job, k, which, -1);
            continue;
        }
        tnp_joint_labels(job->joint, k, job->y);
        TN_TRY(tnp_transfer_problem_relabel(ctx, problem, job->y));
        TN_TRY(model->greedy ? refit_greedy(ctx, job, problem, lambda, k, which)
                             : refit_ridge(ctx, job, problem, at, &basis, k, which));
    }
done:
    tnp_ridge_basis_free(basis);
    return st;
}

static tn_status leave_part(tn_ctx *ctx, const part_job *job, size_t which)
{
    const tnp_joint *joint = job->joint;
    tn_status st = TN_OK;
    tnp_transfer_problem *problem = NULL;
    size_t present = 0, last = 0;
    for (size_t i = 0; i < joint->columns->rows; ++i)
        job->weights[i] = job->part[i] != which;
    tnp_joint_weigh(joint, job->weights);
    for (size_t k = 0; k < joint->classes; ++k)
        if (rows_of(joint, job->weights, k) > 0) {
            ++present;
            last = k;
        }
    for (size_t k = 0; present < 2 && k < joint->classes; ++k)
        note_all(job, k, which, present == 1 && k == last ? 1 : -1);
    if (present < 2)
        return TN_OK;
    tnp_joint_labels(joint, last, job->y);
    TN_TRY(tnp_transfer_problem_new(ctx, joint->columns, job->y, job->weights, &problem));
    TN_TRY(refit(ctx, job, problem, which));
done:
    tnp_transfer_problem_free(problem);
    return st;
}

static tn_status part_job_init(tn_ctx *ctx, part_job *job)
{
    const tnp_joint *joint = job->joint;
    tn_status st = TN_OK;
    size_t rows = joint->columns->rows, steps = 1, classes = joint->classes;
    for (size_t k = 0; job->model->greedy && k < classes; ++k)
        steps = tnp_max(steps, job->model->most[k] + 1);
    job->out->steps = steps;
    TN_TRY(tnp_alloc(ctx, classes * rows, sizeof(double), &job->out->predicted));
    TN_TRY(tnp_alloc(ctx, steps, sizeof(double), &job->out->loss));
    TN_TRY(tnp_alloc(ctx, classes * steps, sizeof(double), &job->out->error));
    TN_TRY(tnp_alloc(ctx, rows, sizeof *job->part, &job->part));
    TN_TRY(tnp_alloc(ctx, rows, 3 * sizeof(double), &job->weights));
    TN_TRY(tnp_alloc(ctx, 2 * classes * (steps + 1), sizeof(double), &job->wrong));
    TN_TRY(tnp_alloc(ctx, 2 * steps, sizeof(double), &job->steps));
    job->y = job->weights + rows;
    job->counts = job->y + rows;
    job->rows_of_side = job->wrong + 2 * classes * steps;
    for (size_t i = 0; i < rows; ++i)
        job->weights[i] = 1;
    tnp_joint_weigh(joint, job->weights);
    (void)tnp_joint_counts(joint, job->weights, job->counts);
done:
    return st;
}

tn_status tnp_joint_leave(tn_ctx *ctx, const tnp_joint *joint, const tnp_joint_model *model, tnp_joint_left *out)
{
    tn_status st = TN_OK;
    part_job job = {.joint = joint, .model = model, .out = out};
    size_t many = tnp_leave_parts(joint->columns->rows);
    *out = (tnp_joint_left){0};
    TN_TRY(part_job_init(ctx, &job));
    deal(&job, many);
    for (size_t which = 0; which < many; ++which)
        TN_TRY(leave_part(ctx, &job, which));
    for (size_t k = 0; k < joint->classes; ++k)
        for (size_t s = 0; s < out->steps; ++s) {
            const double *wrong = job.wrong + 2 * (k * out->steps + s), *n = job.rows_of_side + 2 * k;
            out->error[k * out->steps + s] = (wrong[0] / n[0] + wrong[1] / n[1]) / 2;
        }
done:
    tnp_free(job.part);
    tnp_free(job.weights);
    tnp_free(job.wrong);
    tnp_free(job.steps);
    return st;
}

void tnp_joint_left_destroy(tnp_joint_left *left)
{
    tnp_free(left->predicted);
    tnp_free(left->loss);
    tnp_free(left->error);
    *left = (tnp_joint_left){0};
}

/* ---- the arg-max ---- */

/* NaN never wins; a row whose own score is NaN is wrong. */
static bool is_wrong(const tnp_joint *joint, const double *predicted, size_t row)
{
    size_t rows = joint->columns->rows, own = joint->class_of[row];
    double score = predicted[own * rows + row];
    for (size_t k = 0; k < joint->classes; ++k) {
        double rival = predicted[k * rows + row];
        if (k != own && (k < own ? rival >= score : rival > score))
            return true;
    }
    return isnan(score);
}

tnp_joint_score tnp_joint_score_of(const tnp_joint *joint, const double *counts, const double *predicted)
{
    double n = 0, sum = 0;
    for (size_t i = 0; i < joint->columns->rows; ++i)
        if (counts[i] > 0) {
            n += 1;
            sum += is_wrong(joint, predicted, i);
        }
    double mean = n > 0 ? sum / n : NAN;
    return (tnp_joint_score){mean, n > 1 ? sqrt(mean * (1 - mean) / (n - 1)) : NAN, (size_t)n};
}
