/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Method auto. Contenders' held-out scores against heads that are really trained without the rows, by the methods
 * themselves; the rules of the race on made-up units; what whole runs promise: the same head every time, none that is worse
 * than the evidence's by more than a standard error, a budget and an interrupt that are obeyed, refusals. */
#include "ridge_of.h"
#include "interrupt.h"
#include "learn/head/folds.h"
#include "learn/head/head.h"
#include "options_of.h"
#include "pipeline/race/race.h"
#include "tenon/report.h"
#include "tenon/store.h"

/* Rows of k classes round centres `apart` from each other in units of the noise; n * k rows, then as many to test with. */
typedef struct data {
    size_t n, d, k;
    double *x, *y; /* (2 n k, d), (2 n k, k) */
    tn_features *features[2];
    tn_labels *labels;
} data;

static data data_of(size_t n, size_t d, size_t k, double apart, tn_task task, uint64_t seed)
{
    size_t rows = n * k;
    data s = {n, d, k, ref_alloc(2 * rows * d, sizeof(double)), ref_alloc(2 * rows * k, sizeof(double)), {0}, NULL};
    ref_rng rng = ref_rng_of(seed);
    double *centre = ref_alloc(k * d, sizeof *centre), *half = ref_alloc(rows * d, sizeof *half);
    for (size_t j = 0; j < k * d; ++j)
        centre[j] = apart * ref_normal(&rng);
    for (size_t i = 0; i < 2 * rows; ++i) {
        for (size_t j = 0; j < d; ++j)
            s.x[i * d + j] = (double)(float)(centre[i % k * d + j] + ref_normal(&rng));
        for (size_t c = 0; c < k; ++c)
            s.y[i * k + c] = task == TN_TASK_REGRESSION   ? s.x[i * d + c] + 0.1 * ref_normal(&rng)
                             : task == TN_TASK_MULTILABEL ? s.x[i * d + c] + ref_normal(&rng) > 0.7
                                                          : i % k == c;
    }
    for (size_t f = 0; f < 2; ++f) {
        size_t from = f ? d / 2 : 0, cols = f ? d - d / 2 : d / 2;
        for (size_t i = 0; i < rows; ++i)
            memcpy(half + i * cols, s.x + i * d + from, cols * sizeof *half);
        s.features[f] = array_of(f ? "b" : "a", half, rows, cols, AS_F32);
    }
    s.labels = labels_of(s.y, rows, k, task);
    free(centre);
    free(half);
    return s;
}

static void data_free(data *s)
{
    for (size_t f = 0; f < 2; ++f)
        tn_features_close(s->features[f]);
    labels_done(s->labels);
    free(s->x);
    free(s->y);
}

static tnp_fit_options options_for(int method)
{
    tnp_fit_options opt;
    tnp_fit_options_default(&opt);
    opt.method = method;
    opt.select = TNP_SEARCH_ALL;
    opt.rank.normalize = "none";
    return opt;
}

typedef struct fitted {
    tn_fit_info *info;
    tn_head *head;
} fitted;

static tn_status try_fit(const data *s, const tnp_fit_options *opt, fitted *f)
{
    *f = (fitted){NULL, NULL};
    return tnp_fit(test_ctx, (const tn_features *const *)s->features, 2, s->labels, opt, &f->info, &f->head);
}

static fitted fit(const data *s, const tnp_fit_options *opt)
{
    fitted f;
    assert_fine(test_ctx, try_fit(s, opt, &f));
    return f;
}

static void fitted_free(fitted *f)
{
    tn_fit_info_free(f->info);
    tn_head_free(f->head);
}

static double score(const tn_head *head, const double *x, size_t k)
{
    double sum = (double)tn_head_bias(head)[k];
    for (size_t j = 0; j < tn_head_dim(head); ++j)
        sum += (double)tn_head_weight(head)[k * tn_head_dim(head) + j] * x[j];
    return sum;
}

/* Share of rows [from, from + n k) whose largest score is that of their class. */
static double accuracy(const data *s, const tn_head *head, size_t from)
{
    double right = 0;
    for (size_t i = from; i < from + s->n * s->k; ++i) {
        size_t best = 0;
        for (size_t c = 1; c < s->k; ++c)
            best = score(head, s->x + i * s->d, c) > score(head, s->x + i * s->d, best) ? c : best;
        right += best == i % s->k;
    }
    return right / (double)(s->n * s->k);
}

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

