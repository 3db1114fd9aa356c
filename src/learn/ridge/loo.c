/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out predictions of ridge regression without refitting: with H the hat matrix (intercept inside),
 *
 *   prediction of row i without row i = y_i - (y_i - yhat_i) / (1 - H_ii)
 *
 * In the tridiagonal coordinates of learn/ridge/spectrum.h, with U = (T + lambda I)^-1 h for all classes:
 *
 *   primal  z_i = Q'(x_i - mean)   yhat_i = mean(y) + z_i'U            H_ii = 1/N + z_i'(T + lambda I)^-1 z_i
 *   dual    z_i = Q'(e_i - 1/N)    y_i - yhat_i = lambda z_i'U          1 - H_ii = lambda z_i'(T + lambda I)^-1 z_i
 *
 * Rows of weight g with roots r, W their sum: 1/N becomes r_i r_j / W, H_ii = g_i (1/W + z_i'(T + lambda I)^-1 z_i) in
 * the primal, and the dual's residual is divided by r_i. (mean and 1/N only with an intercept; in the dual the ones
 * vector is an eigenvector, and taking it off before the solve instead of 1/N after it keeps all digits at small
 * lambda.) z is made once, so every further lambda costs O(n) a row. All rows would cost as much again as the Gram:
 * hence the sample, of which every member of a team has a part. Oracle: refitting without the row,
 * tests/unit/test_loo.c. */
#include "learn/ridge/loo.h"
#include "base/team.h"
#include "learn/design/gather.h"
#include "learn/ridge/forms.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct tnp_loo {
    const tnp_ridge *ridge;
    const tnp_targets *y;
    const tnp_sample *sample;
    size_t first, count; /* rows of the sample that are worked on here: all, or a part of it, at least one */
    tnp_forms *forms;    /* of these */
    double *form;        /* (count): z'(T + lambda I)^-1 z */
    double *lambdas;
    double *predicted; /* (m, classes) */
};

/* The dual's rows: unit vectors, centred with an intercept. */
static void unit_rows(const tnp_loo *loo, double *z)
{
    size_t n = loo->ridge->rows;
    const double *root = loo->ridge->root;
    double mean = loo->ridge->intercept ? 1 / loo->ridge->weight : 0;
    for (size_t i = 0; i < loo->count; ++i) {
        size_t row = loo->sample->rows[loo->first + i];
        for (size_t j = 0; j < n; ++j)
            z[i * n + j] = (j == row ? 1 : 0) - (root ? mean * root[row] * root[j] : mean);
    }
}

/* Weight of a sampled row. */
static double weight_of(const tnp_loo *loo, size_t i)
{
    return loo->y->weight ? loo->y->weight[loo->sample->rows[i]] : 1;
}

/* A member without a part takes a row all the same: nobody hears of it, and nothing below needs to know. */
static void take_part(const tn_ctx *ctx, tnp_loo *loo)
{
    size_t m = loo->sample->count, to;
    tnp_team_part(ctx, m, 1, &loo->first, &to);
    if (loo->first == to) {
        loo->first = m ? m - 1 : 0;
        to = m;
    }
    loo->count = to - loo->first;
}

