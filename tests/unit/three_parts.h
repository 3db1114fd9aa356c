/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second implementation of learn/design/rows.h, made to differ from the host's: rows lie in three designs of unequal
 * sizes, which are visited last first; each part has sums and back-products of its own, from zero, and those are merged
 * in yet another order. Calls are counted. */
#ifndef TN_TESTS_THREE_PARTS_H
#define TN_TESTS_THREE_PARTS_H

#include "design_of.h"

enum { PARTS = 3 };

typedef enum asked { PASS, WIDE_PASS, SCORES_BY, GRAM, CROSS, PICK, SAMPLE, MOMENTS, ASKED } asked;

typedef struct three {
    size_t dim, start[PARTS + 1];
    size_t *rows[PARTS];
    tn_feed *feed[PARTS][2];
    tnp_design *design[PARTS];
    tnp_rows part[PARTS];
    size_t calls[ASKED];
} three;

static const size_t visited[PARTS] = {2, 0, 1}, merged[PARTS] = {1, 2, 0};

/* What a part has found, and how it is merged: all[i] = the sum over parts of of[part * count + i]. */
static inline double *parts_of(size_t count)
{
    return ref_alloc(PARTS * count + 1, sizeof(double));
}

static inline void merge(const double *of, size_t count, double *all)
{
    for (size_t i = 0; i < count; ++i) {
        all[i] = of[merged[0] * count + i];
        for (size_t m = 1; m < PARTS; ++m)
            all[i] += of[merged[m] * count + i];
    }
}

/* A body is told the numbers that rows have among all. */
typedef struct moved {
    const tnp_pass *pass;
    const tnp_wide_pass *wide;
    size_t by;
} moved;

static inline void moved_body(void *arg, const tnp_panel *at)
{
    const moved *m = arg;
    tnp_panel own = *at;
    own.start += m->by;
    m->pass->body(m->pass->arg, &own);
}

static inline void moved_wide_body(void *arg, const tnp_wide_panel *at)
{
    const moved *m = arg;
    tnp_wide_panel own = *at;
    own.start += m->by;
    m->wide->body(m->wide->arg, &own);
}

static inline tn_status three_pass(tn_ctx *ctx, void *self, const tnp_pass *all)
{
    three *x = self;
    size_t back_size = all->back ? all->k * (x->dim + 1) : 0;
    double *sums = parts_of(all->sum_count), *back = parts_of(back_size), *whole = parts_of(back_size);
    float *found = ref_alloc(back_size + 1, sizeof *found);
    tn_status st = TN_OK;
    ++x->calls[PASS];
    for (size_t v = 0; st == TN_OK && v < PARTS; ++v) {
        size_t p = visited[v], by = x->start[p];
        tnp_pass own = *all;
        moved m = {all, NULL, by};
        own.s = all->s ? all->s + by * all->k : NULL;
        own.t = all->t ? all->t + by * all->k : NULL;
        own.body = all->body ? moved_body : NULL;
        own.arg = &m;
        own.back = all->back ? found : NULL;
        own.sums = sums + p * all->sum_count;
        st = tnp_rows_pass(ctx, &x->part[p], &own);
        for (size_t i = 0; i < back_size; ++i)
            back[p * back_size + i] = (double)found[i];
    }
    merge(sums, all->sum_count, all->sums);
    merge(back, back_size, whole);
    for (size_t i = 0; i < back_size; ++i)
        all->back[i] = (float)whole[i];
    free(sums);
    free(back);
    free(whole);
    free(found);
    return st;
}

static inline tn_status three_wide_pass(tn_ctx *ctx, void *self, const tnp_wide_pass *all)
{
    three *x = self;
    size_t back_size = all->back ? all->k * (x->dim + 1) : 0;
    double *sums = parts_of(all->sum_count), *back = parts_of(back_size), longest[PARTS] = {0};
    tn_status st = TN_OK;
    ++x->calls[WIDE_PASS];
    for (size_t v = 0; st == TN_OK && v < PARTS; ++v) {
        size_t p = visited[v], by = x->start[p];
        tnp_wide_pass own = *all;
        moved m = {NULL, all, by};
        own.s = all->s ? all->s + by * all->k : NULL;
        own.t = all->t ? all->t + by * all->k : NULL;
        own.body = all->body ? moved_wide_body : NULL;
        own.arg = &m;
        own.back = all->back ? back + p * back_size : NULL;
        own.sums = sums + p * all->sum_count;
        own.longest = all->longest ? &longest[p] : NULL;
        st = tnp_rows_wide_pass(ctx, &x->part[p], &own);
    }
    merge(sums, all->sum_count, all->sums);
    merge(back, back_size, all->back);
    if (all->longest)
        *all->longest = fmax(longest[0], fmax(longest[1], longest[2]));
    free(sums);
    free(back);
    return st;
}

static inline tn_status three_scores_by(tn_ctx *ctx, void *self, const uint32_t *model, size_t models, size_t k,
                                        const float *w, float *s)
{
    three *x = self;
    tn_status st = TN_OK;
    ++x->calls[SCORES_BY];
    for (size_t p = 0; st == TN_OK && p < PARTS; ++p)
        st = x->part[p].ops->scores_by(ctx, x->design[p], model + x->start[p], models, k, w, s + x->start[p] * k);
    return st;
}

