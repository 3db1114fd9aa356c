/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method with preconditioned conjugate gradients, for all columns at once.
 *
 *   gradient   G = W + R'X           R (N,K): derivative of the loss at the scores S = X W' + b
 *   product    H P = P + C(Z)'X      Z = X P', C: second derivative of the loss, row by row
 *
 * A product costs two matrix products in one pass over X. X P' of every conjugate direction is kept and summed, so that
 * the scores after the step are known without another product: an iteration costs 2 cg + 1 of them. The preconditioner
 * is learn/sketch.c with each column's own mean curvature. A column that is solved leaves, and what remains is packed
 * together. Vectors are float, as the products are; inner products and objectives are double.
 *
 * Trust regions and exact line searches were refused: with halving only, the full step is taken nearly always. */
#include "learn/linear/newton.h"
#include "learn/softmax/sketch.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 32, SKETCH_RANK = 128, CG_MOST = 40, HALVINGS = 20, PATIENCE = 16 };
enum { USUAL_ITERATIONS = 8 }; /* for progress */

typedef struct solver {
    tn_ctx *ctx;
    const tnp_rows *x;
    const tnp_loss *loss;
    const tnp_newton_options *opt;
    tnp_sketch *sketch;
    size_t k, width;                    /* columns at work; dim + 1 */
    size_t *cols;                       /* k: their numbers in the caller's order */
    float *s, *z, *zd;                  /* (N, k): scores, X p, X d */
    float *w, *g, *d, *r, *p, *hp, *mr; /* (k, width) */
    float *coefficient;                 /* (k, rank) */
    double *f, *before, *target, *slope, *rz, *rz0, *step, *rho, *norm0, *dot; /* k each */
    size_t products;
} solver;

static double ridge(const solver *v, size_t coordinate)
{
    return coordinate < v->x->dim || (v->opt->bias && v->opt->bias_penalised) ? 1 : 0;
}

/* ---- columns ---- */

typedef struct dot_job {
    const float *a, *b;
    double *out;
    size_t width;
} dot_job;

static void dot_column(void *arg, size_t j)
{
    const dot_job *job = arg;
    job->out[j] = tnp_dot(job->a + j * job->width, job->b + j * job->width, job->width);
}

/* Inner products of columns. */
static void dots(const solver *v, const float *a, const float *b, double *out)
{
    dot_job job = {a, b, out, v->width};
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, 2.0 * (double)(v->k * v->width)), v->k, dot_column, &job);
}

/* a[j,] += t[j] b[j,] */
static void add_columns(const solver *v, const double *t, const float *b, float *a)
{
    for (size_t j = 0; j < v->k; ++j)
        for (size_t i = 0; t[j] != 0 && i < v->width; ++i)
            a[j * v->width + i] += (float)t[j] * b[j * v->width + i];
}

typedef struct score_job {
    const solver *v;
    const double *t;
    const float *from;
    float *to;
} score_job;

static void add_score_chunk(void *arg, size_t chunk)
{
    const score_job *job = arg;
    size_t k = job->v->k, end = tnp_min(job->v->x->rows, (chunk + 1) * CHUNK);
    for (size_t i = chunk * CHUNK; i < end; ++i)
        for (size_t j = 0; j < k; ++j)
            job->to[i * k + j] += (float)job->t[j] * job->from[i * k + j];
}

/* to[,j] += t[j] from[,j] over all rows. */
static void add_scores(const solver *v, const double *t, const float *from, float *to)
{
    score_job job = {v, t, from, to};
    size_t rows = v->x->rows;
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, 2.0 * (double)rows * (double)v->k), (rows + CHUNK - 1) / CHUNK,
                 add_score_chunk, &job);
}

/* ---- passes over the rows ---- */

static void slope_rows(void *arg, const tnp_panel *at)
{
    const solver *v = arg;
    for (size_t i = 0; i < at->count; ++i)
        v->loss->slope(v->loss->arg, at->start + i, v->cols, v->k, at->s + i * v->k, at->scratch, at->t + i * v->k,
                       at->sums);
}

static void curve_rows(void *arg, const tnp_panel *at)
{
    const solver *v = arg;
    memcpy(at->t, at->s, at->count * v->k * sizeof *at->t); /* z */
    for (size_t i = 0; i < at->count; ++i)
        v->loss->curve(v->loss->arg, at->start + i, v->cols, v->k, v->s + (at->start + i) * v->k, at->scratch,
                       at->t + i * v->k);
}

static void weigh_rows(void *arg, const tnp_panel *at)
{
    const solver *v = arg;
    for (size_t i = 0; i < at->count; ++i)
        v->loss->weight(v->loss->arg, at->start + i, v->cols, v->k, at->s + i * v->k, at->scratch, at->sums);
}

