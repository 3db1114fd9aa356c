/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Searches over sets of candidates.
 *
 *   greedy      candidates in order of their own evidence, each visited once: kept if the joint evidence rises
 *   forward     at each stage the candidate whose addition gives the most; stop when none raises the evidence
 *   exhaustive  every non-empty set
 *   best, all   no search: the best single one, the full set
 *
 * Every set tried is recorded with its evidence. Oracle: brute force over all sets, tests/unit/test_search.c. */
#include "select/search.h"

#include <math.h>
#include <string.h>

typedef struct state {
    tnp_search *out;
    size_t candidates, capacity;
    const double *singles;
    tnp_set_fn evidence;
    void *arg;
    size_t *set; /* the set being tried */
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

static void choose(state *s, const size_t *set, size_t count, double value)
{
    memcpy(s->out->members, set, count * sizeof *set);
    s->out->count = count;
    s->out->log_evidence = value;
}

/* Evaluates s->set and records it as not accepted yet. Single candidates are known already. */
static tn_status try_set(tn_ctx *ctx, state *s, size_t count, size_t added, double *value)
{
    tn_status st = TN_OK;
    tnp_search *out = s->out;
    if (out->trial_count == s->capacity) {
        TN_TRY(tnp_grow(ctx, &out->trials, out->trial_count, 2 * s->capacity + 8, sizeof *out->trials));
        s->capacity = 2 * s->capacity + 8;
    }
    if (count == 1)
        *value = s->singles[s->set[0]];
    else
        TN_TRY(s->evidence(ctx, s->arg, s->set, count, value));
    tnp_trial trial = {NULL, count, added, false, *value};
    TN_TRY(tnp_alloc(ctx, count, sizeof *trial.members, &trial.members));
    memcpy(trial.members, s->set, count * sizeof *trial.members);
    out->trials[out->trial_count++] = trial;
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
        if (!visited[c] && (best == SIZE_MAX || s->singles[c] > s->singles[best]))
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
        size_t c = best_unvisited(s, visited), n = with(s->out, c, s->set);
        double value = 0;
        visited[c] = true;
        TN_TRY(tnp_progress_step(ctx, whole, "ensemble", step, steps));
        TN_TRY(try_set(ctx, s, n, c, &value));
        if (s->out->count == 0 || value > s->out->log_evidence) {
            choose(s, s->set, n, value);
            s->out->trials[s->out->trial_count - 1].accepted = true;
        }
    }
done:
    tnp_free(visited);
    return st;
}

static tn_status forward(tn_ctx *ctx, state *s)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_now(ctx);
    for (bool rising = true; rising && s->out->count < s->candidates;) {
        size_t best = SIZE_MAX, best_trial = 0;
        double best_value = -INFINITY;
        for (size_t c = 0; c < s->candidates; ++c) {
            double value = 0;
            if (holds(s->out, c))
                continue;
            TN_TRY(tnp_progress_step(ctx, whole, "ensemble", s->out->count * s->candidates + c,
                                     s->candidates * s->candidates));
            TN_TRY(try_set(ctx, s, with(s->out, c, s->set), c, &value));
            if (best == SIZE_MAX || value > best_value) {
                best = c;
                best_value = value;
                best_trial = s->out->trial_count - 1;
            }
        }
        rising = s->out->count == 0 || best_value > s->out->log_evidence;
        if (rising) {
            choose(s, s->set, with(s->out, best, s->set), best_value);
            s->out->trials[best_trial].accepted = true;
        }
    }
done:
    return st;
}

static tn_status exhaustive(tn_ctx *ctx, state *s)
{
    size_t sets = (size_t)1 << s->candidates, best_trial = 0;
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t mask = 1; mask < sets; ++mask) {
        size_t n = 0;
        double value = 0;
        for (size_t c = 0; c < s->candidates; ++c)
            if (mask >> c & 1)
                s->set[n++] = c;
        tn_status st = tnp_progress_step(ctx, whole, "ensemble", mask - 1, sets - 1);
        if (st == TN_OK)
            st = try_set(ctx, s, n, SIZE_MAX, &value);
        if (st != TN_OK)
            return st;
        if (mask == 1 || value > s->out->log_evidence) {
            choose(s, s->set, n, value);
            best_trial = s->out->trial_count - 1;
        }
    }
    s->out->trials[best_trial].accepted = true;
    return TN_OK;
}

static tn_status take_all(tn_ctx *ctx, state *s)
{
    double value = 0;
    for (size_t c = 0; c < s->candidates; ++c)
        s->set[c] = c;
    tn_status st = try_set(ctx, s, s->candidates, SIZE_MAX, &value);
    if (st != TN_OK)
        return st;
    choose(s, s->set, s->candidates, value);
    s->out->trials[0].accepted = true;
    return TN_OK;
}

tn_status tnp_search_new(tn_ctx *ctx, tnp_search_kind how, size_t candidates, const double *singles,
                         tnp_set_fn evidence, void *arg, tnp_search **out)
{
    tn_status st = TN_OK;
    state s = {NULL, candidates, 0, singles, evidence, arg, NULL};
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
