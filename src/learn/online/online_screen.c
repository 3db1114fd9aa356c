/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Coarse scores of a block with proven bounds: they tell which classes can be the best wrong one, and where a margin is
 * met.
 *
 * A row r of D values is rounded to whole numbers of steps, r~ = step q, with the step so that |q_j| < 2^15 and |q| <
 * 2^15.5. Then no sum of products of two such rows leaves 32 bits, and no value is off by more than ROUND steps:
 *
 *   |r - r~| <= off = ROUND step sqrt(D)
 *   |mu'x - mu~'x~| = |(mu - mu~)'x + mu~'(x - x~)| <= off_c |x| + |mu~| off_t
 *
 * The products of a block with all classes are sums of whole numbers, twice as fast as floats; 1000 classes leave a
 * rival or two for whom the full score is taken. So learners decide by full scores only: the same bits for any block
 * and any number of threads. Half-precision floats were refused: no more exact, and fewer processors have them. So were
 * 8 bits, faster still: bounds some 30 times as wide leave 8 rivals of 1000 (4096 columns behind a ReLU), and many more
 * where few values are large.
 *
 * A move of a class inside the block, by a x_t, moves its coarse weights by a x~_t: off_c grows by |a| off_t, |mu~_c|
 * by |a| |x~_t|, and later estimates by a x~_t'x~_j. A move that is no multiple of a sample only widens off_c. Rounding
 * of floats, in estimates and in full scores, is in the bounds too: see slack_of.
 *
 * Oracle: tests/unit/test_online_screen.c, bounds against double products; the learners against tests/ref/ref_online.c.
 * */
#include "learn/online/online_screen.h"
#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { CLASSES = 16 }; /* that a thread multiplies at once: their coarse rows stay in its cache */
enum { EASE = 8 };     /* coarse products in the time of an operation as tnp_threads_for counts them */

/* ROUND: half a step, and the rounding of floats on the way there and back. Steps outside the other two would take
 * scores or their bounds out of the range of floats. */
static const double ROUND = 0.506, MOST_VALUE = 32766, MOST_LENGTH = 46339, LEAST_STEP = 1e-18, MOST_STEP = 1e13;

/* What a thread of a parallel loop sees. */
typedef struct block {
    tnp_screen *s;
    const float *mu, *x;
    size_t width, n, bundles;
} block;

static size_t bundles_of(size_t rows)
{
    return (rows + TNP_BUNDLE - 1) / TNP_BUNDLE;
}

/* Rounding of a score, relative to |mu| |x|, units of 2^-24: sums of D products in at least 8 lanes, a correction per
 * sample. */
static double slack_of(const tnp_screen *s)
{
    return 0x1p-24 * ((double)(s->dim / 8) + 2 * (double)s->rows + 64);
}

/* ---- rounding ---- */

/* Rounds a row of this squared length; returns its step. Rows too short, too long or not finite have none: they become
 * 0. */
static double round_row(const tnp_screen *s, const float *row, double squares, int16_t *out)
{
    double largest = (double)s->simd->largest_size(row, s->dim), root = sqrt((double)s->dim);
    double step = fmax(largest / MOST_VALUE, sqrt(squares) / (MOST_LENGTH - root));
    if (!(step > LEAST_STEP && step < MOST_STEP)) {
        memset(out, 0, s->dim * sizeof *out);
        return 0;
    }
    s->simd->round_steps(row, (float)(1 / step), out, s->dim);
    return step;
}

/* |row - coarse| at most, for a row of this length. */
static double off_by(const tnp_screen *s, double step, double length)
{
    return step > 0 ? ROUND * step * sqrt((double)s->dim) : isfinite(length) ? length : (double)HUGE_VALF;
}

static void round_class(const block *b, size_t c)
{
    tnp_screen *s = b->s;
    const float *mu = b->mu + c * b->width;
    double squares = s->simd->sum_squares(mu, s->dim), constant = (double)mu[s->dim];
    double step = round_row(s, mu, squares, s->w + c * s->stride), length = sqrt(squares + constant * constant);
    double off = off_by(s, step, length);
    s->w_step[c] = (float)step;
    s->reach[c] = step > 0 ? (float)(length + off) : 0;
    s->off[c] = (float)(off + slack_of(s) * length);
    s->stale[c] = 0;
}

/* Pairs of values of a bundle's rows, side by side. */
static void interleave(const tnp_screen *s, const int16_t *rows, int16_t *lanes)
{
    for (size_t p = 0; p < s->pairs; ++p)
        for (size_t l = 0; l < TNP_BUNDLE; ++l)
            memcpy(lanes + 2 * (p * TNP_BUNDLE + l), rows + l * s->stride + 2 * p, 2 * sizeof *lanes);
}

