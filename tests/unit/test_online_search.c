/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trials, validation, early stopping and groups. What a measurement answers stands in a table by trial and pass, and is
 * looked up by what the weights themselves tell (online_of.h); the search is played again by its definition. */
#include "online_of.h"

#include "algebra/blas.h"

enum { ROWS = 20, CLASSES = 2, MOST_TRIALS = 5, MOST_PASSES = 9, BLOCK = 6 };

/* Costs UNIT (1 + 64 i): p passes of trial i give p (1 + 64 i) units, which is p modulo 64. */
static const double UNIT = 1.0 / 65536;

typedef struct script {
    double value[MOST_TRIALS][MOST_PASSES + 1]; /* by trial and passes done */
    bool asked[MOST_TRIALS][MOST_PASSES + 1];
    size_t calls, fail_at;
} script;

static void decode(const float *w, size_t *trial, size_t *pass)
{
    size_t units = (size_t)((double)w[0] / UNIT);
    assert_true((double)w[0] == (double)units * UNIT);
    *pass = units % 64;
    assert_true(*pass > 0 && (units / *pass) % 64 == 1);
    *trial = units / *pass / 64;
}

static tn_status look_up(tn_ctx *ctx, void *arg, const float *w, double *value)
{
    script *s = arg;
    size_t trial, pass;
    decode(w, &trial, &pass);
    assert_true(trial < MOST_TRIALS && pass <= MOST_PASSES && !s->asked[trial][pass]);
    s->asked[trial][pass] = true;
    if (++s->calls == s->fail_at)
        return tnp_fail(ctx, TN_ERR_DATA, "the measurement failed");
    *value = s->value[trial][pass];
    return TN_OK;
}

typedef struct setting {
    tally t;
    double cost[MOST_TRIALS], eta[MOST_TRIALS];
    tnp_online_options options;
    tnp_passes *passes;
    tnp_online_plan plan;
    script script;
} setting;

static setting *setting_of(size_t trials, size_t epochs, size_t patience)
{
    setting *s = ref_alloc(1, sizeof *s);
    s->t = tally_of(ROWS, CLASSES, false, AS_F32);
    s->options = online_options_of(TNP_ONLINE_U_OVR);
    for (size_t i = 0; i < trials; ++i) {
        s->cost[i] = UNIT * (double)(1 + 64 * i);
        s->eta[i] = 0.9;
    }
    tnp_online_data data = tally_data(&s->t);
    assert_fine(test_ctx, tnp_passes_new(test_ctx, &data, &s->options, 1, BLOCK, &s->passes));
    s->plan = (tnp_online_plan){.rule = TNP_SGD,
                                .shape = {TNP_OVR, false, true, CLASSES, ROWS, BLOCK},
                                .cost = s->cost,
                                .eta = s->eta,
                                .trials = trials,
                                .epochs = epochs,
                                .patience = patience,
                                .measure = look_up,
                                .arg = &s->script};
    return s;
}

static void setting_free(setting *s)
{
    tnp_passes_free(s->passes);
    tally_free(&s->t);
    free(s);
}

static tnp_online_search *search_of(setting *s, size_t group)
{
    tnp_online_search *search = NULL;
    memset(s->script.asked, 0, sizeof s->script.asked);
    s->script.calls = 0;
    assert_fine(test_ctx, tnp_online_search_new(test_ctx, &s->plan, &search));
    assert_int_equal(search->group, s->plan.trials);
    if (group < s->plan.trials)
        assert_fine(test_ctx, tnp_online_search_group(test_ctx, &s->plan, group, search));
    assert_fine(test_ctx, tnp_online_search_run(test_ctx, &s->plan, s->passes, search));
    return search;
}

/* The definition: a trial ends when `patience` passes brought nothing better; the best is the highest value, of equals
 * the first trial, at its first such pass. */
