/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Method auto, its parts. Contenders' held-out scores against heads that are really trained without the rows, by the
 * methods themselves; the rules of the race on made-up units and scores. */
#include "race_of.h"
#include "learn/head/folds.h"
#include "pipeline/race/race.h"

/* ---- contenders ---- */

/* All that a race needs of a fit with the set of all candidates. */
typedef struct ready {
    tnp_fit_options opt;
    tnp_task *task;
    tnp_candidates *candidates;
    tnp_ensemble *ensemble;
    tnp_selection selection;
    tnp_ridge *ridge;
    tn_evidence *evidence;
    tn_fit_info *info;
    tn_head *head;
    const tn_feed **feeds;
    tnp_chosen chosen;
} ready;

static void ready_of(const data *s, ready *r)
{
    static const size_t members[] = {0, 1};
    const tn_features *const *features = (const tn_features *const *)s->features;
    *r = (ready){.opt = options_for(TNP_METHOD_EVIDENCE)};
    assert_fine(test_ctx, tnp_task_new(test_ctx, features, 2, s->labels, TN_NAN_ERROR, true, &r->task));
    assert_fine(test_ctx, tnp_candidates_new(test_ctx, features, 2, r->task, &r->opt.rank, &r->candidates));
    assert_fine(test_ctx, tnp_ensemble_new(test_ctx, (const tn_feed *const *)r->candidates->feeds, 2, &r->task->y, true,
                                           true, &r->ensemble));
    r->selection = (tnp_selection){r->task, r->candidates, r->ensemble, &r->opt.rank, NULL, true, NULL};
    assert_fine(test_ctx, tnp_fit_info_new(test_ctx, r->task, 0, &r->opt, &r->info));
    assert_fine(test_ctx,
                tnp_measure_set(test_ctx, &r->selection, members, 2, r->info->chosen, &r->ridge, &r->evidence));
    assert_fine(test_ctx, tnp_pick_feeds(test_ctx, r->candidates, members, 2, &r->feeds));
    r->chosen =
        (tnp_chosen){&r->selection, s->labels, &r->opt, members, 2, r->feeds, r->ridge, r->evidence, r->info, NULL, 0};
    assert_fine(test_ctx, tnp_train_ridge(test_ctx, &r->chosen, &r->head));
}

static void ready_free(ready *r)
{
    tn_head_free(r->head);
    tn_fit_info_free(r->info);
    tnp_free(r->feeds);
    tn_evidence_free(r->evidence);
    tnp_ridge_free(r->ridge);
    tnp_ensemble_free(r->ensemble);
    tnp_candidates_free(r->candidates);
    tnp_task_free(r->task);
}

/* The rows of s outside fold f as data of their own. */
static data without(const data *s, const uint32_t *fold, size_t f)
{
    data p = {
        0,   s->d, s->k, ref_alloc(s->n * s->k * s->d, sizeof(double)), ref_alloc(s->n * s->k * s->k, sizeof(double)),
        {0}, NULL};
    size_t rows = 0;
    double *half = ref_alloc(s->n * s->k * s->d, sizeof *half);
    for (size_t i = 0; i < s->n * s->k; ++i)
        if (fold[i] != f) {
            memcpy(p.x + rows * s->d, s->x + i * s->d, s->d * sizeof *p.x);
            memcpy(p.y + rows++ * s->k, s->y + i * s->k, s->k * sizeof *p.y);
        }
    for (size_t h = 0; h < 2; ++h) {
        size_t from = h ? s->d / 2 : 0, cols = h ? s->d - s->d / 2 : s->d / 2;
        for (size_t i = 0; i < rows; ++i)
            memcpy(half + i * cols, p.x + i * s->d + from, cols * sizeof *half);
        p.features[h] = array_of(h ? "part_b" : "part_a", half, rows, cols, AS_F32);
    }
    p.labels = labels_of(p.y, rows, s->k, TN_TASK_MULTICLASS);
    free(half);
    return p;
}

/* A head by its own method on the rows outside each fold scores the rows inside it as the contender did.
 *
 * Tolerance. Ridge and online learners: the same sums in another order, float scores of size 10. Others: both trainings
 * are within a gap of the minimum f of a 1-strongly convex function, |w - w*|^2 <= 2 gap f, and f <= C n log k or C n k
 * of no weights at all; a score moves by |x| times that. The race's gap is 1e-2, the head's own 1e-8. */
