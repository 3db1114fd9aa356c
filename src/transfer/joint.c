/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Classes that an arg-max compares. f_k(x), fitted to y_k = 1 in class k and -1 elsewhere by least squares, estimates
 * 2 P(k|x) - 1; an arg-max over k is right when all f_k are shrunk alike. A lambda, or a method, for every class was
 * refused: a class that shrinks less wins rows of all others, more often the more rows there are to choose by.
 *
 *   lambda, tau:   min over the grid of   sum_k sum_i counts_i (y_ki - f_k^(-i)(x_i))^2        ridge:
 * transfer/joint_ridge.c
 *
 * The share of wrong arg-maxima was refused as the criterion: thirty rows have thirty values of it, and its least is
 * often at a lambda far from the best (docs/math.md). It is what judges: everything done again without the rows, then
 *
 *   error = share of i with argmax_k f_k^(-i)(x_i) != class_i       se = sqrt(error (1 - error) / (n - 1))
 *
 * Rows that stay take over the weight of those of their class that leave. Without that a class of two rows would be
 * half as frequent as the others when one of them is to be told, and f_k half as large: errors of 80 % where new rows
 * have 20 %. Class means have that fault however rows are weighed: the mean of a class that lost one of its two rows is
 * farther from every row than those of two. So with class means one row of every class leaves at a time, as in
 * pipeline/left_out.c. Row weights are the same for all classes, so columns are standardised and decomposed once a
 * part, not once a class. Oracle: tests/unit/test_transfer_joint.c, everything literally on the rows that stay. */
#include "transfer/joint.h"
#include "transfer/loo.h"

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
        double all = 0, stay = 0;
        for (size_t i = 0; i < joint->columns->rows; ++i)
            if (joint->class_of[i] == k) {
                all += tnp_joint_row_weight(joint, i);
                stay += weights[i] > 0 ? tnp_joint_row_weight(joint, i) : 0;
            }
        double sum = joint->balanced ? (double)joint->columns->rows / (double)joint->classes : all;
        for (size_t i = 0; i < joint->columns->rows; ++i)
            if (weights[i] > 0 && joint->class_of[i] == k)
                weights[i] = sum / stay * tnp_joint_row_weight(joint, i);
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
        TN_TRY(tnp_progress(ctx, "choice of lambda", k, joint->classes));
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

/* Where predictions are taken down. */
typedef struct tally {
    tnp_joint_left *out;
    double *wrong, *rows_of_side; /* (classes, steps, 2); (classes, 2): -1, 1 */
} tally;

typedef struct part_job {
    const tnp_joint *joint;
    const tnp_joint_model *model;
    tally plain, mixed;           /* mixed.out NULL: not asked for */
    size_t steps;                 /* of both */
    size_t *part, *slot;          /* (rows): the part, and the number within it */
    size_t *left, left_count;     /* (rows): those of the part that is left out */
    double *weights, *y, *counts; /* (rows); counts of all rows */
    double *predicted, *work;     /* (TNP_GREEDY_ROWS, steps): of some rows; scratch */
    /* Class means on the rows that stay, for mixed. */
    tnp_joint_means *means;
    double *away;   /* (cols): d_k of the columns that class k uses, in their order */
    double *square; /* (classes, steps): |d_k|^2 of the first s picks, or of all columns */
    double *held;   /* (slots, classes, steps, 2): the prediction, and d_k'(z - m) */
} part_job;

/* Rows of one class after those of the other, in turn. */
static void deal(const part_job *job, size_t many)
{
    size_t next = 0;
    for (size_t k = 0; k < job->joint->classes; ++k)
        for (size_t i = 0; i < job->joint->columns->rows; ++i)
            if (job->joint->class_of[i] == k) {
                job->slot[i] = next / many;
                job->part[i] = next++ % many;
            }
}

/* Takes down predicted (count + 1): what a row was predicted to be in class k after s = 0 .. count picks; later ones
 * change nothing. */
