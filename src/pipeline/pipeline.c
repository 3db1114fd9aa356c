/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole way of the data, as a map of the system:
 *
 *   read        tn_features, tn_labels                    (the caller opened them)
 *   transform   task and candidates: rows, targets, mapped and normalised feeds
 *   select      ensemble: moments read once; evidence of each candidate; search for the best set
 *   learn       lambda by the chosen rule; ridge weights; head
 *   evaluate    leave-one-out beside every evidence
 *   report      tn_ranking, tn_fit_info, tn_head        (report/ turns them into text and files) */
#include "pipeline/parts.h"
#include "transform/feed.h"

#include <math.h>

/* Where the parts of the whole end, by their usual seconds: progress is an estimate. */
static const double SURVEY = 0.1, CHOICE = 0.7, ALONE = 0.2; /* ALONE: candidates beside their folds */

/* What both ways share: the task, its candidates, the leave-one-out sample. */
typedef struct prepared {
    tnp_task *task;
    tnp_candidates *candidates;
    tnp_sample *sample;
    tnp_selection selection;
} prepared;

/* part: the rows go on from others, and need not have two classes of their own. weights: of the rows in least squares,
 * or NULL. */
static tn_status prepare(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                         const tnp_rank_options *options, const tnp_learn_options *weights, bool part, prepared *s)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_check_names(ctx, features, count, labels));
    tn_nan_policy nan = (tn_nan_policy)options->nan;
    TN_TRY(part ? tnp_task_rows(ctx, features, count, labels, nan, &s->task)
                : tnp_task_new(ctx, features, count, labels, nan, options->evidence.intercept, &s->task));
    if (weights)
        TN_TRY(tnp_task_weigh(ctx, s->task, weights));
    TN_TRY(tnp_candidates_new(ctx, features, count, s->task, options, &s->candidates));
    if (options->loo > 0)
        TN_TRY(tnp_sample_new(ctx, &s->task->y, s->task->kind, options->loo, options->seed, &s->sample));
    if (s->sample)
        TN_TRY(tnp_sample_judged(ctx, &s->task->y, s->task->kind, &s->sample));
    s->selection = (tnp_selection){s->task, s->candidates, NULL, options, s->sample, options->loo == 0, NULL};
done:
    return st;
}

static void prepared_free(prepared *s)
{
    tnp_sample_free(s->sample);
    tnp_candidates_free(s->candidates);
    tnp_task_free(s->task);
}

/* Figures of candidate c from moments of its own, gone afterwards: memory is that of the widest candidate, not of
 * all. The caller gets the ridge problem and the evidence when it asks. */
static tn_status measure_alone(tn_ctx *ctx, const tnp_selection *selection, size_t c, tn_candidate *out,
                               tnp_ridge **ridge, tn_evidence **evidence)
{
    tn_status st = TN_OK;
    tnp_ensemble *own = NULL;
    const tn_feed *feed = selection->candidates->feeds[c];
    tnp_candidates one = {
        .count = 1, .feeds = &selection->candidates->feeds[c], .names = &selection->candidates->names[c]};
    tnp_selection alone = *selection;
    size_t member = 0;
    double begin = tnp_seconds();
    TN_TRY(tnp_ensemble_new(ctx, &feed, 1, &selection->task->y, selection->options->evidence.intercept, false, &own));
    alone.ensemble = own;
    alone.candidates = &one;
    TN_TRY(tnp_measure_set(ctx, &alone, &member, 1, out, ridge, evidence));
    out->seconds = tnp_seconds() - begin;
done:
    tnp_ensemble_free(own);
    return st;
}

static tn_status name_transform(tn_ctx *ctx, const tnp_candidates *candidates, size_t c, tn_candidate *out)
{
    const char *name = candidates->transform_names[c];
    return name ? tnp_strdup(ctx, name, &out->transform) : TN_OK;
}

