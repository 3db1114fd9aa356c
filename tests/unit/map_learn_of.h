/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small data sets for the learning of kernels, and the literal result for them. */
#ifndef TN_TESTS_MAP_LEARN_OF_H
#define TN_TESTS_MAP_LEARN_OF_H

#include "fixtures/problems.h"
#include "ref_map_learn.h"
#include "ref_svm.h"
#include "pipeline/options.h"

enum { M = TN_BASIS_SIZE };

typedef struct set {
    ref_problem p;
    tn_features *features;
    tn_labels *labels;
} set;

static inline set set_of(const char *name, ref_kind kind, size_t n, size_t d, size_t k, tn_task task)
{
    set s = {.p = ref_problem_of(kind, n, d, k, n * 7 + d)};
    retarget(&s.p, task, 3);
    s.features = features_of(name, s.p.x, n, d, AS_F32);
    s.labels = labels_of(s.p.y, n, k, task);
    return s;
}

static inline void set_free(set *s)
{
    tn_features_close(s->features);
    labels_done(s->labels);
    ref_problem_free(&s->p);
}

/* Sum over the classes of all sets of the optimum on all functions of all entries, and A. */
typedef struct literal {
    double objective, squares; /* squares: sum of |V|^2 */
    ref_real a[M * M];
} literal;

static inline void add_literal(const set *s, const tnp_map_options *opt, double scale, literal *out)
{
    size_t n = s->p.n, k = s->p.k, entries = s->p.d * (opt->sign == TN_SIGNED_SPLIT ? 2 : 1), width = entries * M;
    double *x = ref_alloc(n * width, sizeof *x), *y = ref_alloc(n, sizeof *y), *c = ref_alloc(n, sizeof *c);
    ref_real *w = ref_alloc(width + 1, sizeof *w);
    ref_map_features(opt->basis == TN_BASIS_FOURIER, opt->sign == TN_SIGNED_SPLIT, scale, s->p.x, n, s->p.d, x);
    for (size_t t = 0; t < k; ++t) {
        size_t positive = 0;
        for (size_t i = 0; i < n; ++i) {
            c[i] = opt->cost;
            y[i] = s->p.y[i * k + t] > 0.5 ? 1 : -1;
            positive += y[i] > 0;
        }
        if (positive == 0 || positive == n)
            continue;
        ref_svm p = {n, width, x, y, c, false, true};
        out->objective += (double)ref_svm_solve(&p, NULL, w);
        ref_map_add(w, entries, out->a);
        for (size_t i = 0; i < width; ++i)
            out->squares += (double)(w[i] * w[i]);
    }
    free(x);
    free(y);
    free(c);
    free(w);
}

#endif