/* Who trails by less than two standard errors may be the best: it stays, and the usual one wins. The standard error of the
 * difference of counts a and b is about sqrt(a + b). */
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

/* Of five that err about other rows, two of which are said to trail, all help each other: the blend has room for them, and
 * is their mean log-odds. */
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

/* ---- whole runs ---- */

/* To the byte with the same number of threads; BLAS rounds in another way with another (docs/threads.md), a float in
 * 2^-24 and the head of a ridge problem of condition 1e3 in 1e-4. */
static void the_same_seed_gives_the_same_head(void **state)
{
    (void)state;
    data s = data_of(15, 10, 6, 0.8, TN_TASK_MULTICLASS, 7);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    void *written[3];
    size_t size[3];
    float first[6 * 10];
    const size_t threads[] = {1, 1, 3};
    for (size_t t = 0; t < 3; ++t) {
        tn_ctx_set_threads(test_ctx, threads[t]);
        fitted f = fit(&s, &opt);
        assert_true(f.info->tried_count >= 5);
        assert_fine(test_ctx, tn_head_to_bytes(test_ctx, f.head, "test", &written[t], &size[t]));
        if (t == 0)
            memcpy(first, tn_head_weight(f.head), sizeof first);
        for (size_t i = 0; i < 60; ++i)
            assert_near((double)tn_head_weight(f.head)[i], (double)first[i], 1e-4);
        fitted_free(&f);
    }
    tn_ctx_set_threads(test_ctx, 0);
    assert_true(size[1] == size[0] && memcmp(written[1], written[0], size[0]) == 0);
    for (size_t t = 0; t < 3; ++t)
        tn_bytes_free(written[t]);
    data_free(&s);
}

/* 1, 2, 5 and 25 rows per class, near and far classes: on as many rows again. Of a quarter of the draws one row more or
 * less may decide. */
static void auto_is_not_below_the_evidence_by_more_than_a_standard_error(void **state)
{
    (void)state;
    enum { DRAWS = 24 };
    const size_t rows[] = {1, 2, 5, 25};
    for (size_t r = 0; r < 4; ++r)
        for (int far = 0; far < 2; ++far) {
            double sum = 0, n = 0;
            for (uint64_t seed = 1; seed <= DRAWS; ++seed) {
                data s = data_of(rows[r], 12, 8, far ? 1 : 0.5, TN_TASK_MULTICLASS, seed);
                tnp_fit_options opt = options_for(TNP_METHOD_AUTO), plain = options_for(TNP_METHOD_EVIDENCE);
                fitted a = fit(&s, &opt), b = fit(&s, &plain);
                sum += accuracy(&s, a.head, s.n * s.k) - accuracy(&s, b.head, s.n * s.k);
                n += (double)(s.n * s.k);
                fitted_free(&a);
                fitted_free(&b);
                data_free(&s);
            }
            assert_true(sum / DRAWS >= -0.5 / sqrt(n)); /* of a share: sqrt(p (1 - p) / n) at most */
        }
}

/* Nobody can be judged: the head goes by directions, and says so. */
static void one_row_per_class_leaves_no_race(void **state)
{
    (void)state;
    data s = data_of(1, 12, 8, 1, TN_TASK_MULTICLASS, 2);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    fitted f = fit(&s, &opt);
    char *text = NULL;
    assert_int_equal(f.info->tried_count, 0);
    assert_string_equal(f.info->method, "auto");
    assert_non_null(
        strstr(f.info->tried_note, "no row can be held out to judge by: the head goes by the directions of"));
    assert_fine(test_ctx, tn_fit_json(test_ctx, f.info, NULL, &text));
    assert_non_null(strstr(text, "\"tried\":[]"));
    tn_text_free(text);
    fitted_free(&f);
    data_free(&s);
}

static const tn_tried *chosen_of(const tn_fit_info *info)
{
    const tn_tried *found = NULL;
    for (size_t i = 0; i < info->tried_count; ++i)
        if (info->tried[i]->chosen) {
            assert_null(found);
            found = info->tried[i];
        }
    assert_non_null(found);
    return found;
}

