/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entries by size, counted once, for everything that learning asks of their distribution: the scale, the histogram, and
 * the second moment of the basis
 *
 *   S = sum over entries f(x) f(x)',  x = min(1, scale |x|)      S = Q diag(s) Q',  B = the first r columns of Q
 *
 * The 39 functions overlap: 22 or 23 directions hold all but 1e-9 of S on features of networks, and a machine trained
 * on B'f has the objective of one trained on f to that order, at 0.6 of the width. Leaving out more was refused: the
 * spectrum ends like a wall, 1e-5 would save one direction.
 *
 * Sizes are counted by their bits, not in equal parts of a range: the range is not known before, and most entries are
 * far below the largest. Oracle: tests/ref/ref_map_learn.c. */
#include "learn/map/map_moments.h"
#include "algebra/blas.h"
#include "transform/map.h"

#include <math.h>
#include <string.h>

enum { SHIFT = 12, BINS = (0x3f800000 >> SHIFT) + 1, BLOCK_VALUES = 1 << 20, M = TN_BASIS_SIZE };

tn_status tnp_entries_init(tn_ctx *ctx, tnp_entries *entries)
{
    *entries = (tnp_entries){0};
    return tnp_alloc(ctx, BINS, sizeof *entries->count, &entries->count);
}

void tnp_entries_destroy(tnp_entries *entries)
{
    tnp_free(entries->count);
    entries->count = NULL;
}

tn_status tnp_entries_add(tn_ctx *ctx, tnp_entries *entries, const tn_feed *feed)
{
    tn_status st = TN_OK;
    float *x = NULL;
    size_t cols = tn_feed_cols(feed), rows = tn_feed_rows(feed);
    size_t block = tnp_max(1, tnp_min(rows, BLOCK_VALUES / tnp_max(cols, 1)));
    TN_TRY(tnp_alloc_raw(ctx, block * cols, sizeof *x, &x));
    for (size_t start = 0, n; start < rows; start += n) {
        n = tnp_min(block, rows - start);
        TN_TRY(tnp_progress(ctx, "counting", start, rows));
        TN_TRY(tn_feed_read(ctx, feed, start, n, x, cols));
        for (size_t i = 0; i < n * cols; ++i) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            bits &= 0x7fffffff;
            entries->zeros += bits == 0;
            if (bits != 0)
                ++entries
                      ->count[tnp_min(bits >> SHIFT, BINS - 1)]; /* a row of one entry may be above 1 by a rounding */
        }
        entries->total += n * cols;
    }
    TN_TRY(tnp_progress(ctx, "counting", rows, rows));
done:
    tnp_free(x);
    return st;
}

/* Where bin b begins; the last bin is the number 1 alone. */
static double edge(size_t b)
{
    uint32_t bits = (uint32_t)tnp_min(b, BINS - 1) << SHIFT;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double middle(size_t b)
{
    return (edge(b) + edge(b + 1)) / 2;
}

double tnp_entries_quantile(const tnp_entries *entries, double share)
{
    double wanted = share * (double)entries->total - (double)entries->zeros, seen = 0;
    if (wanted <= 0)
        return 0;
    for (size_t b = 0; b < BINS; ++b) {
        double count = (double)entries->count[b];
        if (count > 0 && seen + count >= wanted)
            return edge(b) + (wanted - seen) / count * (edge(b + 1) - edge(b));
        seen += count;
    }
    return 1;
}

void tnp_entries_histogram(const tnp_entries *entries, double scale, double *bins, double *beyond)
{
    *beyond = 0;
    memset(bins, 0, TN_MAP_BINS * sizeof *bins);
    for (size_t b = 0; b < BINS; ++b) {
        double x = scale * middle(b), count = (double)entries->count[b];
        bins[(size_t)fmin(x * TN_MAP_BINS, TN_MAP_BINS - 1)] += count;
        *beyond += x > 1 ? count : 0;
    }
}

/* moment (M, M), upper triangle, += count f(x) f(x)'. */
static void add_moment(tn_basis basis, double x, double count, double *moment)
{
    double f[M];
    tnp_basis_values(basis, x, f, NULL);
    for (size_t i = 0; i < M; ++i)
        for (size_t j = i; j < M; ++j)
            moment[i * M + j] += count * f[i] * f[j];
}

tn_status tnp_entries_directions(tn_ctx *ctx, const tnp_entries *entries, tn_basis basis, double scale, double left_out,
                                 double *b, size_t *rank)
{
    double moment[M * M] = {0}, values[M], total = 0, left = 0;
    size_t r = M;
    for (size_t e = 0; e < BINS; ++e)
        if (entries->count[e] > 0)
            add_moment(basis, fmin(1, scale * middle(e)), (double)entries->count[e], moment);
    if (entries->zeros > 0) /* nothing, unless f(0) is something */
        add_moment(basis, 0, (double)entries->zeros, moment);
    tn_status st = tnp_eigen(ctx, M, moment, values);
    if (st != TN_OK)
        return st;
    for (size_t i = 0; i < M; ++i)
        total += fmax(values[i], 0);
    for (size_t i = 0; i < M && left + fmax(values[i], 0) <= left_out * total && r > 1; ++i, --r)
        left += fmax(values[i], 0);
    for (size_t i = 0; i < r; ++i)
        for (size_t m = 0; m < M; ++m)
            b[m * r + i] = moment[(M - 1 - i) * M + m];
    *rank = r;
    return TN_OK;
}
