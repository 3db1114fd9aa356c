/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Directions of descent: limited-memory BFGS, and the moments of Adam. Plain vectors of doubles. */
#ifndef TNP_STEPS_H
#define TNP_STEPS_H

#include "base/base.h"

enum { TNP_STEPS_MEMORY = 10 };

typedef struct tnp_steps {
    size_t size;
    size_t count;          /* pairs that are kept */
    double *s, *y;         /* (TNP_STEPS_MEMORY, size): moves and changes of the gradient, the oldest first */
    double *mean, *square; /* (size): of Adam */
    size_t taken;          /* steps of Adam */
} tnp_steps;

/* All zero before, tnp_steps_free after. */
tn_status tnp_steps_new(tn_ctx *ctx, size_t size, tnp_steps *out);
void tnp_steps_free(tnp_steps *steps);
/* out (size) = -H g by the pairs; -g without any. */
void tnp_steps_direction(const tnp_steps *steps, const double *g, double *out);
/* Keeps a pair, in the place of the oldest where there are enough; one without curvature, s'y <= 1e-8 |s| |y|, is left
 * out. */
void tnp_steps_keep(tnp_steps *steps, const double *s, const double *y);
/* out (size): the next step of Adam with this rate (Kingma and Ba 2015: 0.9, 0.999, 1e-8). */
void tnp_steps_adam(tnp_steps *steps, const double *g, double rate, double *out);

#endif
