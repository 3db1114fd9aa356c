/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bound of learn/certify_softmax.c needs the scores S = X W' + b and the sums A = Theta'X. Both are known in float,
 * and how far they are off is measured instead of computing them again: for a matrix E of errors and a vector r of
 * standard normal numbers, |E r|^2 has the mean |E|^2, and E r costs one column of a product:
 *
 *   (S_float - S) r = S_float r - (X (W'r) + b'r),      (A_float - A) r = A_float r - Theta'(X r)
 *
 * With n vectors the sum of squares over n is below |E|^2 / margin with a probability of less than 3e-7, however the
 * error is spread (a chi-square of n degrees of freedom below n / margin). With d and a bounding |E| for S and A, and
 * Theta the slopes at S_float,
 *
 *   loss(S) <= loss(S_float) + <Theta, S - S_float> + c_max d^2 / 4,
 *   <Theta, S - S_float> = <A, W> + e'b - <Theta, S_float>
 *
 * where e are the slopes in b; A_float in the place of A is off by at most a |W|. The sums theta' of the bound, whose
 * slopes are 0, are those of A moved by at most |e_k| max |x_i| for class k, so that their length is at most
 *
 *   a + sqrt(sum_k (|A_float,k| + |e_k| max |x_i|)^2).
 *
 * So d counts in squares and few vectors do. 12 columns of one product in double, instead of 2 k columns of two. */
#include "learn/softmax/softmax_probe.h"
#include "algebra/blas.h"
#include "learn/linear/certify.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { ALL = TNP_LANES + TNP_PROBES, LEAST_CLASSES = 24, CHUNK = 16 }; /* those of the sums, then of the scores */
static const double MARGIN_SUMS = 80, MARGIN_SCORES = 2600;

typedef struct work {
    const tnp_softmax *l;
    const float *s;
    size_t k, stride; /* stride: as tnp_probe_row has it */
    double *by_class; /* (TNP_PROBES, stride): the r of the scores */
} work;

/* Places in the sums: single numbers first, then mass and disorder, (stride) each, and Theta'(X r), (stride,
 * TNP_LANES). */
enum { LOSS, OFF, SINGLES };

static size_t stride_of(size_t k)
{
    return (k + TNP_PROBE_PAD - 1) / TNP_PROBE_PAD * TNP_PROBE_PAD;
}

static size_t sums_of(size_t k)
{
    return SINGLES + stride_of(k) * (2 + TNP_LANES);
}

/* s of the panel (count, ALL): X r, then X (W'r) + b'r. */
static void measure(void *arg, const tnp_wide_panel *at)
{
    const work *g = arg;
    const tnp_targets *y = g->l->y;
    double *mass = at->sums + SINGLES;
    for (size_t i = 0; i < at->count; ++i) {
        size_t row = at->start + i;
        tnp_simd_get()->probe_row(&(tnp_probe_row){.s = g->s + row * g->k,
                                                   .k = g->k,
                                                   .stride = g->stride,
                                                   .own = y->cls[y->first[row]],
                                                   .cost = tnp_softmax_cost(g->l, row),
                                                   .probed = at->s + i * ALL,
                                                   .by_class = g->by_class,
                                                   .scratch = at->scratch,
                                                   .loss = at->sums + LOSS,
                                                   .off = at->sums + OFF,
                                                   .mass = mass,
                                                   .disorder = mass + g->stride,
                                                   .turned = mass + 2 * g->stride});
    }
}

/* Standard normal numbers (Box and Muller). */
static void fill_normal(uint64_t seed, double *x, size_t n)
{
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 2);
    for (size_t i = 0; i < n; ++i)
        x[i] = sqrt(-2 * log(1 - tnp_rng_unit(&rng))) * cos(6.283185307179586477 * tnp_rng_unit(&rng));
}

/* a (ALL, dim + 1): r of the sums of rows, then W'r of the scores with b'r last. */
static void make_probes(const tnp_softmax_claim *claim, size_t dim, const work *g, double *a)
{
    size_t width = dim + 1;
    for (size_t l = 0; l < TNP_LANES; ++l)
        a[l * width + dim] = 0;
    for (size_t l = 0; l < TNP_PROBES; ++l)
        for (size_t j = 0; j < g->k; ++j)
            for (size_t i = 0; i < width; ++i)
                a[(TNP_LANES + l) * width + i] += g->by_class[l * g->stride + j] * (double)claim->w[j * width + i];
}

typedef struct bound {
    const tnp_softmax_claim *claim;
    const tnp_probe *probe;
    const double *a;
    double *sums; /* sums_of(k) of all rows, then k: sums of c by class */
    double longest;
    size_t dim, k;
    double off, square, weights, at_weights; /* of sums of rows: what is off, squared; the sum over k of the bound,
                                                |W|^2, <A_float, W> */
} bound;