/* A pass with a body: `pass` says what it makes of it. */
static tn_status run(solver *v, void (*body)(void *, const tnp_panel *), tnp_pass pass)
{
    pass.k = pass.scratch = v->k;
    pass.body = body;
    pass.arg = v;
    pass.chunk = CHUNK;
    pass.work = 8 * (double)v->k;
    v->products += (pass.w ? 1u : 0) + (pass.back ? 1u : 0);
    return tnp_rows_pass(v->ctx, v->x, &pass);
}

/* out (k, width), a pass's: adds the penalty's part at `at`. Without an intercept its place is 0. */
static void add_penalty(const solver *v, const float *at, float *out)
{
    for (size_t j = 0; j < v->k; ++j) {
        float *last = out + j * v->width + v->x->dim;
        *last = v->opt->bias ? *last : 0;
        for (size_t i = 0; i < v->width; ++i)
            out[j * v->width + i] += (float)(ridge(v, i) * (double)at[j * v->width + i]);
    }
}

/* f and its gradient g at the present scores. */
static tn_status find_gradient(solver *v)
{
    tn_status st = run(v, slope_rows, (tnp_pass){.s = v->s, .back = v->g, .sum_count = v->k, .sums = v->f});
    add_penalty(v, v->w, v->g);
    for (size_t j = 0; j < v->k; ++j) {
        double square = 0;
        for (size_t i = 0; i < v->width; ++i)
            square += ridge(v, i) * (double)v->w[j * v->width + i] * (double)v->w[j * v->width + i];
        v->f[j] += square / 2;
    }
    return st;
}

/* hp = H p, z = X p' + its bias. */
static tn_status multiply(solver *v)
{
    tn_status st = run(v, curve_rows, (tnp_pass){.w = v->p, .s = v->z, .back = v->hp});
    add_penalty(v, v->p, v->hp);
    return st;
}

/* ---- one Newton step ---- */

/* Mean curvature of each column: what the preconditioner multiplies X'X with. */
static tn_status mean_curvature(solver *v)
{
    tn_status st = run(v, weigh_rows, (tnp_pass){.s = v->s, .sum_count = v->k, .sums = v->rho});
    for (size_t j = 0; j < v->k; ++j)
        v->rho[j] /= (double)v->x->rows;
    return st;
}

/* out = M^-1 in. The sketch knows the constant column; a model without an intercept must not get one from it. */
static tn_status precondition(solver *v, const float *in, float *out)
{
    tn_status st = tnp_sketch_apply(v->ctx, v->sketch, v->k, v->rho, in, v->coefficient, out);
    for (size_t j = 0; !v->opt->bias && j < v->k; ++j)
        out[j * v->width + v->x->dim] = 0;
    return st;
}

/* d = -H^-1 g, roughly: until the residual has fallen by the forcing term of each column. zd = X d'. */
static tn_status conjugate_gradients(solver *v)
{
    tn_status st = TN_OK;
    size_t size = v->k * v->width, rows = v->x->rows * v->k;
    TN_TRY(mean_curvature(v));
    for (size_t i = 0; i < size; ++i)
        v->r[i] = -v->g[i];
    memset(v->d, 0, size * sizeof *v->d);
    memset(v->zd, 0, rows * sizeof *v->zd);
    TN_TRY(precondition(v, v->r, v->p));
    dots(v, v->r, v->p, v->rz);
    memcpy(v->rz0, v->rz, v->k * sizeof *v->rz);
    dots(v, v->g, v->g, v->dot);
    for (size_t j = 0; j < v->k; ++j) { /* forcing term: loose far away, tight near the solution */
        double eta = fmin(0.3, sqrt(sqrt(v->dot[j]) / v->norm0[j]));
        v->target[j] = eta * eta * v->rz0[j];
    }
    for (int round = 0; round < CG_MOST; ++round) {
        bool any = false;
        TN_TRY(multiply(v));
        dots(v, v->p, v->hp, v->dot);
        for (size_t j = 0; j < v->k; ++j)
            v->step[j] = v->rz[j] > v->target[j] && v->dot[j] > 0 ? v->rz[j] / v->dot[j] : 0;
        add_columns(v, v->step, v->p, v->d);
        add_scores(v, v->step, v->z, v->zd);
        for (size_t j = 0; j < v->k; ++j)
            v->step[j] = -v->step[j];
        add_columns(v, v->step, v->hp, v->r);
        TN_TRY(precondition(v, v->r, v->mr));
        dots(v, v->r, v->mr, v->dot);
        for (size_t j = 0; j < v->k; ++j) {
            double beta = v->step[j] != 0 ? v->dot[j] / v->rz[j] : 0;
            v->rz[j] = v->step[j] != 0 ? v->dot[j] : v->rz[j];
            any |= v->step[j] != 0 && v->rz[j] > v->target[j];
            for (size_t i = 0; i < v->width; ++i)
                v->p[j * v->width + i] = v->mr[j * v->width + i] + (float)beta * v->p[j * v->width + i];
        }
        if (!any)
            break;
    }
done:
    return st;
}