/* Tasks other than many classes, and weights. */
static void every_task_has_its_race(void **state)
{
    (void)state;
    const tn_task tasks[] = {TN_TASK_MULTILABEL, TN_TASK_REGRESSION};
    for (size_t t = 0; t < 2; ++t) {
        data s = data_of(20, 8, 4, 0.7, tasks[t], 3);
        tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
        fitted f = fit(&s, &opt);
        assert_string_equal(f.info->tried_metric, t ? "r2" : "mean_ap");
        assert_true(chosen_of(f.info)->mean > 0.5);
        for (size_t i = 0; i < f.info->tried_count; ++i)
            assert_true(!t || strcmp(f.info->tried[i]->method, "evidence") == 0 ||
                        strcmp(f.info->tried[i]->method, "ridge-cv") == 0);
        assert_true((tn_head_thresholds(f.head) != NULL) == (tasks[t] == TN_TASK_MULTILABEL));
        fitted_free(&f);
        data_free(&s);
    }
    data s = data_of(20, 8, 4, 0.7, TN_TASK_MULTICLASS, 3);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    opt.learn.class_weight = TNP_WEIGHT_BALANCED;
    fitted f = fit(&s, &opt);
    assert_true(chosen_of(f.info)->mean > 0.5);
    fitted_free(&f);
    data_free(&s);
}

/* Of 12,000 rows some 6000 race, a fifth of them judge, and the head has seen all. */
static void many_rows_race_on_a_sample(void **state)
{
    (void)state;
    data s = data_of(4000, 6, 3, 0.7, TN_TASK_MULTICLASS, 4);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    fitted f = fit(&s, &opt);
    const tn_tried *chosen = chosen_of(f.info);
    assert_true(chosen->rows >= 1000 && chosen->rows <= 2001);
    assert_near(accuracy(&s, f.head, s.n * s.k), chosen->mean, 4 * chosen->se);
    fitted_free(&f);
    data_free(&s);
}

/* Of two representations one is noise: the evidence takes the other, and the race is run with all and with it alone. */
static void other_sets_race_where_the_winner_is_no_ridge(void **state)
{
    (void)state;
    data s = data_of(30, 16, 8, 0.6, TN_TASK_MULTICLASS, 9);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    opt.select = TNP_SEARCH_GREEDY;
    fitted f = fit(&s, &opt);
    const tn_tried *chosen = chosen_of(f.info);
    char joined[64] = "";
    for (size_t i = 0; i < f.info->selected_count; ++i)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? " + " : "", f.info->selected[i]);
    assert_string_equal(joined, chosen->set);
    assert_int_equal(tn_head_rep_count(f.head), f.info->selected_count);
    if (strstr(chosen->method, "evidence") != chosen->method || strstr(chosen->method, "+"))
        assert_true(strcmp(f.info->tried[0]->set, f.info->tried[f.info->tried_count - 1]->set) != 0);
    fitted_free(&f);
    data_free(&s);
}

/* ---- budget, interrupt, refusals ---- */

static void a_budget_that_is_used_up_leaves_the_head_of_the_evidence(void **state)
{
    (void)state;
    data s = data_of(20, 8, 4, 0.7, TN_TASK_MULTICLASS, 3);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO), plain = options_for(TNP_METHOD_EVIDENCE);
    opt.budget = 1e-9;
    fitted a = fit(&s, &opt), b = fit(&s, &plain);
    assert_string_equal(a.info->tried_note, "the budget was used up");
    assert_false(a.info->interrupted);
    assert_memory_equal(tn_head_weight(a.head), tn_head_weight(b.head), s.d * s.k * sizeof(float));
    fitted_free(&a);
    fitted_free(&b);
    data_free(&s);
}

/* Cancels at a stage of this name, or, with `race`, of the race. */
typedef struct stop {
    const char *at;
    bool race, done;
} stop;

static void stop_at(void *user, const char *stage, double share)
{
    stop *s = user;
    bool race = strncmp(stage, "race: ", 6) == 0;
    (void)share;
    if (!s->done && race == s->race && strstr(stage, s->at)) {
        s->done = true;
        tn_ctx_cancel(test_ctx);
    }
}

