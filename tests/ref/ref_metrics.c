/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Definitions as loops.
 *   auc      mean over (positive, negative) pairs of 1, 1/2, 0 for above, tied, below
 *   ap       for every distinct score t, from the highest: rows with score >= t are retrieved;
 *            sum of (recall(t) - recall(before)) * precision(t)
 *   ap_voc07 for r in 0, 0.1 .. 1: the best precision over all t with recall(t) >= r, averaged */
#include "ref_metrics.h"

#include <math.h>

static size_t count_positive(const bool *positive, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; ++i)
        count += positive[i];
    return count;
}

static void retrieve(const float *scores, size_t step, const bool *positive, size_t n, float t, size_t *hits,
                     size_t *all)
{
    *hits = *all = 0;
    for (size_t i = 0; i < n; ++i)
        if (scores[i * step] >= t) {
            ++*all;
            *hits += positive[i];
        }
}

double ref_auc(const float *scores, size_t step, const bool *positive, size_t n)
{
    double sum = 0, pairs = 0;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
            if (positive[i] && !positive[j]) {
                float a = scores[i * step], b = scores[j * step];
                sum += a > b ? 1.0 : a == b ? 0.5 : 0.0;
                pairs += 1;
            }
    return sum / pairs;
}

double ref_ap(const float *scores, size_t step, const bool *positive, size_t n)
{
    const size_t count = count_positive(positive, n);
    if (count == 0 || count == n)
        return (double)NAN;
    double ap = 0, before = 0;
    float t = INFINITY;
    for (bool first = true;; first = false) {
        /* the next lower score; an infinite first one counts too */
        float next = -INFINITY;
        bool found = false;
        for (size_t i = 0; i < n; ++i) {
            float s = scores[i * step];
            if ((s < t || (first && s == t)) && (!found || s > next)) {
                next = s;
                found = true;
            }
        }
        if (!found)
            return ap;
        t = next;
        size_t hits, all;
        retrieve(scores, step, positive, n, t, &hits, &all);
        double recall = (double)hits / (double)count;
        ap += (recall - before) * ((double)hits / (double)all);
        before = recall;
    }
}

double ref_ap_voc07(const float *scores, size_t step, const bool *positive, size_t n)
{
    const size_t count = count_positive(positive, n);
    if (count == 0 || count == n)
        return (double)NAN;
    double sum = 0;
    for (size_t level = 0; level <= 10; ++level) {
        double best = 0;
        for (size_t i = 0; i < n; ++i) {
            size_t hits, all;
            retrieve(scores, step, positive, n, scores[i * step], &hits, &all);
            if (10 * hits >= level * count)
                best = fmax(best, (double)hits / (double)all);
        }
        sum += best;
    }
    return sum / 11;
}

double ref_balanced(const float *scores, size_t step, const bool *positive, size_t n, double threshold)
{
    double right[2] = {0, 0}, all[2] = {0, 0};
    for (size_t i = 0; i < n; ++i) {
        bool yes = (double)scores[i * step] > threshold;
        all[positive[i]] += 1;
        right[positive[i]] += yes == positive[i];
    }
    return (right[0] / all[0] + right[1] / all[1]) / 2;
}

bool ref_among_top(const float *row, size_t k, size_t cls, size_t top)
{
    bool taken[64] = {false};
    for (size_t round = 0; round < top; ++round) {
        size_t best = k;
        for (size_t c = 0; c < k; ++c)
            if (!taken[c] && (best == k || row[c] > row[best]))
                best = c;
        if (best == cls)
            return true;
        if (best < k)
            taken[best] = true;
    }
    return false;
}

double ref_nll(const double *chance, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += -log(chance[i] < 1e-15 ? 1e-15 : chance[i]);
    return sum / (double)n;
}

double ref_ece(const float *p, const bool *came_true, size_t n)
{
    double ece = 0;
    for (int b = 0; b < 15; ++b) {
        double members = 0, mean = 0, share = 0;
        for (size_t i = 0; i < n; ++i) {
            double x = 15 * (double)p[i];
            if ((x > b && x <= b + 1) || (b == 0 && x == 0)) {
                members += 1;
                mean += (double)p[i];
                share += came_true[i];
            }
        }
        if (members > 0)
            ece += members / (double)n * fabs(mean / members - share / members);
    }
    return ece;
}
