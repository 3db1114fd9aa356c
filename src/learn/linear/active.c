/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   f(w, b) = 1/2 |w|^2 + [b^2 / 2] + sum_i c_i max(0, 1 - m_i)^2,   m_i = y_i (w'x_i + b)
 *
 * f is quadratic while no row crosses its margin, so that Newton's method with an exact line search ends after a few
 * steps: 5 at C = 1, about 10 at C = 100 with rows of length 1, 2 to 4 from the optimum of a neighbouring C or of most
 * of the rows. Its Hessian is that of the active rows, a few hundred of thousands; a factor of it (factor.h) serves as
 * preconditioner for several steps, and for the folds of a class. Before the first, a factor of all rows serves all
 * columns: from no weights every row is active.
 *
 * Columns are solved in lanes, as many as work side by side; a column that is done leaves its lane to the next. All
 * passes over the rows are products with the lanes' weights, in double. A round is
 *
 *   Z = X D'   per lane: exact line search along d, active rows   G = W + R'X   factors where they pay   d = -H^-1 g
 *
 * The minimum is bounded by the multipliers alpha_i = 2 c_i max(0, 1 - m_i) of the place, times the best factor t:
 * t sum alpha - t^2 (sum alpha^2 / 4 c + |sum y alpha x|^2 / 2), and sum y alpha x = w - g.
 *
 * Dual coordinate descent was refused here (it stays for the hinge): its passes grow with C. So was a factor anew in
 * each step: conjugate gradients with an old one need 3 to 5 products with the active rows. Oracle: ref_svm. */
#include "learn/linear/active.h"
#include "learn/linear/factor.h"
#include "learn/softmax/softmax_loss.h"

#include <math.h>
#include <string.h>

enum { LANES = 64, LEAST_LANES = 4, CHUNK = 64, PRODUCTS = 60, FEW = 3, STEPS = 200, PARTS = 4, SAMPLE = 512 };
static const double LANE_BYTES = 1 << 29; /* all lanes together, where they would be many */
static const double ENOUGH = 0.1;         /* of the residual, that a step leaves */
static const double MORE = 2, FIRST = 6;  /* of the costs */
static const double NEAR = 0.5;           /* of the tolerance: so that rounding to float has room */
static const double SLOW = 8; /* a flop of single vectors beside one of a matrix product, twice: a factor lasts */

typedef struct lane {
    size_t column;
    bool entering; /* d is where to start */
    bool stale;    /* a factor of its own is due */
    bool fresh;    /* the factor was made for this step */
    bool lost;     /* no factor leads further */
    double ease;   /* share of the costs that counts in this step, at most 1 */
    float *a, *h;  /* n: signed costs; twice their size, eased */
    double *m, *q; /* n: margins, and their change along d */
    double *w, *g, *d;
    size_t *which, active; /* n: active rows, in the order of the rows */
    double f, loss, sum;   /* objective, its loss, sum of the multipliers */
    double lower, before, square;
    size_t steps, products;
    float *scratch;
    tnp_factor own;
    const tnp_factor *factor;
} lane;

typedef struct solver {
    tn_ctx *ctx;
    const tnp_rows *rows;
    const tnp_columns *columns;
    const tnp_active_options *opt;
    const float *x;
    size_t stride, n, dim, width;
    size_t *order, count, next; /* columns, the folds of a class together; the first that no lane has had */
    tnp_factor all;             /* of all rows, for columns that start with nothing */
    lane *lanes[LANES];         /* those at work first */
    size_t k, most;             /* lanes at work, lanes there are */
    double *z, *in, *out;       /* (n, k), (k, width), (k, width) */
    double least_ease;          /* of columns that start with nothing */
    size_t passes;
} solver;

static double ridge(const solver *v, size_t i)
{
    return i < v->dim || (v->opt->bias && v->opt->penalised) ? 1 : 0;
}

static double dot(const solver *v, const double *a, const double *b)
{
    return tnp_dot_wide(a, b, v->dim + (v->opt->bias && v->opt->penalised));
}

static tnp_active_rows active_rows(const solver *v, const lane *l)
{
    return (tnp_active_rows){v->x,      v->stride, v->dim, v->opt->bias, v->opt->penalised ? 1 : 0,
                             l->active, l->which,  l->h};
}

/* ---- along a step ---- */

typedef struct line_job {
    const lane *l;
    size_t n;
    double wd, dd;
} line_job;

/* First and second derivative of f at w + t d. */
static tn_status line(void *arg, double t, double *first, double *second)
{
    const line_job *job = arg;
    const lane *l = job->l;
    double slope[PARTS] = {0}, curve[PARTS] = {0};
    for (size_t i = 0; i < job->n; ++i) {
        double q = l->q[i], v = 1 - l->m[i] - t * q, hq = v > 0 ? (double)l->h[i] * q : 0;
        slope[i % PARTS] += hq * v;
        curve[i % PARTS] += hq * q;
    }
    *first = job->wd + t * job->dd - ((slope[0] + slope[1]) + (slope[2] + slope[3]));
    *second = job->dd + ((curve[0] + curve[1]) + (curve[2] + curve[3]));
    return TN_OK;
}

/* Objective and active rows at the present margins. */
static void look(const solver *v, lane *l)
{
    l->loss = l->sum = 0;
    l->active = 0;
    for (size_t i = 0; i < v->n; ++i) {
        double slack = 1 - l->m[i], h = (double)l->h[i];
        if (slack <= 0 || h == 0)
            continue;
        l->which[l->active++] = i;
        l->sum += h * slack;
        l->loss += h * slack * slack / 2;
    }
    l->f = dot(v, l->w, l->w) / 2 + l->loss;
}

static void take_costs(const solver *v, lane *l)
{
    for (size_t i = 0; i < v->n; ++i) {
        tnp_signed_costs(v->columns, i, &l->column, 1, l->a + i);
        l->m[i] = 0;
    }
}

static void set_ease(const solver *v, lane *l, double ease)
{
    l->ease = ease;
    for (size_t i = 0; i < v->n; ++i)
        l->h[i] = 2 * (float)ease * fabsf(l->a[i]);
}

/* The share of its costs that a place w is the optimum of, about: there |w|^2 = sum h v m. */
static double ease_of(const solver *v, const lane *l)
{
    double square = dot(v, l->w, l->w), sum = 0;
    for (size_t i = 0; i < l->active; ++i) {
        size_t row = l->which[i];
        sum += (double)l->h[row] * (1 - l->m[row]) * l->m[row];
    }
    return square < sum ? square / sum : 1;
}

/* What the next step is to count of the costs. */
static void next_ease(const solver *v, lane *l)
{
    double ease = l->entering && l->f == l->loss ? v->least_ease : l->entering ? ease_of(v, l) : l->ease;
    ease = fmin(1, MORE * ease);
    if (ease == l->ease)
        return;
    set_ease(v, l, ease);
    l->before = INFINITY;
    look(v, l);
}

/* Takes lane j along its d, whose scores are column j of z. */
static void move(void *arg, size_t j)
{
    solver *v = arg;
    lane *l = v->lanes[j];
    double t = 1;
    if (l->entering) {
        take_costs(v, l);
        set_ease(v, l, 1);
    }
    for (size_t i = 0; i < v->n; ++i)
        l->q[i] = l->a[i] < 0 ? -v->z[i * v->k + j] : v->z[i * v->k + j];
    if (!l->entering) {
        line_job job = {l, v->n, dot(v, l->w, l->d), dot(v, l->d, l->d)};
        double slope = 0, second;
        (void)line(&job, 0, &slope, &second);
        (void)tnp_line_search(line, &job, slope, 0.01, &t);
    }
    for (size_t i = 0; i < v->n; ++i)
        l->m[i] += t * l->q[i];
    for (size_t i = 0; i < v->width; ++i)
        l->w[i] += t * l->d[i];
    ++l->steps;
    l->before = l->f;
    look(v, l);
    next_ease(v, l);
    l->entering = false;
}

/* Slopes of the loss in the scores. */
static void slopes(void *arg, const tnp_wide_panel *at)
{
    const solver *v = arg;
    for (size_t j = 0; j < v->k; ++j) {
        const lane *l = v->lanes[j];
        for (size_t i = 0; i < at->count; ++i) {
            double slack = 1 - l->m[at->start + i];
            at->t[i * v->k + j] =
                slack > 0 ? (l->a[at->start + i] < 0 ? slack : -slack) * (double)l->h[at->start + i] : 0;
        }
    }
}

/* g, and the bound of the minimum; with a free intercept an estimate (see newton.c). */
static void take_gradient(const solver *v, lane *l, const double *back)
{
    double square = 0, best = 0, curve = 0;
    for (size_t i = 0; i < v->width; ++i) {
        l->g[i] = i < v->dim || v->opt->bias ? back[i] + ridge(v, i) * l->w[i] : 0;
        square += ridge(v, i) * back[i] * back[i];
    }
    l->square = tnp_dot_wide(l->g, l->g, v->width);
    if (l->sum > 0)
        best = l->sum * l->sum / (4 * (l->loss + square / 2));
    if (v->opt->bias && !v->opt->penalised) {
        for (size_t i = 0; i < l->active; ++i)
            curve += (double)l->h[l->which[i]];
        l->lower = l->f - dot(v, l->g, l->g) / 2 - (curve > 0 ? pow(l->g[v->dim], 2) / curve : 0);
    } else {
        l->lower = l->ease == 1 ? fmax(l->lower, best) : 0;
    }
}

/* All lanes move and look again: two passes. */
static tn_status move_all(solver *v)
{
    tn_status st = TN_OK;
    double work = 64 * (double)v->n;
    for (size_t j = 0; j < v->k; ++j)
        memcpy(v->in + j * v->width, v->lanes[j]->d, v->width * sizeof *v->in);
    TN_TRY(tnp_rows_wide_pass(v->ctx, v->rows, &(tnp_wide_pass){.k = v->k, .w = v->in, .s = v->z}));
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, work * (double)v->k), v->k, move, v);
    TN_TRY(tnp_rows_wide_pass(
        v->ctx, v->rows,
        &(tnp_wide_pass){
            .k = v->k, .body = slopes, .arg = v, .chunk = CHUNK, .work = 4 * (double)v->k, .back = v->out}));
    for (size_t j = 0; j < v->k; ++j)
        take_gradient(v, v->lanes[j], v->out + j * v->width);
