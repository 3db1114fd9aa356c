/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bayesian evidence of a ridge model (docs/math.md, section 1). Per class, with dof = N (N - 1 with intercept):
 *
 *   F(lambda) = -1/2 sum log(1 + s/lambda) - dof/2 log R(lambda) + dof/2 (log dof - 1 - log 2 pi)
 *   dF/dlog lambda = 1/2 (gamma - dof lambda |w|^2 / R)
 *   fixed point:  lambda <- gamma R / (dof |w|^2)
 *
 * F may have two maxima, or none inside: on signed features the plain fixed point can run away (LogME
 * then answers wrongly or overflows). So F is first scanned by half decades of lambda, which costs one tridiagonal
 * solve a point for eight classes; the best point and the sign of its slope give a bracket; the chosen iteration runs
 * inside it, in log lambda, and a step that leaves it is replaced by bisection. Other maxima that the scan shows are
 * compared with it (golden section), and so is the null model, lambda = infinity.
 *
 * Oracle: tests/ref/ref_evidence.c, the dense Gaussian log-likelihood by Cholesky. */
#include "select/evidence.h"
#include "select/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GOLDEN_STEPS = 60, WATCH = 8 };

typedef struct evidence_job {
    const tnp_spectrum *s;
    const tnp_simd *k;
    const tnp_evidence_options *opt;
    const bool *constant;
    double dim;
    tnp_scan scan;
    tn_evidence *out;
} evidence_job;

/* ---- one class inside its bracket ---- */

typedef struct class_lane {
    double lo, hi; /* log lambda; the slope is positive at lo and negative at hi, as far as known */
    double x;      /* log lambda to be evaluated next, then the answer */
    double first;  /* Aitken: the point before x */
    bool second;   /* Aitken: x is the second of its pair */
    double step;   /* the step that led to x; 0 at the start */
    double width;  /* of the bracket, WATCH iterations ago */
    double alpha, beta;
    size_t iterations;
    bool active, converged;
} class_lane;

static double em_target(const tnp_spectrum *s, double dim, class_lane *lane, double ww, double residual)
{
    double trace = (dim - (double)s->rank) / lane->alpha, trace_s = 0;
    for (size_t i = 0; i < s->rank; ++i) {
        double a = lane->alpha + lane->beta * s->values[i];
        trace += 1 / a;
        trace_s += s->values[i] / a;
    }
    lane->alpha = dim / (ww + trace);
    lane->beta = s->dof / (residual + trace_s);
    return log(lane->alpha / lane->beta);
}

/* What one evaluation gives for a class. */
typedef struct point {
    double gamma, r, ww, residual;
    double uu, cubic; /* Newton: u'u and u'(T + lambda I)^-1 u */
} point;

/* Newton on the slope as a function of x = log lambda. */
static double newton_target(const tnp_spectrum *s, double x, const point *p)
{
    double lambda = exp(x), dww = -2 * (s->dual ? p->uu - lambda * p->cubic : p->cubic), q = lambda * p->ww / p->r;
    double slope = p->gamma - s->dof * q;
    double curve = -tnp_spectrum_gamma_slope(s, lambda) - s->dof * (q + lambda * lambda * dww / p->r - q * q);
    return x - slope / curve;
}

/* x0, x1 = f(x0), x2 = f(x1) to the point where the line through them meets the diagonal. Outside the bracket: x2, as
 * in the paper. Sets *error to the distance from x1, where the extrapolation is good. */
static double aitken_target(class_lane *lane, double x1, double x2, double *error)
{
    if (!lane->second) {
        lane->first = x1;
        lane->second = true;
        return x2;
    }
    double d1 = x1 - lane->first, d2 = x2 - x1, x = lane->first - d1 * d1 / (d2 - d1);
    lane->second = false;
    if (!(x > lane->lo && x < lane->hi))
        return x2;
    *error = fabs(x - x1);
    return x;
}

/* Distance from the limit of a linearly converging sequence, from its last two steps. */
static double linear_error(double before, double step)
{
    double rate = before != 0 ? fabs(step / before) : 0;
    return fabs(step) / (1 - fmin(rate, 0.999999));
}

