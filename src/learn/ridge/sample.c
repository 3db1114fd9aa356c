/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A seeded sample of rows, balanced over classes, with the weights that undo the balancing.
 *
 * Equal shares give every class a voice in a few thousand rows out of millions; the weights n_k / (N m_k) make the
 * estimate that of all rows all the same. */
#include "learn/ridge/loo.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static tn_status sample_alloc(tn_ctx *ctx, size_t count, tnp_sample **out)
{
    tn_status st = TN_OK;
    tnp_sample *s = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    TN_TRY(tnp_alloc(ctx, count, sizeof *s->rows, &s->rows));
    TN_TRY(tnp_alloc(ctx, count, sizeof *s->weight, &s->weight));
    s->count = count;
    *out = s;
    s = NULL;
done:
    tnp_sample_free(s);
    return st;
}

void tnp_sample_free(tnp_sample *s)
{
    if (!s)
        return;
    tnp_free_all(s->rows, s->weight, s);
}

/* The largest equal share for which the shares, each cut to its class, fit into `most` rows. */
static size_t equal_share(const size_t *sizes, size_t classes, size_t most)
{
    size_t low = 0, high = most;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2, sum = 0;
        for (size_t k = 0; k < classes; ++k)
            sum += tnp_min(sizes[k], middle);
        if (sum <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* order: a random permutation of all rows; taken in that order while their class has room. */
static tn_status balanced(tn_ctx *ctx, const tnp_targets *y, const size_t *order, size_t most, tnp_sample **out)
{
    tn_status st = TN_OK;
    size_t *sizes = NULL, *taken = NULL, count = 0;
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *sizes, &sizes));
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *taken, &taken));
    for (size_t i = 0; i < y->rows; ++i)
        ++sizes[y->cls[y->first[i]]];
    size_t share = equal_share(sizes, y->classes, most);
    for (size_t k = 0; k < y->classes; ++k)
        count += tnp_min(sizes[k], share);
    TN_TRY(sample_alloc(ctx, count, out));
    for (size_t i = 0, n = 0; n < count; ++i) {
        uint32_t k = y->cls[y->first[order[i]]];
        if (taken[k] < share) {
            ++taken[k];
            (*out)->rows[n++] = order[i];
        }
    }
    qsort((*out)->rows, count, sizeof *(*out)->rows, ascending);
    for (size_t n = 0; n < count; ++n) {
        uint32_t k = y->cls[y->first[(*out)->rows[n]]];
        (*out)->weight[n] = (double)sizes[k] / ((double)y->rows * (double)taken[k]);
    }
done:
    tnp_free_all(sizes, taken);
    return st;
}

tn_status tnp_sample_new(tn_ctx *ctx, const tnp_targets *y, tn_task task, size_t most, size_t seed, tnp_sample **out)
{
    tn_status st = TN_OK;
    size_t *order = NULL;
    tnp_rng rng;
    most = tnp_min(most, y->rows);
    TN_TRY(tnp_alloc(ctx, y->rows, sizeof *order, &order));
    for (size_t i = 0; i < y->rows; ++i)
        order[i] = i;
    tnp_rng_init(&rng, seed, 0);
    tnp_rng_shuffle(&rng, order, y->rows);
    if (task == TN_TASK_MULTICLASS && most >= 2 * y->classes) {
        TN_TRY(balanced(ctx, y, order, most, out));
    } else {
        TN_TRY(sample_alloc(ctx, most, out));
        memcpy((*out)->rows, order, most * sizeof *order);
        qsort((*out)->rows, most, sizeof *order, ascending);
        for (size_t n = 0; n < most; ++n)
            (*out)->weight[n] = 1 / (double)most;
    }
done:
    tnp_free(order);
    return st;
}

tn_status tnp_sample_judged(tn_ctx *ctx, const tnp_targets *y, tn_task task, tnp_sample **sample)
{
    tn_status st = TN_OK;
    tnp_sample *s = *sample;
    size_t *sizes = NULL, left = 0;
    double total = 0;
    if (task != TN_TASK_MULTICLASS)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, y->classes, sizeof *sizes, &sizes));
    for (size_t i = 0; i < y->rows; ++i)
        ++sizes[y->cls[y->first[i]]];
    for (size_t i = 0; i < s->count; ++i)
        if (sizes[y->cls[y->first[s->rows[i]]]] > 1) {
            s->rows[left] = s->rows[i];
            s->weight[left] = s->weight[i];
            total += s->weight[left++];
        }
    for (size_t i = 0; left < s->count && i < left; ++i)
        s->weight[i] /= total;
    s->count = left;
    if (left == 0) {
        tnp_sample_free(s);
        *sample = NULL;
    }
done:
    tnp_free(sizes);
    return st;
}