done:
    return st;
}

/* ---- steps ---- */

/* A factor of the class that another lane has got in this round, or NULL. */
static const tnp_factor *from_neighbour(const solver *v, size_t j)
{
    size_t classes = v->columns->y->classes;
    for (size_t i = 0; i < j; ++i) {
        const lane *l = v->lanes[i];
        if (l->fresh && l->factor == &l->own && l->column % classes == v->lanes[j]->column % classes)
            return &l->own;
    }
    return NULL;
}

static tn_status make_factors(solver *v)
{
    tn_status st = TN_OK;
    for (size_t j = 0; j < v->k; ++j) {
        lane *l = v->lanes[j];
        bool found = true;
        l->fresh = false;
        if (l->entering || (!l->stale && l->factor))
            continue;
        l->stale = false;
        l->factor = from_neighbour(v, j);
        if (l->factor)
            continue;
        tnp_active_rows rows = active_rows(v, l);
        TN_TRY(tnp_factor_make(v->ctx, &rows, &l->own, &found));
        l->factor = found ? &l->own : NULL;
        l->fresh = found;
        TN_TRY(tnp_cancelled(v->ctx));
    }
done:
    return st;
}

static void find_step(void *arg, size_t j)
{
    const solver *v = arg;
    lane *l = v->lanes[j];
    if (l->entering)
        return;
    l->lost = !l->factor;
    memset(l->d, 0, v->width * sizeof *l->d);
    if (l->lost)
        return;
    tnp_active_rows rows = active_rows(v, l);
    bool first = l->steps == 1 && l->factor == &v->all, exact = first || (l->fresh && l->own.by_rows);
    l->products = tnp_factor_solve(&rows, l->factor, l->g, ENOUGH, exact ? 0 : PRODUCTS, l->scratch, l->d);
    double product = 4 * (double)l->active * (double)v->dim + tnp_factor_flops(l->factor, v->dim);
    l->lost = l->products == PRODUCTS && l->fresh;
    l->stale = l->products == PRODUCTS ||
               (l->products > FEW && (double)(l->products - FEW + 1) * product * SLOW > tnp_factor_make_flops(&rows));
}

