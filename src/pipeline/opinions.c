/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a ranking goes by, and what the other figures would have said. Every figure that rows which are left out can
 * give is a weighted mean v = sum w_u v_u over units u that are the same for all candidates:
 *
 *   accuracy   rows      v_u = 1 where the arg-max is right, else 0          w of the sample
 *   mean AP    labels    v_u = average precision                             1 / labels that can be judged
 *   R^2        rows      v_u = 1 - n sum_c e_uc^2 / T_c / outputs            1 / n; T_c = sum (y - mean)^2, T_c > 0
 *   log-loss   rows      v_u = -log p_u(own class), or the mean over labels  w of the sample, over rows that count
 *
 * so that a lead of one candidate over another is d = sum w_u (a_u - b_u) with the standard error
 * sqrt(mean (a_u - b_u - d)^2 sum w_u^2): most rows are right or wrong by both, and the error of each figure alone, which
 * was refused, would call real leads chance. The log-loss is that of p = softmax(s / T), or 1 / (1 + exp(-(s - 1/2) / T))
 * per label, of the closed-form leave-one-out scores s at the one T that minimises it over the same rows: one number,
 * against as many rows as the sample has. Oracle: literal refits and double loops, tests/unit/test_opinions.c. */
#include "pipeline/parts.h"
#include "learn/head/calibrate.h"
#include "select/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tnp_by_word(tnp_by by)
{
    static const char *const words[TNP_RANK_COUNT] = {"evidence", "loo", "nll", "knn", "cv"};
    return words[by];
}

