/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sparse logistic regression of a transfer problem (learn/sparse_logistic.c) on standardised columns a_ij = z_ij/u_i,
 * with costs m u_i^2, which are 1 for equal weights. lambda falls along the grid, each fit starts from the one before,
 * and each leave-one-out refit from the fit with all rows: the row's cost is 0, columns and scaling stay as they are.
 * There is no closed form, but a refit that starts so near needs a few passes. Oracle:
 * tests/unit/test_sparse_logistic.c. */
#include "transfer/logistic.h"
#include "transfer/sparse_logistic.h"

#include <math.h>
#include <string.h>

static const double tolerance = 1e-6; /* of the objective: signs of predictions do not ask for more */

typedef struct refits {
    const tnp_transfer_problem *problem;
    tnp_sparse_problem sparse;
    double *cost;            /* (rows) */
    double *predicted;       /* (rows) */
    tnp_sparse_fit all, one; /* with all rows; without one */
} refits;

static bool alone(const tnp_transfer_problem *p, size_t row)
{
    size_t same = 0;
    for (size_t i = 0; i < p->rows; ++i)
        same += p->y[i] == p->y[row];
    return same == 1;
}

/* m u_i^2, and 0 for row `left` unless it is m. For classes that are compared, whose columns are grouped, the other
 * rows of its class take its cost over: the class must not be rarer for the row that is to be told (transfer/joint.c).
 */
static void set_costs(const refits *r, size_t left)
{
    const tnp_transfer_problem *p = r->problem;
    double m = (double)p->rows, sum = 0;
    for (size_t i = 0; i < p->rows; ++i) {
        r->cost[i] = m * p->root[i] * p->root[i];
        sum += left < p->rows && p->y[i] == p->y[left] ? r->cost[i] : 0;
    }
    if (left == p->rows)
        return;
    double ratio = sum / (sum - r->cost[left]);
    for (size_t i = 0; p->power && i < p->rows; ++i)
        r->cost[i] *= p->y[i] == p->y[left] ? ratio : 1;
    r->cost[left] = 0;
}

static tn_status leave_out(tn_ctx *ctx, refits *r)
{
    const tnp_transfer_problem *p = r->problem;
    tn_status st = TN_OK;
    for (size_t i = 0; i < p->rows; ++i) {
        r->predicted[i] = -p->y[i];
        if (alone(p, i))
            continue;
        set_costs(r, i);
        memcpy(r->one.w, r->all.w, p->cols * sizeof(double));
        r->one.intercept = r->all.intercept;
        TN_TRY(tnp_sparse_logistic(ctx, &r->sparse, tolerance, &r->one));
        r->predicted[i] = tanh(r->one.scores[i] / 2);
    }
done:
    set_costs(r, p->rows);
    return st;
}

/* The fit's weights of standardised columns to raw ones. */
static void keep(const refits *r, tnp_transfer_model *model)
{
    const tnp_transfer_problem *p = r->problem;
    model->intercept = r->all.intercept;
    for (size_t j = 0; j < p->cols; ++j) {
        model->weights[j] = r->all.w[j] * p->inverse[j];
        model->intercept -= model->weights[j] * p->mean[j];
    }
    memcpy(model->loo, r->predicted, p->rows * sizeof(double));
    model->lambda = r->sparse.lambda;
}

/* The lambdas one after the other, each from the one before, as far as they are asked for. */
static tn_status descend(tn_ctx *ctx, refits *r, const tnp_transfer_choice *choice, tnp_transfer_model *model)
{
    const tnp_transfer_problem *p = r->problem;
    tn_status st = TN_OK;
    model->score.error = INFINITY;
    for (size_t l = 0; l < TNP_LAMBDAS && !(choice && !choice->loss && l > choice->at); ++l) {
        r->sparse.lambda = tnp_transfer_lambda(l);
        TN_TRY(tnp_sparse_logistic(ctx, &r->sparse, tolerance, &r->all));
        if (tnp_choice_skips(choice, l))
            continue;
        TN_TRY(leave_out(ctx, r));
        if (tnp_choice_adds(choice, l, p->rows, p->y, r->predicted))
            continue;
        tnp_transfer_score score = tnp_transfer_score_of(p->rows, p->y, r->predicted);
        if (tnp_transfer_better(score, model->score)) {
            model->score = score;
            keep(r, model);
        }
    }
done:
    return st;
}

tn_status tnp_transfer_logistic(tn_ctx *ctx, const tnp_transfer_problem *problem, double mix,
                                const tnp_transfer_choice *choice, tnp_transfer_model **out)
{
    tn_status st = TN_OK;
    tnp_transfer_model *model = NULL;
    size_t m = problem->rows;
    double *work = NULL;
    tnp_tiles z = {0};
    refits r = {.problem = problem, .sparse = {.z = &z, .y = problem->y, .mix = mix}};
    TN_TRY(tnp_transfer_tiles(ctx, problem, &z));
    TN_TRY(tnp_transfer_model_new(ctx, problem, &model));
    TN_TRY(tnp_alloc(ctx, m, 3 * sizeof *work, &work));
    TN_TRY(tnp_sparse_fit_init(ctx, m, problem->cols, &r.all));
    TN_TRY(tnp_sparse_fit_init(ctx, m, problem->cols, &r.one));
    r.cost = work + m;
    r.predicted = work + 2 * m;
    set_costs(&r, m);
    for (size_t i = 0; i < m; ++i)
        work[i] = 1 / problem->root[i];
    r.sparse.unscale = work;
    r.sparse.cost = r.cost;
    TN_TRY(descend(ctx, &r, choice, model));
    if (!choice || !choice->loss) {
        *out = model;
        model = NULL;
    }
done:
    tnp_transfer_model_free(model);
    tnp_sparse_fit_destroy(&r.all);
    tnp_sparse_fit_destroy(&r.one);
    tnp_tiles_destroy(&z);
    tnp_free(work);
    return st;
}