static void check_by_definition(const setting *s, const tnp_online_search *got)
{
    size_t best_trial = 0, best_pass = 0, trial, pass;
    double best = -INFINITY;
    for (size_t i = 0; i < s->plan.trials; ++i) {
        double own = -INFINITY;
        size_t at = 0, done = 0;
        while (done < s->plan.epochs && (s->plan.patience == 0 || done - at < s->plan.patience)) {
            double value = s->script.value[i][++done];
            const tnp_account *a = &got->accounts[i * s->plan.epochs + done - 1];
            assert_true(s->script.asked[i][done] && a->value == value);
            assert_true(a->updates == ROWS * CLASSES && a->seconds > 0);
            if (value > own) {
                own = value;
                at = done;
            }
        }
        for (size_t p = done + 1; p <= s->plan.epochs; ++p) {
            const tnp_account *a = &got->accounts[i * s->plan.epochs + p - 1];
            assert_false(s->script.asked[i][p]);
            assert_true(a->seconds == 0 && a->updates == 0 && a->mistakes == 0);
        }
        assert_true(got->trials[i].value == own && got->trials[i].best_pass == at);
        if (own > best) {
            best = own;
            best_trial = i;
            best_pass = at;
        }
    }
    assert_int_equal(got->best_trial, best_trial);
    decode(got->best, &trial, &pass);
    assert_int_equal(trial, best_trial);
    assert_int_equal(pass, best_pass);
}

/* Tables of few values, so that ties are common; groups of every size. */
static void searches_by_their_definition(void **state)
{
    (void)state;
    ref_rng rng = ref_rng_of(31);
    for (size_t round = 0; round < 60; ++round) {
        size_t trials = 1 + ref_below(&rng, MOST_TRIALS), epochs = 1 + ref_below(&rng, MOST_PASSES);
        setting *s = setting_of(trials, epochs, ref_below(&rng, 4));
        for (size_t i = 0; i < MOST_TRIALS; ++i)
            for (size_t p = 0; p <= MOST_PASSES; ++p)
                s->script.value[i][p] = (double)ref_below(&rng, 5) / 4;
        for (size_t group = 1; group <= trials; ++group) {
            tnp_online_search *search = search_of(s, group);
            check_by_definition(s, search);
            tnp_online_search_free(search);
        }
        setting_free(s);
    }
}

/* Trial 1 is at 0.9 after its first pass, trial 0 only after its second: side by side trial 1 came there earlier. */
static void equal_trials_best_did_depend_on_the_group(void **state)
{
    (void)state;
    setting *s = setting_of(2, 2, 0);
    const double values[2][3] = {{0, 0.8, 0.9}, {0, 0.9, 0.1}};
    for (size_t i = 0; i < 2; ++i)
        memcpy(s->script.value[i], values[i], sizeof values[i]);
    for (size_t group = 1; group <= 2; ++group) {
        size_t trial, pass;
        tnp_online_search *search = search_of(s, group);
        assert_int_equal(search->best_trial, 0);
        decode(search->best, &trial, &pass);
        assert_true(trial == 0 && pass == 2);
        tnp_online_search_free(search);
    }
    setting_free(s);
}

/* A budget that has room for few learners makes groups; the result stays. */
static void little_memory_makes_groups(void **state)
{
    (void)state;
    setting *s = setting_of(MOST_TRIALS, 4, 2);
    ref_rng rng = ref_rng_of(5);
    for (size_t i = 0; i < MOST_TRIALS; ++i)
        for (size_t p = 0; p <= MOST_PASSES; ++p)
            s->script.value[i][p] = ref_unit(&rng);
    tnp_rule rule = tnp_rule_new(TNP_SGD, 1, 0.9);
    size_t each = tnp_online_bytes(&rule, &s->plan.shape);
    tn_ctx *small = ctx_of(0);
    tnp_online_search *search = NULL;
    tnp_passes *passes = NULL;
    tnp_online_data data = tally_data(&s->t);
    assert_fine(small, tnp_passes_new(small, &data, &s->options, 1, BLOCK, &passes));
    tn_ctx_set_memory(small, 1u << 20);
    tn_ctx_set_memory(small, (1u << 20) - tnp_budget_left(small) + 5 * each);
    assert_fine(small, tnp_online_search_new(small, &s->plan, &search));
    assert_in_range(search->group, 1, 2);
    assert_fine(small, tnp_online_search_run(small, &s->plan, passes, search));
    check_by_definition(s, search);
    tnp_online_search_free(search);
    tnp_passes_free(passes);
    tn_ctx_free(small);
    setting_free(s);
}

