/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What rounding of the moments may have done to F. At the best lambda dF/dlambda = 0, so an error E of the matrix A, e
 * of every feature and eps of the sums moves F, to first order and with errors that are 0 on average, by about
 *
 *   1/2 |tr (A + lambda I)^-1 E|  <=  1/2 norm/2 / (lambda + s_min)
 *   dof/(2R) |w'Ew|                =  dof/(2R) share sum_j g_j w_j^2     g: the diagonal of A before it was centred
 *   dof/R |r'ew|                   =  dof/R entry sqrt(residual |w|^2)
 *   dof/(2R) 16 eps y'y                                                  (primal: R is a difference)
 *
 * with norm, share and entry of tnp_noise: one standard deviation. sum_j g_j w_j^2 / |w|^2 needs the weights: it is
 * taken for SAMPLE classes, the largest stands for all; the dual has lambda u'Eu with |u|^2 = residual / lambda^2, and
 * its bound `form`. The first is the same E for every class and adds up, the others differ from class to class and add
 * up as squares. The whole, times SAFE, is set against |F|. Where norm is no small part of lambda + s_min the first
 * order says nothing, and neither does F.
 *
 * And F may be highest below the floor of lambda, where moments have no digits. For lambda < floor the log-determinant
 * only takes more, and R >= residual(floor) - floor^2 |w|^2 / s_min, less the error of u'Au: what F could at most be
 * there. An infinite error says that this is more than what was found. Where the rows can be interpolated there is no
 * such bound, but F is level far below s_min: what is left of its slope at the floor is what it may still rise. (F of
 * rows that repeat may rise for ever: evidence.c counts it as unbounded.)
 * Measured against long double in tests/unit/test_precision.c. */
#include "select/evidence.h"
#include "select/scan.h"

#include <float.h>
#include <math.h>

enum { SAMPLE = 8 };
static const double SAFE = 3;

typedef struct error_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const tn_evidence *e;
    double least;         /* eigenvalue */
    double form;          /* error of u'Au for a unit vector u */
    double *sum, *square; /* tiles */
} error_job;

/* Repeated rows make up for what the rank lacks: F of a class at the floor was cut there, and has no digits to lose. */
static bool was_cut(const tnp_spectrum *s, double lambda)
{
    return (double)s->rank < s->dof && (double)(s->rank + s->noise.twins) >= s->dof && lambda <= 4 * s->floor;
}

static void add_class(const error_job *job, size_t tile, size_t c, double lambda, const tnp_ridge_values *v)
{
    const tnp_spectrum *s = job->s;
    size_t l = c % TNP_LANES;
    if (was_cut(s, lambda))
        return;
    double share = s->noise.norm / (lambda + job->least), factor = s->dof / v->r[l], ww = v->ww[l];
    double form = job->form * (s->dual ? v->residual[l] / lambda : ww) / 2;
    double entry = s->noise.entry * sqrt(v->residual[l] * ww);
    double sums = s->dual ? 0 : 8 * DBL_EPSILON * s->yy[c] + DBL_EPSILON * sqrt(ww * s->yy[c] * s->largest);
    job->sum[tile] += share < 0.1 ? share / 4 : INFINITY;
    job->square[tile] += factor * factor * (form * form + entry * entry + sums * sums);
}

static void error_tile(void *arg, size_t tile, double *scratch)
{
    const error_job *job = arg;
    const tnp_spectrum *s = job->s;
    double lambda[TNP_LANES];
    tnp_ridge_values v;
    tnp_tile_lambdas(s, tile, job->e->lambda, lambda);
    tnp_spectrum_eval(s, job->k, tile, lambda, scratch, &v);
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t c = tile * TNP_LANES + l;
        if (c < s->classes && job->e->state[c] == TN_CLASS_FITTED)
            add_class(job, tile, c, lambda[l], &v);
    }
}

/* How much higher F of class c may be below the floor, from what it has at the floor. */
static double open_below(const error_job *job, size_t c, double logdet, double gamma, const tnp_ridge_values *v)
{
    const tnp_spectrum *s = job->s;
    size_t l = c % TNP_LANES;
    double lambda = s->floor, found = job->e->log_class[c];
    bool at_floor = job->e->lambda[c] <= 4 * lambda;
    if ((double)(s->rank + s->noise.twins) >= s->dof) {
        double slope = (gamma - s->dof * lambda * v->ww[l] / v->r[l]) / 2;
        bool endless = (double)s->rank < s->dof && slope < -0.25;
        return s->values[0] < lambda ? INFINITY : at_floor && !endless ? fabs(slope) : 0;
    }
    double noise = s->noise.form * (s->dual ? v->residual[l] / lambda : v->ww[l]) + 8 * DBL_EPSILON * s->yy[c];
    double least = v->residual[l] - lambda * lambda * v->ww[l] / s->values[0] - SAFE * noise;
    return at_floor || !(least > 0) || tnp_log_evidence(s, logdet, least) > found ? INFINITY : 0;
}

