/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds of a quasi-Newton method with TNP_KEPT_PAIRS pairs (L-BFGS; Nocedal 1980) of two kinds.
 *
 * Light, while C is small. The strong directions of the problem lie in the space of the class means; there, and in the
 * intercepts, it is solved nearly exactly after every step (softmax_coarse.c), at a small part of the cost of a product
 * with X. What is left is close to its ridge, and few rounds do that start from a multiple of the identity:
 *
 *   round   G = W + R'X (a product)   D = -H G   step t searched on a sample   S += t X D' (a product)   subspace
 *
 * At C = 1, rows of length 1, N 6049 to 19850, D 1024 to 4096, K 51 to 397 this takes 5 products, and the work of 2 to
 * 5 more in the subspace, to a certified 1e-3. The subspace also makes the certificate sharp: 1/2 |G|^2 overstates the
 * distance by the curvature along G, and the strongly curved part of G is gone.
 *
 * Heavy, as soon as the start does not promise few rounds. Every class has a curvature of its own, that of the rows near
 * its border, and H starts from its inverse (softmax_blocks.c). That makes 1/2 |G|^2 sharp as well. The scores Z = X D'
 * are kept, N k floats more, and the step is searched on all rows: on a sample it is so wrong at large C that half as
 * many rounds again are needed.
 *
 * Light steps keep no scores but S, so that a step is searched on a sample. Its second derivative is that of the
 * sample, its first is exact at 0; should f rise all the same, half of the step is taken back.
 *
 * W, S and directions are float, as the products are; sums, slopes and objectives double. Oracle: ref_logistic. */
#include "learn/softmax/softmax_rounds.h"
#include "algebra/blas.h"
#include "base/team.h"
#include "learn/softmax/certify_softmax.h"
#include "learn/softmax/softmax_probe.h"
#include "learn/softmax/softmax_settle.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { RENEW = 6, LATER_STEPS = 2, RETREATS = 20, STEPS = 4, WIDE = 256 };
static const double LEFT = 0.02;     /* of the squared gradient, that the subspace may leave */
static const double NEEDLESS = 0.25; /* of the gap that is asked for, squared gradients that it need not go below */
static const double ROUNDING = 1e-6; /* of f */
static const double ENOUGH = 0.3;    /* of the slope, that a step may leave */
static const double STALE = 0.02;    /* of the scale: blocks of rows that are decided by now */
static const double NEAR = 10;       /* times the tolerance: the next round may be the last */
static const double NEAR_MEAN = 40, NEAR_WARM = 4; /* with the curvature at no weights; from the weights of others */
static const double OTHER = 0.02;      /* of the weights: a start that is off by more is that of another C */
static const double SHORTER = 0.1;     /* of the weights: a cut that is worth it where they may only become shorter */
static const double UNSETTLED = 0.005; /* of the tolerance: slopes of intercepts, as a part of f, */
static const double ROUGHLY = 0.002;   /* and of the estimate where the end is far */

/* ---- all weights ---- */

typedef struct wide_job {
    const float *a, *b;
    float *to;
    float t;
    double *dot;
    size_t width;
} wide_job;

static void dot_row(void *arg, size_t j)
{
    const wide_job *job = arg;
    job->dot[j] = tnp_dot(job->a + j * job->width, job->b + j * job->width, job->width);
}

/* to = a + t b; to may be a or b. */
static void add_row(void *arg, size_t j)
{
    const wide_job *job = arg;
    for (size_t i = j * job->width; i < (j + 1) * job->width; ++i)
        job->to[i] = job->a[i] + job->t * job->b[i];
}

static void on_weights(const tnp_rounds *v, void (*body)(void *, size_t), wide_job *job)
{
    job->width = v->width;
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, 2.0 * (double)(v->k * v->width)), v->k, body, job);
}

static double dot(const tnp_rounds *v, const float *a, const float *b)
{
    double sum = 0;
    on_weights(v, dot_row, &(wide_job){.a = a, .b = b, .dot = v->dot});
    for (size_t j = 0; j < v->k; ++j)
        sum += v->dot[j];
    return sum;
}

static void add(const tnp_rounds *v, const float *a, double t, const float *b, float *to)
{
    on_weights(v, add_row, &(wide_job){.a = a, .b = b, .to = to, .t = (float)t});
}

/* ---- products ---- */

tn_status tnp_rounds_forward(tnp_rounds *v, const float *a)
{
    ++v->products;
    return tnp_rows_pass(v->ctx, v->x, &(tnp_pass){.k = v->k, .w = a, .s = v->s, .add = true});
}