static void note(const part_job *job, const tally *t, size_t k, size_t row, const double *predicted, size_t count)
{
    tnp_joint_left *out = t->out;
    double y = job->joint->class_of[row] == k ? 1 : -1;
    t->rows_of_side[2 * k + (y > 0)] += 1;
    for (size_t s = 0; s < out->steps; ++s) {
        double f = predicted[tnp_min(s, count)];
        t->wrong[2 * (k * out->steps + s) + (y > 0)] += !(y * f > 0);
        out->loss[s] += job->counts[row] > 0 ? job->counts[row] * (y - f) * (y - f) : 0;
    }
    out->predicted[k * job->joint->columns->rows + row] = predicted[count];
}

/* ---- leaving out, with class means ---- */

/* job->away and job->square of class k that uses the columns picks (n), step by step, or when NULL 0 .. n-1 at once. */
static void measure_away(const part_job *job, size_t k, const size_t *picks, size_t n)
{
    double *square = job->square + k * job->steps, sum = 0;
    for (size_t c = 0; c < n; ++c) {
        job->away[c] = tnp_joint_away(job->means, k, picks ? picks[c] : c);
        if (picks)
            square[c] = sum;
        sum += job->away[c] * job->away[c];
    }
    for (size_t s = picks ? n : 0; s < job->steps; ++s)
        square[s] = sum;
}

/* Keeps what was predicted for a row after 0 .. count picks, and its products with d_k, until the scale is known. */
static void hold(const part_job *job, size_t k, size_t row, const size_t *picks, size_t n, const double *predicted,
                 size_t count)
{
    double *held = job->held + (job->slot[row] * job->joint->classes + k) * job->steps * 2, sum = 0;
    for (size_t c = 0; c < n; ++c) {
        if (picks)
            held[2 * c + 1] = sum;
        sum += job->away[c] * tnp_joint_place(job->means, row, picks ? picks[c] : c);
    }
    for (size_t s = 0; s < job->steps; ++s) {
        held[2 * s] = predicted[tnp_min(s, count)];
        if (!picks || s >= n)
            held[2 * s + 1] = sum;
    }
}

/* scale (steps): c of transfer/joint_means.c, of the classes that have rows. */
static void measure_scales(const part_job *job, double *scale)
{
    for (size_t s = 0; s < job->steps; ++s) {
        double sum = 0;
        for (size_t k = 0; k < job->joint->classes; ++k)
            sum += tnp_joint_has_mean(job->means, k) ? job->square[k * job->steps + s] : 0;
        scale[s] = tnp_joint_means_scale(job->means, sum);
    }
}

/* Means of scores for the rows that are left out; a class without rows has none, and stays at -1. */
static void note_mixed(const part_job *job)
{
    double *scale = job->work;
    size_t classes = job->joint->classes, steps = job->steps;
    measure_scales(job, scale);
    for (size_t k = 0; k < classes; ++k) {
        bool there = tnp_joint_has_mean(job->means, k);
        for (size_t a = 0; a < job->left_count; ++a) {
            const double *held = job->held + (job->slot[job->left[a]] * classes + k) * steps * 2;
            for (size_t s = 0; s < steps; ++s) {
                double mean = 2 * scale[s] * (held[2 * s + 1] - job->square[k * steps + s] / 2);
                job->predicted[s] = there ? (1 - TNP_MEANS_SHARE) * held[2 * s] + TNP_MEANS_SHARE * mean : -1;
            }
            note(job, &job->mixed, k, job->left[a], job->predicted, steps - 1);
        }
    }
}

/* ---- leaving out, the models ---- */

