/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One step of a refinement.
 *
 *   lbfgs   along -H g of ten pairs, at most one deviation long in every parameter, halved until the objective,
 *           machines solved again, falls by 1e-4 of what the slope promises. Where nothing does: the gradient alone,
 *           then the exact one instead of the softened
 *   gd      Algorithm 1 of the paper: along the gradient of the loss with the machines held, in (log pi, mu, log sigma)
 *           as they are, four times the last length halved until the loss does not fall further; then the machines
 *   adam    a step of Adam, whatever it does to the objective
 *
 * A line search with machines held was refused for lbfgs: it sees the objective from above and stops short. */
#include "pipeline/refine/run.h"

#include <math.h>
#include <string.h>

enum { HALVINGS = 12 };
static const double ENOUGH = 1e-4, FIRST = 0.3, LONGEST = 1, CONVERGED = 1e-6;

static double largest(const double *x, const double *unit, const double *deviation, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; ++i)
        most = fmax(most, fabs(x[i]) * unit[i] / deviation[i]);
    return most;
}

/* In deviations. */
static double length(const tnp_refine_run *run, const double *x)
{
    return largest(x, run->r.unit, run->r.deviation, run->r.size);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += a[i] * b[i];
    return sum;
}

/* To x + t d. */
static tn_status try_at(tn_ctx *ctx, tnp_refine_run *run, double t, tnp_at how, tn_refine_round *round)
{
    for (size_t i = 0; i < run->r.size; ++i)
        run->trial[i] = run->x[i] + t * run->d[i];
    ++round->trials;
    return tnp_refining_at(ctx, &run->r, run->trial, how);
}

/* Where it is now is the new x. */
static void accept(tnp_refine_run *run, tn_refine_round *round)
{
    size_t n = run->r.size;
    for (size_t i = 0; i < n; ++i)
        run->move[i] = run->trial[i] - run->x[i];
    memcpy(run->before, run->g, n * sizeof *run->before);
    memcpy(run->x, run->trial, n * sizeof *run->x);
    run->moved = true;
    round->step = length(run, run->move);
    round->objective = run->r.objective;
    round->loss = run->r.machines.loss;
}

static tn_status nothing_found(tn_ctx *ctx, tnp_refine_run *run)
{
    run->stopped = "no step";
    return tnp_refining_at(ctx, &run->r, run->x, TNP_AT_SOLVE);
}

/* ---- lbfgs ---- */

/* Along d from t on; *found: it is there. */
static tn_status search(tn_ctx *ctx, tnp_refine_run *run, double f, double t, tn_refine_round *round, bool *found)
{
    tn_status st = TN_OK;
    double slope = dot(run->d, run->g, run->r.size);
    *found = false;
    for (size_t i = 0; slope < 0 && !*found && i < HALVINGS; ++i, t /= 2) {
        TN_TRY(try_at(ctx, run, t, TNP_AT_SOLVE, round));
        *found = run->r.objective <= f + ENOUGH * t * slope;
    }
done:
    return st;
}

/* Pairs of the last round, whose new gradient is g. */
static void keep_pair(tnp_refine_run *run)
{
    for (size_t i = 0; i < run->r.size; ++i)
        run->trial[i] = run->g[i] - run->before[i];
    if (run->moved)
        tnp_steps_keep(&run->steps, run->move, run->trial);
}

static tn_status step_lbfgs(tn_ctx *ctx, tnp_refine_run *run, double f, tn_refine_round *round)
{
    tn_status st = TN_OK;
    bool found = false;
    keep_pair(run);
    if (run->steps.count > 0) {
        tnp_steps_direction(&run->steps, run->g, run->d);
        TN_TRY(search(ctx, run, f, fmin(1, LONGEST / length(run, run->d)), round, &found));
    }
    for (int exact = 0; !found && exact < (run->r.options->soften > 0 ? 2 : 1); ++exact) {
        run->steps.count = 0;
        if (exact) {
            TN_TRY(tnp_refining_at(ctx, &run->r, run->x, TNP_AT_SOLVE));
            run->r.exact = true;
            st = tnp_refining_slope(ctx, &run->r, run->g);
            run->r.exact = false;
            TN_TRY(st);
        }
        tnp_steps_direction(&run->steps, run->g, run->d);
        double most = length(run, run->d);
        if (most > 0)
            TN_TRY(search(ctx, run, f, FIRST / most, round, &found));
    }
    if (found)
        accept(run, round);
    else
        TN_TRY(nothing_found(ctx, run));
done:
    return st;
}

/* ---- gd ---- */

static tn_status step_gd(tn_ctx *ctx, tnp_refine_run *run, tn_refine_round *round)
{
    tn_status st = TN_OK;
    double least = run->r.machines.loss, best = 0, most;
    for (size_t i = 0; i < run->r.size; ++i)
        run->d[i] = -run->g[i];
    most = length(run, run->d);
    double t = run->eta > 0 ? 4 * run->eta : most > 0 ? LONGEST / most : 0;
    for (size_t i = 0; t > 0 && i < 2 * HALVINGS; ++i, t /= 2) {
        TN_TRY(try_at(ctx, run, t, TNP_AT_LOOK, round));
        if (run->r.machines.loss < least) {
            least = run->r.machines.loss;
            best = t;
        } else if (best > 0) {
            break;
        }
    }
    if (best == 0)
        return nothing_found(ctx, run);
    run->eta = best;
    TN_TRY(try_at(ctx, run, best, TNP_AT_SOLVE, round));
    accept(run, round);
done:
    return st;
}

/* ---- adam ---- */

static tn_status step_adam(tn_ctx *ctx, tnp_refine_run *run, tn_refine_round *round)
{
    tn_status st = TN_OK;
    tnp_steps_adam(&run->steps, run->g, run->r.options->rate, run->d);
    TN_TRY(try_at(ctx, run, 1, TNP_AT_SOLVE, round));
    if (isinf(run->r.objective))
        return nothing_found(ctx, run);
    accept(run, round);
done:
    return st;
}

tn_status tnp_refine_step(tn_ctx *ctx, tnp_refine_run *run, tn_refine_round *round)
{
    tn_status st = TN_OK;
    int way = run->r.options->optimizer;
    run->r.round = run->done;
    if (run->r.options->dropout > 0) /* other descriptors: the objective is another one too */
        TN_TRY(tnp_refining_at(ctx, &run->r, run->x, TNP_AT_SOLVE));
    double f = run->r.objective;
    TN_TRY(tnp_refining_slope(ctx, &run->r, run->g));
    TN_TRY(way == TNP_REFINE_LBFGS ? step_lbfgs(ctx, run, f, round)
           : way == TNP_REFINE_GD  ? step_gd(ctx, run, round)
                                   : step_adam(ctx, run, round));
    if (!run->stopped && way != TNP_REFINE_ADAM && f - round->objective <= CONVERGED * f)
        run->stopped = "converged";
done:
    return st;
}
