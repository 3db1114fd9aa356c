/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A refinement at work: the bags that it learns from and those it is judged by, the mixture at hand, the support vector
 * machines above it. */
#ifndef TNP_REFINING_H
#define TNP_REFINING_H

#include "encode/fisher_back.h"
#include "base/crew.h"
#include "store/descriptors.h"
#include "pipeline/refine/machines.h"
#include "tenon/pipeline.h"

/* A bag as the mixture at hand sees it, and as it is kept. */
typedef struct tnp_seen {
    tnp_described_bag bag;
    float *projected;  /* (most, dim); NULL: it is kept as it is seen */
    const float *rows; /* (n, dim): what is seen */
} tnp_seen;

/* Vectors of some bags at the mixture at hand. */
typedef struct tnp_vectors {
    const tnp_descriptors *from;
    size_t *bags; /* (count): which */
    size_t count;
    float *psi, *phi; /* (count, cols): before and after normalisation */
} tnp_vectors;

typedef struct tnp_refining {
    const tnp_refine_options *options;
    size_t seed;
    tnp_crew crew;
    tnp_descriptors sets[2];  /* of the training data, and of the validation data where there are some */
    tnp_vectors train, valid; /* valid.count 0: nothing to judge by */
    size_t *first;            /* targets of train */
    uint32_t *cls;
    const char *const *names; /* (classes): of the classes that are learned; the labels' */
    size_t classes;
    double
        *valid_ap; /* (classes): average precision of the validation bags, of the last judgement; NaN: no positives */
    tn_labels *judge; /* targets of valid; NULL: none */
    uint64_t key;     /* of the data and the encoder */
    tnp_machines machines;
    tn_encoder *e; /* its mixture, and its projection where that is learned, are those of the point */
    tnp_fisher_point point;
    size_t size;          /* of theta, x and gradients */
    double *unit, *start; /* (size): x = theta / unit; the x that it began with */
    double *deviation;    /* (size): what moves of theta are told in */
    double *anchor;       /* (size): weight of a squared move in the penalty */
    bool exact;           /* whatever option soften says */
    size_t round;         /* which descriptors are drawn */
    double objective;     /* of the machines, and the penalty */
    double encode_seconds, solve_seconds, back_seconds;
} tnp_refining;

/* ---- data.c ---- */

/* Describes everything and deals it out. valid may be NULL. All zero before, tnp_refining_close after. */
tn_status tnp_refining_open(tn_ctx *ctx, const tn_encoder *encoder, const tn_refine_data *train,
                            const tn_refine_data *valid, const tnp_encoder_options *options, tnp_refining *out);
void tnp_refining_close(tn_ctx *ctx, tnp_refining *refining);
/* A copy of an encoder. */
tn_status tnp_encoder_copy(tn_ctx *ctx, const tn_encoder *encoder, tn_encoder **out);
/* Gives the refinement another encoder of the same descriptors, owned from then on: memory for its vectors and
 * machines, and the point that it is at. */
tn_status tnp_refining_take(tn_ctx *ctx, tnp_refining *refining, tn_encoder *encoder);

/* ---- seen.c ---- */

/* For bags of one set; all zero before, tnp_seen_free after. */
tn_status tnp_seen_new(tn_ctx *ctx, const tnp_refining *refining, const tnp_descriptors *from, tnp_seen *out);
void tnp_seen_free(tnp_seen *seen);
/* Rows of the bag that was got, by an encoder of the same descriptors. */
tn_status tnp_seen_look(tn_ctx *ctx, const tn_encoder *encoder, const tnp_descriptors *from, tnp_seen *seen);
/* What the reverse pass and the encoding in double ask of a bag; the rest is 0. */
tnp_fisher_bag tnp_seen_bag(const tnp_seen *seen);

/* ---- objective.c ---- */

typedef enum tnp_at {
    TNP_AT_SOLVE, /* the machines are solved */
    TNP_AT_LOOK   /* their weights stay */
} tnp_at;

/* Goes to x (size): vectors of train, machines, objective; infinite, and nothing is done, where x is no mixture. */
tn_status tnp_refining_at(tn_ctx *ctx, tnp_refining *refining, const double *x, tnp_at how);
/* g (size) = d objective / dx where it is, with the weights held. */
tn_status tnp_refining_slope(tn_ctx *ctx, tnp_refining *refining, double *g);
/* Mean average precision of the validation bags where it is; NaN without any. */
tn_status tnp_refining_judge(tn_ctx *ctx, tnp_refining *refining, double *mean_ap);
/* Of an encoder that was just taken: vectors of all bags; C by validation where option C is auto, machines solved at
 * it. mean_ap as of tnp_refining_judge. */
tn_status tnp_refining_choose_cost(tn_ctx *ctx, tnp_refining *refining, double *mean_ap);

#endif
