/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The race with other sets of representations. The evidence of a set is that of a ridge head: it says little of how much
 * a support vector machine makes of one more representation. So where the winner is no ridge head, and the evidence chose
 * from several candidates, those still in the race run again with the best single candidate and with all of them, on the
 * same folds; another set is taken where it is better by more than a standard error. */
#include "pipeline/race/race.h"

#include <math.h>
#include <string.h>

static const double RACE = 0.7; /* of the budget; the rest is for the winner's head */

/* The first head is there whatever the budget: only the race ends in time. */
static tn_status race_one(tn_ctx *ctx, tnp_set_race *s, const tnp_race *like)
{
    tn_status st = TN_OK;
    const tnp_entry first = {.who = &tnp_incumbent, .value = NAN};
    TN_TRY(tnp_train_entry(ctx, &s->chosen, NULL, &first, &s->first));
    TN_TRY(tnp_race_init(ctx, &s->chosen, &s->race));
    if (s->chosen.options->budget > 0)
        tnp_set_deadline(ctx, s->chosen.begin + RACE * s->chosen.options->budget);
    s->race.like = like;
    if (s->race.folds > 0)
        TN_TRY(tnp_race_run(ctx, &s->race));
    else
        tnp_race_unjudged(&s->race);
done:
    return st;
}

/* A set of its own: its feeds, figures, ridge problem and evidence. */
static tn_status set_init(tn_ctx *ctx, const tnp_chosen *c, const size_t *members, size_t count, tnp_set_race *s)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, count, sizeof *s->members, &s->members));
    memcpy(s->members, members, count * sizeof *members);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s->figures, &s->figures));
    TN_TRY(tnp_measure_set(ctx, c->selection, s->members, count, s->figures, &s->ridge, &s->evidence));
    TN_TRY(tnp_pick_feeds(ctx, c->selection->candidates, s->members, count, &s->feeds));
    TN_TRY(tnp_fit_info_new(ctx, c->selection->task, 0, c->options, &s->info));
    s->chosen = *c;
    s->chosen.members = s->members;
    s->chosen.count = count;
    s->chosen.feeds = s->feeds;
    s->chosen.ridge = s->ridge;
    s->chosen.evidence = s->evidence;
    s->chosen.info = s->info;
done:
    return st;
}

void tnp_set_race_destroy(tnp_set_race *s)
{
    tnp_race_destroy(&s->race);
    tn_head_free(s->first);
    tn_fit_info_free(s->info);
    tnp_candidate_free(s->figures);
    tn_evidence_free(s->evidence);
    tnp_ridge_free(s->ridge);
    tnp_free_all(s->feeds, s->members);
}

static size_t best_single(const tn_ranking *ranking)
{
    size_t best = 0;
    for (size_t i = 1; i < ranking->count; ++i)
        if (ranking->candidates[i]->log_evidence > ranking->candidates[best]->log_evidence)
            best = i;
    return best;
}

/* Whether other sets are worth a race: nobody asked for this one by name, and a ridge head did not win. */
static bool has_rivals(const tnp_chosen *c, const tnp_race *race)
{
    int how = c->options->select;
    bool searched = how == TNP_SEARCH_GREEDY || how == TNP_SEARCH_FORWARD || how == TNP_SEARCH_EXHAUSTIVE;
    return searched && c->selection->ensemble && race->folds > 0 && !race->note &&
           race->entries[race->best].who->method != TNP_METHOD_EVIDENCE;
}

/* Whether the best of a race is better than that of another by more than a standard error. */
static bool beats(const tnp_race *a, const tnp_race *b)
{
    double lead, se;
    if (a->count == 0 || a->units != b->units)
        return false;
    tnp_lead(&a->entries[a->best], &b->entries[b->best], a->units, &lead, &se);
    return lead > se;
}

tn_status tnp_race_sets(tn_ctx *ctx, const tnp_chosen *c, tnp_set_race *sets, size_t *count, size_t *best)
{
    tn_status st = TN_OK;
    size_t n = c->selection->candidates->count, *all = NULL;
    sets[0].chosen = *c;
    *count = 1;
    *best = 0;
    TN_TRY(race_one(ctx, &sets[0], NULL));
    if (!has_rivals(c, &sets[0].race))
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, n, sizeof *all, &all));
    for (size_t i = 0; i < n; ++i)
        all[i] = i;
    const size_t single = best_single(c->info->ranking);
    const struct {
        const size_t *members;
        size_t count;
    } rivals[] = {{&single, c->count > 1 ? 1 : 0}, {all, c->count < n ? n : 0}};
    for (size_t r = 0; r < sizeof rivals / sizeof *rivals && !sets[*count - 1].race.note; ++r) {
        if (rivals[r].count == 0)
            continue;
        tnp_set_race *s = &sets[(*count)++];
        st = set_init(ctx, c, rivals[r].members, rivals[r].count, s);
        st = st == TN_OK ? race_one(ctx, s, &sets[0].race) : st;
        if (st == TN_ERR_INTERRUPTED && c->options->budget > 0) { /* before its race began */
            st = TN_OK;
            tnp_race_stop(ctx, &s->race);
        }
        TN_TRY(st);
        if (beats(&s->race, &sets[*best].race))
            *best = *count - 1;
    }
done:
    tnp_free(all);
    return st;
}

void tnp_take_set(tnp_set_race *s, const tnp_chosen *c)
{
    tn_candidate *figures = c->info->chosen;
    size_t *members = c->search->members;
    c->info->chosen = s->figures;
    c->search->members = s->members;
    c->search->count = s->chosen.count;
    s->figures = figures;
    s->members = members;
    s->chosen.info = c->info;
}