static void slope_panel(void *arg, const tnp_panel *at)
{
    const tnp_rounds *v = arg;
    tnp_softmax_slope_here(&v->rows, at->start, at->count, v->s, at->t, at->sums);
}

/* g = R'X, and the sums. */
static tn_status backward(tnp_rounds *v)
{
    tnp_pass pass = {.k = v->k,
                     .most = v->rows.block,
                     .chunk = TNP_SOFTMAX_CHUNK,
                     .work = 16 * (double)v->k,
                     .body = slope_panel,
                     .arg = v,
                     .back = v->g,
                     .sum_count = tnp_softmax_sum_capacity(v->k),
                     .sums = v->sums};
    ++v->products;
    return tnp_rows_pass(v->ctx, v->x, &pass);
}

/* About how far f is above its minimum. At the best b for w it is at most 1/2 |g|^2, as F(w) = min_b f(w, b) is
 * 1-strongly convex, and a free intercept adds about f - min_b f, twice its quadratic estimate, g_b^2 / h_b with h_b
 * the sum of curvatures. Elsewhere than at that b neither is a bound: it only tells when to ask for the certificate. */
static void estimate(tnp_rounds *v)
{
    const double *slope = v->sums + 1, *weight = slope + v->k;
    v->gap = v->square / 2;
    for (size_t j = 0; v->opt->bias && j < v->k; ++j)
        if (slope[j] != 0)
            v->gap += slope[j] * slope[j] / (v->opt->bias_penalised ? 2 : weight[j]);
}

tn_status tnp_rounds_look(tnp_rounds *v)
{
    double square;
    tn_status st = backward(v);
    if (st != TN_OK)
        return st;
    square = dot(v, v->w, v->w);
    add(v, v->g, 1, v->w, v->g);
    v->square = dot(v, v->g, v->g);
    for (size_t j = 0; j < v->k; ++j) {
        size_t at = j * v->width + v->x->dim;
        double last = (double)v->w[at];
        v->sums[1 + j] += v->opt->bias_penalised ? last : 0;
        square -= v->opt->bias_penalised ? 0 : last * last;
        v->square -= (double)v->g[at] * (double)v->g[at];
        v->g[at] = v->opt->bias ? (float)v->sums[1 + j] : 0;
    }
    v->f = v->sums[0] + square / 2;
    estimate(v);
    return TN_OK;
}

/* ---- one round ---- */

/* out = M^-1 in, M the blocks, or 1. */
static void precondition(const tnp_rounds *v, const float *in, float *out)
{
    if (v->heavy)
        tnp_blocks_apply(&v->blocks, in, out);
    else if (v->mean.t)
        tnp_mean_curve_apply(&v->mean, in, out);
    else if (in != out)
        memcpy(out, in, v->k * v->width * sizeof *out);
}

/* ds'dg / dg'M^-1 dg of the newest pair: what M^-1 is to be multiplied with; d is scratch. */
static double scale_of(const tnp_rounds *v)
{
    if (v->pairs == 0)
        return 1;
    precondition(v, v->dg[v->newest], v->d);
    return v->curve[v->newest] / dot(v, v->dg[v->newest], v->d);
}

/* d = -H g, H by the kept pairs, from `scale` M^-1. */
static void direction(tnp_rounds *v, double scale)
{
    double a[TNP_KEPT_PAIRS];
    memcpy(v->d, v->g, v->k * v->width * sizeof *v->d);
    for (size_t i = 0; i < v->pairs; ++i) {
        size_t at = (v->newest + TNP_KEPT_PAIRS - i) % TNP_KEPT_PAIRS;
        a[at] = dot(v, v->ds[at], v->d) / v->curve[at];
        add(v, v->d, -a[at], v->dg[at], v->d);
    }
    precondition(v, v->d, v->d);
    add(v, v->d, scale - 1, v->d, v->d);
    for (size_t i = v->pairs; i-- > 0;) {
        size_t at = (v->newest + TNP_KEPT_PAIRS - i) % TNP_KEPT_PAIRS;
        add(v, v->d, a[at] - dot(v, v->dg[at], v->d) / v->curve[at], v->ds[at], v->d);
    }
    add(v, v->d, -2, v->d, v->d);
}

