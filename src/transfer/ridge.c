/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ridge models of a transfer problem for a whole grid of lambda from one eigendecomposition.
 *
 *   min over w, b   sum_i (t_i - u_i b - z_i'w)^2 + lambda |w|^2        t: u times a target, centred
 *
 * Z Z' = sum_k s_k v_k v_k' with v_k orthogonal to u. Then
 *
 *   P t = t_outside + lambda sum_k v_k (v_k't)/(s_k + lambda)     1 - H_ii = outside_i + lambda sum_k v_ki^2/(s_k +
 * lambda) w = Z'a,  a = sum_k v_k (v_k't)/(s_k + lambda)
 *
 * With as many columns as rows or more, the v are eigenvectors of the kernel Z Z' + c u u', c above its trace: u is
 * then the last of them and is dropped, the others span all that is orthogonal to it, and nothing is outside. Both sums
 * keep their digits however small lambda is, where 1 - H by subtraction has none left at lambda/s = eps. With fewer
 * columns the v are Z times the eigenvectors of Z'Z over sqrt(s), and outside_i = 1 - u_i^2 - sum_k v_ki^2: a model of
 * fewer columns than rows leaves something there. Leave-one-out: transfer/problem.c.
 *
 * DAM in its least-squares form, f a ridge model of the features, h_s the n sources' raw scores, gamma_s = 1/n:
 *
 *   min lambda |f|^2 + sum_i share_i [(f_i - y_i)^2 + tau sum_s gamma_s (f_i - h_si)^2]
 *
 * equals, but for a constant, ridge with lambda/(1 + tau) on the target (y + tau mean_s h_s)/(1 + tau). A row that is
 * left out takes its source terms along. Oracle: tests/ref/ref_transfer.c. */
#include "transfer/ridge.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { WIDE = 512 }; /* columns that are laid out as rows at a time */

double tnp_transfer_lambda(size_t i)
{
    static const double grid[TNP_LAMBDAS] = {1e4, 1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-4};
    return grid[i];
}

double tnp_transfer_tau(size_t i)
{
    static const double grid[TNP_TAUS] = {1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3};
    return grid[i];
}

bool tnp_choice_adds(const tnp_transfer_choice *choice, size_t index, size_t rows, const double *y,
                     const double *predicted)
{
    if (!choice || !choice->loss)
        return false;
    for (size_t i = 0; i < rows; ++i) {
        double off = y[i] - predicted[i];
        if (choice->counts[i] > 0)
            choice->loss[index] += isnan(off) ? INFINITY : choice->counts[i] * off * off;
    }
    *choice->values = tnp_max(*choice->values, index + 1);
    return true;
}

void tnp_transfer_model_free(tnp_transfer_model *model)
{
    if (!model)
        return;
    tnp_free_all(model->weights, model->loo, model);
}

tn_status tnp_transfer_model_new(tn_ctx *ctx, const tnp_transfer_problem *problem, tnp_transfer_model **out)
{
    tn_status st = TN_OK;
    tnp_transfer_model *model = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *model, &model));
    TN_TRY(tnp_alloc(ctx, problem->cols, sizeof(double), &model->weights));
    TN_TRY(tnp_alloc(ctx, problem->rows, sizeof(double), &model->loo));
    *out = model;
    model = NULL;
done:
    tnp_transfer_model_free(model);
    return st;
}

/* v: eigenvectors of Z Z' + c u u' but the last, which is u. */
static tn_status kernel_basis(tn_ctx *ctx, const tnp_transfer_problem *p, tnp_ridge_basis *b)
{
    tn_status st = TN_OK;
    size_t m = p->rows;
    double *x = NULL, trace = 0;
    TN_TRY(tnp_alloc_raw(ctx, m * WIDE, sizeof *x, &x));
    TN_TRY(tnp_alloc(ctx, m * m, sizeof(double), &b->v));
    TN_TRY(tnp_alloc(ctx, m, sizeof(double), &b->s));
    for (size_t j = 0; j < b->count; j += WIDE) {
        size_t n = tnp_min(WIDE, b->count - j);
        TN_TRY(tnp_cancelled(ctx));
        tnp_transfer_rows(p, b->first + j, n, x);
        TN_TRY(tnp_dsyrk_rows(ctx, m, n, x, n, 1, b->v));
    }
    for (size_t i = 0; i < m; ++i)
        trace += b->v[i * m + i];
    for (size_t i = 0; i < m; ++i)
        for (size_t k = i; k < m; ++k)
            b->v[i * m + k] += 2 * (trace + 1) * p->root[i] * p->root[k];
    TN_TRY(tnp_eigen(ctx, m, b->v, b->s));
    b->rank = m - 1;
done:
    tnp_free(x);
    return st;
}

