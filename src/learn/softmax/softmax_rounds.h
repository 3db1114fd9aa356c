/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds towards the minimum of the multinomial problem: where they are, what they know, and one more round. */
#ifndef TNP_SOFTMAX_ROUNDS_H
#define TNP_SOFTMAX_ROUNDS_H

#include "learn/linear/newton.h"
#include "learn/softmax/softmax_blocks.h"
#include "learn/softmax/softmax_coarse.h"
#include "learn/softmax/softmax_mean.h"

enum { TNP_KEPT_PAIRS = 8, TNP_STEP_SAMPLE = 1024 };

typedef struct tnp_rounds {
    tn_ctx *ctx;
    const tnp_rows *x;
    const tnp_newton_options *opt;
    tnp_softmax loss; /* the caller's but for C, which is less on the way up to it */
    tnp_softmax_rows rows;
    tnp_coarse coarse;
    tnp_blocks blocks;
    const tnp_row_moment *moment;                   /* of these rows and others, or NULL; set before rounds are taken */
    tnp_mean_curve mean;                            /* of light steps without a subspace, while t is there */
    bool heavy;                                     /* steps are by the blocks */
    size_t age;                                     /* rounds since the blocks were made */
    size_t k, width;                                /* width = dim + 1 */
    float *s, *z;                                   /* (N, k): scores; those along d, NULL with a subspace */
    float *w, *g, *d;                               /* (k, width): weights, the caller's; gradient; a direction */
    float *ds[TNP_KEPT_PAIRS], *dg[TNP_KEPT_PAIRS]; /* (k, width): changes of w and g, a ring */
    double curve[TNP_KEPT_PAIRS];                   /* ds'dg */
    size_t pairs, newest;                           /* how many are kept, and where the last one is */
    size_t slots;                                   /* of the ring that have memory */
    double *dot, *sums;       /* k; 1 + 2 k and more: of the loss's derivatives, the intercepts' slopes first */
    tnp_softmax_range sample; /* rows on which light steps are searched */
    const float *x_sample;    /* they, x_stride apart */
    size_t x_stride;
    float *x_kept, *b_kept; /* their memory, and that of the blocks' rows, where they are copies */
    double sample_scale;    /* cost of all rows / cost of these */
    double f, square, gap;  /* objective, |g|^2, estimated distance */
    double tolerance;       /* of f: the distance that rounds are to reach */
    size_t directions;      /* of the subspace, at most; set before it is solved */
    bool cold;              /* it began with no weights; set before rounds are taken */
    bool settled;           /* intercepts are the best for the weights */
    bool stretched;         /* the start is a multiple of weights that were trained at another C */
    size_t taken, products; /* rounds; products with X */
} tnp_rounds;

/* w is where they begin; scores are zero until tnp_rounds_forward. Destroy is legal after failure, and on zeros. */
tn_status tnp_rounds_init(tn_ctx *ctx, const tnp_rows *x, const tnp_softmax *loss, const tnp_newton_options *options,
                          float *w, tnp_rounds *out);
void tnp_rounds_destroy(tnp_rounds *rounds);
/* f of no weights at all. */
double tnp_rounds_nothing(const tnp_rounds *rounds);

/* s += X a', intercepts included. */
tn_status tnp_rounds_forward(tnp_rounds *rounds, const float *a);
/* Of weights that may have been trained at another C, with their scores: their best multiple, by the sample; or they
 * stay where that is not clearly shorter. */
tn_status tnp_rounds_stretch(tnp_rounds *rounds, bool only_shorter);
/* f, g, the intercepts' slopes and the estimate at the present scores. */
tn_status tnp_rounds_look(tnp_rounds *rounds);
/* The problem in its subspace, which is found when it is first needed, and the best intercepts for what comes out. */
tn_status tnp_rounds_subspace(tnp_rounds *rounds, size_t steps, double enough);
/* The best free intercepts for the weights, as far as the tolerance asks: there 1/2 |g|^2 is a bound. */
tn_status tnp_rounds_settle(tnp_rounds *rounds);
/* Light steps by the curvature at no weights, where that pays; false: they are by the subspace. */
tn_status tnp_rounds_begin_mean(tnp_rounds *rounds, bool *begun);
/* One round, and a look where it ends. */
tn_status tnp_rounds_take(tnp_rounds *rounds);

/* Bytes that are yet to be taken when steps are by the blocks, a certificate's included. From `begin` on they are. */
size_t tnp_rounds_heavy_bytes(const tnp_rounds *rounds);
tn_status tnp_rounds_begin_heavy(tnp_rounds *rounds);
/* The rest needs heavy steps, or those by the mean: w += t d with the best t, and a look there; and C becomes `cost`,
 * with all that is known of f. */
tn_status tnp_rounds_along(tnp_rounds *rounds);
void tnp_rounds_raise(tnp_rounds *rounds, float cost);

#endif
