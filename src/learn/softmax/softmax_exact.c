/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Newton's method with conjugate gradients, everything in double and around the mean m of the rows:
 *
 *   scores = (X - m) W' + beta,   beta = b + W m,   gradient  W + R'(X - m)  in W and  sum R  in beta
 *
 * so that rows far from the origin do not tie weights and intercepts together. Preconditioner: for class k the matrix I
 * + rho_k (X - m)'(X - m), rho_k its mean curvature, by one eigendecomposition for all classes while D is at most
 * WIDEST, its diagonal beyond; N rho_k for the intercept. Of what is (N, k) scores and those along the step are kept.
 *
 * The minimum is bounded from below at every gradient (learn/certify_softmax.c), the objective is that of the floats
 * that are handed out. Oracle: ref_logistic. */
#include "learn/softmax/softmax_exact.h"
#include "algebra/blas.h"
#include "learn/linear/certify.h"

#include <math.h>
#include <string.h>

enum { WIDEST = 2048, CG_MOST = 250, CHUNK = 16 };
static const double NEAR = 0.25; /* of the tolerance: rounding to float has the rest */

typedef struct solver {
    tn_ctx *ctx;
    const tnp_rows *x;
    const tnp_softmax *l;
    bool bias;
    size_t n, k, dim, width;
    double tolerance;
    tnp_softmax_sums sums;
    double *mean, *vectors, *values;            /* width; (dim, dim) or NULL; dim: eigenvalues, or the diagonal */
    double *all, *rho;                          /* 1 + 3 k: loss, mass, disorder, and rho (k), curvatures */
    double *w, *g, *d, *r, *p, *hp, *m, *moved; /* (k, width), in beta; moved: in b */
    double *s, *z;                              /* (n, k) */
    double *q, *still;                          /* k: probabilities of the row at hand; zeros */
    double f, lower;
    size_t passes;
} solver;

/* ---- rows ---- */

static size_t class_of(const solver *v, size_t row)
{
    return v->l->y->cls[v->l->y->first[row]];
}

/* q (k) = softmax of s + t z; z may be NULL. */
static void softmax(const solver *v, const double *s, double t, const double *z, double *q)
{
    double most = -INFINITY, total = 0;
    for (size_t j = 0; j < v->k; ++j) {
        q[j] = s[j] + (z ? t * z[j] : 0);
        most = fmax(most, q[j]);
    }
    for (size_t j = 0; j < v->k; ++j) {
        q[j] = exp(q[j] - most);
        total += q[j];
    }
    for (size_t j = 0; j < v->k; ++j)
        q[j] /= total;
}

static void curve_rows(void *arg, const tnp_wide_panel *at)
{
    const solver *v = arg;
    for (size_t i = 0; i < at->count; ++i) {
        const double *z = at->s + i * v->k;
        double c = tnp_softmax_cost(v->l, at->start + i), mean = 0, *t = at->t + i * v->k;
        softmax(v, v->s + (at->start + i) * v->k, 0, NULL, t);
        for (size_t j = 0; j < v->k; ++j)
            mean += t[j] * z[j];
        for (size_t j = 0; j < v->k; ++j)
            t[j] = c * t[j] * (z[j] - mean);
    }
}

/* ---- between b and beta ---- */

static double along_mean(const solver *v, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < v->dim; ++i)
        sum += a[i] * v->mean[i];
    return sum;
}

/* A pass with a (k, width), given in beta; back, where it is wanted, is the gradient in beta. */
static tn_status run(solver *v, const double *a, tnp_wide_pass pass)
{
    memcpy(v->moved, a, v->k * v->width * sizeof *a);
    for (size_t j = 0; j < v->k; ++j) {
        double *last = v->moved + j * v->width + v->dim;
        *last = v->bias ? *last - along_mean(v, a + j * v->width) : 0;
    }
    ++v->passes;
    pass.k = v->k;
    pass.w = v->moved;
    pass.arg = pass.arg ? pass.arg : v;
    pass.chunk = CHUNK;
    pass.work = 64 * (double)v->k;
    tn_status st = tnp_rows_wide_pass(v->ctx, v->x, &pass);
    for (size_t j = 0; pass.back && j < v->k; ++j) {
        double *g = pass.back + j * v->width, last = v->bias ? g[v->dim] : 0;
        for (size_t i = 0; i < v->dim; ++i)
            g[i] -= last * v->mean[i];
        g[v->dim] = last;
    }
    return st;
}

