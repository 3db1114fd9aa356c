/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Method auto: which head suits these features?
 *
 * The contenders stand in one table, in the order of the race. All are judged by the same rows, which none of them was
 * trained with: one row of every class at a time where classes have few, else folds. From LOOK_ROWS rows on the first
 * fold is looked at by itself; who trails there by more than BEHIND standard errors of the difference goes no further,
 * and the other folds, where they are needed at all, are for those that are left, at the C or lambda that the first spoke
 * for. Of very many rows a sample is raced, and only by methods whose head on all rows is worth its time.
 *
 * Who wins? Differences between the better heads are a point or two, and as large as what chance makes of some hundred
 * rows: whoever takes the largest figure takes the luckiest (docs/results/heads.md: 0.7 points below the head of the
 * evidence with 2 rows per class). So heads that rows cannot tell apart are not chosen between: those of the members of
 * the blend (one of the ridge problem, logistic, svm) that do not trail are put together,
 *
 *   s = mean_m (s_m - threshold_m) / T_m,      T_m the temperature of the held-out scores s_m
 *
 * with those that do trail but lower the log loss of the mean. That is a linear head again, and it is the head unless one
 * alone is better by more than BEHIND standard errors. The quality is accuracy: log loss, which was the other choice,
 * finds as good a head where there are many rows, and a worse one where there are few.
 *
 * One row per class judges nobody. The evidence has the nearest class mean then; the head is one of the directions of the
 * class means (learn/ridge/class_directions.c), 2.4 points above it and 0.3 above svm at its best C. */
#include "pipeline/race/race.h"
#include "base/text.h"
#include "learn/head/folds.h"
#include "transform/feed.h"

#include <math.h>

static const double BEHIND = 2; /* standard errors */
/* From LOOK_ROWS rows on 500 judge in one fold; where ENOUGH do, a second look would decide what the blend need not. */
enum { LOOK_ROWS = 2500, ENOUGH = 1000 };
/* Rows that are raced at most, and of each class. */
enum { MOST_ROWS = 10000, MOST_OF_CLASS = 20 };
static const double FREE_WORK = 2e12; /* flops, some ten seconds: a head that takes no more is always worth it */
/* What the passes of an online learner may take, by the time of the evidence, or of ONLINE_WORK flops where that is less:
 * of three times in all, a third is left to the race. */
static const double ONLINE_SHARE = 1.6, ONLINE_WORK = 1e12;

/* ---- the contenders ---- */

static double ridge_work(const tnp_course *course, size_t rows)
{
    double n = (double)rows, d = (double)course->dim, least = fmin(n, d);
    return n * d * least + 4 * least * least * least / 3;
}

/* Passes over the rows that a training is worth, about. Where classes are few, reading the rows is most of a pass, and
 * takes as long as the products with some dozens of classes. */
static double passes_work(const tnp_course *course, size_t rows, double passes)
{
    enum { READING = 64 };
    double classes = (double)tnp_max(course->task->y.classes, READING);
    return 4 * passes * (double)rows * (double)course->dim * classes;
}

static double online_work(const tnp_course *course, size_t rows)
{
    return passes_work(course, rows, (double)course->epochs / 2);
}

static double logistic_work(const tnp_course *course, size_t rows)
{
    return passes_work(course, rows, 10);
}

static double svm_work(const tnp_course *course, size_t rows)
{
    return passes_work(course, rows, 20);
}

static void settle_evidence(const tnp_course *course, const tnp_entry *entry, tnp_fit_options *options)
{
    (void)course;
    (void)entry;
    options->lambda = (tnp_real_or_word){TNP_LAMBDA_AUTO, 0};
}

static void settle_ridge(const tnp_course *course, const tnp_entry *entry, tnp_fit_options *options)
{
    (void)course;
    options->lambda = (tnp_real_or_word){TNP_LAMBDA_FIXED, entry->value};
}

static void settle_cost(const tnp_course *course, const tnp_entry *entry, tnp_fit_options *options)
{
    (void)course;
    options->learn.cost = entry->value;
}

static void settle_online(const tnp_course *course, const tnp_entry *entry, tnp_fit_options *options)
{
    (void)entry;
    options->online.epochs = course->epochs;
}

enum { CLASSES = 1 << TN_TASK_MULTICLASS, LABELS = 1 << TN_TASK_MULTILABEL, VALUES = 1 << TN_TASK_REGRESSION };