/* Slope of class j in a free intercept. */
static double slope_of(const bound *b, size_t j)
{
    return b->claim->bias ? b->sums[SINGLES + j] - b->sums[sums_of(b->k) + j] : 0;
}

static void compare_sums(bound *b)
{
    size_t width = b->dim + 1;
    const double *turned = b->sums + SINGLES + 2 * stride_of(b->k), reach = sqrt(b->longest);
    for (size_t j = 0; j < b->k; ++j) {
        double along[TNP_LANES] = {0}, square = 0;
        for (size_t i = 0; i < b->dim; ++i) {
            double w = (double)b->claim->w[j * width + i], sum = (double)b->probe->g[j * width + i] - w;
            square += sum * sum;
            b->weights += w * w;
            b->at_weights += sum * w;
            for (size_t l = 0; l < TNP_LANES; ++l)
                along[l] += sum * b->a[l * width + i];
        }
        for (size_t l = 0; l < TNP_LANES; ++l)
            b->off += pow(along[l] - turned[j * TNP_LANES + l], 2);
        b->square += pow(sqrt(square) + fabs(slope_of(b, j)) * reach, 2);
    }
}

static void conclude(bound *b, const tnp_softmax *l, double *objective, double *gap)
{
    const double *mass = b->sums + SINGLES, *disorder = mass + stride_of(b->k);
    double dual = 0, most = 0, moved = -b->sums[LOSS], *own = b->sums + sums_of(b->k);
    for (size_t i = 0; i < l->y->rows; ++i) {
        double c = tnp_softmax_cost(l, i);
        own[l->y->cls[l->y->first[i]]] += c;
        most = fmax(most, c);
    }
    compare_sums(b);
    double a = sqrt(MARGIN_SUMS / TNP_LANES * b->off), square_d = MARGIN_SCORES / TNP_PROBES * b->sums[OFF];
    for (size_t j = 0; j < b->k; ++j) { /* see tnp_softmax_bound */
        double off = slope_of(b, j), share = off > 0 ? off / mass[j] : 0;
        dual += (1 - share) * disorder[j] - fmax(0, off);
        moved += disorder[j] + off * (double)b->claim->w[j * (b->dim + 1) + b->dim];
    }
    dual -= pow(sqrt(b->square) + a, 2) / 2;
    moved += b->at_weights;
    *objective = b->sums[LOSS] + moved + b->weights / 2;
    *gap = fmax(0, *objective + a * sqrt(b->weights) + most * square_d / 4 - fmax(0, dual)) +
           tnp_certify_rounding(*objective + fabs(dual) + fabs(b->at_weights));
}

bool tnp_probe_pays(size_t classes)
{
    return classes >= LEAST_CLASSES;
}

size_t tnp_probe_bytes(size_t dim, size_t k)
{
    return tnp_wide_pass_bytes(dim, ALL, CHUNK, sums_of(k) + 2 * stride_of(k)) +
           8 * (ALL * (dim + 1) + (TNP_PROBES + 1) * stride_of(k) + sums_of(k));
}

tn_status tnp_probe_softmax(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax_claim *claim, const tnp_probe *probe,
                            double *objective, double *gap)
{
    tn_status st = TN_OK;
    size_t dim = x->dim, k = claim->loss->y->classes;
    double *a = NULL, *sums = NULL, longest;
    work g = {.l = claim->loss, .s = probe->s, .k = k, .stride = stride_of(k)};
    TN_TRY(tnp_alloc(ctx, ALL * (dim + 1), sizeof *a, &a));
    TN_TRY(tnp_alloc(ctx, TNP_PROBES * g.stride, sizeof *g.by_class, &g.by_class));
    TN_TRY(tnp_alloc(ctx, sums_of(k) + k, sizeof *sums, &sums));
    fill_normal(probe->seed, a, TNP_LANES * (dim + 1));
    for (size_t l = 0; l < TNP_PROBES; ++l)
        fill_normal(probe->seed + 1 + l, g.by_class + l * g.stride, k);
    make_probes(claim, dim, &g, a);
    tnp_wide_pass pass = {.k = ALL,
                          .w = a,
                          .body = measure,
                          .arg = &g,
                          .chunk = CHUNK,
                          .work = (double)k * (20 + 2 * ALL),
                          .scratch = 2 * g.stride,
                          .sum_count = sums_of(k),
                          .sums = sums,
                          .longest = &longest};
    TN_TRY(tnp_rows_wide_pass(ctx, x, &pass));
    conclude(&(bound){.claim = claim, .probe = probe, .a = a, .sums = sums, .longest = longest, .dim = dim, .k = k},
             claim->loss, objective, gap);
done:
    tnp_free_all(a, g.by_class, sums);
    return st;
}