/* With a budget the best so far is the head, of the race or, while the winner is trained, that of the evidence; without
 * one there is none. */
static void an_interrupt_keeps_the_best_so_far_with_a_budget_and_nothing_without(void **state)
{
    (void)state;
    data s = data_of(20, 8, 4, 0.7, TN_TASK_MULTICLASS, 3);
    for (int i = 0; i < 4; ++i) {
        bool budget = i % 2, race = i < 2;
        tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
        stop when = {race ? "svm" : "logistic", race, false};
        fitted f;
        opt.budget = budget ? 1e6 : 0;
        tn_ctx_set_progress(test_ctx, stop_at, &when);
        tn_status st = try_fit(&s, &opt, &f);
        tn_ctx_set_progress(test_ctx, NULL, NULL);
        tn_ctx_reset(test_ctx);
        assert_true(when.done);
        assert_int_equal(st, budget ? TN_OK : TN_ERR_INTERRUPTED);
        assert_true((f.head != NULL) == budget);
        if (budget) {
            assert_true(f.info->interrupted && f.info->tried_count > 0);
            (void)chosen_of(f.info);
            if (!race)
                assert_string_equal(f.info->method, "evidence");
            fitted_free(&f);
        }
    }
    data_free(&s);
}

/* Rows of one positive column are all the same once they have length 1: there is no eigenvalue to put a grid about. */
static void columns_that_never_change_have_a_race(void **state)
{
    (void)state;
    data s = data_of(5, 2, 2, 1, TN_TASK_MULTICLASS, 4);
    tnp_fit_options opt = options_for(TNP_METHOD_AUTO);
    opt.rank.normalize = "l2";
    for (size_t i = 0; i < 2 * s.n * s.k * s.d; ++i)
        s.x[i] = fabs(s.x[i]) + 1;
    for (size_t f = 0; f < 2; ++f) {
        tn_features_close(s.features[f]);
        s.features[f] = array_of(f ? "b" : "a", s.x, s.n * s.k, 1, AS_F32);
    }
    fitted got = fit(&s, &opt);
    for (size_t c = 0; c < s.k; ++c)
        assert_true(isfinite(tn_head_bias(got.head)[c]));
    fitted_free(&got);
    data_free(&s);
}

static void options_of_one_family_are_refused_with_the_methods_that_have_them(void **state)
{
    (void)state;
    const char *const given[][3] = {
        {"lambda", "0.1", "evidence"}, {"C", "2", "svm"}, {"eta", "0.7", "perceptron to scw2"}};
    data s = data_of(5, 8, 3, 1, TN_TASK_MULTICLASS, 3);
    for (size_t i = 0; i < sizeof given / sizeof *given; ++i) {
        tn_options *o = NULL;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        assert_fine(test_ctx, tn_options_new(test_ctx, "fit", &o));
        assert_fine(test_ctx, tn_options_set(test_ctx, o, given[i][0], given[i][1]));
        assert_fails(test_ctx, TN_ERR_ARG, given[i][2],
                     tn_fit(test_ctx, (const tn_features *const *)s.features, 2, s.labels, o, &info, &head));
        tn_options_free(o);
    }
    data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_scores_are_those_of_a_refit),
        cmocka_unit_test(a_winner_that_trails_by_chance_is_not_dropped),
        cmocka_unit_test(a_blend_has_room_for_all_that_may_join),
        cmocka_unit_test(dropping_early_costs_next_to_nothing),
        cmocka_unit_test(the_same_seed_gives_the_same_head),
        cmocka_unit_test(auto_is_not_below_the_evidence_by_more_than_a_standard_error),
        cmocka_unit_test(one_row_per_class_leaves_no_race),
        cmocka_unit_test(every_task_has_its_race),
        cmocka_unit_test(many_rows_race_on_a_sample),
        cmocka_unit_test(other_sets_race_where_the_winner_is_no_ridge),
        cmocka_unit_test(a_budget_that_is_used_up_leaves_the_head_of_the_evidence),
        cmocka_unit_test(an_interrupt_keeps_the_best_so_far_with_a_budget_and_nothing_without),
        cmocka_unit_test(columns_that_never_change_have_a_race),
        cmocka_unit_test(options_of_one_family_are_refused_with_the_methods_that_have_them),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
