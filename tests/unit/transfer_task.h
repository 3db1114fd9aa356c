/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A task of several classes with grouped columns, and literal ridge on the rows of it that stay: what tests of
 * transfer/joint.h share. */
#ifndef TN_TESTS_TRANSFER_TASK_H
#define TN_TESTS_TRANSFER_TASK_H

#include "transfer/joint.h"
#include "transfer_of.h"

#include <math.h>
#include <string.h>

enum { GROUPS = 4, TARGETS = 2, FEATURES = 7, COLS = 14 };
static const size_t ends[GROUPS] = {4, 7, 12, 14};

/* Rows of several classes: groups of very different size, one column of each third constant, a class difference in
 * every fifth. */
typedef struct task {
    size_t rows, classes, *class_of;
    double *x;
    tnp_transfer_columns *columns;
    bool balanced;
    double *row_weight; /* (rows), or NULL: all alike */
} task;

static inline task task_of(tn_ctx *ctx, size_t rows, size_t classes, bool lonely, bool balanced, uint64_t seed)
{
    static const double size[GROUPS] = {1, 1e-3, 40, 7};
    ref_rng rng = ref_rng_of(seed);
    task t = {.rows = rows, .classes = classes, .balanced = balanced};
    t.class_of = ref_alloc(rows, sizeof *t.class_of);
    t.x = ref_alloc(rows * COLS, sizeof *t.x);
    for (size_t i = 0; i < rows; ++i)
        t.class_of[i] = lonely && i == 2 ? classes - 1 : i % (classes - lonely);
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0, g = 0; j < COLS; ++j) {
            g += j == ends[g];
            double own = ref_normal(&rng) + (t.class_of[i] == j % classes ? 1.5 : 0);
            t.x[i * COLS + j] = j % 6 == 5 ? 3 : size[g] * (own + 2);
        }
    assert_fine(ctx, tnp_transfer_columns_new(ctx, rows, COLS, true, &t.columns));
    for (size_t i = 0; i < rows; ++i)
        tnp_transfer_put_wide(t.columns, i, 0, COLS, t.x + i * COLS);
    assert_fine(ctx, tnp_transfer_columns_group(ctx, t.columns, GROUPS, TARGETS, ends));
    return t;
}

static inline tnp_joint joint_of(const task *t)
{
    return (tnp_joint){t->columns, FEATURES, t->classes, t->class_of, t->balanced, t->row_weight};
}

/* Gives the rows weights from 0.3 to 3 times one another, 1 on average. */
static inline void weigh_task(task *t, uint64_t seed)
{
    ref_rng rng = ref_rng_of(seed + 100);
    double sum = 0;
    t->row_weight = ref_alloc(t->rows, sizeof *t->row_weight);
    for (size_t i = 0; i < t->rows; ++i)
        sum += t->row_weight[i] = exp(fmax(fmin(ref_normal(&rng), 1), -1));
    for (size_t i = 0; i < t->rows; ++i)
        t->row_weight[i] *= (double)t->rows / sum;
}

static inline void task_free(task *t)
{
    tnp_transfer_columns_free(t->columns);
    free(t->class_of);
    free(t->x);
    free(t->row_weight);
}

static inline size_t members(const task *t, const bool *stay, size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i < t->rows; ++i)
        n += (!stay || stay[i]) && t->class_of[i] == k;
    return n;
}

static inline double row_weight(const task *t, size_t i)
{
    return t->row_weight ? t->row_weight[i] : 1;
}

/* Weight of the rows of class k. */
static inline double mass(const task *t, const bool *stay, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < t->rows; ++i)
        sum += (!stay || stay[i]) && t->class_of[i] == k ? row_weight(t, i) : 0;
    return sum;
}

/* The problem of class k on the rows that stay, whose classes keep their weight. */
static inline ref_transfer literal(const task *t, const bool *stay, size_t k)
{
    double *x = ref_alloc(t->rows * COLS, sizeof *x), *y = ref_alloc(t->rows, sizeof *y);
    double *weights = ref_alloc(t->rows, sizeof *weights);
    size_t n = 0;
    for (size_t i = 0; i < t->rows; ++i) {
        size_t c = t->class_of[i];
        if (!stay[i])
            continue;
        memcpy(x + n * COLS, t->x + i * COLS, COLS * sizeof *x);
        y[n] = c == k ? 1 : -1;
        weights[n++] = row_weight(t, i) * (t->balanced ? 1 : mass(t, NULL, c)) / mass(t, stay, c);
    }
    ref_transfer r = ref_transfer_from(n, COLS, x, y, weights);
    ref_transfer_group(&r, GROUPS, TARGETS, ends, t->columns->share);
    return r;
}