/* Puts w and g into slot `at`. Most solves end before all slots are used: memory comes when one is. */
static tn_status begin_pair(tnp_rounds *v, size_t at)
{
    tn_status st = TN_OK;
    size_t weights = v->k * v->width;
    v->pairs = tnp_min(v->pairs, TNP_KEPT_PAIRS - 1);
    if (!v->ds[at]) {
        TN_TRY(tnp_alloc_raw(v->ctx, weights, sizeof(float), &v->ds[at]));
        TN_TRY(tnp_alloc_raw(v->ctx, weights, sizeof(float), &v->dg[at]));
        ++v->slots;
    }
    memcpy(v->ds[at], v->w, weights * sizeof *v->w);
    memcpy(v->dg[at], v->g, weights * sizeof *v->g);
done:
    return st;
}

/* Keeps the change since w and g were put into slot `at`; a pair of no curvature is rounding. */
static void keep_pair(tnp_rounds *v, size_t at)
{
    add(v, v->w, -1, v->ds[at], v->ds[at]);
    add(v, v->g, -1, v->dg[at], v->dg[at]);
    v->curve[at] = dot(v, v->ds[at], v->dg[at]);
    if (v->curve[at] > 0) {
        v->newest = at;
        v->pairs = tnp_min(v->pairs + 1, TNP_KEPT_PAIRS);
    } else {
        v->pairs = 0;
    }
}

/* ---- a round with the subspace ---- */

typedef struct line_job {
    tnp_rounds *v;
    double aside, stiff; /* what the slope of the losses lacks at 0, and the penalty's second derivative */
} line_job;

/* a'd without free intercepts. */
static double penalty(const tnp_rounds *v, const float *a)
{
    double sum = dot(v, a, v->d);
    for (size_t j = v->x->dim; j < v->k * v->width && !v->opt->bias_penalised; j += v->width)
        sum -= (double)a[j] * (double)v->d[j];
    return sum;
}

/* On the sample. */
static tn_status sampled_line(void *arg, double t, double *first, double *second)
{
    const line_job *job = arg;
    const tnp_rounds *v = job->v;
    double sums[2] = {0};
    tnp_softmax_line(&v->rows, v->sample, v->s, v->rows.z, t, sums);
    *first = v->sample_scale * sums[0] + job->aside + t * job->stiff;
    *second = v->sample_scale * sums[1] + job->stiff;
    return TN_OK;
}

/* Whether the sample is all rows, whose scores along d then serve the step as well. */
static bool samples_all(const tnp_rounds *v)
{
    return v->sample.stride == 1 && !tnp_team_shares(v->ctx);
}

/* Scores of the sample along d. */
static tn_status sample_scores(tnp_rounds *v)
{
    if (samples_all(v)) {
        ++v->products;
        return tnp_rows_pass(v->ctx, v->x, &(tnp_pass){.k = v->k, .w = v->d, .s = v->rows.z});
    }
    tn_status st = tnp_sgemm_nt(v->ctx, v->sample.count, v->k, v->x->dim, v->x_sample, v->x_stride, v->d, v->width, 0,
                                v->rows.z, v->k);
    for (size_t i = 0; i < v->sample.count; ++i)
        for (size_t j = 0; j < v->k; ++j)
            v->rows.z[i * v->k + j] += v->d[j * v->width + v->x->dim];
    return st;
}

static tn_status sampled_search(tnp_rounds *v, double *t)
{
    tn_status st = TN_OK;
    line_job job = {.v = v};
    double slope = dot(v, v->g, v->d), first, second;
    TN_TRY(sample_scores(v));
    TN_TRY(sampled_line(&job, 0, &first, &second));
    job.aside = slope - first;
    job.stiff = penalty(v, v->d);
    TN_TRY(tnp_line_search(sampled_line, &job, slope, ENOUGH, t));
done:
    return st;
}

static bool free_intercepts(const tnp_rounds *v)
{
    return v->opt->bias && !v->opt->bias_penalised;
}

tn_status tnp_rounds_settle(tnp_rounds *v)
{
    v->settled = true;
    return !free_intercepts(v)
               ? TN_OK
               : tnp_softmax_settle(&v->rows, STEPS, UNSETTLED * v->tolerance * v->f, v->s, v->w + v->x->dim, v->width);
}

tn_status tnp_rounds_subspace(tnp_rounds *v, size_t steps, double enough)
{
    tn_status st = TN_OK;
    if (!v->coarse.ctx)
        TN_TRY(tnp_coarse_init(v->x, &v->rows, v->directions, v->opt->bias, v->opt->bias_penalised, &v->coarse));
    TN_TRY(tnp_coarse_solve(&v->coarse, steps, enough, v->w, v->s));
    TN_TRY(tnp_rounds_settle(v));
done:
    return st;
}

