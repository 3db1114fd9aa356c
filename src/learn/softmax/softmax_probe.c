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
 * where e are the slopes in b; A_float in the place of A is off by at most a |W|, and |A| <= |A_float| + a. So d counts
 * in squares and few vectors do. 12 columns of one product in double, instead of 2 k columns of two. */
#include "learn/softmax/softmax_probe.h"
#include "algebra/blas.h"
#include "learn/linear/certify.h"

#include <math.h>
#include <string.h>

enum { OF_SUMS = 8, OF_SCORES = 4, ALL = OF_SUMS + OF_SCORES, LEAST_CLASSES = 24, CHUNK = 16 };
static const double MARGIN_SUMS = 80, MARGIN_SCORES = 2600;

typedef struct work {
    const tnp_softmax *l;
    const float *s;
    size_t k;
    double *by_class; /* (OF_SCORES, k): the r of the scores */
} work;

/* Places in the sums: single numbers first, then mass and disorder, (k) each, and Theta'(X r), (k, OF_SUMS). */
enum { LOSS, OFF, AT_SCORES, SINGLES };

static size_t sums_of(size_t k)
{
    return SINGLES + k * (2 + OF_SUMS);
}

/* probed (ALL): X r, then X (W'r) + b'r; q (k) is scratch. */
static void measure_row(const work *g, size_t row, const double *probed, double *q, double *sum)
{
    size_t k = g->k, own = g->l->y->cls[g->l->y->first[row]];
    const float *s = g->s + row * k;
    double c = tnp_softmax_cost(g->l, row);
    double most = -INFINITY, total = 0, *mass = sum + SINGLES, *disorder = mass + k, *turned = disorder + k;
    for (size_t j = 0; j < k; ++j)
        most = fmax(most, (double)s[j]);
    for (size_t j = 0; j < k; ++j)
        total += q[j] = exp((double)s[j] - most);
    double whole = most + log(total);
    sum[LOSS] += c * ((most - (double)s[own]) + log(total));
    for (size_t j = 0; j < k; ++j) {
        double p = q[j] / total, theta = c * (p - (j == own ? 1 : 0));
        mass[j] += c * p;
        disorder[j] += c * p * (whole - (double)s[j]);
        sum[AT_SCORES] += theta * (double)s[j];
        for (size_t l = 0; l < OF_SUMS; ++l)
            turned[j * OF_SUMS + l] += theta * probed[l];
    }
    for (size_t l = 0; l < OF_SCORES; ++l) {
        double off = -probed[OF_SUMS + l];
        for (size_t j = 0; j < k; ++j)
            off += g->by_class[l * k + j] * (double)s[j];
        sum[OFF] += off * off;
    }
}

static void measure(void *arg, const tnp_wide_panel *at)
{
    for (size_t i = 0; i < at->count; ++i)
        measure_row(arg, at->start + i, at->s + i * ALL, at->scratch, at->sums);
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
static void make_probes(const tnp_softmax_claim *claim, size_t dim, size_t k, const double *by_class, double *a)
{
    size_t width = dim + 1;
    for (size_t l = 0; l < OF_SUMS; ++l)
        a[l * width + dim] = 0;
    for (size_t l = 0; l < OF_SCORES; ++l)
        for (size_t j = 0; j < k; ++j)
            for (size_t i = 0; i < width; ++i)
                a[(OF_SUMS + l) * width + i] += by_class[l * k + j] * (double)claim->w[j * width + i];
}

typedef struct bound {
    const tnp_softmax_claim *claim;
    const tnp_probe *probe;
    const double *a;
    double *sums; /* sums_of(k) of all rows, then k: sums of c by class */
    double longest;
    size_t dim, k;
    double off, square, weights,
        at_weights; /* of sums of rows: what is off, squared; |A_float|^2, |W|^2, <A_float, W> */
} bound;

static void compare_sums(bound *b)
{
    size_t width = b->dim + 1;
    const double *turned = b->sums + SINGLES + 2 * b->k;
    for (size_t j = 0; j < b->k; ++j) {
        double along[OF_SUMS] = {0};
        for (size_t i = 0; i < b->dim; ++i) {
            double w = (double)b->claim->w[j * width + i], sum = (double)b->probe->g[j * width + i] - w;
            b->square += sum * sum;
            b->weights += w * w;
            b->at_weights += sum * w;
            for (size_t l = 0; l < OF_SUMS; ++l)
                along[l] += sum * b->a[l * width + i];
        }
        for (size_t l = 0; l < OF_SUMS; ++l)
            b->off += pow(along[l] - turned[j * OF_SUMS + l], 2);
    }
}

static void conclude(bound *b, const tnp_softmax *l, double *objective, double *gap)
{
    const double *mass = b->sums + SINGLES, *disorder = mass + b->k;
    double dual = 0, slopes = 0, most = 0, moved = -b->sums[AT_SCORES], *own = b->sums + sums_of(b->k);
    compare_sums(b);
    double a = sqrt(MARGIN_SUMS / OF_SUMS * b->off), square_d = MARGIN_SCORES / OF_SCORES * b->sums[OFF];
    for (size_t i = 0; i < l->y->rows; ++i) {
        double c = tnp_softmax_cost(l, i);
        own[l->y->cls[l->y->first[i]]] += c;
        most = fmax(most, c);
    }
    for (size_t j = 0; b->claim->bias && j < b->k; ++j)
        moved += (mass[j] - own[j]) * (double)b->claim->w[j * (b->dim + 1) + b->dim];
    for (size_t j = 0; j < b->k; ++j) { /* see tnp_softmax_bound */
        double off = b->claim->bias ? mass[j] - own[j] : 0, share = off > 0 ? off / mass[j] : 0;
        dual += (1 - share) * disorder[j] - fmax(0, off);
        slopes += off * off;
    }
    dual -= pow(sqrt(b->square) + a + sqrt(slopes * b->longest), 2) / 2;
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
    return tnp_wide_pass_bytes(dim, ALL, CHUNK, sums_of(k) + k) +
           8 * (ALL * (dim + 1) + (OF_SCORES + 1) * k + sums_of(k));
}

tn_status tnp_probe_softmax(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax_claim *claim, const tnp_probe *probe,
                            double *objective, double *gap)
{
    tn_status st = TN_OK;
    size_t dim = x->dim, k = claim->loss->y->classes;
    double *a = NULL, *sums = NULL, longest;
    work g = {.l = claim->loss, .s = probe->s, .k = k};
    TN_TRY(tnp_alloc(ctx, ALL * (dim + 1), sizeof *a, &a));
    TN_TRY(tnp_alloc_raw(ctx, OF_SCORES * k, sizeof *g.by_class, &g.by_class));
    TN_TRY(tnp_alloc(ctx, sums_of(k) + k, sizeof *sums, &sums));
    fill_normal(probe->seed, a, OF_SUMS * (dim + 1));
    fill_normal(probe->seed + 1, g.by_class, OF_SCORES * k);
    make_probes(claim, dim, k, g.by_class, a);
    tnp_wide_pass pass = {.k = ALL,
                          .w = a,
                          .body = measure,
                          .arg = &g,
                          .chunk = CHUNK,
                          .work = (double)k * (40 + 2 * ALL),
                          .scratch = k,
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
