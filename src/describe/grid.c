/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The grid of one size: as many patches as lie inside the picture `step` apart, with what is left over shared between
 * the two sides, so that grids of all sizes have the same middle.
 *
 *   n = (extent - side) / step + 1          first edge = ((extent - side) mod step) / 2
 *
 * Positions are shares of the picture, so that they mean the same in pictures of every size. */
#include "describe/grid.h"

#include <math.h>

static size_t patches_along(size_t extent, size_t side, size_t step, size_t *first)
{
    *first = extent < side ? 0 : (extent - side) % step / 2;
    return extent < side ? 0 : (extent - side) / step + 1;
}

void tnp_grid_make(size_t width, size_t height, size_t step, const size_t *sides, size_t side_count, tnp_grid *out)
{
    *out = (tnp_grid){.width = width, .height = height, .step = step, .size_count = side_count};
    for (size_t s = 0; s < side_count; ++s) {
        tnp_patch_size *size = out->size + s;
        size->side = sides[s];
        size->nx = patches_along(width, sides[s], step, &size->x);
        size->ny = patches_along(height, sides[s], step, &size->y);
        size->first = out->count;
        if (size->nx == 0 || size->ny == 0)
            size->nx = size->ny = 0;
        out->count += size->nx * size->ny;
    }
}

void tnp_grid_positions(const tnp_grid *grid, float *out)
{
    double scale = sqrt((double)grid->width * (double)grid->height);
    for (size_t s = 0; s < grid->size_count; ++s) {
        const tnp_patch_size *size = grid->size + s;
        double half = 0.5 * (double)size->side;
        for (size_t j = 0; j < size->ny; ++j)
            for (size_t i = 0; i < size->nx; ++i, out += 3) {
                out[0] = (float)(((double)(size->x + i * grid->step) + half) / (double)grid->width);
                out[1] = (float)(((double)(size->y + j * grid->step) + half) / (double)grid->height);
                out[2] = (float)((double)size->side / scale);
            }
    }
}
