/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spatial pyramids: cells of pictures, whose descriptors are encoded apart. */
#ifndef TNP_PYRAMID_H
#define TNP_PYRAMID_H

#include "base/base.h"

enum { TNP_MOST_LEVELS = 4, TNP_MOST_CELLS = 64, TNP_MOST_EDGES = 32, TNP_PYRAMID_TEXT = 64 };

/* "1x1,2x2,3x1": rows x columns of each level. Atoms are what all edges of all levels cut a picture into: every cell is
 * a rectangle of atoms. */
typedef struct tnp_pyramid {
    char text[TNP_PYRAMID_TEXT];
    size_t levels, rows[TNP_MOST_LEVELS], columns[TNP_MOST_LEVELS];
    size_t cells;                                        /* of all levels, level by level, row by row */
    size_t across, down;                                 /* atoms along x and y */
    double x[TNP_MOST_EDGES + 1], y[TNP_MOST_EDGES + 1]; /* their edges, from 0 to 1 */
} tnp_pyramid;

/* TN_ERR_ARG. */
tn_status tnp_pyramid_parse(tn_ctx *ctx, const char *text, tnp_pyramid *out);
/* The atom of a place, row by row; places outside [0, 1) belong to the nearest. */
size_t tnp_pyramid_atom(const tnp_pyramid *pyramid, double x, double y);
bool tnp_pyramid_holds(const tnp_pyramid *pyramid, size_t cell, size_t atom);

#endif
