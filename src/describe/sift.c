/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense SIFT (Lowe 2004) with a flat window, of patches of side P = 4 b, and its variants.
 *
 *   cells[y,x,o]      length of the gradient at (x, y), shared between the two of 8 directions next to its angle
 *   d[j,i,o] = m[j] m[i] sum_{y,x} tri((y - cy[j]) / b) tri((x - cx[i]) / b) cells[y,x,o]        tri(u) = max(0, 1 - |u|)
 *   cx[i] = x0 + (i + 1/2) b - 1/2,  i = 0 .. 3          m[i]: mean of exp(-u^2 / 8) over the bin, u in bins from the middle
 *   SIFT:      d / |d|, cut at 0.2, divided by its length again          RootSIFT: sqrt(SIFT / its sum)
 *   CSIFT:     SIFT of O3 = (R + G + B)/sqrt 3, of O1/O3 and of O2/O3 side by side, over sqrt 3
 *              O1 = (R - G)/sqrt 2, O2 = (R + G - 2 B)/sqrt 6 (van de Sande, Gevers, Snoek, PAMI 2010); O3 + 1/255 divides
 *
 * A patch's bins reach b/2 beyond it: cells at the edge of the picture are taken again there. A flat patch is all zero.
 * VLFeat's vl_dsift has the same formula for whole b and places (tests/peers/test_vlfeat_dsift.c).
 *
 * Made fast by doing only what is asked for: the triangle along x is evaluated at the 4 nx columns that bins sit on,
 * not at all, then that along y at the 4 ny rows; eight directions lie side by side. Cells of a column of pixels lie
 * together, so that both steps are sums of long vectors with one weight each. A few columns of patches at a time, so
 * that what lies between the two steps, (height, 8, 4, 8) floats, stays in the cache.
 * Integral images were refused: in float they lose the digits of small gradients, in double they are slower. */
#include "describe/describe.h"

#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { BINS = 4, ANGLES = 8, PART = BINS * BINS * ANGLES, MOST_TAPS = 520 };

/* Columns of cells beyond each edge: half a bin of the largest patch, and two for rounding. */
static size_t margin_of(const tnp_grid *grid)
{
    size_t most = 0;
    for (size_t s = 0; s < grid->size_count; ++s)
        most = tnp_max(most, grid->size[s].nx ? grid->size[s].side : 0);
    return most / 8 + 2;
}

/* Floats of a column of cells: eight pixels more than there are, see tnp_patch_loops. */
static size_t column_length(const tnp_grid *grid)
{
    return (grid->height + 8) * ANGLES;
}

static size_t cells_size(const tnp_grid *grid)
{
    return (grid->width + 2 * margin_of(grid)) * column_length(grid);
}

/* Cells and, behind them, the plane turned on its side, `planes` times. */
static size_t prepared_size(const tnp_grid *grid, size_t planes)
{
    return planes * (cells_size(grid) + grid->width * grid->height);
}

static size_t grey_size(const tnp_grid *grid)
{
    return prepared_size(grid, 1);
}

static size_t csift_size(const tnp_grid *grid)
{
    return prepared_size(grid, 3);
}

static size_t scratch_size(const tnp_grid *grid)
{
    return grid->height * TNP_PATCH_COLUMNS * BINS * ANGLES;
}

/* ---- cells ---- */

/* Columns [first, first + count) of a plane (width, height) that lies on its side. */
static void make_cells(const tnp_grid *grid, const float *plane, size_t first, size_t count, float *cells)
{
    const tnp_patch_loops *loops = tnp_simd_get()->patches;
    size_t w = grid->width, h = grid->height, margin = margin_of(grid), length = column_length(grid);
    for (size_t x = first; x < first + count; ++x) {
        size_t before = x == 0 ? 0 : x - 1, behind = x + 1 == w ? x : x + 1;
        float *out = cells + (x + margin) * length;
        loops->orient(plane + before * h, plane + x * h, plane + behind * h, behind - before == 2 ? 0.5F : 1, h, out);
        memset(out + h * ANGLES, 0, (length - h * ANGLES) * sizeof *out);
        for (size_t m = 1; x == 0 && m <= margin; ++m)
            memcpy(out - m * length, out, length * sizeof *out);
        for (size_t m = 1; x + 1 == w && m <= margin; ++m)
            memcpy(out + m * length, out, length * sizeof *out);
    }
}