/* predicted (left_count): what ridge says of class k. */
static void take_ridge(const part_job *job, size_t k, const double *predicted)
{
    size_t used = job->model->method == TNP_TRANSFER_RLS ? job->joint->columns->cols : job->joint->features;
    if (job->means)
        measure_away(job, k, NULL, used);
    for (size_t a = 0; a < job->left_count; ++a) {
        note(job, &job->plain, k, job->left[a], predicted + a, 0);
        if (job->means)
            hold(job, k, job->left[a], NULL, used, predicted + a, 0);
    }
}

static tn_status refit_greedy(tn_ctx *ctx, const part_job *job, tnp_transfer_problem *problem, double lambda, size_t k)
{
    tn_status st = TN_OK;
    tnp_greedy_path *path = NULL;
    tnp_joint_labels(job->joint, k, job->y);
    TN_TRY(tnp_transfer_problem_relabel(ctx, problem, job->y));
    TN_TRY(tnp_greedy_path_new(ctx, problem, lambda, job->model->delta, job->model->most[k], &path));
    if (job->means)
        measure_away(job, k, path->picks, path->count);
    for (size_t a = 0, n; a < job->left_count; a += n) {
        n = tnp_min(TNP_GREEDY_ROWS, job->left_count - a);
        tnp_greedy_predict(path, problem, job->left + a, n, job->work, job->predicted);
        for (size_t i = 0; i < n; ++i) {
            const double *predicted = job->predicted + i * (path->count + 1);
            note(job, &job->plain, k, job->left[a + i], predicted, path->count);
            if (job->means)
                hold(job, k, job->left[a + i], path->picks, path->count, predicted, path->count);
        }
    }
done:
    tnp_greedy_path_free(path);
    return st;
}

/* The rows that are left out, for a class that is fitted to nothing: f for all. */
static void note_all(const part_job *job, const tally *t, size_t k, double f)
{
    for (size_t a = 0; a < job->left_count; ++a)
        note(job, t, k, job->left[a], &f, 0);
}

/* The value of the model's grid, or of RLS for a greedy one, by the rows that stay; the basis it was found with. */
static tn_status choose_value(tn_ctx *ctx, const part_job *job, tnp_transfer_problem *problem, size_t which,
                              tnp_ridge_basis **basis, size_t *at)
{
    tn_status st = TN_OK;
    tnp_ridge_method method = job->model->greedy ? TNP_TRANSFER_RLS : job->model->method;
    size_t *known = method == TNP_TRANSFER_RLS && job->model->rls_at ? &job->model->rls_at[which] : NULL;
    if (known && *known != SIZE_MAX) {
        *at = *known;
        return tnp_ridge_basis_new(ctx, problem, 0, problem->cols, basis);
    }
    TN_TRY(tnp_joint_ridge(ctx, job->joint, problem, job->weights, method, basis, at));
    if (known)
        *known = *at;
done:
    return st;
}

/* All classes on the rows that stay, at least two of which are of different classes. */
static tn_status refit(tn_ctx *ctx, const part_job *job, tnp_transfer_problem *problem, size_t which, size_t many)
{
    tn_status st = TN_OK;
    const tnp_joint_model *model = job->model;
    tnp_ridge_basis *basis = NULL;
    size_t at = 0, classes = job->joint->classes;
    double lambda = model->lambda, *predicted = NULL;
    if (!model->greedy || lambda < 0)
        TN_TRY(choose_value(ctx, job, problem, which, &basis, &at));
    if (lambda < 0)
        lambda = tnp_ridge_lambda(problem, basis, at);
    if (model->greedy) {
        TN_TRY(tnp_transfer_share_products(ctx, problem, classes));
    } else {
        TN_TRY(tnp_alloc(ctx, classes, job->left_count * sizeof *predicted, &predicted));
        TN_TRY(tnp_joint_ridge_predict(ctx, job->joint, problem, model->method, basis, at, job->left, job->left_count,
                                       predicted));
    }
    for (size_t k = 0; k < classes; ++k) {
        TN_TRY(tnp_progress(ctx, "left out", which * classes + k, many * classes));
        if (rows_of(job->joint, job->weights, k) == 0)
            note_all(job, &job->plain, k, -1);
        else if (model->greedy)
            TN_TRY(refit_greedy(ctx, job, problem, lambda, k));
        else
            take_ridge(job, k, predicted + k * job->left_count);
    }
    if (job->means)
        note_mixed(job);
done:
    tnp_ridge_basis_free(basis);
    tnp_free(predicted);
    return st;
}