/* Of columns [first, first + count). */
static inline ref_real trace(const ref_transfer *r, size_t first, size_t count)
{
    ref_real sum = 0;
    for (size_t i = 0; i < r->m; ++i)
        for (size_t j = first; j < first + count; ++j)
            sum += r->z[i * r->p + j] * r->z[i * r->p + j];
    return sum;
}

/* share (r->m): that of row i, number n of r, to the others of its class in the proportions of their weights. */
static inline void pass_on(const task *t, const bool *stay, const ref_transfer *r, size_t i, size_t n, ref_real *share)
{
    for (size_t k = 0, at = 0; k < t->rows; ++k) {
        if (!stay[k])
            continue;
        bool same = t->class_of[k] == t->class_of[i];
        share[at] = r->share[at];
        if (same)
            share[at] += r->share[n] * row_weight(t, k) / (mass(t, stay, t->class_of[i]) - row_weight(t, i));
        if (at == n)
            share[at] = 0;
        ++at;
    }
}

/* Squared leave-one-out residuals of class k at one lambda, rows whose class has another among those that stay; of
 * ridge on columns [first, first + count). */
static inline ref_real loss_of(const task *t, const bool *stay, size_t k, size_t first, size_t count, ref_real lambda,
                               ref_real tau)
{
    ref_transfer r = literal(t, stay, k);
    ref_real *share = ref_alloc(r.m, sizeof *share), sum = 0;
    double *target = ref_alloc(r.m, sizeof *target);
    size_t columns[COLS];
    for (size_t n = 0; n < r.m; ++n) {
        ref_real mean = 0;
        for (size_t j = FEATURES; j < COLS; ++j)
            mean += r.x[n * COLS + j] / (COLS - FEATURES);
        target[n] = (double)((r.y[n] + tau * mean) / (1 + tau));
    }
    for (size_t j = 0; j < count; ++j)
        columns[j] = first + j;
    for (size_t i = 0, n = 0; i < t->rows; ++i) {
        if (!stay[i])
            continue;
        if (members(t, stay, t->class_of[i]) > 1) {
            ref_transfer less = r;
            ref_real off = r.y[n], w[COLS], b = 0;
            less.share = share;
            pass_on(t, stay, &r, i, n, share);
            ref_transfer_ridge(&less, target, columns, count, lambda / (1 + tau), w, &b);
            off -= b;
            for (size_t j = 0; j < count; ++j)
                off -= w[j] * r.x[n * COLS + first + j];
            sum += r.weights[n] * off * off;
        }
        ++n;
    }
    free(share);
    free(target);
    ref_transfer_free(&r);
    return sum;
}

/* lambda for all classes at one tau: of 13, by literal refits; 10^-1.5 of the trace when no class has two rows. */
static inline ref_real lambda_at(const task *t, const bool *stay, size_t first, size_t count, ref_real tau,
                                 ref_real *loss)
{
    ref_real least = INFINITY, best = 0, unit = 0;
    bool any = false;
    for (size_t k = 0; k < t->classes; ++k) {
        any |= members(t, stay, k) > 1;
        if (members(t, stay, k) > 0 && unit == 0) {
            ref_transfer r = literal(t, stay, k);
            unit = trace(&r, first, count);
            ref_transfer_free(&r);
        }
    }
    for (int g = 0; any && g < 13; ++g) {
        ref_real sum = 0, lambda = unit * powl(10, -0.5L * g);
        for (size_t k = 0; k < t->classes; ++k)
            if (members(t, stay, k) > 0)
                sum += loss_of(t, stay, k, first, count, lambda, tau);
        if (sum < least) {
            least = sum;
            best = lambda;
        }
    }
    *loss = least;
    return any ? best : unit * powl(10, -1.5L);
}

#endif
