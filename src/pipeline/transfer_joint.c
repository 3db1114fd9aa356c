/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfer for classes that an arg-max compares: one method and one set of values for all of them (transfer/joint.c).
 * auto takes greedytl unless none or rls has a leave-one-out error of the arg-max that is lower by more than its
 * standard error, the larger of the two methods': that of an error of 0 is 0. The lowest error, as two classes take it,
 * was refused: with a few rows per class three errors differ by chance most of the time, and a method that is better on
 * the whole would be left for it. So was the standard error of the difference row by row, about half as large: thirty
 * rows then left greedytl for features alone, and lost 6 points.
 *
 * With few rows per class, how long the sources' columns are beside the features is chosen once, from all rows
 * (transfer/joint_ridge.c), and kept when rows leave: it is one number, and choosing it again for every part trebles
 * the time.
 *
 * Few rows of every class, no --lambda: a share of the scores is the nearest class mean's on the method's columns, as
 * in `fit` (pipeline/means.c), unless rows that are left out speak for the method's own beyond doubt: by one standard
 * error, as in `fit`, they do in 12 of 35 trials with two rows per class, and new rows say otherwise in 5 of them. The
 * nearest class mean has nothing to correct in methods that are not ridge, or whose target is not the labels: average,
 * dam, MultiKT and the logistic ones stay. */
#include "pipeline/transfer.h"
#include "learn/ridge/ridge.h"
#include "transfer/joint.h"

#include <math.h>
#include <string.h>

typedef struct joint_job {
    transfer_job *job;
    tnp_joint joint;
    size_t *class_of, *rls_at;    /* (rows); (rows + 1): without part i (transfer/joint.h), at last with all rows */
    size_t *most;                 /* (classes): picks of a greedy method */
    double *weights, *counts, *y; /* (rows) */
    bool few;                     /* rows of every class: class means may share the heads */
    transfer_found *walked;       /* (classes): paths of a greedy method with all rows */
} joint_job;

/* A method, as far as it was judged. */
typedef struct judged {
    int method;
    size_t at;     /* value of its grid */
    double lambda; /* of a greedy one */
    size_t picks;  /* of a greedy one, at most, every class */
    tnp_joint_left left;
    double class_means; /* their share in the heads, and in `left` */
} judged;

static void joint_job_destroy(joint_job *j)
{
    tnp_free_all(j->class_of, j->most, j->weights);
    for (size_t k = 0; j->walked && k < j->joint.classes; ++k)
        tnp_transfer_found_destroy(&j->walked[k]);
    tnp_free(j->walked);
}

/* Of some class; with few rows per class the sources are as long as they deserve. */
static tn_status make_problem(tn_ctx *ctx, joint_job *j, bool few)
{
    transfer_job *job = j->job;
    tn_status st = TN_OK;
    tnp_joint_labels(&j->joint, 0, j->y);
    TN_TRY(tnp_transfer_problem_new(ctx, job->columns, j->y, j->weights, &job->problem));
    if (!few)
        return TN_OK;
    TN_TRY(tnp_joint_share(ctx, &j->joint, job->problem, j->weights, &job->columns->share));
    tnp_transfer_drop_problem(job);
    TN_TRY(tnp_transfer_problem_new(ctx, job->columns, j->y, j->weights, &job->problem));
done:
    return st;
}

