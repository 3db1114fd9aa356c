/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the options say of an online learner, for tn_fit and for learners that are given chunks. */
#ifndef TNP_PIPELINE_ONLINE_H
#define TNP_PIPELINE_ONLINE_H

#include "learn/online/online_chunks.h"
#include "pipeline/parts.h"

tnp_online_shape tnp_online_shape_of(const tnp_fit_options *options, tn_task task, size_t classes, size_t dim);
/* tn_online_new by a struct of options. */
tn_status tnp_online_begin(tn_ctx *ctx, const tnp_fit_options *options, tn_task task, const char *const *names,
                           size_t count, tn_online **out);
/* Whether the head's classes are the first of the names. */
bool tnp_begins_with(const char *const *names, size_t count, const tn_head *from);

#endif
