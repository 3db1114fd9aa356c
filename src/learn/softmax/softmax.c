/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multinomial logistic regression: where rounds (softmax_rounds.c) begin, how many are made, and what is claimed of
 * where they end.
 *
 * Without weights to start from the subspace of the class means is solved first. Where C is large it is far from the
 * minimum, and the blocks are those of rows that are decided wrongly: so many classes climb from a smaller C,
 *
 *   C_0 = LOWEST / s^2,  C_1, ..., C_n = C,  each at most RUNG times the last,  s^2 = mean |x - mean|^2,
 *
 * with few rounds at each, to LOOSE, and start the next one on the line from the solution before through this one, its
 * best place searched on all rows. Processor seconds to 3e-3, at once and climbing: (3030 x 128, 101 classes) C = 100
 * 0.22 and 0.10, C = 1000 0.30 and 0.14; (5994 x 512, 200) C = 1000 1.8 and 0.8. The blocks of few classes hold nearly
 * all curvature anywhere, and a climb takes a tenth longer: (1500 x 512, 15) C = 100 0.057 and 0.063.
 *
 * Weights of another C, as a path has them to start from, are first multiplied by what is best for them: with few classes
 * that is near enough for the subspace to do most of the rest. Seconds of logistic-cv, without and with it: (1500 x 512,
 * 15) 0.199 and 0.172. Those of many classes are only made shorter, as they are to be on the way down: (3030 x 1280, 101)
 * 0.632 and 0.579. Longer ones decide rows of which the blocks would then know nothing, and take a round more. */
#include "learn/softmax/softmax.h"
#include "learn/softmax/certify_softmax.h"
#include "learn/softmax/softmax_probe.h"
#include "learn/softmax/softmax_rounds.h"

#include <math.h>
#include <string.h>

enum { LIGHT = 4, FIRST_STEPS = 8, FEW_STEPS = 3, PATIENCE = 16, ATTEMPTS = 3, USUAL_ITERATIONS = 16, CHEAP = 5 };
enum { MANY = 32, MOST_ROUNDS = 8 }; /* classes that climb, and start as they are; rounds at a C on the way */
enum { AHEAD = 4 };                  /* rounds that may still come by the curvature at no weights */
enum { SOME_ROWS = 64 };             /* that tell whether C is small */
static const double FALLING = 0.98;  /* of f in PATIENCE rounds: the way is long, but it is one */
static const double EASY = 0.2;      /* of f: the estimate that promises few light rounds */
static const double NEEDED = 0.2;    /* of the gap that is asked for, that the subspace may leave of a warm start */
static const double UNDECIDED = 0.5; /* of the loss of no weights: below, blocks beat a subspace that is not cheap */
static const double FAR = 10;        /* times the tolerance */
static const double BENT = 4;        /* times f: the estimate at no weights beyond which their curvature tells little */
static const double LOWEST = 20;     /* of C s^2 */
static const double RUNG = 3.2;
static const double LOOSE = 0.05;  /* of f */
static const double HIGHEST = 1e9; /* of C / C_0: float has no digits for more */

static size_t certificate_bytes(size_t dim, size_t k)
{
    return tnp_max(tnp_certify_softmax_bytes(dim, k), tnp_probe_bytes(dim, k));
}

size_t tnp_softmax_bytes(size_t rows, size_t dim, size_t k)
{
    return 4 * k * (rows + (2 + 2 * TNP_KEPT_PAIRS) * (dim + 1)) + 4 * tnp_min(TNP_STEP_SAMPLE, rows) * (dim + 2) +
           8 * (1 + 4 * k) + tnp_softmax_rows_bytes(rows, k) + tnp_coarse_bytes(rows, dim, k) +
           certificate_bytes(dim, k);
}

size_t tnp_softmax_more_bytes(size_t rows, size_t dim, size_t k)
{
    return 4 * rows * k + 4 * tnp_min(tnp_max(TNP_STEP_SAMPLE, 16 * k), rows) * (dim + 2) + 4 * k * (dim + 1) +
           tnp_blocks_bytes(rows, dim, k);
}

/* Whether products in the subspace are a small part of those with X. */
static bool cheap(const tnp_rounds *v)
{
    return v->x->dim >= CHEAP * tnp_coarse_most(v->x->dim);
}

/* Whether light rounds promise to be few, and are no dearer than heavy ones. Of many classes with the weights of others
 * one of them has to do: seconds of logistic-cv with the subspace wherever EASY has it, less than 10 times the tolerance
 * away, and never: (5994 x 512, 200 classes) 0.548, 0.518 and 0.522, (3030 x 1280, 101) 0.552, 0.537 and 0.568. */
static bool light(const tnp_rounds *v)
{
    bool near = v->cold || v->k < MANY || v->gap <= FAR * v->tolerance * v->f;
    return near && v->gap <= EASY * v->f && (cheap(v) || v->sums[0] > UNDECIDED * tnp_rounds_nothing(v));
}