static tn_status joint_job_init(tn_ctx *ctx, transfer_job *job, joint_job *j)
{
    tn_status st = TN_OK;
    size_t rows = job->rows, classes = job->labels->classes, most = 0;
    TN_TRY(tnp_alloc(ctx, 2 * rows + 1, sizeof *j->class_of, &j->class_of));
    j->rls_at = j->class_of + rows;
    for (size_t i = 0; i <= rows; ++i)
        j->rls_at[i] = SIZE_MAX;
    TN_TRY(tnp_alloc(ctx, classes, sizeof *j->most, &j->most));
    j->joint.classes = classes;
    TN_TRY(tnp_alloc(ctx, classes, sizeof *j->walked, &j->walked));
    TN_TRY(tnp_alloc(ctx, rows, 3 * sizeof(double), &j->weights));
    j->job = job;
    j->counts = j->weights + rows;
    j->y = j->counts + rows;
    j->joint = (tnp_joint){
        job->columns,   job->features, classes, j->class_of, job->options->class_weight == TNP_WEIGHT_BALANCED,
        job->row_weight};
    for (size_t k = 0; k < classes; ++k) {
        if (job->task->constant[k])
            TN_TRY(tnp_transfer_constant(ctx, job, k));
        for (size_t i = 0; i < rows; ++i)
            if (tnp_target(&job->task->y, i, k) > 0.5)
                j->class_of[i] = k;
    }
    for (size_t i = 0; i < rows; ++i)
        j->weights[i] = 1;
    tnp_joint_weigh(&j->joint, j->weights);
    (void)tnp_joint_counts(&j->joint, j->weights, j->counts);
    TN_TRY(tnp_few_rows(ctx, job->task, job->cols, &most));
    TN_TRY(make_problem(ctx, j, most > 0));
    /* Leaving a row of every class out keeps two sums for each pair of classes and pick: with very many the plain
     * scores stand. */
    double bytes = 16.0 * (double)classes * (double)classes * (double)job->cols;
    j->few = most > 0 && !(job->options->lambda > 0) && bytes <= fmin(0x1p30, (double)tnp_budget_left(ctx) / 2);
done:
    return st;
}

static tn_status set_class(tn_ctx *ctx, joint_job *j, size_t k)
{
    tnp_joint_labels(&j->joint, k, j->y);
    return tnp_transfer_problem_relabel(ctx, j->job->problem, j->y);
}

static bool is_greedy(int method)
{
    return tnp_transfer_method_of(method)->uses.family == TNP_TRANSFER_GREEDY;
}

/* ---- class means ---- */

static bool may_share(const joint_job *j, int method)
{
    return j->few && (is_greedy(method) || method == TNP_TRANSFER_BY_NONE || method == TNP_TRANSFER_BY_RLS);
}

/* m->left becomes `mixed`, which is emptied, unless the rows that were left out prefer it as it is. */
static void share_left(const joint_job *j, judged *m, tnp_joint_left *mixed)
{
    if (!may_share(j, m->method) || tnp_joint_prefers(&j->joint, j->counts, m->left.predicted, mixed->predicted))
        return;
    tnp_joint_left_destroy(&m->left);
    m->left = *mixed;
    m->class_means = TNP_MEANS_SHARE;
    *mixed = (tnp_joint_left){0};
}

/* Columns of the picks of a greedy method, in their order; picks has room for all. */
static size_t columns_of(const joint_job *j, const tn_transfer_class *c, size_t *picks)
{
    for (size_t i = 0; i < c->pick_count; ++i)
        picks[i] = c->picks[i].index + (c->picks[i].is_source ? j->job->features : 0);
    return c->pick_count;
}

/* Heads and accounts of all classes with their share of the class means. */
static tn_status share_heads(tn_ctx *ctx, joint_job *j, const judged *m, tn_transfer_info *info)
{
    transfer_job *job = j->job;
    tn_status st = TN_OK;
    tnp_joint_means *means = NULL;
    size_t *picks = NULL, all = m->method == TNP_TRANSFER_BY_NONE ? job->features : job->cols;
    bool greedy = is_greedy(m->method);
    double squares = 0;
    TN_TRY(tnp_alloc(ctx, job->cols, sizeof *picks, &picks));
    TN_TRY(tnp_joint_means_new(ctx, &j->joint, job->problem, j->weights, &means));
    for (size_t k = 0; k < info->count; ++k) {
        size_t count = greedy ? columns_of(j, &info->results[k], picks) : all;
        squares += tnp_joint_means_square(means, k, greedy ? picks : NULL, count);
    }
    for (size_t k = 0; k < info->count; ++k) {
        tn_transfer_class *c = &info->results[k];
        double *w = job->weights + k * job->cols;
        size_t count = greedy ? columns_of(j, c, picks) : all;
        tnp_joint_means_mix(means, k, greedy ? picks : NULL, count, tnp_joint_means_scale(means, squares), w,
                            &job->intercepts[k]);
        for (size_t i = 0; i < c->pick_count; ++i)
            c->picks[i].weight = w[c->picks[i].index + (c->picks[i].is_source ? job->features : 0)];
    }
done:
    tnp_joint_means_free(means);
    tnp_free(picks);
    return st;
}

