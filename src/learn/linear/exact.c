/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   f(w, b) = 1/2 |w|^2 + [b^2 / 2] + sum_i c_i loss(y_i (w'x_i + b))
 *
 * Newton's method with an exact line search; the steps are learn/exact_step.c's. Squared hinge and logistic loss are
 * taken as they are. The hinge has no second derivative: it is rounded off over a width mu below the margin,
 *
 *   loss_mu(m) = 0 | v^2 / (2 mu) | v - mu / 2   for   v = 1 - m <= 0 | < mu | >= mu,
 *
 * and mu is made smaller until the hinge itself is certified. Its multipliers c clip(v / mu, 0, 1) are feasible for the
 * hinge, whose gap at the optimum of loss_mu is at most mu / 2 sum c. Interior points were refused: they solve with all
 * rows where this solves with those that lie between the margin and mu.
 *
 * Columns come here because float lost them, and where C |x|^2 is large nothing that they bring tells where the minimum
 * is: it takes one row after the other across its margin, hundreds of steps. From no weights and a C at which all rows
 * are felt it is a few steps for each RUNG times C. (3000 x 400, columns of sizes 1e-3 to 1e3, C = 1000): 1800 passes,
 * and 200. The hinge has its mu for that.
 *
 * The minimum is bounded from below by the multipliers of the double iterates (see learn/certify.c for why that is a
 * bound); the objective is that of the weights rounded to float, for which the best intercept is found once more: with
 * rows far from the origin the roundings of w move all scores together. Oracles: ref_svm, ref_logistic. */
#include "learn/linear/exact.h"
#include "learn/linear/certify.h"
#include "learn/linear/exact_step.h"
#include "learn/softmax/softmax_loss.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { HALVES = 200, STRETCHES = 60, STEPS_SMOOTH = 8, STEPS_HINGE = 24 };
static const double FIRST_MU = 0.5, LESS = 0.125, LEAST_MU = 1e-13;
static const double NEAR =
    0.25; /* of the tolerance: how far the double iterate goes, so that rounding to float has room */
static const double FAR = 0.5;              /* of the objective: nothing is known of how near the start is */
static const double FIRST = 6;              /* what the largest c |x|^2 begins with */
static const double RUNG = 10, LOOSE = 0.1; /* times C from rung to rung; of the objective, at each */

typedef struct solver {
    tn_ctx *ctx;
    const tnp_rows *x;
    const tnp_exact_options *opt;
    size_t n, dim;
    double mu;                       /* of the hinge */
    float *a, *whole;                /* n: signed costs; those at C, on the way up to it */
    double *s, *z, *r, *h;           /* n: scores, along the step, slopes, curvatures */
    double *w, *g, *d;               /* dim + 1 */
    double *best;                    /* dim + 1: where the objective was least */
    double f, primal, lower, square; /* with the smooth loss; least with the loss; bound of the minimum; |g|^2 */
    double enough;                   /* of the objective: how near it goes */
    double longest;                  /* |x_i|^2 at most */
    size_t passes;
} solver;

/* ---- the loss at one row ---- */

typedef struct bend {
    double value, slope, curve; /* in s */
} bend;

static bend bend_at(const solver *v, size_t i, double s)
{
    double c = fabs((double)v->a[i]), y = v->a[i] < 0 ? -1 : 1, m = y * s, slack = 1 - m;
    if (v->opt->loss == TNP_LOGISTIC) {
        double alpha = tnp_margin_multiplier(TNP_LOGISTIC, c, m);
        return (bend){tnp_margin_value(TNP_LOGISTIC, c, m), -y * alpha, c > 0 ? alpha * (1 - alpha / c) : 0};
    }
    if (slack <= 0 || c == 0)
        return (bend){0, 0, 0};
    if (v->opt->loss == TNP_SQUARED_HINGE)
        return (bend){c * slack * slack, -2 * y * c * slack, 2 * c};
    if (slack < v->mu)
        return (bend){c * slack * slack / (2 * v->mu), -y * c * slack / v->mu, c / v->mu};
    return (bend){c * (slack - v->mu / 2), -y * c, 0};
}

static bool penalised(const solver *v, size_t i)
{
    return i < v->dim || (v->opt->bias && v->opt->penalised);
}

static double dot(const solver *v, const double *a, const double *b)
{
    return tnp_dot_wide(a, b, v->dim + penalised(v, v->dim));
}

/* ---- where it is ---- */

/* Bound of the minimum from the present slopes: alpha = |r|, sum y alpha x = w - g. A free intercept wants sum r = 0;
 * the share that the heavier side has too much is taken from it, which moves the sum of rows by no more than that times
 * the longest. */
static double bound_of(const solver *v)
{
    double side[2] = {0}, dual[2] = {0}, square = 0, over = 0, share = 0;
    for (size_t i = 0; i < v->n; ++i) {
        double alpha = fabs(v->r[i]);
        bool positive = v->a[i] > 0;
        side[positive] += alpha;
        dual[positive] += tnp_margin_dual(v->opt->loss, fabs((double)v->a[i]), alpha);
    }
    for (size_t i = 0; i <= v->dim; ++i) {
        double sum = penalised(v, i) ? v->w[i] - v->g[i] : 0;
        square += sum * sum;
    }
    if (v->opt->bias && !v->opt->penalised && side[0] != side[1]) {
        bool heavy = side[1] > side[0];
        over = side[heavy] - side[!heavy];
        share = over / side[heavy];
        dual[heavy] *= 1 - share;
        square = pow(sqrt(square) + over * sqrt(v->longest), 2);
    }
    return dual[0] + dual[1] - square / 2 -
           tnp_certify_rounding(side[0] + side[1] + fabs(dual[0]) + fabs(dual[1]) + square);
}

/* The objective at t times the weights. */
static double stretched(const solver *v, double t)
{
    double sum = t * t * dot(v, v->w, v->w) / 2;
    for (size_t i = 0; i < v->n; ++i)
        sum += tnp_margin_value(v->opt->loss, fabs((double)v->a[i]), t * (v->a[i] < 0 ? -v->s[i] : v->s[i]));
    return sum;
}

/* The best t. The hinge is dear to rows that miss the margin by a rounding, or by the part of mu that the smooth loss
 * leaves them at: where multipliers are far below c, a little more of w is worth more than a smaller mu. */
static double best_stretch(const solver *v)
{
    double low = 0.5, high = 2, square = dot(v, v->w, v->w);
    for (int i = 0; i < STRETCHES && v->opt->loss == TNP_HINGE; ++i) {
        double t = (low + high) / 2, slope = t * square;
        for (size_t j = 0; j < v->n; ++j) {
            double m = v->a[j] < 0 ? -v->s[j] : v->s[j];
            slope -= t * m < 1 ? fabs((double)v->a[j]) * m : 0;
        }
        low = slope < 0 ? t : low;
        high = slope < 0 ? high : t;
    }
    return v->opt->loss == TNP_HINGE ? high : 1;
}

/* Keeps the place with the least objective. */
static void keep_best(solver *v)
{
    double t = best_stretch(v), objective = stretched(v, t);
    if (!(objective < v->primal))
        return;
    v->primal = objective;
    for (size_t i = 0; i <= v->dim; ++i)
        v->best[i] = t * v->w[i];
}

/* s (n) = X a and its last entry. */
static tn_status score(const solver *v, const double *a, double *s)
{
    return tnp_rows_wide_pass(v->ctx, v->x, &(tnp_wide_pass){.k = 1, .w = a, .s = s});
}

/* f, slopes, curvatures, the gradient and the bound at the present scores. */
static tn_status look(solver *v)
{
    double smooth = 0;
    for (size_t i = 0; i < v->n; ++i) {
        bend at = bend_at(v, i, v->s[i]);
        v->r[i] = at.slope;
        v->h[i] = at.curve;
        smooth += at.value;
    }
    tn_status st = tnp_rows_wide_pass(v->ctx, v->x, &(tnp_wide_pass){.k = 1, .t = v->r, .back = v->g});
    if (!v->opt->bias)
        v->g[v->dim] = 0;
    for (size_t i = 0; i <= v->dim; ++i)
        v->g[i] += penalised(v, i) ? v->w[i] : 0;
    ++v->passes;
    v->f = smooth + dot(v, v->w, v->w) / 2;
    keep_best(v);
    v->square = tnp_dot_wide(v->g, v->g, v->dim + 1);
    v->lower = fmax(v->lower, bound_of(v));
    return st;
}

static tn_status rescore(solver *v)
{
    ++v->passes;
    return score(v, v->w, v->s);
}

/* ---- one step ---- */

/* First and second derivative of f at w + t d, its scores s + t z. */
static tn_status line(void *arg, double t, double *first, double *second)
{
    const solver *v = arg;
    *second = dot(v, v->d, v->d);
    *first = dot(v, v->w, v->d) + t * *second;
    for (size_t i = 0; i < v->n; ++i) {
        bend at = bend_at(v, i, v->s[i] + t * v->z[i]);
        *first += at.slope * v->z[i];
        *second += at.curve * v->z[i] * v->z[i];
    }
    return TN_OK;
}

/* One Newton step; *moved is false when it leads nowhere, or the budget has no room for it. */
static tn_status take_step(solver *v, bool *moved)
{
    tn_status st = TN_OK;
    tnp_system system = {v->h, v->g, v->opt->bias, v->opt->penalised ? 1 : 0};
    size_t active = 0;
    *moved = false;
    for (size_t i = 0; i < v->n; ++i)
        active += v->h[i] > 0;
    if (tnp_step_bytes(v->dim, active) > tnp_budget_left(v->ctx))
        return TN_OK;
    TN_TRY(tnp_step(v->ctx, v->x, &system, v->d, moved));
    v->passes += 2;
    if (!*moved)
        return TN_OK;
    TN_TRY(score(v, v->d, v->z));
    double t = 0, before = v->f, square = v->square, start, second;
    TN_TRY(line(v, 0, &start, &second));
    TN_TRY(tnp_line_search(line, v, start, 0.01, &t));
    for (size_t i = 0; i <= v->dim; ++i)
        v->w[i] += t * v->d[i];
    for (size_t i = 0; i < v->n; ++i)
        v->s[i] += t * v->z[i];
    TN_TRY(look(v));
    *moved = t > 0 && (v->f < before || v->square < square / 2); /* f has its last digit before the gradient has */
done:
    return st;
}

static bool near_enough(const solver *v)
{
    return v->primal - v->lower <= v->enough * v->primal;
}

/* Steps until the loss at hand is certified, or its smooth form is solved as far as the next mu needs. */
static tn_status descend(solver *v)
{
    tn_status st = TN_OK;
    bool moved = true, hinge = v->opt->loss == TNP_HINGE;
    while (moved && !near_enough(v) && v->passes < v->opt->max_passes) {
        if (hinge && v->square / 2 <= 0.1 * (v->primal - v->lower))
            break;
        TN_TRY(take_step(v, &moved));
        TN_TRY(tnp_cancelled(v->ctx));
    }
done:
    return st;
}

/* What is known of the objective at the present weights, and nothing else. */
static tn_status begin(solver *v, double enough)
{
    tn_status st = TN_OK;
    v->lower = 0; /* as every term is at least */
    v->primal = INFINITY;
    v->enough = enough;
    TN_TRY(rescore(v));
    TN_TRY(look(v));
done:
    return st;
}

/* From no weights by smaller costs to where steps at C begin. */
static tn_status climb(solver *v)
{
    tn_status st = TN_OK;
    double most = 0;
    for (size_t i = 0; i < v->n; ++i)
        most = fmax(most, fabs((double)v->a[i]));
    double rungs = ceil(log(most * (v->longest + 1) / FIRST) / log(RUNG));
    memcpy(v->whole, v->a, v->n * sizeof *v->a);
    memset(v->w, 0, (v->dim + 1) * sizeof *v->w);
    for (; rungs > 0 && v->passes < v->opt->max_passes; --rungs) {
        for (size_t i = 0; i < v->n; ++i)
            v->a[i] = (float)((double)v->whole[i] * pow(RUNG, -rungs));
        TN_TRY(begin(v, LOOSE));
        TN_TRY(descend(v));
    }
done:
    memcpy(v->a, v->whole, v->n * sizeof *v->a);
    return st;
}

static tn_status minimise(solver *v)
{
    tn_status st = TN_OK;
    bool hinge = v->opt->loss == TNP_HINGE;
    v->mu = FIRST_MU;
    TN_TRY(begin(v, NEAR * v->opt->tolerance));
    if (!hinge && v->primal - v->lower > FAR * v->primal) {
        TN_TRY(climb(v));
        TN_TRY(begin(v, NEAR * v->opt->tolerance));
    }
    TN_TRY(descend(v));
    while (hinge && !near_enough(v) && v->passes < v->opt->max_passes && v->mu > LEAST_MU) {
        v->mu *= LESS;
        TN_TRY(rescore(v));
        TN_TRY(look(v));
        TN_TRY(descend(v));
    }
done:
    return st;
}

/* ---- the float head ---- */

/* Derivative in b of the loss and its penalty, at scores s + b. */
static double intercept_slope(const solver *v, double b)
{
    double sum = v->opt->penalised ? b : 0;
    for (size_t i = 0; i < v->n; ++i) {
        double c = fabs((double)v->a[i]), y = v->a[i] < 0 ? -1 : 1;
        sum -= y * tnp_margin_multiplier(v->opt->loss, c, y * (v->s[i] + b));
    }
    return sum;
}

/* The best intercept near `start`, by halving: right for every loss, and there are only so many doubles. */
static double best_intercept(const solver *v, double start)
{
    double step = fmax(1e-6, 1e-6 * fabs(start)), low = start - step, high = start + step;
    for (int i = 0; i < HALVES && intercept_slope(v, low) > 0; ++i, step *= 2)
        low -= step;
    for (int i = 0; i < HALVES && intercept_slope(v, high) < 0; ++i, step *= 2)
        high += step;
    for (int i = 0; i < HALVES && high - low > 1e-9 * fmax(1e-3, fabs(high)); ++i) {
        double middle = (low + high) / 2;
        if (intercept_slope(v, middle) > 0)
            high = middle;
        else
            low = middle;
    }
    return (low + high) / 2;
}

/* out (dim + 1) = factor times the best place as floats, and the objective of that. The scores become those of out. */
static tn_status round_off(solver *v, double factor, float *out, double *objective)
{
    double intercept = factor * v->best[v->dim], sum = 0;
    for (size_t i = 0; i <= v->dim; ++i) {
        out[i] = (float)(factor * v->best[i]);
        v->d[i] = i < v->dim ? (double)out[i] : 0;
    }
    tn_status st = score(v, v->d, v->s);
    ++v->passes;
    if (v->opt->bias)
        out[v->dim] = (float)best_intercept(v, intercept);
    v->d[v->dim] = (double)out[v->dim];
    for (size_t i = 0; i < v->n; ++i) {
        double s = v->s[i] + v->d[v->dim];
        sum += tnp_margin_value(v->opt->loss, fabs((double)v->a[i]), v->a[i] < 0 ? -s : s);
    }
    *objective = sum + dot(v, v->d, v->d) / 2;
    return st;
}

/* ---- a column ---- */

/* Two roundings are tried, that place and a little more of it: rows at the margin then are beyond it in spite of their
 * errors. */
static tn_status finish(solver *v, float *out, float *other, double *objective)
{
    tn_status st = TN_OK;
    double further;
    TN_TRY(round_off(v, 1, out, objective));
    if (*objective - v->lower > v->opt->tolerance * *objective) {
        TN_TRY(round_off(v, 1 + v->opt->tolerance / 4, other, &further));
        if (further < *objective) {
            memcpy(out, other, (v->dim + 1) * sizeof *out);
            *objective = further;
        }
    }
done:
    return st;
}

typedef struct result {
    const tnp_columns *columns;
    float *alpha, *w;
    double *objective, *gap;
    float *found, *other; /* dim + 1 */
} result;

static tn_status one_column(solver *v, size_t column, const result *to)
{
    tn_status st = TN_OK;
    double objective;
    float *w = to->w + column * (v->dim + 1);
    tnp_column_costs(to->columns, column, v->n, v->a);
    for (size_t i = 0; i <= v->dim; ++i)
        v->w[i] = (double)w[i];
    v->passes = 0;
    TN_TRY(minimise(v));
    for (size_t i = 0; to->alpha && i < v->n; ++i)
        to->alpha[i * to->columns->count + column] =
            (float)fmin(fabs(v->r[i]), v->opt->loss == TNP_SQUARED_HINGE ? (double)FLT_MAX : fabs((double)v->a[i]));
    TN_TRY(finish(v, to->found, to->other, &objective));
    double gap = fmax(0, objective - v->lower) + tnp_certify_rounding(objective);
    if (gap < to->gap[column]) {
        memcpy(w, to->found, (v->dim + 1) * sizeof *w);
        to->objective[column] = objective;
        to->gap[column] = gap;
    }
done:
    return st;
}

double tnp_exact_flops(size_t rows, size_t dim, size_t active, tnp_margin loss)
{
    double a = (double)active, d = (double)dim, less = fmin(a, d),
           steps = loss == TNP_HINGE ? STEPS_HINGE : STEPS_SMOOTH;
    return 2 * steps * (a * d * less + less * less * less / 3 + 6 * (double)rows * d);
}

static size_t solver_bytes(size_t rows, size_t dim)
{
    return 40 * rows + 40 * (dim + 1) + 512;
}

size_t tnp_exact_bytes(size_t rows, size_t dim, size_t active)
{
    return solver_bytes(rows, dim) + tnp_step_bytes(dim, active);
}

tn_status tnp_exact_solve(tn_ctx *ctx, const tnp_rows *x, const tnp_columns *columns, const size_t *cols, size_t count,
                          const tnp_exact_options *options, float *alpha, float *w, double *objective, double *gap,
                          size_t *passes)
{
    tn_status st = TN_OK;
    solver v = {.ctx = ctx, .x = x, .opt = options, .n = x->rows, .dim = x->dim};
    double **rows[] = {&v.s, &v.z, &v.r, &v.h}, **wide[] = {&v.w, &v.g, &v.d, &v.best};
    result to = {columns, alpha, w, objective, gap, NULL, NULL};
    size_t most = 0;
    if (count == 0 || solver_bytes(v.n, v.dim) > tnp_budget_left(ctx))
        return TN_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        TN_TRY(tnp_alloc(ctx, v.n, sizeof(double), rows[i]));
    for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i)
        TN_TRY(tnp_alloc(ctx, v.dim + 1, sizeof(double), wide[i]));
    TN_TRY(tnp_alloc(ctx, v.n, sizeof *v.a, &v.a));
    TN_TRY(tnp_alloc(ctx, v.n, sizeof *v.whole, &v.whole));
    TN_TRY(tnp_alloc(ctx, v.dim + 1, sizeof(float), &to.found));
    TN_TRY(tnp_alloc(ctx, v.dim + 1, sizeof(float), &to.other));
    TN_TRY(tnp_rows_wide_pass(ctx, x, &(tnp_wide_pass){.longest = &v.longest}));
    for (size_t j = 0; j < count; ++j) {
        TN_TRY(tnp_progress(ctx, "training", columns->count - count + j, columns->count));
        TN_TRY(one_column(&v, cols[j], &to));
        most = tnp_max(most, v.passes);
    }
    *passes += most;
done:
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        tnp_free(*rows[i]);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i)
        tnp_free(*wide[i]);
    tnp_free_all(v.a, v.whole, to.found, to.other);
    return st;
}
