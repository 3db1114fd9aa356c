/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training by method auto: the evidence's head first, which is there at once; the race; the same race with other sets of
 * representations where the evidence chose one of several for a ridge and the winner is none; then the winner's head on
 * all rows, its temperature and its thresholds.
 *
 * With option budget the race ends in time, and what it has found by then is the head. A call that is cancelled ends the
 * race too: with a budget the head is the best so far, without one there is none. */
#include "pipeline/race/race.h"
#include "learn/head/cross.h"
#include "learn/head/folds.h"
#include "learn/head/thresholds.h"

#include <math.h>
#include <string.h>

/* ---- heads ---- */

/* What a head of another method left in the info. */
static void forget_training(tn_fit_info *info)
{
    tnp_free_all(info->lambda, info->epochs);
    info->lambda = NULL;
    info->epochs = NULL;
    info->lambda_rule = NULL;
    info->class_means = 0;
    info->temperature = 0;
    info->temperature_note = NULL;
    info->epoch_count = info->epoch_best = info->passes = 0;
    info->cost = info->objective = info->gap = info->eta = NAN;
    info->converged = true;
}

/* A class without rows is never taken for one that has some. */
static void score_absent(const tnp_task *task, tn_head *head)
{
    for (size_t k = 0; k < head->classes; ++k)
        head->bias[k] = task->constant[k] ? tnp_constant_score(task, k) : head->bias[k];
}

tn_status tnp_train_entry(tn_ctx *ctx, const tnp_chosen *c, const tnp_course *course, const tnp_entry *entry,
                          tn_head **out)
{
    tnp_fit_options options = *c->options;
    tnp_chosen chosen = *c;
    chosen.options = &options;
    options.method = entry->who->method;
    options.threshold.word = TNP_THRESHOLD_NONE;
    options.learn.holdout = 0;
    if (entry->who != &tnp_incumbent) /* the temperature of its head is that of the scores of the race */
        options.learn.calibrate = TNP_CALIBRATE_NO;
    options.valid = (tnp_valid){NULL, 0, NULL}; /* judge the head when it is there */
    entry->who->settle(course, entry, &options);
    forget_training(c->info);
    c->info->method = tnp_method_of(options.method)->uses.word;
    return tnp_method_of(options.method)->train(ctx, &chosen, out);
}

/* sum += (head's scores - threshold) / temperature, as weights. False where the columns have other centres: then they
 * are not to be added up. */
static bool add_head(const tn_head *head, const tnp_entry *entry, double share, tn_head *sum)
{
    double by = share / entry->temperature;
    bool same = (head->centre == NULL) == (sum->centre == NULL) &&
                (!head->centre || memcmp(head->centre, sum->centre, head->dim * sizeof *head->centre) == 0);
    for (size_t i = 0; i < head->classes * head->dim; ++i)
        sum->weight[i] += (float)(by * (double)head->weight[i]);
    for (size_t k = 0; k < head->classes; ++k)
        sum->bias[k] += (float)(by * ((double)head->bias[k] - entry->who->threshold));
    return same;
}

/* The blend: a head per member, put together. */
static tn_status train_blend(tn_ctx *ctx, const tnp_chosen *c, const tnp_race *race, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *sum = NULL, *one = NULL;
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t m = 0; m < race->member_count; ++m) {
        const tnp_entry *e = &race->entries[race->members[m]];
        TN_TRY(tnp_progress_step(ctx, whole, e->who->word, m, race->member_count));
        TN_TRY(tnp_train_entry(ctx, c, race->course, e, &one));
        if (!sum) {
            forget_training(c->info);
            c->info->method = tnp_method_of(TNP_METHOD_AUTO)->uses.word;
            TN_TRY(tnp_begin_head(ctx, c, &sum));
        }
        if (!add_head(one, e, 1 / (double)race->member_count, sum))
            TN_TRY(tnp_fail(ctx, TN_ERR_UNSUPPORTED, "heads of the blend have other centres"));
        tn_head_free(one);
        one = NULL;
    }
    forget_training(c->info);
    c->info->method = tnp_method_of(TNP_METHOD_AUTO)->uses.word;
    sum->threshold = 0;
    *out = sum;
    sum = NULL;
