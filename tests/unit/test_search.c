/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The searches against brute force: a random table gives the evidence of every set, and each search is played again by
 * its definition on the table. */
#include "ctx_of.h"
#include "ref_random.h"
#include "select/search.h"

enum { MOST = 6, TABLES = 600 };

typedef struct table {
    size_t m, calls;
    bool rough;            /* answers what may be rough with an error of up to TNP_ROUGH, another one each time */
    ref_rng rng;           /* which */
    double value[1 << 13]; /* by mask; bit c: candidate c */
} table;

static size_t mask_of(const size_t *members, size_t count)
{
    size_t mask = 0;
    for (size_t i = 0; i < count; ++i) {
        assert_true(i == 0 || members[i] > members[i - 1]);
        mask |= (size_t)1 << members[i];
    }
    return mask;
}

static tn_status look_up(tn_ctx *ctx, void *arg, const tnp_ask *ask, double *out, bool *exact)
{
    table *t = arg;
    size_t mask = mask_of(ask->members, ask->count);
    (void)ctx;
    assert_true(ask->count > 1 && ask->count <= t->m); /* single candidates are known */
    assert_true((mask >> ask->added & 1) && ask->alike > 0 && ask->alike <= t->m);
    ++t->calls;
    *exact = ask->exact || !t->rough || ref_below(&t->rng, 4) == 0;
    *out = t->value[mask] * (*exact ? 1 : 1 + TNP_ROUGH * (2 * ref_unit(&t->rng) - 1));
    return TN_OK;
}

/* Tables by how far their values are apart: well; few different ones, so that ties are common; by whole levels, give or
 * take about as much as rough values are wrong; by rounding alone. */
typedef enum spread { FAR, COARSE, CLOSE, ROUNDED, SPREADS } spread;

static double spread_value(ref_rng *rng, spread how)
{
    switch (how) {
    case COARSE:
        return -(double)ref_below(rng, 4) - 1;
    case CLOSE:
        return -100 * (1 + TNP_LEVEL * (double)ref_below(rng, 3) + 2 * TNP_ROUGH * ref_normal(rng));
    case ROUNDED:
        return -100 * (1 + 1e-14 * ref_normal(rng));
    default:
        return ref_normal(rng) - 100;
    }
}

static void fill(table *t, size_t m, ref_rng *rng, spread how)
{
    t->m = m;
    t->calls = 0;
    t->rough = false;
    for (size_t mask = 1; mask < (size_t)1 << m; ++mask)
        t->value[mask] = spread_value(rng, how);
}

/* Whether a set is higher than another: by more than figures are promised to be right by. */
static bool is_higher(const table *t, size_t mask, size_t other)
{
    return t->value[mask] - t->value[other] > TNP_LEVEL * fabs(t->value[other]);
}

static tnp_search *search(tn_ctx *ctx, table *t, tnp_search_kind how)
{
    double singles[12];
    tnp_search *s = NULL;
    for (size_t c = 0; c < t->m; ++c)
        singles[c] = t->value[(size_t)1 << c];
    assert_fine(ctx, tnp_search_new(ctx, how, t->m, singles, look_up, t, &s));
    return s;
}

/* What every search promises: the chosen set's evidence is the table's, each trial's too, or nearly where it is rough,
 * and the accepted trials lead to the chosen set. */
static void check_record(const table *t, const tnp_search *s)
{
    size_t last = 0;
    assert_true(s->log_evidence == t->value[mask_of(s->members, s->count)]);
    for (size_t i = 0; i < s->trial_count; ++i) {
        const tnp_trial *trial = &s->trials[i];
        size_t mask = mask_of(trial->members, trial->count);
        assert_true(fabs(trial->log_evidence - t->value[mask]) <=
                    (trial->exact ? 0 : 1.0001 * TNP_ROUGH * fabs(t->value[mask])));
        if (trial->added != SIZE_MAX)
            assert_true(mask >> trial->added & 1);
        if (trial->accepted)
            last = mask;
    }
    assert_int_equal(last, mask_of(s->members, s->count));
}

static void expect_trial(const tnp_search *s, size_t i, size_t mask, size_t added, bool accepted)
{
    assert_true(i < s->trial_count);
    assert_int_equal(mask_of(s->trials[i].members, s->trials[i].count), mask);
    assert_int_equal(s->trials[i].added, added);
    assert_int_equal(s->trials[i].accepted, accepted);
}

/* By own evidence, descending: each time the first that is left, or who is higher than that, and so on. */
static void order_of(const table *t, size_t *order)
{
    bool taken[MOST] = {false};
    for (size_t step = 0; step < t->m; ++step) {
        size_t best = SIZE_MAX;
        for (size_t c = 0; c < t->m; ++c)
            if (!taken[c] && (best == SIZE_MAX || is_higher(t, (size_t)1 << c, (size_t)1 << best)))
                best = c;
        taken[best] = true;
        order[step] = best;
    }
}