/* Returns |x|^2 of sample t without the constant. */
static double measure_sample(const block *b, size_t t)
{
    tnp_screen *s = b->s;
    double squares = s->simd->sum_squares(b->x + t * s->dim, s->dim);
    s->length[t] = squares + (double)s->constant;
    s->size[t] = (float)sqrt(s->length[t]);
    return squares;
}

static void round_bundle(const block *b, size_t bundle)
{
    tnp_screen *s = b->s;
    size_t from = bundle * TNP_BUNDLE;
    int16_t *rows = s->x + from * s->stride;
    for (size_t t = from; t < from + TNP_BUNDLE; ++t) {
        int16_t *out = s->x + t * s->stride;
        if (t >= b->n) {
            memset(out, 0, s->dim * sizeof *out);
            continue;
        }
        double squares = measure_sample(b, t), step = round_row(s, b->x + t * s->dim, squares, out);
        s->x_step[t] = (float)step;
        s->x_off[t] = (float)off_by(s, step, sqrt(squares));
    }
    interleave(s, rows, s->lanes + bundle * s->pairs * 2 * TNP_BUNDLE);
}

/* Tasks: bundles of samples, then groups of classes. */
static void round_part(void *arg, size_t i)
{
    const block *b = arg;
    if (i < b->bundles) {
        round_bundle(b, i);
        return;
    }
    size_t from = (i - b->bundles) * CLASSES, to = tnp_min(b->s->classes, from + CLASSES);
    for (size_t c = from; c < to; ++c)
        if (b->s->stale[c])
            round_class(b, c);
}

/* ---- products ---- */

/* Estimated scores of all samples for a group of classes. */
static void score_classes(const block *b, size_t from)
{
    int32_t sums[CLASSES * TNP_BUNDLE];
    tnp_screen *s = b->s;
    size_t count = tnp_min(CLASSES, s->classes - from), k = s->classes;
    for (size_t bundle = 0; bundle < b->bundles; ++bundle) {
        size_t begin = bundle * TNP_BUNDLE, rows = tnp_min(TNP_BUNDLE, b->n - begin);
        s->simd->pair_products(s->w + from * s->stride, s->stride, count, s->lanes + bundle * s->pairs * 2 * TNP_BUNDLE,
                               s->pairs, sums);
        for (size_t l = 0; l < rows; ++l) {
            float *out = s->s + (begin + l) * k + from, step = s->x_step[begin + l];
            for (size_t i = 0; i < count; ++i)
                out[i] = (float)sums[i * TNP_BUNDLE + l] * (step * s->w_step[from + i]) +
                         b->mu[(from + i) * b->width + s->dim];
        }
    }
}

/* Estimated products of a bundle's samples with themselves and later ones. */
static void multiply_bundle(const block *b, size_t bundle)
{
    int32_t sums[TNP_BUNDLE * TNP_BUNDLE];
    tnp_screen *s = b->s;
    size_t from = bundle * TNP_BUNDLE, count = tnp_min(TNP_BUNDLE, b->n - from);
    for (size_t other = bundle; other < b->bundles; ++other) {
        size_t begin = other * TNP_BUNDLE, rows = tnp_min(TNP_BUNDLE, b->n - begin);
        s->simd->pair_products(s->x + from * s->stride, s->stride, count, s->lanes + other * s->pairs * 2 * TNP_BUNDLE,
                               s->pairs, sums);
        for (size_t i = 0; i < count; ++i)
            for (size_t l = 0; l < rows; ++l)
                s->gram[(from + i) * s->rows + begin + l] =
                    (float)sums[i * TNP_BUNDLE + l] * (s->x_step[from + i] * s->x_step[begin + l]) + s->constant;
    }
}

/* Tasks: products of samples where they are wanted, then scores of groups of classes. */
static void multiply_part(void *arg, size_t i)
{
    const block *b = arg;
    size_t products = b->s->gram ? b->bundles : 0;
    if (i < products)
        multiply_bundle(b, i);
    else
        score_classes(b, (i - products) * CLASSES);
}

static void measure_part(void *arg, size_t t)
{
    measure_sample(arg, t);
}

void tnp_screen_lengths(tn_ctx *ctx, tnp_screen *s, const float *x, size_t n)
{
    block b = {.s = s, .x = x};
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)n * (double)s->dim), n, measure_part, &b);
}

