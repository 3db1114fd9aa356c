/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Local binary patterns (Ojala, Pietikainen, Maenpaa, PAMI 2002) of 2 x 2 cells in each patch.
 *
 *   code[y,x] = sum_k 2^k [grey(neighbour k) >= grey(x, y)]     k = 0 .. 7: east, south-east, south, .. north-east
 *   d[j,i,c]  = sqrt(pixels of cell (j, i) with code c / pixels of the patch)             j, i = 0, 1; c = 0 .. 255
 *
 * A cell of a patch of side P goes from floor(i P / 2) to floor((i + 1) P / 2); beyond the picture its edge goes on.
 * The square root makes descriptors of length 1, whose inner product compares histograms by Hellinger's distance; raw
 * counts were refused: the code of flat patches, 255, would rule the PCA that follows.
 *
 * The histogram of a patch is counted anew: moving it along by a column saves half of the counting at step 6 and
 * needs all of it to be kept. Oracle: tests/ref/ref_describe.c. */
#include "describe/describe.h"

#include <math.h>
#include <string.h>

enum { CELLS = 2, CODES = 256, LBP_DIM = CELLS * CELLS * CODES };

/* One float per pixel, of which the first byte is the code. */
static size_t prepared_size(const tnp_grid *grid)
{
    return grid->width * grid->height;
}

static size_t scratch_size(const tnp_grid *grid)
{
    (void)grid;
    return LBP_DIM;
}

static void prepare(const tnp_patches *patches, size_t phase, size_t row, size_t rows)
{
    static const int along[] = {1, 1, 0, -1, -1, -1, 0, 1}, down[] = {0, 1, 1, 1, 0, -1, -1, -1};
    const float *grey = patches->pixels;
    unsigned char *codes = (unsigned char *)patches->prepared;
    size_t w = patches->grid.width, h = patches->grid.height;
    (void)phase;
    for (size_t y = row; y < row + rows; ++y)
        for (size_t x = 0; x < w; ++x) {
            unsigned code = 0;
            for (unsigned k = 0; k < 8; ++k) {
                size_t u = along[k] < 0 ? x - (x != 0) : along[k] > 0 ? x + (x + 1 < w) : x;
                size_t v = down[k] < 0 ? y - (y != 0) : down[k] > 0 ? y + (y + 1 < h) : y;
                code |= (unsigned)(grey[v * w + u] >= grey[y * w + x]) << k;
            }
            codes[y * w + x] = (unsigned char)code;
        }
}

static void count_codes(const unsigned char *codes, size_t w, size_t x0, size_t x1, size_t y0, size_t y1, uint32_t *out)
{
    for (size_t y = y0; y < y1; ++y)
        for (size_t x = x0; x < x1; ++x)
            ++out[codes[y * w + x]];
}

static void describe(const tnp_patches *patches, size_t size, size_t column, size_t columns, float *scratch, float *out)
{
    const tnp_patch_size *s = patches->grid.size + size;
    const unsigned char *codes = (const unsigned char *)patches->prepared;
    uint32_t *counts = (uint32_t *)scratch;
    size_t step = patches->grid.step, w = patches->grid.width, half = s->side / 2;
    float share = 1 / (float)(s->side * s->side);
    for (size_t r = 0; r < s->ny; ++r)
        for (size_t c = column; c < column + columns; ++c) {
            size_t x = s->x + c * step, y = s->y + r * step;
            float *d = out + (s->first + r * s->nx + c) * LBP_DIM;
            memset(counts, 0, LBP_DIM * sizeof *counts);
            for (size_t cell = 0; cell < CELLS * CELLS; ++cell) {
                size_t i = cell % CELLS, j = cell / CELLS;
                count_codes(codes, w, x + i * half, i ? x + s->side : x + half, y + j * half,
                            j ? y + s->side : y + half, counts + cell * CODES);
            }
            for (size_t k = 0; k < LBP_DIM; ++k)
                d[k] = counts[k] ? sqrtf((float)counts[k] * share) : 0;
        }
}

const tnp_descriptor tnp_lbp = {"lbp", LBP_DIM, false, 6, prepared_size, scratch_size, 1, prepare, describe};
