/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A block of samples at work: shared by the first- and second-order learners. */
#ifndef TNP_ONLINE_BLOCK_H
#define TNP_ONLINE_BLOCK_H

#include "kernel/kernel.h"
#include "learn/online.h"

/* An update of one class by one sample. */
typedef struct tnp_move {
    uint32_t sample, before; /* before: place of the class's move before this one, plus 1; 0: there is none */
    float step;
} tnp_move;

/* Scratch for blocks of up to `rows` samples; what a learner does not need is NULL. */
typedef struct tnp_online_room {
    const tnp_kernels *kernels;
    size_t rows;
    float *s;            /* (rows, classes): scores */
    float *gram;         /* (n, n), first order: upper triangle of the samples' products, the constant's included */
    double *length;      /* rows: |x|^2 with the constant */
    float *delta, *late; /* (rows, classes), first order OVR: steps, and steps times the samples seen before */
    float *squares, *v;  /* (rows, dim), (rows, classes): CW and SCW OVR: x^2, variances before the block */
    tnp_move *moves;     /* 2 rows, first order MUL */
    size_t move_count;
    uint32_t *last;    /* classes: place of the last move plus 1, or 1 for a class that was touched; 0: untouched */
    uint32_t *touched; /* 2 rows: the classes touched */
    size_t touched_count;
    uint32_t *updates, *mistakes; /* classes, OVR */
} tnp_online_room;

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

/* The best class other than y, ties to the lower. */
size_t tnp_best_wrong(const float *s, size_t classes, size_t y);

/* Scores of the block at the weights it starts with are in room->s; they learn it and count. */
tn_status tnp_online_first_mul(tn_ctx *ctx, tnp_visit *visit);
tn_status tnp_online_first_ovr(tn_ctx *ctx, tnp_visit *visit);
tn_status tnp_online_second_mul(tnp_visit *visit);
tn_status tnp_online_second_ovr(tn_ctx *ctx, tnp_visit *visit);

#endif