/* Classes of the rows that stay; last: one of them. */
static size_t count_present(const part_job *job, size_t *last)
{
    size_t present = 0;
    for (size_t k = 0; k < job->joint->classes; ++k)
        if (rows_of(job->joint, job->weights, k) > 0) {
            ++present;
            *last = k;
        }
    return present;
}

static tn_status leave_part(tn_ctx *ctx, part_job *job, size_t which, size_t many)
{
    const tnp_joint *joint = job->joint;
    tn_status st = TN_OK;
    tnp_transfer_problem *problem = NULL;
    size_t last = 0;
    job->left_count = 0;
    for (size_t i = 0; i < joint->columns->rows; ++i) {
        job->weights[i] = job->part[i] != which;
        if (job->part[i] == which)
            job->left[job->left_count++] = i;
    }
    tnp_joint_weigh(joint, job->weights);
    size_t present = count_present(job, &last);
    for (size_t k = 0; present < 2 && k < joint->classes; ++k) {
        double f = present == 1 && k == last ? 1 : -1;
        note_all(job, &job->plain, k, f);
        if (job->mixed.out)
            note_all(job, &job->mixed, k, f);
    }
    if (present < 2)
        return TN_OK;
    tnp_joint_labels(joint, last, job->y);
    TN_TRY(tnp_transfer_problem_new(ctx, joint->columns, job->y, job->weights, &problem));
    if (job->mixed.out)
        TN_TRY(tnp_joint_means_new(ctx, joint, problem, job->weights, &job->means));
    TN_TRY(refit(ctx, job, problem, which, many));
done:
    tnp_joint_means_free(job->means);
    job->means = NULL;
    tnp_transfer_problem_free(problem);
    return st;
}

static tn_status tally_init(tn_ctx *ctx, const part_job *job, tally *t)
{
    tn_status st = TN_OK;
    size_t rows = job->joint->columns->rows, classes = job->joint->classes, steps = job->steps;
    t->out->steps = steps;
    TN_TRY(tnp_alloc(ctx, classes * rows, sizeof(double), &t->out->predicted));
    TN_TRY(tnp_alloc(ctx, steps, sizeof(double), &t->out->loss));
    TN_TRY(tnp_alloc(ctx, classes * steps, sizeof(double), &t->out->error));
    TN_TRY(tnp_alloc(ctx, 2 * classes * (steps + 1), sizeof(double), &t->wrong));
    t->rows_of_side = t->wrong + 2 * classes * steps;
done:
    return st;
}

/* Shares of wrong signs. */
static void tally_finish(const part_job *job, const tally *t)
{
    for (size_t k = 0; k < job->joint->classes; ++k)
        for (size_t s = 0; s < job->steps; ++s) {
            const double *wrong = t->wrong + 2 * (k * job->steps + s), *n = t->rows_of_side + 2 * k;
            t->out->error[k * job->steps + s] = (wrong[0] / n[0] + wrong[1] / n[1]) / 2;
        }
}

static tn_status mixed_init(tn_ctx *ctx, part_job *job, size_t many)
{
    tn_status st = TN_OK;
    size_t rows = job->joint->columns->rows, classes = job->joint->classes, slots = rows / many + 1, size = 0;
    TN_TRY(tally_init(ctx, job, &job->mixed));
    TN_TRY(tnp_alloc(ctx, job->joint->columns->cols, sizeof(double), &job->away));
    TN_TRY(tnp_alloc(ctx, classes * job->steps, sizeof(double), &job->square));
    TN_TRY(tnp_mul(ctx, slots * classes, 2 * job->steps, &size));
    TN_TRY(tnp_alloc(ctx, size, sizeof(double), &job->held));
done:
    return st;
}

