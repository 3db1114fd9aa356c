/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The nearest class mean. With m_k the (weighted) mean of the rows of class k, m the mean of the K means, d_k = m_k -
 * m:
 *
 *   score_k(x) = 1/2 + scale/2 (|x - m|^2 - |x - m_k|^2)
 *              = 1/2 + scale (d_k'(x - m) - |d_k|^2 / 2)                 scale = K / sum_k |d_k|^2
 *
 * The largest score is that of the nearest mean. The scale makes a class score 1 at its own mean and 0 at m, on average
 * over classes, as targets of 0 and 1 would have it, and all scores of a row sum to 0. For classes of one size the
 * weights are those of ridge regression for lambda -> infinity, times lambda scale / size. Ridge's own intercept, the
 * class's share of the rows less m'w, was refused: of classes of one size it favours those whose mean is far from m,
 * and of others the largest always wins.
 *
 * Without an intercept a score is the cosine with the class mean, times |x| and the same kind of scale: m_k'x / |m_k| /
 * (mean of the |m_k|).
 *
 * Without row x of class y, of n rows (with weights: whose weight is n times that of x), m_y moves by e = (m_y - x)/(n
 * - 1) and m by e/K; with z = x - m all that is needed is |z|^2, |d_k|^2 and z'd_k:
 *
 *   |x - m_y - e|^2 = (n/(n-1))^2 |z - d_y|^2         sum_k |d_k|^2  becomes  sum_k |d_k|^2 + 2 d_y'e + (1 - 1/K) |e|^2
 *
 * Oracle: distances and refits by loops, tests/unit/test_class_means.c. */
#include "learn/ridge/class_means.h"
#include "algebra/blas.h"
#include "base/team.h"
#include "learn/design/gather.h"
#include "transform/feed.h"

#include <math.h>
#include <string.h>

enum { ROWS = 256 };

static tn_status means_alloc(tn_ctx *ctx, size_t classes, size_t dim, tnp_class_means **out)
{
    tn_status st = TN_OK;
    tnp_class_means *m = NULL;
    size_t size = 0;
    TN_TRY(tnp_mul(ctx, classes, dim, &size));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *m, &m));
    m->classes = classes;
    m->dim = dim;
    TN_TRY(tnp_alloc(ctx, classes, sizeof *m->sizes, &m->sizes));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *m->total, &m->total));
    TN_TRY(tnp_alloc(ctx, size, sizeof *m->mean, &m->mean));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *m->square, &m->square));
    TN_TRY(tnp_alloc(ctx, dim, sizeof *m->centre, &m->centre));
    *out = m;
    m = NULL;
done:
    tnp_class_means_free(m);
    return st;
}

void tnp_class_means_free(tnp_class_means *m)
{
    if (!m)
        return;
    tnp_free_all(m->sizes, m->total, m->mean, m->square, m->centre, m);
}

static double weight_of(const tnp_targets *y, size_t row)
{
    return y->weight ? y->weight[row] : 1;
}

/* Sums of one feed's rows by class, each times its weight, into the columns that begin at `at`, less the first row: a
 * common offset costs no digits; of a team the member's part of them. block (ROWS, cols). */
static tn_status add_rows(tn_ctx *ctx, tnp_class_means *m, const tn_feed *feed, const tnp_targets *y, const bool *skip,
                          size_t at, double *block)
{
    size_t cols = tn_feed_cols(feed), *cut = NULL, from, to;
    tn_status st = tnp_feeds_cut(ctx, &feed, 1, ROWS, &cut);
    if (st != TN_OK)
        return st;
    tnp_team_own(ctx, cut, &from, &to);
    tnp_free(cut);
    if (from > 0) {
        st = tn_feed_read_wide(ctx, feed, 0, 1, m->centre + at, cols);
        if (st != TN_OK)
            return st;
    }
    for (size_t start = from; start < to; start += ROWS) {
        size_t n = tnp_min(ROWS, to - start);
        st = tnp_progress(ctx, "class means", start, y->rows);
        if (st == TN_OK)
            st = tn_feed_read_wide(ctx, feed, start, n, block, cols);
        if (st != TN_OK)
            return st;
        if (start == 0)
            memcpy(m->centre + at, block, cols * sizeof *block);
        for (size_t i = 0; i < n; ++i) {
            double *sum = m->mean + y->cls[y->first[start + i]] * m->dim + at, weight = weight_of(y, start + i);
            for (size_t j = 0; j < cols && !(skip && skip[start + i]); ++j)
                sum[j] += weight * (block[i * cols + j] - m->centre[at + j]);
        }
    }
    return TN_OK;
}

