/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass of rows.h by one thread per group of rows:
 *
 *   for a tile of the group   s = x w' + b    body, chunk by chunk    part += t'x
 *   back = sum of the parts, in their order
 *
 * A product that two threads share takes a tenth of a millisecond here, as long as they need to meet before and after it,
 * and the threads of the BLAS then look for work for milliseconds on the cores that the next loop over rows is to have.
 * So the rows meet once per pass, and every product is made by one thread. Groups depend on the number of rows only: the
 * bits are the same for every number of threads.
 *
 * In double a tile's rows are widened first, so few that they stay in the cache of a core until they have been
 * multiplied forth and back; the thread then has its next tile in the same place. A place per group was 4 MB of new
 * pages for (1500 x 512), a tenth of a fit. */
#include "learn/design/tiles.h"
#include "algebra/blas.h"
#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { GROUPS = 8, GROUP_ROWS = 256, LEAST_TILE = 16, MOST_TILE = 256, WIDE_BYTES = 1 << 19, MOST_PART = 1 << 18 };

/* Rows of a tile: all that may be where they are taken as they lie, else as many as stay in the cache. */
static size_t tile_rows(size_t dim, bool widened)
{
    size_t fit = WIDE_BYTES / (sizeof(double) * tnp_max(1, dim));
    return widened ? tnp_min(MOST_TILE, tnp_max(LEAST_TILE, fit)) : MOST_TILE;
}

static size_t group_count(size_t rows)
{
    size_t pairs = (rows + 2 * GROUP_ROWS - 1) / (2 * GROUP_ROWS);
    return tnp_min(GROUPS, 2 * tnp_max(1, pairs));
}

/* Rows of a group: whole chunks, so that a chunk is never of two groups. */
static size_t group_rows(size_t rows, size_t chunk)
{
    size_t each = (rows + group_count(rows) - 1) / group_count(rows);
    return (each + chunk - 1) / chunk * chunk;
}

#define REAL float
#define PASS tnp_pass
#define PANEL tnp_panel
#define NAME(part) narrow_##part
#define WIDENED false
#define ROWS(job, lane, group, x, n) (x)
#define DONE(job) ((void)(job))
#define GEMM_NT tnp_sgemm_nt_alone
#define GEMM_TN tnp_sgemm_tn_alone
#define ADD(x, to, n) tnp_simd_get()->add_scaled(1, x, to, n)
#define ADD_WIDE(x, to, n) tnp_simd_get()->add_to_double(x, to, n)
#include "learn/design/tile_loops.h"

/* n rows, ld apart, as double into `to`, which it returns; the largest square into *longest where it is wanted. */
static const double *widen(const tnp_tiled_rows *of, const float *x, size_t n, double *to, double *longest)
{
    for (size_t i = 0; i < n; ++i) {
        const float *from = x + i * of->ld;
        for (size_t j = 0; j < of->dim; ++j)
            to[i * of->dim + j] = (double)from[j];
        if (longest)
            *longest = fmax(*longest, tnp_dot(from, from, of->dim));
    }
    return to;
}

#define REAL double
#define PASS tnp_wide_pass
#define PANEL tnp_wide_panel
#define NAME(part) wide_##part
#define WIDENED true
#define ROWS(job, lane, group, from, n)                                                                                \
    widen((job)->x, from, n, (job)->rows + (lane) * (job)->tile * (job)->x->dim,                                       \
          (job)->p->longest ? &(job)->longest[group] : NULL)
#define DONE(job)                                                                                                      \
    for (size_t g = 0; (job)->p->longest && g < (job)->groups; ++g)                                                    \
    *(job)->p->longest = fmax(*(job)->p->longest, (job)->longest[g])
#define GEMM_NT tnp_dgemm_nt_alone
#define GEMM_TN tnp_dgemm_tn_alone
#define ADD tnp_add_wide
#define ADD_WIDE tnp_add_wide
#include "learn/design/tile_loops.h"

size_t tnp_tiles_bytes(size_t rows, size_t dim, size_t k, size_t chunk, size_t sum_count)
{
    return narrow_bytes(rows, dim, k, chunk, 0, sum_count);
}

bool tnp_tiles_suit(const tn_ctx *ctx, size_t rows, size_t dim, const tnp_pass *p)
{
    return narrow_suit(ctx, rows, dim, p);
}

tn_status tnp_tiles_pass(tn_ctx *ctx, const tnp_tiled_rows *x, const tnp_pass *p)
{
    return narrow_pass(ctx, x, p);
}

bool tnp_tiles_suit_wide(const tn_ctx *ctx, size_t rows, size_t dim, const tnp_wide_pass *p)
{
    return wide_suit(ctx, rows, dim, p);
}

tn_status tnp_tiles_wide_pass(tn_ctx *ctx, const tnp_tiled_rows *x, const tnp_wide_pass *p)
{
    return wide_pass(ctx, x, p);
}
