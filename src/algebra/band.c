/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A = Q1 B Q1': blocks of TNP_BAND rows of the upper triangle are cleared beyond the band one after the other.
 *
 *   panel    rows [k, k+b) right of column s = k + b: their transpose (n-s, b) = H (R; 0), H = I - V T V'
 *            V by reflections I - v v', T_ii = 1, T_ij = -sum_l T_il v_l'v_j
 *   rest     H' A H = A - X V' - V X'    Y = A V T    M = T'V'Y    X = Y - V M / 2
 *
 * The change of one panel is made when the next panel's product A V is: a tile of A comes into the cache once for both,
 * in which it has 8 b flops per number. The next panel itself is changed before that. A is copied into tiles that lie
 * together, rows apart by no power of two: rows of A as they come, often 2^k numbers apart, meet in the same cache lines
 * and took a tenth longer. Panels go back into the rows.
 *
 * Tiles are dealt out as runs, a number that depends on n alone; each run has sums A V of its own, added in order: the
 * result does not depend on the threads. A run goes through HIGH rows of tiles at a time, column by column, so that V,
 * X and the sums of a column serve twice, and has sums for fewer rows than along a single row of tiles: three
 * hundredths of the time. symm and syr2k of the BLAS were refused: on panels this narrow they pack more
 * than they multiply.
 *
 * Oracle: Q1 B Q1' against A, and the eigenvalues, tests/unit/test_band.c. */
#include "algebra/band.h"
#include "algebra/reflect.h"
#include "base/ctx.h"

#include <math.h>
#include <string.h>

enum { TILE = 6 * TNP_BAND, PAIR = 2 * TNP_BAND, SQUARE = TNP_BAND * TNP_BAND };
enum { RUN_ORDER = 256, RUNS_MOST = 32, HIGH = 2 };

typedef struct reduction {
    tn_ctx *ctx;
    const tnp_band_loops *k;
    size_t n, runs;
    double *a, *band, *factors;
    size_t start;        /* first row and column of the rest: s */
    bool changed;        /* there is a change of the panel before to be made */
    double *lanes;       /* (4, n, TNP_LANES): the panel's columns in tiles */
    double *v;           /* (n, b): V, row i of A's at i */
    double *left;        /* (n, 2b): V and X of the panel before */
    double *right;       /* (n/b, 2b, b): -X' and -V' of it, blocks of b columns */
    double *sums;        /* (runs, n, b): A V */
    bool *has;           /* (runs, rows of tiles): whether a run has sums there; else nothing is written */
    double *y;           /* (n, b) */
    double *parts;       /* (blocks, b, b): V'Y */
    double *tiles;       /* (tiles_of(n), TILE, TILE): the upper triangle */
    double *t;           /* (b, b): T, where the caller keeps it */
    double half[SQUARE]; /* -M / 2 */
} reduction;

static size_t blocks_of(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

/* Tiles of the upper triangle. */
static size_t tiles_of(size_t n)
{
    size_t side = blocks_of(n, TILE);
    return side * (side + 1) / 2;
}

static size_t runs_of(size_t n)
{
    return tnp_max(1, tnp_min(n / RUN_ORDER, RUNS_MOST));
}

/* ---- the panel ---- */

/* Reflection of value `lane` of rows [from, n) of tile (n, 8), into w (n): zeros above `from`. */
static void reflection_of(const double *tile, size_t lane, size_t from, size_t n, double *w)
{
    double square = 0, first = tile[from * TNP_LANES + lane];
    memset(w, 0, n * sizeof *w);
    for (size_t i = from + 1; i < n; ++i) {
        w[i] = tile[i * TNP_LANES + lane];
        square += w[i] * w[i];
    }
    if (!(square > TNP_BAND_NOTHING)) {
        memset(w, 0, n * sizeof *w);
        return;
    }
    double size = sqrt(first * first + square), lead = first > 0 ? first + size : first - size;
    double scale = sqrt(2 / (square + lead * lead));
    w[from] = lead;
    for (size_t i = from; i < n; ++i)
        w[i] *= scale;
}

static double *lanes_of(const reduction *r, size_t tile)
{
    return r->lanes + tile * r->n * TNP_LANES;
}

/* Column `column` of V: row k + column of a, right of s. */
static double *vector_of(const reduction *r, size_t column)
{
    return r->a + (r->start - TNP_BAND + column) * r->n + r->start;
}

static void factor_tile(const reduction *r, size_t tile)
{
    size_t m = r->n - r->start;
    double *lanes = lanes_of(r, tile);
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t at = tile * TNP_LANES + l;
        double *w = vector_of(r, at);
        if (at >= m) {
            memset(w, 0, m * sizeof *w);
            continue;
        }
        reflection_of(lanes, l, at, m, w);
        r->k->reflect(m - at, w + at, lanes + at * TNP_LANES);
    }
}

