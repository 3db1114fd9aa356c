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
 * Made fast by doing only what is asked for: the triangle along x is evaluated at the columns that bins sit on, not at
 * all, then that along y at the rows; eight directions lie side by side. Where a whole number of steps is one, two or
 * three bins wide, bins of different patches are the same sums, taken once: of 16 bins per patch nearly one is left for
 * b = step. So the window m, which differs between them, comes last. Cells of a column of pixels lie together, so that
 * both steps are sums of long vectors with one weight each. A few columns of patches at a time, so that what lies
 * between the steps stays in the cache.
 * Integral images were refused: in float they lose the digits of small gradients, in double they are slower. */
#include "describe/describe.h"

#include "simd/simd.h"

#include <math.h>
#include <string.h>

enum { BINS = 4, ANGLES = 8, PART = BINS * BINS * ANGLES, MOST_TAPS = 520, AT_ONCE = 32, PAIR = 2 * ANGLES };

/* Columns of cells beyond each edge: half a bin of the largest patch, and two for rounding. */
static size_t margin_of(const tnp_grid *grid)
{
    size_t most = 0;
    for (size_t s = 0; s < grid->size_count; ++s)
        most = tnp_max(most, grid->size[s].nx ? grid->size[s].side : 0);
    return most / 8 + 2;
}