tn_status tnp_loo_new(tn_ctx *ctx, const tnp_ridge *ridge, const tn_feed *const *feeds, size_t count,
                      const tnp_targets *y, const tnp_sample *sample, tnp_loo **out)
{
    tn_status st = TN_OK;
    tnp_loo *loo = NULL;
    const tnp_spectrum *s = ridge->spectrum;
    double *z = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *loo, &loo));
    loo->ridge = ridge;
    loo->y = y;
    loo->sample = sample;
    take_part(ctx, loo);
    TN_TRY(tnp_alloc_raw(ctx, loo->count * s->order, sizeof(double), &z));
    TN_TRY(tnp_alloc(ctx, loo->count, sizeof(double), &loo->form));
    TN_TRY(tnp_alloc(ctx, s->classes, sizeof(double), &loo->lambdas));
    TN_TRY(tnp_alloc(ctx, sample->count * s->classes, sizeof(double), &loo->predicted));
    TN_TRY(tnp_progress(ctx, "leave-one-out", 0, 1));
    if (s->by_rows)
        unit_rows(loo, z);
    else
        TN_TRY(tnp_feeds_pick_wide(ctx, feeds, count, sample->rows + loo->first, loo->count, ridge->mean, z));
    st = tnp_forms_new(ctx, s, loo->count, z, &loo->forms);
    z = NULL; /* taken over, also on failure */
    TN_TRY(st);
    *out = loo;
    loo = NULL;
done:
    tnp_free(z);
    tnp_loo_free(loo);
    return st;
}

void tnp_loo_free(tnp_loo *loo)
{
    if (!loo)
        return;
    tnp_forms_free(loo->forms);
    tnp_free_all(loo->form, loo->lambdas, loo->predicted, loo);
}

/* 1 - H_ii of row i of the part. The primal's is a difference: below 1e-12 it is rounding. */
static double left_of_hat(const tnp_loo *loo, size_t i, double lambda)
{
    const tnp_ridge *r = loo->ridge;
    double g = weight_of(loo, loo->first + i), mean = r->intercept ? g / r->weight : 0, left;
    if (!isfinite(lambda))
        left = 1 - mean;
    else if (r->spectrum->by_rows)
        left = fmax(lambda * loo->form[i], DBL_MIN);
    else
        left = fmax(1 - mean - g * loo->form[i], 1e-12);
    return left;
}

size_t tnp_loo_impossible(const tnp_loo *loo)
{
    const tnp_ridge *r = loo->ridge;
    const double sure = 1e-6; /* above the rounding of forms */
    for (size_t i = 0; !r->spectrum->by_rows && i < loo->count; ++i) {
        double g = weight_of(loo, loo->first + i);
        if (g * ((r->intercept ? 1 / r->weight : 0) + loo->form[i]) > 1 + sure)
            return loo->sample->rows[loo->first + i];
    }
    return SIZE_MAX;
}

/* Scores of class c, which lie in out (part) as z'u, become predictions without the row. loo->form is that of lambda. */
static void predict_class(const tnp_loo *loo, size_t c, double lambda, double *out)
{
    const tnp_ridge *r = loo->ridge;
    size_t k = r->classes;
    for (size_t i = 0; i < loo->count; ++i) {
        double y = tnp_target(loo->y, loo->sample->rows[loo->first + i], c), residual;
        if (!isfinite(lambda) || !r->spectrum->by_rows)
            residual = y - r->ymean[c] - out[i * k + c];
        else
            residual = lambda * out[i * k + c] / sqrt(weight_of(loo, loo->first + i));
        out[i * k + c] = y - residual / left_of_hat(loo, i, lambda);
    }
}

/* Whether class c needs forms that the class before has not: one lambda for all classes needs them once. */
static bool is_another(const double *lambda, size_t c)
{
    return isfinite(lambda[c]) && (c == 0 || lambda[c] != lambda[c - 1]);
}

tn_status tnp_loo_predict_each(tn_ctx *ctx, tnp_loo *loo, const double *lambda, double *out)
{
    tn_status st = TN_OK;
    size_t k = loo->ridge->classes, changes = 0;
    double *part = out + loo->first * k;
    for (size_t c = 0; c < k; ++c)
        changes += is_another(lambda, c);
    TN_TRY(tnp_forms_expect(ctx, loo->forms, changes));
    TN_TRY(tnp_forms_scores(ctx, loo->forms, lambda, part));
    for (size_t c = 0; c < k; ++c) {
        if (is_another(lambda, c))
            TN_TRY(tnp_forms_at(ctx, loo->forms, lambda[c], loo->form));
        predict_class(loo, c, lambda[c], part);
    }
    TN_TRY(tnp_team_gather(ctx, out, loo->sample->count, 1, k * sizeof *out));
done:
    return st;
}