/* v_k = Z e_k/sqrt(s_k) for the eigenvectors of Z'Z, whose values are known to n eps: those within some hundred times
 * that are none. */
static tn_status column_basis(tn_ctx *ctx, const tnp_transfer_problem *p, tnp_ridge_basis *b)
{
    tn_status st = TN_OK;
    size_t m = p->rows, n = b->count;
    double *x = NULL, *e = NULL, *s = NULL;
    TN_TRY(tnp_alloc_raw(ctx, m * n, sizeof *x, &x));
    TN_TRY(tnp_alloc(ctx, n * n, sizeof *e, &e));
    TN_TRY(tnp_alloc(ctx, n, sizeof *s, &s));
    TN_TRY(tnp_alloc(ctx, n * m, sizeof(double), &b->v));
    TN_TRY(tnp_alloc(ctx, n, sizeof(double), &b->s));
    tnp_transfer_rows(p, b->first, n, x);
    TN_TRY(tnp_cancelled(ctx));
    TN_TRY(tnp_dsyrk_cols(ctx, m, n, x, n, 0, e));
    TN_TRY(tnp_cancelled(ctx));
    TN_TRY(tnp_eigen(ctx, n, e, s));
    size_t dropped = 0;
    while (dropped < n && s[dropped] <= 1e-13 * (double)n)
        ++dropped;
    b->rank = n - dropped;
    TN_TRY(tnp_dgemm_nt(ctx, b->rank, m, n, e + dropped * n, n, x, n, 0, b->v, m));
    for (size_t k = 0; k < b->rank; ++k) {
        b->s[k] = s[dropped + k];
        for (size_t i = 0; i < m; ++i)
            b->v[k * m + i] /= sqrt(b->s[k]);
    }
    for (size_t i = 0; i < m; ++i) {
        b->outside[i] = 1 - p->root[i] * p->root[i];
        for (size_t k = 0; k < b->rank; ++k)
            b->outside[i] -= b->v[k * m + i] * b->v[k * m + i];
        b->outside[i] = fmax(b->outside[i], 0);
    }
done:
    tnp_free_all(x, e, s);
    return st;
}

tn_status tnp_ridge_basis_new(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t first, size_t count,
                              tnp_ridge_basis **out)
{
    tn_status st = TN_OK;
    tnp_ridge_basis *b = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *b, &b));
    b->rows = problem->rows;
    b->first = first;
    b->count = count;
    for (size_t j = first; j < first + count; ++j)
        b->trace += problem->inverse[j] > 0 ? tnp_transfer_power(problem, j) : 0;
    TN_TRY(tnp_alloc(ctx, problem->rows, sizeof(double), &b->outside));
    TN_TRY((count < problem->rows ? column_basis : kernel_basis)(ctx, problem, b));
    *out = b;
    b = NULL;
done:
    tnp_ridge_basis_free(b);
    return st;
}

void tnp_ridge_basis_free(tnp_ridge_basis *basis)
{
    if (!basis)
        return;
    tnp_free_all(basis->v, basis->s, basis->outside, basis);
}

void tnp_ridge_left(const tnp_ridge_basis *basis, double lambda, double *left)
{
    memcpy(left, basis->outside, basis->rows * sizeof *left);
    for (size_t k = 0; k < basis->rank; ++k) {
        const double *v = basis->v + k * basis->rows;
        double part = lambda / (lambda + fmax(basis->s[k], 0));
        for (size_t i = 0; i < basis->rows; ++i)
            left[i] += part * v[i] * v[i];
    }
}

/* c (rank) = V't. */
static void coordinates(const tnp_ridge_basis *b, const double *t, double *c)
{
    for (size_t k = 0; k < b->rank; ++k) {
        c[k] = 0;
        for (size_t i = 0; i < b->rows; ++i)
            c[k] += b->v[k * b->rows + i] * t[i];
    }
}

