/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dual coordinate descent (Hsieh et al. 2008), the same visits for every column, at the speed of matrix products.
 *
 *   minimise over alpha >= 0 (<= c for the hinge)   1/2 |w|^2 + sum alpha_i^2 / (4 c_i) [squared hinge] - sum alpha_i
 *   w = sum y_i alpha_i x_i;
 *   visit i:  alpha_i <- clip(alpha_i - (y_i s_i - 1 + alpha_i / 2 c_i) / (|x_i|^2 + 1 / 2 c_i))
 *
 * Exact blocking: the scores of a block of rows are there when it begins; a change of y_i alpha_i by delta in column k
 * moves the later scores of the block by delta x_i'x_j, known from the block's Gram; what lies outside the block is
 * brought up to date by one product behind it. Columns do not meet, so threads take ranges of them through the whole
 * block.
 *
 * Two routes keep the scores. svm_rows.c keeps w: 4 D flops a row and column. svm_gram.c keeps the scores of all rows
 * and needs the products of all pairs of rows: N D flops a row once, then 2 N a row and column. This file holds what
 * they share: the visits, the certificate, the way columns leave.
 *
 * Visits need single rows in a random order: this runs where the rows are, on a tnp_design.
 *
 * LIBLINEAR's shrinking was refused: what it saves is one column's rows, while a product serves all columns. Instead a
 * column whose duality gap is small enough leaves, and what remains is packed together. */
#include "learn/linear/svm_route.h"
#include "algebra/blas.h"
#include "learn/linear/active.h"
#include "learn/linear/certify.h"
#include "learn/linear/exact.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

static const double TIGHT = 5e-5, PASS = 0.6, FAST = 0.25; /* what a pass leaves of a gap, about; at a small C */
enum {
    LANES = 32,
    FIRST_CHECK = 4,
    WARM_CHECK = 2,
    LONGEST_WAIT = 6,
    ROUNDS = 4,
    LEAST_WATCH = 8,
    LEAST_WORTH = 24,
    CHUNK = 64
};
enum { USUAL_PASSES = 20 }; /* for progress: half of the columns have left by then, about */

/* ---- one block ---- */

/* In the columns [first, first + count) of a visit. */
static void visit_columns(const tnp_dual *v, const tnp_visit *at, size_t first, size_t count)
{
    tnp_simd_get()->visits(&(tnp_visits){.n = at->n,
                                         .k = count,
                                         .apart = at->k,
                                         .rows = at->rows,
                                         .gram = at->gram,
                                         .bias = v->opt->bias ? 1.0f : 0.0f,
                                         .squared = v->opt->squared,
                                         .cost = at->cost + first,
                                         .alpha = v->alpha + at->from + first,
                                         .stride = v->columns->count,
                                         .s = at->s + first,
                                         .delta = at->delta + first});
}

static void take_costs(const tnp_dual *v, const tnp_visit *at)
{
    for (size_t t = 0; t < at->n; ++t)
        tnp_signed_costs(v->columns, at->rows[t], v->cols + at->from, at->k, at->cost + t * at->k);
}

void tnp_dual_visit(const tnp_dual *v, const tnp_visit *at)
{
    take_costs(v, at);
    visit_columns(v, at, 0, at->k);
}

typedef struct visit_job {
    const tnp_dual *v;
    tnp_visit at;
} visit_job;

static void visit_chunk(void *arg, size_t chunk)
{
    const visit_job *job = arg;
    visit_columns(job->v, &job->at, chunk * LANES, tnp_min(LANES, job->at.k - chunk * LANES));
}

void tnp_dual_visit_all(tnp_dual *v, const float *gram)
{
    visit_job job = {v, {v->n, 0, v->k, v->rows, gram, v->s, v->delta, v->cost}};
    double flops = (double)v->n * (double)v->n * (double)v->k;
    take_costs(v, &job.at);
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, flops), (v->k + LANES - 1) / LANES, visit_chunk, &job);
}

void tnp_dual_shuffle(tnp_rng *rng, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        order[i] = i;
    tnp_rng_shuffle(rng, order, count);
}

/* ---- the certificate ---- */

