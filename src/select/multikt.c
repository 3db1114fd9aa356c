/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MultiKT (Tommasi, Orabona, Caputo, 2014): f(x) = sum_j beta_j h_j(x) + g(x), g the ridge model of the features, with
 * intercept, for the target y - H beta; h_j the raw scores of source j.
 *
 * With e(t)_i = (P t)_i/((1 - H_ii) u_i) the leave-one-out residual of a ridge fit to t, which is linear in t, the
 * prediction of row i without row i is affine in beta:
 *
 *   predicted = H beta + (y - H beta) - e(y - H beta) = y - e(y) + G beta       G_j = e(h_j)
 *
 * beta minimises sum_i u_i^2 max(0, 1 - y_i predicted_i) within |beta|_1 <= tau or |beta|_2 <= tau by projected
 * sub-gradient steps of length tau/sqrt(step), from 0; the best of the points visited is kept, so the result is never worse
 * than no transfer. The distance to the optimum falls as 1/sqrt(steps): refused was a linear program, exact but a solver more,
 * for a criterion that only stands for the error.
 *
 * Projection onto the l1 ball: shrink all |b_j| by the one theta that makes their sum tau, found from the sorted values.
 * The bordered kernel system of the paper, [K + lambda I, 1; 1', 0], is the same as centring: its inverse's upper block is P
 * over lambda. Oracle: tests/unit/test_multikt.c, refits without the row and projections by bisection. */
#include "select/multikt.h"

#include <math.h>
#include <string.h>

enum { STEPS = 1000 };

static void sift(double *a, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && a[child + 1] > a[child])
            ++child;
        if (a[root] >= a[child])
            return;
        double swap = a[root];
        a[root] = a[child];
        a[child] = swap;
    }
}

/* theta with sum max(0, a_j - theta) = tau, for a sum above tau. Largest values leave a heap until the next one is below theta:
 * no more are sorted than stay. a is destroyed. */
static double threshold(size_t n, double tau, double *a)
{
    double sum = 0, theta = 0;
    for (size_t i = n / 2; i-- > 0;)
        sift(a, i, n);
    for (size_t left = n; left > 0;) {
        double largest = a[0];
        if (left < n && largest <= theta)
            break;
        sum += largest;
        theta = (sum - tau) / (double)(n - left + 1);
        a[0] = a[--left];
        sift(a, 0, left);
    }
    return theta;
}

void tnp_project_l1(size_t n, double tau, double *b, double *room)
{
    double sum = 0;
    for (size_t j = 0; j < n; ++j)
        sum += room[j] = fabs(b[j]);
    if (sum <= tau)
        return;
    double theta = threshold(n, tau, room);
    for (size_t j = 0; j < n; ++j)
        b[j] = copysign(fmax(fabs(b[j]) - theta, 0), b[j]);
}

void tnp_project_l2(size_t n, double tau, double *b)
{
    double square = 0;
    for (size_t j = 0; j < n; ++j)
        square += b[j] * b[j];
    if (square <= tau * tau)
        return;
    double factor = tau / sqrt(square);
    for (size_t j = 0; j < n; ++j)
        b[j] *= factor;
}

typedef struct descent {
    const tnp_transfer_problem *problem;
    tnp_ball ball;
    size_t sources;
    double *base, *g; /* (rows) y - e(y), and (sources, rows) */
    /* One of each a tau. */
    double *best;      /* (TNP_TAUS, sources): beta */
    double *predicted; /* (TNP_TAUS, rows): of it */
    double *scratch;   /* (TNP_TAUS, 3 sources + 2 rows) */
} descent;

/* predicted = base + G beta; returns the hinge, and its derivative by the predictions. */
static double hinge(const descent *d, const double *beta, double *predicted, double *slope)
{
    size_t m = d->problem->rows;
    const double *y = d->problem->y, *root = d->problem->root;
    double sum = 0;
    memcpy(predicted, d->base, m * sizeof *predicted);
    for (size_t j = 0; j < d->sources; ++j)
        for (size_t i = 0; beta[j] != 0 && i < m; ++i)
            predicted[i] += beta[j] * d->g[j * m + i];
    for (size_t i = 0; i < m; ++i) {
        double share = root[i] * root[i], miss = 1 - y[i] * predicted[i];
        sum += miss > 0 ? share * miss : 0;
        slope[i] = miss > 0 ? -share * y[i] : 0;
    }
    return sum;
}

static void descend(void *arg, size_t which)
{
    const descent *d = arg;
    size_t m = d->problem->rows, n = d->sources;
    double tau = tnp_transfer_tau(which), least = INFINITY;
    double *beta = d->scratch + which * (3 * n + 2 * m), *gradient = beta + n, *room = gradient + n;
    double *now = room + n, *slope = now + m, *best = d->best + which * n, *predicted = d->predicted + which * m;
    memset(beta, 0, n * sizeof *beta);
    for (size_t step = 1; step <= STEPS; ++step) {
        double value = hinge(d, beta, now, slope), square = 0;
        if (value < least) {
            least = value;
            memcpy(best, beta, n * sizeof *best);
            memcpy(predicted, now, m * sizeof *now);
        }
        for (size_t j = 0; j < n; ++j) {
            gradient[j] = 0;
            for (size_t i = 0; i < m; ++i)
                gradient[j] += slope[i] * d->g[j * m + i];
            square += gradient[j] * gradient[j];
        }
        if (!(square > 0))
            break;
        double length = tau / (sqrt(square) * sqrt((double)step));
        for (size_t j = 0; j < n; ++j)
            beta[j] -= length * gradient[j];
        if (d->ball == TNP_BALL_L1)
            tnp_project_l1(n, tau, beta, room);
        else
            tnp_project_l2(n, tau, beta);
    }
}