/* Takes the step, halved in the columns where f does not fall enough. g and f are those of the new place. */
static tn_status take_step(solver *v)
{
    dots(v, v->g, v->d, v->slope);
    memcpy(v->before, v->f, v->k * sizeof *v->f);
    for (size_t j = 0; j < v->k; ++j)
        v->step[j] = v->rz0[j] = 1; /* rz0: the step taken so far */
    for (int halving = 0; halving <= HALVINGS; ++halving) {
        bool again = false;
        add_columns(v, v->step, v->d, v->w);
        add_scores(v, v->step, v->zd, v->s);
        tn_status st = find_gradient(v);
        if (st != TN_OK)
            return st;
        for (size_t j = 0; j < v->k; ++j) {
            double enough = v->before[j] + 1e-4 * v->rz0[j] * v->slope[j] + 1e-7 * fabs(v->before[j]);
            bool bad = !(v->f[j] <= enough);
            v->step[j] = bad ? -v->rz0[j] / 2 : 0;
            v->rz0[j] += v->step[j];
            again |= bad;
        }
        if (!again)
            break;
    }
    return TN_OK;
}

/* ---- columns that are solved ---- */

/* Keeps the columns with keep[j]: every array is packed in place. */
static void pack(solver *v, const bool *keep)
{
    size_t to = 0, k = v->k;
    for (size_t i = 0; i < v->x->rows; ++i)
        for (size_t j = 0; j < k; ++j)
            if (keep[j])
                v->s[to++] = v->s[i * k + j];
    to = 0;
    for (size_t j = 0; j < k; ++j) {
        if (!keep[j])
            continue;
        memmove(v->w + to * v->width, v->w + j * v->width, v->width * sizeof *v->w);
        memmove(v->g + to * v->width, v->g + j * v->width, v->width * sizeof *v->g);
        v->cols[to] = v->cols[j];
        v->f[to] = v->f[j];
        v->norm0[to] = v->norm0[j];
        ++to;
    }
    v->k = to;
}

/* About how far f is above its minimum. At the best b for w it is at most 1/2 |g_w|^2, as F(w) = min_b f(w, b) is
 * 1-strongly convex; a penalised intercept is a weight like any other, a free one adds about f - min_b f, twice its
 * quadratic estimate, g_b^2 / h_b with h_b the sum of curvatures. Certain only where everything is penalised, and to
 * the digits of float: what may be claimed of the result is learn/certify.c's to say. */
static tn_status estimate(solver *v, double *gap)
{
    tn_status st = TN_OK;
    bool free_bias = v->opt->bias && !v->opt->bias_penalised;
    if (free_bias)
        TN_TRY(mean_curvature(v));
    for (size_t j = 0; j < v->k; ++j) {
        const float *g = v->g + j * v->width;
        double square = 0, last = (double)g[v->x->dim];
        for (size_t i = 0; i < v->x->dim; ++i)
            square += (double)g[i] * (double)g[i];
        gap[j] = square / 2 + (free_bias ? 0 : last * last / 2);
        if (free_bias && last != 0)
            gap[j] += last * last / (v->rho[j] * (double)v->x->rows);
    }
done:
    return st;
}

static tn_status largest_gap(solver *v, double *most)
{
    tn_status st = estimate(v, v->dot);
    *most = 0;
    for (size_t j = 0; j < v->k; ++j)
        *most = fmax(*most, v->dot[j] / v->f[j]);
    return st;
}

/* Hands solved columns to the caller and drops them. Everything is handed over when `all`. */
static tn_status retire(solver *v, bool all, float *w, double *objective, double *gap, bool *keep)
{
    bool dropped = false;
    tn_status st = estimate(v, v->dot);
    for (size_t j = 0; st == TN_OK && j < v->k; ++j) {
        bool solved = v->dot[j] <= v->opt->tolerance * v->f[j];
        keep[j] = !solved && !all;
        if (keep[j])
            continue;
        dropped = true;
        memcpy(w + v->cols[j] * v->width, v->w + j * v->width, v->width * sizeof *w);
        objective[v->cols[j]] = v->f[j];
        gap[v->cols[j]] = v->dot[j];
    }
    if (dropped)
        pack(v, keep);
    return st;
}

/* ---- the whole ---- */