static void play_greedy(const table *t, const tnp_search *s)
{
    size_t order[MOST], chosen = 0;
    order_of(t, order);
    assert_int_equal(s->trial_count, t->m);
    for (size_t step = 0; step < t->m; ++step) {
        size_t with = chosen | (size_t)1 << order[step];
        bool accept = chosen == 0 || is_higher(t, with, chosen);
        expect_trial(s, step, with, order[step], accept);
        chosen = accept ? with : chosen;
    }
    assert_int_equal(mask_of(s->members, s->count), chosen);
}

static void play_forward(const table *t, const tnp_search *s)
{
    size_t chosen = 0, trial = 0, full = ((size_t)1 << t->m) - 1;
    while (chosen != full) {
        size_t best = SIZE_MAX, begin = trial;
        for (size_t c = 0; c < t->m; ++c)
            if (!(chosen >> c & 1) &&
                (best == SIZE_MAX || is_higher(t, chosen | (size_t)1 << c, chosen | (size_t)1 << best)))
                best = c;
        bool rises = chosen == 0 || is_higher(t, chosen | (size_t)1 << best, chosen);
        for (size_t c = 0; c < t->m; ++c)
            if (!(chosen >> c & 1))
                expect_trial(s, trial++, chosen | (size_t)1 << c, c, rises && c == best);
        assert_true(trial > begin);
        if (!rises)
            break;
        chosen |= (size_t)1 << best;
    }
    assert_int_equal(s->trial_count, trial);
    assert_int_equal(mask_of(s->members, s->count), chosen);
}

/* The best of all sets; of equal ones the first in the order of the masks. */
static void play_exhaustive(const table *t, const tnp_search *s)
{
    size_t best = 1, sets = (size_t)1 << t->m;
    for (size_t mask = 2; mask < sets; ++mask)
        if (is_higher(t, mask, best))
            best = mask;
    assert_int_equal(mask_of(s->members, s->count), best);
    assert_int_equal(s->trial_count, sets - 1);
    for (size_t mask = 1; mask < sets; ++mask)
        expect_trial(s, mask - 1, mask, SIZE_MAX, mask == best);
}

static void play_best_and_all(tn_ctx *ctx, table *t)
{
    size_t order[MOST];
    order_of(t, order);
    tnp_search *s = search(ctx, t, TNP_SEARCH_BEST);
    assert_int_equal(s->count, 1);
    assert_int_equal(s->members[0], order[0]);
    assert_int_equal(s->trial_count, 1);
    check_record(t, s);
    tnp_search_free(s);
    s = search(ctx, t, TNP_SEARCH_ALL);
    assert_int_equal(s->count, t->m);
    assert_int_equal(s->trial_count, 1);
    check_record(t, s);
    tnp_search_free(s);
}

static void searches_follow_their_definitions(void **state)
{
    (void)state;
    static table t;
    tn_ctx *ctx = ctx_of(0);
    ref_rng rng = ref_rng_of(1);
    for (size_t round = 0; round < TABLES; ++round) {
        fill(&t, 1 + round % MOST, &rng, (spread)(round / MOST % SPREADS));
        t.rough = round % 2 != 0;
        t.rng = ref_rng_of(round);
        tnp_search *s = search(ctx, &t, TNP_SEARCH_GREEDY);
        check_record(&t, s);
        play_greedy(&t, s);
        tnp_search_free(s);
        s = search(ctx, &t, TNP_SEARCH_FORWARD);
        check_record(&t, s);
        play_forward(&t, s);
        tnp_search_free(s);
        s = search(ctx, &t, TNP_SEARCH_EXHAUSTIVE);
        check_record(&t, s);
        play_exhaustive(&t, s);
        tnp_search_free(s);
        play_best_and_all(ctx, &t);
    }
    ctx_done(ctx);
}

/* Rough values that tell sets apart are not asked for again: only the chosen one is. */
static void rough_values_are_enough(void **state)
{
    (void)state;
    static table t;
    tn_ctx *ctx = ctx_of(0);
    ref_rng rng = ref_rng_of(5);
    for (size_t round = 0; round < 100; ++round) {
        fill(&t, 5, &rng, FAR);
        t.rough = true;
        t.rng = ref_rng_of(round);
        tnp_search *s = search(ctx, &t, TNP_SEARCH_EXHAUSTIVE);
        assert_true(t.calls >= 31 - 5 && t.calls <= 31 - 5 + 3); /* gaps of 4e-7 of 100 are one in 1e4 */
        tnp_search_free(s);
    }
    ctx_done(ctx);
}

