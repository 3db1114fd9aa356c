/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two representations of one task, and the two calls on them, for the tests of the whole way. */
#ifndef TN_TESTS_SCENE_OF_H
#define TN_TESTS_SCENE_OF_H

#include "fixtures/problems.h"
#include "pipeline/options.h"

enum { REPS = 2, K = 3 };

typedef struct scene {
    size_t n, cols[REPS];
    double *x[REPS], *y; /* as the features hold them */
    tn_task task;
    tn_labels *labels;
    tn_features *features[REPS];
} scene;

static inline scene scene_of(size_t n, size_t da, size_t db, tn_task task, stored as)
{
    scene s = {.n = n, .cols = {da, db}, .task = task};
    ref_problem a = ref_problem_of(REF_SIGNED, n, da, K, 21), b = ref_problem_of(REF_NONNEG, n, db, K, 21);
    s.x[0] = a.x;
    s.x[1] = b.x;
    retarget(&a, task, 8);
    s.y = a.y;
    free(b.y);
    s.features[0] = features_of("a", s.x[0], n, da, as);
    s.features[1] = features_of("b", s.x[1], n, db, as);
    s.labels = labels_of(s.y, n, K, task);
    return s;
}

static inline void scene_free(scene *s)
{
    for (int r = 0; r < REPS; ++r) {
        tn_features_close(s->features[r]);
        free(s->x[r]);
    }
    free(s->y);
    labels_done(s->labels);
}

static inline tn_status rank(const scene *s, const tnp_rank_options *opt, tn_ranking **out)
{
    return tnp_rank(test_ctx, (const tn_features *const *)s->features, REPS, s->labels, opt, out);
}

static inline tn_status fit(const scene *s, const tnp_fit_options *opt, tn_fit_info **info, tn_head **head)
{
    return tnp_fit(test_ctx, (const tn_features *const *)s->features, REPS, s->labels, opt, info, head);
}

#endif