static bool is_cold(const tnp_rounds *v)
{
    bool cold = true;
    for (size_t i = 0; i < v->k * v->width; ++i)
        cold &= v->w[i] == 0;
    return cold;
}

/* From no weights, the curvature there where it pays and leads near: the gradient tells. */
static tn_status begin_mean(tnp_rounds *v, bool *begun)
{
    tn_status st = TN_OK;
    *begun = false;
    if (!tnp_mean_curve_pays(v->x->dim, v->k))
        return TN_OK;
    TN_TRY(tnp_rounds_look(v));
    if (v->gap <= BENT * v->f)
        TN_TRY(tnp_rounds_begin_mean(v, begun));
done:
    return st;
}

/* Scores of the start. They are zero with it, and then the subspace comes before the first gradient, but where the
 * curvature at no weights does instead. A start from which the way is far is not one from the origin: the blocks know it
 * better than the subspace. */
static tn_status begin(tnp_rounds *v, bool cold, bool climbs)
{
    tn_status st = TN_OK;
    bool mean = false;
    if (!cold) {
        TN_TRY(tnp_rounds_forward(v, v->w));
        TN_TRY(tnp_rounds_stretch(v, v->k >= MANY));
        TN_TRY(tnp_rounds_look(v));
    } else if (!climbs) {
        TN_TRY(begin_mean(v, &mean));
    }
    if (!mean && (cold || (v->gap > v->opt->tolerance * v->f && light(v)))) {
        TN_TRY(tnp_rounds_subspace(v, cheap(v) ? FIRST_STEPS : FEW_STEPS, NEEDED * v->opt->tolerance * v->f));
        TN_TRY(tnp_rounds_look(v));
    }
done:
    return st;
}

/* By how much C is above the one that a climb begins with, by at least `rows` rows of the sample or all. */
static tn_status height(const tnp_rounds *v, size_t rows, double *out)
{
    double mean_cost = tnp_rounds_nothing(v) / (log((double)v->k) * (double)v->x->rows), spread = 0;
    size_t every = tnp_max(1, v->sample.count / rows);
    tn_status st =
        tnp_spread(v->ctx, v->x_sample, every * v->x_stride, v->sample.count / every, v->x->dim, v->opt->bias, &spread);
    *out = mean_cost * spread / LOWEST;
    return st;
}

/* From the minimum at a C that is `above` times smaller, about, to where rounds at C are to begin. */
static tn_status climb(tnp_rounds *v, float cost, double above)
{
    tn_status st = TN_OK;
    float *before = NULL; /* weights at the last C, none at first: the line is then that of longer weights */
    double rungs = ceil(log(above) / log(RUNG)), by = pow(above, 1 / rungs), tolerance = v->tolerance;
    TN_TRY(tnp_alloc(v->ctx, v->k * v->width, sizeof *before, &before));
    v->tolerance = 0; /* no end is near on the way */
    for (size_t rung = (size_t)rungs; rung > 0; --rung) {
        size_t most = tnp_min(v->taken + MOST_ROUNDS, v->opt->max_iterations);
        TN_TRY(tnp_progress(v->ctx, "training", v->taken, v->taken + USUAL_ITERATIONS));
        while (v->gap > LOOSE * v->f && v->taken < most)
            TN_TRY(tnp_rounds_take(v));
        for (size_t i = 0; i < v->k * v->width; ++i) {
            v->d[i] = v->w[i] - before[i];
            before[i] = v->w[i];
        }
        tnp_rounds_raise(v, rung > 1 ? (float)(by * (double)v->loss.cost) : cost);
        TN_TRY(tnp_rounds_along(v));
    }
    v->tolerance = tolerance;
done:
    tnp_free(before);
    return st;
}

static tn_status start(tnp_rounds *v)
{
    tn_status st = TN_OK;
    bool cold = v->cold = is_cold(v);
    float cost = v->loss.cost;
    double above = 0;
    /* the subspace comes first, and stays */
    size_t climbing = tnp_rounds_heavy_bytes(v) + tnp_coarse_bytes(v->x->rows, v->x->dim, v->k);
    if (v->k < MANY || (cold && climbing <= tnp_budget_left(v->ctx)))
        TN_TRY(height(v, v->k < MANY ? SOME_ROWS : v->sample.count, &above));
    bool climbs = v->k >= MANY && above > 1 && above < HIGHEST;
    v->directions = v->k < MANY && above <= 1 ? TNP_COARSE_FEW : TNP_COARSE_RANK;
    if (climbs)
        v->loss.cost = (float)((double)cost / above);
    TN_TRY(begin(v, cold, climbs));
    if (climbs) {
        TN_TRY(tnp_rounds_begin_heavy(v));
        TN_TRY(climb(v, cost, above));
    }
done:
    return st;
}