void tnp_dual_measure(const tnp_dual *v, size_t row, const float *s, float *cost, double *sums)
{
    const float *alpha = v->alpha + row * v->columns->count;
    bool squared = v->opt->squared;
    tnp_signed_costs(v->columns, row, v->cols, v->k, cost);
    for (size_t j = 0; j < v->k; ++j) {
        double c = fabs((double)cost[j]), margin = (cost[j] < 0 ? -1 : 1) * (double)s[j], x = (double)alpha[j];
        double slack = fmax(0, 1 - margin), less = fmax(0, 1 - v->stretch * margin);
        if (c == 0)
            continue;
        sums[3 * j] += c * (squared ? slack * slack : slack);
        sums[3 * j + 1] += c * (squared ? less * less : less);
        sums[3 * j + 2] += x - (squared ? x * x / (4 * c) : 0);
    }
}

void tnp_dual_signed(tnp_dual *v, size_t row, float *to)
{
    float *a = v->cost;
    const float *alpha = v->alpha + row * v->columns->count;
    tnp_signed_costs(v->columns, row, v->cols, v->k, a);
    for (size_t j = 0; j < v->k; ++j)
        to[j] = a[j] < 0 ? -alpha[j] : a[j] > 0 ? alpha[j] : 0;
}

tn_status tnp_dual_weights(tnp_dual *v, float *w, size_t stride)
{
    size_t dim = v->x->dim, k = v->k;
    memset(w, 0, k * stride * sizeof *w);
    for (size_t b = 0; b < v->x->blocks; ++b) {
        const float *x = NULL;
        size_t start, count;
        tn_status st = tnp_design_block(v->ctx, v->x, b, &x, &start, &count);
        for (size_t at = 0; st == TN_OK && at < count; at += TNP_DUAL_MOST) {
            size_t n = tnp_min(TNP_DUAL_MOST, count - at);
            for (size_t t = 0; t < n; ++t) {
                tnp_dual_signed(v, start + at + t, v->delta + t * k);
                for (size_t j = 0; v->opt->bias && j < k; ++j)
                    w[j * stride + dim] += v->delta[t * k + j];
            }
            st = tnp_sgemm_tn(v->ctx, k, dim, n, v->delta, k, x + at * dim, dim, 1, w, stride);
        }
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* Primal and dual objectives at the present multipliers. Two things keep rounding out of the gap. A tight one needs
 * what the route keeps to be that of alpha to the last digits, which thousands of float additions since the start do
 * not leave it. And a column whose multipliers are all far below c (rows are long, classes apart) has its support
 * vectors at the margin, each missing it by a rounding or two at the full price c: with |w|^2 small, hundreds of those
 * are 1e-3 of the objective. So the primal is also taken at (1 + tolerance / 4) w, which is beyond such errors and
 * costs half the tolerance at most; the better of the two is the solution. */
static tn_status check(tnp_dual *v)
{
    tn_status st = TN_OK;
    if (v->tolerance < TIGHT)
        TN_TRY(v->route->rebuild(v));
    memset(v->sums, 0, 3 * v->k * sizeof *v->sums);
    TN_TRY(v->route->measure(v));
    for (size_t j = 0; j < v->k; ++j) {
        double at_w = v->sums[3 * j] + v->square[j] / 2,
               further = v->sums[3 * j + 1] + v->stretch * v->stretch * v->square[j] / 2;
        v->primal[j] = fmin(at_w, further);
        v->factor[j] = further < at_w ? v->stretch : 1;
        v->dual[j] = v->sums[3 * j + 2] - v->square[j] / 2;
    }
done:
    return st;
}

/* ---- columns that leave ---- */

/* The columns that are kept come first, in their order; v->alpha and v->cols follow. scratch: count floats. */
static void pack(tnp_dual *v, const bool *keep, float *scratch)
{
    size_t to = 0, k = v->k, count = v->columns->count, gone = 0;
    size_t *left = v->cols_left;
    for (size_t i = 0; i < v->x->rows; ++i) {
        float *alpha = v->alpha + i * count;
        size_t at = 0, behind = 0;
        for (size_t j = 0; j < k; ++j)
            if (keep[j])
                alpha[at++] = alpha[j];
            else
                scratch[behind++] = alpha[j];
        memcpy(alpha + at, scratch, behind * sizeof *scratch);
    }
    for (size_t j = 0; j < k; ++j)
        if (keep[j]) {
            v->primal[to] = v->primal[j];
            v->dual[to] = v->dual[j];
            v->mark[to] = v->mark[j];
            v->cols[to++] = v->cols[j];
        } else {
            left[gone++] = v->cols[j];
        }
    memcpy(v->cols + to, left, gone * sizeof *left);
    v->k = to;
}

/* All columns at work again, in the caller's order. */
static void gather(tnp_dual *v, float *scratch)
{
    size_t count = v->columns->count;
    for (size_t i = 0; i < v->x->rows; ++i) {
        float *alpha = v->alpha + i * count;
        for (size_t j = 0; j < count; ++j)
            scratch[v->cols[j]] = alpha[j];
        memcpy(alpha, scratch, count * sizeof *scratch);
    }
    for (size_t j = 0; j < count; ++j)
        v->cols[j] = j;
    v->k = count;
}

static double relative_gap(const tnp_dual *v, size_t j)
{
    double distance = fmax(0, v->primal[j] - v->dual[j]);
    return distance > 0 ? distance / v->primal[j] : 0;
}

static size_t active_rows(const tnp_dual *v, size_t j)
{
    size_t rows = v->x->rows, count = v->columns->count, active = 0;
    for (size_t i = 0; i < rows; ++i)
        active += v->alpha[i * count + j] > 0;
    return active;
}

/* Whether learn/exact.c takes less than `passes` for column j, and the budget has room for it when this has ended. */
static bool exact_pays(const tnp_dual *v, size_t j, double passes)
{
    size_t rows = v->x->rows, dim = v->x->dim, count = v->columns->count;
    double n = (double)rows, pass = v->opt->gram ? 2 * n * n : 4 * n * (double)dim;
    /* its first steps may have all rows active */
    if (passes < LEAST_WORTH || tnp_exact_bytes(rows, dim, rows) / 2 >
                                    tnp_budget_left(v->ctx) / 2 + tnp_dual_bytes(rows, dim, count, false) / 2)
        return false;
    return passes * pass >
           tnp_exact_flops(rows, dim, active_rows(v, j), v->opt->squared ? TNP_SQUARED_HINGE : TNP_HINGE);
}

/* The same for learn/active.c; what passes cost beside its steps is by what was measured: with 6.5 N D the slowest
 * columns of (3030 x 1280, 101) and (720 x 1280, 12) stayed a tenth longer, with 20 others left too soon. */
static bool active_pays(const tnp_dual *v, size_t j, double passes)
{
    double n = (double)v->x->rows, d = (double)v->x->dim, pass = v->opt->gram ? 1.3 * n * n : 10 * n * d;
    return passes * pass > tnp_active_flops(v->x->rows, v->x->dim, active_rows(v, j));
}

/* Passes to the tolerance at the rate by which a gap came down from `from` in as many as `in`. */
static double passes_left(const tnp_dual *v, double gap, double from, double in)
{
    double rate = log(from / gap) / in;
    return rate > 0 ? log(gap / v->tolerance) / rate : INFINITY;
}

/* Whether column j will need more passes than another route is worth. */
static bool too_slow(const tnp_dual *v, size_t j)
{
    double gap = relative_gap(v, j), since = (double)(v->passes - v->marked),
           left = (double)(v->opt->max_passes - v->passes);
    if (v->opt->slow == TNP_SLOW_STAYS || since < LEAST_WATCH || v->marked == 0)
        return false;
    double need = fmin(left, passes_left(v, gap, v->mark[j], since));
    /* The objective of the hinge goes up and down by as much as is left of the gap: with (6049 x 4096, 51 columns) half
     * of them seemed to stand still a few passes before their end. The way from the start says more, where it says less. */
    if (!v->opt->squared && !v->warm)
        need = fmin(need, passes_left(v, gap, 1, (double)v->passes));
    /* However dear its steps: what is slow here may take all passes that are allowed, and leave none for them. */
    return v->opt->slow == TNP_SLOW_TO_ACTIVE ? need >= LEAST_WORTH || active_pays(v, j, need) : exact_pays(v, j, need);
}

/* Columns whose gap is small enough leave, those that get on too slowly too, or all. */
static void retire(tnp_dual *v, bool all, float *w)
{
    bool *keep = (bool *)(void *)v->delta; /* free between passes, and larger than k bools */
    for (size_t j = 0; j < v->k; ++j) {
        bool solved = relative_gap(v, j) <= v->tolerance;
        v->called_solved[v->cols[j]] = solved;
        v->objective[v->cols[j]] = v->primal[j];
        v->gap[v->cols[j]] = fmax(0, v->primal[j] - v->dual[j]);
        keep[j] = !all && !solved && !too_slow(v, j);
    }
    v->route->pack(v, keep, w);
    pack(v, keep, v->s);
    if (v->passes >= 2 * v->marked) {
        v->marked = v->passes;
        for (size_t j = 0; j < v->k; ++j)
            v->mark[j] = relative_gap(v, j);
    }
}

/* Passes until the next check: until the column that is closest may be done; a check costs nearly half a pass, so that
 * with most columns still there two passes are the least, unless all of them get on fast: from a gap of 1, about, to
 * what it is now in this many passes. */
static size_t next_wait(const tnp_dual *v)
{
    double least = INFINITY, most = 0;
    for (size_t j = 0; j < v->k; ++j) {
        least = fmin(least, relative_gap(v, j));
        most = fmax(most, relative_gap(v, j));
    }
    double wait = fmin(log(least / v->tolerance) / log(1 / PASS), LONGEST_WAIT);
    bool fast = most < pow(FAST, (double)v->passes);
    size_t shortest = 2 * v->k < v->columns->count ? 1 : 2;
    return fast ? 1 : wait > (double)shortest ? (size_t)wait : shortest;
}

/* ---- memory ---- */

size_t tnp_dual_bytes(size_t rows, size_t dim, size_t columns, bool gram)
{
    size_t most = TNP_DUAL_MOST,
           own = gram ? tnp_route_gram_bytes(rows, dim, columns) : tnp_route_rows_bytes(rows, dim, columns);
    return 4 * (rows * columns + 3 * most * columns) + 8 * most + 96 * columns + own + tnp_certify_bytes(dim, columns);
}

/* Either way in flops of a large product, by what was measured: P passes of (3 k + 85) N D by rows, or 1.6 N^2 D once and
 * P passes of N (1.3 N k + 1e5) by the Gram: half of the changes, and what a row looks up. P is typical of a gap of 1e-3
 * at a C between 1 and 100. Milliseconds of two threads, squared hinge, C = 1, 100, rows and Gram: (720 x 1280, 12
 * columns) 9, 18 and 14, 31; (3030 x 1280, 101) 107, 236 and 189, 350; (1500 x 4096, 50) 74, 156 and 110, 145; (2000 x
 * 8192, 100) 474, 895 and 321, 429; (500 x 16384, 20) 104, 193 and 66, 68. */
bool tnp_dual_wants_gram(size_t rows, size_t dim, size_t columns, bool squared)
{
    double passes = squared ? 12 : 28, n = (double)rows, d = (double)dim, k = (double)columns;
    return 1.6 * n * d + passes * (1.3 * n * k + 1e5) < passes * (3 * k + 85) * d;
}

static tn_status dual_alloc(tnp_dual *v, float *alpha)
{
    tn_status st = TN_OK;
    tn_ctx *ctx = v->ctx;
    size_t k = v->k, most = TNP_DUAL_MOST;
    double **small[] = {&v->primal, &v->dual, &v->factor, &v->square, &v->mark, &v->objective, &v->gap};
    TN_TRY(v->route->open(v));
    TN_TRY(tnp_alloc(ctx, k, sizeof *v->cols, &v->cols));
    TN_TRY(tnp_alloc(ctx, k, sizeof *v->cols_left, &v->cols_left));
    TN_TRY(tnp_alloc(ctx, k, sizeof *v->called_solved, &v->called_solved));
    if (!alpha)
        TN_TRY(tnp_alloc(ctx, v->x->rows * k, sizeof *v->own_alpha, &v->own_alpha));
    v->alpha = alpha ? alpha : v->own_alpha;
    TN_TRY(tnp_alloc(ctx, most, sizeof *v->rows, &v->rows));
    TN_TRY(tnp_alloc_raw(ctx, most * k, sizeof *v->s, &v->s));
    TN_TRY(tnp_alloc_raw(ctx, most * k, sizeof *v->delta, &v->delta));
    TN_TRY(tnp_alloc_raw(ctx, most * k, sizeof *v->cost, &v->cost));
    TN_TRY(tnp_alloc(ctx, 3 * k, sizeof *v->sums, &v->sums));
    for (size_t i = 0; i < sizeof small / sizeof *small; ++i)
        TN_TRY(tnp_alloc(ctx, k, sizeof(double), small[i]));
    for (size_t j = 0; j < k; ++j)
        v->cols[j] = j;
done:
    return st;
}

static void dual_destroy(tnp_dual *v)
{
    tnp_free_all(v->cols, v->cols_left, v->called_solved, v->own_alpha, v->rows, v->s, v->delta, v->cost, v->primal,
                 v->sums, v->dual, v->square, v->factor, v->mark, v->objective, v->gap);
    v->route->close(v);
}

/* ---- where it starts ---- */

/* alpha of some rows by their scores: 2 c max(0, 1 - y s). */
static void imply_panel(void *arg, const tnp_panel *at)
{
    const tnp_dual *v = arg;
    float *cost = at->scratch;
    for (size_t i = 0; i < at->count; ++i) {
        float *alpha = v->alpha + (at->start + i) * v->columns->count;
        const float *s = at->s + i * v->k;
        tnp_signed_costs(v->columns, at->start + i, v->cols, v->k, cost);
        for (size_t j = 0; j < v->k; ++j) {
            float slack = 1 - (cost[j] < 0 ? -s[j] : s[j]);
            alpha[j] = slack > 0 ? 2 * fabsf(cost[j]) * slack : 0;
        }
    }
}

/* The squared hinge has its multipliers from the weights. */
static tn_status imply(tnp_dual *v, const float *w)
{
    tnp_rows x = tnp_design_rows(v->x);
    tnp_pass pass = {
        .k = v->k, .w = w, .body = imply_panel, .arg = v, .chunk = CHUNK, .work = 8 * (double)v->k, .scratch = v->k};
    return tnp_rows_pass(v->ctx, &x, &pass);
}

/* Multipliers of another C, or of other rows, times the t that makes most of the dual of each column:
 *   t sum alpha - t^2 (sum alpha^2 / 4 c + |w|^2 / 2),   t = sum alpha / (sum alpha^2 / 2 c + |w|^2)
 * For a small C it is the ratio of the costs, for a large one 1. */
static void stretch(tnp_dual *v)
{
    size_t k = v->k, count = v->columns->count;
    double *sum = v->primal, *soft = v->dual, *factor = v->factor;
    memset(sum, 0, k * sizeof *sum);
    memset(soft, 0, k * sizeof *soft);
    for (size_t i = 0; i < v->x->rows; ++i) {
        const float *alpha = v->alpha + i * count;
        tnp_signed_costs(v->columns, i, v->cols, k, v->cost);
        for (size_t j = 0; j < k; ++j) {
            double x = (double)alpha[j], c = fabs((double)v->cost[j]);
            sum[j] += x;
            soft[j] += c > 0 ? x * x / (2 * c) : 0;
        }
    }
    v->route->squares(v);
    for (size_t j = 0; j < k; ++j)
        factor[j] = sum[j] > 0 ? sum[j] / (soft[j] + v->square[j]) : 1;
    for (size_t i = 0; i < v->x->rows; ++i)
        for (size_t j = 0; j < k; ++j)
            v->alpha[i * count + j] *= (float)factor[j];
    v->route->scale(v, factor);
}

static bool is_zero(const float *x, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (x[i] != 0)
            return false;
    return true;
}

/* From the caller's multipliers, or where those are zeros from the weights w. */
static tn_status begin(tnp_dual *v, const float *w)
{
    tn_status st = TN_OK;
    bool given = !is_zero(v->alpha, v->x->rows * v->k),
         implied = !given && v->opt->squared && !is_zero(w, v->k * (v->x->dim + 1));
    v->warm = given || implied;
    if (implied)
        TN_TRY(imply(v, w));
    if (v->warm)
        TN_TRY(v->route->rebuild(v));
    if (v->warm && v->opt->squared)
        stretch(v);
done:
    return st;
}

/* ---- passes ---- */

/* Passes until every column has left. */
static tn_status descend(tnp_dual *v, float *w)
{
    tn_status st = TN_OK;
    size_t due = v->passes + (v->warm ? WARM_CHECK : FIRST_CHECK), count = v->columns->count;
    v->marked = 0;
    while (v->k > 0 && v->passes < v->opt->max_passes) {
        tnp_rng rng;
        tnp_rng_init(&rng, v->opt->seed, v->passes++);
        size_t all = count * (v->passes + USUAL_PASSES);
        TN_TRY(tnp_progress(v->ctx, "training", all - v->k * USUAL_PASSES, all));
        TN_TRY(v->route->pass(v, &rng));
        if (v->passes == due || v->passes == v->opt->max_passes) {
            TN_TRY(check(v));
            retire(v, false, w);
            due = v->passes + next_wait(v);
        }
    }
    retire(v, true, w);
    gather(v, v->s);
    if (v->route->finish)
        TN_TRY(v->route->finish(v, w));
done:
    return st;
}

/* Certifies the columns keep (count). Those that the check had called solved and that are not stay in keep; false:
 * none. */
static tn_status certify(tnp_dual *v, const float *w, bool *keep, double *objective, double *gap, bool *any)
{
    size_t n = 0;
    for (size_t j = 0; j < v->k; ++j)
        if (keep[j])
            v->cols_left[n++] = j;
    tnp_claim claim = {.columns = v->columns,
                       .loss = v->opt->squared ? TNP_SQUARED_HINGE : TNP_HINGE,
                       .bias = v->opt->bias,
                       .penalised = true,
                       .count = n,
                       .cols = v->cols_left,
                       .w = w,
                       .alpha = v->alpha};
    tnp_rows x = tnp_design_rows(v->x);
    tn_status st = tnp_certify(v->ctx, &x, &claim, objective, gap);
    *any = false;
    for (size_t j = 0; st == TN_OK && j < v->k; ++j) {
        keep[j] = keep[j] && v->called_solved[j] && gap[j] > v->opt->tolerance * objective[j];
        *any |= keep[j];
    }
    return st;
}

tn_status tnp_dual_solve(tn_ctx *ctx, tnp_design *design, const tnp_columns *columns, const tnp_dual_options *options,
                         float *alpha, float *w, double *objective, double *gap, tnp_dual_info *info)
{
    tn_status st = TN_OK;
    tnp_dual v = {.ctx = ctx,
                  .x = design,
                  .columns = columns,
                  .opt = options,
                  .route = options->gram ? &tnp_route_gram : &tnp_route_rows,
                  .k = columns->count,
                  .stretch = 1 + options->tolerance / 4,
                  .tolerance = options->tolerance};
    bool *keep = NULL, again = false;
    TN_TRY(dual_alloc(&v, alpha));
    TN_TRY(begin(&v, w));
    TN_TRY(tnp_alloc(ctx, v.k, sizeof *keep, &keep));
    memset(keep, true, v.k);
    for (int round = 0;; ++round) {
        TN_TRY(descend(&v, w));
        if (options->rough) {
            memcpy(objective, v.objective, columns->count * sizeof *objective);
            memcpy(gap, v.gap, columns->count * sizeof *gap);
            break;
        }
        TN_TRY(certify(&v, w, keep, objective, gap, &again));
        if (!again || round == ROUNDS || v.passes >= options->max_passes)
            break;
        v.tolerance /= 2;
        pack(&v, keep, v.s);
        TN_TRY(v.route->rebuild(&v));
    }
    info->passes = v.passes;
    info->converged = true;
    for (size_t j = 0; j < columns->count; ++j)
        info->converged &= gap[j] <= options->tolerance * objective[j];
    TN_TRY(tnp_progress(ctx, "training", columns->count, columns->count));
done:
    tnp_free(keep);
    dual_destroy(&v);
    return st;
}