/* Every candidate on its own, in candidate order. units (candidates, TNP_RANK_COUNT), or NULL. */
static tn_status rank_all(tn_ctx *ctx, const tnp_selection *given, tnp_units *units, tn_ranking *ranking)
{
    tnp_share whole = tnp_progress_now(ctx);
    tnp_selection now = *given, *selection = &now;
    for (size_t c = 0; c < ranking->count; ++c) {
        tn_evidence *evidence = NULL;
        now.units = units ? units + c * TNP_RANK_COUNT : NULL;
        tn_status st = tnp_progress_step(ctx, whole, selection->candidates->names[c], c, ranking->count);
        if (st == TN_OK && selection->ensemble)
            st = tnp_measure_set(ctx, selection, &c, 1, ranking->candidates[c], NULL, &evidence);
        else if (st == TN_OK)
            st = measure_alone(ctx, selection, c, ranking->candidates[c], NULL, &evidence);
        if (st != TN_OK)
            return st;
        ranking->null_log_evidence = evidence->log_null;
        ranking->degenerate_classes = evidence->degenerate_classes;
        tn_evidence_free(evidence);
        st = name_transform(ctx, selection->candidates, c, ranking->candidates[c]);
        if (st != TN_OK)
            return st;
    }
    return TN_OK;
}

/* Folds of every candidate. Each is a call of its own within this one. */
static tn_status cross_validate(tn_ctx *ctx, const tnp_selection *selection, const tn_features *const *features,
                                tnp_units *units)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_now(ctx);
    size_t n = selection->candidates->count;
    for (size_t c = 0; st == TN_OK && c < n; ++c) {
        tnp_share part = tnp_progress_part(ctx, whole, (double)c / (double)n, (double)(c + 1) / (double)n);
        tnp_share around = tnp_progress_within(ctx, part);
        st = tnp_units_of_folds(ctx, selection, features, c, &units[c * TNP_RANK_COUNT + TNP_RANK_CV]);
        (void)tnp_progress_within(ctx, around);
    }
    return st;
}

tn_status tnp_check_no_sample(tn_ctx *ctx, const tnp_rank_options *options)
{
    return options->rows.count == 0
               ? TN_OK
               : tnp_fail(ctx, TN_ERR_ARG, "option rows is for moments; of rows option loo says how many are left out");
}

tn_status tnp_rank(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                   const tnp_rank_options *options, tn_ranking **out)
{
    tn_status st = TN_OK;
    prepared s = {0};
    tn_ranking *ranking = NULL;
    tnp_learn_options weights; /* those of the labels, if they have any */
    tnp_units *units = NULL;
    size_t unit_count = 0;
    double begin = tnp_seconds();
    tnp_share whole = tnp_progress_begin(ctx);
    tnp_learn_options_default(&weights);
    TN_TRY(tnp_check_rank(ctx, options));
    TN_TRY(tnp_check_no_sample(ctx, options));
    (void)tnp_progress_part(ctx, whole, 0, SURVEY);
    TN_TRY(prepare(ctx, features, count, labels, options, &weights, false, &s));
    TN_TRY(tnp_check_by(ctx, &s.selection));
    TN_TRY(tnp_candidates_survey(ctx, s.candidates, options->evidence.intercept ? TNP_FEED_FAR : INFINITY,
                                 TNP_FEED_LARGEST));
    TN_TRY(tnp_ranking_new(ctx, s.task, s.candidates->count, &ranking));
    (void)tnp_progress_part(ctx, whole, SURVEY, options->by == TNP_RANK_CV ? SURVEY + ALONE : 1);
    TN_TRY(tnp_alloc(ctx, s.candidates->count * TNP_RANK_COUNT, sizeof *units, &units));
    unit_count = s.candidates->count * TNP_RANK_COUNT;
    TN_TRY(rank_all(ctx, &s.selection, units, ranking));
    (void)tnp_progress_part(ctx, whole, SURVEY + ALONE, 1);
    if (options->by == TNP_RANK_CV)
        TN_TRY(cross_validate(ctx, &s.selection, features, units));
    TN_TRY(tnp_progress_end(ctx));
    TN_TRY(tnp_ranking_settle(ctx, &s.selection, units, ranking));
    ranking->seconds = tnp_seconds() - begin;
    *out = ranking;
    ranking = NULL;
done:
    for (size_t i = 0; i < unit_count; ++i)
        tnp_units_destroy(&units[i]);
    tnp_free(units);
    tn_ranking_free(ranking);
    prepared_free(&s);
    return st;
}