/* The next log lambda by the chosen iteration; *error estimates how far the present one is from the optimum. */
static double propose(const evidence_job *job, class_lane *lane, const point *p, double *error)
{
    const tnp_spectrum *s = job->s;
    double fixed = log(p->gamma * p->r / (s->dof * p->ww)), next = fixed;
    switch ((tnp_optimizer)job->opt->optimizer) {
    case TNP_OPT_AITKEN:
        return aitken_target(lane, lane->x, fixed, error);
    case TNP_OPT_NEWTON:
        next = newton_target(s, lane->x, p);
        *error = fabs(next - lane->x);
        return next;
    case TNP_OPT_MACKAY:
        next = log(p->gamma * p->residual / ((s->dof - p->gamma) * p->ww));
        break;
    case TNP_OPT_EM:
        next = em_target(s, job->dim, lane, p->ww, p->residual);
        break;
    }
    if (lane->step != 0)
        *error = linear_error(lane->step, next - lane->x);
    return next;
}

/* Takes what was found at lane->x, and sets the next x or ends the lane. A step out of the bracket is replaced by
 * bisection; so is, for the fast iterations, every step while the bracket shrinks by less than half in WATCH of them.
 * */
static void advance(const evidence_job *job, class_lane *lane, const point *p)
{
    double slope = p->gamma - job->s->dof * exp(lane->x) * p->ww / p->r, error = INFINITY, next;
    bool fast = job->opt->optimizer == TNP_OPT_AITKEN || job->opt->optimizer == TNP_OPT_NEWTON, slow;
    ++lane->iterations;
    if (slope > 0)
        lane->lo = lane->x;
    else
        lane->hi = lane->x;
    next = propose(job, lane, p, &error);
    slow = fast && lane->iterations % WATCH == 0 && lane->hi - lane->lo > lane->width / 2;
    if (lane->iterations % WATCH == 0)
        lane->width = lane->hi - lane->lo;
    if (slow || !(next > lane->lo && next < lane->hi)) {
        next = (lane->lo + lane->hi) / 2;
        lane->second = false;
        error = INFINITY;
    }
    lane->converged = fmin(error, lane->hi - lane->lo) <= job->opt->tolerance || slope == 0;
    lane->active = !lane->converged && lane->iterations < job->opt->max_iterations;
    lane->step = next - lane->x;
    lane->x = slope == 0 ? lane->x : next;
}

/* Bracket and start of a class from its scan, or from the start that the caller gave. */
static void begin(const evidence_job *job, size_t tile, size_t l, class_lane *lane)
{
    const double *f = job->scan.f + tile * job->scan.count * TNP_LANES + l,
                 *slope = job->scan.slope + tile * job->scan.count * TNP_LANES + l;
    size_t c = tile * TNP_LANES + l, best = 0;
    memset(lane, 0, sizeof *lane);
    for (size_t g = 1; g < job->scan.count; ++g)
        if (f[g * TNP_LANES] > f[best * TNP_LANES])
            best = g;
    lane->x = job->scan.x[best];
    lane->lo = job->scan.x[best > 0 ? best - 1 : 0];
    lane->hi = job->scan.x[best + 1 < job->scan.count ? best + 1 : job->scan.count - 1];
    if (slope[best * TNP_LANES] > 0)
        lane->lo = lane->x;
    else
        lane->hi = lane->x;
    lane->active = c < job->s->classes && !job->constant[c];
    if (job->opt->start > 0) {
        lane->lo = job->scan.x[0];
        lane->hi = job->scan.x[job->scan.count - 1];
        lane->x = fmin(fmax(log(job->opt->start), lane->lo), lane->hi);
    } else if (lane->lo == lane->hi) { /* the best is an end of the range: nothing to iterate */
        lane->active = false;
        lane->converged = true;
    }
    lane->width = lane->hi - lane->lo;
}

static void eval_lanes(const evidence_job *job, size_t tile, const class_lane *lanes, double *scratch,
                       tnp_ridge_values *v)
{
    double lambda[TNP_LANES];
    for (size_t l = 0; l < TNP_LANES; ++l)
        lambda[l] = exp(lanes[l].x);
    tnp_spectrum_eval(job->s, job->k, tile, lambda, scratch, v);
}

