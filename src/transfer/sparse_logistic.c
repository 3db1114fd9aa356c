/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sparse logistic regression by proximal Newton steps on a growing set of columns.
 *
 *   P(w, b) = sum_i c_i log(1 + exp(-y_i s_i)) + lambda (mix |w|_1 + (1 - mix)/2 |w|^2)       s = b + A w
 *
 * Outer pass over all columns: theta_i = c_i y_i/(1 + exp(y_i s_i)), made to sum to zero by shrinking the larger class,
 * which makes it a point of the dual (the free intercept's condition); t = A'theta; then
 *
 *   D(theta) = sum_i c_i entropy(theta_i y_i/c_i) - sum_j max(0, |t_j| - lambda mix)^2 / (2 lambda (1 - mix))     mix <
 * 1 mix = 1: theta is shrunk until all |t_j| <= lambda, and the second sum is zero
 *
 * P - D is the certificate that ends the work. Otherwise the columns that violate their optimality condition most, as
 * many as there are already or twice the rows, join the set, and the problem of the set is solved: a quadratic model of
 * the loss, minimised with the penalty by rounds of coordinate descent and jumps (sparse_support.c), then a step along
 * the difference that is halved until P falls enough. Jumps more or less often than after every fourth round are as
 * fast to a few percent; without any the whole takes five to fourteen times as long. Rows are few, so everything within
 * the set stays in cache; its columns are padded with zeros to whole lanes, so that sums over rows are eight at a time
 * instead of one chain of additions. Refused: coordinate descent over all columns, whose passes are as dear and many
 * times as many; screening rules, which save less than the set does. Oracles: tests/ref/ref_sparse_logistic.c,
 * scikit-learn's optimum (tests/fixtures/make_sparse.py). */
#include "transfer/sparse_logistic.h"
#include "transfer/sparse_support.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PASSES = 200, NEWTONS = 100, SWEEPS = 300, HALVINGS = 40, STALLS = 4, JUMP = 4, LANES = TNP_LANES };

typedef struct member {
    size_t column;
    double key; /* violation, while candidates are sorted out */
} member;

typedef struct solver {
    const tn_ctx *ctx; /* for interrupts: what they leave unfinished is not used */
    const tnp_simd *simd;
    const tnp_sparse_problem *p;
    tnp_sparse_fit *fit;
    size_t rows, cols;
    size_t stride;                         /* rows, rounded up to whole lanes */
    double *t;                             /* (cols): A'theta */
    bool *inside;                          /* (cols) */
    size_t count, capacity;                /* the set: columns, and how many there is memory for */
    size_t *set;                           /* (capacity) */
    double *a, *bent;                      /* (capacity, stride): columns, and h times them */
    double *w, *next, *inverse, *gradient; /* (capacity): of the set; inverse: 1 over the diagonal, 0 without */
    tnp_support support;
    member *heap; /* (heap_capacity): candidates, the smallest violation on top */
    size_t heap_capacity;
    double *theta, *g, *h, *move, *trial; /* (stride) */
} solver;

tn_status tnp_sparse_fit_init(tn_ctx *ctx, size_t rows, size_t cols, tnp_sparse_fit *fit)
{
    tn_status st = TN_OK;
    tnp_sparse_fit made = {.objective = INFINITY, .gap = INFINITY};
    TN_TRY(tnp_alloc(ctx, cols, sizeof(double), &made.w));
    TN_TRY(tnp_alloc(ctx, rows, sizeof(double), &made.scores));
    *fit = made;
    made.w = made.scores = NULL;
done:
    tnp_sparse_fit_destroy(&made);
    return st;
}

void tnp_sparse_fit_destroy(tnp_sparse_fit *fit)
{
    tnp_free_all(fit->w, fit->scores);
    fit->w = fit->scores = NULL;
}

static double log1pexp(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double penalty_of(const solver *s, double w)
{
    return s->p->lambda * (s->p->mix * fabs(w) + 0.5 * (1 - s->p->mix) * w * w);
}

static double loss_of(const solver *s, const double *scores)
{
    double sum = 0;
    for (size_t i = 0; i < s->rows; ++i)
        if (s->p->cost[i] > 0)
            sum += s->p->cost[i] * log1pexp(-s->p->y[i] * scores[i]);
    return sum;
}

/* ---- the set ---- */

static tn_status enlarge(tn_ctx *ctx, solver *s)
{
    tn_status st = TN_OK;
    size_t now = tnp_min(tnp_max(2 * s->capacity, 4 * s->rows), tnp_max(s->cols, 1)), old = s->count;
    TN_TRY(tnp_grow(ctx, &s->set, old, now, sizeof *s->set));
    TN_TRY(tnp_grow(ctx, &s->a, old * s->stride, now * s->stride, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &s->bent, old * s->stride, now * s->stride, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &s->w, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &s->next, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &s->inverse, old, now, sizeof(double)));
    TN_TRY(tnp_grow(ctx, &s->gradient, old, now, sizeof(double)));
    TN_TRY(tnp_support_reserve(ctx, &s->support, now));
    s->capacity = now;
done:
    return st;
}

static tn_status join(tn_ctx *ctx, solver *s, size_t column)
{
    tn_status st = TN_OK;
    if (s->count == s->capacity)
        TN_TRY(enlarge(ctx, s));
    double *a = s->a + s->count * s->stride;
    memset(a, 0, s->stride * sizeof *a);
    tnp_tiles_column(s->p->z, column, a);
    for (size_t i = 0; i < s->rows; ++i)
        a[i] *= s->p->unscale[i];
    s->set[s->count] = column;
    s->w[s->count++] = s->fit->w[column];
    s->inside[column] = true;
done:
    return st;
}

/* The columns of a warm start, and their scores. */
static tn_status enter(tn_ctx *ctx, solver *s)
{
    tn_status st = TN_OK;
    for (size_t j = 0; j < s->cols; ++j)
        if (s->fit->w[j] != 0)
            TN_TRY(join(ctx, s, j));
    for (size_t i = 0; i < s->rows; ++i)
        s->fit->scores[i] = s->fit->intercept;
    for (size_t k = 0; k < s->count; ++k)
        for (size_t i = 0; i < s->rows; ++i)
            s->fit->scores[i] += s->w[k] * s->a[k * s->stride + i];
done:
    return st;
}

static void sink(member *heap, size_t at, size_t n)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1].key < heap[child].key)
            ++child;
        if (heap[at].key <= heap[child].key)
            return;
        member swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* Columns outside the set that violate |t_j| <= lambda mix, the worst `most` of them, join it. */
