/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The softmax couples its columns, so its folds cannot stand side by side in one product as those of separate classes do.
 * Each is a training of its own, with the rows of the fold at weight 0, of a copy of the others where that pays.
 *
 * Folds share nothing, so threads may have one each. Products of small problems are too short to be shared well: all of
 * logistic-cv by two threads took, one by one and side by side, (720 x 1280, 12 classes) 0.18 and 0.13 s, (3030 x 128,
 * 101) 0.59 and 0.44 s, (3030 x 1280, 101) 1.8 and 1.5 s, (5994 x 512, 200) 0.82 and 0.80 s: what is larger than SMALL
 * keeps all threads busy as it is, and would only take the memory of several folds.
 *
 * Models of folds only choose: what the solver says of them is enough, and a certificate would cost a quarter of their
 * time. */
#include "learn/linear/train_softmax.h"
#include "base/crew.h"
#include "base/team.h"
#include "learn/linear/fold_cost.h"
#include "learn/linear/fold_rows.h"
#include "learn/softmax/softmax.h"
#include "learn/softmax/softmax_exact.h"

enum { MOST_ITERATIONS = 200 };
static const double SMALL = 1e9; /* rows times columns times classes */

static tn_status solve(tn_ctx *ctx, const tnp_linear *l, double cost, tnp_coarse *kept, float *w, tnp_training *out)
{
    tn_status st = TN_OK;
    tnp_softmax loss = {&l->task->y, (float)cost, l->row_weight};
    const tnp_learn_options *o = l->options;
    tnp_newton_options options = {o->gap, tnp_min(o->max_passes, MOST_ITERATIONS), l->bias, false, l->seed};
    tnp_newton_info info = {0};
    TN_TRY(
        tnp_softmax_solve_fold(ctx, &l->rows, &loss, &options, kept, l->moment, w, &out->objective, &out->gap, &info));
    out->passes = info.products;
    if (out->gap > o->gap * out->objective && info.iterations < o->max_passes)
        TN_TRY(tnp_softmax_exact(ctx, &l->rows, &loss, l->bias, o->gap, out->passes + o->max_passes - info.iterations,
                                 w, &out->objective, &out->gap, &out->passes));
    out->converged = out->gap <= o->gap * out->objective;
done:
    return st;
}

/* Bytes of one solve. */
static size_t solve_bytes(const tnp_linear *l)
{
    size_t rows = l->task->y.rows, dim = l->rows.dim, k = l->task->y.classes;
    return tnp_softmax_bytes(rows, dim, k) + tnp_softmax_more_bytes(rows, dim, k);
}

/* The training l without the rows whose weight is 0, of a copy where that pays. */
static tn_status solve_without(tn_ctx *ctx, const tnp_linear *l, const float *weight, double cost, tnp_coarse *kept,
                               float *w, tnp_training *out)
{
    tn_status st = TN_OK;
    tnp_linear one = *l;
    tnp_fold_rows others = {0};
    one.row_weight = weight;
    if (tnp_fold_rows_pay(ctx, l, weight, solve_bytes(l))) {
        TN_TRY(tnp_fold_rows_take(ctx, l, weight, &others));
        one.rows = tnp_design_rows(others.design);
        one.task = &others.task;
        one.row_weight = others.weight;
    }
    TN_TRY(solve(ctx, &one, cost, kept, w, out));
done:
    tnp_fold_rows_free(&others);
    return st;
}

/* ---- folds ---- */

typedef struct fold_job {
    const tnp_linear *l;
    double cost;
    const float *of_class; /* (folds, classes): weights of classes, or NULL */
    float *w;
    tnp_training *out; /* folds */
} fold_job;

/* Bytes of one training, and of a subspace that it keeps, at most. */
static size_t training_bytes(const tnp_linear *l)
{
    size_t rows = l->task->y.rows;
    return solve_bytes(l) + tnp_fold_rows_bytes(rows, l->rows.dim) + 4 * rows + 8 * l->task->y.classes;
}

static size_t subspace_bytes(const tnp_linear *l)
{
    return tnp_coarse_bytes(l->task->y.rows, l->rows.dim, l->task->y.classes);
}

/* Where the training of fold f finds its subspace and leaves it; `own` where that would be memory that the next training
 * needs. */
static tnp_coarse *subspace_of(const tn_ctx *ctx, const tnp_linear *l, size_t f, tnp_coarse *own)
{
    bool within = l->kept && (l->kept[f].count > 0 || training_bytes(l) + subspace_bytes(l) <= tnp_budget_left(ctx));
    return within ? &l->kept[f] : own;
}