/* ---- pooling ---- */

/* Bins along one axis: bin i covers samples first[i] .. first[i] + taps - 1, counted from the patch's edge and `shift`
 * below it. */
typedef struct bins {
    size_t taps, first[BINS];
    float weights[BINS * MOST_TAPS];
} bins;

/* The mean of the Gaussian window over a bin, at whole places from its middle, as VLFeat has it. */
static double window_of(double b, size_t i)
{
    double sum = 0, middle = b * ((double)i - 1.5), reach = ceil(b) - 1;
    for (double x = -reach; x <= reach; ++x)
        sum += exp(-0.5 * (x - middle) * (x - middle) / (4 * b * b));
    return sum / (2 * reach + 1);
}

/* Weights are over b, so that all sizes have cells of the same scale. */
static void make_bins(double side, double shift, bins *out)
{
    double b = side / BINS;
    out->taps = (size_t)ceil(2 * b) + 1;
    memset(out->weights, 0, sizeof out->weights);
    for (size_t i = 0; i < BINS; ++i) {
        double centre = ((double)i + 0.5) * b - 0.5 + shift, low = floor(centre - b) + 1, window = window_of(b, i);
        out->first[i] = (size_t)low;
        for (size_t t = 0; t < out->taps; ++t)
            out->weights[i * out->taps + t] = (float)(fmax(0, 1 - fabs(low + (double)t - centre) / b) / b * window);
    }
}

typedef struct pooling {
    const tnp_grid *grid;
    const tnp_patch_size *size;
    size_t column, columns, stride; /* stride: between descriptors, PART or 3 PART */
} pooling;

static void pool_across(const pooling *p, const bins *x, const float *cells, float *between)
{
    size_t left = p->size->x + p->column * p->grid->step; /* the margin is what make_bins was shifted by */
    size_t length = column_length(p->grid);
    tnp_simd_get()->patches->across(cells + left * length, length, x->weights, x->taps, x->first, p->grid->step,
                                    p->columns, p->grid->height, between);
}

/* One row of patches; what lies beyond the picture is its edge. */
static void pool_down(const pooling *p, const bins *y, size_t patch_row, const float *between, float *to)
{
    const float *rows[MOST_TAPS];
    size_t length = p->columns * BINS * ANGLES, shift = margin_of(p->grid);
    for (size_t j = 0; j < BINS; ++j) {
        size_t top = p->size->y + patch_row * p->grid->step + y->first[j];
        for (size_t t = 0; t < y->taps; ++t) {
            size_t r = top + t < shift ? 0 : tnp_min(top + t - shift, p->grid->height - 1);
            rows[t] = between + r * length;
        }
        tnp_simd_get()->patches->down(rows, y->weights + j * y->taps, y->taps, p->columns, p->stride,
                                      to + j * BINS * ANGLES);
    }
}

/* ---- describing ---- */

/* A gradient of 1e-6 all over the patch is the rounding of a flat one. */
static const float FLAT = 1e-6F, CUT = 0.2F;

/* Part `part` of the descriptors: those of one plane. */
static void describe_plane(const tnp_patches *patches, size_t size, size_t column, size_t columns, size_t part,
                           size_t parts, bool root, float *scratch, float *out)
{
    const tnp_simd *k = tnp_simd_get();
    const tnp_grid *grid = &patches->grid;
    pooling p = {grid, grid->size + size, column, columns, parts * PART};
    float factor = 1 / sqrtf((float)parts), sum = 0;
    bins along;
    make_bins((double)p.size->side, (double)margin_of(grid), &along);
    pool_across(&p, &along, patches->prepared + part * cells_size(grid), scratch);
    for (size_t r = 0; r < p.size->ny; ++r) {
        float *to = out + (p.size->first + r * p.size->nx + column) * p.stride + part * PART;
        pool_down(&p, &along, r, scratch, to);
        for (size_t c = 0; c < columns; ++c, to += p.stride) {
            k->patches->unit(to, FLAT, CUT, factor, &sum);
            if (root && sum > 0)
                k->scale_root(to, 1 / sqrtf(sum), to, PART);
        }
    }
}