tn_status tnp_check_by(tn_ctx *ctx, const tnp_selection *s)
{
    tnp_by by = (tnp_by)s->options->by;
    if (by == TNP_RANK_NLL && s->task->kind == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option by nll: a regression has no log-loss; expected option by evidence, loo, knn or cv");
    if (by != TNP_RANK_EVIDENCE && by != TNP_RANK_CV && !s->sample)
        return tnp_fail(ctx, TN_ERR_DATA,
                        "option by %s: every class has one row: left out, its class is unseen; expected option by "
                        "evidence",
                        tnp_by_word(by));
    return TN_OK;
}

/* ---- units ---- */

static tn_status units_new(tn_ctx *ctx, size_t count, tnp_units *u)
{
    tn_status st = TN_OK;
    u->count = count;
    TN_TRY(tnp_alloc(ctx, count, sizeof *u->value, &u->value));
    TN_TRY(tnp_alloc(ctx, count, sizeof *u->weight, &u->weight));
done:
    return st;
}

void tnp_units_destroy(tnp_units *u)
{
    tnp_free_all(u->value, u->weight);
}

/* A unit without a value loses its weight to the others. */
static void finish(tnp_units *u)
{
    double sum = 0;
    for (size_t i = 0; i < u->count; ++i) {
        if (isnan(u->value[i]))
            u->value[i] = u->weight[i] = 0;
        sum += u->weight[i];
    }
    u->mean = sum > 0 ? 0 : (double)NAN;
    for (size_t i = 0; i < u->count && sum > 0; ++i) {
        u->weight[i] /= sum;
        u->mean += u->weight[i] * u->value[i];
    }
}

/* Difference of two figures, or with b NULL the figure itself, and its standard error. */
static void compare(const tnp_units *a, const tnp_units *b, double *lead, double *se)
{
    double spread = 0, square = 0, n = 0;
    *lead = a->mean - (b ? b->mean : 0);
    for (size_t i = 0; i < a->count; ++i) {
        if (!(a->weight[i] > 0))
            continue;
        double d = a->value[i] - (b ? b->value[i] : 0) - *lead;
        spread += d * d;
        square += a->weight[i] * a->weight[i];
        n += 1;
    }
    *se = n > 1 ? sqrt(spread / n * square) : (double)NAN;
}

static void accuracy_units(const tnp_selection *s, const double *scores, tnp_units *u)
{
    const tnp_targets *y = &s->task->y;
    for (size_t i = 0; i < u->count; ++i) {
        const double *row = scores + i * y->classes;
        size_t best = 0;
        for (size_t c = 1; c < y->classes; ++c)
            if (row[c] > row[best])
                best = c;
        u->value[i] = isnan(row[0]) ? (double)NAN : tnp_target(y, s->sample->rows[i], best); /* NaN: nobody judged it */
        u->weight[i] = s->sample->weight[i];
    }
}

/* Adds the squared errors of output c over their total; false where it does not vary. */
static bool add_output(const tnp_selection *s, const double *scores, size_t c, tnp_units *u)
{
    const tnp_targets *y = &s->task->y;
    double mean = 0, total = 0, n = (double)u->count;
    for (size_t i = 0; i < u->count; ++i)
        mean += tnp_target(y, s->sample->rows[i], c) / n;
    for (size_t i = 0; i < u->count; ++i) {
        double d = tnp_target(y, s->sample->rows[i], c) - mean;
        total += d * d;
    }
    for (size_t i = 0; i < u->count && total > 0; ++i) {
        double e = tnp_target(y, s->sample->rows[i], c) - scores[i * y->classes + c];
        u->value[i] += n * e * e / total;
    }
    return total > 0;
}

static void r2_units(const tnp_selection *s, const double *scores, tnp_units *u)
{
    double outputs = 0;
    for (size_t c = 0; c < s->task->y.classes; ++c)
        outputs += add_output(s, scores, c, u);
    for (size_t i = 0; i < u->count; ++i) {
        u->value[i] = outputs > 0 ? 1 - u->value[i] / outputs : (double)NAN;
        u->weight[i] = 1;
    }
}

/* The scores as float. Owned by the caller, free with tnp_free. */
static tn_status narrow(tn_ctx *ctx, const tnp_selection *s, const double *scores, float **out)
{
    size_t size = s->sample->count * s->task->y.classes;
    tn_status st = tnp_alloc_raw(ctx, size, sizeof **out, out);
    for (size_t i = 0; st == TN_OK && i < size; ++i)
        (*out)[i] = (float)scores[i];
    return st;
}

static tn_status precision_units(tn_ctx *ctx, const tnp_selection *s, const double *scores, tnp_units *u)
{
    float *floats = NULL;
    tn_status st = narrow(ctx, s, scores, &floats);
    u->labels = true;
    for (size_t c = 0; c < u->count; ++c)
        u->weight[c] = 1;
    if (st == TN_OK)
        st = tnp_precisions_left_out(ctx, s->task, s->sample->rows, s->sample->count, floats, u->value);
    tnp_free(floats);
    return st;
}

tn_status tnp_units_of_quality(tn_ctx *ctx, const tnp_selection *s, const double *scores, tnp_units *u)
{
    tn_status st = TN_OK;
    tn_task kind = s->task->kind;
    TN_TRY(units_new(ctx, kind == TN_TASK_MULTILABEL ? s->task->y.classes : s->sample->count, u));
    if (kind == TN_TASK_MULTICLASS)
        accuracy_units(s, scores, u);
    else if (kind == TN_TASK_REGRESSION)
        r2_units(s, scores, u);
    else
        TN_TRY(precision_units(ctx, s, scores, u));
    finish(u);
done:
    return st;
}

tn_status tnp_units_of_loss(tn_ctx *ctx, const tnp_selection *s, const double *scores, tnp_units *u)
{
    tn_status st = TN_OK;
    const double threshold = 0.5;
    const tnp_sample *sample = s->sample;
    float *floats = NULL;
    double temperature = 0;
    TN_TRY(units_new(ctx, sample->count, u));
    TN_TRY(narrow(ctx, s, scores, &floats));
    TN_TRY(tnp_hide_left_out(ctx, s->task, sample->rows, sample->count, floats));
    TN_TRY(tnp_temperature_fit(ctx, &s->task->y, s->task->kind, threshold, sample->rows, sample->count, sample->weight,
                               floats, &temperature));
    if (!(temperature > 0))
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "option by nll: no row that is left out has a label that the others know; expected option by "
                        "evidence"));
    tnp_temperature_losses(&s->task->y, s->task->kind, threshold, sample->rows, sample->count, floats, temperature,
                           u->value);
    memcpy(u->weight, sample->weight, sample->count * sizeof *u->weight);
    finish(u);
done:
    tnp_free(floats);
    return st;
}

tn_status tnp_units_of_neighbours(tn_ctx *ctx, const tnp_selection *s, const tn_feed *const *feeds, size_t count,
                                  tnp_units *u)
{
    tn_status st = TN_OK;
    double *scores = NULL;
    TN_TRY(tnp_alloc_raw(ctx, s->sample->count * s->task->y.classes, sizeof *scores, &scores));
    TN_TRY(tnp_knn_predict(ctx, feeds, count, &s->task->y, s->sample, TNP_NEIGHBOURS, scores));
    TN_TRY(tnp_units_of_quality(ctx, s, scores, u));
done:
    tnp_free(scores);
    return st;
}

/* Held-out scores of the sample's rows: of rows of the files, and of a regression's outputs as the labels have them. */
static void copy_held_out(const tnp_selection *s, const float *scores, double *out)
{
    size_t k = s->task->y.classes;
    for (size_t i = 0; i < s->sample->count; ++i)
        for (size_t c = 0; c < k; ++c)
            out[i * k + c] = (double)scores[s->task->rows[s->sample->rows[i]] * k + c] - s->task->offset[c];
}

