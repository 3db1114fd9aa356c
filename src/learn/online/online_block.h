/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A block of samples at work: shared by the multi-class and the one-vs-rest learners. */
#ifndef TNP_ONLINE_BLOCK_H
#define TNP_ONLINE_BLOCK_H

#include "simd/simd.h"
#include "learn/online/online.h"
#include "learn/online/online_screen.h"

/* An update of one class by one sample. */
typedef struct tnp_move {
    uint32_t sample, after; /* after: place of the class's next move, plus 1; 0: there is none */
    float step;
} tnp_move;

/* Scratch for blocks of up to rows = shape.block samples; what a learner does not need is NULL. */
typedef struct tnp_online_scratch {
    const tnp_simd *simd;
    tnp_screen *screen;
    bool estimated; /* the screen has estimates of this block */
    /* multi-class */
    tnp_move *moves; /* 2 rows, first order, averaged: what the average has not taken yet */
    size_t move_count;
    uint32_t *begin, *end; /* classes: places of the first and the last move, plus 1; 0: the class has not moved */
    uint32_t *touched;     /* 2 rows: the classes that have */
    size_t touched_count;
    /* one-vs-rest */
    uint32_t *updates, *mistakes; /* classes */
} tnp_online_scratch;

/* Estimates are made for whole bundles of samples, in the time of about two full scores per class: blocks of no more
 * samples, as single rows that come as they happen, get full scores for all classes. */
enum { TNP_FULL_SCORES = 2 };

/* What a thread of a parallel loop sees. */
typedef struct tnp_visit {
    tnp_online *o;
    const tnp_samples *in;
} tnp_visit;

static inline float tnp_sample_weight(const tnp_samples *in, size_t t)
{
    return in->weight ? in->weight[t] : 1.0f;
}

static inline bool tnp_is_positive(const tnp_samples *in, size_t t, size_t c)
{
    for (size_t p = in->first[t]; p < in->first[t + 1]; ++p)
        if (in->cls[p] == c)
            return true;
    return false;
}

/* mu_c'x_t, and x_t'Sigma_c x_t. */
float tnp_class_score(const tnp_visit *visit, size_t c, size_t t);
double tnp_class_variance(const tnp_visit *visit, size_t c, size_t t);
/* Row c of target (classes, width) += step x_t. */
void tnp_class_add(const tnp_visit *visit, size_t c, size_t t, float step, float *target);
/* mu_c += a Sigma_c x, 1/Sigma_c += b x^2, and the average. */
void tnp_class_move(const tnp_visit *visit, size_t c, size_t t, double a, double b);

/* They learn a block and count. */
void tnp_online_mul(tn_ctx *ctx, tnp_visit *visit);
void tnp_online_ovr(tn_ctx *ctx, tnp_visit *visit);

#endif