/* ---- the descriptors ---- */

/* Rows [row, row + rows) are columns of what lies on its side; columns are shared out by the same bands. */
static void columns_of(const tnp_grid *grid, size_t row, size_t rows, size_t *first, size_t *count)
{
    *first = grid->width * row / grid->height;
    *count = grid->width * (row + rows) / grid->height - *first;
}

static void prepare_grey(const tnp_patches *patches, size_t phase, size_t row, size_t rows)
{
    const tnp_grid *grid = &patches->grid;
    float *plane = patches->prepared + cells_size(grid);
    size_t first = 0, count = 0;
    columns_of(grid, row, rows, &first, &count);
    for (size_t y = row; phase == 0 && y < row + rows; ++y)
        for (size_t x = 0; x < grid->width; ++x)
            plane[x * grid->height + y] = patches->pixels[y * grid->width + x];
    if (phase == 1)
        make_cells(grid, plane, first, count, patches->prepared);
}

static void describe_sift(const tnp_patches *patches, size_t size, size_t column, size_t columns, float *scratch,
                          float *out)
{
    describe_plane(patches, size, column, columns, 0, 1, false, scratch, out);
}

static void describe_root(const tnp_patches *patches, size_t size, size_t column, size_t columns, float *scratch,
                          float *out)
{
    describe_plane(patches, size, column, columns, 0, 1, true, scratch, out);
}

/* Rows [row, row + rows) of the three planes that CSIFT is made of, turned on their side. */
static void make_invariants(const tnp_patches *patches, size_t row, size_t rows, float *planes)
{
    size_t w = patches->grid.width, h = patches->grid.height, all = w * h;
    const float *red = patches->pixels, *green = red + all, *blue = green + all;
    for (size_t i = row * w; i < (row + rows) * w; ++i) {
        float o1 = (red[i] - green[i]) * 0.70710678F, o2 = (red[i] + green[i] - 2 * blue[i]) * 0.40824829F;
        float o3 = (red[i] + green[i] + blue[i]) * 0.57735027F, over = 1 / (o3 + 1.0F / 255);
        float *to = planes + i % w * h + i / w;
        to[0] = o3;
        to[all] = o1 * over;
        to[2 * all] = o2 * over;
    }
}

static void prepare_colour(const tnp_patches *patches, size_t phase, size_t row, size_t rows)
{
    const tnp_grid *grid = &patches->grid;
    float *planes = patches->prepared + 3 * cells_size(grid);
    size_t first = 0, count = 0;
    columns_of(grid, row, rows, &first, &count);
    if (phase == 0)
        make_invariants(patches, row, rows, planes);
    for (size_t c = 0; phase == 1 && c < 3; ++c)
        make_cells(grid, planes + c * grid->width * grid->height, first, count,
                   patches->prepared + c * cells_size(grid));
}

static void describe_csift(const tnp_patches *patches, size_t size, size_t column, size_t columns, float *scratch,
                           float *out)
{
    for (size_t c = 0; c < 3; ++c)
        describe_plane(patches, size, column, columns, c, 3, false, scratch, out);
}

const tnp_descriptor tnp_sift = {"sift", PART, false, 4, grey_size, scratch_size, 2, prepare_grey, describe_sift};
const tnp_descriptor tnp_root_sift = {"rootsift", PART,         false,        4, grey_size, scratch_size,
                                      2,          prepare_grey, describe_root};
const tnp_descriptor tnp_csift = {"csift", 3 * PART,       true,          6, csift_size, scratch_size,
                                  2,       prepare_colour, describe_csift};