tn_status tnp_units_of_folds(tn_ctx *ctx, const tnp_selection *given, const tn_features *const *features, size_t c,
                             tnp_units *u)
{
    enum { FOLDS = 5 };
    tn_status st = TN_OK;
    const tnp_task *task = given->task;
    tnp_selection s = *given;
    tnp_sample *all = NULL;
    tn_cv_result *cv = NULL;
    double *scores = NULL;
    TN_TRY(tnp_cv_candidate(ctx, features, task->labels, s.options, c, TNP_METHOD_EVIDENCE, FOLDS, &cv));
    TN_TRY(tnp_sample_new(ctx, &task->y, task->kind, SIZE_MAX, 0, &all));
    TN_TRY(tnp_sample_judged(ctx, &task->y, task->kind, &all));
    s.sample = all;
    TN_TRY(tnp_alloc_raw(ctx, all->count * task->y.classes, sizeof *scores, &scores));
    copy_held_out(&s, tn_cv_scores(cv), scores);
    TN_TRY(tnp_units_of_quality(ctx, &s, scores, u));
done:
    tnp_free(scores);
    tnp_sample_free(all);
    tn_cv_free(cv);
    return st;
}

/* ---- order ---- */

/* A candidate with what it is compared by; `value` is higher for the better. */
typedef struct placed {
    tn_candidate *candidate;
    const tnp_units *units; /* TNP_RANK_COUNT */
    double value;
} placed;

static double score_of(const placed *p, tnp_by by)
{
    return by == TNP_RANK_EVIDENCE ? p->candidate->log_evidence : p->units[by].mean;
}

static double value_of(const placed *p, tnp_by by)
{
    return by == TNP_RANK_NLL ? -score_of(p, by) : score_of(p, by);
}

/* NaN last; equal figures go by evidence, then by name: qsort is not stable. */
static int best_first(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (x->value != y->value && !isnan(x->value))
        return x->value < y->value ? 1 : -1;
    if (x->candidate->log_evidence != y->candidate->log_evidence)
        return x->candidate->log_evidence < y->candidate->log_evidence ? 1 : -1;
    return strcmp(x->candidate->name, y->candidate->name);
}

/* How far a is ahead of b: of evidence in nats per label. */
static void lead_of(const placed *a, const placed *b, tnp_by by, double *lead, double *se)
{
    if (by == TNP_RANK_EVIDENCE) {
        *lead = a->candidate->gain_per_label - b->candidate->gain_per_label;
        *se = NAN;
        return;
    }
    compare(&a->units[by], &b->units[by], lead, se);
    *lead = by == TNP_RANK_NLL ? -*lead : *lead;
}

/* Whom this figure speaks for; nobody where it has no value. */
static void add_opinion(const placed *order, tnp_by by, tn_ranking *ranking)
{
    const placed *best = order;
    for (size_t i = 1; i < ranking->count; ++i)
        if (value_of(&order[i], by) > value_of(best, by))
            best = &order[i];
    if (isnan(score_of(order, by)))
        return;
    tn_opinion *o = &ranking->opinions[ranking->opinion_count++];
    *o = (tn_opinion){tnp_by_word(by), best->candidate->name, score_of(best, by), score_of(order, by), 0, 0};
    lead_of(best, order, by, &o->lead, &o->lead_se);
}

static void set_score(const placed *p, tnp_by by)
{
    double mean;
    p->candidate->score = score_of(p, by);
    p->candidate->score_se = NAN;
    if (by != TNP_RANK_EVIDENCE && !p->units[by].labels)
        compare(&p->units[by], NULL, &mean, &p->candidate->score_se);
}

tn_status tnp_ranking_settle(tn_ctx *ctx, const tnp_selection *selection, const tnp_units *units, tn_ranking *ranking)
{
    tn_status st = TN_OK;
    placed *order = NULL;
    tnp_by by = (tnp_by)selection->options->by;
    TN_TRY(tnp_alloc(ctx, ranking->count, sizeof *order, &order));
    TN_TRY(tnp_alloc(ctx, TNP_RANK_COUNT, sizeof *ranking->opinions, &ranking->opinions));
    for (size_t i = 0; i < ranking->count; ++i) {
        order[i] = (placed){ranking->candidates[i], units + i * TNP_RANK_COUNT, 0};
        order[i].value = value_of(&order[i], by);
        set_score(&order[i], by);
    }
    qsort(order, ranking->count, sizeof *order, best_first);
    for (size_t i = 0; i < ranking->count; ++i)
        ranking->candidates[i] = order[i].candidate;
    ranking->by = tnp_by_word(by);
    ranking->lead = ranking->lead_se = NAN;
    if (ranking->count > 1)
        lead_of(&order[0], &order[1], by, &ranking->lead, &ranking->lead_se);
    for (int b = TNP_RANK_EVIDENCE; b < TNP_RANK_COUNT; ++b)
        if (b == TNP_RANK_EVIDENCE || order[0].units[b].count > 0)
            add_opinion(order, (tnp_by)b, ranking);
done:
    tnp_free(order);
    return st;
}