static bool is_ridge(const tnp_fit_options *options)
{
    return tnp_method_of(options->method)->evidence;
}

/* Whether a method has nothing but C, or a grid of lambda, to meet rows of any size with. */
static bool goes_by_length(int method)
{
    return method != TNP_METHOD_EVIDENCE && method != TNP_METHOD_LDA && method != TNP_METHOD_AUTO;
}

/* Rows far from zero and brought to one length differ by next to nothing: a cost C or a grid of lambda that goes by
 * that length leaves no weights, and every row gets the most frequent class. The evidence finds its lambda at any size,
 * and discriminants theirs about that. */
static void warn_of_constant_rows(tn_ctx *ctx, const tnp_fit_options *o, const tnp_candidates *candidates)
{
    for (size_t c = 0; c < candidates->count && goes_by_length(o->method); ++c) {
        const tn_feed *feed = candidates->feeds[c];
        if (feed->normalize != TN_NORM_NONE && feed->spread < 1 / TNP_FEED_FAR)
            tnp_warn(
                ctx,
                "%s: after option normalize %s rows differ by only %.1e of their length, which may be too little for "
                "this method to tell them apart; give option normalize zscore or none",
                tn_features_path(feed->features), tn_normalize_name(feed->normalize), feed->spread);
    }
}

/* Centres for what will be trained. Without an intercept a centre would be another model: a ridge has its moments in
 * double and does without, the others refuse columns whose digits a float has no room for. */
static tn_status survey(tn_ctx *ctx, const tnp_fit_options *o, const prepared *s)
{
    bool intercept = o->rank.evidence.intercept;
    if (is_ridge(o))
        return tnp_candidates_survey(ctx, s->candidates, intercept ? TNP_FEED_FAR : INFINITY, TNP_FEED_LARGEST);
    tn_status st = tnp_candidates_survey(ctx, s->candidates, intercept ? TNP_FEED_FAR : TNP_FEED_TOO_FAR,
                                         TNP_FEED_LARGEST_SQUARED);
    for (size_t c = 0; st == TN_OK && !intercept && c < s->candidates->count; ++c)
        if (s->candidates->feeds[c]->centre)
            st = tnp_fail(ctx, TN_ERR_DATA,
                          "%s: a column's mean has more than %.0f deviations, of which float32 keeps nothing with "
                          "option intercept no; expected option intercept yes or option normalize zscore",
                          tn_features_path(s->candidates->feeds[c]->features), TNP_FEED_TOO_FAR);
    return st;
}

/* Evidence is needed to choose among several candidates, and by the ridge heads. A head to go on from has chosen. */
static bool needs_evidence(const tnp_fit_options *options, size_t candidates)
{
    return is_ridge(options) || (candidates > 1 && options->select != TNP_SEARCH_ALL && !options->from);
}

/* Chooses a set by its evidence; the moments of all candidates stay in *ensemble for the head that follows. A single
 * candidate, and --select best, need no joint moments. */