typedef struct panel_job {
    const reduction *r;
    size_t done; /* the tile whose reflections are applied to those behind it */
} panel_job;

static void apply_tile(void *arg, size_t i)
{
    const panel_job *job = arg;
    const reduction *r = job->r;
    size_t m = r->n - r->start;
    double *lanes = lanes_of(r, job->done + 1 + i);
    for (size_t l = 0; l < TNP_LANES; ++l) {
        size_t at = job->done * TNP_LANES + l;
        if (at < m)
            r->k->reflect(m - at, vector_of(r, at) + at, lanes + at * TNP_LANES);
    }
}

/* t = T from the products of V's columns. */
static void make_t(const double *products, double *t)
{
    memset(t, 0, SQUARE * sizeof *t);
    for (size_t j = 0; j < TNP_BAND; ++j) {
        for (size_t i = 0; i < j; ++i) {
            double sum = 0;
            for (size_t l = i; l < j; ++l)
                sum += t[i * TNP_BAND + l] * products[l * TNP_BAND + j];
            t[i * TNP_BAND + j] = -sum;
        }
        t[j * TNP_BAND + j] = 1;
    }
}

/* Columns into tiles; V, T, R into the band. */
static void factor_panel(reduction *r)
{
    enum { TILES = TNP_BAND / TNP_LANES };
    size_t n = r->n, s = r->start, k = s - TNP_BAND, m = n - s;
    double products[SQUARE] = {0};
    for (size_t c = 0; c < TNP_BAND; ++c)
        for (size_t i = 0; i < m; ++i)
            lanes_of(r, c / TNP_LANES)[i * TNP_LANES + c % TNP_LANES] = r->a[(k + c) * n + s + i];
    for (size_t tile = 0; tile < TILES; ++tile) {
        panel_job job = {r, tile};
        factor_tile(r, tile);
        tnp_parallel(r->ctx, tnp_threads_for(r->ctx, 32.0 * TNP_LANES * (double)m), TILES - 1 - tile, apply_tile, &job);
    }
    for (size_t c = 0; c < TNP_BAND; ++c) {
        const double *w = vector_of(r, c);
        for (size_t i = 0; i <= tnp_min(c, m - 1); ++i)
            r->band[(k + c) * TNP_BAND_HEIGHT + s + i - k - c] =
                lanes_of(r, c / TNP_LANES)[i * TNP_LANES + c % TNP_LANES];
        for (size_t i = 0; i < m; ++i)
            r->v[(s + i) * TNP_BAND + c] = w[i];
    }
    r->k->block_add(TNP_BAND, m, r->v + s * TNP_BAND, 1, TNP_BAND, r->v + s * TNP_BAND, products, TNP_BAND);
    r->t = r->factors + k * TNP_BAND;
    make_t(products, r->t);
}

/* ---- the rest ---- */

