/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two sets of scores for the same rows.
 *
 *   McNemar     b rows that only the first decides right, c only the other: under "both alike" b ~ Binomial(b + c, 1/2);
 *               p = min(1, 2 sum_{k <= min(b,c)} C(b+c, k) / 2^(b+c)), exact. The chi-squared form was refused: it is
 *               wrong for the few differing rows that good heads have.
 *   bootstrap   both figures of every resample are of the same rows: se is the standard deviation of their
 *               differences, p = erfc(|difference| / (se sqrt 2))
 *
 * Oracle: scipy's binomtest, tests/metrics/run. */
#include "evaluate/details.h"

#include <math.h>

static double mcnemar(size_t b, size_t c)
{
    const size_t n = b + c, least = tnp_min(b, c);
    double sum = 0;
    for (size_t k = 0; k <= least; ++k)
        sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - (double)n * log(2.0));
    return fmin(1, 2 * sum);
}

static void count_rows(const tn_details *a, const tn_details *o, tnp_comparison *out)
{
    out->mcnemar_p = (double)NAN;
    if (!a->place)
        return;
    for (size_t i = 0; i < a->labels->rows; ++i) {
        bool first = a->scored[i] && a->place[i] == 0, other = o->scored[i] && o->place[i] == 0;
        out->only_first += first && !other;
        out->only_other += other && !first;
    }
    out->mcnemar_p = mcnemar(out->only_first, out->only_other);
}

tn_status tn_metrics_compare(tn_ctx *ctx, tn_metrics *metrics, const tn_metrics *other, const char *name)
{
    tn_status st = TN_OK;
    tn_details *a = metrics->details, *o = other->details;
    tnp_comparison *c = NULL;
    if (!a || !o)
        return tnp_fail(ctx, TN_ERR_ARG, "evaluate: metrics without details cannot be compared");
    if (a->rows != o->rows || metrics->classes != other->classes || metrics->task != other->task ||
        a->resamples != o->resamples)
        return tnp_fail(ctx, TN_ERR_ARG, "evaluate: %zu rows and %zu classes are compared with %zu and %zu", a->rows,
                        metrics->classes, o->rows, other->classes);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *c, &c));
    TN_TRY(tnp_strdup(ctx, name, &c->name));
    count_rows(a, o, c);
    for (size_t f = 0; f < TNP_FIGURES; ++f) {
        c->difference[f] = tnp_figure_of(metrics, f) - tnp_figure_of(other, f);
        c->se[f] = tnp_deviation(a->values + f * a->resamples, o->values + f * a->resamples, a->resamples);
        c->p[f] = c->se[f] > 0 ? erfc(fabs(c->difference[f]) / (c->se[f] * sqrt(2.0))) : (double)NAN;
    }
    if (a->comparison)
        tnp_free(a->comparison->name);
    tnp_free(a->comparison);
    a->comparison = c;
    c = NULL;
done:
    if (c)
        tnp_free(c->name);
    tnp_free(c);
    return st;
}
