/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows mapped by the loops of ref_map.c, for the tests of --transform. */
#ifndef TN_TESTS_MAPPED_OF_H
#define TN_TESTS_MAPPED_OF_H

#include "scene_of.h"
#include "ref_map.h"

enum { KINDS = 4, MOST = 14 }; /* named maps; values an entry at most, split */

static const char *const words[KINDS] = {"hellinger", "chi2", "intersection", "js"};

/* x (n,d) through map `kind` (-1: none), (n, d * width). Owned by the test. */
static inline double *mapped(const double *x, size_t n, size_t d, int kind, bool split, size_t *width)
{
    *width = kind < 0 ? 1 : (kind == 0 ? 1u : 7u) * (split ? 2u : 1u);
    double *out = ref_alloc(n * d * *width, sizeof *out);
    ref_real values[MOST];
    for (size_t i = 0; i < n; ++i) {
        ref_real sum = 0;
        for (size_t j = 0; j < d; ++j)
            sum += fabsl((ref_real)x[i * d + j]);
        for (size_t j = 0; j < d; ++j) {
            values[0] = x[i * d + j];
            if (kind >= 0)
                ref_map_named(kind, split, sum > 0 ? values[0] / sum : 0, values);
            for (size_t k = 0; k < *width; ++k)
                out[(i * d + j) * *width + k] = (double)values[k];
        }
    }
    return out;
}

/* Evidence of one representation whose rows are mapped already. */
static inline tn_candidate rank_file(const scene *s, const double *x, size_t cols, const char *normalize)
{
    tn_features *features = array_of("mapped", x, s->n, cols, AS_F64);
    tnp_rank_options opt;
    tn_ranking *r = NULL;
    tnp_rank_options_default(&opt);
    opt.normalize = normalize;
    opt.loo = TNP_ALL;
    assert_fine(test_ctx, tnp_rank(test_ctx, (const tn_features *const *)&features, 1, s->labels, &opt, &r));
    assert_null(r->candidates[0]->transform);
    tn_candidate c = *r->candidates[0];
    c.name = NULL;
    tn_ranking_free(r);
    tn_features_close(features);
    return c;
}

#endif