/* u'(T + lambda I)^-1 u and u'u of every lane: a second solve, with u as its right-hand side. */
static void eval_cubic(const evidence_job *job, const class_lane *lanes, double *scratch, double *cubic, double *uu)
{
    size_t n = job->s->order * TNP_LANES;
    double lambda[TNP_LANES];
    tnp_tri_out v;
    for (size_t l = 0; l < TNP_LANES; ++l) {
        lambda[l] = exp(lanes[l].x);
        uu[l] = 0;
    }
    for (size_t i = 0; i < n; ++i)
        uu[i % TNP_LANES] += scratch[i] * scratch[i];
    job->k->tri_solve(job->s->order, job->s->diag, job->s->off, lambda, scratch, scratch + 2 * n, scratch + 3 * n, &v);
    memcpy(cubic, v.hu, sizeof v.hu);
}

/* F of lane l alone at log lambda x; the other lanes are carried along. */
static double f_at(const evidence_job *job, size_t tile, class_lane *lanes, size_t l, double x, double *scratch)
{
    tnp_ridge_values v;
    lanes[l].x = x;
    eval_lanes(job, tile, lanes, scratch, &v);
    return tnp_log_evidence(job->s, tnp_spectrum_logdet(job->s, exp(x)), v.r[l]);
}

/* Golden section on F itself in [a, b]: lane l moves there if it finds a higher F than *best. Both inner points are
 * evaluated anew each time; the case is too rare to be worth the bookkeeping. */
static void golden(const evidence_job *job, size_t tile, class_lane *lanes, size_t l, double a, double b,
                   double *scratch, double *best)
{
    const double ratio = 0.61803398874989484820, before = lanes[l].x;
    for (int i = 0; i < GOLDEN_STEPS; ++i) {
        double c = b - ratio * (b - a), d = a + ratio * (b - a);
        if (f_at(job, tile, lanes, l, c, scratch) > f_at(job, tile, lanes, l, d, scratch))
            b = d;
        else
            a = c;
    }
    double f = f_at(job, tile, lanes, l, (a + b) / 2, scratch);
    if (f > *best)
        *best = f;
    else
        lanes[l].x = before;
}

/* What the iteration may have missed: its own maximum when it ran out of steps, and every other one that the scan shows
 * by a slope that turns from rising to falling. Returns whether the lane has moved. */
static bool polish(const evidence_job *job, size_t tile, class_lane *lanes, size_t l, double reached, double *scratch)
{
    const double *f = job->scan.f + tile * job->scan.count * TNP_LANES + l, *x = job->scan.x;
    const double *slope = job->scan.slope + tile * job->scan.count * TNP_LANES + l;
    double before = lanes[l].x, best = reached;
    if (!lanes[l].converged)
        golden(job, tile, lanes, l, lanes[l].lo, lanes[l].hi, scratch, &best);
    for (size_t g = 0; g + 1 < job->scan.count; ++g)
        if (slope[g * TNP_LANES] > 0 && slope[(g + 1) * TNP_LANES] < 0 && !(before >= x[g] && before <= x[g + 1]))
            golden(job, tile, lanes, l, x[g], x[g + 1], scratch, &best);
    for (size_t g = 0; g < job->scan.count; ++g)
        if (f[g * TNP_LANES] > best + 1e-10 * fabs(best)) /* two turns between neighbours, or an end of the range */
            golden(job, tile, lanes, l, x[g > 0 ? g - 1 : 0], x[g + 1 < job->scan.count ? g + 1 : g], scratch, &best);
    return lanes[l].x != before;
}

/* Writes the result of class c. */
static void record(const evidence_job *job, size_t c, const class_lane *lane, double f, double r)
{
    const tnp_spectrum *s = job->s;
    tn_evidence *out = job->out;
    double null = tnp_log_evidence(s, 0, s->yy[c]);
    bool is_null = !(f > null);
    out->state[c] = is_null ? TN_CLASS_NULL : TN_CLASS_FITTED;
    out->lambda[c] = is_null ? INFINITY : exp(lane->x);
    out->beta[c] = s->dof / (is_null ? s->yy[c] : r);
    out->alpha[c] = out->lambda[c] * out->beta[c];
    out->log_class[c] = is_null ? null : f;
    out->log_class_null[c] = null;
    out->iterations[c] = lane->iterations;
}

