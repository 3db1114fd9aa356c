/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The online learner as an object that is given its rows chunk by chunk, and weights that go from heads to learners and
 * back. */
#ifndef TNP_ONLINE_CHUNKS_H
#define TNP_ONLINE_CHUNKS_H

#include "learn/head/head.h"
#include "learn/online/online_pass.h"

struct tn_online {
    tnp_rule rule;
    double eta;                 /* that the rule was made with */
    tnp_online_shape shape;     /* classes and dim are the head's */
    tnp_online_options options; /* multiclass, ratio; rows are taken as they come */
    tn_nan_policy nan;
    uint64_t seed;
    tnp_rep prepare;     /* of representations that are still to be known; without name and columns */
    tn_head *head;       /* what is learned, without its numbers; before the first rows it has no representations */
    tnp_online *learner; /* NULL before the first rows */
    tnp_negatives *negatives; /* of the rows that are expected; NULL: none are */
    size_t expectations;      /* how often rows were expected: the number of the next pass of draws */
    tn_status spent;          /* of the call that failed in the middle of learning */
    char why[512];            /* its sentence */
};

/* TN_OK, or the failure that spent the object. */
tn_status tnp_online_usable(tn_ctx *ctx, const tn_online *online);
/* A learner for the object's classes and so many columns, all of its state 0. */
tn_status tnp_online_learner(tn_ctx *ctx, const tn_online *online, size_t classes, size_t dim, tnp_online **out);
/* Learns rows that were prepared as head says, by a learner of its width. Where it fails *taken tells whether rows were
 * learned. */
tn_status tnp_online_take(tn_ctx *ctx, tn_online *online, tnp_online *learner, const tnp_online_data *data,
                          bool *taken);

/* ---- weights: rows of tnp_row_stride(dim + 1), intercepts behind the columns ---- */

/* A head to go on from must be one of features only, and without intercepts have none: TN_ERR_ARG. */
tn_status tnp_online_check_start(tn_ctx *ctx, const tn_head *from, bool ovr, bool bias);
/* start (at least from's classes): the weights of a head, for columns with the given centre (dim; NULL: none). */
void tnp_online_start(const tn_head *from, const double *centre, bool ovr, bool bias, float *start);
/* The numbers of a head. */
void tnp_online_fill(const float *w, tn_head *head);

#endif
