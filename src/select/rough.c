/* SPDX-License-Identifier: BSD-3-Clause
 *
 * F of every class as a polynomial in x = log lambda through a few lambdas, and the sum of its maxima.
 *
 *   log det(I + A/e^x) and log R_k(e^x) are analytic for |Im x| < pi: polynomials through m points that are at most 2 w
 *   apart are wrong by about (pi/w + sqrt(1 + (pi/w)^2))^-m of what they change by
 *
 * The first lambdas are those of the known set. Each one that follows lies where the product of distances to the others
 * is largest among the maxima of the classes (a Leja point), so what the polynomials miss there is the most they miss;
 * what is left once it is a point too is that over the base of the power, and the search ends when it is less than LEFT
 * of F.
 *
 * Evaluating F exactly at every class's own lambda was refused: of 44 classes with lambdas from 2 to 48 nine points give
 * the sum to 2e-9. So was a bound of F elsewhere: from the same points it is far above the maximum. What stands for it:
 * maxima lie among the points, every class of the known set has one, and the further columns are of a like size and
 * have no maximum by themselves that is more than REACH below or twice that above. With 200 times the mean square, or
 * where what is known goes by tiny columns, F of a class has two maxima.
 *
 * Oracle: tnp_evidence_new of all columns, tests/unit/test_rough.c. */
#include "select/rough.h"
#include "select/scan.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS = 64, GOLDEN = 40, LEJA = 200 };
static const double LEFT = 5e-8; /* of F: what the polynomials may still miss; half of TNP_ROUGH: it is an estimate */
static const double GOAL = 1e-6; /* as refine.c's */
static const double PI = 3.14159265358979323846;
static const double REACH = 3, LIKE = 4, WIDEST = 6, PAD = 0.1;

typedef struct curves {
    const tnp_rough_of *of;
    size_t count, classes, order;
    double x[TNP_ROUGH_MOST], weight[TNP_ROUGH_MOST];
    double *f, *log_r;            /* (TNP_ROUGH_MOST, classes) */
    double *at, *best;            /* (classes): maxima */
    double low, high;             /* where they are */
    double moved;                 /* by how much the last point moved low or high */
    double value, missed, before; /* missed by the last point, and the one before it */
} curves;

/* The polynomial through column k of values, by the barycentric formula. */
static double polynomial(const curves *c, const double *values, size_t k, double x)
{
    double above = 0, below = 0;
    for (size_t i = 0; i < c->count; ++i) {
        double distance = x - c->x[i];
        if (distance == 0)
            return values[i * c->classes + k];
        above += c->weight[i] / distance * values[i * c->classes + k];
        below += c->weight[i] / distance;
    }
    return above / below;
}

static bool counts(const curves *c, size_t k)
{
    return !c->of->constant[k];
}

/* F of all classes at x, as one more point; missed: by how much the polynomials were wrong there. */
static tn_status add_point(tn_ctx *ctx, curves *c, tnp_border *border, double x)
{
    double logdet = 0, *f = c->f + c->count * c->classes, *log_r = c->log_r + c->count * c->classes;
    tn_status st = tnp_progress(ctx, "ensemble", c->count, TNP_ROUGH_MOST);
    if (st == TN_OK)
        st = tnp_border_at(ctx, border, exp(x), &logdet, log_r);
    if (st != TN_OK)
        return st;
    c->before = c->missed;
    c->missed = 0;
    for (size_t k = 0; k < c->classes; ++k) {
        double r = fmax(log_r[k], DBL_EPSILON * c->of->known->yy[k]);
        f[k] = tnp_log_evidence(c->of->known, logdet - (double)c->order * x, r);
        log_r[k] = log(r);
        c->missed += counts(c, k) ? fabs(f[k] - polynomial(c, c->f, k, x)) : 0;
    }
    c->weight[c->count] = 1;
    for (size_t i = 0; i < c->count; ++i) {
        c->weight[i] /= c->x[i] - x;
        c->weight[c->count] /= x - c->x[i];
    }
    c->x[c->count++] = x;
    return TN_OK;
}

/* The maximum of class k in [a, b], to c->at and c->best; both ends may be it. */
static void maximise(curves *c, size_t k, double a, double b)
{
    const double ratio = 0.61803398874989484820;
    double step = (b - a) / STEPS, best = -INFINITY, at = a;
    for (size_t i = 0; i <= STEPS; ++i) {
        double f = polynomial(c, c->f, k, a + (double)i * step);
        at = f > best ? a + (double)i * step : at;
        best = fmax(best, f);
    }
    double low = fmax(at - step, a), high = fmin(at + step, b);
    for (size_t i = 0; i < GOLDEN; ++i) {
        double p = high - ratio * (high - low), q = low + ratio * (high - low);
        if (polynomial(c, c->f, k, p) > polynomial(c, c->f, k, q))
            high = q;
        else
            low = p;
    }
    c->at[k] = (low + high) / 2;
    c->best[k] = fmax(best, polynomial(c, c->f, k, c->at[k]));
}

static void ends_of(const curves *c, double *a, double *b)
{
    *a = *b = c->x[0];
    for (size_t i = 1; i < c->count; ++i) {
        *a = fmin(*a, c->x[i]);
        *b = fmax(*b, c->x[i]);
    }
}

/* Maxima of all classes among the points, their sum and where they are; an end of the points that is one is moved out. */
static void find_maxima(curves *c)
{
    double a, b;
    ends_of(c, &a, &b);
    c->low = INFINITY;
    c->high = -INFINITY;
    c->value = 0;
    for (size_t k = 0; k < c->classes; ++k) {
        if (!counts(c, k))
            continue;
        maximise(c, k, a, b);
        c->value += fmax(c->best[k], c->of->evidence->log_class_null[k]);
        c->low = fmin(c->low, c->at[k]);
        c->high = fmax(c->high, c->at[k]);
    }
    c->low -= c->low - a < 1e-6 * (b - a) ? 1 : PAD;
    c->high += b - c->high < 1e-6 * (b - a) ? 1 : PAD;
}