static double dot(const solver *v, const double *a, const double *b, bool weights_only)
{
    double sum = 0;
    for (size_t i = 0; i < v->k * v->width; ++i)
        sum += weights_only && i % v->width == v->dim ? 0 : a[i] * b[i];
    return sum;
}

static void add_weights(const solver *v, const double *a, double *to)
{
    for (size_t i = 0; i < v->k * v->width; ++i)
        to[i] += i % v->width < v->dim ? a[i] : 0;
}

/* f, its gradient, curvatures and the bound of the minimum where it is. */
static tn_status look(solver *v)
{
    tn_status st = run(v, v->w,
                       (tnp_wide_pass){.s = v->s,
                                       .body = tnp_softmax_measure,
                                       .arg = &(tnp_softmax_claimed){v->l, v->still},
                                       .back = v->g,
                                       .sum_count = 1 + 3 * v->k,
                                       .sums = v->all,
                                       .longest = &v->sums.longest});
    v->f = v->all[0] + dot(v, v->w, v->w, true) / 2;
    for (size_t j = 0; j < v->k; ++j) /* moved: sums of rows, not around the mean */
        for (size_t i = 0; i < v->width; ++i)
            v->moved[j * v->width + i] =
                v->g[j * v->width + i] + (i < v->dim ? v->g[j * v->width + v->dim] * v->mean[i] : 0);
    v->lower = fmax(v->lower, tnp_softmax_bound(&v->sums, v->k, v->dim, v->bias, false, v->moved));
    add_weights(v, v->w, v->g);
    return st;
}

/* ---- the preconditioner ---- */

static void share_rows(void *arg, const tnp_wide_panel *at)
{
    const solver *v = arg;
    for (size_t i = 0; i < at->count; ++i)
        at->t[i] = 1 / (double)v->n;
}

/* The mean of the rows, then the products of rows around it: (dim, dim), or their diagonal. Without an intercept the
 * mean only serves these. */
static tn_status prepare(solver *v)
{
    tn_status st = TN_OK;
    bool whole = v->vectors;
    tnp_gram about = {.mean = v->mean, .diagonal = !whole};
    TN_TRY(tnp_rows_wide_pass(v->ctx, v->x, &(tnp_wide_pass){.k = 1, .body = share_rows, .arg = v, .back = v->mean}));
    TN_TRY(v->x->ops->gram(v->ctx, v->x->self, &about, whole ? v->vectors : v->values));
    v->passes += 2;
    if (!v->bias)
        memset(v->mean, 0, v->dim * sizeof *v->mean);
    if (whole)
        TN_TRY(tnp_eigen(v->ctx, v->dim, v->vectors, v->values));
done:
    return st;
}

/* Takes the mean off the intercepts of a (k, width), of classes that have a curvature where `curved`. The same number
 * added to all intercepts changes no probability: steps along it are rounding over nothing, and great intercepts cost
 * the scores their digits. */
static void centre_intercepts(const solver *v, bool curved, double *a)
{
    double sum = 0, count = 0;
    for (size_t j = 0; j < v->k; ++j) {
        sum += !curved || v->rho[j] > 0 ? a[j * v->width + v->dim] : 0;
        count += !curved || v->rho[j] > 0;
    }
    for (size_t j = 0; j < v->k; ++j)
        a[j * v->width + v->dim] -= !curved || v->rho[j] > 0 ? sum / count : 0;
}

/* out = M^-1 in; m is scratch. */
static tn_status precondition(solver *v, const double *in, double *out)
{
    tn_status st = TN_OK;
    const double *at = in;
    if (v->vectors) {
        TN_TRY(tnp_dgemm_nt(v->ctx, v->k, v->dim, v->dim, in, v->width, v->vectors, v->dim, 0, v->m, v->width));
        at = v->m;
    }
    for (size_t j = 0; j < v->k; ++j) {
        double rho = v->rho[j] / (double)v->n;
        for (size_t i = 0; i < v->dim; ++i)
            v->m[j * v->width + i] = at[j * v->width + i] / (1 + rho * fmax(0, v->values[i]));
    }
    if (v->vectors)
        TN_TRY(tnp_dgemm_nn(v->ctx, v->k, v->dim, v->dim, v->m, v->width, v->vectors, v->dim, 0, out, v->width));
    else
        memcpy(out, v->m, v->k * v->width * sizeof *out);
    for (size_t j = 0; j < v->k; ++j) {
        size_t last = j * v->width + v->dim;
        out[last] = v->bias && v->rho[j] > 0 ? in[last] / v->rho[j] : 0;
    }
    centre_intercepts(v, true, out);
done:
    return st;
}

