/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Searches that ask for sets beside others against the same searches that measure every set, on random families of
 * representations: informative ones, noise, repeated ones, nearly dependent, of very different sizes, with a constant
 * column. The picks are the same, and so is every figure: within TNP_ROUGH of itself where it is rough, else to rounding.
 * What is measured has its oracle in test_ensemble.c; what is rough is held against that oracle here too. */
#include "fixtures/problems.h"
#include "ref_evidence.h"
#include "select/ensemble.h"
#include "select/rough.h"

#include <math.h>
#include <stdlib.h>

enum { FEEDS = 5, K = 4, N = 260 };
/* Of F, a sum of N K logarithms of numbers that double moments hold to 1e-15 and the spread of columns, 1e-4, makes
 * 1e-11. */
#define ROUNDING 1e-9

typedef enum trouble { NONE, REPEATED, NEARLY, SMALL, TINY, FLAT, USELESS, LARGE, KNOWN_TINY, TROUBLES } trouble;

typedef struct family {
    size_t cols[FEEDS];
    double *x[FEEDS], *y;
    tn_labels *labels;
    tnp_targets targets;
    tn_features *features[FEEDS];
    tn_feed *feed[FEEDS];
} family;

/* What is wrong with the last representation. */
static void spoil(family *f, trouble what, ref_rng *rng)
{
    size_t last = FEEDS - 1, d = f->cols[last];
    for (size_t i = 0; i < N; ++i)
        for (size_t j = 0; j < d; ++j) {
            double *x = &f->x[last][i * d + j], other = f->x[0][i * f->cols[0] + j % f->cols[0]];
            *x = what == REPEATED  ? other
                 : what == NEARLY  ? other + 1e-4 * ref_normal(rng)
                 : what == SMALL   ? *x * 0.2
                 : what == TINY    ? *x * 1e-4
                 : what == LARGE   ? *x * 15
                 : what == USELESS ? ref_normal(rng)
                 : what == FLAT    ? (j == 0 ? 3 : *x)
                                   : *x;
        }
    for (size_t i = 0; what == KNOWN_TINY && i < N * f->cols[0]; ++i)
        f->x[0][i] *= 1e-3;
}

static family family_of(trouble what, uint64_t seed, stored as)
{
    family f = {.y = NULL};
    ref_rng rng = ref_rng_of(seed + 1000);
    for (size_t c = 0; c < FEEDS; ++c) {
        f.cols[c] = 4 + ref_below(&rng, 10);
        ref_problem p = ref_problem_of(REF_SIGNED, N, f.cols[c], K, seed); /* the same labels for all */
        double noise = 0.5 + 2 * ref_unit(&rng);
        for (size_t i = 0; i < N * f.cols[c]; ++i)
            p.x[i] += noise * ref_normal(&rng);
        f.x[c] = p.x;
        free(f.y);
        f.y = p.y;
    }
    spoil(&f, what, &rng);
    for (size_t c = 0; c < FEEDS; ++c) {
        char name[8];
        snprintf(name, sizeof name, "r%zu", c);
        f.features[c] = features_of(name, f.x[c], N, f.cols[c], as);
        f.feed[c] = feed_of(f.features[c], TN_NORM_NONE);
    }
    f.labels = labels_of(f.y, N, K, TN_TASK_MULTICLASS);
    f.targets = targets_of(f.labels);
    return f;
}

static void family_free(family *f)
{
    for (size_t c = 0; c < FEEDS; ++c) {
        tn_feed_free(f->feed[c]);
        tn_features_close(f->features[c]);
        free(f->x[c]);
    }
    labels_done(f->labels);
    free(f->y);
}

typedef struct asking {
    tnp_ensemble *ensemble;
    tnp_evidence_options options;
    size_t rough, measured;
} asking;

static const bool constant[K] = {false};

static tn_status ask_for(tn_ctx *ctx, void *arg, const tnp_ask *ask, double *out, bool *exact)
{
    asking *a = arg;
    tn_status st = tnp_ensemble_try(ctx, a->ensemble, ask, constant, &a->options, out, exact);
    a->rough += !*exact;
    a->measured += *exact;
    assert_true(*exact || !ask->exact);
    return st;
}

/* from: columns from which on sets may be asked for beside others. */
static tn_status search(const family *f, tnp_search_kind how, size_t from, asking *a, tnp_search **out)
{
    tn_status st = TN_OK;
    double singles[FEEDS];
    tnp_evidence_options_default(&a->options);
    TN_TRY(tnp_ensemble_new(test_ctx, (const tn_feed *const *)f->feed, FEEDS, &f->targets, true, true, &a->ensemble));
    tnp_ensemble_when_rough(a->ensemble, from, INFINITY);
    for (size_t c = 0; c < FEEDS; ++c) {
        tnp_ridge *ridge = NULL;
        tn_evidence *e = NULL;
        TN_TRY(tnp_ensemble_evidence(test_ctx, a->ensemble, &c, 1, constant, &a->options, &ridge, &e));
        singles[c] = e->log_evidence;
        tnp_ridge_free(ridge);
        tn_evidence_free(e);
    }
    TN_TRY(tnp_search_new(test_ctx, how, FEEDS, singles, ask_for, a, out));
done:
    tnp_ensemble_free(a->ensemble);
    a->ensemble = NULL;
    return st;
}

