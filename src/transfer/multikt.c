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
 * sub-gradient steps of length tau/sqrt(step), from 0; the best of the points visited is kept, so the result is never
 * worse than no transfer. The distance to the optimum falls as 1/sqrt(steps): refused was a linear program, exact but a
 * solver more, for a criterion that only stands for the error.
 *
 * In the l2 ball every point visited is a combination of sub-gradients, beta = G'a with a (rows), and its projection a
 * multiple of it: predictions, lengths and steps need only G G' (rows, rows), whatever the number of sources.
 *
 * Projection onto the l1 ball: shrink all |b_j| by the one theta that makes their sum tau.
 * The bordered kernel system of the paper, [K + lambda I, 1; 1', 0], is the same as centring: its inverse's upper block
 * is P over lambda. Oracle: tests/unit/test_multikt.c, refits without the row and projections by bisection. */
#include "transfer/multikt.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { STEPS = 300 };

/* theta with sum max(0, a_j - theta) = tau, for a sum above tau: the largest of (sum of some a - tau)/(number of them).
 * So the largest a alone bounds it from below; what is not above a bound is dropped, and the rest gives the next, until
 * it rises no more. A few passes, each over less, where a heap of all costs more than the few that leave it. a is
 * destroyed. */
static double threshold(size_t n, double tau, double *a)
{
    double theta = 0;
    for (size_t j = 0; j < n; ++j)
        theta = a[j] > theta ? a[j] : theta;
    theta -= tau;
    for (size_t left = 0;; n = left) {
        double sum = 0;
        left = 0;
        for (size_t j = 0; j < n; ++j) {
            double v = a[j];
            bool above = v > theta;
            a[left] = v;
            left += above;
            sum += above ? v : 0;
        }
        if (left == 0) /* tau is lost in the rounding of the largest */
            return theta;
        double next = (sum - tau) / (double)left;
        if (!(next > theta))
            return next;
        theta = next;
    }
}

void tnp_project_l1(size_t n, double tau, double *b, double *scratch)
{
    double sum = 0;
    for (size_t j = 0; j < n; ++j)
        sum += scratch[j] = fabs(b[j]);
    if (sum <= tau)
        return;
    double theta = threshold(n, tau, scratch);
    for (size_t j = 0; j < n; ++j) {
        double rest = fabs(b[j]) - theta;
        b[j] = rest > 0 ? copysign(rest, b[j]) : 0;
    }
}

typedef struct descent {
    const tn_ctx *ctx; /* for interrupts: what they leave unfinished is not used */
    const tnp_transfer_problem *problem;
    size_t sources;
    double *base; /* (rows): y - e(y) */
    tnp_tiles g;  /* (rows, sources) */
    double *gram; /* (rows, rows): G G', for the l2 ball */
    /* One of each a tau. */
    size_t width;      /* sources, rounded up to whole tiles */
    double *best;      /* (TNP_TAUS, width): beta */
    double *predicted; /* (TNP_TAUS, rows): of it */
    double *scratch;   /* (TNP_TAUS, 3 width + 5 rows) */
} descent;

/* The hinge of predictions, and its derivative by them. */
static double hinge(const tnp_transfer_problem *p, const double *predicted, double *slope)
{
    double sum = 0;
    for (size_t i = 0; i < p->rows; ++i) {
        double share = p->root[i] * p->root[i], miss = 1 - p->y[i] * predicted[i];
        sum += miss > 0 ? share * miss : 0;
        slope[i] = miss > 0 ? -share * p->y[i] : 0;
    }
    return sum;
}

/* out (rows) = base + G beta, few beta being other than 0. */
static void predict(const descent *d, const double *beta, double *out)
{
    size_t m = d->problem->rows;
    memcpy(out, d->base, m * sizeof *out);
    for (size_t j = 0; j < d->sources; ++j) {
        const double *g = tnp_tile_at(&d->g, 0, j);
        for (size_t i = 0; beta[j] != 0 && i < m; ++i)
            out[i] += beta[j] * g[i * TNP_TILE];
    }
}

/* out (whole tiles) = G'q; returns its squared length. */
static double spread(const descent *d, const double *q, double *out)
{
    double sum[TNP_TILE] = {0}, square = 0;
    tnp_simd_get()->tile_products(tnp_tile(&d->g, 0), d->g.count, d->g.rows, q, out);
    for (size_t j = 0; j < d->g.count * TNP_TILE; j += TNP_TILE)
        for (size_t l = 0; l < TNP_TILE; ++l)
            sum[l] += out[j + l] * out[j + l];
    for (size_t l = 0; l < TNP_TILE; ++l)
        square += sum[l];
    return square;
}

static void descend_l1(void *arg, size_t which)
{
    const descent *d = arg;
    size_t m = d->problem->rows, n = d->sources, width = d->width;
    double tau = tnp_transfer_tau(which), least = INFINITY;
    double *beta = d->scratch + which * (3 * width + 5 * m), *gradient = beta + width, *scratch = gradient + width;
    double *now = scratch + width, *slope = now + m;
    memset(beta, 0, n * sizeof *beta);
    for (size_t step = 1; step <= STEPS && !tnp_was_cancelled(d->ctx); ++step) {
        predict(d, beta, now);
        double value = hinge(d->problem, now, slope);
        if (value < least) {
            least = value;
            memcpy(d->best + which * width, beta, n * sizeof *beta);
            memcpy(d->predicted + which * m, now, m * sizeof *now);
        }
        double square = spread(d, slope, gradient);
        if (!(square > 0))
            break;
        double length = tau / (sqrt(square) * sqrt((double)step));
        for (size_t j = 0; j < n; ++j)
            beta[j] -= length * gradient[j];
        tnp_project_l1(n, tau, beta, scratch);
    }
}

/* out = Gram x; returns x'Gram x, never below 0. */
static double times_gram(const descent *d, const double *x, double *out)
{
    size_t m = d->problem->rows;
    double form = 0;
    for (size_t i = 0; i < m; ++i) {
        out[i] = 0;
        for (size_t k = 0; k < m; ++k)
            out[i] += d->gram[i * m + k] * x[k];
        form += x[i] * out[i];
    }
    return fmax(form, 0);
}

static void descend_l2(void *arg, size_t which)
{
    const descent *d = arg;
    size_t m = d->problem->rows;
    double tau = tnp_transfer_tau(which), least = INFINITY, *best = d->best + which * d->width;
    double *a = d->scratch + which * (3 * d->width + 5 * m), *part = a + m, *slope = part + m, *kept = slope + m;
    double *now = kept + m, *predicted = d->predicted + which * m;
    memset(a, 0, m * sizeof *a);
    for (size_t step = 1; step <= STEPS && !tnp_was_cancelled(d->ctx); ++step) {
        double size = sqrt(times_gram(d, a, part)), factor = size > tau ? tau / size : 1;
        for (size_t i = 0; i < m; ++i) {
            a[i] *= factor;
            now[i] = d->base[i] + factor * part[i];
        }
        double value = hinge(d->problem, now, slope);
        if (value < least) {
            least = value;
            memcpy(kept, a, m * sizeof *a);
            memcpy(predicted, now, m * sizeof *now);
        }
        double square = times_gram(d, slope, part);
        if (!(square > 0))
            break;
        double length = tau / (sqrt(square) * sqrt((double)step));
        for (size_t i = 0; i < m; ++i)
            a[i] -= length * slope[i];
    }
    (void)spread(d, kept, best);
}

/* base, G and G G' for one lambda; work (5 rows). */
static void residuals(const descent *d, const tnp_ridge_basis *basis, size_t features, double lambda, double *work)
{
    const tnp_transfer_problem *p = d->problem;
    size_t m = p->rows;
    double *left = work, *h = work + m, *centred = h + m, *scratch = centred + m, *e = scratch + m;
    tnp_ridge_left(basis, lambda, left);
    memset(d->gram, 0, m * m * sizeof *d->gram);
    for (size_t j = 0; j <= d->sources && !tnp_was_cancelled(d->ctx); ++j) {
        for (size_t i = 0; j < d->sources && i < m; ++i)
            h[i] = tnp_transfer_value(p->columns, i, features + j);
        (void)tnp_transfer_centre(p, j < d->sources ? h : p->y, centred);
        tnp_ridge_residual(basis, lambda, centred, scratch, e);
        for (size_t i = 0; i < m; ++i)
            e[i] /= left[i] * p->root[i];
        for (size_t i = 0; j < d->sources && i < m; ++i) {
            *tnp_tile_at(&d->g, i, j) = e[i];
            for (size_t k = 0; k < m; ++k)
                d->gram[i * m + k] += e[i] * e[k];
        }
    }
    for (size_t i = 0; i < m; ++i)
        d->base[i] = p->y[i] - e[i];
}

static void keep_better(const descent *d, size_t features, size_t l, const tnp_transfer_choice *choice,
                        tnp_transfer_model *model)
{
    size_t m = d->problem->rows;
    for (size_t s = 0; s < TNP_TAUS; ++s) {
        size_t index = l * TNP_TAUS + s;
        if (tnp_choice_skips(choice, index) || tnp_choice_adds(choice, index, m, d->problem->y, d->predicted + s * m))
            continue;
        tnp_transfer_score score = tnp_transfer_score_of(m, d->problem->y, d->predicted + s * m);
        if (!tnp_transfer_better(score, model->score))
            continue;
        model->score = score;
        model->lambda = tnp_transfer_lambda(l);
        model->tau = tnp_transfer_tau(s);
        memcpy(model->loo, d->predicted + s * m, m * sizeof(double));
        memcpy(model->weights + features, d->best + s * d->width, d->sources * sizeof(double));
    }
}

/* The features' part: ridge on y - H beta. work (rows). */
static tn_status finish(tn_ctx *ctx, const descent *d, const tnp_ridge_basis *basis, size_t features, double *work,
                        tnp_transfer_model *model)
{
    size_t m = d->problem->rows;
    double *rest = work;
    memcpy(rest, d->problem->y, m * sizeof *rest);
    for (size_t j = features; j < d->problem->cols; ++j)
        for (size_t i = 0; i < m; ++i)
            rest[i] -= model->weights[j] * tnp_transfer_value(d->problem->columns, i, j);
    return tnp_ridge_solve(ctx, d->problem, basis, model->lambda, rest, model);
}

tn_status tnp_multikt(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features, tnp_ball ball,
                      tnp_ridge_basis **kept, const tnp_transfer_choice *choice, tnp_transfer_model **out)
{
    tn_status st = TN_OK;
    tnp_transfer_model *model = NULL;
    tnp_ridge_basis *own = NULL, **basis = kept ? kept : &own;
    size_t m = problem->rows, n = problem->cols - features;
    descent d = {.ctx = ctx, .problem = problem, .sources = n};
    double *work = NULL;
    if (features == 0 || n == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "transfer: MultiKT needs features and sources, got %zu and %zu", features, n));
    TN_TRY(tnp_transfer_model_new(ctx, problem, &model));
    if (!*basis)
        TN_TRY(tnp_ridge_basis_new(ctx, problem, 0, features, basis));
    TN_TRY(tnp_alloc(ctx, m, 5 * sizeof(double), &work));
    TN_TRY(tnp_alloc(ctx, m, sizeof(double), &d.base));
    TN_TRY(tnp_alloc(ctx, m, m * sizeof(double), &d.gram));
    TN_TRY(tnp_tiles_init(ctx, m, n, &d.g));
    d.width = d.g.count * TNP_TILE;
    TN_TRY(tnp_alloc(ctx, d.width, TNP_TAUS * sizeof(double), &d.best));
    TN_TRY(tnp_alloc(ctx, m, TNP_TAUS * sizeof(double), &d.predicted));
    TN_TRY(tnp_alloc(ctx, 3 * d.width + 5 * m, TNP_TAUS * sizeof(double), &d.scratch));
    model->score.error = INFINITY;
    for (size_t l = 0; l < TNP_LAMBDAS; ++l) {
        TN_TRY(tnp_cancelled(ctx));
        if (choice && !choice->loss && choice->at / TNP_TAUS != l)
            continue;
        residuals(&d, *basis, features, tnp_transfer_lambda(l), work);
        double flops = 4.0 * STEPS * (double)TNP_TAUS * (double)(ball == TNP_BALL_L1 ? n : m) * (double)m;
        tnp_parallel(ctx, tnp_threads_for(ctx, flops), TNP_TAUS, ball == TNP_BALL_L1 ? descend_l1 : descend_l2, &d);
        TN_TRY(tnp_cancelled(ctx));
        keep_better(&d, features, l, choice, model);
    }
    if (!choice || !choice->loss) {
        TN_TRY(finish(ctx, &d, *basis, features, work, model));
        *out = model;
        model = NULL;
    }
done:
    tnp_transfer_model_free(model);
    tnp_ridge_basis_free(own);
    tnp_free_all(work, d.base, d.gram);
    tnp_tiles_destroy(&d.g);
    tnp_free_all(d.best, d.predicted, d.scratch);
    return st;
}