done:
    tn_head_free(sum);
    tn_head_free(one);
    return st;
}

/* The head of the directions of the class means. */
static tn_status train_directions(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tn_head *head = NULL;
    tnp_class_means *means = NULL;
    TN_TRY(tnp_class_means_new(ctx, c->feeds, c->count, &c->selection->task->y, NULL, c->ridge->intercept, &means));
    forget_training(c->info);
    c->info->method = tnp_method_of(TNP_METHOD_AUTO)->uses.word;
    TN_TRY(tnp_begin_head(ctx, c, &head));
    TN_TRY(tnp_class_directions_weights(ctx, means, head->weight, head->bias));
    score_absent(c->selection->task, head);
    *out = head;
    head = NULL;
done:
    tnp_class_means_free(means);
    tn_head_free(head);
    return st;
}

static tn_status train_winner(tn_ctx *ctx, const tnp_chosen *c, const tnp_race *race, tn_head **out)
{
    if (tnp_is_blend(race, race->best))
        return train_blend(ctx, c, race, out);
    if (tnp_is_directions(race, race->best))
        return train_directions(ctx, c, out);
    return tnp_train_entry(ctx, c, race->course, &race->entries[race->best], out);
}

/* ---- what held-out scores say of the head ---- */

static tn_status set_temperature(tn_ctx *ctx, const tnp_chosen *c, const tnp_race *race, const tnp_entry *winner,
                                 tn_head *head)
{
    tn_status st = TN_OK;
    if (c->options->learn.calibrate == TNP_CALIBRATE_NO)
        return TN_OK;
    TN_TRY(tnp_choose_temperature(ctx, race->course->task, &(tnp_round){race->fold, race->folds}, winner,
                                  c->options->learn.calibrate == TNP_CALIBRATE_YES, &head->temperature));
    TN_TRY(tnp_say_no_probabilities(ctx, c, head->temperature));
done:
    c->info->temperature = head->temperature;
    return st;
}

/* winner NULL: there are no held-out scores. */
static tn_status set_thresholds(tn_ctx *ctx, const tnp_chosen *c, const tnp_race *race, const tnp_entry *winner,
                                tn_head *head)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &race->course->task->y;
    float *known = NULL;
    if (!winner || !tnp_wants_f1(c))
        return TN_OK;
    TN_TRY(tnp_head_add_thresholds(ctx, head));
    TN_TRY(tnp_alloc_raw(ctx, y->rows * y->classes, sizeof *known, &known));
    memcpy(known, winner->scores, y->rows * y->classes * sizeof *known);
    TN_TRY(tnp_folds_hide(ctx, y, race->fold, race->folds, known));
    TN_TRY(tnp_f1_thresholds(ctx, y, NULL, y->rows, known, head->threshold, head->thresholds));
    c->info->threshold_rule = "f1";
done:
    tnp_free(known);
    return st;
}

/* ---- the account ---- */

static tn_status tell_entry(tn_ctx *ctx, const tnp_chosen *c, const tnp_race *race, size_t i, bool chosen)
{
    tn_status st = TN_OK;
    tn_fit_info *info = c->info;
    const tnp_entry *e = &race->entries[i];
    tn_tried *t = NULL;
    bool ridge = tnp_is_ridge(e->who);
    TN_TRY(tnp_grow(ctx, &info->tried, info->tried_count, info->tried_count + 1, sizeof *info->tried));
    TN_TRY(tnp_alloc(ctx, 1, sizeof *t, &t));
    info->tried[info->tried_count++] = t;
    *t = (tn_tried){.cost = ridge ? (double)NAN : e->value,
                    .lambda = ridge ? e->value : (double)NAN,
                    .mean = e->mean,
                    .se = e->se,
                    .log_loss = e->log_loss,
                    .seconds = e->seconds,
                    .rows = e->judged,
                    .chosen = chosen,
                    .note = e->note};
    TN_TRY(tnp_name_entry(ctx, race, i, &t->method));
    TN_TRY(tnp_join_names(ctx, c->selection->candidates, c->members, c->count, &t->set));
done:
    return st;
}