/* base and G for one lambda; work (4 rows). */
static void residuals(const descent *d, const tnp_ridge_basis *basis, size_t features, double lambda, double *work)
{
    const tnp_transfer_problem *p = d->problem;
    size_t m = p->rows;
    double *left = work, *h = work + m, *centred = h + m, *room = centred + m;
    tnp_ridge_left(basis, lambda, left);
    for (size_t j = 0; j <= d->sources; ++j) {
        double *e = j < d->sources ? d->g + j * m : d->base;
        if (j < d->sources)
            tnp_transfer_raw(p, features + j, h);
        (void)tnp_transfer_centre(p, j < d->sources ? h : p->y, centred);
        tnp_ridge_residual(basis, lambda, centred, room, e);
        for (size_t i = 0; i < m; ++i)
            e[i] /= left[i] * p->root[i];
    }
    for (size_t i = 0; i < m; ++i)
        d->base[i] = p->y[i] - d->base[i];
}

static void keep_better(const descent *d, size_t features, double lambda, tnp_transfer_model *model)
{
    size_t m = d->problem->rows;
    for (size_t s = 0; s < TNP_TAUS; ++s) {
        tnp_transfer_score score = tnp_transfer_score_of(m, d->problem->y, d->predicted + s * m);
        if (!tnp_transfer_better(score, model->score))
            continue;
        model->score = score;
        model->lambda = lambda;
        model->tau = tnp_transfer_tau(s);
        memcpy(model->loo, d->predicted + s * m, m * sizeof(double));
        memcpy(model->weights + features, d->best + s * d->sources, d->sources * sizeof(double));
    }
}

/* The features' part: ridge on y - H beta. work (2 rows). */
static tn_status finish(tn_ctx *ctx, const descent *d, const tnp_ridge_basis *basis, size_t features, double *work,
                        tnp_transfer_model *model)
{
    size_t m = d->problem->rows;
    double *rest = work, *h = work + m;
    memcpy(rest, d->problem->y, m * sizeof *rest);
    for (size_t j = 0; j < d->sources; ++j) {
        tnp_transfer_raw(d->problem, features + j, h);
        for (size_t i = 0; i < m; ++i)
            rest[i] -= model->weights[features + j] * h[i];
    }
    return tnp_ridge_solve(ctx, d->problem, basis, model->lambda, rest, model);
}

tn_status tnp_multikt(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features, tnp_ball ball,
                      tnp_transfer_model **out)
{
    tn_status st = TN_OK;
    tnp_transfer_model *model = NULL;
    tnp_ridge_basis *basis = NULL;
    size_t m = problem->rows, n = problem->cols - features;
    descent d = {.problem = problem, .ball = ball, .sources = n};
    double *work = NULL;
    if (features == 0 || n == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "transfer: MultiKT needs features and sources, got %zu and %zu", features, n));
    TN_TRY(tnp_transfer_model_new(ctx, problem, &model));
    TN_TRY(tnp_ridge_basis_new(ctx, problem, 0, features, &basis));
    TN_TRY(tnp_alloc(ctx, m, 4 * sizeof(double), &work));
    TN_TRY(tnp_alloc(ctx, m, sizeof(double), &d.base));
    TN_TRY(tnp_alloc(ctx, n, m * sizeof(double), &d.g));
    TN_TRY(tnp_alloc(ctx, n, TNP_TAUS * sizeof(double), &d.best));
    TN_TRY(tnp_alloc(ctx, m, TNP_TAUS * sizeof(double), &d.predicted));
    TN_TRY(tnp_alloc(ctx, 3 * n + 2 * m, TNP_TAUS * sizeof(double), &d.scratch));
    model->score.error = INFINITY;
    for (size_t l = 0; l < TNP_LAMBDAS; ++l) {
        TN_TRY(tnp_cancelled(ctx));
        residuals(&d, basis, features, tnp_transfer_lambda(l), work);
        double flops = 4.0 * STEPS * (double)TNP_TAUS * (double)n * (double)m;
        tnp_parallel(ctx, tnp_threads_for(ctx, flops), TNP_TAUS, descend, &d);
        keep_better(&d, features, tnp_transfer_lambda(l), model);
    }
    TN_TRY(finish(ctx, &d, basis, features, work, model));
    *out = model;
    model = NULL;
done:
    tnp_transfer_model_free(model);
    tnp_ridge_basis_free(basis);
    tnp_free(work);
    tnp_free(d.base);
    tnp_free(d.g);
    tnp_free(d.best);
    tnp_free(d.predicted);
    tnp_free(d.scratch);
    return st;
}