const tnp_contender tnp_incumbent = {.word = "evidence",
                                     .method = TNP_METHOD_EVIDENCE,
                                     .tasks = CLASSES | LABELS | VALUES,
                                     .blends = true,
                                     .threshold = 0.5,
                                     .hold_out = tnp_hold_out_evidence,
                                     .work = ridge_work,
                                     .settle = settle_evidence};

static const tnp_contender challengers[] = {
    {"ridge-cv", TNP_METHOD_EVIDENCE, CLASSES | LABELS | VALUES, true, 0.5, tnp_hold_out_ridge, ridge_work,
     settle_ridge},
    {"lda", TNP_METHOD_LDA, CLASSES, true, 0, tnp_hold_out_lda, ridge_work, settle_ridge},
    {"pa", TNP_METHOD_PA, CLASSES | LABELS, false, 0, tnp_hold_out_online, online_work, settle_online},
    {"scw", TNP_METHOD_SCW, CLASSES | LABELS, false, 0, tnp_hold_out_online, online_work, settle_online},
    {"logistic", TNP_METHOD_LOGISTIC, CLASSES | LABELS, true, 0, tnp_hold_out_logistic, logistic_work, settle_cost},
    {"svm", TNP_METHOD_SVM, CLASSES | LABELS, true, 0, tnp_hold_out_svm, svm_work, settle_cost},
};
enum { CHALLENGERS = sizeof challengers / sizeof *challengers };

static const tnp_contender blend = {.word = "blend", .method = TNP_METHOD_AUTO};
static const tnp_contender directions = {.word = "directions", .method = TNP_METHOD_AUTO};

bool tnp_is_blend(const tnp_race *race, size_t entry)
{
    return race->entries[entry].who == &blend;
}

bool tnp_is_directions(const tnp_race *race, size_t entry)
{
    return race->entries[entry].who == &directions;
}

bool tnp_is_ridge(const tnp_contender *who)
{
    return tnp_method_of(who->method)->uses.family == TNP_FAMILY_RIDGE;
}

tn_status tnp_name_entry(tn_ctx *ctx, const tnp_race *race, size_t entry, char **out)
{
    tnp_text text;
    if (!tnp_is_blend(race, entry))
        return tnp_strdup(ctx, race->entries[entry].who->word, out);
    tnp_text_init(&text, ctx);
    for (size_t m = 0; m < race->member_count; ++m)
        tnp_text_add(&text, "%s%s", m ? " + " : "", race->entries[race->members[m]].who->word);
    return tnp_text_take(&text, out);
}

/* Whether somebody has a use for the task and the numbers, is worth the time and did not lose before. */
static bool may_race(tnp_race *race, const tnp_contender *who)
{
    size_t rows = race->course->chosen->selection->task->y.rows;
    if (who == &tnp_incumbent)
        return true;
    if (!(who->tasks & 1u << race->course->task->kind) || (who->method == TNP_METHOD_LDA && !race->course->lda.fold))
        return false;
    if (who->work(race->course, rows) > race->most_work) {
        race->too_long = true;
        return false;
    }
    for (size_t i = 0; race->like && i < race->like->count; ++i)
        if (race->like->entries[i].who == who && race->like->entries[i].note)
            return false;
    return !race->ridge_only || tnp_is_ridge(who);
}

/* ---- rows and folds ---- */

/* The first fold by itself, and the others. */
static tn_status cut_rounds(tn_ctx *ctx, tnp_race *race)
{
    tn_status st = TN_OK;
    size_t n = race->course->task->y.rows;
    TN_TRY(tnp_alloc(ctx, n, sizeof *race->look, &race->look));
    TN_TRY(tnp_alloc(ctx, n, sizeof *race->rest, &race->rest));
    for (size_t i = 0; i < n; ++i) {
        race->look[i] = race->fold[i] == 0 ? 0 : TNP_NO_FOLD;
        race->rest[i] = race->fold[i] == 0 ? TNP_NO_FOLD : race->fold[i] - 1;
    }
done:
    return st;
}

/* How many passes the online learners have, and what a head may cost: no more than the evidence itself, or what is
 * always worth it. */
