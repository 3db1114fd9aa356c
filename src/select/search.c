/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Searches over sets of candidates.
 *
 *   greedy      candidates in order of their own evidence, each visited once: kept if the joint evidence rises
 *   forward     at each stage the candidate whose addition gives the most; stop when none raises the evidence
 *   exhaustive  every non-empty set
 *   best, all   no search: the best single one, the full set
 *
 * Higher means: by more than TNP_LEVEL. A copy of the one that was taken, its columns in another order or a constant one
 * change nothing but the rounding of F, which would decide otherwise, another way for every number of threads.
 *
 * Every set tried is recorded with its evidence. A rough one will do as long as it tells which of two sets is ahead;
 * where it does not, both are asked for again, so that the choice is that of exact figures; the set that is chosen has
 * an exact one. Oracle: brute force over all sets, tests/unit/test_search.c. */
#include "select/search.h"

#include <math.h>
#include <string.h>

typedef struct state {
    tnp_search *out;
    size_t candidates, capacity;
    const double *singles;
    tnp_set_fn evidence;
    void *arg;
    size_t *set;   /* the set being tried */
    size_t chosen; /* its trial; SIZE_MAX: none yet */
} state;

/* set = chosen + extra, ascending; returns its size. */
static size_t with(const tnp_search *chosen, size_t extra, size_t *set)
{
    size_t n = 0;
    bool placed = false;
    for (size_t i = 0; i < chosen->count; ++i) {
        if (!placed && extra < chosen->members[i]) {
            set[n++] = extra;
            placed = true;
        }
        set[n++] = chosen->members[i];
    }
    if (!placed)
        set[n++] = extra;
    return n;
}

/* Takes the set of a trial. */
static void choose(state *s, size_t trial)
{
    const tnp_trial *t = &s->out->trials[trial];
    memcpy(s->out->members, t->members, t->count * sizeof *t->members);
    s->out->count = t->count;
    s->chosen = trial;
}

/* Evaluates s->set and records it as not accepted yet. Single candidates are known already. */
static tn_status try_set(tn_ctx *ctx, state *s, size_t count, size_t added, size_t alike, bool exact, size_t *trial)
{
    tn_status st = TN_OK;
    tnp_search *out = s->out;
    tnp_trial t = {NULL, count, added, false, true, s->singles[s->set[0]]};
    tnp_ask ask = {s->set, count, added == SIZE_MAX ? s->set[0] : added, alike, exact};
    if (out->trial_count == s->capacity) {
        TN_TRY(tnp_grow(ctx, &out->trials, out->trial_count, 2 * s->capacity + 8, sizeof *out->trials));
        s->capacity = 2 * s->capacity + 8;
    }
    if (count > 1)
        TN_TRY(s->evidence(ctx, s->arg, &ask, &t.log_evidence, &t.exact));
    TN_TRY(tnp_alloc(ctx, count, sizeof *t.members, &t.members));
    memcpy(t.members, s->set, count * sizeof *t.members);
    *trial = out->trial_count;
    out->trials[out->trial_count++] = t;
done:
    return st;
}

/* Makes a trial's evidence exact. */
static tn_status settle(tn_ctx *ctx, state *s, size_t trial)
{
    tnp_trial *t = &s->out->trials[trial];
    tnp_ask ask = {t->members, t->count, t->added == SIZE_MAX ? t->members[0] : t->added, 1, true};
    return t->exact ? TN_OK : s->evidence(ctx, s->arg, &ask, &t->log_evidence, &t->exact);
}

/* What a log evidence has to be above to be higher than this one. */
static double level_above(double log_evidence)
{
    return log_evidence + TNP_LEVEL * fabs(log_evidence);
}

/* Whether one trial has a higher evidence than another. */
static tn_status is_above(tn_ctx *ctx, state *s, size_t one, size_t other, bool *above)
{
    tn_status st = TN_OK;
    const tnp_trial *a = &s->out->trials[one], *b = &s->out->trials[other];
    double open =
        (a->exact ? 0 : 2 * TNP_ROUGH * fabs(a->log_evidence)) + (b->exact ? 0 : 2 * TNP_ROUGH * fabs(b->log_evidence));
    if (!(fabs(a->log_evidence - level_above(b->log_evidence)) > open)) {
        TN_TRY(settle(ctx, s, one));
        TN_TRY(settle(ctx, s, other));
    }
    *above = a->log_evidence > level_above(b->log_evidence);
done:
    return st;
}

static bool holds(const tnp_search *chosen, size_t candidate)
{
    for (size_t i = 0; i < chosen->count; ++i)
        if (chosen->members[i] == candidate)
            return true;
    return false;
}

/* The best candidate by its own evidence among those not visited; SIZE_MAX when none is left. */
static size_t best_unvisited(const state *s, const bool *visited)
{
    size_t best = SIZE_MAX;
    for (size_t c = 0; c < s->candidates; ++c)
        if (!visited[c] && (best == SIZE_MAX || s->singles[c] > level_above(s->singles[best])))
            best = c;
    return best;
}

static tn_status greedy(tn_ctx *ctx, state *s, size_t steps)
{
    tn_status st = TN_OK;
    bool *visited = NULL;
    tnp_share whole = tnp_progress_now(ctx);
    TN_TRY(tnp_alloc(ctx, s->candidates, sizeof *visited, &visited));
    for (size_t step = 0; step < steps; ++step) {
        size_t c = best_unvisited(s, visited), trial = 0;
        bool rises = true, rose = s->chosen + 1 == step; /* rose: the one before was taken, and this is likely to be */
        visited[c] = true;
        TN_TRY(tnp_progress_step(ctx, whole, "ensemble", step, steps));
        TN_TRY(try_set(ctx, s, with(s->out, c, s->set), c, rose ? 1 : steps - step, rose && step + 1 == steps, &trial));
        if (s->chosen != SIZE_MAX)
            TN_TRY(is_above(ctx, s, trial, s->chosen, &rises));
        if (rises) {
            choose(s, trial);
            s->out->trials[trial].accepted = true;
        }
    }
done:
    tnp_free(visited);
    return st;
}