static void open_tile(void *arg, size_t tile, double *scratch)
{
    const error_job *job = arg;
    double lambda[TNP_LANES], logdet = tnp_spectrum_logdet(job->s, job->s->floor);
    double gamma = tnp_spectrum_gamma(job->s, job->s->floor);
    tnp_ridge_values v;
    for (size_t l = 0; l < TNP_LANES; ++l)
        lambda[l] = job->s->floor;
    tnp_spectrum_eval(job->s, job->k, tile, lambda, scratch, &v);
    for (size_t c = tile * TNP_LANES; c < tnp_min((tile + 1) * TNP_LANES, job->s->classes); ++c)
        if (job->e->state[c] != TN_CLASS_DEGENERATE)
            job->sum[tile] += open_below(job, c, logdet, gamma, &v);
}

/* sum_j g_j w_j^2 / |w|^2, the largest of some classes. */
static tn_status weighted_scale(tn_ctx *ctx, const tnp_spectrum *s, const tn_evidence *e, double *out)
{
    tn_status st = TN_OK;
    double *w = NULL, *lambda = NULL;
    size_t n = s->order, taken = 0, step = (s->classes + SAMPLE - 1) / SAMPLE;
    TN_TRY(tnp_alloc(ctx, s->classes * n, sizeof *w, &w));
    TN_TRY(tnp_alloc(ctx, s->classes, sizeof *lambda, &lambda));
    for (size_t c = 0; c < s->classes; ++c)
        lambda[c] = e->state[c] == TN_CLASS_FITTED ? e->lambda[c] : INFINITY;
    TN_TRY(tnp_spectrum_solve(ctx, s, lambda, false, w));
    for (size_t c = 0; c < s->classes; c += step, ++taken)
        for (size_t j = 0; j < n && c != taken; ++j)
            w[taken * n + j] = w[c * n + j];
    TN_TRY(tnp_spectrum_rotate(ctx, s, false, taken, w));
    *out = 0;
    for (size_t c = 0; c < taken; ++c) {
        double ww = 0, sum = 0;
        for (size_t j = 0; j < n; ++j) {
            ww += w[c * n + j] * w[c * n + j];
            sum += s->scale[j] * w[c * n + j] * w[c * n + j];
        }
        *out = ww > 0 ? fmax(*out, sum / ww) : *out;
    }
done:
    tnp_free_all(w, lambda);
    return st;
}

/* What tnp_evidence_error says; without `weighted` the bound of u'Eu stands for the weights' own. */
static tn_status estimate(tn_ctx *ctx, const tnp_spectrum *s, const tn_evidence *e, bool weighted, double *out)
{
    tn_status st = TN_OK;
    error_job job = {.s = s, .k = tnp_simd_get(), .e = e, .form = s->noise.form};
    double sum = 0, square = 0, scale = 0;
    *out = 0;
    if (s->rank == 0 || e->degenerate_classes == s->classes)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, s->tiles, sizeof *job.sum, &job.sum));
    TN_TRY(tnp_alloc(ctx, s->tiles, sizeof *job.square, &job.square));
    job.least = s->rank == s->order ? s->values[0] : 0;
    if (s->scale && weighted) {
        TN_TRY(weighted_scale(ctx, s, e, &scale));
        job.form = fmin(job.form, s->noise.share * scale + DBL_EPSILON * s->largest);
    }
    TN_TRY(tnp_spectrum_tiles(ctx, s, s->tiles, error_tile, &job));
    if (!s->rest) /* singular values have no such floor */
        TN_TRY(tnp_spectrum_tiles(ctx, s, s->tiles, open_tile, &job));
    for (size_t t = 0; t < s->tiles; ++t) {
        sum += job.sum[t];
        square += job.square[t];
    }
    *out = SAFE * sqrt(sum * sum + square) / fabs(e->log_evidence);
done:
    tnp_free_all(job.sum, job.square);
    return st;
}

tn_status tnp_evidence_error(tn_ctx *ctx, const tnp_spectrum *s, tn_evidence *out)
{
    return estimate(ctx, s, out, true, &out->error);
}

tn_status tnp_evidence_error_bound(tn_ctx *ctx, const tnp_spectrum *s, const tn_evidence *e, double *out)
{
    return estimate(ctx, s, e, false, out);
}
