/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfer to a scene: representation a is the target, and what are sources the test says. */
#ifndef TN_TESTS_TRANSFER_SCENE_H
#define TN_TESTS_TRANSFER_SCENE_H

#include "scene_of.h"

enum { ROWS = 24, DA = 7, DB = 9 };

static inline tnp_transfer_options options_of(int method)
{
    tnp_transfer_options opt;
    tnp_transfer_options_default(&opt);
    opt.method = method;
    opt.normalize = TN_NORM_NONE;
    return opt;
}

static inline tn_status transfer(const scene *s, const tn_source *sources, size_t count,
                                 const tnp_transfer_options *opt, tn_transfer_info **info, tn_head **head)
{
    return tnp_transfer(test_ctx, (const tn_features *const *)s->features, 1, s->labels, sources, count, opt, info,
                        head);
}

#endif