/* Without validation: one trial, all passes, its last weights. */
static void without_validation_the_last_weights(void **state)
{
    (void)state;
    setting *s = setting_of(1, 5, 2);
    size_t trial, pass;
    s->plan.measure = NULL;
    tnp_online_search *search = search_of(s, 1);
    decode(search->best, &trial, &pass);
    assert_true(pass == 5 && search->best_trial == 0 && search->trials[0].best_pass == 5);
    assert_true(isnan(search->trials[0].value) != 0);
    for (size_t p = 0; p < 5; ++p)
        assert_true(isnan(search->accounts[p].value) != 0 && search->accounts[p].updates == ROWS * CLASSES);
    tnp_online_search_free(search);
    setting_free(s);
}

/* Weights to begin with: what the passes move is added to them. */
static void warm_start(void **state)
{
    (void)state;
    setting *s = setting_of(3, 2, 0);
    size_t width = tnp_row_stride(ROWS + 1);
    float *start = ref_alloc(CLASSES * width, sizeof *start);
    for (size_t c = 0; c < CLASSES; ++c)
        for (size_t j = 0; j <= ROWS; ++j)
            start[c * width + j] = (float)(j % 5) / 32;
    tnp_online_search *cold = NULL, *warm = NULL;
    s->plan.measure = NULL;
    for (size_t i = 0; i < 3; ++i) {
        s->plan.trials = 1;
        s->plan.cost = s->cost + i;
        cold = search_of(s, 1);
        s->plan.start = start;
        warm = search_of(s, 1);
        s->plan.start = NULL;
        for (size_t j = 0; j < CLASSES * width; ++j)
            assert_true(warm->best[j] == start[j] + cold->best[j]);
        tnp_online_search_free(cold);
        tnp_online_search_free(warm);
    }
    free(start);
    setting_free(s);
}

/* The measurement's failure is the search's, with its sentence. */
static void a_measurement_that_fails(void **state)
{
    (void)state;
    setting *s = setting_of(3, 4, 0);
    for (s->script.fail_at = 1; s->script.fail_at <= 12; s->script.fail_at += 4) {
        tnp_online_search *search = NULL;
        memset(s->script.asked, 0, sizeof s->script.asked);
        s->script.calls = 0;
        assert_fine(test_ctx, tnp_online_search_new(test_ctx, &s->plan, &search));
        assert_fails(test_ctx, TN_ERR_DATA, "the measurement failed",
                     tnp_online_search_run(test_ctx, &s->plan, s->passes, search));
        tnp_online_search_free(search);
    }
    setting_free(s);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    setting *s = setting_of(3, 2, 0);
    size_t before = tnp_live_blocks(test_ctx), k = 1;
    for (;; ++k) {
        tnp_online_search *search = NULL;
        memset(s->script.asked, 0, sizeof s->script.asked);
        tnp_fail_allocation(test_ctx, k);
        tn_status st = tnp_online_search_new(test_ctx, &s->plan, &search);
        assert_true(st == TN_OK || !search);
        if (st == TN_OK)
            st = tnp_online_search_group(test_ctx, &s->plan, 2, search);
        if (st == TN_OK)
            st = tnp_online_search_run(test_ctx, &s->plan, s->passes, search);
        tnp_fail_allocation(test_ctx, 0);
        tnp_online_search_free(search);
        assert_int_equal(tnp_live_blocks(test_ctx), before);
        if (st == TN_OK)
            break;
        assert_int_equal(st, TN_ERR_MEMORY);
    }
    assert_true(k > 20);
    setting_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_by_their_definition),
        cmocka_unit_test(equal_trials_best_did_depend_on_the_group),
        cmocka_unit_test(little_memory_makes_groups),
        cmocka_unit_test(without_validation_the_last_weights),
        cmocka_unit_test(warm_start),
        cmocka_unit_test(a_measurement_that_fails),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