static tn_status find_steps(solver *v)
{
    double work = 0;
    tn_status st = make_factors(v);
    for (size_t j = 0; j < v->k; ++j)
        work += 16 * (double)(v->lanes[j]->active + 1) * (double)v->dim;
    if (st == TN_OK)
        tnp_parallel(v->ctx, tnp_threads_for(v->ctx, work), v->k, find_step, v);
    return st;
}

/* ---- columns come and go ---- */

static bool is_zero(const float *w, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (w[i] != 0)
            return false;
    return true;
}

static void enter(solver *v, lane *l, size_t column, const float *w)
{
    const float *from = w + column * v->width;
    l->column = column;
    l->entering = true;
    l->stale = l->fresh = l->lost = false;
    l->factor = is_zero(from, v->width) && v->all.n > 0 ? &v->all : NULL;
    l->lower = 0; /* as every term is at least */
    l->f = INFINITY;
    l->steps = l->products = 0;
    for (size_t i = 0; i < v->width; ++i) {
        l->w[i] = 0;
        l->d[i] = (double)from[i];
    }
}

/* Whether it is close enough, or gets no further. */
static bool is_done(const solver *v, const lane *l)
{
    bool close = l->ease == 1 && l->f - l->lower <= NEAR * v->opt->tolerance * l->f,
         stands = l->steps > 1 && !(l->f < l->before);
    return close || stands || l->lost || l->steps >= STEPS || 2 * l->steps + 1 > v->opt->max_passes;
}