static double next_point(const curves *c)
{
    double best = -1, at = c->low;
    for (size_t i = 0; i <= LEJA; ++i) {
        double x = c->low + (c->high - c->low) * (double)i / LEJA, product = 1;
        for (size_t p = 0; p < c->count; ++p)
            product *= fabs(x - c->x[p]);
        at = product > best ? x : at;
        best = fmax(best, product);
    }
    return at;
}

/* Whether the polynomials hold: the last point told nothing new, lies where the maxima still are, and none is at an
 * end. */
static bool settled(const curves *c)
{
    double a, b;
    ends_of(c, &a, &b);
    double base = 2 * PI / (b - a) + hypot(1, 2 * PI / (b - a));
    double missed = fmax(c->missed, c->before / base); /* one point may lie where two curves cross */
    return c->count > 3 && missed <= base * LEFT * fabs(c->value) && c->moved <= PAD && c->low > a - 2 * PAD &&
           c->high < b + 2 * PAD;
}

/* As tnp_evidence_error_bound, with a bound for the eigenvalues too: what rounding may have moved at most. */
static double error_of(const curves *c, double largest, double margin)
{
    const tnp_noise *noise = c->of->noise;
    const tnp_spectrum *s = c->of->known;
    const double safe = 3, h = 0.02;
    double sum = 0, square = 0;
    for (size_t k = 0; k < c->classes; ++k) {
        if (!counts(c, k))
            continue;
        double x = c->at[k], lambda = exp(x), r = exp(polynomial(c, c->log_r, k, x));
        double slope = (polynomial(c, c->log_r, k, x + h) - polynomial(c, c->log_r, k, x - h)) / (2 * h);
        double ww = fmax(slope, 0) * r / lambda, residual = fmax(r - lambda * ww, 0), factor = s->dof / r;
        double form = (noise->form + DBL_EPSILON * largest) * ww / 2, entry = noise->entry * sqrt(residual * ww);
        double sums = 8 * DBL_EPSILON * s->yy[k] + DBL_EPSILON * sqrt(ww * s->yy[k] * largest);
        sum += margin / 3 / (lambda + margin) / 4;
        square += factor * factor * (form * form + entry * entry + sums * sums);
    }
    return safe * sqrt(sum * sum + square) / fabs(c->value);
}

static void range_of(const tnp_rough_of *of, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < of->known->classes; ++k) {
        double x = log(of->evidence->lambda[k]);
        *low = of->constant[k] ? *low : fmin(*low, x);
        *high = of->constant[k] ? *high : fmax(*high, x);
    }
}

bool tnp_rough_may_begin(const tnp_rough_of *of)
{
    const tn_evidence *e = of->evidence;
    double low, high;
    range_of(of, &low, &high);
    return e->null_classes == 0 && e->unbounded_classes == 0 && e->converged && of->known->rank == of->known->order &&
           of->noise->faint == 0 && of->noise->flat == 0 && e->error <= GOAL && high - low <= WIDEST &&
           of->own_least > low - REACH && of->own_most < high + 2 * REACH && fabs(log(of->size)) < LIKE;
}

static tn_status find_points(tn_ctx *ctx, curves *c, tnp_border *border, double low, double high)
{
    tn_status st = TN_OK;
    TN_TRY(add_point(ctx, c, border, low - PAD));
    TN_TRY(add_point(ctx, c, border, high + 5 * PAD));
    find_maxima(c);
    while (!settled(c) && c->count < TNP_ROUGH_MOST && c->high - c->low <= WIDEST) {
        double from = c->low, to = c->high;
        TN_TRY(add_point(ctx, c, border, next_point(c)));
        find_maxima(c);
        c->moved = fmax(fabs(c->low - from), fabs(c->high - to));
    }
done:
    return st;
}

tn_status tnp_rough_evidence(tn_ctx *ctx, const tnp_rough_of *of, tnp_border *border, double *value, bool *sure)
{
    tn_status st = TN_OK;
    size_t classes = of->known->classes;
    curves c = {.of = of,
                .classes = classes,
                .order = of->known->order + tnp_border_outer(border),
                .missed = INFINITY,
                .before = INFINITY};
    double low, high, largest = of->known->largest + tnp_border_trace(border), logdet = 0, bound = 0;
    double margin = 3 * (of->noise->norm + 4 * DBL_EPSILON * largest); /* eigenvalues below it count as hidden */
    *sure = false;
    range_of(of, &low, &high);
    if (of->known->values[0] <= margin)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, TNP_ROUGH_MOST * classes, sizeof *c.f, &c.f));
    TN_TRY(tnp_alloc(ctx, TNP_ROUGH_MOST * classes, sizeof *c.log_r, &c.log_r));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *c.at, &c.at));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *c.best, &c.best));
    TN_TRY(tnp_border_at(ctx, border, -margin, &logdet, c.log_r));
    TN_TRY(find_points(ctx, &c, border, low, high));
    /* Weights meet less of the rounding than the bound says; by how much is taken to be as in the known set. */
    TN_TRY(tnp_evidence_error_bound(ctx, of->known, of->evidence, &bound));
    double met = bound > 0 ? of->evidence->error / bound : 1;
    *sure = settled(&c) && c.low > log(1e-11 * largest) && met * error_of(&c, largest, margin) <= GOAL / 2;
    *value = c.value;
done:
    tnp_free_all(c.f, c.log_r, c.at, c.best);
    return st == TN_ERR_NUMERIC ? TN_OK : st;
}
