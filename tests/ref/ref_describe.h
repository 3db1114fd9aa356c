/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors of single patches from their formulas, in double, pixel by pixel. Planes are (height, width). */
#ifndef REF_DESCRIBE_H
#define REF_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ref_patch {
    const float *plane;
    size_t width, height;
    double x, y, side; /* left and upper edge */
} ref_patch;

/* d (128); root: RootSIFT. */
void ref_sift(const ref_patch *patch, bool root, double *d);
/* Of red, green, blue planes one after the other; d (384). */
void ref_csift(const ref_patch *patch, double *d);
/* d (1024). */
void ref_lbp(const ref_patch *patch, double *d);
/* Of three planes; d (960). */
void ref_gist(const ref_patch *patch, double *d);

#endif