/* Columns that are done leave, others enter. */
static tn_status change(solver *v, float *w)
{
    for (size_t j = 0; j < v->k;) {
        lane *l = v->lanes[j];
        if (!is_done(v, l)) {
            ++j;
            continue;
        }
        for (size_t i = 0; i < v->width; ++i)
            w[l->column * v->width + i] = (float)l->w[i];
        v->passes = tnp_max(v->passes, 2 * l->steps);
        v->lanes[j] = v->lanes[--v->k];
        v->lanes[v->k] = l;
    }
    return tnp_progress(v->ctx, "training", v->next - v->k, v->count);
}

static void fill(solver *v, const float *w)
{
    while (v->k < v->most && v->next < v->count)
        enter(v, v->lanes[v->k++], v->order[v->next++], w);
}

/* ---- the whole ---- */

static size_t lane_bytes(size_t rows, size_t dim)
{
    return sizeof(lane) + (32 + 8) * rows + (3 + 2) * 8 * (dim + 1) + 4 * tnp_factor_scratch(dim) +
           tnp_factor_bytes(dim);
}

static size_t shared_bytes(size_t rows, size_t dim)
{
    return sizeof(solver) + 12 * rows + tnp_factor_bytes(dim) + tnp_factor_make_bytes(dim) +
           tnp_wide_pass_bytes(dim, LANES, CHUNK, 1);
}

size_t tnp_active_bytes(size_t rows, size_t dim)
{
    return shared_bytes(rows, dim) + LEAST_LANES * lane_bytes(rows, dim);
}

static size_t lanes_for(const solver *v)
{
    size_t each = lane_bytes(v->n, v->dim), shared = shared_bytes(v->n, v->dim), left = tnp_budget_left(v->ctx);
    size_t most = (left > shared ? tnp_min(left - shared, LANE_BYTES) : 0) / each;
    return tnp_min(v->count, tnp_min(LANES, tnp_max(LEAST_LANES, most)));
}

static tn_status lane_new(const solver *v, lane **out)
{
    tn_status st = TN_OK;
    tn_ctx *ctx = v->ctx;
    lane *l = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *l, &l));
    *out = l;
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->a, &l->a));
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->h, &l->h));
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->m, &l->m));
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->q, &l->q));
    TN_TRY(tnp_alloc(ctx, v->n, sizeof *l->which, &l->which));
    TN_TRY(tnp_alloc(ctx, v->width, sizeof *l->w, &l->w));
    TN_TRY(tnp_alloc(ctx, v->width, sizeof *l->g, &l->g));
    TN_TRY(tnp_alloc(ctx, v->width, sizeof *l->d, &l->d));
    TN_TRY(tnp_alloc(ctx, tnp_factor_scratch(v->dim), sizeof *l->scratch, &l->scratch));
done:
    return st;
}