/* Tile (i, j), i <= j, of the upper triangle: tiles lie row after row of them, those of row i from the diagonal on. */
static double *tile_at(const reduction *r, size_t i, size_t j)
{
    size_t side = blocks_of(r->n, TILE);
    return r->tiles + (i * side - i * (i + 1) / 2 + j) * TILE * TILE;
}

/* The tiles of row i from a, zeros behind its end. */
static void fill_tiles(void *arg, size_t i)
{
    const reduction *r = arg;
    for (size_t j = i; j < blocks_of(r->n, TILE); ++j) {
        double *tile = tile_at(r, i, j);
        size_t rows = tnp_min(TILE, r->n - i * TILE), cols = tnp_min(TILE, r->n - j * TILE);
        memset(tile, 0, TILE * TILE * sizeof *tile);
        for (size_t row = 0; row < rows; ++row)
            memcpy(tile + row * TILE, r->a + (i * TILE + row) * r->n + j * TILE, cols * sizeof *tile);
    }
}

/* The change of the panel before for some rows of a tile. On the diagonal only what is above it is of worth. */
static void change_tile(const reduction *r, size_t row, size_t column, size_t rows, size_t cols, double *tile)
{
    for (size_t c = 0; c < cols; c += TNP_BAND)
        r->k->block_add(row == column ? tnp_min(rows, c + TNP_BAND) : rows, PAIR, r->left + row * PAIR, PAIR, 1,
                        r->right + (column + c) * PAIR, tile + c, TILE);
}

static void mirror_tile(size_t n, double *tile)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < i; ++j)
            tile[i * TILE + j] = tile[j * TILE + i];
}

/* Row of tiles `block`: its first row that is left, and how many. */
static size_t block_rows(const reduction *r, size_t block, size_t *row)
{
    *row = tnp_max(block * TILE, r->start);
    return tnp_min((block + 1) * TILE, r->n) - *row;
}

static double *sums_at(const reduction *r, size_t run, size_t row)
{
    return r->sums + (run * r->n + row) * TNP_BAND;
}

/* The run's sums of a row of tiles, zeros at first. */
static double *sums_of(const reduction *r, size_t run, size_t block)
{
    bool *has = r->has + run * blocks_of(r->n, TILE) + block;
    size_t row, rows = block_rows(r, block, &row);
    if (!*has)
        memset(sums_at(r, run, row), 0, rows * TNP_BAND * sizeof *r->sums);
    *has = true;
    return sums_at(r, run, row);
}

/* Change of the panel before, and sums A V of this one, for tile (i, j). */
static void run_tile(const reduction *r, size_t i, size_t j, size_t run)
{
    size_t row, column, rows = block_rows(r, i, &row), cols = block_rows(r, j, &column);
    double *tile = tile_at(r, i, j) + (row - i * TILE) * TILE + column - j * TILE;
    if (r->changed)
        change_tile(r, row, column, rows, cols, tile);
    if (i == j)
        mirror_tile(rows, tile);
    r->k->block_add(rows, cols, tile, TILE, 1, r->v + column * TNP_BAND, sums_of(r, run, i), TNP_BAND);
    if (i != j)
        r->k->block_add(cols, rows, tile, 1, TILE, r->v + row * TNP_BAND, sums_of(r, run, j), TNP_BAND);
}

/* Tiles of the upper triangle, cut into equal runs. An interrupt leaves them as they are. */
static void run_tiles(void *arg, size_t run)
{
    const reduction *r = arg;
    size_t low = r->start / TILE, high = blocks_of(r->n, TILE), all = (high - low) * (high - low + 1) / 2, at = 0;
    size_t begin = run * all / r->runs, end = (run + 1) * all / r->runs;
    memset(r->has + run * high, 0, high * sizeof *r->has);
    for (size_t first = low; first < high; first += HIGH)
        for (size_t j = first; j < high; ++j)
            for (size_t i = first; i < tnp_min(first + HIGH, j + 1); ++i, ++at)
                if (at >= begin && at < end && !tnp_was_cancelled(r->ctx))
                    run_tile(r, i, j, run);
}