static inline tn_status three_gram(tn_ctx *ctx, void *self, const tnp_gram *all, double *a)
{
    three *x = self;
    tn_status st = TN_OK;
    size_t width = x->dim + all->constant, size = all->diagonal ? width : width * width;
    double *of = parts_of(size);
    ++x->calls[GRAM];
    for (size_t p = 0; st == TN_OK && p < PARTS; ++p) {
        tnp_gram own = *all;
        own.h = all->h ? all->h + x->start[p] : NULL;
        st = x->part[p].ops->gram(ctx, x->design[p], &own, of + p * size);
    }
    merge(of, size, a);
    free(of);
    return st;
}

static inline tn_status three_cross(tn_ctx *ctx, void *self, const size_t *group, size_t groups, double *sums)
{
    three *x = self;
    tn_status st = TN_OK;
    size_t size = groups * x->dim;
    double *of = parts_of(size);
    ++x->calls[CROSS];
    for (size_t p = 0; st == TN_OK && p < PARTS; ++p)
        st = x->part[p].ops->cross(ctx, x->design[p], group + x->start[p], groups, of + p * size);
    merge(of, size, sums);
    free(of);
    return st;
}

static inline tn_status three_pick(tn_ctx *ctx, void *self, const size_t *rows, size_t count, float *out)
{
    three *x = self;
    tn_status st = TN_OK;
    ++x->calls[PICK];
    for (size_t i = 0; st == TN_OK && i < count; ++i) {
        size_t p = rows[i] >= x->start[2] ? 2 : rows[i] >= x->start[1] ? 1 : 0, own = rows[i] - x->start[p];
        st = x->part[p].ops->pick(ctx, x->design[p], &own, 1, out + i * x->dim);
    }
    return st;
}

static inline tn_status three_sample(tn_ctx *ctx, void *self, size_t stride, const float **rows, size_t *ld,
                                     float **kept)
{
    three *x = self;
    size_t count = (x->start[PARTS] + stride - 1) / stride, *which = ref_alloc(count, sizeof *which);
    float *copy = NULL;
    ++x->calls[SAMPLE];
    for (size_t i = 0; i < count; ++i)
        which[i] = i * stride;
    tn_status st = tnp_alloc_raw(ctx, count * x->dim, sizeof *copy, &copy);
    if (st == TN_OK)
        st = three_pick(ctx, x, which, count, copy);
    *rows = *kept = copy;
    *ld = x->dim;
    free(which);
    return st;
}

static inline tn_status three_moments(tn_ctx *ctx, void *self, const tnp_targets *y, const double *shift,
                                      tnp_moments **out)
{
    three *x = self;
    tn_status st = TN_OK;
    ++x->calls[MOMENTS];
    for (size_t v = 0; st == TN_OK && v < PARTS; ++v) {
        size_t from = x->start[visited[v]];
        tnp_targets own = {.rows = x->start[visited[v] + 1] - from,
                           .classes = y->classes,
                           .first = y->first + from,
                           .cls = y->cls,
                           .weight = y->weight ? y->weight + from : NULL};
        tnp_moments *found = NULL;
        st = x->part[visited[v]].ops->moments(ctx, x->design[visited[v]], &own, shift, v ? &found : out);
        if (st == TN_OK && v)
            st = tn_moments_merge(ctx, *out, found);
        tn_moments_free(found);
    }
    return st;
}

/* The rows of a setting in three parts: about an eighth, a half, and the rest. */
static inline three *three_of(const setting *s)
{
    three *x = ref_alloc(1, sizeof *x);
    size_t n = s->p.n;
    x->dim = s->p.d;
    x->start[1] = n / 8 + 1;
    x->start[2] = x->start[1] + n / 2;
    x->start[3] = n;
    for (size_t p = 0; p < PARTS; ++p) {
        size_t count = x->start[p + 1] - x->start[p];
        x->rows[p] = ref_alloc(count, sizeof *x->rows[p]);
        for (size_t i = 0; i < count; ++i)
            x->rows[p][i] = x->start[p] + i;
        for (int f = 0; f < 2; ++f)
            assert_fine(test_ctx, tn_feed_new(test_ctx, s->features[f], x->rows[p], count, TN_NORM_NONE, TN_NAN_ERROR,
                                              NULL, &x->feed[p][f]));
        assert_fine(test_ctx, tnp_design_new(test_ctx, (const tn_feed *const *)x->feed[p], 2, 0, &x->design[p]));
        x->part[p] = tnp_design_rows(x->design[p]);
    }
    return x;
}

/* None: learners that would walk over them take copies, or another way. */
static inline tnp_at_hand three_at_hand(const void *self)
{
    (void)self;
    return (tnp_at_hand){NULL, 0, 0, 0, false};
}

static inline tnp_rows rows_of_three(three *x)
{
    static const tnp_rows_ops ops = {three_pass, three_wide_pass, three_scores_by, three_gram,   three_cross,
                                     three_pick, three_sample,    three_moments,   three_at_hand};
    return (tnp_rows){x->start[PARTS], x->dim, &ops, x};
}

static inline void three_free(three *x)
{
    for (size_t p = 0; p < PARTS; ++p) {
        tnp_design_free(x->design[p]);
        tn_feed_free(x->feed[p][0]);
        tn_feed_free(x->feed[p][1]);
        free(x->rows[p]);
    }
    free(x);
}

#endif