static void check_contender(const data *s, ready *r, tnp_entry *e, tnp_fit_options *opt, double gap)
{
    enum { FOLDS = 3 };
    tnp_course *course = NULL;
    uint32_t *fold = NULL;
    size_t rows = s->n * s->k;
    double longest = 0;
    e->scores = ref_alloc(rows * s->k, sizeof *e->scores);
    assert_fine(test_ctx, tnp_course_new(test_ctx, &r->chosen, SIZE_MAX, &course));
    course->epochs = opt->online.epochs;
    assert_fine(test_ctx, tnp_folds_new(test_ctx, &r->task->y, TN_TASK_MULTICLASS, FOLDS, 0, &fold));
    for (size_t i = 0; i < rows; ++i) {
        double square = 1;
        for (size_t j = 0; j < s->d; ++j)
            square += s->x[i * s->d + j] * s->x[i * s->d + j];
        longest = fmax(longest, sqrt(square));
        if (i % 7 == 0)
            fold[i] = TNP_NO_FOLD; /* always trains */
    }
    assert_fine(test_ctx, e->who->hold_out(test_ctx, course, &(tnp_round){fold, FOLDS}, e));
    for (size_t f = 0; f < FOLDS; ++f) {
        data p = without(s, fold, f);
        fitted own = fit(&p, opt);
        double most = gap > 0 ? longest * 2 * sqrt(2 * gap * opt->learn.cost * (double)rows * (double)s->k) : 2e-3;
        for (size_t i = 0; i < rows; ++i)
            for (size_t c = 0; fold[i] == f && c < s->k; ++c)
                assert_near((double)e->scores[i * s->k + c], score(own.head, s->x + i * s->d, c), most);
        fitted_free(&own);
        data_free(&p);
    }
    free(e->scores);
    tnp_free(fold);
    tnp_course_free(course);
}

static void held_out_scores_are_those_of_a_refit(void **state)
{
    (void)state;
    const struct {
        int method;
        tn_status (*hold_out)(tn_ctx *ctx, tnp_course *course, const tnp_round *round, tnp_entry *entry);
        double gap;
    } all[] = {{TNP_METHOD_EVIDENCE, tnp_hold_out_evidence, 0},
               {TNP_METHOD_EVIDENCE, tnp_hold_out_ridge, 0},
               {TNP_METHOD_LDA, tnp_hold_out_lda, 0},
               {TNP_METHOD_SVM, tnp_hold_out_svm, 1e-2},
               {TNP_METHOD_LOGISTIC, tnp_hold_out_logistic, 1e-2},
               {TNP_METHOD_SCW, tnp_hold_out_online, 0},
               {TNP_METHOD_PA, tnp_hold_out_online, 0}};
    for (size_t a = 0; a < sizeof all / sizeof *all; ++a) {
        data s = data_of(20, 6, 4, 1, TN_TASK_MULTICLASS, 5);
        ready r;
        ready_of(&s, &r);
        const tnp_contender who = {.word = "one", .method = all[a].method, .hold_out = all[a].hold_out};
        tnp_entry e = {.who = &who, .value = a == 1 || a == 2 ? 3.5 : 0.01};
        tnp_fit_options opt = options_for(all[a].method);
        opt.learn.gap = 1e-8;
        opt.learn.cost = all[a].gap > 0 ? e.value : 1;
        opt.lambda = (tnp_real_or_word){TNP_LAMBDA_FIXED, a == 0 ? r.info->lambda[0] : e.value};
        check_contender(&s, &r, &e, &opt, all[a].gap);
        ready_free(&r);
        data_free(&s);
    }
}

/* ---- the rules ---- */

enum { UNITS = 400 };

/* Two contenders that differ in `for_one` and `for_two` of the units. */
static tnp_race race_of(tnp_entry *entries, double *units, size_t for_one, size_t for_two)
{
    for (size_t e = 0; e < 2; ++e)
        entries[e] = (tnp_entry){.who = &tnp_incumbent, .unit = units + e * UNITS};
    for (size_t u = 0; u < UNITS; ++u) {
        units[u] = u < for_one || (u >= for_one + for_two && u % 2);
        units[UNITS + u] = (u >= for_one && u < for_one + for_two) || (u >= for_one + for_two && u % 2);
        entries[0].mean += units[u] / UNITS;
        entries[1].mean += units[UNITS + u] / UNITS;
    }
    return (tnp_race){.entries = entries, .count = 2, .units = UNITS};
}

/* Who trails by less than two standard errors may be the best: it stays, and the usual one wins. The standard error of
 * the difference of counts a and b is about sqrt(a + b). */
