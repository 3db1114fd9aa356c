/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-vs-rest with fewer negatives (e-OVR: as many as positives, w-OVR: a multiple of them): every class draws its
 * negatives anew each pass by selection sampling, exactly as many as wanted, in the order in which rows come:
 *
 *   a negative is taken with probability wanted / left
 *
 * It needs the number of positives and of rows before the first row. Drawing each negative with a fixed probability was
 * refused: it needs neither, but a class would see more or fewer negatives than it has positives. Oracle: the counts
 * themselves, and how evenly negatives are drawn, tests/unit/test_online_pass.c. */
#include "learn/online/negatives.h"

#include <math.h>

tn_status tnp_negatives_new(tn_ctx *ctx, size_t classes, double share, uint64_t seed, tnp_negatives **out)
{
    tn_status st = TN_OK;
    tnp_negatives *n = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *n, &n));
    n->classes = classes;
    n->share = share;
    n->seed = seed;
    TN_TRY(tnp_alloc(ctx, classes, sizeof *n->positives, &n->positives));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *n->wanted, &n->wanted));
    TN_TRY(tnp_alloc(ctx, classes, sizeof *n->left, &n->left));
    *out = n;
    n = NULL;
done:
    tnp_negatives_free(n);
    return st;
}

void tnp_negatives_free(tnp_negatives *n)
{
    if (!n)
        return;
    tnp_free_all(n->positives, n->wanted, n->left, n);
}

size_t tnp_negatives_taken(const tnp_negatives *n, size_t c)
{
    size_t all = n->rows - n->positives[c];
    return isfinite(n->share) ? tnp_min(all, (size_t)ceil(n->share * (double)n->positives[c])) : all;
}

void tnp_negatives_begin(tnp_negatives *n, size_t pass)
{
    enum { STREAM = 1 << 21 }; /* away from the streams of visit_order.c */
    tnp_rng_init(&n->rng, n->seed, STREAM + pass);
    n->rows_left = n->rows;
    for (size_t c = 0; c < n->classes; ++c) {
        n->left[c] = n->rows - n->positives[c];
        n->wanted[c] = tnp_negatives_taken(n, c);
    }
}

void tnp_negatives_draw(tnp_negatives *n, const size_t *first, const uint32_t *cls, size_t count, unsigned char *skip)
{
    size_t k = n->classes;
    n->rows_left -= count;
    for (size_t t = 0; t < count; ++t) {
        size_t at = first[t];
        for (size_t c = 0; c < k; ++c) {
            bool positive = at < first[t + 1] && cls[at] == c, take = positive;
            at += positive;
            if (!positive) {
                take = tnp_rng_unit(&n->rng) * (double)n->left[c] < (double)n->wanted[c];
                --n->left[c];
                n->wanted[c] -= take;
            }
            skip[t * k + c] = !take;
        }
    }
}