/* ---- methods with a grid ---- */

typedef struct adding {
    joint_job *j;
    transfer_found *found;
} adding;

static tn_status add_losses(tn_ctx *ctx, void *arg, const tnp_transfer_choice *choice)
{
    const adding *a = arg;
    return tnp_transfer_run(ctx, a->j->job, choice, a->found);
}

/* lambda = 1, and tau = 1 of MultiKT, in the paper's grids, where leave-one-out has nothing to say. */
static size_t value_without(int method)
{
    enum { ONE = 4, TAU_ONE = 3 };
    bool multikt = tnp_transfer_method_of(method)->uses.family == TNP_TRANSFER_MULTIKT;
    return multikt ? ONE * TNP_TAUS + TAU_ONE : ONE;
}

/* The model of class k with the value that was chosen for all. loo (rows): its predictions. */
static tn_status run_class(tn_ctx *ctx, joint_job *j, const judged *m, size_t k, double *loo, transfer_found *f)
{
    const tnp_transfer_choice choice = {.at = m->at};
    tn_status st = set_class(ctx, j, k);
    *f = (transfer_found){.method = m->method, .w = j->job->weights + k * j->job->cols, .loo = loo};
    return st == TN_OK ? tnp_transfer_run(ctx, j->job, &choice, f) : st;
}

/* Closed forms, or refits with the values that all rows chose. */
static tn_status predict_chosen(tn_ctx *ctx, joint_job *j, judged *m)
{
    tn_status st = TN_OK;
    transfer_found f;
    size_t rows = j->job->rows, classes = j->joint.classes;
    TN_TRY(tnp_alloc(ctx, classes * rows, sizeof(double), &m->left.predicted));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &m->left.error));
    m->left.steps = 1;
    for (size_t k = 0; k < classes; ++k) {
        TN_TRY(run_class(ctx, j, m, k, m->left.predicted + k * rows, &f));
        m->left.error[k] = f.score.error;
    }
done:
    return st;
}

/* MultiKT fits the weights of its sources to leave-one-out predictions. */
static tn_status need_counting_rows(tn_ctx *ctx, const joint_job *j, int method)
{
    bool multikt = tnp_transfer_method_of(method)->uses.family == TNP_TRANSFER_MULTIKT;
    for (size_t i = 0; i < j->job->rows; ++i)
        if (j->counts[i] > 0)
            return TN_OK;
    return !multikt ? TN_OK
                    : tnp_fail(ctx, TN_ERR_DATA, "%s: every class has one row only; MultiKT needs a class with two",
                               j->job->labels->path);
}

/* The value that RLS takes with all rows. */
static tn_status choose_rls(tn_ctx *ctx, joint_job *j, size_t *at)
{
    transfer_job *job = j->job;
    tn_status st = TN_OK;
    size_t *known = &j->rls_at[job->rows];
    if (*known == SIZE_MAX)
        st = tnp_joint_ridge(ctx, &j->joint, job->problem, j->weights, TNP_TRANSFER_RLS, &job->of_all, known);
    *at = *known;
    return st;
}