size_t tnp_newton_bytes(size_t rows, size_t dim, size_t columns)
{
    size_t w = dim + 1, sketch = tnp_pass_bytes(rows, dim, SKETCH_RANK, rows, SKETCH_RANK) + 44 * SKETCH_RANK * w +
                                 48 * SKETCH_RANK * (SKETCH_RANK + 8);
    return 4 * columns * (3 * rows + 7 * w + SKETCH_RANK) + 96 * columns +
           tnp_pass_bytes(rows, dim, columns, CHUNK, 2 * columns) + sketch;
}

static tn_status solver_alloc(tn_ctx *ctx, solver *v)
{
    tn_status st = TN_OK;
    size_t k = v->k, n = v->x->rows;
    float **wide[] = {&v->w, &v->g, &v->d, &v->r, &v->p, &v->hp, &v->mr};
    double **small[] = {&v->f,   &v->before, &v->target, &v->slope, &v->rz,
                        &v->rz0, &v->step,   &v->rho,    &v->norm0, &v->dot};
    TN_TRY(tnp_alloc(ctx, k, sizeof *v->cols, &v->cols));
    TN_TRY(tnp_alloc_raw(ctx, n * k, sizeof *v->s, &v->s));
    TN_TRY(tnp_alloc_raw(ctx, n * k, sizeof *v->z, &v->z));
    TN_TRY(tnp_alloc_raw(ctx, n * k, sizeof *v->zd, &v->zd));
    TN_TRY(tnp_alloc_raw(ctx, k * SKETCH_RANK, sizeof *v->coefficient, &v->coefficient));
    for (size_t i = 0; i < sizeof wide / sizeof *wide; ++i)
        TN_TRY(tnp_alloc(ctx, k * v->width, sizeof(float), wide[i]));
    for (size_t i = 0; i < sizeof small / sizeof *small; ++i)
        TN_TRY(tnp_alloc(ctx, k, sizeof(double), small[i]));
    for (size_t j = 0; j < k; ++j)
        v->cols[j] = j;
done:
    return st;
}

static void solver_destroy(solver *v)
{
    tnp_free_all(v->cols, v->s, v->z, v->zd, v->coefficient, v->w, v->g, v->d, v->r, v->p, v->hp, v->mr, v->f,
                 v->before, v->target, v->slope, v->rz, v->rz0, v->step, v->rho, v->norm0, v->dot);
    tnp_sketch_free(v->sketch);
}

tn_status tnp_newton_solve(tn_ctx *ctx, const tnp_rows *x, size_t columns, const tnp_loss *loss,
                           const tnp_newton_options *options, float *w, double *objective, double *gap,
                           tnp_newton_info *info)
{
    tn_status st = TN_OK;
    solver v = {.ctx = ctx, .x = x, .loss = loss, .opt = options, .k = columns, .width = x->dim + 1, .products = 1};
    bool *keep = NULL;
    size_t iteration = 0;
    double mark = 0;
    TN_TRY(solver_alloc(ctx, &v));
    TN_TRY(tnp_alloc(ctx, columns, sizeof *keep, &keep));
    TN_TRY(tnp_sketch_new(ctx, x, SKETCH_RANK, options->seed, &v.sketch));
    memcpy(v.w, w, columns * v.width * sizeof *w);
    TN_TRY(tnp_rows_pass(ctx, x, &(tnp_pass){.k = v.k, .w = v.w, .s = v.s}));
    TN_TRY(find_gradient(&v));
    dots(&v, v.g, v.g, v.norm0);
    for (size_t j = 0; j < columns; ++j)
        v.norm0[j] = fmax(sqrt(v.norm0[j]), 1e-300);
    TN_TRY(retire(&v, false, w, objective, gap, keep));
    for (; v.k > 0 && iteration < options->max_iterations; ++iteration) {
        if (iteration % PATIENCE == 0) {
            double now;
            TN_TRY(largest_gap(&v, &now));
            if (iteration > 0 && !(now < mark / 2))
                break; /* float has no digits left for what remains */
            mark = now;
        }
        size_t all = columns * (iteration + USUAL_ITERATIONS);
        TN_TRY(tnp_progress(ctx, "training", all - v.k * USUAL_ITERATIONS, all));
        TN_TRY(conjugate_gradients(&v));
        TN_TRY(take_step(&v));
        TN_TRY(retire(&v, false, w, objective, gap, keep));
    }
    info->converged = v.k == 0;
    TN_TRY(retire(&v, true, w, objective, gap, keep));
    info->iterations = iteration;
    info->products = v.products;
    TN_TRY(tnp_progress(ctx, "training", columns, columns));
done:
    solver_destroy(&v);
    tnp_free(keep);
    return st;
}