/* Y = (sum over runs) T, and the block's part of V'Y. */
static void finish_y(void *arg, size_t block)
{
    const reduction *r = arg;
    size_t row, at = r->start / TILE + block, rows = block_rows(r, at, &row), values = rows * TNP_BAND;
    double sum[TILE * TNP_BAND] = {0}, *y = r->y + row * TNP_BAND, *part = r->parts + block * SQUARE;
    for (size_t run = 0; run < r->runs; ++run) {
        const double *more = sums_at(r, run, row);
        for (size_t i = 0; r->has[run * blocks_of(r->n, TILE) + at] && i < values; ++i)
            sum[i] += more[i];
    }
    memset(y, 0, values * sizeof *y);
    memset(part, 0, SQUARE * sizeof *part);
    r->k->block_add(rows, TNP_BAND, sum, TNP_BAND, 1, r->t, y, TNP_BAND);
    r->k->block_add(TNP_BAND, rows, r->v + row * TNP_BAND, 1, TNP_BAND, y, part, TNP_BAND);
}

/* X = Y - V M / 2, and both sides of the change. */
static void finish_x(void *arg, size_t block)
{
    const reduction *r = arg;
    size_t row, rows = block_rows(r, r->start / TILE + block, &row);
    r->k->block_add(rows, TNP_BAND, r->v + row * TNP_BAND, TNP_BAND, 1, r->half, r->y + row * TNP_BAND, TNP_BAND);
    for (size_t at = row; at < row + rows; at += TNP_BAND) {
        double *right = r->right + at * PAIR;
        size_t count = tnp_min(TNP_BAND, r->n - at);
        memset(right, 0, PAIR * TNP_BAND * sizeof *right);
        for (size_t i = 0; i < count; ++i)
            for (size_t c = 0; c < TNP_BAND; ++c) {
                double x = r->y[(at + i) * TNP_BAND + c], v = r->v[(at + i) * TNP_BAND + c];
                r->left[(at + i) * PAIR + c] = v;
                r->left[(at + i) * PAIR + TNP_BAND + c] = x;
                right[c * TNP_BAND + i] = -x;
                right[(TNP_BAND + c) * TNP_BAND + i] = -v;
            }
    }
}

static void make_change(reduction *r)
{
    size_t blocks = blocks_of(r->n, TILE) - r->start / TILE;
    size_t threads = tnp_threads_for(r->ctx, 1e4 * (double)(r->n - r->start));
    double sum[SQUARE] = {0};
    tnp_parallel(r->ctx, threads, blocks, finish_y, r);
    for (size_t b = 0; b < blocks; ++b)
        for (size_t i = 0; i < SQUARE; ++i)
            sum[i] -= r->parts[b * SQUARE + i] / 2;
    memset(r->half, 0, sizeof r->half);
    r->k->block_add(TNP_BAND, TNP_BAND, r->t, 1, TNP_BAND, sum, r->half, TNP_BAND);
    tnp_parallel(r->ctx, threads, blocks, finish_x, r);
    r->changed = true;
}

/* Rows [k, k + b) from tile `block` of theirs into a, with the change of the panel before. */
static void take_panel(void *arg, size_t block)
{
    const reduction *r = arg;
    size_t k = r->start - TNP_BAND, i = k / TILE, j = i + block, column = tnp_max(k, j * TILE);
    size_t rows = tnp_min(TNP_BAND, r->n - k), cols = tnp_min((j + 1) * TILE, r->n) - column;
    double *tile = tile_at(r, i, j) + (k - i * TILE) * TILE + column - j * TILE;
    if (r->changed)
        for (size_t c = 0; c < cols; c += TNP_BAND)
            r->k->block_add(rows, PAIR, r->left + k * PAIR, PAIR, 1, r->right + (column + c) * PAIR, tile + c, TILE);
    for (size_t row = 0; row < rows; ++row)
        memcpy(r->a + (k + row) * r->n + column, tile + row * TILE, cols * sizeof *tile);
}