tn_status tnp_loo_predict(tn_ctx *ctx, tnp_loo *loo, double lambda, double *out)
{
    for (size_t c = 0; c < loo->ridge->classes; ++c)
        loo->lambdas[c] = lambda;
    return tnp_loo_predict_each(ctx, loo, loo->lambdas, out);
}

/* Arg-max of a row, ties to the lower class. */
static size_t best_class(const double *scores, size_t k)
{
    size_t best = 0;
    for (size_t c = 1; c < k; ++c)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

/* Weighted mean and its standard error. Rows of one class weigh the same, so sum w^2 p (1 - p) over rows is the
 * stratified variance with the pooled p, the safe choice where a class has few rows in the sample. */
static void measure_decisions(const tnp_sample *s, const tnp_targets *y, tn_task task, const double *predicted,
                              tnp_loo_result *out)
{
    size_t k = y->classes;
    double mean = 0, spread = 0, square = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (size_t i = 0; i < s->count; ++i) {
            const double *scores = predicted + i * k;
            double right = 0;
            if (task == TN_TASK_MULTICLASS)
                right = tnp_target(y, s->rows[i], best_class(scores, k));
            else
                for (size_t c = 0; c < k; ++c)
                    right += (scores[c] > 0.5) == (tnp_target(y, s->rows[i], c) > 0.5) ? 1 / (double)k : 0;
            if (pass == 0) {
                mean += s->weight[i] * right;
            } else {
                spread += (right - mean) * (right - mean) / (double)s->count;
                square += s->weight[i] * s->weight[i];
            }
        }
    out->accuracy = fmin(mean, 1); /* weights sum to 1 but for their rounding */
    out->se = sqrt(spread * square);
}

/* 1 - sum of squared errors / sum of squares about the sample's mean, averaged over outputs. */
static void measure_values(const tnp_sample *s, const tnp_targets *y, const double *predicted, tnp_loo_result *out)
{
    size_t k = y->classes, counted = 0;
    double sum = 0;
    for (size_t c = 0; c < k; ++c) {
        double error = 0, total = 0, mean = 0;
        for (size_t i = 0; i < s->count; ++i)
            mean += tnp_target(y, s->rows[i], c) / (double)s->count;
        for (size_t i = 0; i < s->count; ++i) {
            double value = tnp_target(y, s->rows[i], c), e = value - predicted[i * k + c];
            error += e * e;
            total += (value - mean) * (value - mean);
        }
        if (total > 0) {
            sum += 1 - error / total;
            ++counted;
        }
    }
    out->r2 = counted ? sum / (double)counted : NAN;
}

void tnp_loo_judge(const tnp_sample *sample, const tnp_targets *y, tn_task task, const double *predicted,
                   tnp_loo_result *out)
{
    *out = (tnp_loo_result){NAN, NAN, NAN};
    if (task == TN_TASK_REGRESSION)
        measure_values(sample, y, predicted, out);
    else
        measure_decisions(sample, y, task, predicted, out);
}

tn_status tnp_loo_squared_error(tn_ctx *ctx, void *arg, double lambda, double *value)
{
    tnp_loo *loo = arg;
    size_t k = loo->ridge->classes;
    tn_status st = tnp_loo_predict(ctx, loo, lambda, loo->predicted);
    if (st != TN_OK)
        return st;
    *value = 0;
    for (size_t i = 0; i < loo->sample->count; ++i)
        for (size_t c = 0; c < k; ++c) {
            double e = tnp_target(loo->y, loo->sample->rows[i], c) - loo->predicted[i * k + c];
            *value += loo->sample->weight[i] * weight_of(loo, i) * e * e;
        }
    return TN_OK;
}