static tn_status train_fold(tn_ctx *ctx, void *arg, size_t f)
{
    tn_status st = TN_OK;
    const fold_job *job = arg;
    const tnp_linear *l = job->l;
    const tnp_targets *y = &l->task->y;
    size_t k = y->classes, *sizes = NULL;
    float *weight = NULL;
    tnp_coarse own = {0};
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *weight, &weight));
    TN_TRY(tnp_alloc(ctx, k, sizeof *sizes, &sizes));
    for (size_t i = 0; i < y->rows; ++i) {
        float by = job->of_class ? job->of_class[f * k + y->cls[y->first[i]]] : 1;
        weight[i] = l->row_fold[i] == f ? 0 : by * (l->row_weight ? l->row_weight[i] : 1);
    }
    double cost = tnp_cost_of(l, job->cost, tnp_count_training(l, f, sizes));
    TN_TRY(solve_without(ctx, l, weight, cost, subspace_of(ctx, l, f, &own), job->w + f * k * (l->rows.dim + 1),
                         &job->out[f]));
done:
    tnp_coarse_destroy(&own);
    tnp_free_all(weight, sizes);
    return st;
}

size_t tnp_softmax_folds_at_once(const tn_ctx *ctx, const tnp_linear *l)
{
    double size = (double)l->task->y.rows * (double)l->rows.dim * (double)l->task->y.classes;
    return size <= SMALL && l->design && l->design->resident && !tnp_team_shares(ctx) ? tn_ctx_threads(ctx) : 1;
}

/* Folds side by side where the budget has memory for that. */
static tn_status train_folds(tn_ctx *ctx, fold_job *job)
{
    tn_status st = TN_OK;
    tnp_crew crew = {0}, some;
    const tnp_linear *l = job->l;
    size_t folds = l->folds, most = tnp_min(folds, tnp_softmax_folds_at_once(ctx, l));
    if (most > 1)
        TN_TRY(tnp_crew_new(ctx, training_bytes(l) + folds * subspace_bytes(l), &crew));
    some = (tnp_crew){tnp_min(crew.count, most), crew.ctxs};
    if (some.count > 1)
        TN_TRY(tnp_crew_run(ctx, &some, NULL, folds, train_fold, job));
    for (size_t f = 0; some.count <= 1 && f < folds; ++f)
        TN_TRY(train_fold(ctx, job, f));
done:
    tnp_crew_free(ctx, &crew);
    return st;
}

static double apart(const tnp_training *t)
{
    return t->objective > 0 ? t->gap / t->objective : 0;
}

/* The second moment of all rows at C = 1, once for all folds and every C. */
static tn_status make_moment(tn_ctx *ctx, const tnp_linear *l)
{
    tn_status st = TN_OK;
    size_t dim = l->rows.dim, k = l->task->y.classes;
    tnp_softmax loss = {&l->task->y, 1, l->row_weight};
    tnp_block_rows rows = {.stride = 1, .count = l->task->y.rows};
    float *copy = NULL;
    if (!l->moment || l->moment->a || !l->design || !l->design->resident || !tnp_mean_curve_pays(dim, k) ||
        training_bytes(l) + tnp_mean_curve_bytes(dim, k) > tnp_budget_left(ctx))
        return TN_OK;
    TN_TRY(l->rows.ops->sample(ctx, l->rows.self, 1, &rows.x, &rows.ld, &copy));
    TN_TRY(tnp_row_moment_make(ctx, &loss, &rows, dim, l->bias, l->moment));
done:
    tnp_free(copy);
    return st;
}

static tn_status by_folds(tn_ctx *ctx, const tnp_linear *l, double cost, float *w, tnp_training *out)
{
    tn_status st = TN_OK;
    float *of_class = NULL;
    tnp_training *said = NULL;
    size_t *sizes = NULL, k = l->task->y.classes;
    TN_TRY(tnp_alloc(ctx, l->folds, sizeof *said, &said));
    if (tnp_balances_folds(l)) {
        TN_TRY(tnp_alloc(ctx, l->folds * k, sizeof *of_class, &of_class));
        TN_TRY(tnp_alloc(ctx, 2 * k, sizeof *sizes, &sizes));
        tnp_fold_weights(l, sizes, of_class);
    }
    TN_TRY(make_moment(ctx, l));
    TN_TRY(train_folds(ctx, &(fold_job){l, cost, of_class, w, said}));
    *out = said[0];
    for (size_t f = 1; f < l->folds; ++f)
        *out =
            said[f].converged < out->converged || (said[f].converged == out->converged && apart(&said[f]) > apart(out))
                ? said[f]
                : *out;
done:
    tnp_free_all(of_class, said, sizes);
    return st;
}

tn_status tnp_train_softmax(tn_ctx *ctx, const tnp_linear *l, double cost, float *w, tnp_training *out)
{
    return l->row_fold ? by_folds(ctx, l, cost, w, out)
                       : solve(ctx, l, tnp_cost_of(l, cost, l->task->y.rows), NULL, w, out);
}