static tn_status recruit(tn_ctx *ctx, solver *s, size_t most, size_t *joined)
{
    tn_status st = TN_OK;
    double bound = s->p->lambda * s->p->mix;
    size_t n = 0;
    if (most > s->heap_capacity) {
        TN_TRY(tnp_grow(ctx, &s->heap, 0, most, sizeof *s->heap));
        s->heap_capacity = most;
    }
    for (size_t j = 0; j < s->cols; ++j) {
        member m = {j, fabs(s->t[j]) - bound};
        if (s->inside[j] || !(m.key > 0))
            continue;
        if (n < most) {
            s->heap[n++] = m;
            for (size_t i = n == most ? n / 2 : 0; i-- > 0;)
                sink(s->heap, i, n);
        } else if (m.key > s->heap[0].key) {
            s->heap[0] = m;
            sink(s->heap, 0, n);
        }
    }
    for (size_t k = 0; k < n; ++k)
        TN_TRY(join(ctx, s, s->heap[k].column));
    *joined = n;
done:
    return st;
}

/* ---- the problem of the set ---- */

/* g = dloss/ds, h its curvature with a floor, the set's gradient, diagonal and bent columns; returns the largest
 * violation. */
static double derive(solver *s, double *slope, double *curvature)
{
    const tnp_sparse_problem *p = s->p;
    double ridge = p->lambda * (1 - p->mix), bound = p->lambda * p->mix, worst;
    *slope = *curvature = 0;
    for (size_t i = 0; i < s->rows; ++i) {
        double q = 1 / (1 + exp(p->y[i] * s->fit->scores[i]));
        s->g[i] = -p->cost[i] * p->y[i] * q;
        s->h[i] = p->cost[i] * fmax(q * (1 - q), 1e-8);
        *slope += s->g[i];
        *curvature += s->h[i];
    }
    worst = fabs(*slope);
    for (size_t k = 0; k < s->count; ++k) {
        const double *a = s->a + k * s->stride;
        double *bent = s->bent + k * s->stride, sum = ridge * s->w[k] + tnp_padded_dot(a, s->g, s->stride);
        for (size_t i = 0; i < s->stride; ++i)
            bent[i] = a[i] * s->h[i];
        s->gradient[k] = sum;
        double diag = ridge + tnp_padded_dot(a, bent, s->stride);
        s->inverse[k] = diag > 0 ? 1 / diag : 0;
        double off = s->w[k] != 0 ? fabs(sum + copysign(bound, s->w[k])) : fmax(fabs(sum) - bound, 0);
        worst = fmax(worst, off);
    }
    return worst;
}

