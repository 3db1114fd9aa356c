/* SPDX-License-Identifier: BSD-3-Clause
 *
 * F1 = 2 TP / (TP + FP + positives), of the rows whose score is above the threshold. Along the scores in descending order
 * every cut between two that differ is tried; the threshold lies in the middle of the best cut, and below the lowest
 * score, by half the range of all, where every row is to be taken. Of cuts that are as good the highest: fewer decisions
 * that are wrong anyway.
 *
 * One cut for all classes was refused: scores of rare classes are lower, and the cut of the frequent ones leaves them no
 * row at all. Oracle: all cuts by brute force, tests/unit/test_thresholds.c. */
#include "learn/head/thresholds.h"
#include "learn/ridge/ridge.h"

#include <math.h>
#include <stdlib.h>

typedef struct judged {
    float score;
    bool positive;
} judged;

static int descending(const void *a, const void *b)
{
    const judged *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* The middle of the cut below place i of n sorted scores, as a double that no float between them equals. */
static double cut_below(const judged *list, size_t n, size_t i)
{
    double here = (double)list[i].score;
    if (i + 1 < n)
        return (here + (double)list[i + 1].score) / 2;
    double range = (double)list[0].score - here;
    return here - (range > 0 ? range / 2 : 1);
}

static double best_cut(judged *list, size_t n, double usual)
{
    size_t positives = 0, taken = 0;
    double best = -1, at = usual;
    for (size_t i = 0; i < n; ++i)
        positives += list[i].positive;
    if (positives == 0)
        return usual;
    qsort(list, n, sizeof *list, descending);
    for (size_t i = 0; i < n; ++i) {
        taken += list[i].positive;
        if (i + 1 < n && list[i + 1].score == list[i].score)
            continue;
        double f1 = 2 * (double)taken / (double)(i + 1 + positives);
        if (f1 > best) {
            best = f1;
            at = cut_below(list, n, i);
        }
    }
    return at;
}

tn_status tnp_f1_thresholds(tn_ctx *ctx, const tnp_targets *y, const size_t *rows, size_t count, const float *scores,
                            double usual, double *out)
{
    judged *list = NULL;
    tn_status st = tnp_alloc(ctx, count, sizeof *list, &list);
    if (st != TN_OK)
        return st;
    for (size_t k = 0; k < y->classes; ++k) {
        size_t n = 0;
        for (size_t i = 0; i < count; ++i) {
            float s = scores[i * y->classes + k];
            if (!isnan(s))
                list[n++] = (judged){s, tnp_target(y, rows ? rows[i] : i, k) > 0.5};
        }
        out[k] = best_cut(list, n, usual);
    }
    tnp_free(list);
    return TN_OK;
}
