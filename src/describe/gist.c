/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GIST (Oliva, Torralba, IJCV 2001) as a local descriptor, as in the online paper: 20 Gabor filters on red, green and
 * blue, their strength averaged in 4 x 4 cells of each patch.
 *
 *   f[l] = 0.3 / 1.85^l cycles per pixel, l = 0, 1, 2, in 8, 8 and 4 directions a = pi j / n          (their filters)
 *   G(x, y) = exp(-(x^2 + y^2) / (2 s^2)) exp(2 pi i f (x cos a + y sin a)),  s = 0.56 / f, cut at 3 s, divided by the
 *             sum of its Gaussian
 *   R[c,g](x, y) = |sum_{u,v} G(u, v) I_c(x - u, y - v)|          beyond the picture its edge goes on
 *   d[c,g,j,i]   = mean of R[c,g] over cell (j, i), then d / |d|;  cell edges are floor(i P / 4)
 *
 * s makes a bandwidth of one octave. The mean of the patch leaks by exp(-6.2) into R, which contrast normalisation,
 * mean 0, takes away. Filters stand in pixels, not in patches: what is seen in a large patch is what is seen in the small
 * ones inside it, and the picture is filtered once; a filter bank for every size was refused at five times the cost.
 * A Gaussian is separable and so is its product with a wave: two one-dimensional complex filters each. Responses are
 * kept as sums along their rows, S[y,x] = sum of R[y,u] over u < x, so that a row of a cell is one difference. Sums over
 * rectangles from the upper left would be one for a whole cell, but lose four digits in float.
 * Oracle: tests/ref/ref_describe.c. */
#include "describe/describe.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 3, LEVELS = 3, FILTERS = 20, CELLS = 4, GIST_DIM = CHANNELS * FILTERS * CELLS * CELLS, REACH = 20 };
static const size_t directions[LEVELS] = {8, 8, 4};

/* Sums of responses (channels x filters, height, width + 1), and behind them the planes with REACH pixels more at both
 * ends of each row. */
static size_t sums_size(const tnp_grid *grid)
{
    return (size_t)CHANNELS * FILTERS * (grid->width + 1) * grid->height;
}

static size_t prepared_size(const tnp_grid *grid)
{
    return sums_size(grid) + (size_t)CHANNELS * (grid->width + 2 * REACH) * grid->height;
}

static size_t scratch_size(const tnp_grid *grid)
{
    (void)grid;
    return GIST_DIM;
}

typedef struct wave {
    size_t reach;
    float re[2 * REACH + 1], im[2 * REACH + 1];
} wave;

/* One axis of a filter: its Gaussian, of sum 1, times a wave of `frequency` along it. */
static void make_wave(double f, double frequency, wave *out)
{
    double s = 0.56 / f, sum = 0;
    out->reach = (size_t)(3 * s);
    for (size_t k = 0; k <= 2 * out->reach; ++k) {
        double u = (double)k - (double)out->reach;
        sum += exp(-0.5 * u * u / (s * s));
    }
    for (size_t k = 0; k <= 2 * out->reach; ++k) {
        double u = (double)k - (double)out->reach, g = exp(-0.5 * u * u / (s * s)) / sum;
        out->re[k] = (float)(g * cos(6.283185307179586 * frequency * u));
        out->im[k] = (float)(g * sin(6.283185307179586 * frequency * u));
    }
}

/* Filter number g: its waves along x and y. */
static void make_filter(size_t g, wave *x, wave *y)
{
    size_t level = 0;
    while (g >= directions[level])
        g -= directions[level++];
    double f = 0.3 / pow(1.85, (double)level), a = 3.141592653589793 * (double)g / (double)directions[level];
    make_wave(f, f * cos(a), x);
    make_wave(f, f * sin(a), y);
}

/* A piece of a row: down each column first, complex, then along x. */
enum { PIECE = 256 };
typedef struct piece {
    float re[PIECE + 2 * REACH], im[PIECE + 2 * REACH];
} piece;

/* Of a padded plane, rows of `length`: columns [0, n) from `plane` on. The convolution turns the filter: tap k meets the
 * pixel reach - k further. */
static void filter_down(const float *plane, size_t length, size_t h, const wave *v, size_t row, size_t n, piece *out)
{
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k <= 2 * v->reach; ++k) {
        size_t at = row + 2 * v->reach - k; /* `reach` too far */
        const float *line = plane + (at < v->reach ? 0 : tnp_min(at - v->reach, h - 1)) * length;
        float re = v->re[k], im = v->im[k];
        for (size_t i = 0; i < n; ++i) {
            out->re[i] += re * line[i];
            out->im[i] += im * line[i];
        }
    }
}