/* Minimises the quadratic model plus penalty: next of the set, returns the step of the intercept; move = A (next - w)
 * plus it. Stops when no coordinate's step, in units of the gradient, exceeds `small`. */
static double visit_coordinates(solver *s, double slope, double curvature, double small)
{
    double shift = 0;
    tnp_descent d = {s->count,
                     s->stride,
                     s->a,
                     s->bent,
                     s->gradient,
                     s->w,
                     s->inverse,
                     s->p->lambda * (1 - s->p->mix),
                     s->p->lambda * s->p->mix,
                     s->next,
                     s->move};
    memcpy(s->next, s->w, s->count * sizeof *s->next);
    memset(s->move, 0, s->stride * sizeof *s->move);
    for (int round = 0; round < SWEEPS && !tnp_was_cancelled(s->ctx); ++round) {
        double pull = slope;
        for (size_t i = 0; i < s->rows; ++i)
            pull += s->h[i] * s->move[i];
        for (size_t i = 0; i < s->rows; ++i)
            s->move[i] -= pull / curvature;
        shift -= pull / curvature;
        if (fmax(fabs(pull), s->simd->descend(&d)) <= small)
            break;
        if (round % JUMP == 1)
            tnp_support_jump(&s->support, &d, s->h, slope, curvature, &shift);
    }
    return shift;
}

/* Weight k of the set a step on the way to next; the whole way is next to the bit, so that zeros are zero. */
static double stepped(const solver *s, size_t k, double step)
{
    return step == 1 ? s->next[k] : s->w[k] + step * (s->next[k] - s->w[k]);
}

static double set_penalty(const solver *s, double step)
{
    double sum = 0;
    for (size_t k = 0; k < s->count; ++k)
        sum += penalty_of(s, stepped(s, k, step));
    return sum;
}

/* Halves the step until P falls by a hundredth of what the model promises, to the rounding of P: near the optimum a
 * step still halves the violation, which the l1 gap follows, when P and the promise can no longer show it. False when
 * no step will do. */
static bool advance(solver *s, double shift)
{
    double before = set_penalty(s, 0), loss = loss_of(s, s->fit->scores), promise = set_penalty(s, 1) - before,
           step = 1;
    for (size_t i = 0; i < s->rows; ++i)
        promise += s->g[i] * s->move[i];
    promise = fmin(promise, 0);
    for (int halving = 0; halving < HALVINGS; ++halving, step /= 2) {
        for (size_t i = 0; i < s->rows; ++i)
            s->trial[i] = s->fit->scores[i] + step * s->move[i];
        double after = set_penalty(s, step) + loss_of(s, s->trial);
        if (!(after <= (before + loss) * (1 + 8 * DBL_EPSILON) + 0.01 * step * promise))
            continue;
        memcpy(s->fit->scores, s->trial, s->rows * sizeof(double));
        s->fit->intercept += step * shift;
        for (size_t k = 0; k < s->count; ++k)
            s->w[k] = stepped(s, k, step);
        return true;
    }
    return false;
}

static void solve_set(solver *s, double share)
{
    double first = 0, slope, curvature;
    for (int n = 0; n < NEWTONS && !tnp_was_cancelled(s->ctx); ++n) {
        double worst = derive(s, &slope, &curvature);
        first = n == 0 ? worst : first;
        if (worst <= share * first)
            break;
        double shift = visit_coordinates(s, slope, curvature, 0.1 * worst);
        if (!advance(s, shift))
            break;
    }
    for (size_t k = 0; k < s->count; ++k)
        s->fit->w[s->set[k]] = s->w[k];
}

/* ---- the certificate ---- */