/* Floats of a column of cells: 16 pixels more than there are, see tnp_patch_loops. */
static size_t column_length(const tnp_grid *grid)
{
    return (grid->height + 16) * ANGLES;
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

/* Bins along one axis. Those of one phase, i, i + phases, .., are the same sums some places further: bin i of patch g is
 * place g + i / phases hop of phase i mod phases. Samples are counted from the patch's edge, the first `shift` below
 * it. */
typedef struct bins {
    size_t phases, hop;
    size_t first[BINS], taps[BINS]; /* of a phase */
    float weights[BINS][MOST_TAPS], window[BINS];
} bins;

static size_t phases_of(size_t side, size_t step)
{
    size_t phases = 1;
    while (phases < BINS && phases * side % (BINS * step) != 0)
        ++phases;
    return phases;
}

/* Places of a phase when there are so many patches. */
static size_t places_of(size_t phases, size_t hop, size_t phase, size_t patches)
{
    return patches + (BINS - 1 - phase) / phases * hop;
}

static size_t all_places(size_t phases, size_t hop, size_t patches)
{
    size_t sum = 0;
    for (size_t p = 0; p < phases; ++p)
        sum += places_of(phases, hop, p, patches);
    return sum;
}

/* The mean of the Gaussian window over a bin, at whole places from its middle, as VLFeat has it. */
static double window_of(double b, size_t i)
{
    double sum = 0, middle = b * ((double)i - 1.5), reach = ceil(b) - 1;
    for (double x = -reach; x <= reach; ++x)
        sum += exp(-0.5 * (x - middle) * (x - middle) / (4 * b * b));
    return sum / (2 * reach + 1);
}

/* Weights are over b, so that all sizes have cells of the same scale. */
static void make_bins(size_t side, size_t step, double shift, bins *out)
{
    double b = (double)side / BINS;
    out->phases = phases_of(side, step);
    out->hop = out->phases * side / (BINS * step); /* of no meaning for four phases: none is used again */
    for (size_t i = 0; i < BINS; ++i)
        out->window[i] = (float)window_of(b, i);
    for (size_t i = 0; i < out->phases; ++i) {
        double centre = ((double)i + 0.5) * b - 0.5 + shift, low = floor(centre - b) + 1, high = ceil(centre + b) - 1;
        out->first[i] = (size_t)low;
        out->taps[i] = (size_t)(high - low) + 1;
        for (size_t t = 0; t < out->taps[i]; ++t)
            out->weights[i][t] = (float)((1 - fabs(low + (double)t - centre) / b) / b);
    }
}

/* Some columns of patches of one size. */
typedef struct pooling {
    const tnp_grid *grid;
    const tnp_patch_size *size;
    const bins *along;
    size_t column, columns, margin; /* margin: rows that are taken again above and below the picture */
    size_t line;                    /* floats between rows of both arrays */
    float *between, *pooled;        /* (height + 2 margin, line), (all_places, line) */
} pooling;

static size_t row_margin(const tnp_patch_size *size)
{
    return size->side / 8 + 2;
}

static size_t line_of(size_t phases, size_t hop, size_t columns)
{
    return (all_places(phases, hop, columns) * ANGLES + PAIR - 1) / PAIR * PAIR;
}

/* Patches across whose sums are held at once: as many for every number of phases. */
static size_t columns_at_once(size_t phases)
{
    return AT_ONCE / phases;
}

static size_t scratch_size(const tnp_grid *grid)
{
    size_t most = 0;
    for (size_t s = 0; s < grid->size_count; ++s) {
        const tnp_patch_size *size = grid->size + s;
        size_t phases = phases_of(size->side, grid->step), hop = phases * size->side / (BINS * grid->step);
        size_t rows = grid->height + 2 * row_margin(size) + all_places(phases, hop, size->ny);
        most = tnp_max(most, size->nx ? rows * line_of(phases, hop, columns_at_once(phases)) : 0);
    }
    return most;
}

static void pool_across(const pooling *p, const float *cells)
{
    size_t length = column_length(p->grid), height = p->grid->height, done = 0;
    float *top = p->between + p->margin * p->line;
    cells += (p->size->x + p->column * p->grid->step) * length; /* the columns' margin is in first */
    for (size_t i = 0; i < p->along->phases; ++i) {
        size_t places = places_of(p->along->phases, p->along->hop, i, p->columns);
        tnp_simd_get()->patches->across(cells + p->along->first[i] * length, length, p->along->weights[i],
                                        p->along->taps[i], p->grid->step, places, height, p->line, top + done * ANGLES);
        done += places;
    }
    for (size_t y = 0; done * ANGLES < p->line && y < height; ++y)
        memset(top + y * p->line + done * ANGLES, 0, (p->line - done * ANGLES) * sizeof *top);
    for (size_t m = 0; m < p->margin; ++m) {
        memcpy(p->between + m * p->line, top, p->line * sizeof *top);
        memcpy(top + (height + m) * p->line, top + (height - 1) * p->line, p->line * sizeof *top);
    }
}

static void pool_down(const pooling *p, size_t shift)
{
    size_t done = 0;
    for (size_t i = 0; i < p->along->phases; ++i) {
        size_t places = places_of(p->along->phases, p->along->hop, i, p->size->ny);
        size_t first = p->size->y + p->along->first[i] + p->margin - shift;
        tnp_simd_get()->patches->down(p->between + first * p->line, p->line, p->along->weights[i], p->along->taps[i],
                                      p->grid->step, places, p->pooled + done * p->line);
        done += places;
    }
}

/* Where bin (j, i) of the first patch of row `row` is. */
static void find_bins(const pooling *p, size_t row, size_t at[BINS * BINS])
{
    size_t across[BINS] = {0}, down[BINS] = {0}, done[2] = {0, 0}, phases = p->along->phases, hop = p->along->hop;
    for (size_t i = 0; i < BINS; ++i) {
        if (i < phases) {
            across[i] = done[0];
            down[i] = done[1];
            done[0] += places_of(phases, hop, i, p->columns);
            done[1] += places_of(phases, hop, i, p->size->ny);
        } else {
            across[i] = across[i - phases] + hop;
            down[i] = down[i - phases] + hop;
        }
    }
    for (size_t b = 0; b < BINS * BINS; ++b)
        at[b] = (down[b / BINS] + row) * p->line + across[b % BINS] * ANGLES;
}

/* ---- describing ---- */

/* A gradient of 1e-6 all over the patch is the rounding of a flat one. */
static const float FLAT = 1e-6F, CUT = 0.2F;

/* How descriptors are finished, and where they go. */
typedef struct finish {
    size_t stride; /* between descriptors, PART or 3 PART */
    float factor;
    bool root;
    float window[PART], *out; /* out: of the first patch of the size */
} finish;

static void finish_rows(const pooling *p, const finish *f)
{
    const tnp_simd *k = tnp_simd_get();
    size_t at[BINS * BINS];
    float sum = 0;
    for (size_t r = 0; r < p->size->ny; ++r) {
        float *to = f->out + (r * p->size->nx + p->column) * f->stride;
        find_bins(p, r, at);
        k->patches->gather(p->pooled, at, p->columns, f->stride, to);
        for (size_t c = 0; c < p->columns; ++c, to += f->stride) {
            k->patches->unit(to, f->window, FLAT, CUT, f->factor, &sum);
            if (f->root && sum > 0)
                k->scale_root(to, 1 / sqrtf(sum), to, PART);
        }
    }
}

/* Part `part` of the descriptors: those of one plane. */
static void describe_plane(const tnp_patches *patches, size_t size, size_t column, size_t columns, size_t part,
                           size_t parts, bool root, float *scratch, float *out)
{
    const tnp_grid *grid = &patches->grid;
    size_t shift = margin_of(grid), end = column + columns;
    bins along;
    finish f = {.stride = parts * PART, .factor = 1 / sqrtf((float)parts), .root = root};
    pooling p = {.grid = grid, .size = grid->size + size, .along = &along, .between = scratch};
    make_bins(p.size->side, grid->step, (double)shift, &along);
    for (size_t i = 0; i < PART; ++i)
        f.window[i] = along.window[i / (BINS * ANGLES)] * along.window[i / ANGLES % BINS];
    f.out = out + p.size->first * f.stride + part * PART;
    p.margin = row_margin(p.size);
    for (p.column = column; p.column < end; p.column += p.columns) {
        p.columns = tnp_min(columns_at_once(along.phases), end - p.column);
        p.line = line_of(along.phases, along.hop, p.columns);
        p.pooled = scratch + (grid->height + 2 * p.margin) * p.line;
        pool_across(&p, patches->prepared + part * cells_size(grid));
        pool_down(&p, shift);
        finish_rows(&p, &f);
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