/* Sum over classes of the best evidence of the concatenated columns, in long double. */
static double oracle(const family *f, const tnp_trial *t)
{
    ref_problem p = {N, 0, K, NULL, f->y};
    ref_real sum = 0, at = 0;
    for (size_t m = 0; m < t->count; ++m) {
        double *grown = beside(p.x, p.d, f->x[t->members[m]], f->cols[t->members[m]], N);
        free(p.x);
        p.x = grown;
        p.d += f->cols[t->members[m]];
    }
    ref_eigen e = ref_eigen_of(&p, true);
    for (size_t c = 0; c < K; ++c) {
        ref_real best = ref_best(&e, c, 1e-12L * e.largest, 1e6L * e.largest, 121, &at), null = ref_f(&e, c, INFINITY);
        sum += best > null ? best : null;
    }
    ref_eigen_free(&e);
    free(p.x);
    return (double)sum;
}

static void compare(const family *f, const tnp_search *got, const tnp_search *want, bool literal)
{
    assert_int_equal(got->count, want->count);
    assert_memory_equal(got->members, want->members, want->count * sizeof *want->members);
    assert_near(got->log_evidence, want->log_evidence, ROUNDING);
    assert_int_equal(got->trial_count, want->trial_count);
    for (size_t t = 0; t < got->trial_count; ++t) {
        const tnp_trial *g = &got->trials[t], *w = &want->trials[t];
        assert_int_equal(g->count, w->count);
        assert_memory_equal(g->members, w->members, w->count * sizeof *w->members);
        assert_int_equal(g->accepted, w->accepted);
        assert_near_at(t, g->log_evidence, w->log_evidence, g->exact ? ROUNDING : TNP_ROUGH);
        if (literal && !g->exact)
            assert_near_at(t, g->log_evidence, oracle(f, g), TNP_ROUGH + ROUNDING);
    }
}

static void picks_and_figures_are_those_of_measuring(void **state)
{
    (void)state;
    /* Of 60 the polynomials need most points in 36, and F of a class in 48 has two maxima where a candidate is LARGE. */
    const uint64_t seeds[] = {0, 1, 2, 36, 48};
    asking beside_others = {.rough = 0}, never = {.rough = 0};
    for (int what = NONE; what < TROUBLES; ++what)
        for (size_t i = 0; i < sizeof seeds / sizeof *seeds; ++i) {
            family f = family_of((trouble)what, seeds[i], seeds[i] == 2 ? AS_F32 : AS_F64);
            for (int how = TNP_SEARCH_GREEDY; how <= TNP_SEARCH_EXHAUSTIVE; ++how) {
                tnp_search *got = NULL, *want = NULL;
                assert_fine(test_ctx, search(&f, (tnp_search_kind)how, 1, &beside_others, &got));
                assert_fine(test_ctx, search(&f, (tnp_search_kind)how, 100000, &never, &want));
                compare(&f, got, want, how == TNP_SEARCH_GREEDY && seeds[i] == 0);
                tnp_search_free(got);
                tnp_search_free(want);
            }
            family_free(&f);
        }
    assert_int_equal(never.rough, 0);
    assert_true(beside_others.rough > beside_others.measured);
}

/* A budget that has no room for a border: the same, by measuring. */
static void without_memory_sets_are_measured(void **state)
{
    (void)state;
    family f = family_of(NONE, 1, AS_F64);
    tnp_search *want = NULL, *got = NULL;
    asking a = {.rough = 0};
    size_t now = tn_ctx_memory_now(test_ctx), high = (size_t)1 << 30;
    assert_fine(test_ctx, search(&f, TNP_SEARCH_FORWARD, 1, &a, &want));
    assert_true(a.rough > 0);
    for (size_t low = now; low + 1024 < high;) { /* the least that is enough */
        size_t middle = low + (high - low) / 2;
        tn_ctx_set_memory(test_ctx, middle);
        tn_status st = search(&f, TNP_SEARCH_FORWARD, 1, &a, &got);
        assert_true(st == TN_OK || st == TN_ERR_BUDGET);
        tnp_search_free(st == TN_OK ? got : NULL);
        got = NULL;
        *(st == TN_OK ? &high : &low) = middle;
    }
    tn_ctx_set_memory(test_ctx, high);
    a = (asking){.rough = 0};
    assert_fine(test_ctx, search(&f, TNP_SEARCH_FORWARD, 1, &a, &got));
    tn_ctx_set_memory(test_ctx, 0);
    compare(&f, got, want, false);
    tnp_search_free(got);
    tnp_search_free(want);
    family_free(&f);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    family f = family_of(NONE, 1, AS_F32);
    size_t blocks = tnp_live_blocks(test_ctx);
    for (size_t k = 1;; k += 1 + k / 40) {
        tnp_search *s = NULL;
        asking a = {.rough = 0};
        tnp_fail_allocation(test_ctx, k);
        tn_status st = search(&f, TNP_SEARCH_GREEDY, 1, &a, &s);
        tnp_fail_allocation(test_ctx, 0);
        tnp_search_free(s);
        assert_int_equal(tnp_live_blocks(test_ctx), blocks);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    family_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_and_figures_are_those_of_measuring),
        cmocka_unit_test(without_memory_sets_are_measured),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