void tnp_screen_estimate(tn_ctx *ctx, tnp_screen *s, const float *mu, size_t width, const float *x, size_t n)
{
    block b = {s, mu, x, width, n, bundles_of(n)};
    size_t groups = (s->classes + CLASSES - 1) / CLASSES;
    double values = (double)n * (double)s->dim;
    tnp_parallel(ctx, tnp_threads_for(ctx, 8 * values), b.bundles + groups, round_part, &b);
    double products = values * (double)(s->classes + (s->gram ? n / 2 : 0));
    tnp_parallel(ctx, tnp_threads_for(ctx, products / EASE), (s->gram ? b.bundles : 0) + groups, multiply_part, &b);
}

/* ---- a sample ---- */

size_t tnp_screen_rivals(tnp_screen *s, size_t t, size_t y, float *above)
{
    float *row = s->s + t * s->classes, own = row[y], most = -HUGE_VALF;
    const tnp_score_bounds estimate = {row, s->off, s->reach, s->size[t], s->x_off[t]};
    size_t found = 0;
    row[y] = -HUGE_VALF;
    size_t count = s->simd->may_reach(&estimate, s->simd->highest_floor(&estimate, s->classes), s->classes, s->rivals);
    row[y] = own;
    for (size_t i = 0; i < count; ++i) {
        size_t c = s->rivals[i];
        if (c == y)
            continue;
        float high = row[c] + (float)tnp_screen_bound(s, c, t);
        if (!(high <= most)) /* nothing is known of what is no number */
            most = isnan(high) ? HUGE_VALF : high;
        s->rivals[found++] = (uint32_t)c;
    }
    *above = own - (float)tnp_screen_bound(s, y, t) - most;
    return found;
}

void tnp_screen_move(tnp_screen *s, size_t t, size_t n, size_t c, float step)
{
    const float *product = s->gram + t * s->rows;
    for (size_t j = t + 1; j < n; ++j)
        s->s[j * s->classes + c] += step * product[j];
    double by = fabs((double)step), length = (double)s->size[t], off = (double)s->x_off[t];
    s->off[c] += (float)(by * (off + slack_of(s) * length));
    s->reach[c] += (float)(by * (length + off));
    s->stale[c] = 1;
}

void tnp_screen_drift(tnp_screen *s, size_t c, double by)
{
    s->off[c] += (float)(by * (1 + slack_of(s)));
    s->stale[c] = 1;
}

/* ---- making ---- */

static size_t stride_of(size_t dim)
{
    return 2 * tnp_row_stride((dim + 1) / 2);
}

size_t tnp_screen_bytes(size_t classes, size_t dim, size_t rows, bool with_gram)
{
    size_t padded = bundles_of(rows) * TNP_BUNDLE;
    return sizeof(int16_t) * (classes + 2 * padded) * stride_of(dim) +
           sizeof(float) * (padded * classes + 5 * (classes + padded) + (with_gram ? padded * padded : 0));
}

tn_status tnp_screen_new(tn_ctx *ctx, size_t classes, size_t dim, size_t rows, bool bias, bool with_gram,
                         tnp_screen **out)
{
    tn_status st = TN_OK;
    tnp_screen *s = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->simd = tnp_simd_get();
    s->classes = classes;
    s->dim = dim;
    s->rows = bundles_of(rows) * TNP_BUNDLE;
    s->stride = stride_of(dim);
    s->pairs = (dim + 1) / 2;
    s->constant = bias ? 1 : 0;
    TN_TRY(tnp_alloc(ctx, classes * s->stride, sizeof *s->w, &s->w));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *s->w_step, &s->w_step));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *s->off, &s->off));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *s->reach, &s->reach));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *s->stale, &s->stale));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *s->rivals, &s->rivals));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *s->rival_scores, &s->rival_scores));
    TN_TRY(tnp_alloc(ctx, s->rows * s->stride, sizeof *s->x, &s->x));
    TN_TRY(tnp_alloc(ctx, s->rows * s->pairs, 2 * sizeof *s->lanes, &s->lanes));
    TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->x_step, &s->x_step));
    TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->x_off, &s->x_off));
    TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->size, &s->size));
    TN_TRY(tnp_alloc(ctx, s->rows, sizeof *s->length, &s->length));
    TN_TRY(tnp_alloc_raw(ctx, s->rows * classes, sizeof *s->s, &s->s));
    if (with_gram)
        TN_TRY(tnp_alloc_raw(ctx, s->rows * s->rows, sizeof *s->gram, &s->gram));
    memset(s->stale, 1, classes);
    *out = s;
    s = NULL;
done:
    tnp_screen_free(s);
    return st;
}

void tnp_screen_free(tnp_screen *s)
{
    if (!s)
        return;
    tnp_free_all(s->w, s->w_step, s->off, s->reach, s->stale, s->rivals, s->rival_scores, s->x, s->lanes, s->x_step,
                 s->x_off, s->size, s->length, s->s, s->gram);
    tnp_free(s);
}