/* s += t z. */
typedef struct scores_job {
    const float *z;
    float *s, t;
    size_t k;
} scores_job;

static void add_scores(void *arg, size_t row)
{
    const scores_job *job = arg;
    tnp_simd_get()->add_scaled(job->t, job->z + row * job->k, job->s + row * job->k, job->k);
}

static void move_scores(const tnp_rounds *v, const float *z, double t)
{
    tnp_parallel(v->ctx, tnp_threads_for(v->ctx, 2.0 * (double)(v->x->rows * v->k)), v->x->rows, add_scores,
                 &(scores_job){z, v->s, (float)t, v->k});
}

/* w += t d, then the subspace, and what is there; d becomes t d. z: the scores along d, NULL where they are not known. */
static tn_status move(tnp_rounds *v, double t, const float *z)
{
    tn_status st = TN_OK;
    add(v, v->d, t - 1, v->d, v->d);
    add(v, v->w, 1, v->d, v->w);
    if (z)
        move_scores(v, z, t);
    else
        TN_TRY(tnp_rounds_forward(v, v->d));
    TN_TRY(tnp_rounds_subspace(v, LATER_STEPS, fmax(LEFT * v->square, NEEDLESS * v->tolerance * v->f)));
    TN_TRY(tnp_rounds_look(v));
done:
    return st;
}

static tn_status light_step(tnp_rounds *v)
{
    tn_status st = TN_OK;
    double t = 0, limit = v->f + ROUNDING * fabs(v->f);
    TN_TRY(sampled_search(v, &t));
    TN_TRY(move(v, t, samples_all(v) ? v->rows.z : NULL));
    for (int back = 0; v->f > limit && back < RETREATS; ++back)
        TN_TRY(move(v, back ? 0.5 : -0.5, NULL));
done:
    return st;
}

/* The line of multiples of the weights, w + by t w, on the sample, whose scores are rows.z. */
typedef struct multiple_job {
    const tnp_rounds *v;
    double square, by; /* |w|^2 without free intercepts; 1 or -1 */
} multiple_job;

static tn_status multiple_line(void *arg, double t, double *first, double *second)
{
    const multiple_job *job = arg;
    const tnp_rounds *v = job->v;
    double sums[2] = {0};
    tnp_softmax_line(&v->rows, v->sample, v->s, v->rows.z, job->by * t, sums);
    *first = job->by * (v->sample_scale * sums[0] + (1 + job->by * t) * job->square);
    *second = v->sample_scale * sums[1] + job->square;
    return TN_OK;
}

tn_status tnp_rounds_stretch(tnp_rounds *v, bool only_shorter)
{
    tn_status st = TN_OK;
    multiple_job job = {.v = v, .by = 1};
    double slope, second, t;
    memcpy(v->d, v->w, v->k * v->width * sizeof *v->d);
    job.square = penalty(v, v->w);
    for (size_t i = 0; i < v->sample.count; ++i)
        memcpy(v->rows.z + i * v->k, v->s + i * v->sample.stride * v->k, v->k * sizeof *v->s);
    TN_TRY(multiple_line(&job, 0, &slope, &second));
    job.by = slope > 0 ? -1 : 1;
    TN_TRY(tnp_line_search(multiple_line, &job, -fabs(slope), ENOUGH, &t));
    t *= job.by;
    if (only_shorter && t > -SHORTER)
        return TN_OK;
    v->stretched = fabs(t) > OTHER;
    add(v, v->w, t, v->w, v->w);
    tnp_simd_get()->add_scaled((float)t, v->s, v->s, v->x->rows * v->k);
done:
    return st;
}

/* ---- a round with the blocks ---- */

/* On all rows; z is as the scores are. */
static tn_status whole_line(void *arg, double t, double *first, double *second)
{
    const line_job *job = arg;
    const tnp_rounds *v = job->v;
    double sums[2] = {0};
    for (size_t start = 0; start < v->x->rows; start += v->rows.block) {
        tnp_softmax_range range = {start, 1, tnp_min(v->rows.block, v->x->rows - start)};
        tnp_softmax_line(&v->rows, range, v->s, v->z + start * v->k, t, sums);
    }
    *first = sums[0] + job->aside + t * job->stiff;
    *second = sums[1] + job->stiff;
    return TN_OK;
}