static void lane_free(lane *l)
{
    if (!l)
        return;
    void *all[] = {l->a, l->h, l->m, l->q, l->which, l->w, l->g, l->d, l->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        tnp_free(all[i]);
    tnp_factor_clear(&l->own);
    tnp_free(l);
}

/* Costs begin where c times the mean square of a row and its constant is FIRST. */
static tn_status begin_easy(solver *v)
{
    double reach = 0;
    tn_status st = tnp_active_reach(v->ctx, v->rows, v->columns, v->opt->bias, &reach);
    v->least_ease = fmin(1, FIRST / reach) / MORE;
    return st;
}

tn_status tnp_active_reach(tn_ctx *ctx, const tnp_rows *x, const tnp_columns *columns, bool bias, double *reach)
{
    tn_status st = TN_OK;
    const float *rows = NULL, *weight = columns->row_weight;
    float *kept = NULL, cost = 0;
    size_t stride = (x->rows + SAMPLE - 1) / SAMPLE, distance, count = 0;
    double sum = 0;
    TN_TRY(x->ops->sample(ctx, x->self, stride, &rows, &distance, &kept));
    for (size_t i = 0; i < x->rows; i += stride, ++count) {
        const float *row = rows + count * distance;
        sum += (double)(weight ? weight[i] : 1) * (tnp_dot(row, row, x->dim) + bias);
    }
    for (size_t j = 0; j < columns->count; ++j)
        cost = fmaxf(cost, columns->negative_cost[j]);
    *reach = (double)cost * sum / (double)count;
done:
    tnp_free(kept);
    return st;
}

/* A factor of all rows, at the costs that they have where they are negative. */
static tn_status factor_all(solver *v)
{
    tn_status st = TN_OK;
    size_t *which = NULL;
    float *h = NULL;
    bool found;
    TN_TRY(tnp_alloc(v->ctx, v->n, sizeof *which, &which));
    TN_TRY(tnp_alloc(v->ctx, v->n, sizeof *h, &h));
    tnp_active_rows rows = {v->x, v->stride, v->dim, v->opt->bias, v->opt->penalised ? 1 : 0, 0, which, h};
    for (size_t i = 0; i < v->n; ++i) {
        h[i] = 2 * (float)fmin(1, MORE * v->least_ease) * v->columns->negative_cost[v->order[0]] *
               (v->columns->row_weight ? v->columns->row_weight[i] : 1);
        if (h[i] > 0)
            which[rows.count++] = i;
    }
    TN_TRY(tnp_factor_make(v->ctx, &rows, &v->all, &found));
done:
    tnp_free(which);
    tnp_free(h);
    return st;
}

/* The columns cols, class by class. */
static tn_status put_in_order(solver *v, const size_t *cols)
{
    size_t classes = v->columns->y->classes, folds = v->columns->count / classes, n = 0;
    bool *wanted = NULL;
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(v->ctx, v->columns->count, sizeof *wanted, &wanted));
    TN_TRY(tnp_alloc(v->ctx, v->count, sizeof *v->order, &v->order));
    for (size_t j = 0; j < v->count; ++j)
        wanted[cols[j]] = true;
    for (size_t c = 0; c < classes; ++c)
        for (size_t f = 0; f < folds; ++f)
            if (wanted[f * classes + c])
                v->order[n++] = f * classes + c;
done:
    tnp_free(wanted);
    return st;
}

static tn_status open_lanes(solver *v)
{
    tn_status st = TN_OK;
    v->most = lanes_for(v);
    TN_TRY(tnp_alloc_raw(v->ctx, v->n * v->most, sizeof *v->z, &v->z));
    TN_TRY(tnp_alloc_raw(v->ctx, v->width * v->most, sizeof *v->in, &v->in));
    TN_TRY(tnp_alloc_raw(v->ctx, v->width * v->most, sizeof *v->out, &v->out));
    for (size_t j = 0; j < v->most; ++j)
        TN_TRY(lane_new(v, &v->lanes[j]));
done:
    return st;
}

tn_status tnp_active_solve(tn_ctx *ctx, const tnp_rows *x, const tnp_columns *columns, const size_t *cols, size_t count,
                           const tnp_active_options *options, float *w, size_t *passes)
{
    tn_status st = TN_OK;
    bool cold = false;
    float *kept = NULL;
    solver *v = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *v, &v));
    *v = (solver){.ctx = ctx,
                  .rows = x,
                  .columns = columns,
                  .opt = options,
                  .count = count,
                  .n = x->rows,
                  .dim = x->dim,
                  .width = x->dim + 1};
    TN_TRY(x->ops->sample(ctx, x->self, 1, &v->x, &v->stride, &kept));
    TN_TRY(put_in_order(v, cols));
    TN_TRY(open_lanes(v));
    TN_TRY(begin_easy(v));
    for (size_t j = 0; j < count; ++j)
        cold |= is_zero(w + cols[j] * v->width, v->width);
    if (cold)
        TN_TRY(factor_all(v));
    fill(v, w);
    while (v->k > 0) {
        TN_TRY(move_all(v));
        TN_TRY(change(v, w));
        fill(v, w);
        TN_TRY(find_steps(v));
    }
    *passes += v->passes;
done:
    for (size_t j = 0; v && j < LANES; ++j)
        lane_free(v->lanes[j]);
    if (v) {
        tnp_factor_clear(&v->all);
        tnp_free(v->order);
        tnp_free(v->z);
        tnp_free(v->in);
        tnp_free(v->out);
    }
    tnp_free(v);
    tnp_free(kept);
    return st;
}