/* Ridge is judged with everything done again, its choice of values too. */
static tn_status judge_ridge(tn_ctx *ctx, joint_job *j, judged *m)
{
    transfer_job *job = j->job;
    tn_status st = TN_OK;
    tnp_joint_left mixed = {0};
    tnp_joint_model model = {.method = m->method == TNP_TRANSFER_BY_RLS   ? TNP_TRANSFER_RLS
                                       : m->method == TNP_TRANSFER_BY_DAM ? TNP_TRANSFER_DAM
                                                                          : TNP_TRANSFER_NONE,
                             .rls_at = j->rls_at};
    TN_TRY(model.method == TNP_TRANSFER_RLS
               ? choose_rls(ctx, j, &m->at)
               : tnp_joint_ridge(ctx, &j->joint, job->problem, j->weights, model.method, &job->of_features, &m->at));
    TN_TRY(tnp_joint_leave(ctx, &j->joint, &model, &m->left, may_share(j, m->method) ? &mixed : NULL));
    share_left(j, m, &mixed);
done:
    tnp_joint_left_destroy(&mixed);
    return st;
}

static tn_status judge_model(tn_ctx *ctx, joint_job *j, judged *m)
{
    tn_status st = TN_OK;
    transfer_found f = {.method = m->method, .w = j->job->weights};
    adding a = {j, &f};
    TN_TRY(need_counting_rows(ctx, j, m->method));
    if (m->method != TNP_TRANSFER_BY_AVERAGE)
        TN_TRY(tnp_joint_choose(ctx, &j->joint, j->job->problem, j->weights, add_losses, &a, value_without(m->method),
                                &m->at));
    TN_TRY(predict_chosen(ctx, j, m));
done:
    return st;
}

/* ---- greedy methods ---- */

/* That of the command line, or that of ridge on all columns, of which the picks are a part. */
static tn_status greedy_lambda(tn_ctx *ctx, joint_job *j, judged *m)
{
    transfer_job *job = j->job;
    tn_status st = TN_OK;
    size_t at = 0;
    m->lambda = m->method == TNP_TRANSFER_BY_FORWARD ? 0 : job->options->lambda;
    if (m->method == TNP_TRANSFER_BY_FORWARD || m->lambda > 0)
        return TN_OK;
    TN_TRY(choose_rls(ctx, j, &at));
    m->lambda = tnp_ridge_lambda(job->problem, job->of_all, at);
done:
    return st;
}

/* The path of class k with all rows, and the weights of the first m->picks of it, which are f's. */
static tn_status walk_class(tn_ctx *ctx, joint_job *j, const judged *m, size_t k, transfer_found *f)
{
    transfer_job *job = j->job;
    tn_status st = TN_OK;
    double *w = NULL;
    *f = (transfer_found){.method = m->method, .w = job->weights + k * job->cols, .lambda = m->lambda};
    memset(f->w, 0, job->cols * sizeof *f->w);
    TN_TRY(set_class(ctx, j, k));
    TN_TRY(tnp_greedy_path_new(ctx, job->problem, m->lambda, job->options->delta, job->most, &f->path));
    f->picks = tnp_min(f->path->count, m->picks);
    TN_TRY(tnp_alloc(ctx, f->picks, sizeof *w, &w));
    tnp_greedy_weights(f->path, f->picks, w);
    tnp_greedy_path_trim(f->path);
    f->intercept = tnp_transfer_unscale(job->problem, f->path->picks, f->picks, w);
    for (size_t i = 0; i < f->picks; ++i)
        f->w[f->path->picks[i]] = w[i];
done:
    tnp_free(w);
    return st;
}

/* j->walked: all classes with all rows. */
static tn_status walk_all(tn_ctx *ctx, joint_job *j, const judged *m)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_transfer_share_products(ctx, j->job->problem, j->joint.classes));
    for (size_t k = 0; k < j->joint.classes; ++k) {
        TN_TRY(tnp_progress(ctx, "picks", k, j->joint.classes));
        tnp_transfer_found_destroy(&j->walked[k]);
        TN_TRY(walk_class(ctx, j, m, k, &j->walked[k]));
        j->most[k] = j->walked[k].picks;
    }