/* Intercepts are settled before the look: their curvature couples the classes, which neither M nor the blocks know, and
 * through the mean of the rows it spoils the estimate. Milliseconds to 1e-3, settled near the end only, and always:
 * (3030 x 128, 101 classes) C = 3 18.7 and 13.6; (6000 x 128, 200) C = 10 43 and 32; (6000 x 512, 200) C = 1000 242 and
 * 200. Roughly while the end is far, on the way to a larger C only where products cost more. Not from the weights of
 * others, which have it behind them: logistic-cv of the last took 720 and takes 570. */
tn_status tnp_rounds_along(tnp_rounds *v)
{
    tn_status st = TN_OK;
    line_job job = {v, penalty(v, v->w), penalty(v, v->d)};
    double t = 0;
    ++v->products;
    TN_TRY(tnp_rows_pass(v->ctx, v->x, &(tnp_pass){.k = v->k, .w = v->d, .s = v->z}));
    TN_TRY(tnp_line_search(whole_line, &job, dot(v, v->g, v->d), ENOUGH, &t));
    add(v, v->w, t, v->d, v->w);
    move_scores(v, v->z, t);
    v->settled = false;
    if (v->gap <= (v->mean.t ? NEAR_MEAN : v->cold ? NEAR : NEAR_WARM) * v->tolerance * v->f)
        TN_TRY(tnp_rounds_settle(v));
    else if (v->cold && free_intercepts(v) && (v->tolerance > 0 || v->x->dim >= WIDE))
        TN_TRY(tnp_softmax_settle(&v->rows, STEPS, ROUGHLY * v->gap, v->s, v->w + v->x->dim, v->width));
    TN_TRY(tnp_rounds_look(v));
done:
    return st;
}

/* Of a team each member has the probabilities of its own rows. */
static tn_status renew(tnp_rounds *v)
{
    v->age = 0;
    return tnp_blocks_update(&v->blocks, v->s, tnp_team_shares(v->ctx) ? NULL : v->rows.p);
}

tn_status tnp_rounds_take(tnp_rounds *v)
{
    tn_status st = TN_OK;
    size_t at = (v->newest + 1) % TNP_KEPT_PAIRS;
    double scale;
    if (v->heavy && v->age % RENEW == 0)
        TN_TRY(renew(v));
    scale = scale_of(v);
    if (v->heavy && v->age > 0 && scale < STALE) {
        TN_TRY(renew(v));
        scale = scale_of(v);
    }
    direction(v, scale);
    TN_TRY(begin_pair(v, at));
    TN_TRY(v->z ? tnp_rounds_along(v) : light_step(v));
    keep_pair(v, at);
    ++v->age;
    ++v->taken;
done:
    return st;
}

/* Pairs tell the curvature at the last C, which is worse to start from than the blocks alone. */
void tnp_rounds_raise(tnp_rounds *v, float cost)
{
    double r = (double)cost / (double)v->loss.cost;
    v->loss.cost = cost;
    v->f += (r - 1) * v->sums[0];
    for (size_t i = 0; i < 1 + 2 * v->k; ++i)
        v->sums[i] *= r;
    for (size_t i = 0; i < v->k * v->width; ++i) { /* the penalty's part stays */
        float own = i % v->width < v->x->dim || v->opt->bias_penalised ? v->w[i] : 0;
        v->g[i] = own + (float)r * (v->g[i] - own);
    }
    v->pairs = v->age = 0;
}

/* ---- memory ---- */

/* Every n-th row, n such that they are at most TNP_STEP_SAMPLE and fit the array of a direction's scores. */
static tn_status choose_sample(tnp_rounds *v, const tnp_softmax *loss)
{
    size_t most = tnp_min(TNP_STEP_SAMPLE, v->rows.block), rows = v->x->rows, stride = (rows + most - 1) / most;
    double some = 0;
    v->sample = (tnp_softmax_range){0, stride, (rows + stride - 1) / stride};
    for (size_t i = 0; i < rows; i += stride)
        some += tnp_softmax_cost(loss, i);
    v->sample_scale = some > 0 ? tnp_softmax_costs(loss) / some : 1;
    return v->x->ops->sample(v->ctx, v->x->self, stride, &v->x_sample, &v->x_stride, &v->x_kept);
}

static size_t heavy_rows(const tnp_rounds *v)
{
    return v->x_kept ? tnp_min(v->x->rows, tnp_max(TNP_STEP_SAMPLE, 16 * v->k)) : v->x->rows;
}

