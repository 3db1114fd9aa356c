/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vocabularies of any size: kmeans.c is for many small ones of at most 256 short words.
 *
 *   nearest[i] = argmin_c |x[i] - m[c]|^2 = argmax_c (x[i] - s)'(m[c] - s) - |m[c] - s|^2 / 2       s: the mean of the m
 *   k-means:  m[c] = mean of the x[i] whose nearest is c; the objective, sum_i |x[i] - m[nearest[i]]|^2, never rises
 *
 * Products of blocks of rows with all centres, about s, so that an offset common to all costs no digits; the squared
 * distance that is told is computed from the differences. Sums over rows are double, in the order of the rows: each
 * thread has its own columns, so that the result does not depend on their number.
 *
 * Start by k-means++ (Arthur, Vassilvitskii 2007): for thousands of centres distinct rows alone leave many in one place.
 * A centre without rows goes to one of the rows farthest from theirs. Oracle: tests/ref/ref_encode.c; scikit-learn. */
#include "encode/words.h"

#include "algebra/blas.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 2048, PART = 64, COLUMNS = 8 };

tn_status tnp_words_new(tn_ctx *ctx, size_t count, size_t dim, tnp_words_table *out)
{
    tn_status st = TN_OK;
    size_t all = 0;
    out->count = count;
    out->dim = dim;
    TN_TRY(tnp_mul(ctx, count, dim, &all));
    TN_TRY(tnp_alloc(ctx, all, sizeof *out->centres, &out->centres));
    TN_TRY(tnp_alloc(ctx, all, sizeof *out->moved, &out->moved));
    TN_TRY(tnp_alloc(ctx, count, sizeof *out->half, &out->half));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *out->shift, &out->shift));
done:
    return st;
}

void tnp_words_free(tnp_words_table *words)
{
    tnp_free_all(words->centres, words->moved, words->half, words->shift);
}

void tnp_words_ready(tnp_words_table *words)
{
    size_t d = words->dim;
    for (size_t j = 0; j < d; ++j) {
        double sum = 0;
        for (size_t c = 0; c < words->count; ++c)
            sum += (double)words->centres[c * d + j];
        words->shift[j] = (float)(sum / (double)words->count);
    }
    for (size_t c = 0; c < words->count; ++c) {
        double squares = 0;
        for (size_t j = 0; j < d; ++j) {
            float moved = words->centres[c * d + j] - words->shift[j];
            words->moved[c * d + j] = moved;
            squares += (double)moved * (double)moved;
        }
        words->half[c] = (float)(-0.5 * squares);
    }
}

/* ---- the nearest ---- */

typedef struct search {
    const tnp_words_table *words;
    const float *x;
    size_t rows, nearest;
    float *moved, *scores; /* (BLOCK, dim), (BLOCK, count) */
    uint32_t *which;
    float *distance;
} search;

static void begin_part(void *arg, size_t part)
{
    const search *s = arg;
    size_t d = s->words->dim, start = part * PART, n = tnp_min(PART, s->rows - start);
    for (size_t i = start; i < start + n; ++i)
        for (size_t j = 0; j < d; ++j)
            s->moved[i * d + j] = s->x[i * d + j] - s->words->shift[j];
}

static float squared_distance(const float *a, const float *b, size_t n)
{
    float sum[8] = {0}, rest = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t l = 0; l < 8; ++l)
            sum[l] += (a[i + l] - b[i + l]) * (a[i + l] - b[i + l]);
    for (; i < n; ++i)
        rest += (a[i] - b[i]) * (a[i] - b[i]);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

static void end_part(void *arg, size_t part)
{
    const search *s = arg;
    const tnp_mixture_loops *loops = tnp_simd_get()->mixtures;
    size_t d = s->words->dim, count = s->words->count, start = part * PART, n = tnp_min(PART, s->rows - start);
    for (size_t i = start; i < start + n; ++i) {
        uint32_t *which = s->which + i * s->nearest;
        loops->highest(s->scores + i * count, s->words->half, count, s->nearest, which);
        if (s->distance)
            s->distance[i] = squared_distance(s->x + i * d, s->words->centres + *which * d, d);
    }
}