/* ---- one step ---- */

/* d ~ -H^-1 g, until the residual has fallen to `forcing`. */
static tn_status direction(solver *v, double forcing, size_t max_passes)
{
    tn_status st = TN_OK;
    size_t size = v->k * v->width;
    memset(v->d, 0, size * sizeof *v->d);
    for (size_t i = 0; i < size; ++i)
        v->r[i] = -v->g[i];
    TN_TRY(precondition(v, v->r, v->p));
    double rz = dot(v, v->r, v->p, false), target = forcing * forcing * rz;
    for (size_t round = 0; round < CG_MOST && rz > target && v->passes < max_passes; ++round) {
        TN_TRY(run(v, v->p, (tnp_wide_pass){.body = curve_rows, .back = v->hp}));
        add_weights(v, v->p, v->hp);
        double bent = dot(v, v->p, v->hp, false);
        if (!(bent > 0))
            break;
        double step = rz / bent, before = rz;
        for (size_t i = 0; i < size; ++i) {
            v->d[i] += step * v->p[i];
            v->r[i] -= step * v->hp[i];
        }
        TN_TRY(precondition(v, v->r, v->hp));
        rz = dot(v, v->r, v->hp, false);
        for (size_t i = 0; i < size; ++i)
            v->p[i] = v->hp[i] + rz / before * v->p[i];
    }
done:
    return st;
}

/* First and second derivative of f along d at t. */
static tn_status line(void *arg, double t, double *first, double *second)
{
    const solver *v = arg;
    *second = dot(v, v->d, v->d, true);
    *first = dot(v, v->w, v->d, true) + t * *second;
    for (size_t i = 0; i < v->n; ++i) {
        const double *z = v->z + i * v->k;
        double c = tnp_softmax_cost(v->l, i), mean = 0, square = 0;
        softmax(v, v->s + i * v->k, t, z, v->q);
        for (size_t j = 0; j < v->k; ++j) {
            mean += v->q[j] * z[j];
            square += v->q[j] * z[j] * z[j];
        }
        *first += c * (mean - z[class_of(v, i)]);
        *second += c * (square - mean * mean);
    }
    return TN_OK;
}

static tn_status take_step(solver *v, double forcing, size_t max_passes, double *moved)
{
    tn_status st = TN_OK;
    TN_TRY(direction(v, forcing, max_passes));
    TN_TRY(run(v, v->d, (tnp_wide_pass){.s = v->z}));
    TN_TRY(tnp_line_search(line, v, dot(v, v->g, v->d, false), 0.1, moved));
    for (size_t i = 0; i < v->k * v->width; ++i)
        v->w[i] += *moved * v->d[i];
    TN_TRY(look(v));
done:
    return st;
}

static tn_status minimise(solver *v, size_t max_passes)
{
    tn_status st = TN_OK;
    double moved = 1, first;
    v->lower = 0; /* as every term is at least */
    TN_TRY(look(v));
    first = sqrt(dot(v, v->g, v->g, false));
    while (moved > 0 && v->f - v->lower > NEAR * v->tolerance * v->f && v->passes < max_passes) {
        double before = v->f, bound = v->lower, now = sqrt(dot(v, v->g, v->g, false));
        TN_TRY(take_step(v, fmin(0.1, now / first), max_passes, &moved));
        if (!(v->f < before || v->lower > bound))
            break;
    }
done:
    return st;
}

/* ---- the whole ---- */

static size_t bytes_of(size_t rows, size_t dim, size_t k)
{
    return tnp_wide_pass_bytes(dim, k, CHUNK, 1 + 3 * k) + tnp_rows_gram_bytes(dim) +
           8 * (2 * rows * k + 8 * k * (dim + 1) + 6 * k + 2 * dim + tnp_design_block_rows(rows, dim)) +
           (dim <= WIDEST ? 24 * dim * dim : 0) + 1024; /* LAPACK takes 2 dim^2 */
}

