/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two representations of made-up classes, fits of them, and how often a head is right. */
#ifndef TN_RACE_OF_H
#define TN_RACE_OF_H

#include "ridge_of.h"
#include "options_of.h"

/* Rows of k classes round centres `apart` from each other in units of the noise; n * k rows, then as many to test
 * with. */
typedef struct data {
    size_t n, d, k;
    double *x, *y; /* (2 n k, d), (2 n k, k) */
    tn_features *features[2];
    tn_labels *labels;
} data;

static inline data data_of(size_t n, size_t d, size_t k, double apart, tn_task task, uint64_t seed)
{
    size_t rows = n * k;
    data s = {n, d, k, ref_alloc(2 * rows * d, sizeof(double)), ref_alloc(2 * rows * k, sizeof(double)), {0}, NULL};
    ref_rng rng = ref_rng_of(seed);
    double *centre = ref_alloc(k * d, sizeof *centre), *half = ref_alloc(rows * d, sizeof *half);
    for (size_t j = 0; j < k * d; ++j)
        centre[j] = apart * ref_normal(&rng);
    for (size_t i = 0; i < 2 * rows; ++i) {
        for (size_t j = 0; j < d; ++j)
            s.x[i * d + j] = (double)(float)(centre[i % k * d + j] + ref_normal(&rng));
        for (size_t c = 0; c < k; ++c)
            s.y[i * k + c] = task == TN_TASK_REGRESSION   ? s.x[i * d + c] + 0.1 * ref_normal(&rng)
                             : task == TN_TASK_MULTILABEL ? s.x[i * d + c] + ref_normal(&rng) > 0.7
                                                          : i % k == c;
    }
    for (size_t f = 0; f < 2; ++f) {
        size_t from = f ? d / 2 : 0, cols = f ? d - d / 2 : d / 2;
        for (size_t i = 0; i < rows; ++i)
            memcpy(half + i * cols, s.x + i * d + from, cols * sizeof *half);
        s.features[f] = array_of(f ? "b" : "a", half, rows, cols, AS_F32);
    }
    s.labels = labels_of(s.y, rows, k, task);
    free(centre);
    free(half);
    return s;
}

static inline void data_free(data *s)
{
    for (size_t f = 0; f < 2; ++f)
        tn_features_close(s->features[f]);
    labels_done(s->labels);
    free(s->x);
    free(s->y);
}

static inline tnp_fit_options options_for(int method)
{
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.select = TNP_SEARCH_ALL;
    opt.rank.normalize = "none";
    return opt;
}

typedef struct fitted {
    tn_fit_info *info;
    tn_head *head;
} fitted;

static inline tn_status try_fit(const data *s, const tnp_fit_options *opt, fitted *f)
{
    *f = (fitted){NULL, NULL};
    return tnp_fit(test_ctx, (const tn_features *const *)s->features, 2, s->labels, opt, &f->info, &f->head);
}

static inline fitted fit(const data *s, const tnp_fit_options *opt)
{
    fitted f;
    assert_fine(test_ctx, try_fit(s, opt, &f));
    return f;
}

static inline void fitted_free(fitted *f)
{
    tn_fit_info_free(f->info);
    tn_head_free(f->head);
}

static inline double score(const tn_head *head, const double *x, size_t k)
{
    double sum = (double)tn_head_bias(head)[k];
    for (size_t j = 0; j < tn_head_dim(head); ++j)
        sum += (double)tn_head_weight(head)[k * tn_head_dim(head) + j] * x[j];
    return sum;
}

/* Share of rows [from, from + n k) whose largest score is that of their class. */
static inline double accuracy(const data *s, const tn_head *head, size_t from)
{
    double right = 0;
    for (size_t i = from; i < from + s->n * s->k; ++i) {
        size_t best = 0;
        for (size_t c = 1; c < s->k; ++c)
            best = score(head, s->x + i * s->d, c) > score(head, s->x + i * s->d, best) ? c : best;
        right += best == i % s->k;
    }
    return right / (double)(s->n * s->k);
}

#endif
