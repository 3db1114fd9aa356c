/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Solves by dual coordinate descent, for tests. */
#ifndef DUAL_OF_H
#define DUAL_OF_H

#include "design_of.h"
#include "learn/linear/svm_dual.h"

typedef struct solved {
    float *alpha, *w; /* (n, count), (count, d+1) */
    double *objective, *gap;
    tnp_dual_info info;
} solved;

static inline solved room_for(const tnp_design *x, const side_by_side *c)
{
    size_t count = c->columns.count;
    return (solved){.alpha = ref_alloc(x->rows * count, sizeof(float)),
                    .w = ref_alloc(count * (x->dim + 1), sizeof(float)),
                    .objective = ref_alloc(count, sizeof(double)),
                    .gap = ref_alloc(count, sizeof(double))};
}

static inline void solved_free(solved *v)
{
    free(v->alpha);
    free(v->w);
    free(v->objective);
    free(v->gap);
}

static inline solved solve(tnp_design *x, const side_by_side *c, const tnp_dual_options *opt)
{
    solved v = room_for(x, c);
    assert_fine(test_ctx, tnp_dual_solve(test_ctx, x, &c->columns, opt, v.alpha, v.w, v.objective, v.gap, &v.info));
    return v;
}

#endif