static tn_status choose_set(tn_ctx *ctx, prepared *s, tnp_search_kind how, tn_ranking *ranking, tnp_ensemble **ensemble,
                            tnp_search **search)
{
    tn_status st = TN_OK;
    double *singles = NULL;
    size_t n = s->candidates->count;
    tnp_share whole = tnp_progress_now(ctx);
    TN_TRY(tnp_alloc(ctx, n, sizeof *singles, &singles));
    (void)tnp_progress_part(ctx, whole, 0, 0.5);
    if (n > 1 && how != TNP_SEARCH_BEST)
        TN_TRY(tnp_ensemble_new(ctx, (const tn_feed *const *)s->candidates->feeds, n, &s->task->y,
                                s->selection.options->evidence.intercept, true, ensemble));
    s->selection.ensemble = *ensemble;
    (void)tnp_progress_part(ctx, whole, *ensemble ? 0.5 : 0, *ensemble ? 0.75 : 1);
    TN_TRY(rank_all(ctx, &s->selection, NULL, ranking));
    (void)tnp_progress_part(ctx, whole, 0.75, 1);
    for (size_t c = 0; c < n; ++c)
        singles[c] = ranking->candidates[c]->log_evidence;
    TN_TRY(tnp_search_new(ctx, how, n, singles, tnp_set_evidence, &s->selection, search));
done:
    tnp_free(singles);
    return st;
}

/* A single candidate: measured once, for the ranking and for the head. */
static tn_status take_single(tn_ctx *ctx, prepared *s, tn_fit_info *info, tnp_search **search, tnp_ridge **ridge,
                             tn_evidence **evidence)
{
    tn_status st = TN_OK;
    tn_candidate *only = info->ranking->candidates[0];
    TN_TRY(measure_alone(ctx, &s->selection, 0, info->chosen, ridge, evidence));
    TN_TRY(
        tnp_search_new(ctx, TNP_SEARCH_BEST, 1, &info->chosen->log_evidence, tnp_set_evidence, &s->selection, search));
    char *name = NULL;
    TN_TRY(tnp_strdup(ctx, info->chosen->name, &name));
    *only = *info->chosen;
    only->name = name;
    TN_TRY(name_transform(ctx, s->candidates, 0, only));
    info->ranking->null_log_evidence = (*evidence)->log_null;
    info->ranking->degenerate_classes = (*evidence)->degenerate_classes;
done:
    return st;
}

/* The set, by evidence where there is a choice; its figures go to info->chosen-> The ridge problem and the evidence are
 * made for the methods that train from them. */
static tn_status choose(tn_ctx *ctx, prepared *s, const tnp_fit_options *options, tn_fit_info *info,
                        tnp_ensemble **ensemble, tnp_search **search, tnp_ridge **ridge, tn_evidence **evidence)
{
    tn_status st = TN_OK;
    if (!needs_evidence(options, s->candidates->count)) {
        TN_TRY(tnp_search_all(ctx, s->candidates->count, search));
        return tnp_unmeasured(ctx, s->candidates, *search, info);
    }
    if (s->candidates->count == 1)
        return take_single(ctx, s, info, search, ridge, evidence);
    TN_TRY(choose_set(ctx, s, (tnp_search_kind)options->select, info->ranking, ensemble, search));
    if (*ensemble)
        TN_TRY(
            tnp_measure_set(ctx, &s->selection, (*search)->members, (*search)->count, info->chosen, ridge, evidence));
    else
        TN_TRY(measure_alone(ctx, &s->selection, (*search)->members[0], info->chosen, ridge, evidence));
done:
    return st;
}

/* Scores are float: of outputs far from zero, about their deviation, nothing would be left but their mean, whatever the
 * model knows. 2^20 deviations leave a thirtieth of one. */
static tn_status check_outputs(tn_ctx *ctx, const tnp_task *task, const tn_labels *labels)
{
    size_t n = task->y.rows, k = task->y.classes;
    for (size_t o = 0; task->values && o < k; ++o) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; ++i)
            mean += task->values[i * k + o] / (double)n;
        for (size_t i = 0; i < n; ++i)
            square += (task->values[i * k + o] - mean) * (task->values[i * k + o] - mean) / (double)n;
        mean += task->offset[o];
        if (!task->constant[o] && fabs(mean) > 0x1p20 * sqrt(square))
            return tnp_fail(
                ctx, TN_ERR_DATA,
                "%s: output %s has mean %.3g and deviation %.3g, expected at most %.0f deviations: predictions "
                "are float32; take the mean off",
                labels->path, labels->names[o], mean, sqrt(square), 0x1p20);
    }
    return TN_OK;
}

