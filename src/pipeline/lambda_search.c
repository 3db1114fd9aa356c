/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One lambda for all classes by rows that are held out: their scores at every lambda of a grid, by ridge heads without
 * these rows or by the discriminants of such heads (learn/ridge/discriminant.c), and how good they are. Method lda
 * chooses so, and method auto has ridge heads and discriminants race at what is found here.
 *
 * A tridiagonal form per fold gives every lambda, so that a grid costs little more than one. Whoever wants the scores of
 * the best has those of all lambdas kept, (grid, rows, classes): which it is is known behind the last fold, and to make
 * all folds again for it was refused.
 *
 * Oracle: discriminants by loops without every fold, tests/unit/test_lda.c. */
#include "pipeline/parts.h"

#include <math.h>
#include <string.h>

double tnp_middle_lambda(const tnp_chosen *c)
{
    double shared = tnp_shared_or_null(c->evidence);
    shared = isfinite(shared) ? shared : c->ridge->spectrum->largest;
    return shared > 0 ? shared : 1; /* columns that never change: any lambda is as good */
}

size_t tnp_lambdas_about(double middle, bool discriminants, double *grid)
{
    size_t count = 0;
    for (int i = 0; i < TNP_LAMBDA_COUNT; i += discriminants ? 2 : 1)
        grid[count++] = ldexp(middle, 2 * (i - TNP_LAMBDA_MIDDLE));
    return count;
}

tn_status tnp_lambda_search_init(tn_ctx *ctx, tnp_lambda_search *s)
{
    tn_status st = TN_OK;
    size_t n = s->task->y.rows, values = s->cross->count * s->cross->folds;
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->place, &s->place));
    TN_TRY(tnp_alloc(ctx, s->cross->count, sizeof *s->stored, &s->stored));
    for (size_t i = 0; i < n; ++i)
        if (s->fold[i] < s->cross->folds)
            s->place[i] = s->rows++;
    if (s->keep)
        TN_TRY(tnp_alloc_raw(ctx, s->cross->count * s->rows * s->task->y.classes, sizeof *s->scores, &s->scores));
    for (size_t i = 0; i < values; ++i)
        s->cross->value[i] = NAN;
done:
    return st;
}

void tnp_lambda_search_destroy(tnp_lambda_search *s)
{
    tnp_free_all(s->place, s->stored, s->scores);
}

static tn_status take(tn_ctx *ctx, void *arg, size_t g, const size_t *rows, size_t count, const float *scores)
{
    tnp_lambda_search *s = arg;
    size_t k = s->task->y.classes;
    if (count == 0)
        return TN_OK;
    for (size_t i = 0; s->keep && i < count; ++i)
        memcpy(s->scores + (g * s->rows + s->place[rows[i]]) * k, scores + i * k, k * sizeof *scores);
    s->stored[g] += count;
    return tnp_measure_rows(ctx, (void *)(uintptr_t)s->task, rows, count, scores,
                            &s->cross->value[g * s->cross->folds + s->fold[rows[0]]]);
}

tnp_also tnp_lambda_search_asks(tnp_lambda_search *s)
{
    return (tnp_also){s->cross->grid, s->cross->count, s->discriminants, take, s};
}

/* Whether every row has scores at lambda g: discriminants may be missing in a fold. */
static bool is_scored(const tnp_lambda_search *s, size_t g)
{
    return s->stored[g] == s->rows;
}

void tnp_lambda_search_end(tnp_lambda_search *s)
{
    size_t folds = s->cross->folds;
    for (size_t g = 0; g < s->cross->count; ++g)
        for (size_t f = 0; f < folds && !is_scored(s, g); ++f)
            s->cross->value[g * folds + f] = NAN;
    tnp_cross_finish(s->cross, true);
}

tn_status tnp_lambda_search_scores(tn_ctx *ctx, const tnp_lambda_search *s, size_t g, float **out)
{
    size_t n = s->task->y.rows, k = s->task->y.classes;
    *out = NULL;
    if (!s->keep || !is_scored(s, g))
        return TN_OK;
    tn_status st = tnp_alloc(ctx, n * k, sizeof **out, out);
    for (size_t i = 0; st == TN_OK && i < n; ++i)
        if (s->fold[i] < s->cross->folds)
            memcpy(*out + i * k, s->scores + (g * s->rows + s->place[i]) * k, k * sizeof **out);
    return st;
}
