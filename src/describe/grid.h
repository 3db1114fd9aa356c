/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where descriptors are taken: square patches of several sizes, each size on a regular grid. */
#ifndef TNP_GRID_H
#define TNP_GRID_H

#include "base/base.h"

enum { TNP_MOST_SIZES = 16 };

typedef struct tnp_patch_size {
    size_t side;   /* pixels */
    size_t nx, ny; /* patches along x and y: 0 when the picture is smaller than one */
    size_t x, y;   /* left and upper edge of the first */
    size_t first;  /* its number: those of a size are counted row by row, behind those of the sizes before */
} tnp_patch_size;

typedef struct tnp_grid {
    size_t width, height; /* of the picture */
    size_t step, count;   /* pixels between patches; patches in all */
    size_t size_count;
    tnp_patch_size size[TNP_MOST_SIZES];
} tnp_grid;

void tnp_grid_make(size_t width, size_t height, size_t step, const size_t *sides, size_t side_count, tnp_grid *out);
/* (count, 3): the middle of each patch as shares of width and height, and its side as a share of sqrt(width height). */
void tnp_grid_positions(const tnp_grid *grid, float *out);

#endif