static tn_status check_threshold(tn_ctx *ctx, const tnp_fit_options *o, const tnp_task *task)
{
    if (o->threshold.word == TNP_THRESHOLD_AUTO || task->kind == TN_TASK_MULTILABEL)
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_ARG, "option threshold is for multi-label tasks, but the task is %s",
                    tn_task_name(task->kind));
}

/* A threshold that was given, for every class. */
static tn_status fix_threshold(tn_ctx *ctx, const tnp_fit_options *o, tn_fit_info *info, tn_head *head)
{
    if (o->threshold.word != TNP_THRESHOLD_FIXED)
        return TN_OK;
    tn_status st = tnp_head_add_thresholds(ctx, head);
    for (size_t k = 0; st == TN_OK && k < head->classes; ++k)
        head->thresholds[k] = o->threshold.value;
    info->threshold_rule = "fixed";
    return st;
}

tn_status tnp_fit_rows(tn_ctx *ctx, const tn_features *const *features, size_t count, const tn_labels *labels,
                       const tnp_fit_options *options, tn_fit_info **info_out, tn_head **head_out)
{
    tn_status st = TN_OK;
    prepared s = {0};
    tn_fit_info *info = NULL;
    tnp_ensemble *ensemble = NULL;
    tnp_search *search = NULL;
    tnp_ridge *ridge = NULL;
    tn_evidence *evidence = NULL;
    tn_head *head = NULL;
    const tn_feed **feeds = NULL;
    double begin = tnp_seconds(), choice = 0;
    tnp_share whole = tnp_progress_now(ctx);
    (void)tnp_progress_part(ctx, whole, 0, SURVEY);
    TN_TRY(prepare(ctx, features, count, labels, &options->rank, is_ridge(options) ? &options->learn : NULL,
                   options->from != NULL, &s));
    TN_TRY(tnp_check_lda(ctx, options, s.task->kind));
    TN_TRY(survey(ctx, options, &s));
    warn_of_constant_rows(ctx, options, s.candidates);
    TN_TRY(check_outputs(ctx, s.task, labels));
    TN_TRY(check_threshold(ctx, options, s.task));
    TN_TRY(tnp_fit_info_new(ctx, s.task, needs_evidence(options, s.candidates->count) ? s.candidates->count : 0,
                            options, &info));
    if (!s.sample && !s.selection.loo_off && needs_evidence(options, s.candidates->count))
        info->loo_note = "every class has one row: left out, its class is unseen";
    choice = needs_evidence(options, s.candidates->count) ? CHOICE : SURVEY;
    (void)tnp_progress_part(ctx, whole, SURVEY, choice);
    TN_TRY(choose(ctx, &s, options, info, &ensemble, &search, &ridge, &evidence));
    TN_TRY(tnp_pick_feeds(ctx, s.candidates, search->members, search->count, &feeds));
    (void)tnp_progress_part(ctx, whole, choice, 1);
    const tnp_chosen chosen = {&s.selection, labels,   options, search->members, search->count, feeds,
                               ridge,        evidence, info,    search,          begin};
    TN_TRY(tnp_method_of(options->method)->train(ctx, &chosen, &head));
    TN_TRY(fix_threshold(ctx, options, info, head));
    TN_TRY(tnp_head_check(ctx, head));
    TN_TRY(tnp_fit_info_steps(ctx, s.candidates, search, info));
    tnp_ranking_sort(info->ranking);
    *info_out = info;
    *head_out = head;
    info = NULL;
    head = NULL;
done:
    tn_fit_info_free(info);
    tn_head_free(head);
    tnp_free(feeds);
    tn_evidence_free(evidence);
    tnp_ridge_free(ridge);
    tnp_search_free(search);
    tnp_ensemble_free(ensemble);
    prepared_free(&s);
    return st;
}