static tn_status tell_race(tn_ctx *ctx, const tnp_set_race *s, tn_fit_info *info, bool chosen)
{
    tn_status st = TN_OK;
    tnp_chosen c = s->chosen;
    c.info = info;
    info->tried_metric = tnp_metric_name(c.selection->task->kind);
    if (s->race.folds == 0 && !info->tried_note)
        info->tried_note =
            s->race.best > 0
                ? "no row can be held out to judge by: the head goes by the directions of the classes from their mean"
                : "no row can be held out to judge by: the head is that of the evidence";
    if (s->race.too_long && !info->tried_note)
        info->tried_note = "with so many rows logistic or svm would take longer than all of this: name one to have it";
    for (size_t i = 0; s->race.folds > 0 && i < s->race.count; ++i)
        TN_TRY(tell_entry(ctx, &c, &s->race, i, chosen && i == s->race.best));
done:
    return st;
}

/* ---- the whole ---- */

/* The winner's head. One that cannot be trained in time gives way to the head of the evidence, which is there. */
static tn_status finish(tn_ctx *ctx, tnp_set_race *s, tn_head **out)
{
    tn_status st = TN_OK;
    tnp_race *race = &s->race;
    const tnp_entry *winner = race->count > 0 ? &race->entries[race->best] : NULL;
    tn_head *head = NULL;
    if (race->best == 0 && s->chosen.info->lambda) {
        head = s->first;
        s->first = NULL;
    } else {
        TN_TRY(train_winner(ctx, &s->chosen, race, &head));
        if (race->best > 0)
            TN_TRY(set_temperature(ctx, &s->chosen, race, winner, head));
    }
    TN_TRY(set_thresholds(ctx, &s->chosen, race, winner, head));
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    return st;
}

/* The incumbent's head again, for a winner that ran out of time or memory. */
static tn_status fall_back(tn_ctx *ctx, tnp_set_race *s, tn_head **out)
{
    const tnp_entry first = {.who = &tnp_incumbent, .value = NAN};
    s->race.best = 0;
    tn_head_free(s->first);
    s->first = NULL;
    tn_status st = tnp_train_entry(ctx, &s->chosen, s->race.course, &first, &s->first);
    return st == TN_OK ? finish(ctx, s, out) : st;
}

static bool ran_out(tn_status st)
{
    return st == TN_ERR_INTERRUPTED || st == TN_ERR_BUDGET || st == TN_ERR_MEMORY || st == TN_ERR_UNSUPPORTED;
}

/* Of an interrupt only the first one with a budget, which it spends. */
static bool may_fall_back(tn_ctx *ctx, const tnp_chosen *c)
{
    bool cancelled = tnp_was_cancelled(ctx);
    if (cancelled && (!(c->options->budget > 0) || c->info->interrupted))
        return false;
    if (cancelled)
        tn_ctx_reset(ctx);
    c->info->interrupted |= cancelled;
    c->info->tried_note = cancelled
                              ? "it was interrupted while the winner was trained: this is the head of the evidence"
                              : "the winner's head ran out of time or memory: this is the head of the evidence";
    return true;
}

tn_status tnp_train_auto(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    tnp_set_race sets[TNP_SETS] = {{.members = NULL}};
    size_t count = 0, best = 0;
    tnp_share whole = tnp_progress_now(ctx);
    (void)tnp_progress_part(ctx, whole, 0, 0.8);
    TN_TRY(tnp_race_sets(ctx, c, sets, &count, &best));
    c->info->interrupted = sets[count - 1].race.cancelled;
    tnp_set_deadline(ctx, c->options->budget > 0 && !c->info->interrupted ? c->begin + c->options->budget : 0);
    (void)tnp_progress_part(ctx, whole, 0.8, 1);
    if (best > 0)
        tnp_take_set(&sets[best], c);
    c->info->tried_note = sets[count - 1].race.note;
    st = finish(ctx, &sets[best], out);
    if (ran_out(st) && may_fall_back(ctx, c)) {
        tnp_set_deadline(ctx, 0);
        st = fall_back(ctx, &sets[best], out);
    }
    TN_TRY(st);
    for (size_t i = 0; i < count; ++i)
        TN_TRY(tell_race(ctx, &sets[i], c->info, i == best));
done:
    tnp_set_deadline(ctx, 0);
    for (size_t i = 0; i < TNP_SETS; ++i)
        tnp_set_race_destroy(&sets[i]);
    return st;
}