static tn_status solver_init(solver *v)
{
    tn_status st = TN_OK;
    size_t wide = v->k * v->width;
    double **weights[] = {&v->w, &v->g, &v->d, &v->r, &v->p, &v->hp, &v->m, &v->moved};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; ++i)
        TN_TRY(tnp_alloc(v->ctx, wide, sizeof(double), weights[i]));
    TN_TRY(tnp_alloc(v->ctx, 1 + 3 * v->k, sizeof *v->all, &v->all));
    TN_TRY(tnp_alloc(v->ctx, v->k, sizeof *v->sums.own, &v->sums.own));
    TN_TRY(tnp_alloc(v->ctx, v->k, sizeof *v->q, &v->q));
    TN_TRY(tnp_alloc(v->ctx, v->k, sizeof *v->still, &v->still));
    v->sums.mass = v->all + 1;
    v->sums.disorder = v->sums.mass + v->k;
    v->rho = v->all + 1 + 2 * v->k;
    TN_TRY(tnp_alloc(v->ctx, v->width, sizeof *v->mean, &v->mean));
    TN_TRY(tnp_alloc(v->ctx, v->dim, sizeof *v->values, &v->values));
    if (v->dim <= WIDEST)
        TN_TRY(tnp_alloc(v->ctx, v->dim * v->dim, sizeof *v->vectors, &v->vectors));
    TN_TRY(tnp_alloc_raw(v->ctx, v->n * v->k, sizeof *v->s, &v->s));
    TN_TRY(tnp_alloc_raw(v->ctx, v->n * v->k, sizeof *v->z, &v->z));
    for (size_t i = 0; i < v->n; ++i)
        v->sums.own[class_of(v, i)] += tnp_softmax_cost(v->l, i);
done:
    return st;
}

static void solver_destroy(solver *v)
{
    tnp_free_all(v->w, v->g, v->d, v->r, v->p, v->hp, v->m, v->moved, v->all, v->sums.own, v->q, v->still, v->mean,
                 v->vectors, v->values, v->s, v->z);
}

/* w as floats, into out, and the objective of those. */
static tn_status round_off(solver *v, float *out, double *objective)
{
    for (size_t j = 0; j < v->k; ++j)
        v->w[j * v->width + v->dim] -= along_mean(v, v->w + j * v->width);
    centre_intercepts(v, false, v->w);
    for (size_t j = 0; j < v->k; ++j) {
        double *w = v->w + j * v->width;
        for (size_t i = 0; i < v->width; ++i)
            w[i] = (double)(out[j * v->width + i] = i < v->dim || v->bias ? (float)w[i] : 0);
        w[v->dim] += v->bias ? along_mean(v, w) : 0;
    }
    tn_status st = look(v);
    *objective = v->f;
    return st;
}

tn_status tnp_softmax_exact(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss, bool bias, double tolerance,
                            size_t max_passes, float *w, double *objective, double *gap, size_t *passes)
{
    tn_status st = TN_OK;
    solver v = {.ctx = ctx,
                .x = x,
                .l = loss,
                .bias = bias,
                .n = x->rows,
                .k = loss->y->classes,
                .dim = x->dim,
                .width = x->dim + 1,
                .tolerance = tolerance,
                .passes = *passes};
    float *found = NULL;
    double f;
    if (bytes_of(v.n, v.dim, v.k) + 4 * v.k * v.width > tnp_budget_left(ctx))
        return TN_OK;
    TN_TRY(solver_init(&v));
    TN_TRY(tnp_alloc(ctx, v.k * v.width, sizeof *found, &found));
    TN_TRY(prepare(&v));
    for (size_t i = 0; i < v.k * v.width; ++i)
        v.w[i] = (double)w[i];
    for (size_t j = 0; bias && j < v.k; ++j)
        v.w[j * v.width + v.dim] += along_mean(&v, v.w + j * v.width);
    centre_intercepts(&v, false, v.w);
    TN_TRY(minimise(&v, max_passes));
    TN_TRY(round_off(&v, found, &f));
    f += tnp_certify_rounding(f);
    *passes = v.passes;
    if (f - v.lower < *gap) {
        memcpy(w, found, v.k * v.width * sizeof *w);
        *objective = f;
        *gap = fmax(0, f - v.lower);
    }
done:
    solver_destroy(&v);
    tnp_free(found);
    return st;
}