done:
    return st;
}

/* Every class makes as many picks as with all rows at most. */
static tn_status leave_with(tn_ctx *ctx, joint_job *j, const judged *m, tnp_joint_left *out, tnp_joint_left *mixed)
{
    bool again = m->method == TNP_TRANSFER_BY_GREEDYTL && !(j->job->options->lambda > 0);
    const tnp_joint_model model = {.greedy = true,
                                   .lambda = again ? -1 : m->lambda,
                                   .delta = j->job->options->delta,
                                   .most = j->most,
                                   .rls_at = j->rls_at};
    return tnp_joint_leave(ctx, &j->joint, &model, out, may_share(j, m->method) ? mixed : NULL);
}

/* The number of picks, like lambda, is the method's own: class means have no say in it. */
static tn_status judge_greedy(tn_ctx *ctx, joint_job *j, judged *m)
{
    tn_status st = TN_OK;
    size_t size = j->joint.classes * j->job->rows * sizeof(double);
    tnp_joint_left mixed = {0}, fewer = {0}, fewer_mixed = {0};
    TN_TRY(greedy_lambda(ctx, j, m));
    TN_TRY(walk_all(ctx, j, m));
    TN_TRY(leave_with(ctx, j, m, &m->left, &mixed));
    if (j->job->by_loo) {
        m->picks = 0;
        for (size_t s = 1; s < m->left.steps; ++s)
            if (m->left.loss[s] < m->left.loss[m->picks])
                m->picks = s;
        TN_TRY(walk_all(ctx, j, m));
        TN_TRY(leave_with(ctx, j, m, &fewer, &fewer_mixed));
        memcpy(m->left.predicted, fewer.predicted, size);
        if (fewer_mixed.predicted)
            memcpy(mixed.predicted, fewer_mixed.predicted, size);
    }
    share_left(j, m, &mixed);
done:
    tnp_joint_left_destroy(&mixed);
    tnp_joint_left_destroy(&fewer);
    tnp_joint_left_destroy(&fewer_mixed);
    return st;
}

/* The path of class k that was walked, and what leave-one-out said of its steps. */
static tn_status take_walked(tn_ctx *ctx, joint_job *j, const judged *m, size_t k, transfer_found *f)
{
    tn_status st = TN_OK;
    *f = j->walked[k];
    j->walked[k] = (transfer_found){0};
    TN_TRY(tnp_alloc(ctx, f->path->count + 1, sizeof *f->steps, &f->steps));
    for (size_t s = 0; s <= f->path->count; ++s)
        f->steps[s].error = m->left.error[k * m->left.steps + s];
done:
    return st;
}

/* ---- all classes ---- */

static tn_status judge(tn_ctx *ctx, joint_job *j, int method, judged *m)
{
    *m = (judged){.method = method, .picks = SIZE_MAX};
    if (is_greedy(method))
        return judge_greedy(ctx, j, m);
    bool ridge = tnp_transfer_method_of(method)->uses.family == TNP_TRANSFER_RIDGE;
    return ridge ? judge_ridge(ctx, j, m) : judge_model(ctx, j, m);
}

/* Class-balanced share of wrong signs of class k against the rest. */
static double error_of(const judged *m, size_t k)
{
    size_t last = m->left.steps - 1;
    return m->left.error[k * m->left.steps + tnp_min(last, m->picks)];
}