static void keep_diagonal(const reduction *r)
{
    size_t k = r->start - TNP_BAND, end = tnp_min(r->start, r->n);
    for (size_t j = k; j < end; ++j)
        for (size_t i = j; i < end; ++i)
            r->band[j * TNP_BAND_HEIGHT + i - j] = r->a[j * r->n + i];
}

/* Panels one after the other; progress by the work that is left, as the cube of the order. */
static tn_status run_panels(tn_ctx *ctx, reduction *r)
{
    enum { PARTS = 1000 };
    tn_status st = TN_OK;
    size_t n = r->n;
    tnp_parallel(ctx, tnp_threads_for(ctx, (double)n * (double)n), blocks_of(n, TILE), fill_tiles, r);
    for (size_t k = 0; k < n; k += TNP_BAND) {
        double left = (double)(n - k) / (double)n;
        TN_TRY(tnp_progress(ctx, "band form", (size_t)(PARTS * (1 - left * left * left)), PARTS));
        r->start = k + TNP_BAND;
        tnp_parallel(ctx, tnp_threads_for(ctx, 2.0 * PAIR * TNP_BAND * (double)(n - k)), blocks_of(n, TILE) - k / TILE,
                     take_panel, r);
        keep_diagonal(r);
        if (r->start >= n)
            break;
        factor_panel(r);
        tnp_parallel(ctx, tnp_threads_for(ctx, 4.0 * TNP_BAND * (double)(n - k) * (double)(n - k)), r->runs, run_tiles,
                     r);
        TN_TRY(tnp_cancelled(ctx));
        make_change(r);
    }
done:
    return st;
}

static tn_status reduction_alloc(tn_ctx *ctx, reduction *r)
{
    tn_status st = TN_OK;
    size_t n = r->n, whole = blocks_of(n, TNP_BAND) * TNP_BAND;
    TN_TRY(tnp_alloc_raw(ctx, n * TNP_BAND, sizeof(double), &r->lanes));
    TN_TRY(tnp_alloc_raw(ctx, n * TNP_BAND, sizeof(double), &r->v));
    TN_TRY(tnp_alloc_raw(ctx, n * PAIR, sizeof(double), &r->left));
    TN_TRY(tnp_alloc_raw(ctx, whole * PAIR, sizeof(double), &r->right));
    TN_TRY(tnp_alloc_raw(ctx, r->runs * n * TNP_BAND, sizeof(double), &r->sums));
    TN_TRY(tnp_alloc(ctx, r->runs * blocks_of(n, TILE), sizeof *r->has, &r->has));
    TN_TRY(tnp_alloc_raw(ctx, n * TNP_BAND, sizeof(double), &r->y));
    TN_TRY(tnp_alloc_raw(ctx, blocks_of(n, TILE) * SQUARE, sizeof(double), &r->parts));
    TN_TRY(tnp_alloc_raw(ctx, tiles_of(n) * TILE * TILE, sizeof(double), &r->tiles));
done:
    return st;
}

static size_t reduction_bytes(size_t n)
{
    size_t whole = blocks_of(n, TNP_BAND) * TNP_BAND;
    return 8 * (whole * TNP_BAND * (7 + runs_of(n)) + blocks_of(n, TILE) * SQUARE + tiles_of(n) * TILE * TILE) +
           runs_of(n) * blocks_of(n, TILE);
}

