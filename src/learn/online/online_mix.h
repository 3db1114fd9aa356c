/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Online learners of a team: one of the same kind per member, on its part of the rows, which become one after a pass. */
#ifndef TNP_ONLINE_MIX_H
#define TNP_ONLINE_MIX_H

#include "learn/online/online.h"

/* What a learner had counted before the pass. */
typedef struct tnp_counted {
    uint64_t updates, mistakes;
} tnp_counted;

/* *online, after a pass over the share (of all rows) that this member has, becomes what all members have then. */
tn_status tnp_online_mix(tn_ctx *ctx, double share, tnp_counted before, tnp_online **online);

#endif
