/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a random problem to a design and the columns of a linear classifier, with the same problem as the references of
 * tests/ref want it, for the tests of the learners that pass over their rows many times. */
#ifndef TN_TESTS_DESIGN_OF_H
#define TN_TESTS_DESIGN_OF_H

#include "ridge_of.h"
#include "learn/design/design.h"
#include "learn/linear/margin_loss.h"
#include "ref_logistic.h"
#include "ref_svm.h"

/* Float products: u is half an ulp. A score is a sum of d + 1 products. */
static const double U = 0x1p-24;

static inline tnp_design *design_of(const setting *s)
{
    tnp_design *design = NULL;
    assert_fine(test_ctx, tnp_design_new(test_ctx, (const tn_feed *const *)s->feed, 2, 0, &design));
    assert_true(design->resident);
    return design;
}

/* The same rows in many blocks: resident, or read again from their files at each pass. */
static inline void cut(tnp_design *design, size_t block, bool resident)
{
    assert_true(block <= design->rows);
    design->block = block;
    design->blocks = (design->rows + block - 1) / block;
    design->resident = resident;
}

/* Columns of a setting with one cost for positive and one for negative rows, and each row's target and cost as loops
 * want them. Folds: column k of fold f is f * classes + k. */
typedef struct side_by_side {
    tnp_columns columns;
    uint32_t *fold;
    float *positive, *negative;
    double *sign, *cost; /* (columns, n): -1 or 1; cost of the row, 0 when held out */
} side_by_side;

static inline side_by_side columns_of(const setting *s, double positive, double negative, size_t folds,
                                      const uint32_t *row_fold, const float *row_weight)
{
    size_t k = s->p.k, n = s->p.n, count = k * folds;
    side_by_side c = {.fold = ref_alloc(count, sizeof *c.fold),
                      .positive = ref_alloc(count, sizeof *c.positive),
                      .negative = ref_alloc(count, sizeof *c.negative),
                      .sign = ref_alloc(count * n, sizeof *c.sign),
                      .cost = ref_alloc(count * n, sizeof *c.cost)};
    for (size_t j = 0; j < count; ++j) {
        c.fold[j] = (uint32_t)(j / k);
        c.positive[j] = (float)positive;
        c.negative[j] = (float)negative;
        for (size_t i = 0; i < n; ++i) {
            bool in = s->p.y[i * k + j % k] > 0.5, out = row_fold && row_fold[i] == j / k;
            c.sign[j * n + i] = in ? 1 : -1;
            c.cost[j * n + i] =
                out ? 0 : (double)(float)(in ? positive : negative) * (row_weight ? (double)row_weight[i] : 1);
        }
    }
    c.columns =
        (tnp_columns){&s->y, count, row_fold ? c.fold : NULL, row_fold, row_weight, c.positive, c.negative, NULL};
    return c;
}

static inline void columns_free(side_by_side *c)
{
    free(c->fold);
    free(c->positive);
    free(c->negative);
    free(c->sign);
    free(c->cost);
}

static inline ref_svm svm_of(const setting *s, const side_by_side *c, size_t j, bool squared, bool bias)
{
    return (ref_svm){s->p.n, s->p.d, s->p.x, c->sign + j * s->p.n, c->cost + j * s->p.n, squared, bias};
}

static inline ref_real *widened(const float *w, size_t count)
{
    ref_real *out = ref_alloc(count, sizeof *out);
    for (size_t i = 0; i < count; ++i)
        out[i] = (ref_real)w[i];
    return out;
}

#endif