tn_status tnp_band_reduce(tn_ctx *ctx, size_t n, double *a, double *band, double *factors)
{
    tn_status st = TN_OK;
    reduction r = {.ctx = ctx, .k = tnp_simd_get()->bands, .n = n, .runs = runs_of(n), .a = a, .band = band};
    r.factors = factors;
    memset(band, 0, tnp_band_columns(n) * TNP_BAND_HEIGHT * sizeof *band);
    TN_TRY(reduction_alloc(ctx, &r));
    TN_TRY(run_panels(ctx, &r));
done:
    tnp_free_all(r.lanes, r.v, r.left, r.right, r.sums, r.has, r.y, r.parts, r.tiles);
    return st;
}

/* ---- Q1 ---- */

/* V' (b, n - s) lies in a as the reflections are applied. */
tn_status tnp_band_apply(tn_ctx *ctx, size_t n, const double *a, const double *factors, bool transpose, size_t count,
                         double *c)
{
    tn_status st = TN_OK;
    double *scratch = NULL;
    size_t panels = n > TNP_BAND ? blocks_of(n - TNP_BAND, TNP_BAND) : 0;
    TN_TRY(tnp_alloc_raw(ctx, TNP_BAND * (2 * count + TNP_BAND), sizeof *scratch, &scratch));
    for (size_t i = 0; count > 0 && i < panels; ++i) {
        size_t k = (transpose ? i : panels - 1 - i) * TNP_BAND, s = k + TNP_BAND;
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(tnp_reflect(ctx, transpose, TNP_BAND, n - s, a + k * n + s, n, factors + k * TNP_BAND, count, c + s, n,
                           scratch));
    }
done:
    tnp_free(scratch);
    return st;
}

/* ---- both stages ---- */

/* A power of two that brings the largest entry of the diagonal to about 1, where it is far from that: squares of entries
 * must neither overflow nor vanish. No entry of a Gram is larger than its diagonal. */
static double scale_of(size_t n, const double *a)
{
    double largest = 0;
    int power = 0;
    for (size_t i = 0; i < n; ++i)
        largest = fmax(largest, fabs(a[i * n + i]));
    (void)frexp(largest, &power);
    return largest > 0 && (power > 200 || power < -200) ? ldexp(1, -power) : 1;
}

static void scale_upper(size_t n, double factor, double *a)
{
    for (size_t i = 0; factor != 1 && i < n; ++i)
        for (size_t j = i; j < n; ++j)
            a[i * n + j] *= factor;
}

tn_status tnp_two_stage(tn_ctx *ctx, size_t n, double *a, double *diag, double *off, double *factors, double *kept)
{
    tn_status st = TN_OK;
    double *band = NULL, scale = scale_of(n, a);
    TN_TRY(tnp_alloc_raw(ctx, tnp_band_columns(n) * TNP_BAND_HEIGHT, sizeof *band, &band));
    scale_upper(n, scale, a);
    TN_TRY(tnp_band_reduce(ctx, n, a, band, factors));
    for (size_t i = 0; i < n * (TNP_BAND + 1); ++i)
        kept[i] = band[i / (TNP_BAND + 1) * TNP_BAND_HEIGHT + i % (TNP_BAND + 1)] / scale;
    TN_TRY(tnp_band_chase(ctx, n, band, a, diag, off));
    for (size_t i = 0; i < n; ++i) {
        diag[i] /= scale;
        if (i + 1 < n)
            off[i] /= scale;
    }
done:
    tnp_free(band);
    return st;
}

tn_status tnp_two_stage_apply(tn_ctx *ctx, size_t n, const double *a, const double *factors, bool transpose,
                              size_t count, double *c)
{
    tn_status st = transpose ? tnp_band_apply(ctx, n, a, factors, transpose, count, c)
                             : tnp_chase_apply(ctx, n, a, transpose, count, c);
    if (st != TN_OK)
        return st;
    return transpose ? tnp_chase_apply(ctx, n, a, transpose, count, c)
                     : tnp_band_apply(ctx, n, a, factors, transpose, count, c);
}

size_t tnp_two_stage_bytes(size_t n)
{
    return reduction_bytes(n) + 8 * tnp_band_columns(n) * TNP_BAND_HEIGHT;
}