static tn_status part_job_init(tn_ctx *ctx, part_job *job)
{
    const tnp_joint *joint = job->joint;
    tn_status st = TN_OK;
    size_t rows = joint->columns->rows;
    job->steps = 1;
    for (size_t k = 0; job->model->greedy && k < joint->classes; ++k)
        job->steps = tnp_max(job->steps, job->model->most[k] + 1);
    TN_TRY(tally_init(ctx, job, &job->plain));
    TN_TRY(tnp_alloc(ctx, rows, 3 * sizeof *job->part, &job->part));
    TN_TRY(tnp_alloc(ctx, rows, 3 * sizeof(double), &job->weights));
    TN_TRY(tnp_alloc(ctx, job->steps, TNP_GREEDY_ROWS * sizeof(double), &job->predicted));
    TN_TRY(tnp_alloc(ctx, tnp_greedy_work(job->steps, TNP_GREEDY_ROWS), sizeof(double), &job->work));
    job->slot = job->part + rows;
    job->left = job->slot + rows;
    job->y = job->weights + rows;
    job->counts = job->y + rows;
    for (size_t i = 0; i < rows; ++i)
        job->weights[i] = 1;
    tnp_joint_weigh(joint, job->weights);
    (void)tnp_joint_counts(joint, job->weights, job->counts);
done:
    return st;
}

/* Rows of the largest class: as many parts have at most one row of every class each. */
static size_t largest_class(const tnp_joint *joint, const double *weights)
{
    size_t most = 0;
    for (size_t k = 0; k < joint->classes; ++k)
        most = tnp_max(most, rows_of(joint, weights, k));
    return most;
}

tn_status tnp_joint_leave(tn_ctx *ctx, const tnp_joint *joint, const tnp_joint_model *model, tnp_joint_left *out,
                          tnp_joint_left *mixed)
{
    tn_status st = TN_OK;
    part_job job = {.joint = joint, .model = model, .plain = {.out = out}, .mixed = {.out = mixed}};
    size_t many = tnp_leave_parts(joint->columns->rows);
    tnp_share now = tnp_progress_now(ctx), whole = tnp_progress_part(ctx, now, 0.2, 1);
    *out = (tnp_joint_left){0};
    if (mixed)
        *mixed = (tnp_joint_left){0};
    TN_TRY(part_job_init(ctx, &job));
    if (mixed) {
        many = largest_class(joint, job.weights);
        TN_TRY(mixed_init(ctx, &job, many));
    }
    deal(&job, many);
    for (size_t which = 0; which < many; ++which) {
        TN_TRY(tnp_progress_step(ctx, whole, "leave-one-out", which, many));
        TN_TRY(leave_part(ctx, &job, which, many));
    }
    tally_finish(&job, &job.plain);
    if (mixed)
        tally_finish(&job, &job.mixed);
done:
    tnp_free_all(job.part, job.weights, job.plain.wrong, job.mixed.wrong, job.predicted, job.work, job.away, job.square,
                 job.held);
    return st;
}

void tnp_joint_left_destroy(tnp_joint_left *left)
{
    tnp_free_all(left->predicted, left->loss, left->error);
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

bool tnp_joint_prefers(const tnp_joint *joint, const double *counts, const double *one, const double *two)
{
    double n = 0, sum = 0, square = 0;
    for (size_t i = 0; i < joint->columns->rows; ++i) {
        if (!(counts[i] > 0))
            continue;
        double d = (double)is_wrong(joint, two, i) - (double)is_wrong(joint, one, i);
        n += 1;
        sum += d;
        square += d * d;
    }
    double variance = square - sum * sum / n; /* of the sum: n times that of d */
    return sum > 0 && sum * sum > 3 * 3 * variance;
}
