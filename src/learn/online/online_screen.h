/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Estimated scores of a block of samples, and how far off they can be: few classes need their true scores then. */
#ifndef TNP_ONLINE_SCREEN_H
#define TNP_ONLINE_SCREEN_H

#include "base/base.h"
#include "simd/simd.h"

typedef struct tnp_screen {
    const tnp_simd *simd;
    size_t classes, dim, rows;    /* rows: of a block, whole bundles */
    size_t stride, pairs;         /* distance of coarse rows, and their pairs of values */
    int16_t *w;                   /* (classes, stride): weights in steps */
    float *w_step, *off, *reach;  /* classes: the step, |mu - coarse| at most and |coarse| at most */
    unsigned char *stale;         /* classes: moved since their weights were rounded */
    int16_t *x, *lanes;           /* (rows, stride): samples in steps; the same side by side, bundle by bundle */
    float *x_step, *x_off, *size; /* rows: step, |x - coarse| at most, |x| with the constant */
    double *length;               /* rows: |x|^2 with the constant */
    float *s;                     /* (rows, classes): estimated scores */
    float *gram;                  /* (rows, rows), first order: estimated products of samples, j >= i; else NULL */
    float constant;               /* what the constant adds to a product: 1, or 0 without bias */
    uint32_t *rivals;             /* classes: found by tnp_screen_rivals */
    float *rival_scores;          /* classes: their full scores */
} tnp_screen;

/* For learners with this many classes; with_gram: samples move classes by a x. */
tn_status tnp_screen_new(tn_ctx *ctx, size_t classes, size_t dim, size_t rows, bool bias, bool with_gram,
                         tnp_screen **out);
void tnp_screen_free(tnp_screen *screen);
size_t tnp_screen_bytes(size_t classes, size_t dim, size_t rows, bool with_gram);

/* Estimates the scores of x (n, dim) under mu (classes, width), constant last, and measures lengths. */
void tnp_screen_estimate(tn_ctx *ctx, tnp_screen *screen, const float *mu, size_t width, const float *x, size_t n);
/* Measures lengths only: nothing may be asked of this block's scores. */
void tnp_screen_lengths(tn_ctx *ctx, tnp_screen *screen, const float *x, size_t n);
/* Classes other than y that may have the best score of sample t, ascending; returns how many, at least 1 of 2 classes.
 * *above: by how much y is above them all, for sure. */
size_t tnp_screen_rivals(tnp_screen *screen, size_t t, size_t y, float *above);
/* Class c was moved by step times sample t of a block of n: its later scores are estimated by the samples' products. */
void tnp_screen_move(tnp_screen *screen, size_t t, size_t n, size_t c, float step);
/* Class c was moved in some direction, no further than `by`. */
void tnp_screen_drift(tnp_screen *screen, size_t c, double by);
/* How far the estimate of class c for sample t can be off. */
static inline double tnp_screen_bound(const tnp_screen *s, size_t c, size_t t)
{
    return (double)s->off[c] * (double)s->size[t] + (double)s->reach[c] * (double)s->x_off[t];
}

#endif