size_t tnp_rounds_heavy_bytes(const tnp_rounds *v)
{
    size_t rows = v->x->rows, dim = v->x->dim, used = heavy_rows(v);
    return 4 * v->k * (rows + 2 * (TNP_KEPT_PAIRS - v->slots) * (dim + 1)) + tnp_blocks_bytes(used, dim, v->k) +
           tnp_max(tnp_certify_softmax_bytes(dim, v->k), tnp_probe_bytes(dim, v->k)) +
           (v->x_kept ? used * (4 * dim + 8) : 0);
}

/* All rows where they are at hand, else a copy of some. */
static tn_status take_rows(tnp_rounds *v, tnp_block_rows *of)
{
    size_t rows = v->x->rows;
    *of = (tnp_block_rows){.stride = (rows + heavy_rows(v) - 1) / heavy_rows(v)};
    of->count = (rows + of->stride - 1) / of->stride;
    tnp_free(v->b_kept);
    v->b_kept = NULL;
    return v->x->ops->sample(v->ctx, v->x->self, of->stride, &of->x, &of->ld, &v->b_kept);
}

tn_status tnp_rounds_begin_mean(tnp_rounds *v, bool *begun)
{
    tn_status st = TN_OK;
    tnp_block_rows of = {.count = 0};
    bool known = v->moment && v->moment->a;
    *begun = false;
    if (!tnp_mean_curve_pays(v->x->dim, v->k) ||
        tnp_mean_curve_bytes(v->x->dim, v->k) + tnp_rounds_heavy_bytes(v) > tnp_budget_left(v->ctx))
        return TN_OK;
    if (!known)
        TN_TRY(take_rows(v, &of));
    TN_TRY(tnp_mean_curve_init(v->ctx, v->rows.loss, known ? v->moment : NULL, &of, v->x->dim, v->opt->bias,
                               v->opt->bias_penalised, &v->mean));
    *begun = v->mean.t;
    if (*begun)
        TN_TRY(tnp_alloc_raw(v->ctx, v->x->rows * v->k, sizeof *v->z, &v->z));
done:
    return st;
}

tn_status tnp_rounds_begin_heavy(tnp_rounds *v)
{
    tn_status st = TN_OK;
    tnp_block_rows of;
    tnp_mean_curve_destroy(&v->mean);
    TN_TRY(take_rows(v, &of));
    TN_TRY(tnp_blocks_init(v->ctx, v->rows.loss, of, v->x->dim, v->opt->bias, v->opt->bias_penalised, &v->blocks));
    if (!v->z)
        TN_TRY(tnp_alloc_raw(v->ctx, v->x->rows * v->k, sizeof *v->z, &v->z));
    v->heavy = true;
    v->age = 0;
done:
    return st;
}

double tnp_rounds_nothing(const tnp_rounds *v)
{
    return tnp_softmax_costs(&v->loss) * log((double)v->k);
}

tn_status tnp_rounds_init(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss, const tnp_newton_options *options,
                          float *w, tnp_rounds *v)
{
    tn_status st = TN_OK;
    *v = (tnp_rounds){.ctx = ctx,
                      .x = x,
                      .opt = options,
                      .loss = *loss,
                      .k = loss->y->classes,
                      .width = x->dim + 1,
                      .w = w,
                      .tolerance = options->tolerance};
    size_t weights = v->k * v->width;
    TN_TRY(tnp_softmax_rows_init(ctx, &v->loss, &v->rows));
    TN_TRY(tnp_alloc(ctx, x->rows * v->k, sizeof *v->s, &v->s));
    TN_TRY(tnp_alloc(ctx, weights, sizeof *v->g, &v->g));
    TN_TRY(tnp_alloc(ctx, weights, sizeof *v->d, &v->d));
    TN_TRY(tnp_alloc(ctx, v->k, sizeof *v->dot, &v->dot));
    TN_TRY(tnp_alloc(ctx, tnp_softmax_sum_capacity(v->k), sizeof *v->sums, &v->sums));
    TN_TRY(choose_sample(v, loss));
    v->f = tnp_rounds_nothing(v);
done:
    return st;
}

void tnp_rounds_destroy(tnp_rounds *v)
{
    tnp_free_all(v->s, v->z, v->g, v->d, v->dot, v->sums, v->x_kept, v->b_kept);
    for (size_t i = 0; i < TNP_KEPT_PAIRS; ++i)
        tnp_free_all(v->ds[i], v->dg[i]);
    tnp_coarse_destroy(&v->coarse);
    tnp_mean_curve_destroy(&v->mean);
    tnp_blocks_destroy(&v->blocks);
    tnp_softmax_rows_destroy(&v->rows);
}