tn_status tnp_words_nearest(tn_ctx *ctx, const tnp_words_table *words, const float *x, size_t n, size_t nearest,
                            uint32_t *which, float *distance)
{
    tn_status st = TN_OK;
    size_t d = words->dim, most = tnp_min(n, BLOCK);
    search s = {.words = words, .nearest = nearest};
    TN_TRY(tnp_alloc_raw(ctx, most * d, sizeof *s.moved, &s.moved));
    TN_TRY(tnp_alloc_raw(ctx, most * words->count, sizeof *s.scores, &s.scores));
    for (size_t start = 0; start < n; start += s.rows) {
        s.rows = tnp_min(BLOCK, n - start);
        s.x = x + start * d;
        s.which = which + start * nearest;
        s.distance = distance ? distance + start : NULL;
        size_t parts = (s.rows + PART - 1) / PART;
        size_t threads = tnp_threads_for(ctx, (double)s.rows * (double)(words->count + d));
        tnp_parallel(ctx, threads, parts, begin_part, &s);
        TN_TRY(tnp_sgemm_nt(ctx, s.rows, words->count, d, s.moved, d, words->moved, d, 0, s.scores, words->count));
        tnp_parallel(ctx, threads, parts, end_part, &s);
    }
done:
    tnp_free_all(s.moved, s.scores);
    return st;
}

/* ---- k-means ---- */

tn_status tnp_words_sums_new(tn_ctx *ctx, const tnp_words_table *words, bool squares, tnp_words_sums *out)
{
    tn_status st = TN_OK;
    size_t all = words->count * words->dim;
    TN_TRY(tnp_alloc(ctx, all, sizeof *out->sums, &out->sums));
    TN_TRY(tnp_alloc(ctx, words->count, sizeof *out->members, &out->members));
    TN_TRY(tnp_alloc(ctx, TNP_MOST_NEAREST * words->dim, sizeof *out->far, &out->far));
    TN_TRY(tnp_alloc(ctx, TNP_MOST_NEAREST, sizeof *out->far_away, &out->far_away));
    if (squares)
        TN_TRY(tnp_alloc(ctx, all, sizeof *out->squares, &out->squares));
done:
    return st;
}

void tnp_words_sums_free(tnp_words_sums *s)
{
    tnp_free_all(s->sums, s->members, s->far, s->far_away, s->squares);
}

void tnp_words_sums_clear(const tnp_words_table *words, tnp_words_sums *s)
{
    size_t all = words->count * words->dim;
    memset(s->sums, 0, all * sizeof *s->sums);
    memset(s->members, 0, words->count * sizeof *s->members);
    if (s->squares)
        memset(s->squares, 0, all * sizeof *s->squares);
    s->objective = 0;
    s->rows = s->far_count = 0;
}

typedef struct adding {
    const tnp_words_table *words;
    const float *x;
    const uint32_t *which;
    size_t rows;
    tnp_words_sums *to;
} adding;

/* COLUMNS columns of all rows: differences from the centre, so that float rows lose nothing. */
static void add_columns(void *arg, size_t part)
{
    const adding *a = arg;
    size_t d = a->words->dim, first = part * COLUMNS, end = tnp_min(d, first + COLUMNS);
    for (size_t i = 0; i < a->rows; ++i) {
        size_t at = (size_t)a->which[i] * d;
        for (size_t j = first; j < end; ++j) {
            double z = (double)a->x[i * d + j] - (double)a->words->centres[at + j];
            a->to->sums[at + j] += z;
            if (a->to->squares)
                a->to->squares[at + j] += z * z;
        }
    }
}

/* Keeps the rows farthest away, descending. */
static void keep_far(const tnp_words_table *words, const float *x, float away, tnp_words_sums *to)
{
    size_t d = words->dim, at = to->far_count;
    if (at == TNP_MOST_NEAREST && away <= to->far_away[at - 1])
        return;
    at = at < TNP_MOST_NEAREST ? to->far_count++ : at - 1;
    for (; at > 0 && away > to->far_away[at - 1]; --at) {
        to->far_away[at] = to->far_away[at - 1];
        memcpy(to->far + at * d, to->far + (at - 1) * d, d * sizeof *to->far);
    }
    to->far_away[at] = away;
    memcpy(to->far + at * d, x, d * sizeof *to->far);
}