static void finish(const evidence_job *job, size_t tile, class_lane *lanes, double *scratch)
{
    tnp_ridge_values v;
    double f[TNP_LANES];
    bool moved = true;
    for (int round = 0; round < 2 && moved; ++round) {
        moved = false;
        eval_lanes(job, tile, lanes, scratch, &v);
        for (size_t l = 0; l < TNP_LANES; ++l)
            f[l] = tnp_log_evidence(job->s, tnp_spectrum_logdet(job->s, exp(lanes[l].x)), v.r[l]);
        for (size_t l = 0; l < TNP_LANES && round == 0; ++l)
            if (tile * TNP_LANES + l < job->s->classes && !job->constant[tile * TNP_LANES + l])
                moved |= polish(job, tile, lanes, l, f[l], scratch);
    }
    for (size_t l = 0; l < TNP_LANES; ++l)
        if (tile * TNP_LANES + l < job->s->classes && !job->constant[tile * TNP_LANES + l])
            record(job, tile * TNP_LANES + l, &lanes[l], f[l], v.r[l]);
}

static void optimise_tile(void *arg, size_t tile, double *scratch)
{
    const evidence_job *job = arg;
    class_lane lanes[TNP_LANES];
    tnp_ridge_values v;
    double cubic[TNP_LANES] = {0}, uu[TNP_LANES] = {0};
    bool any = false;
    for (size_t l = 0; l < TNP_LANES; ++l) {
        begin(job, tile, l, &lanes[l]);
        any |= lanes[l].active;
    }
    for (bool first = true; any; first = false) {
        any = false;
        eval_lanes(job, tile, lanes, scratch, &v);
        if (job->opt->optimizer == TNP_OPT_NEWTON)
            eval_cubic(job, lanes, scratch, cubic, uu);
        for (size_t l = 0; l < TNP_LANES; ++l) {
            if (!lanes[l].active)
                continue;
            if (first) { /* EM needs both precisions: beta at its optimum for the first lambda */
                lanes[l].beta = job->s->dof / v.r[l];
                lanes[l].alpha = exp(lanes[l].x) * lanes[l].beta;
            }
            point p = {tnp_spectrum_gamma(job->s, exp(lanes[l].x)), v.r[l], v.ww[l], v.residual[l], uu[l], cubic[l]};
            advance(job, &lanes[l], &p);
            any |= lanes[l].active;
        }
    }
    finish(job, tile, lanes, scratch);
}

/* ---- the whole ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sums over classes, of which none may have used up the iterations; the median of lambda needs a sorted copy, put into
 * `spare` (classes). */
static void summarise(const tnp_spectrum *s, const bool *constant, size_t most, tn_evidence *out, double *spare)
{
    size_t n = 0;
    double iterations = 0;
    for (size_t c = 0; c < s->classes; ++c) {
        if (constant[c])
            continue;
        spare[n++] = out->lambda[c];
        out->log_evidence += out->log_class[c];
        out->log_null += out->log_class_null[c];
        out->null_classes += out->state[c] == TN_CLASS_NULL;
        out->iterations_max = tnp_max(out->iterations_max, out->iterations[c]);
        iterations += (double)out->iterations[c];
        out->converged &= out->iterations[c] < most;
    }
    out->degenerate_classes = s->classes - n;
    if (n == 0)
        return;
    qsort(spare, n, sizeof *spare, ascending);
    double low = spare[(n - 1) / 2], high = spare[n / 2];
    out->lambda_median = isfinite(high) ? (low + high) / 2 : low == high ? low : INFINITY;
    out->gain_per_label = (out->log_evidence - out->log_null) / ((double)out->rows * (double)n);
    out->iterations_mean = iterations / (double)n;
}

static void degenerate(tn_evidence *out, size_t c)
{
    out->state[c] = TN_CLASS_DEGENERATE;
    out->lambda[c] = out->alpha[c] = out->beta[c] = INFINITY;
}

static tn_status evidence_alloc(tn_ctx *ctx, size_t classes, tn_evidence **out)
{
    tn_status st = TN_OK;
    tn_evidence *e = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *e, &e));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &e->lambda));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &e->alpha));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &e->beta));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &e->log_class));
    TN_TRY(tnp_alloc(ctx, classes, sizeof(double), &e->log_class_null));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *e->state, &e->state));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *e->iterations, &e->iterations));
    e->classes = classes;
    e->converged = true;
    *out = e;
    e = NULL;
done:
    tn_evidence_free(e);
    return st;
}

void tn_evidence_free(tn_evidence *e)
{
    if (!e)
        return;
    tnp_free_all(e->lambda, e->alpha, e->beta, e->log_class, e->log_class_null, e->state, e->iterations, e);
}