static void plan_work(const tnp_chosen *c, tnp_race *race)
{
    tnp_course *course = race->course;
    size_t rows = c->selection->task->y.rows;
    double ridge = ridge_work(course, rows);
    race->most_work = fmax(FREE_WORK, ridge);
    double passes = ONLINE_SHARE * fmax(ONLINE_WORK, ridge) / passes_work(course, rows, 1);
    course->epochs = (size_t)fmax(1, fmin((double)c->options->online.epochs, floor(passes)));
}

/* Ridge problems are in double. The others have floats: sums of squares must be within their range, and without an
 * intercept no column may lie so far from zero that its digits are lost. */
static tn_status find_range(tn_ctx *ctx, const tnp_chosen *c, tnp_race *race)
{
    tn_status st = TN_OK;
    double *centre = NULL, largest = c->ridge->spectrum->largest;
    race->ridge_only = !(largest > 0x1p-90 && largest < 0x1p90);
    for (size_t m = 0; !c->ridge->intercept && m < c->count; ++m) {
        tnp_survey found;
        TN_TRY(tnp_alloc(ctx, tn_feed_cols(c->feeds[m]), sizeof *centre, &centre));
        TN_TRY(tnp_feed_survey(ctx, c->feeds[m], TNP_FEED_TOO_FAR, centre, &found));
        race->ridge_only |= found.any;
        tnp_free(centre);
        centre = NULL;
    }
done:
    tnp_free(centre);
    return st;
}

tn_status tnp_race_init(tn_ctx *ctx, const tnp_chosen *c, tnp_race *race)
{
    tn_status st = TN_OK;
    const tnp_task *task = NULL;
    size_t few = 0, most = tnp_max(MOST_ROWS, MOST_OF_CLASS * c->selection->task->y.classes);
    *race = (tnp_race){.best = 0};
    TN_TRY(tnp_course_new(ctx, c, most, &race->course));
    plan_work(c, race);
    TN_TRY(find_range(ctx, c, race));
    task = race->course->task;
    TN_TRY(tnp_few_rows(ctx, task, race->course->dim, &few));
    TN_TRY(tnp_folds_for(ctx, &task->y, task->kind, few > 0 ? few : c->options->learn.folds, &race->folds));
    TN_TRY(tnp_alloc(ctx, CHALLENGERS + 2, sizeof *race->entries, &race->entries));
    TN_TRY(tnp_alloc(ctx, CHALLENGERS + 1, sizeof *race->members, &race->members));
    if (race->folds == 0)
        return TN_OK;
    TN_TRY(tnp_folds_new(ctx, &task->y, task->kind, race->folds, c->options->rank.seed, &race->fold));
    if (task->y.rows >= LOOK_ROWS && race->folds > 1)
        TN_TRY(cut_rounds(ctx, race));
    race->units = tnp_round_units(task, &(tnp_round){race->fold, race->folds});
done:
    return st;
}

void tnp_race_destroy(tnp_race *race)
{
    for (size_t i = 0; race->entries && i < race->count; ++i)
        tnp_free_all(race->entries[i].scores, race->entries[i].unit);
    tnp_free_all(race->entries, race->members, race->fold, race->look, race->rest);
    tnp_course_free(race->course);
}

/* ---- the race ---- */

static tn_status enter(tn_ctx *ctx, tnp_race *race, const tnp_contender *who, tnp_entry **out)
{
    tn_status st = TN_OK;
    const tnp_targets *y = &race->course->task->y;
    tnp_entry *e = &race->entries[race->count++];
    *e = (tnp_entry){.who = who, .value = NAN, .mean = NAN, .se = NAN, .log_loss = NAN};
    TN_TRY(tnp_alloc_raw(ctx, y->rows * y->classes, sizeof *e->scores, &e->scores));
    TN_TRY(tnp_alloc(ctx, race->units, sizeof *e->unit, &e->unit));
    for (size_t i = 0; i < y->rows * y->classes; ++i)
        e->scores[i] = NAN;
    *out = e;
done:
    return st;
}

static tn_status judge(tn_ctx *ctx, const tnp_race *race, tnp_entry *e)
{
    return tnp_judge_entry(ctx, race->course->task, &(tnp_round){race->fold, race->folds}, e);
}

/* The best of those that are still in the race; the simpler of equals. */
static size_t leader(const tnp_race *race)
{
    size_t best = 0;
    for (size_t i = 1; i < race->count; ++i)
        if (!race->entries[i].note && race->entries[i].mean > race->entries[best].mean)
            best = i;
    return best;
}

