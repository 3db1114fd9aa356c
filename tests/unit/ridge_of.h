/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a random problem to the library's ridge problem, through files and feeds, for the tests that start there. */
#ifndef TN_TESTS_RIDGE_OF_H
#define TN_TESTS_RIDGE_OF_H

#include "fixtures/problems.h"
#include "learn/ridge/ridge.h"

/* A problem as the library holds it. */
typedef struct setting {
    ref_problem p;
    tn_labels *labels;
    tnp_targets y;
    tn_features *features[2];
    tn_feed *feed[2];
} setting;

/* Features, feeds, labels and targets of s->p as it is: the left half of the columns, and the right. */
static inline void setting_fill(setting *s, tn_task task, stored as)
{
    size_t n = s->p.n, d = s->p.d, left = d / 2, right = d - left;
    double *a = ref_alloc(n * d, sizeof *a), *b = ref_alloc(n * d, sizeof *b);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < d; ++j)
            *(j < left ? &a[i * left + j] : &b[i * right + j - left]) = s->p.x[i * d + j];
    s->features[0] = array_of("a", a, n, left, as);
    s->features[1] = array_of("b", b, n, right, as);
    for (int f = 0; f < 2; ++f)
        s->feed[f] = feed_of(s->features[f], TN_NORM_NONE);
    s->labels = labels_of(s->p.y, n, s->p.k, task);
    s->y = targets_of(s->labels);
    free(a);
    free(b);
}

static inline setting setting_of(ref_kind kind, size_t n, size_t d, size_t k, tn_task task, stored as)
{
    setting s = {.p = ref_problem_of(kind, n, d, k, n * 31 + d)};
    retarget(&s.p, task, 2);
    round_values(s.p.x, n * d, as);
    setting_fill(&s, task, as);
    return s;
}

static inline void setting_free(setting *s)
{
    for (int f = 0; f < 2; ++f) {
        tn_feed_free(s->feed[f]);
        tn_features_close(s->features[f]);
    }
    labels_done(s->labels);
    ref_problem_free(&s->p);
}

static inline tnp_ridge *ridge_of(const setting *s, bool dual, bool intercept)
{
    tnp_ridge *ridge = NULL;
    const tn_feed *const *feeds = (const tn_feed *const *)s->feed;
    size_t n = s->p.n;
    if (dual) {
        double *sum = NULL, *one = NULL;
        assert_fine(test_ctx, tnp_alloc(test_ctx, n * n, sizeof *sum, &sum));
        assert_fine(test_ctx, tnp_alloc(test_ctx, n * n, sizeof *one, &one));
        for (int f = 0; f < 2; ++f) {
            assert_fine(test_ctx, tnp_gather_products(test_ctx, feeds[f], intercept, one));
            for (size_t i = 0; i < n * n; ++i)
                sum[i] += one[i];
        }
        tnp_free(one);
        assert_fine(test_ctx, tnp_ridge_dual(test_ctx, sum, &s->y, s->p.d, intercept, &ridge));
        assert_null(ridge->mean);
    } else {
        tnp_moments *moments = NULL;
        tnp_range all = {0, s->p.d};
        assert_fine(test_ctx, tnp_gather_moments(test_ctx, feeds, 2, &s->y, &moments));
        assert_fine(test_ctx, tnp_ridge_primal(test_ctx, moments, &all, 1, intercept, &ridge));
        tn_moments_free(moments);
    }
    assert_int_equal(ridge->spectrum->dual, dual);
    assert_int_equal(ridge->rows, n);
    assert_int_equal(ridge->dim, s->p.d);
    assert_int_equal(ridge->classes, s->p.k);
    return ridge;
}

#endif