/* Kernel directions span all of t, which is then not worth a subtraction. */
void tnp_ridge_residual(const tnp_ridge_basis *basis, double lambda, const double *t, double *scratch, double *r)
{
    size_t m = basis->rows;
    bool whole = basis->count >= m;
    coordinates(basis, t, scratch);
    for (size_t i = 0; i < m; ++i)
        r[i] = whole ? 0 : t[i];
    for (size_t k = 0; k < basis->rank; ++k) {
        double s = fmax(basis->s[k], 0), part = scratch[k] * (whole ? lambda : -s) / (lambda + s);
        for (size_t i = 0; i < m; ++i)
            r[i] += part * basis->v[k * m + i];
    }
}

double tnp_transfer_centre(const tnp_transfer_problem *problem, const double *t, double *out)
{
    double mean = 0;
    for (size_t i = 0; i < problem->rows; ++i)
        mean += problem->root[i] * problem->root[i] * t[i];
    for (size_t i = 0; i < problem->rows; ++i)
        out[i] = problem->root[i] * (t[i] - mean);
    return mean;
}

tn_status tnp_ridge_solve(tn_ctx *ctx, const tnp_transfer_problem *problem, const tnp_ridge_basis *basis, double lambda,
                          const double *t, tnp_transfer_model *model)
{
    tn_status st = TN_OK;
    size_t m = problem->rows;
    double *work = NULL, *w = NULL;
    TN_TRY(tnp_alloc(ctx, 2 * m + basis->rank, sizeof *work, &work));
    TN_TRY(tnp_alloc_raw(ctx, problem->cols, sizeof *w, &w));
    double *centred = work, *a = work + m, *c = a + m;
    model->intercept += tnp_transfer_centre(problem, t, centred);
    coordinates(basis, centred, c);
    for (size_t k = 0; k < basis->rank; ++k)
        for (size_t i = 0; i < m; ++i)
            a[i] += basis->v[k * m + i] * c[k] / (lambda + fmax(basis->s[k], 0));
    tnp_transfer_product(ctx, problem, a, w);
    for (size_t j = basis->first; j < basis->first + basis->count; ++j) {
        double raw = w[j] * problem->inverse[j];
        model->weights[j] += raw;
        model->intercept -= raw * problem->mean[j];
    }
done:
    tnp_free_all(work, w);
    return st;
}

void tnp_transfer_mean_score(const tnp_transfer_problem *problem, size_t first, double *mean)
{
    double n = (double)(problem->cols - first);
    for (size_t i = 0; i < problem->rows; ++i) {
        mean[i] = 0;
        for (size_t j = first; j < problem->cols; ++j)
            mean[i] += tnp_transfer_value(problem->columns, i, j);
        mean[i] /= n;
    }
}

double tnp_ridge_lambda(const tnp_transfer_problem *problem, const tnp_ridge_basis *basis, size_t index)
{
    /* A basis of constant columns has no weights at any lambda, which must be positive. */
    return !problem->power ? tnp_transfer_lambda(index) : fmax(basis->trace, 1) * pow(10, -0.5 * (double)index);
}

typedef struct grid_search {
    const tnp_transfer_problem *problem;
    const tnp_ridge_basis *basis;
    const double *pull; /* the sources' mean; NULL without DAM */
    double *target, *work, *left, *r, *scratch, *predicted;
} grid_search;

/* (y + tau pull)/(1 + tau). */
static void make_target(const grid_search *g, double tau)
{
    for (size_t i = 0; i < g->problem->rows; ++i)
        g->target[i] = (g->problem->y[i] + (g->pull ? tau * g->pull[i] : 0)) / (1 + tau);
}

static void search(const grid_search *g, const tnp_transfer_choice *choice, tnp_transfer_model *model)
{
    const tnp_transfer_problem *p = g->problem;
    size_t taus = g->pull ? TNP_TAUS : 1;
    model->score.error = INFINITY;
    for (size_t l = 0; l < (p->power ? TNP_JOINT_LAMBDAS : TNP_LAMBDAS); ++l)
        for (size_t s = 0; s < taus; ++s) {
            if (tnp_choice_skips(choice, l * taus + s))
                continue;
            double tau = g->pull ? tnp_transfer_tau(s) : 0, lambda = tnp_ridge_lambda(p, g->basis, l) / (1 + tau);
            make_target(g, tau);
            (void)tnp_transfer_centre(p, g->target, g->work);
            tnp_ridge_left(g->basis, lambda, g->left);
            tnp_ridge_residual(g->basis, lambda, g->work, g->scratch, g->r);
            tnp_transfer_loo(p, g->target, 1, g->r, g->left, g->predicted);
            tnp_transfer_score score = tnp_transfer_score_of(p->rows, p->y, g->predicted);
            if (!tnp_transfer_better(score, model->score))
                continue;
            model->score = score;
            model->lambda = tnp_ridge_lambda(p, g->basis, l);
            model->tau = tau;
            memcpy(model->loo, g->predicted, p->rows * sizeof(double));
        }
}