/* All sets equal but for rounding: the first candidate alone, whatever the search. */
static void ties_go_to_the_lower_index(void **state)
{
    (void)state;
    static table t;
    tn_ctx *ctx = ctx_of(0);
    t.m = 5;
    for (size_t mask = 1; mask < 32; ++mask)
        t.value[mask] = -7 * (1 - 1e-15 * (double)mask);
    for (int how = TNP_SEARCH_BEST; how <= TNP_SEARCH_EXHAUSTIVE; ++how) {
        tnp_search *s = search(ctx, &t, (tnp_search_kind)how);
        assert_int_equal(s->count, 1);
        assert_int_equal(s->members[0], 0);
        tnp_search_free(s);
    }
    tn_ctx_free(ctx);
}

static void exhaustive_search_has_a_limit(void **state)
{
    (void)state;
    static table t;
    tn_ctx *ctx = ctx_of(0);
    ref_rng rng = ref_rng_of(2);
    double singles[13] = {0};
    tnp_search *s = NULL;
    fill(&t, 12, &rng, FAR);
    s = search(ctx, &t, TNP_SEARCH_EXHAUSTIVE);
    assert_int_equal(s->trial_count, 4095);
    assert_int_equal(t.calls, 4095 - 12);
    play_exhaustive(&t, s);
    tnp_search_free(s);
    s = NULL;
    t.m = 13;
    assert_fails(ctx, TN_ERR_ARG, "13 candidates",
                 tnp_search_new(ctx, TNP_SEARCH_EXHAUSTIVE, 13, singles, look_up, &t, &s));
    assert_null(s);
    ctx_done(ctx);
}

/* Greedy with more candidates than an exhaustive search takes. */
static void other_searches_have_none(void **state)
{
    (void)state;
    static table t;
    tn_ctx *ctx = ctx_of(0);
    ref_rng rng = ref_rng_of(3);
    double singles[13];
    tnp_search *s = NULL;
    t.m = 13;
    for (size_t mask = 1; mask < (size_t)1 << 13; ++mask)
        t.value[mask] = ref_normal(&rng);
    for (size_t c = 0; c < 13; ++c)
        singles[c] = t.value[(size_t)1 << c];
    for (int how = TNP_SEARCH_GREEDY; how <= TNP_SEARCH_FORWARD; ++how) {
        assert_fine(ctx, tnp_search_new(ctx, (tnp_search_kind)how, 13, singles, look_up, &t, &s));
        check_record(&t, s);
        tnp_search_free(s);
    }
    tn_ctx_free(ctx);
}

static tn_status fail_at(tn_ctx *ctx, void *arg, const tnp_ask *ask, double *out, bool *exact)
{
    size_t *left = arg;
    *out = (double)ask->count;
    *exact = ask->exact;
    return --*left == 0 ? tnp_fail(ctx, TN_ERR_NUMERIC, "on purpose") : TN_OK;
}

/* A set that cannot be evaluated ends the search with its status; so does every allocation. */
static void failures_pass_through(void **state)
{
    (void)state;
    const double singles[4] = {1, 2, 3, 4};
    tn_ctx *ctx = ctx_of(0);
    for (int how = TNP_SEARCH_BEST; how <= TNP_SEARCH_ALL; ++how) {
        tnp_search *s = NULL;
        size_t never = SIZE_MAX, at = 1, k = 1;
        for (;; ++at) {
            size_t left = at;
            tn_status st = tnp_search_new(ctx, (tnp_search_kind)how, 4, singles, fail_at, &left, &s);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_NUMERIC);
            assert_null(s);
            assert_int_equal(tnp_live_blocks(ctx), 0);
        }
        assert_true(how == TNP_SEARCH_BEST || at > 1);
        tnp_search_free(s);
        s = NULL;
        for (;; ++k) {
            tnp_fail_allocation(ctx, k);
            tn_status st = tnp_search_new(ctx, (tnp_search_kind)how, 4, singles, fail_at, &never, &s);
            tnp_fail_allocation(ctx, 0);
            if (st == TN_OK)
                break;
            assert_int_equal(st, TN_ERR_MEMORY);
            assert_null(s);
            assert_int_equal(tnp_live_blocks(ctx), 0);
        }
        assert_true(k > 4);
        tnp_search_free(s);
    }
    tn_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_follow_their_definitions), cmocka_unit_test(rough_values_are_enough),
        cmocka_unit_test(ties_go_to_the_lower_index),        cmocka_unit_test(exhaustive_search_has_a_limit),
        cmocka_unit_test(other_searches_have_none),          cmocka_unit_test(failures_pass_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
