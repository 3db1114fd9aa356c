/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes of online learners over rows that are streamed from their feeds: any number of learners share one reading. */
#ifndef TNP_ONLINE_PASS_H
#define TNP_ONLINE_PASS_H

#include "learn/online/negatives.h"
#include "learn/online/online.h"
#include "learn/options.h"

/* Rows and their classes. Everything is borrowed. */
typedef struct tnp_online_data {
    const tn_feed *const *feeds; /* side by side */
    size_t feed_count;
    const tnp_targets *y;
    const float *weight; /* one per row, or NULL */
    bool balance;        /* one-vs-rest: positives and negatives of a class weigh the same in all */
    /* These rows are a part of the pass that was begun there, and go on with its draws; NULL: they are a whole pass. */
    tnp_negatives *negatives;
} tnp_online_data;

/* Negatives per positive that the options ask for; INFINITY: all of them. */
double tnp_negatives_share(const tnp_online_options *options);

typedef struct tnp_passes tnp_passes;

/* Options that matter here: multiclass, ratio, shuffle. Every block has at most `block` rows. */
tn_status tnp_passes_new(tn_ctx *ctx, const tnp_online_data *data, const tnp_online_options *options, size_t seed,
                         size_t block, tnp_passes **out);
void tnp_passes_free(tnp_passes *passes);
/* Pass number `pass` (from 0) for all learners that are not NULL. What is drawn depends on seed and pass only. */
tn_status tnp_passes_run(tn_ctx *ctx, tnp_passes *passes, size_t pass, tnp_online *const *learners, size_t count);

#endif
