/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Antialiased resize of a picture whose rows come one after the other. */
#ifndef TNP_RESIZE_H
#define TNP_RESIZE_H

#include "base/base.h"

/* What weighs samples: a triangle, which Pillow calls bilinear, or the cubic of Keys with a = -1/2, its bicubic. */
typedef enum tnp_kernel { TNP_TRIANGLE, TNP_CUBIC } tnp_kernel;

/* One axis: `from` samples that cover `extent` of their own widths become `to`. */
typedef struct tnp_axis {
    size_t from, to, taps;
    double scale,
        radius; /* extent / to; max(scale, 1) samples of `from`, which the triangle reaches, the cubic twice */
    tnp_kernel kernel;
    size_t *first;  /* (to): the first sample with a weight */
    float *weights; /* (to, taps), each row of sum 1 */
} tnp_axis;

typedef struct tnp_resize {
    size_t width, height, channels; /* of the result */
    tnp_axis x, y;
    size_t row, low, next; /* rows that came; the first result that is not complete; the first without any share */
    bool enlarges;         /* by much, along y: rows are resized along x first */
    size_t open;           /* results that are begun and not complete, at most; 1 when it enlarges */
    size_t line;           /* floats of one of them: from_width x channels, and zeros that taps beyond them see */
    float *sums;           /* (open, line): those results, resized along y; result i is at i modulo open */
    float *across;         /* (width, channels): when it enlarges, the row that came, resized along x */
    float *out;            /* (height, width, channels), the caller's */
} tnp_resize;

/* from_width x from_height samples that cover extent_x x extent_y; all zero before, tnp_resize_free after. */
tn_status tnp_resize_new(tn_ctx *ctx, size_t from_width, size_t from_height, double extent_x, double extent_y,
                         size_t width, size_t height, size_t channels, tnp_resize *out);
/* The same with another kernel than the triangle. */
tn_status tnp_resize_new_by(tn_ctx *ctx, tnp_kernel kernel, size_t from_width, size_t from_height, double extent_x,
                            double extent_y, size_t width, size_t height, size_t channels, tnp_resize *out);
/* Only width x height results of it from (x, y) on, with the bits that they have in all of it; before the first row. */
void tnp_resize_window(tnp_resize *resize, size_t x, size_t y, size_t width, size_t height);
void tnp_resize_free(tnp_resize *resize);
/* From the first row on, into out, which is whole when the last has come. */
void tnp_resize_begin(tnp_resize *resize, float *out);
/* The next row, (from_width, channels). */
void tnp_resize_row(tnp_resize *resize, const float *row);

/* The size that a picture of width x height is kept at: none of its sides 0, no more than `pixels` pixels in all and
 * `side` along the longer one, where these are not 0; never larger than it is. */
void tnp_resize_size(size_t width, size_t height, size_t pixels, size_t side, size_t *out_width, size_t *out_height);

#endif
