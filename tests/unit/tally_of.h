/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two representations and labels in files, in double, and tallies of ranges of their rows. */
#ifndef TN_TALLY_OF_H
#define TN_TALLY_OF_H

#include "fixtures/problems.h"
#include "learn/tally/tally.h"
#include "pipeline/moments/moments.h"

enum { TALLY_N = 330, TALLY_A = 7, TALLY_B = 5, TALLY_D = TALLY_A + TALLY_B, TALLY_K = 4 };

typedef struct tally_scene {
    ref_problem a, b; /* b has features only */
    tn_task task;
    tn_features *features[2];
    tn_labels *labels;
    double *x; /* (N, D): both, as they are prepared */
    tnp_tally_options options;
} tally_scene;

/* rows of weight 0.5 to 1.5 where weighted; a few have no label. */
static inline tally_scene tally_scene_of(tn_task task, bool weighted, const char *normalize)
{
    tally_scene s = {.a = ref_problem_of(REF_SIGNED, TALLY_N, TALLY_A, TALLY_K, 7),
                     .b = ref_problem_of(REF_NONNEG, TALLY_N, TALLY_B, TALLY_K, 8),
                     .task = task};
    tn_normalize kind = TN_NORM_NONE;
    size_t count = 0;
    retarget(&s.a, task, 9);
    for (size_t i = 40; i < TALLY_N; i += 97)
        s.a.y[i * TALLY_K] = NAN;
    assert_fine(test_ctx,
                tn_features_open(test_ctx, write_matrix("a.npy", s.a.x, TALLY_N, TALLY_A, AS_F64), &s.features[0]));
    assert_fine(test_ctx,
                tn_features_open(test_ctx, write_matrix("b.npy", s.b.x, TALLY_N, TALLY_B, AS_F64), &s.features[1]));
    s.labels = labels_of(s.a.y, TALLY_N, TALLY_K, task);
    if (weighted) {
        double weight[TALLY_N];
        for (size_t i = 0; i < TALLY_N; ++i)
            weight[i] = 0.5 + (double)(i % 5) / 4;
        assert_fine(test_ctx, tn_labels_set_weights(test_ctx, s.labels, weight, TALLY_N));
    }
    assert_fine(test_ctx, tn_normalize_parse(test_ctx, normalize, &kind, &count));
    double *a = normalised(s.a.x, TALLY_N, TALLY_A, kind), *b = normalised(s.b.x, TALLY_N, TALLY_B, kind);
    s.x = beside(a, TALLY_A, b, TALLY_B, TALLY_N);
    free(a);
    free(b);
    tnp_tally_options_default(&s.options);
    s.options.rank.normalize = normalize;
    return s;
}

static inline void tally_scene_free(tally_scene *s)
{
    ref_problem_free(&s->a);
    ref_problem_free(&s->b);
    tn_features_close(s->features[0]);
    tn_features_close(s->features[1]);
    labels_done(s->labels);
    free(s->x);
}

static inline const tn_features *const *tally_features(const tally_scene *s)
{
    return (const tn_features *const *)s->features;
}

static inline tn_tally *tally_of(tally_scene *s, size_t from, size_t to)
{
    tn_tally *t = NULL;
    char rows[64];
    snprintf(rows, sizeof rows, "%zu:%zu", from, to);
    s->options.rows = rows;
    assert_fine(test_ctx, tnp_tally_gather(test_ctx, tally_features(s), 2, s->labels, &s->options, &t));
    s->options.rows = "";
    return t;
}

#endif