/* Makes a dual point of the scores, t of it, and the gap; returns it. */
static double certify(tn_ctx *ctx, solver *s)
{
    const tnp_sparse_problem *p = s->p;
    double side[2] = {0, 0}, largest = 0, beyond = 0, bound = p->lambda * p->mix, dual = 0;
    for (size_t i = 0; i < s->rows; ++i) {
        s->theta[i] = p->cost[i] * p->y[i] / (1 + exp(p->y[i] * s->fit->scores[i]));
        side[p->y[i] > 0] += fabs(s->theta[i]);
    }
    double less = fmin(side[0], side[1]);
    for (size_t i = 0; i < s->rows; ++i) {
        s->theta[i] *= less / side[p->y[i] > 0];
        s->trial[i] = s->theta[i] * p->unscale[i];
    }
    tnp_tiles_product(ctx, p->z, s->trial, s->t);
    for (size_t j = 0; j < s->cols; ++j) {
        double over = fmax(fabs(s->t[j]) - bound, 0);
        largest = fmax(largest, fabs(s->t[j]));
        beyond += over * over;
    }
    double shrink = p->mix == 1 && largest > bound ? bound / largest : 1;
    for (size_t i = 0; i < s->rows; ++i)
        if (p->cost[i] > 0) {
            double q = shrink * fabs(s->theta[i]) / p->cost[i];
            dual -= p->cost[i] * ((q > 0 ? q * log(q) : 0) + (q < 1 ? (1 - q) * log1p(-q) : 0));
        }
    if (p->mix < 1)
        dual -= beyond / (2 * p->lambda * (1 - p->mix));
    s->fit->objective = loss_of(s, s->fit->scores) + set_penalty(s, 0);
    s->fit->gap = s->fit->objective - dual;
    return s->fit->gap;
}

static tn_status run(tn_ctx *ctx, solver *s, double tolerance)
{
    tn_status st = TN_OK;
    double least = INFINITY;
    int stalled = 0;
    TN_TRY(enlarge(ctx, s));
    TN_TRY(enter(ctx, s));
    solve_set(s, 1e-3);
    for (int pass = 0; pass < PASSES; ++pass) {
        size_t joined = 0;
        TN_TRY(tnp_cancelled(ctx));
        double gap = certify(ctx, s);
        s->fit->converged = gap <= tolerance * s->fit->objective;
        if (s->fit->converged)
            break;
        TN_TRY(recruit(ctx, s, tnp_max(s->count, 2 * s->rows), &joined));
        /* The gap does not fall with every pass, but within a few unless rounding is all that is left. */
        stalled = joined == 0 && !(gap < least) ? stalled + 1 : 0;
        least = fmin(least, gap);
        if (stalled == STALLS)
            break;
        solve_set(s, 1e-3);
    }
    TN_TRY(tnp_cancelled(ctx));
done:
    return st;
}

static tn_status check(tn_ctx *ctx, const tnp_sparse_problem *p)
{
    double side[2] = {0, 0};
    for (size_t i = 0; i < p->z->rows; ++i)
        side[p->y[i] > 0] += p->cost[i];
    if (!(side[0] > 0 && side[1] > 0))
        return tnp_fail(ctx, TN_ERR_DATA, "sparse logistic: all rows are %s, both classes are needed",
                        side[0] > 0 ? "negative" : "positive");
    if (!(p->lambda > 0 && isfinite(p->lambda) && p->mix > 0 && p->mix <= 1))
        return tnp_fail(ctx, TN_ERR_ARG, "sparse logistic: got lambda %g and mix %g, expected above 0 and in (0, 1]",
                        p->lambda, p->mix);
    return TN_OK;
}

tn_status tnp_sparse_logistic(tn_ctx *ctx, const tnp_sparse_problem *problem, double tolerance, tnp_sparse_fit *fit)
{
    tn_status st = TN_OK;
    size_t m = problem->z->rows, n = problem->z->cols;
    solver s = {.ctx = ctx, .simd = tnp_simd_get(), .p = problem, .fit = fit, .rows = m, .cols = n};
    s.stride = (m + LANES - 1) / LANES * LANES;
    TN_TRY(check(ctx, problem));
    TN_TRY(tnp_alloc(ctx, n, sizeof(double), &s.t));
    TN_TRY(tnp_alloc(ctx, n, sizeof(bool), &s.inside));
    TN_TRY(tnp_alloc(ctx, s.stride, 5 * sizeof(double), &s.theta));
    s.g = s.theta + s.stride;
    s.h = s.g + s.stride;
    s.move = s.h + s.stride;
    s.trial = s.move + s.stride;
    TN_TRY(tnp_support_init(ctx, m, &s.support));
    TN_TRY(run(ctx, &s, tolerance));
done:
    tnp_free_all(s.t, s.inside, s.theta, s.set, s.a, s.bent, s.w, s.next, s.inverse, s.gradient, s.heap);
    tnp_support_destroy(&s.support);
    return st;
}