/* Whether light rounds, the last of which began with the estimate `before`, promise to be few. With the curvature at no
 * weights they lead as far as those with blocks and cost half, while each takes as large a part of the gap as the last
 * and AHEAD of them will do. Milliseconds where one had to do, and with four: (3030 x 128, 101 classes) to 1e-2 at C = 1
 * 11.3 and 9.8, at C = 3 21.0 and 13.8; (5994 x 512, 200) at C = 3 59 and 46, at C = 10 81 and 68; as many with ten. */
static bool promises(const tnp_rounds *v, double before)
{
    return v->mean.t ? v->gap * pow(v->gap / before, AHEAD) <= v->tolerance * v->f : light(v);
}

/* A multiple of other weights decides as they do. Where C is small that may be within the gap, and yet far from what is
 * to be learned. */
static bool is_needed(const tnp_rounds *v)
{
    return v->gap > v->tolerance * v->f || (v->stretched && v->taken == 0);
}

/* Rounds until the estimate of the gap is below the tolerance; false when they do not get there. */
static tn_status approach(tnp_rounds *v, bool *there)
{
    tn_status st = TN_OK;
    double mark = v->gap, height = v->f, before = INFINITY;
    for (size_t round = 0; is_needed(v) && v->taken < v->opt->max_iterations; ++round) {
        if (round > 0 && round % PATIENCE == 0) {
            if (!(v->gap < mark / 2 || v->f < FALLING * height))
                break; /* float has no digits left for this problem, or the pairs do not tell its shape */
            mark = v->gap;
            height = v->f;
        }
        TN_TRY(tnp_progress(v->ctx, "training", v->taken, v->taken + USUAL_ITERATIONS));
        if (!v->heavy && (round >= LIGHT || !promises(v, before)) &&
            tnp_rounds_heavy_bytes(v) <= tnp_budget_left(v->ctx))
            TN_TRY(tnp_rounds_begin_heavy(v));
        before = v->gap;
        TN_TRY(tnp_rounds_take(v));
        if (v->z && !v->settled && v->gap <= v->tolerance * v->f) {
            TN_TRY(tnp_rounds_settle(v));
            TN_TRY(tnp_rounds_look(v));
        }
    }
    *there = v->gap <= v->tolerance * v->f;
done:
    return st;
}

/* What may be claimed where it is: by probes where they pay and suffice, or where it is not yet the last word. */
static tn_status certify(const tnp_rounds *v, const tnp_softmax_claim *claim, bool last, double *f, double *gap)
{
    tn_status st = TN_OK;
    if (tnp_probe_pays(v->k) && !claim->penalised) {
        TN_TRY(tnp_probe_softmax(v->ctx, v->x, claim, &(tnp_probe){v->s, v->g, v->opt->seed}, f, gap));
        if (*gap <= claim->tolerance * *f || !last)
            return TN_OK;
    }
    TN_TRY(tnp_certify_softmax(v->ctx, v->x, claim, f, gap));
done:
    return st;
}

tn_status tnp_softmax_solve_fold(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss,
                                 const tnp_newton_options *options, tnp_coarse *kept, const tnp_row_moment *moment,
                                 float *w, double *objective, double *gap, tnp_newton_info *info)
{
    tn_status st = TN_OK;
    tnp_rounds v = {.ctx = NULL};
    double f = 0, distance = 0;
    tnp_softmax_claim claim = {loss, options->bias, options->bias_penalised, options->tolerance, w};
    bool there = false;
    TN_TRY(tnp_rounds_init(ctx, x, loss, options, w, &v));
    v.moment = moment;
    if (kept)
        tnp_coarse_take(&v.rows, kept, &v.coarse);
    TN_TRY(tnp_progress(ctx, "training", 0, 1));
    TN_TRY(start(&v));
    for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
        TN_TRY(approach(&v, &there));
        f = v.f;
        distance = v.gap;
        if (!there || !kept)
            TN_TRY(certify(&v, &claim, !there || attempt + 1 == ATTEMPTS, &f, &distance));
        if (!there || distance <= options->tolerance * f)
            break;
        v.tolerance /= 4;
    }
    if (!(f <= tnp_rounds_nothing(&v))) { /* float lost it, or has no such numbers: what comes after starts anew */
        memset(w, 0, v.k * v.width * sizeof *w);
        TN_TRY(tnp_certify_softmax(ctx, x, &claim, &f, &distance));
    }
    TN_TRY(tnp_progress(ctx, "training", 1, 1));
    info->converged = distance <= options->tolerance * f;
    info->iterations = v.taken;
    info->products = v.products;
    *objective = f;
    *gap = distance;
    if (kept)
        tnp_coarse_take(NULL, &v.coarse, kept);
done:
    tnp_rounds_destroy(&v);
    return st;
}

tn_status tnp_softmax_solve(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss, const tnp_newton_options *options,
                            float *w, double *objective, double *gap, tnp_newton_info *info)
{
    return tnp_softmax_solve_fold(ctx, x, loss, options, NULL, NULL, w, objective, gap, info);
}
