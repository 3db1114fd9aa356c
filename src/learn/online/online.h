/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online linear learners that take samples in blocks and give the sequential algorithm's answer. */
#ifndef TNP_ONLINE_H
#define TNP_ONLINE_H

#include "base/base.h"
#include "learn/online/online_rules.h"

/* The true class against the best wrong one, or every class against the rest. */
typedef enum tnp_online_scheme { TNP_MUL, TNP_OVR } tnp_online_scheme;

typedef struct tnp_online_shape {
    tnp_online_scheme scheme;
    bool average, bias;
    size_t classes, dim;
    size_t block; /* samples that are learned at once, at most */
} tnp_online_shape;

/* The block to take: of 32 to 256 the fastest or near it for 10 to 1000 classes, all rules and schemes. More rows are
 * more products of samples and wider bounds, fewer wake the threads more often. */
enum { TNP_ONLINE_BLOCK = 64 };

struct tnp_online_scratch;

/* The state of a learner: with its rule and shape, everything that a checkpoint must hold. Others may write it before
 * the first block only: what the learner derives from it is not told. */
typedef struct tnp_online {
    tnp_rule rule;
    tnp_online_shape shape;
    size_t width;  /* tnp_row_stride(dim + 1); value dim of a row is the weight of a constant 1, or 0 without bias */
    float *mu;     /* (classes, width) */
    float *u;      /* (classes, width), averaging: mean = mu - u / seen */
    float *sigma;  /* (classes, width), second-order rules */
    uint64_t seen; /* samples, updated or not */
    uint64_t updates, mistakes;
    struct tnp_online_scratch *scratch; /* of a block */
} tnp_online;

/* Weights 0, variances 1. */
tn_status tnp_online_new(tn_ctx *ctx, const tnp_rule *rule, const tnp_online_shape *shape, tnp_online **out);
void tnp_online_free(tnp_online *online);
/* Bytes of a learner of this kind. */
size_t tnp_online_bytes(const tnp_rule *rule, const tnp_online_shape *shape);

/* One block of samples. Positive classes of sample i: cls[first[i]] .. cls[first[i+1] - 1], ascending; exactly one for
 * TNP_MUL. */
typedef struct tnp_samples {
    size_t count;
    const float *x; /* (count, dim) */
    const size_t *first;
    const uint32_t *cls;
    const float *weight;       /* count, or NULL: multiplies C */
    const unsigned char *skip; /* (count, classes), or NULL: 1 where a one-vs-rest learner does not see the sample */
    const float *side;         /* (classes, 2), or NULL: times the weight of negatives and of positives, one-vs-rest */
} tnp_samples;

/* Learns a block as if sample by sample. */
void tnp_online_update(tn_ctx *ctx, tnp_online *online, const tnp_samples *samples);
/* The weights to use: the average, or the last. out (classes, width). */
void tnp_online_weights(const tnp_online *online, float *out);

#endif