/* What is on the progress line: who runs, who leads; a line of another call, of which this one is a part, stays. */
static void tell(tn_ctx *ctx, const tnp_race *race, tnp_share whole, const tnp_entry *e, size_t done, size_t total)
{
    char text[40];
    const tnp_entry *first = &race->entries[leader(race)];
    if (isnan(first->mean) || first == e)
        tnp_format(text, sizeof text, "race: %s", e->who->word);
    else
        tnp_format(text, sizeof text, "race: %s; %s leads", e->who->word, first->who->word);
    if (race->titled)
        tnp_progress_title(ctx, text);
    (void)tnp_progress_step(ctx, whole, text, done, total); /* whether to go on is asked within */
}

/* Nobody can be better, and rows enough have said so. */
static bool is_settled(const tnp_race *race)
{
    const tnp_entry *first = &race->entries[leader(race)];
    return race->course->task->kind == TN_TASK_MULTICLASS && first->mean == 1 && first->judged >= ENOUGH;
}

void tnp_race_stop(tn_ctx *ctx, tnp_race *race)
{
    race->cancelled = tnp_was_cancelled(ctx);
    race->note = race->cancelled ? "it was interrupted, and the head is the best so far" : "the budget was used up";
    tnp_set_deadline(ctx, 0);
    tn_ctx_reset(ctx);
}

/* One contender on some folds, and what it has got by then. What ends it for good is a note, not a failure: no memory
 * for it, no time left, numbers that it cannot hold. */
static tn_status run(tn_ctx *ctx, tnp_race *race, tnp_entry *e, const uint32_t *fold, size_t folds)
{
    double begin = tnp_seconds();
    tn_status st = e->who->hold_out(ctx, race->course, &(tnp_round){fold, folds}, e);
    if (st == TN_OK)
        st = judge(ctx, race, e);
    e->seconds += tnp_seconds() - begin;
    if (st == TN_OK || (st == TN_ERR_INTERRUPTED && !(race->course->chosen->options->budget > 0)))
        return st;
    if (st == TN_ERR_INTERRUPTED)
        tnp_race_stop(ctx, race);
    e->note = st == TN_ERR_INTERRUPTED                           ? "not finished"
              : st == TN_ERR_BUDGET || st == TN_ERR_MEMORY       ? "too little memory"
              : st == TN_ERR_NUMERIC || st == TN_ERR_UNSUPPORTED ? "numbers out of its range"
                                                                 : NULL;
    return e->note ? TN_OK : st;
}

/* All contenders on the first folds. */
static tn_status look_at_all(tn_ctx *ctx, tnp_race *race, tnp_share whole)
{
    tn_status st = TN_OK;
    const uint32_t *fold = race->look ? race->look : race->fold;
    for (size_t i = 0; i <= CHALLENGERS && !race->note; ++i) {
        const tnp_contender *who = i == 0 ? &tnp_incumbent : &challengers[i - 1];
        tnp_entry *e = NULL;
        if (!may_race(race, who))
            continue;
        TN_TRY(enter(ctx, race, who, &e));
        tell(ctx, race, whole, e, i, CHALLENGERS + 1);
        TN_TRY(run(ctx, race, e, fold, race->look ? 1 : race->folds));
        if (!race->note && is_settled(race))
            race->note = "no row was wrong: no other head can be better";
    }
done:
    return st;
}

void tnp_race_drop(tnp_race *race)
{
    const tnp_entry *first = &race->entries[leader(race)];
    for (size_t i = 0; i < race->count; ++i) {
        double lead, se;
        tnp_lead(first, &race->entries[i], race->units, &lead, &se);
        if (!race->entries[i].note && lead > BEHIND * se)
            race->entries[i].note = "trails";
    }
}

static tn_status look_again(tn_ctx *ctx, tnp_race *race, tnp_share whole)
{
    tn_status st = TN_OK;
    for (size_t i = 0; i < race->count && !race->note; ++i) {
        if (race->entries[i].note)
            continue;
        tell(ctx, race, whole, &race->entries[i], i, race->count);
        TN_TRY(run(ctx, race, &race->entries[i], race->rest, race->folds - 1));
    }
    tnp_race_drop(race);
done:
    return st;
}