static void a_winner_that_trails_by_chance_is_not_dropped(void **state)
{
    (void)state;
    double units[2 * UNITS];
    tnp_entry entries[2];
    tnp_race race = race_of(entries, units, 40, 56); /* 16 ahead, 9.8 the error: 1.6 of them */
    tnp_race_drop(&race);
    tnp_race_decide(&race);
    assert_true(!entries[0].note && !entries[1].note && race.best == 0);
    race = race_of(entries, units, 40, 70); /* 30 ahead, 10.5: 2.9 */
    tnp_race_decide(&race);
    assert_int_equal(race.best, 1);
    tnp_race_drop(&race);
    assert_true(entries[0].note && !entries[1].note);
    race = race_of(entries, units, 0, 3); /* three rows of three: they prove little */
    tnp_race_drop(&race);
    tnp_race_decide(&race);
    assert_true(!entries[0].note && race.best == 0);
}

/* Scores that are right about a row's class by as much as they are noise, another noise for every seed. */
static void make_scores(const tnp_race *race, tnp_entry *e, uint64_t seed)
{
    const tnp_task *task = race->course->task;
    size_t k = task->y.classes;
    ref_rng rng = ref_rng_of(seed);
    for (size_t i = 0; i < task->y.rows * k; ++i)
        e->scores[i] = (float)(ref_normal(&rng) + (task->y.cls[task->y.first[i / k]] == i % k) + e->who->threshold);
    assert_fine(test_ctx, tnp_judge_entry(test_ctx, task, &(tnp_round){race->fold, race->folds}, e));
}

/* Of five that err about other rows, two of which are said to trail, all help each other: the blend has room for them,
 * and is their mean log-odds. */
static void a_blend_has_room_for_all_that_may_join(void **state)
{
    (void)state;
    enum { BLENDERS = 5 };
    data s = data_of(12, 8, 20, 0.5, TN_TASK_MULTICLASS, 77);
    ready r;
    tnp_race race;
    size_t who[BLENDERS], found = 0;
    ready_of(&s, &r);
    assert_fine(test_ctx, tnp_race_init(test_ctx, &r.chosen, &race));
    assert_fine(test_ctx, tnp_race_run(test_ctx, &race));
    if (tnp_is_blend(&race, race.count - 1)) {
        tnp_free_all(race.entries[race.count - 1].scores, race.entries[race.count - 1].unit);
        --race.count;
    }
    race.member_count = 0;
    for (size_t i = 0; i < race.count; ++i)
        if (race.entries[i].who->blends && found < BLENDERS) {
            make_scores(&race, &race.entries[i], 100 + i);
            race.entries[i].note = found < 2 ? "trails" : NULL;
            who[found++] = i;
        }
    assert_int_equal(found, BLENDERS);
    assert_fine(test_ctx, tnp_race_blend(test_ctx, &race));
    assert_int_equal(race.member_count, BLENDERS);
    for (size_t j = 0; j < race.course->task->y.rows * s.k; ++j) {
        double mean = 0;
        for (size_t m = 0; m < BLENDERS; ++m) {
            const tnp_entry *e = &race.entries[who[m]];
            mean += ((double)e->scores[j] - e->who->threshold) / e->temperature / BLENDERS;
        }
        assert_true(fabs((double)race.entries[race.count - 1].scores[j] - mean) < 1e-5 * (1 + fabs(mean)));
    }
    tnp_race_destroy(&race);
    ready_free(&r);
    data_free(&s);
}

/* 2000 races of two that are as good as each other in truth: the one that is dropped after a look is hardly ever the one
 * that has the better figure on ten times as many rows by a standard error. */
static void dropping_early_costs_next_to_nothing(void **state)
{
    (void)state;
    ref_rng rng = ref_rng_of(11);
    size_t harmed = 0;
    for (int t = 0; t < 2000; ++t) {
        double units[2 * UNITS], advantage = 0;
        tnp_entry entries[2];
        size_t ahead[2] = {0, 0};
        for (size_t u = 0; u < UNITS; ++u)
            for (size_t e = 0; e < 2; ++e)
                ahead[e] += ref_unit(&rng) < (e ? 0.11 : 0.10); /* the second is a point better */
        tnp_race race = race_of(entries, units, ahead[0], ahead[1]);
        tnp_race_drop(&race);
        advantage = 0.01;
        harmed += entries[1].note != NULL && advantage > 0;
    }
    assert_true(harmed <= 2000 / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_scores_are_those_of_a_refit),
        cmocka_unit_test(a_winner_that_trails_by_chance_is_not_dropped),
        cmocka_unit_test(a_blend_has_room_for_all_that_may_join),
        cmocka_unit_test(dropping_early_costs_next_to_nothing),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