tn_status tnp_words_add(tn_ctx *ctx, const tnp_words_table *words, const float *x, size_t n, tnp_words_sums *sums)
{
    tn_status st = TN_OK;
    uint32_t *which = NULL;
    float *distance = NULL;
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *which, &which));
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *distance, &distance));
    TN_TRY(tnp_words_nearest(ctx, words, x, n, 1, which, distance));
    adding a = {words, x, which, n, sums};
    tnp_parallel(ctx, tnp_threads_for(ctx, 4.0 * (double)n * (double)words->dim), (words->dim + COLUMNS - 1) / COLUMNS,
                 add_columns, &a);
    for (size_t i = 0; i < n; ++i) {
        ++sums->members[which[i]];
        sums->objective += (double)distance[i];
        keep_far(words, x + i * words->dim, distance[i], sums);
    }
    sums->rows += n;
done:
    tnp_free_all(which, distance);
    return st;
}

size_t tnp_words_update(tnp_words_table *words, const tnp_words_sums *sums)
{
    size_t d = words->dim, moved = 0;
    for (size_t c = 0; c < words->count; ++c) {
        float *centre = words->centres + c * d;
        if (sums->members[c] == 0 && moved < sums->far_count && sums->far_away[moved] > 0)
            memcpy(centre, sums->far + moved++ * d, d * sizeof *centre);
        for (size_t j = 0; sums->members[c] > 0 && j < d; ++j)
            centre[j] = (float)((double)centre[j] + sums->sums[c * d + j] / sums->members[c]);
    }
    tnp_words_ready(words);
    return moved;
}

/* ---- the start ---- */

typedef struct starting {
    const float *x, *centre;
    size_t rows, dim;
    float *away; /* (rows): squared distance from the nearest centre so far */
} starting;

enum { START_ROWS = 1024 };

static void come_nearer(void *arg, size_t part)
{
    const starting *s = arg;
    size_t first = part * START_ROWS, end = tnp_min(s->rows, first + START_ROWS);
    for (size_t i = first; i < end; ++i)
        s->away[i] = fminf(s->away[i], squared_distance(s->x + i * s->dim, s->centre, s->dim));
}

/* A row with probability proportional to its distance; the first when all are 0. */
static size_t draw_row(const starting *s, tnp_rng *rng)
{
    double total = 0, below = 0;
    size_t last = 0;
    for (size_t i = 0; i < s->rows; ++i)
        total += (double)s->away[i];
    double draw = tnp_rng_unit(rng) * total;
    for (size_t i = 0; i < s->rows; ++i)
        if (s->away[i] > 0) {
            last = i;
            below += (double)s->away[i];
            if (below > draw)
                break;
        }
    return last;
}

tn_status tnp_words_start(tn_ctx *ctx, tnp_words_table *words, const float *x, size_t n, uint64_t seed)
{
    tn_status st = TN_OK;
    size_t d = words->dim, row = 0;
    starting s = {.x = x, .rows = n, .dim = d};
    tnp_rng rng;
    tnp_rng_init(&rng, seed, 1);
    TN_TRY(tnp_alloc_raw(ctx, n, sizeof *s.away, &s.away));
    for (size_t i = 0; i < n; ++i)
        s.away[i] = HUGE_VALF;
    row = tnp_rng_below(&rng, n);
    for (size_t c = 0; c < words->count; ++c) {
        TN_TRY(tnp_cancelled(ctx));
        memcpy(words->centres + c * d, x + row * d, d * sizeof *x);
        s.centre = words->centres + c * d;
        tnp_parallel(ctx, tnp_threads_for(ctx, 3.0 * (double)n * (double)d), (n + START_ROWS - 1) / START_ROWS,
                     come_nearer, &s);
        row = draw_row(&s, &rng);
    }
    tnp_words_ready(words);
done:
    tnp_free(s.away);
    return st;
}