/* The mean of the log-odds of the members, and what it gets. */
static tn_status mix(tn_ctx *ctx, const tnp_race *race, tnp_entry *b)
{
    size_t size = race->course->task->y.rows * race->course->task->y.classes;
    for (size_t i = 0; i < size; ++i)
        b->scores[i] = 0;
    for (size_t m = 0; m < race->member_count; ++m) {
        const tnp_entry *e = &race->entries[race->members[m]];
        for (size_t i = 0; i < size; ++i)
            b->scores[i] +=
                (float)(((double)e->scores[i] - e->who->threshold) / (e->temperature * (double)race->member_count));
    }
    return judge(ctx, race, b);
}

/* Whoever trails but was judged by all rows that judged the blend joins it where that lowers its log loss, and its
 * accuracy by no more than chance: heads that err about other rows help each other. */
static tn_status admit(tn_ctx *ctx, tnp_race *race, tnp_entry *b)
{
    tn_status st = TN_OK;
    size_t others = race->count - 1;
    for (size_t i = 0; i < others; ++i) {
        const tnp_entry *e = &race->entries[i];
        double mean = b->mean, loss = b->log_loss;
        if (!e->who->blends || !e->note || e->judged != b->judged || !(e->temperature > 0))
            continue;
        race->members[race->member_count++] = i;
        TN_TRY(mix(ctx, race, b));
        if (b->log_loss < loss && b->mean > mean - b->se / 2)
            continue;
        --race->member_count;
        TN_TRY(mix(ctx, race, b));
    }
done:
    return st;
}

/* The one of the ridge problem's heads that is in the blend, for they err alike: discriminants, else the evidence's, else
 * that of ridge-cv; race->count where all are out. */
static size_t blended_ridge(const tnp_race *race)
{
    size_t found = race->count;
    for (size_t i = race->count; i-- > 0;) {
        const tnp_entry *e = &race->entries[i];
        bool fit = tnp_is_ridge(e->who) && !e->note && e->temperature > 0;
        if (fit && (found == race->count || race->entries[found].who->method != TNP_METHOD_LDA))
            found = i;
    }
    return found;
}

tn_status tnp_race_blend(tn_ctx *ctx, tnp_race *race)
{
    tn_status st = TN_OK;
    tnp_entry *b = NULL;
    size_t ridge = blended_ridge(race);
    for (size_t i = 0; i < race->count; ++i) {
        const tnp_entry *e = &race->entries[i];
        bool second = tnp_is_ridge(e->who) && i != ridge;
        if (e->who->blends && !e->note && e->temperature > 0 && !second)
            race->members[race->member_count++] = i;
    }
    if (race->member_count == 0)
        return TN_OK;
    TN_TRY(enter(ctx, race, &blend, &b));
    TN_TRY(mix(ctx, race, b));
    TN_TRY(admit(ctx, race, b));
    if (race->member_count < 2) {
        tnp_free_all(b->scores, b->unit);
        --race->count;
        race->member_count = 0;
    }
done:
    return st;
}

void tnp_race_decide(tnp_race *race)
{
    size_t usual = race->member_count > 0 ? race->count - 1 : 0, first = leader(race);
    double lead, se;
    tnp_lead(&race->entries[first], &race->entries[usual], race->units, &lead, &se);
    race->best = lead > BEHIND * se || race->entries[usual].note ? first : usual;
}

void tnp_race_unjudged(tnp_race *race)
{
    if (race->course->task->kind != TN_TASK_MULTICLASS)
        return;
    race->entries[race->count++] = (tnp_entry){.who = &tnp_incumbent, .value = NAN, .mean = NAN};
    race->entries[race->count++] = (tnp_entry){.who = &directions, .value = NAN, .mean = NAN};
    race->best = race->count - 1;
}

tn_status tnp_race_run(tn_ctx *ctx, tnp_race *race)
{
    tn_status st = TN_OK;
    tnp_share whole = tnp_progress_now(ctx), part = tnp_progress_part(ctx, whole, 0, 0.6);
    race->titled = !tnp_progress_is_titled(ctx);
    TN_TRY(look_at_all(ctx, race, part));
    tnp_race_drop(race);
    part = tnp_progress_part(ctx, whole, 0.6, 1);
    if (race->look && race->entries[0].judged < ENOUGH)
        TN_TRY(look_again(ctx, race, part));
    TN_TRY(tnp_race_blend(ctx, race));
    tnp_race_decide(race);
done:
    if (race->titled)
        tnp_progress_title(ctx, "");
    return st;
}