/* Judges the three; m is the one that is taken. */
static tn_status choose(tn_ctx *ctx, joint_job *j, tn_transfer_info *info, judged *m)
{
    tn_status st = TN_OK;
    judged rivals[2] = {{.method = TNP_TRANSFER_BY_NONE}, {.method = TNP_TRANSFER_BY_RLS}};
    double *const errors[2] = {&info->none, &info->rls};
    size_t taken = 2;
    tnp_share whole = tnp_progress_now(ctx);
    (void)tnp_progress_part(ctx, whole, 0, 0.6);
    TN_TRY(judge(ctx, j, TNP_TRANSFER_BY_GREEDYTL, m));
    tnp_joint_score greedy = tnp_joint_score_of(&j->joint, j->counts, m->left.predicted);
    info->greedy = greedy.error;
    for (size_t r = j->job->features ? 0 : 1; r < 2; ++r) {
        (void)tnp_progress_part(ctx, whole, r ? 0.8 : 0.6, r ? 1 : 0.8);
        TN_TRY(judge(ctx, j, rivals[r].method, &rivals[r]));
        tnp_joint_score rival = tnp_joint_score_of(&j->joint, j->counts, rivals[r].left.predicted);
        *errors[r] = rival.error;
        if (greedy.error - rival.error > fmax(greedy.se, rival.se) && (taken == 2 || rival.error < *errors[taken]))
            taken = r;
    }
    for (size_t k = 0; k < info->count; ++k) {
        info->results[k].greedy = error_of(m, k);
        info->results[k].rls = error_of(&rivals[1], k);
        info->results[k].none = j->job->features ? error_of(&rivals[0], k) : NAN;
    }
    if (taken < 2) {
        tnp_joint_left_destroy(&m->left);
        *m = rivals[taken];
        rivals[taken].left = (tnp_joint_left){0}; /* m's now */
    }
done:
    tnp_joint_left_destroy(&rivals[0].left);
    tnp_joint_left_destroy(&rivals[1].left);
    return st;
}

/* The heads of all classes with what was chosen. */
static tn_status finish(tn_ctx *ctx, joint_job *j, const judged *m, tn_transfer_info *info)
{
    tn_status st = TN_OK;
    transfer_found f = {0};
    for (size_t k = 0; k < info->count; ++k) {
        TN_TRY(tnp_progress(ctx, "weights", k, info->count));
        TN_TRY(is_greedy(m->method) ? take_walked(ctx, j, m, k, &f) : run_class(ctx, j, m, k, NULL, &f));
        f.score.error = is_greedy(m->method) ? f.steps[f.picks].error : m->left.error[k];
        j->job->intercepts[k] = f.intercept;
        TN_TRY(tnp_transfer_account(ctx, j->job, &f, &info->results[k]));
        tnp_transfer_found_destroy(&f);
    }
    if (m->class_means > 0)
        TN_TRY(share_heads(ctx, j, m, info));
    tnp_joint_score score = tnp_joint_score_of(&j->joint, j->counts, m->left.predicted);
    info->joint = true;
    info->method = info->results[0].method;
    info->loo_error = score.error;
    info->loo_se = score.se;
    info->loo_rows = score.rows;
    info->class_means = m->class_means;
    info->source_share = j->job->columns->share;
done:
    tnp_transfer_found_destroy(&f);
    return st;
}

tn_status tnp_transfer_joint(tn_ctx *ctx, transfer_job *job, tn_transfer_info *info)
{
    tn_status st = TN_OK;
    joint_job j = {0};
    judged m = {.method = job->options->method};
    info->none = info->rls = info->greedy = NAN;
    for (size_t k = 0; k < info->count; ++k)
        info->results[k].none = info->results[k].rls = info->results[k].greedy = NAN;
    tnp_share whole = tnp_progress_now(ctx);
    (void)tnp_progress_part(ctx, whole, 0, 0.9);
    TN_TRY(joint_job_init(ctx, job, &j));
    TN_TRY(m.method == TNP_TRANSFER_BY_AUTO ? choose(ctx, &j, info, &m) : judge(ctx, &j, m.method, &m));
    (void)tnp_progress_part(ctx, whole, 0.9, 1);
    TN_TRY(finish(ctx, &j, &m, info));
done:
    tnp_joint_left_destroy(&m.left);
    joint_job_destroy(&j);
    return st;
}