/* The best set of the chosen ones and one more; *best: its trial. */
static tn_status best_addition(tn_ctx *ctx, state *s, tnp_share whole, size_t *best)
{
    tn_status st = TN_OK;
    size_t left = s->candidates - s->out->count;
    bool last = left == 1;
    *best = SIZE_MAX;
    for (size_t c = 0; c < s->candidates; ++c) {
        size_t trial = 0;
        bool above = true;
        if (holds(s->out, c))
            continue;
        TN_TRY(tnp_progress_step(ctx, whole, "ensemble", s->out->count * s->candidates + c,
                                 s->candidates * s->candidates));
        TN_TRY(try_set(ctx, s, with(s->out, c, s->set), c, left--, last, &trial));
        if (*best != SIZE_MAX)
            TN_TRY(is_above(ctx, s, trial, *best, &above));
        *best = above ? trial : *best;
    }
done:
    return st;
}

static tn_status forward(tn_ctx *ctx, state *s)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_now(ctx);
    for (bool rises = true; rises && s->out->count < s->candidates;) {
        size_t best = SIZE_MAX;
        TN_TRY(best_addition(ctx, s, whole, &best));
        if (s->chosen != SIZE_MAX)
            TN_TRY(is_above(ctx, s, best, s->chosen, &rises));
        if (rises) {
            choose(s, best);
            s->out->trials[best].accepted = true;
        }
    }
done:
    return st;
}

static tn_status exhaustive(tn_ctx *ctx, state *s)
{
    tn_status st = TN_OK;
    size_t sets = (size_t)1 << s->candidates;
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t mask = 1; mask < sets; ++mask) {
        size_t n = 0, trial = 0;
        bool above = true;
        for (size_t c = 0; c < s->candidates; ++c)
            if (mask >> c & 1)
                s->set[n++] = c;
        TN_TRY(tnp_progress_step(ctx, whole, "ensemble", mask - 1, sets - 1));
        /* Of the sets that share all but the first member, those with a first one from here on are to come. */
        TN_TRY(try_set(ctx, s, n, SIZE_MAX, n > 1 ? s->set[1] - s->set[0] : 1, false, &trial));
        if (s->chosen != SIZE_MAX)
            TN_TRY(is_above(ctx, s, trial, s->chosen, &above));
        if (above)
            choose(s, trial);
    }
    s->out->trials[s->chosen].accepted = true;
done:
    return st;
}

static tn_status take_all(tn_ctx *ctx, state *s)
{
    size_t trial = 0;
    for (size_t c = 0; c < s->candidates; ++c)
        s->set[c] = c;
    tn_status st = try_set(ctx, s, s->candidates, SIZE_MAX, 1, true, &trial);
    if (st != TN_OK)
        return st;
    choose(s, trial);
    s->out->trials[trial].accepted = true;
    return TN_OK;
}

tn_status tnp_search_new(tn_ctx *ctx, tnp_search_kind how, size_t candidates, const double *singles,
                         tnp_set_fn evidence, void *arg, tnp_search **out)
{
    tn_status st = TN_OK;
    state s = {NULL, candidates, 0, singles, evidence, arg, NULL, SIZE_MAX};
    if (how == TNP_SEARCH_EXHAUSTIVE && candidates > TNP_EXHAUSTIVE_MOST)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option select exhaustive: %zu candidates, expected at most %d; forward takes any number",
                        candidates, TNP_EXHAUSTIVE_MOST);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s.out, &s.out));
    TN_TRY(tnp_alloc(ctx, candidates, sizeof *s.out->members, &s.out->members));
    TN_TRY(tnp_alloc(ctx, candidates, sizeof *s.set, &s.set));
    switch (how) {
    case TNP_SEARCH_BEST:
        TN_TRY(greedy(ctx, &s, 1));
        break;
    case TNP_SEARCH_GREEDY:
        TN_TRY(greedy(ctx, &s, candidates));
        break;
    case TNP_SEARCH_FORWARD:
        TN_TRY(forward(ctx, &s));
        break;
    case TNP_SEARCH_EXHAUSTIVE:
        TN_TRY(exhaustive(ctx, &s));
        break;
    case TNP_SEARCH_ALL:
        TN_TRY(take_all(ctx, &s));
        break;
    }
    TN_TRY(settle(ctx, &s, s.chosen));
    s.out->log_evidence = s.out->trials[s.chosen].log_evidence;
    *out = s.out;
    s.out = NULL;
done:
    tnp_search_free(s.out);
    tnp_free(s.set);
    return st;
}

tn_status tnp_search_all(tn_ctx *ctx, size_t candidates, tnp_search **out)
{
    tn_status st = TN_OK;
    tnp_search *search = NULL;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *search, &search));
    TN_TRY(tnp_alloc(ctx, candidates, sizeof *search->members, &search->members));
    for (size_t c = 0; c < candidates; ++c)
        search->members[search->count++] = c;
    search->log_evidence = NAN;
    *out = search;
    search = NULL;
done:
    tnp_search_free(search);
    return st;
}

void tnp_search_free(tnp_search *search)
{
    if (!search)
        return;
    for (size_t i = 0; i < search->trial_count; ++i)
        tnp_free(search->trials[i].members);
    tnp_free_all(search->trials, search->members, search);
}