static tn_status check(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features, bool need_features,
                       bool need_sources)
{
    if (need_features && features == 0)
        return tnp_fail(ctx, TN_ERR_ARG, "transfer: the method works on features, there are none");
    if (need_sources && features >= problem->cols)
        return tnp_fail(ctx, TN_ERR_ARG, "transfer: the method works on sources, there are none");
    return TN_OK;
}

tn_status tnp_transfer_ridge(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features, tnp_ridge_method method,
                             tnp_ridge_basis **kept, const tnp_transfer_choice *choice, tnp_transfer_model **out)
{
    tn_status st = TN_OK;
    tnp_transfer_model *model = NULL;
    tnp_ridge_basis *own = NULL, **basis = kept ? kept : &own;
    size_t m = problem->rows;
    double *work = NULL;
    TN_TRY(check(ctx, problem, features, method != TNP_TRANSFER_RLS, method == TNP_TRANSFER_DAM));
    TN_TRY(tnp_transfer_model_new(ctx, problem, &model));
    if (!*basis)
        TN_TRY(tnp_ridge_basis_new(ctx, problem, 0, method == TNP_TRANSFER_RLS ? problem->cols : features, basis));
    TN_TRY(tnp_alloc(ctx, 7 * m, sizeof *work, &work));
    grid_search g = {problem,      *basis,       method == TNP_TRANSFER_DAM ? work : NULL,
                     work + m,     work + 2 * m, work + 3 * m,
                     work + 4 * m, work + 5 * m, work + 6 * m};
    if (g.pull)
        tnp_transfer_mean_score(problem, features, work);
    search(&g, choice, model);
    make_target(&g, model->tau);
    TN_TRY(tnp_ridge_solve(ctx, problem, *basis, model->lambda / (1 + model->tau), g.target, model));
    *out = model;
    model = NULL;
done:
    tnp_transfer_model_free(model);
    tnp_ridge_basis_free(own);
    tnp_free(work);
    return st;
}

/* y = intercept + slope h by least squares, and what it predicts for a row that it has not seen; work (3 rows). */
static void fit_line(const tnp_transfer_problem *p, const double *h, double *work, double *slope, double *intercept,
                     double *loo)
{
    size_t m = p->rows;
    double *centred = work, *r = work + m, *left = r + m, square = 0, product = 0;
    double mean = tnp_transfer_centre(p, h, centred), y_mean = tnp_transfer_centre(p, p->y, r);
    for (size_t i = 0; i < m; ++i) {
        square += centred[i] * centred[i];
        product += centred[i] * r[i];
    }
    *slope = square > 0 ? product / square : 0;
    *intercept = y_mean - *slope * mean;
    for (size_t i = 0; i < m; ++i) {
        left[i] = 1 - p->root[i] * p->root[i] - (square > 0 ? centred[i] * centred[i] / square : 0);
        r[i] -= *slope * centred[i];
    }
    tnp_transfer_loo(p, p->y, 1, r, left, loo);
}

tn_status tnp_transfer_average(tn_ctx *ctx, const tnp_transfer_problem *problem, size_t features,
                               tnp_transfer_model **out)
{
    tn_status st = TN_OK;
    tnp_transfer_model *model = NULL;
    double *work = NULL, slope = 1;
    TN_TRY(check(ctx, problem, features, false, true));
    TN_TRY(tnp_transfer_model_new(ctx, problem, &model));
    TN_TRY(tnp_alloc(ctx, problem->rows, 4 * sizeof *work, &work));
    tnp_transfer_mean_score(problem, features, model->loo);
    if (problem->power) {
        memcpy(work, model->loo, problem->rows * sizeof *work);
        fit_line(problem, work, work + problem->rows, &slope, &model->intercept, model->loo);
    }
    for (size_t j = features; j < problem->cols; ++j)
        model->weights[j] = slope / (double)(problem->cols - features);
    model->score = tnp_transfer_score_of(problem->rows, problem->y, model->loo);
    *out = model;
    model = NULL;
done:
    tnp_transfer_model_free(model);
    tnp_free(work);
    return st;
}
