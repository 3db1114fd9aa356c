/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   f(w, b) = 1/2 |w|^2 + [b^2 / 2] + sum_i c_i max(0, 1 - m_i)^2,   m_i = y_i (w'x_i + b)
 *
 * f is quadratic while no row crosses its margin, so that Newton's method with an exact line search ends after a few
 * steps: 5 at C = 1, about 10 at C = 100 with rows of length 1, 2 to 4 from the optimum of a neighbouring C or of most
 * of the rows. Its Hessian is that of the active rows, a few hundred of thousands; a factor of it (factor.h) serves as
 * preconditioner for several steps, and for the folds of a class. Before the first, a factor of all rows serves all
 * columns: from no weights every row is active. Products are float; what they are off by shrinks with the steps.
 *
 * Columns are solved in lanes, as many as work side by side; a column that is done leaves its lane to the next. All
 * passes over all rows are products with the lanes' steps. A round is
 *
 *   Z = X D'   per lane: exact line search along d, active rows, g   factors where they pay   d = -H^-1 g
 *
 * Of a team every member has the margins of all rows and the rows of its part: gradients, products and factors are added
 * up over the members, 8 (D + 1) bytes per lane each and 8 (D + 1)^2 per factor; everything else they do alike.
 *
 * The minimum is bounded by the multipliers alpha_i = 2 c_i max(0, 1 - m_i) of the place, times the best factor t:
 * t sum alpha - t^2 (sum alpha^2 / 4 c + |sum y alpha x|^2 / 2), and sum y alpha x = w - g.
 *
 * Dual coordinate descent was refused here (it stays for the hinge): its passes grow with C. So was a factor anew in
 * each step: conjugate gradients with an old one need 3 to 5 products with the active rows. Oracle: ref_svm. */
#include "learn/linear/active.h"
#include "base/crew.h"
#include "base/team.h"
#include "learn/linear/active_lane.h"

#include <math.h>
#include <string.h>

enum { LANES = 64, LEAST_LANES = 4, CHUNK = 64, PRODUCTS = 60, FEW = 3, STEPS = 200, SAMPLE = 512, USUAL_ORDER = 1024 };
static const size_t LANE_BYTES = 1 << 29; /* all lanes together, where they would be many */
static const double ENOUGH = 0.1;         /* of the residual, that a step leaves */
static const double FIRST = 6;            /* what costs begin with */
static const double NEAR = 0.5;           /* of the tolerance: so that rounding to float has room */
static const double MANY = 32;            /* products */
static const double SLOW = 12; /* a flop of single vectors beside one of a matrix product, twice: a factor lasts */

typedef struct solver {
    tn_ctx *ctx;
    const tnp_rows *rows;
    const tnp_columns *columns;
    tnp_lanes_rows at;
    size_t *order, count, next; /* columns, the folds of a class together; the first that no lane has had */
    tnp_factor all;             /* of all rows, for columns that start with nothing */
    tnp_crew crew;              /* makes factors side by side */
    tnp_lane *lanes[LANES];     /* those at work first */
    tnp_lane *due[LANES];       /* those that get a factor in this round */
    size_t k, most;             /* lanes at work, lanes there are */
    float *z, *in;              /* (n, k), (k, width) */
    double *sums;               /* (k, width), of a team: what its members add up */
    size_t passes;
} solver;

static tnp_active_rows active_rows(const solver *v, const tnp_lane *l)
{
    return (tnp_active_rows){v->at.hand, v->at.dim, v->at.opt->bias,     v->at.opt->penalised ? 1 : 0,
                             l->active,  l->here,   l->which + l->first, l->h};
}

/* ---- a round ---- */

/* Rows [CHUNK chunk, ...) of z, lane by lane. */
static void hand_out(void *arg, size_t chunk)
{
    const solver *v = arg;
    size_t end = tnp_min(v->at.n, (chunk + 1) * CHUNK);
    for (size_t j = 0; j < v->k; ++j) {
        const tnp_lane *l = v->lanes[j];
        for (size_t i = chunk * CHUNK; i < end; ++i)
            l->q[i] = l->a[i] < 0 ? -v->z[i * v->k + j] : v->z[i * v->k + j];
    }
}

/* Costs of a lane whose column is new. */
static void prepare(void *arg, size_t j)
{
    solver *v = arg;
    if (v->lanes[j]->entering)
        tnp_lane_begin(&v->at, v->lanes[j]);
}

/* Takes lane j along its d. */
static void move(void *arg, size_t j)
{
    solver *v = arg;
    tnp_lane_move(&v->at, v->lanes[j]);
}

static void bound(void *arg, size_t j)
{
    solver *v = arg;
    tnp_lane_bound(&v->at, v->lanes[j]);
}

/* Gradients of all rows. */
static tn_status add_gradients(solver *v)
{
    size_t width = v->at.width;
    if (!v->at.hand.parts)
        return TN_OK;
    for (size_t j = 0; j < v->k; ++j)
        memcpy(v->sums + j * width, v->lanes[j]->g, width * sizeof *v->sums);
    tn_status st = tnp_team_sum(v->ctx, v->sums, v->k * width);
    for (size_t j = 0; j < v->k; ++j)
        memcpy(v->lanes[j]->g, v->sums + j * width, width * sizeof *v->sums);
    return st;
}

/* All lanes move and look again: one pass. */
static tn_status move_all(solver *v)
{
    tn_status st = TN_OK;
    double work = 0;
    for (size_t j = 0; j < v->k; ++j) {
        for (size_t i = 0; i < v->at.width; ++i)
            v->in[j * v->at.width + i] = (float)v->lanes[j]->d[i];
        work += 32 * (double)v->at.n + 2 * (double)v->lanes[j]->active * (double)v->at.dim;
    }
    size_t threads = tnp_threads_for(v->ctx, work);
    tnp_parallel(v->ctx, threads, v->k, prepare, v);
    TN_TRY(tnp_rows_pass(v->ctx, v->rows, &(tnp_pass){.k = v->k, .w = v->in, .s = v->z}));
    tnp_parallel(v->ctx, threads, (v->at.n + CHUNK - 1) / CHUNK, hand_out, v);
    tnp_parallel(v->ctx, threads, v->k, move, v);
    TN_TRY(add_gradients(v));
    tnp_parallel(v->ctx, threads, v->k, bound, v);
done:
    return st;
}

/* ---- steps ---- */

/* A factor of the class that another lane has got in this round, for one that has none, or NULL. With fewer active rows
 * than columns those of two folds have too little in common, and one of its own is cheap. */
static const tnp_factor *from_neighbour(const solver *v, size_t j)
{
    size_t classes = v->columns->y->classes;
    if (v->lanes[j]->factor || v->lanes[j]->active < v->at.dim)
        return NULL;
    for (size_t i = 0; i < j; ++i) {
        const tnp_lane *l = v->lanes[i];
        if (l->fresh && l->factor == &l->own && l->column % classes == v->lanes[j]->column % classes)
            return &l->own;
    }
    return NULL;
}

/* A factor of all rows, at this share of the costs that they have where they are negative. */
static tn_status factor_all(solver *v, double ease)
{
    tn_status st = TN_OK;
    size_t *which = NULL;
    float *h = NULL;
    TN_TRY(tnp_alloc(v->ctx, v->at.n, sizeof *which, &which));
    TN_TRY(tnp_alloc(v->ctx, v->at.n, sizeof *h, &h));
    tnp_active_rows rows = {v->at.hand, v->at.dim, v->at.opt->bias, v->at.opt->penalised ? 1 : 0, 0, 0, which, h};
    size_t first = v->at.hand.first, end = first + v->at.hand.count;
    for (size_t i = 0; i < v->at.n; ++i) {
        h[i] = 2 * (float)ease * v->columns->negative_cost[v->order[0]] *
               (v->columns->row_weight ? v->columns->row_weight[i] : 1);
        rows.all += h[i] > 0;
        if (h[i] > 0 && i >= first && i < end)
            which[rows.count++] = i;
    }
    TN_TRY(tnp_factor_begin(v->ctx, &rows, &v->all));
    TN_TRY(tnp_factor_make(v->ctx, &rows, &v->all));
done:
    tnp_free_all(which, h);
    return st;
}

/* Whether all products that conjugate gradients may ask for are cheaper than a factor. */
static bool is_dear(const tnp_active_rows *rows)
{
    return tnp_factor_make_flops(rows) > MANY * SLOW * 4 * (double)rows->all * (double)rows->dim;
}

/* The factor of v->due[item]. */
static tn_status make_factor(tn_ctx *ctx, void *arg, size_t item)
{
    const solver *v = arg;
    tnp_active_rows rows = active_rows(v, v->due[item]);
    return tnp_factor_make(ctx, &rows, &v->due[item]->own);
}

/* Which factor lane j takes in this round; one of its own is yet to be made. */
static tn_status choose_factor(solver *v, size_t j, size_t *due)
{
    tn_status st = TN_OK;
    tnp_lane *l = v->lanes[j];
    tnp_active_rows rows = active_rows(v, l);
    l->stale = false;
    l->factor = from_neighbour(v, j);
    if (l->factor)
        return TN_OK;
    if (is_dear(&rows)) {
        if (!v->all.found)
            TN_TRY(factor_all(v, 1));
        l->factor = &v->all;
        return TN_OK;
    }
    TN_TRY(tnp_factor_begin(v->ctx, &rows, &l->own));
    l->factor = &l->own;
    l->fresh = true;
    v->due[(*due)++] = l;
done:
    return st;
}

/* One at a time a factor of a few hundred rows keeps few threads busy: they are made side by side. */
static tn_status make_factors(solver *v)
{
    tn_status st = TN_OK;
    size_t due = 0;
    for (size_t j = 0; j < v->k; ++j) {
        tnp_lane *l = v->lanes[j];
        l->fresh = false;
        if (!l->entering && (l->stale || !l->factor))
            TN_TRY(choose_factor(v, j, &due));
    }
    bool alone = due == 1 || v->at.hand.parts; /* members of a team ask each other in one order */
    for (size_t i = 0; alone && i < due; ++i)
        TN_TRY(make_factor(v->ctx, v, i));
    if (!alone && due > 0)
        TN_TRY(tnp_crew_run(v->ctx, &v->crew, NULL, due, make_factor, v));
    for (size_t j = 0; j < v->k; ++j) {
        tnp_lane *l = v->lanes[j];
        bool lacks = l->factor && !l->factor->found;
        l->factor = lacks ? NULL : l->factor;
        l->fresh &= !lacks;
    }
    TN_TRY(tnp_cancelled(v->ctx));
done:
    return st;
}

static bool descends(const tnp_lane *l)
{
    return !l->entering && l->factor && !l->descent.over;
}

/* Lanes with the factor of all rows go together: a solve with it reads D^2 floats, for one lane or for all. */
static bool has_common(const solver *v, const tnp_lane *l)
{
    return l->factor == &v->all && !v->all.by_rows;
}

/* Those of a team wait for the other members, after each product. Others go all the way. */
static void begin_step(void *arg, size_t j)
{
    const solver *v = arg;
    tnp_lane *l = v->lanes[j];
    if (l->entering || !l->factor)
        return;
    tnp_active_rows rows = active_rows(v, l);
    bool first = l->steps == 1 && l->factor == &v->all, exact = first || (l->fresh && l->own.by_rows);
    tnp_conjugate_begin(&rows, l->factor, l->g, ENOUGH, exact ? 0 : PRODUCTS, l->scratch, &l->descent);
    while (!v->at.hand.parts && !has_common(v, l) && descends(l)) {
        tnp_conjugate_precondition(&rows, &l->descent);
        if (tnp_conjugate_turn(&rows, &l->descent)) {
            tnp_conjugate_multiply(&rows, &l->descent);
            tnp_conjugate_step(&rows, &l->descent);
        }
    }
}

static void precondition(void *arg, size_t j)
{
    const solver *v = arg;
    tnp_lane *l = v->lanes[j];
    tnp_active_rows rows = active_rows(v, l);
    if (descends(l) && !has_common(v, l))
        tnp_conjugate_precondition(&rows, &l->descent);
}

static tn_status precondition_together(solver *v)
{
    size_t n = v->all.n, count = 0;
    for (size_t j = 0; j < v->k; ++j)
        if (descends(v->lanes[j]) && has_common(v, v->lanes[j]))
            memcpy(v->in + count++ * n, v->lanes[j]->descent.r, n * sizeof *v->in);
    tn_status st = count > 0 ? tnp_factor_solve(v->ctx, &v->all, count, v->in) : TN_OK;
    count = 0;
    for (size_t j = 0; j < v->k; ++j)
        if (descends(v->lanes[j]) && has_common(v, v->lanes[j])) {
            tnp_conjugate *d = &v->lanes[j]->descent;
            memcpy(d->z, d->r, v->at.width * sizeof *d->z);
            memcpy(d->z, v->in + count++ * n, n * sizeof *d->z);
        }
    return st;
}

static void turn_and_multiply(void *arg, size_t j)
{
    const solver *v = arg;
    tnp_lane *l = v->lanes[j];
    tnp_active_rows rows = active_rows(v, l);
    if (descends(l) && tnp_conjugate_turn(&rows, &l->descent))
        tnp_conjugate_multiply(&rows, &l->descent);
}

static void use_product(void *arg, size_t j)
{
    const solver *v = arg;
    tnp_active_rows rows = active_rows(v, v->lanes[j]);
    if (descends(v->lanes[j]))
        tnp_conjugate_step(&rows, &v->lanes[j]->descent);
}

static void end_step(void *arg, size_t j)
{
    const solver *v = arg;
    tnp_lane *l = v->lanes[j];
    if (l->entering)
        return;
    l->lost = !l->factor;
    memset(l->d, 0, v->at.width * sizeof *l->d);
    if (l->lost)
        return;
    tnp_active_rows rows = active_rows(v, l);
    for (size_t i = 0; i < v->at.width; ++i)
        l->d[i] = (double)l->descent.sum[i];
    l->products = l->descent.products;
    double product = 4 * (double)l->active * (double)v->at.dim + tnp_factor_flops(l->factor, v->at.dim);
    l->lost = l->products == PRODUCTS && l->fresh;
    l->stale = l->products == PRODUCTS ||
               (l->products > FEW && (double)(l->products - FEW + 1) * product * SLOW > tnp_factor_make_flops(&rows));
}

/* Of a team: products of the lanes that still descend, of all rows. */
static tn_status add_products(solver *v)
{
    size_t width = v->at.width, n = 0;
    tn_status st = TN_OK;
    for (size_t j = 0; j < v->k; ++j)
        if (descends(v->lanes[j])) {
            for (size_t i = 0; i < width; ++i)
                v->sums[n * width + i] = (double)v->lanes[j]->descent.hp[i];
            ++n;
        }
    if (n > 0)
        st = tnp_team_sum(v->ctx, v->sums, n * width);
    for (size_t j = v->k; st == TN_OK && j-- > 0;)
        if (descends(v->lanes[j])) {
            --n;
            for (size_t i = 0; i < width; ++i)
                v->lanes[j]->descent.hp[i] = (float)v->sums[n * width + i];
        }
    return st;
}

static bool any_descends(const solver *v)
{
    for (size_t j = 0; j < v->k; ++j)
        if (descends(v->lanes[j]))
            return true;
    return false;
}

static tn_status find_steps(solver *v)
{
    tn_status st = TN_OK;
    double work = 0;
    TN_TRY(make_factors(v));
    for (size_t j = 0; j < v->k; ++j)
        work += 16 * (double)(v->lanes[j]->active + 1) * (double)v->at.dim;
    size_t threads = tnp_threads_for(v->ctx, work);
    tnp_parallel(v->ctx, threads, v->k, begin_step, v);
    while (any_descends(v)) {
        tnp_parallel(v->ctx, threads, v->k, precondition, v);
        TN_TRY(precondition_together(v));
        tnp_parallel(v->ctx, threads, v->k, turn_and_multiply, v);
        if (v->at.hand.parts)
            TN_TRY(add_products(v));
        tnp_parallel(v->ctx, threads, v->k, use_product, v);
        TN_TRY(tnp_cancelled(v->ctx));
    }
    tnp_parallel(v->ctx, threads, v->k, end_step, v);
done:
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

static void enter(solver *v, tnp_lane *l, size_t column, const float *w)
{
    const float *from = w + column * v->at.width;
    l->column = column;
    l->entering = true;
    l->stale = l->fresh = l->lost = false;
    l->factor = is_zero(from, v->at.width) && v->all.found ? &v->all : NULL;
    l->lower = 0; /* as every term is at least */
    l->f = INFINITY;
    l->steps = l->products = 0;
    for (size_t i = 0; i < v->at.width; ++i) {
        l->w[i] = 0;
        l->d[i] = (double)from[i];
    }
}

/* Whether it is close enough, or gets no further. */
static bool is_done(const solver *v, const tnp_lane *l)
{
    double near = (v->at.opt->rough ? 1 : NEAR) * v->at.opt->tolerance;
    bool close = l->ease == 1 && l->f - l->lower <= near * l->f, stands = l->steps > 1 && !(l->f < l->before);
    return close || stands || l->lost || l->steps >= tnp_min(STEPS, v->at.opt->max_passes);
}

/* Columns that are done leave, others enter. */
static tn_status change(solver *v, float *w, double *objective, double *gap)
{
    for (size_t j = 0; j < v->k;) {
        tnp_lane *l = v->lanes[j];
        if (!is_done(v, l)) {
            ++j;
            continue;
        }
        for (size_t i = 0; i < v->at.width; ++i)
            w[l->column * v->at.width + i] = (float)l->w[i];
        objective[l->column] = l->f;
        gap[l->column] = l->ease == 1 ? fmax(0, l->f - l->lower) : INFINITY;
        v->passes = tnp_max(v->passes, l->steps);
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

static size_t shared_bytes(size_t rows, size_t dim)
{
    return sizeof(solver) + 12 * rows + tnp_factor_bytes(dim) + tnp_factor_make_bytes(dim) +
           tnp_pass_bytes(rows, dim, LANES, rows, 1);
}

size_t tnp_active_bytes(size_t rows, size_t dim)
{
    return shared_bytes(rows, dim) + LEAST_LANES * tnp_lane_bytes(rows, dim);
}

double tnp_active_flops(size_t rows, size_t dim, size_t active)
{
    const double steps = 6, factors = 2, products = 20;
    double n = (double)rows, d = (double)dim, a = (double)active, least = fmin(a, d), most = fmax(a, d);
    return 2 * steps * n * d + factors * least * least * (most + least / 3) + products * 2 * SLOW * a * d;
}

static tn_status find_lanes(solver *v)
{
    size_t n = v->at.n, dim = v->at.dim, shared = shared_bytes(n, dim), left = 0;
    tn_status st = tnp_team_budget_left(v->ctx, &left);
    size_t allowed = (left > shared ? left - shared : 0) / tnp_lane_bytes(n, dim),
           usual = LANE_BYTES / tnp_lane_bytes(n, tnp_min(dim, USUAL_ORDER));
    v->most = tnp_min(v->count, tnp_min(LANES, tnp_max(LEAST_LANES, tnp_min(allowed, usual))));
    return st;
}

/* Costs begin where c times the mean square of a row and its constant is FIRST. */
static tn_status begin_easy(solver *v)
{
    double reach = 0;
    tn_status st = tnp_active_reach(v->ctx, v->rows, v->columns, v->at.opt->bias, &reach);
    v->at.least_ease = fmin(1, FIRST / reach);
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
    TN_TRY(find_lanes(v));
    if (v->at.hand.parts)
        TN_TRY(tnp_alloc_raw(v->ctx, v->at.width * v->most, sizeof *v->sums, &v->sums));
    TN_TRY(tnp_alloc_raw(v->ctx, v->at.n * v->most, sizeof *v->z, &v->z));
    TN_TRY(tnp_alloc_raw(v->ctx, v->at.width * v->most, sizeof *v->in, &v->in));
    for (size_t j = 0; j < v->most; ++j)
        TN_TRY(tnp_lane_new(v->ctx, &v->at, &v->lanes[j]));
    TN_TRY(tnp_crew_new(v->ctx, tnp_factor_make_bytes(v->at.dim), &v->crew));
done:
    return st;
}

/* The rows at hand, or a copy of all of them. */
static tn_status take_rows(solver *v, float **kept)
{
    tnp_at_hand *hand = &v->at.hand;
    *hand = v->rows->ops->at_hand(v->rows->self);
    if (hand->x)
        return TN_OK;
    *hand = (tnp_at_hand){.count = v->at.n};
    return v->rows->ops->sample(v->ctx, v->rows->self, 1, &hand->x, &hand->stride, kept);
}

tn_status tnp_active_solve(tn_ctx *ctx, const tnp_rows *x, const tnp_columns *columns, const size_t *cols, size_t count,
                           const tnp_active_options *options, float *w, double *objective, double *gap, size_t *passes)
{
    tn_status st = TN_OK;
    bool cold = false;
    float *kept = NULL;
    solver *v = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *v, &v));
    *v = (solver){.ctx = ctx,
                  .rows = x,
                  .columns = columns,
                  .count = count,
                  .at = {.columns = columns, .opt = options, .n = x->rows, .dim = x->dim, .width = x->dim + 1}};
    TN_TRY(take_rows(v, &kept));
    TN_TRY(put_in_order(v, cols));
    TN_TRY(open_lanes(v));
    TN_TRY(begin_easy(v));
    for (size_t j = 0; j < count; ++j)
        cold |= is_zero(w + cols[j] * v->at.width, v->at.width);
    if (cold)
        TN_TRY(factor_all(v, v->at.least_ease));
    fill(v, w);
    while (v->k > 0) {
        TN_TRY(move_all(v));
        TN_TRY(change(v, w, objective, gap));
        fill(v, w);
        TN_TRY(find_steps(v));
    }
    *passes += v->passes;
done:
    for (size_t j = 0; v && j < LANES; ++j)
        tnp_lane_free(v->lanes[j]);
    if (v) {
        tnp_crew_free(ctx, &v->crew);
        tnp_factor_clear(&v->all);
        tnp_free_all(v->order, v->z, v->in, v->sums);
    }
    tnp_free_all(v, kept);
    return st;
}