/* Classes whose F has no upper bound: fewer directions of the features than rows reproduce the labels. Their optimum is
 * the smallest lambda although F falls there by a quarter nat an e-fold or more: dF/dlog lambda tends to (rank -
 * dof)/2, which is 0 for labels that are merely interpolated and -1/2 a repeated row with its repeated label. */
static size_t count_unbounded(const evidence_job *job)
{
    size_t count = 0;
    for (size_t c = 0; c < job->s->classes; ++c) {
        double slope = job->scan.slope[c / TNP_LANES * job->scan.count * TNP_LANES + c % TNP_LANES];
        count += job->out->state[c] == TN_CLASS_FITTED && slope < -0.25 &&
                 job->out->lambda[c] <= exp(job->scan.x[0]) * 1.0001;
    }
    return count;
}

tn_status tnp_evidence_new(tn_ctx *ctx, const tnp_spectrum *s, size_t rows, size_t dim, const bool *constant,
                           const tnp_evidence_options *options, tn_evidence **out)
{
    tn_status st = TN_OK;
    tn_evidence *e = NULL;
    double *spare = NULL;
    evidence_job job = {.s = s, .k = tnp_simd_get(), .opt = options, .constant = constant, .dim = (double)dim};
    TN_TRY(evidence_alloc(ctx, s->classes, &e));
    TN_TRY(tnp_alloc(ctx, s->classes, sizeof *spare, &spare));
    job.out = e;
    e->rows = rows;
    e->dim = dim;
    e->rank = s->rank;
    for (size_t c = 0; c < s->classes; ++c)
        if (constant[c])
            degenerate(e, c);
        else
            record(&job, c, &(class_lane){0}, -INFINITY, s->yy[c]);
    if (s->rank > 0) {
        TN_TRY(tnp_scan_init(ctx, s, &job.scan));
        TN_TRY(tnp_spectrum_tiles(ctx, s, s->tiles, optimise_tile, &job));
    }
    summarise(s, constant, options->max_iterations, e, spare);
    e->unbounded_classes = s->rank > 0 ? count_unbounded(&job) : 0;
    e->lambda_shared = INFINITY;
    e->log_evidence_shared = e->log_null;
    if (s->rank > 0 && e->degenerate_classes < s->classes)
        TN_TRY(tnp_shared_lambda(ctx, s, &job.scan, constant, options->tolerance, e));
    TN_TRY(tnp_evidence_error(ctx, s, e));
    *out = e;
    e = NULL;
done:
    tn_evidence_free(e);
    tnp_free(spare);
    tnp_scan_destroy(&job.scan);
    return st;
}

void tnp_evidence_options_default(tnp_evidence_options *options)
{
    options->optimizer = TNP_OPT_AITKEN;
    options->intercept = true;
    options->tolerance = 1e-6;
    options->max_iterations = 500;
    options->start = 0;
}

const tn_field *tnp_evidence_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"optimizer", TN_FIELD_CHOICE, offsetof(tnp_evidence_options, optimizer), 0, 0, TNP_OPTIMIZER_WORDS,
         "how the evidence is maximised over lambda; all are safeguarded"},
        {"intercept", TN_FIELD_YESNO, offsetof(tnp_evidence_options, intercept), 0, 0, "yes|no",
         "add an unpenalised intercept"},
        {"tolerance", TN_FIELD_REAL, offsetof(tnp_evidence_options, tolerance), 1e-14, 1, "X",
         "stop when lambda is estimated to be within this fraction of its optimum"},
        {"max-iterations", TN_FIELD_INT, offsetof(tnp_evidence_options, max_iterations), 1, 1000000, "N",
         "evaluations of the model per class, at most"},
        {"start", TN_FIELD_REAL, offsetof(tnp_evidence_options, start), 0, 1e300, "X",
         "first lambda; 0 starts from a coarse scan"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

static void defaults(void *values)
{
    tnp_evidence_options_default(values);
}

static const tnp_options_table tables[] = {{"Evidence", tnp_evidence_fields, 0}, {NULL, NULL, 0}};
const tnp_options_kind tnp_evidence_kind = {
    "evidence", sizeof(tnp_evidence_options), defaults, tables, NULL, 0, NULL, NULL, 0};