/* Sums about m->centre, the first row, to means about their own mean, or about zero. */
static void finish_means(tnp_class_means *m)
{
    for (size_t k = 0; k < m->classes; ++k)
        for (size_t j = 0; j < m->dim && m->sizes[k] > 0; ++j)
            m->mean[k * m->dim + j] /= m->total[k];
    for (size_t j = 0; j < m->dim; ++j) {
        double shift = m->intercept ? 0 : -m->centre[j];
        for (size_t k = 0; m->intercept && k < m->classes; ++k)
            shift += m->mean[k * m->dim + j] / (double)m->present;
        for (size_t k = 0; k < m->classes; ++k)
            m->mean[k * m->dim + j] -= m->sizes[k] > 0 ? shift : 0;
        m->centre[j] += shift;
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; ++j)
        sum += a[j] * b[j];
    return sum;
}

/* With an intercept the sum of the squares, else of the lengths: what scale is the inverse mean of. */
static double total_size(const tnp_class_means *m)
{
    double sum = 0;
    for (size_t k = 0; k < m->classes; ++k)
        sum += m->intercept ? m->square[k] : sqrt(m->square[k]);
    return sum;
}

static double scale_of(const tnp_class_means *m, double total)
{
    return total > 0 && isfinite(total) ? (double)m->present / total : 0;
}

tn_status tnp_class_means_new(tn_ctx *ctx, const tn_feed *const *feeds, size_t count, const tnp_targets *y,
                              const bool *skip, bool intercept, tnp_class_means **out)
{
    tn_status st = TN_OK;
    tnp_class_means *m = NULL;
    double *block = NULL;
    size_t dim = 0, widest = 0;
    for (size_t f = 0; f < count; ++f) {
        dim += tn_feed_cols(feeds[f]);
        widest = tnp_max(widest, tn_feed_cols(feeds[f]));
    }
    TN_TRY(means_alloc(ctx, y->classes, dim, &m));
    TN_TRY(tnp_alloc_raw(ctx, ROWS * widest, sizeof *block, &block));
    m->intercept = intercept;
    for (size_t i = 0; i < y->rows; ++i)
        if (!skip || !skip[i]) {
            m->present += m->sizes[y->cls[y->first[i]]]++ == 0;
            m->total[y->cls[y->first[i]]] += weight_of(y, i);
        }
    for (size_t f = 0, at = 0; f < count; at += tn_feed_cols(feeds[f++]))
        TN_TRY(add_rows(ctx, m, feeds[f], y, skip, at, block));
    TN_TRY(tnp_team_sum(ctx, m->mean, y->classes * dim));
    finish_means(m);
    for (size_t k = 0; k < m->classes; ++k)
        m->square[k] = dot(m->mean + k * dim, m->mean + k * dim, dim);
    m->scale = scale_of(m, total_size(m));
    *out = m;
    m = NULL;
done:
    tnp_class_means_free(m);
    tnp_free(block);
    return st;
}

void tnp_class_means_weights(const tnp_class_means *m, float *weight, float *bias)
{
    for (size_t k = 0; k < m->classes; ++k) {
        double length = sqrt(m->square[k]), factor = m->intercept || length == 0 ? m->scale : m->scale / length;
        double offset = 0;
        for (size_t j = 0; j < m->dim; ++j) {
            weight[k * m->dim + j] = (float)(factor * m->mean[k * m->dim + j]);
            offset += m->centre[j] * (double)weight[k * m->dim + j]; /* as rounded, see ridge.c */
        }
        bias[k] = m->intercept ? (float)(0.5 - factor * m->square[k] / 2 - offset) : 0.0f;
    }
}

/* ---- leave-one-out ---- */

/* Scores of a row of class y from its products with the means (classes), in place, and its own square; n: rows of its
 * weight that the class amounts to. */