/* Adds n responses to the sums, of which out[0] is there. */
static void filter_along(const piece *in, const wave *u, size_t n, float *out)
{
    float re[PIECE] = {0}, im[PIECE] = {0};
    for (size_t k = 0; k <= 2 * u->reach; ++k) {
        const float *a = in->re + 2 * u->reach - k, *b = in->im + 2 * u->reach - k;
        float c = u->re[k], s = u->im[k];
        for (size_t i = 0; i < n; ++i) {
            re[i] += c * a[i] - s * b[i];
            im[i] += c * b[i] + s * a[i];
        }
    }
    for (size_t i = 0; i < n; ++i)
        out[i + 1] = out[i] + sqrtf(re[i] * re[i] + im[i] * im[i]);
}

static void pad_rows(const tnp_patches *patches, size_t row, size_t rows, float *padded)
{
    size_t w = patches->grid.width, h = patches->grid.height, length = w + 2 * REACH;
    for (size_t c = 0; c < CHANNELS; ++c)
        for (size_t y = row; y < row + rows; ++y) {
            const float *from = patches->pixels + (c * h + y) * w;
            float *to = padded + (c * h + y) * length;
            for (size_t i = 0; i < REACH; ++i) {
                to[i] = from[0];
                to[REACH + w + i] = from[w - 1];
            }
            memcpy(to + REACH, from, w * sizeof *to);
        }
}

static void filter_rows(const tnp_patches *patches, size_t g, size_t row, size_t rows, const float *padded)
{
    size_t w = patches->grid.width, h = patches->grid.height, length = w + 2 * REACH;
    wave u, v;
    piece between;
    make_filter(g, &u, &v);
    for (size_t c = 0; c < CHANNELS; ++c)
        for (size_t y = row; y < row + rows; ++y) {
            float *sums = patches->prepared + ((c * FILTERS + g) * h + y) * (w + 1);
            sums[0] = 0;
            for (size_t x = 0; x < w; x += PIECE) {
                size_t n = tnp_min(PIECE, w - x);
                filter_down(padded + c * h * length + x + REACH - u.reach, length, h, &v, y, n + 2 * u.reach, &between);
                filter_along(&between, &u, n, sums + x);
            }
        }
}

static void prepare(const tnp_patches *patches, size_t phase, size_t row, size_t rows)
{
    float *padded = patches->prepared + sums_size(&patches->grid);
    if (phase == 0)
        pad_rows(patches, row, rows, padded);
    for (size_t g = 0; phase == 1 && g < FILTERS; ++g)
        filter_rows(patches, g, row, rows, padded);
}

/* Of sums along rows of w responses. */
static float mean_of(const float *sums, size_t w, size_t x0, size_t x1, size_t y0, size_t y1)
{
    float sum = 0;
    for (size_t y = y0; y < y1; ++y)
        sum += sums[y * (w + 1) + x1] - sums[y * (w + 1) + x0];
    return sum / (float)((x1 - x0) * (y1 - y0));
}

static void unit(float *d)
{
    double sum = 0;
    for (size_t k = 0; k < GIST_DIM; ++k)
        sum += (double)d[k] * (double)d[k];
    float factor = sum > 1e-12 ? (float)(1 / sqrt(sum)) : 0;
    for (size_t k = 0; k < GIST_DIM; ++k)
        d[k] *= factor;
}

static void describe(const tnp_patches *patches, size_t size, size_t column, size_t columns, float *scratch, float *out)
{
    const tnp_patch_size *s = patches->grid.size + size;
    size_t step = patches->grid.step, w = patches->grid.width, h = patches->grid.height;
    (void)scratch;
    for (size_t r = 0; r < s->ny; ++r)
        for (size_t c = column; c < column + columns; ++c) {
            size_t x = s->x + c * step, y = s->y + r * step;
            float *d = out + (s->first + r * s->nx + c) * GIST_DIM;
            for (size_t k = 0; k < GIST_DIM; ++k) {
                size_t i = k % CELLS, j = k / CELLS % CELLS;
                d[k] = mean_of(patches->prepared + k / (CELLS * CELLS) * (w + 1) * h, w, x + i * s->side / CELLS,
                               x + (i + 1) * s->side / CELLS, y + j * s->side / CELLS, y + (j + 1) * s->side / CELLS);
            }
            unit(d);
        }
}

const tnp_descriptor tnp_gist = {"gist", GIST_DIM, true, 6, prepared_size, scratch_size, 2, prepare, describe};