static void left_out_scores(const tnp_class_means *m, size_t y, double n, double square, double *s)
{
    double k = (double)m->present, left = n - 1;
    double apart = fmax(square - 2 * s[y] + m->square[y], 0); /* |z - d_y|^2 */
    double e_z = (s[y] - square) / left, e_d = (m->square[y] - s[y]) / left, e_e = apart / left / left;
    double from_centre = square - 2 * e_z / k + e_e / k / k; /* |x - m - e/K|^2 */
    double scale = scale_of(m, total_size(m) + 2 * e_d + (1 - 1 / k) * e_e);
    for (size_t c = 0; c < m->classes; ++c) {
        double distance = c == y ? apart * (n / left) * (n / left) : square - 2 * s[c] + m->square[c];
        s[c] = m->sizes[c] > 0 ? 0.5 + scale / 2 * (from_centre - distance) : 0;
    }
}

/* The same without an intercept: products over lengths. */
static void left_out_cosines(const tnp_class_means *m, size_t y, double n, double square, double *s)
{
    double left = n - 1, own = (n * s[y] - square) / left;
    double length = sqrt(fmax(n * n * m->square[y] - 2 * n * s[y] + square, 0)) / left;
    double scale = scale_of(m, total_size(m) - sqrt(m->square[y]) + length);
    for (size_t c = 0; c < m->classes; ++c) {
        double product = c == y ? own : s[c], by = c == y ? length : sqrt(m->square[c]);
        s[c] = by > 0 ? scale * product / by : 0;
    }
}

/* Turns the products z'mean_k (classes) of a row of class y into its scores; weight is the row's, square is |z|^2. */
typedef void (*finish_fn)(const tnp_class_means *m, size_t y, double weight, double square, double *s);

static tn_status walk(tn_ctx *ctx, const tnp_class_means *m, const tn_feed *const *feeds, size_t count,
                      const tnp_targets *y, const size_t *rows, size_t n, finish_fn finish, double *out)
{
    tn_status st = TN_OK;
    double *z = NULL;
    size_t k = m->classes, from, to;
    tnp_team_part(ctx, n, 1, &from, &to);
    TN_TRY(tnp_alloc_raw(ctx, tnp_min(n, ROWS) * m->dim, sizeof *z, &z));
    for (size_t start = from, part; start < to; start += part) {
        part = tnp_min(ROWS, to - start);
        TN_TRY(tnp_progress(ctx, "leave-one-out", start - from, to - from));
        TN_TRY(tnp_feeds_pick_wide(ctx, feeds, count, rows + start, part, m->centre, z));
        TN_TRY(tnp_dgemm_nt(ctx, part, k, m->dim, z, m->dim, m->mean, m->dim, 0, out + start * k, k));
        for (size_t i = 0; i < part; ++i)
            finish(m, y ? y->cls[y->first[rows[start + i]]] : 0, y ? weight_of(y, rows[start + i]) : 1,
                   dot(z + i * m->dim, z + i * m->dim, m->dim), out + (start + i) * k);
    }
    TN_TRY(tnp_team_gather(ctx, out, n, 1, k * sizeof *out));
done:
    tnp_free(z);
    return st;
}

static void plain(const tnp_class_means *m, size_t y, double weight, double square, double *s)
{
    (void)y;
    (void)weight;
    (void)square;
    for (size_t c = 0; c < m->classes; ++c) {
        double length = sqrt(m->square[c]);
        if (m->sizes[c] == 0)
            s[c] = 0;
        else if (m->intercept)
            s[c] = 0.5 + m->scale * (s[c] - m->square[c] / 2);
        else
            s[c] *= length > 0 ? m->scale / length : 0;
    }
}

static void left_out(const tnp_class_means *m, size_t y, double weight, double square, double *s)
{
    if (m->sizes[y] < 2)
        memset(s, 0, m->classes * sizeof *s);
    else if (m->intercept)
        left_out_scores(m, y, m->total[y] / weight, square, s);
    else
        left_out_cosines(m, y, m->total[y] / weight, square, s);
}

tn_status tnp_class_means_scores(tn_ctx *ctx, const tnp_class_means *m, const tn_feed *const *feeds, size_t count,
                                 const size_t *rows, size_t n, double *out)
{
    return walk(ctx, m, feeds, count, NULL, rows, n, plain, out);
}

tn_status tnp_class_means_loo(tn_ctx *ctx, const tnp_class_means *m, const tn_feed *const *feeds, size_t count,
                              const tnp_targets *y, const size_t *rows, size_t n, double *out)
{
    return walk(ctx, m, feeds, count, y, rows, n, left_out, out);
}
