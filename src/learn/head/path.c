/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The path of linear classifiers along C. In 1/2 |w|^2 + C sum loss, C is the variance of the weights a priori, and with
 *
 *   s^2 = mean |x - mean|^2   (without an intercept: mean |x|^2)
 *
 * C s^2 is that of a score about its mean, whatever the units, the number and the width of the rows. Below 0.01 scores
 * cannot leave 0.1, and nothing is learned but the means of classes; at 1000 they may be 30 apart, and rows are told
 * apart for certain. The grid that is found begins at the largest of ..., 0.1, 0.3, 1, 3, ... with C s^2 <= 0.01 and
 * has 11 values (path_grid.c); people know these numbers, and sets of rows that differ a little have the same ones.
 *
 * The walk begins at the largest value with C s^2 <= BEGIN, goes up, then down from there. It ends at C when that is
 * HOPELESS standard errors worse than the best, or early, when the last two values or more, and all between a tenth of C
 * (on the way down: ten times C) and it, are clearly worse: by more than one. Values are paired with the best, unit by
 * unit. Units are the rows of a multi-class task, right or wrong; for labels the folds, or PARTS of the rows where there
 * is one fold, too few to call anything hopeless. On the way up it never ends below C s^2 = 1: a model that is yet to
 * learn says little about the one that has. It also ends where no larger C can be better, for nothing was wrong and of
 * equals the smaller one is taken, or is not worth its time: of ENOUGH rows one was wrong. Where the best is the last
 * value the path goes on to C s^2 = 10^6, where it is the first it goes on below, to 10^-6. Of 510 paths on three sets
 * with 2 to all rows per class (experiments/heads has their rows) none would have chosen another C beyond a value that
 * was hopeless, and those that asked took a twentieth longer, of 20 rows per class an eighth.
 *
 * A value is given up, and the folds that are left are not trained, when it is hopeless by the rows of the folds before:
 * it could win only with rows that are unlike all others. The first fold is trained alone, the others together; of
 * logistic regression as many as there are threads to train them side by side, which are judged as if they had come one
 * by one. Models of all rows as starts of the folds' were refused: what stops at a loose gap would know the rows that it
 * is to be judged by.
 *
 * Models are trained to the gap that the options ask for (of folds by what the solvers say of themselves: nothing is
 * certified), below C s^2 = 1 to that part of it: there weights change the objective by about that part only, and a model
 * that is close by its objective may be any.
 *
 * Of a grid that was given the best mean decides, of equals the smallest C. One that was found has a value that suits
 * most features, the usual one, which is left only for what is better by more than a standard error: with few rows the
 * largest figure is more luck than merit. In 375 cases (three sets, five networks, 1 to all rows per class) the test
 * accuracy of svm-cv is 0.22 +- 0.04 points higher for it, 0.56 +- 0.16 with 5 rows per class, of logistic-cv 0.10 +-
 * 0.03 and 0.45 +- 0.17. The largest regularisation within a standard error was refused: it is the choice for a model
 * that is to be small, and none of these is smaller than another; with folds of one size errors of neighbouring C go
 * together, and the rule loses accuracy by design.
 *
 * Oracle: cold solutions by another library (tests/unit/test_path.c), curves made up for the rule. */
#include "base/team.h"
#include "learn/head/calibrate.h"
#include "learn/head/folds.h"
#include "learn/head/path.h"
#include "learn/linear/train_softmax.h"
#include "learn/ridge/ridge.h"
#include "learn/softmax/softmax_coarse.h"
#include "learn/softmax/softmax_mean.h"

#include <math.h>
#include <string.h>

enum { PARTS = 5, ENOUGH = 1000 };
static const double BEGIN_SVM = 0.3, BEGIN_LOGISTIC = 3; /* of C s^2: a third of where the best is, often */
static const double LEARNED = 1;                         /* of C s^2: what falls from here on has fallen */
static const double APART = 10;                          /* factor of C over which all must be clearly worse */
static const double HOPELESS = 2;                        /* standard errors: no more folds, and no value beyond */
static const double FLAWLESS = 1;                        /* of accuracy and mean AP none is larger */
static const double LEAST_GAP = 1e-7;

float tnp_constant_score(const tnp_task *task, size_t k)
{
    double odds = log(2 * (double)task->y.rows + 1);
    return (float)(tnp_target(&task->y, 0, k) > 0.5 ? odds : -odds);
}

/* ---- one value of C ---- */

typedef struct walk {
    const tnp_linear *l;
    const tnp_judges *judges;
    size_t folds;
    tnp_measure_fn measure;
    void *arg;
    tnp_cross *cross;
    float *w, *best_w, *before;              /* (columns, dim + 1): of this C; of the best; of the C before this */
    float *now, *part, *scores;              /* (rows, classes): of this C; scratch; of the best */
    size_t *rows, size, weights, unit_count; /* rows: scratch; numbers of a score array, of a weight array */
    double *unit, *best_unit;                /* unit_count: right or wrong, or the quality of a part */
    double *first_unit;                      /* (2, unit_count): of the first two values on the way up */
    double best;                             /* mean at the best so far, -inf before there is one */
    double best_cost, level;                 /* its C; the last C that was not clearly worse, */
    size_t level_at;                         /* and its place */
    double *below;                           /* values of the grid below the one that the walk begins with, */
    size_t below_count;                      /* those that are yet to be tried */
    float *lowest_w;                         /* with such values: w of the lowest C that was tried */
    size_t level_low;                        /* place of the least C that was not clearly worse */
    bool hopeless_low;                       /* the least C was that */
    uint32_t *part_fold;                     /* training rows: folds of a part; NULL: all folds are one part */
    size_t done;                             /* folds that this C has been judged by */
    float *start;                            /* (columns, dim + 1), of logistic regression: where its folds began */
    tnp_row_moment moment;                   /* of logistic regression by folds */
    tnp_linear own;                          /* *l with what it keeps from one C to the next */
} walk;

/* Rows of fold f, or of part `part` of `parts` of it, into job->rows and their scores into job->part. */
static size_t gather(const walk *job, uint32_t f, size_t part, size_t parts)
{
    size_t k = job->l->task->y.classes, n = 0, seen = 0;
    for (size_t i = 0; i < job->judges->y->rows; ++i)
        if (job->judges->row_fold[i] == f && seen++ % parts == part) {
            memcpy(job->part + n * k, job->now + i * k, k * sizeof *job->part);
            job->rows[n++] = i;
        }
    return n;
}

/* Classes that were not trained have the score that the head will give them: 0 could be the largest of a row. */
static void put_constants(const walk *job)
{
    const tnp_task *task = job->l->task;
    size_t k = task->y.classes;
    if (job->l->logistic && task->kind == TN_TASK_MULTICLASS)
        return;
    for (size_t c = 0; c < k; ++c)
        for (size_t i = 0; task->constant[c] && i < job->judges->y->rows; ++i)
            if (!isnan(job->now[i * k + c]))
                job->now[i * k + c] = tnp_constant_score(task, c);
}

/* Right (1) or wrong (0) of the rows of the folds [from, job->done), NaN of those that are not judged yet. */
static void judge_rows(const walk *job, size_t from)
{
    const tnp_targets *y = job->judges->y;
    size_t k = y->classes;
    for (size_t i = 0; i < y->rows; ++i) {
        const float *s = job->now + i * k;
        size_t best = 0, fold = job->judges->row_fold[i];
        if (fold < from)
            continue;
        job->unit[i] = (double)NAN;
        if (fold >= job->done || y->first[i] == y->first[i + 1])
            continue;
        for (size_t c = 1; c < k; ++c)
            best = s[c] > s[best] ? c : best;
        job->unit[i] = y->cls[y->first[i]] == best;
    }
}

/* Standard error of the mean of the units. */
static double unit_error(const walk *job)
{
    double n = 0, sum = 0, square = 0;
    for (size_t i = 0; i < job->unit_count; ++i) {
        n += !isnan(job->unit[i]);
        sum += isnan(job->unit[i]) ? 0 : job->unit[i];
    }
    for (size_t i = 0; i < job->unit_count; ++i)
        square += isnan(job->unit[i]) ? 0 : (job->unit[i] - sum / n) * (job->unit[i] - sum / n);
    return n > 1 ? sqrt(square / (n * (n - 1))) : (double)NAN;
}

/* By the folds [from, job->done), and the units of all so far. */
static tn_status judge(tn_ctx *ctx, const walk *job, size_t g, size_t from)
{
    tn_status st = TN_OK;
    double *value = job->cross->value + g * job->folds;
    for (size_t f = from; f < job->done; ++f)
        TN_TRY(job->measure(ctx, job->arg, job->rows, gather(job, (uint32_t)f, 0, 1), job->part, &value[f]));
    for (size_t f = job->done; f < job->folds; ++f)
        value[f] = NAN;
    job->cross->judged[g] = job->done;
    tnp_cross_summarise(job->cross, g);
    if (job->l->task->kind == TN_TASK_MULTICLASS)
        judge_rows(job, from);
    else if (job->folds > 1)
        memcpy(job->unit, value, job->folds * sizeof *value);
    for (size_t p = 0; job->l->task->kind != TN_TASK_MULTICLASS && job->folds == 1 && p < PARTS; ++p)
        TN_TRY(job->measure(ctx, job->arg, job->rows, gather(job, 0, p, PARTS), job->part, &job->unit[p]));
    if (job->folds == 1)
        job->cross->se[g] = unit_error(job);
done:
    return st;
}

static tn_status judge_loss(tn_ctx *ctx, const walk *job, size_t g)
{
    tn_status st = TN_OK;
    const tnp_targets *y = job->judges->y;
    tn_task kind = job->l->task->kind;
    memcpy(job->part, job->now, job->size * sizeof *job->part);
    if (job->l->row_fold)
        TN_TRY(tnp_folds_hide(ctx, y, job->judges->row_fold, job->folds, job->part));
    double *t = &job->cross->temperature[g];
    TN_TRY(tnp_temperature_fit(ctx, y, kind, 0, NULL, y->rows, NULL, job->part, t));
    job->cross->log_loss[g] = *t > 0 ? tnp_log_loss(y, kind, 0, NULL, y->rows, NULL, job->part, *t) : (double)NAN;
done:
    return st;
}

/* Whether the units a are better than b by more than so many standard errors of their differences. */
static bool leads(const walk *job, const double *a, const double *b, double errors)
{
    double n = 0, sum = 0, square = 0;
    for (size_t i = 0; i < job->unit_count; ++i) {
        double d = a[i] - b[i];
        if (isnan(d))
            continue;
        n += 1;
        sum += d;
        square += d * d;
    }
    if (!(sum > 0) || n < 2)
        return false;
    return sum > errors * sqrt(fmax(square - sum * sum / n, 0) * n / (n - 1)); /* both times n */
}

static bool is_worse(const walk *job, const double *unit, double errors)
{
    return leads(job, job->best_unit, unit, errors);
}

/* ---- parts of the folds ---- */

/* How many folds are trained together, from fold `first` on: all that are left, but where rows are told right or wrong
 * the first alone, and of logistic regression as many as threads train side by side. */
static size_t part_size(const tn_ctx *ctx, const walk *job, size_t first)
{
    size_t left = job->folds - first;
    if (!job->part_fold)
        return left;
    return first == 0 ? 1 : job->l->logistic ? tnp_min(left, tnp_softmax_folds_at_once(ctx, job->l)) : left;
}

/* The training of folds [first, first + count) alone, whose multipliers lie together. */
static tnp_linear part_of(const walk *job, size_t first, size_t count)
{
    tnp_linear l = *job->l;
    size_t rows = l.task->y.rows, classes = l.task->y.classes;
    for (size_t i = 0; i < rows; ++i) {
        uint32_t f = job->l->row_fold[i];
        job->part_fold[i] = f >= first && f < first + count ? f - (uint32_t)first : TNP_NO_FOLD;
    }
    l.row_fold = job->part_fold;
    l.folds = count;
    l.alpha = l.alpha ? l.alpha + rows * first * classes : NULL;
    l.kept = l.kept ? l.kept + first : NULL;
    return l;
}

/* Trains folds [first, first + count) and has their rows scored. */
static tn_status try_part(tn_ctx *ctx, const walk *job, const tnp_learn_options *options, double cost, size_t first,
                          size_t count)
{
    tn_status st = TN_OK;
    size_t classes = job->l->task->y.classes;
    bool part = count < job->folds;
    size_t size = job->weights / job->folds;
    tnp_linear l = part ? part_of(job, first, count) : *job->l;
    float *w = job->w + first * size;
    tnp_training training;
    l.options = options;
    if (job->start)
        memcpy(job->start + first * size, w, count * size * sizeof *w);
    TN_TRY(tnp_linear_train(ctx, &l, cost, w, &training));
    if (!part)
        return job->judges->score(ctx, job->judges->self, w, job->now);
    TN_TRY(tnp_linear_held_out(ctx, &l, w, job->part));
    for (size_t i = 0; i < job->judges->y->rows; ++i)
        if (l.row_fold[i] < count)
            memcpy(job->now + i * classes, job->part + i * classes, classes * sizeof *job->now);
done:
    return st;
}

/* Judges by the folds [job->done, end), which were trained together: those of logistic regression one by one, as if each
 * had been trained when the one before did not give C up. What was trained beyond that is forgotten, so that all that
 * follows is the same for every number of threads. */
static tn_status judge_part(tn_ctx *ctx, walk *job, size_t g, size_t end)
{
    tn_status st = TN_OK;
    size_t classes = job->l->task->y.classes, size = job->weights / job->folds;
    do {
        size_t from = job->done;
        job->done = job->start ? from + 1 : end;
        TN_TRY(judge(ctx, job, g, from));
    } while (job->done < end && !is_worse(job, job->unit, HOPELESS));
    if (job->done == end)
        return TN_OK;
    memcpy(job->w + job->done * size, job->start + job->done * size, (end - job->done) * size * sizeof *job->w);
    for (size_t i = 0; i < job->size; ++i)
        if (job->judges->row_fold[i / classes] >= job->done)
            job->now[i] = NAN;
done:
    return st;
}

/* Folds of the first C start where the first of them arrived, and at the multipliers that its weights imply: their last
 * passes forget the rows that it has seen. Those of logistic regression would not. */
static void start_from_first(const walk *job)
{
    size_t size = job->weights / job->folds;
    for (size_t f = 1; f < job->folds; ++f)
        memcpy(job->w + f * size, job->w, size * sizeof *job->w);
}

static tn_status try_cost(tn_ctx *ctx, walk *job, size_t g)
{
    tn_status st = TN_OK;
    tnp_cross *c = job->cross;
    tnp_learn_options options = *job->l->options;
    options.gap = fmin(options.gap, fmax(options.gap * c->grid[g] * c->scale, LEAST_GAP));
    c->trying = c->grid[g];
    for (size_t i = 0; job->part_fold && i < job->size; ++i)
        job->now[i] = NAN;
    job->done = 0;
    do {
        size_t first = job->done, count = part_size(ctx, job, first);
        if (first == 1 && !job->l->logistic && !isfinite(job->best))
            start_from_first(job);
        TN_TRY(try_part(ctx, job, &options, c->grid[g], first, count));
        put_constants(job);
        TN_TRY(judge_part(ctx, job, g, first + count));
    } while (job->done < job->folds && !is_worse(job, job->unit, HOPELESS));
    if (c->log_loss)
        TN_TRY(judge_loss(ctx, job, g));
done:
    return st;
}

/* ---- the walk ---- */

/* Whether no other value can be better, or by a row of many at most. */
static bool is_settled(const walk *job)
{
    size_t judged = 0, wrong = 0;
    for (size_t i = 0; job->l->task->kind == TN_TASK_MULTICLASS && i < job->unit_count; ++i) {
        judged += isnan(job->best_unit[i]) ? 0 : 1;
        wrong += job->best_unit[i] == 0 ? 1 : 0;
    }
    return job->best == FLAWLESS || (judged >= ENOUGH && wrong <= 1);
}

/* Where rows are right or wrong: what a few folds have between them is no standard error to rely on. */
static bool is_hopeless(const walk *job, const double *unit)
{
    return job->l->task->kind == TN_TASK_MULTICLASS && is_worse(job, unit, HOPELESS);
}

/* Whether value g, which all folds have judged, takes the place of the best. */
static bool takes_over(const walk *job, size_t g)
{
    const tnp_cross *c = job->cross;
    double cost = c->grid[g];
    if (isnan(c->mean[g]) || !isfinite(job->best))
        return !isnan(c->mean[g]);
    if (job->best_cost == c->usual)
        return leads(job, job->unit, job->best_unit, 1);
    if (cost == c->usual)
        return !leads(job, job->best_unit, job->unit, 1);
    return c->mean[g] > job->best || (c->mean[g] == job->best && cost < job->best_cost);
}

/* Takes value g into account; *over: nothing is to be expected of a larger C. */
static void account(walk *job, size_t g, bool *over)
{
    const tnp_cross *c = job->cross;
    double cost = c->grid[g];
    if (job->done == job->folds && takes_over(job, g)) {
        job->best = c->mean[g];
        job->best_cost = cost;
        memcpy(job->scores, job->now, job->size * sizeof *job->scores);
        memcpy(job->best_w, job->w, job->weights * sizeof *job->w);
        memcpy(job->best_unit, job->unit, job->unit_count * sizeof *job->unit);
    }
    if (!is_worse(job, job->unit, 1)) {
        job->level = cost;
        job->level_at = g;
    }
    *over = is_settled(job);
    bool apart = cost >= APART * job->level * (1 - 1e-9) && g >= job->level_at + 2;
    *over |= cost * c->scale >= LEARNED && (apart || is_hopeless(job, job->unit));
}

static tn_status tell(tn_ctx *ctx, const walk *job, tnp_share whole, size_t g)
{
    char text[64];
    size_t planned = job->cross->planned;
    if (isfinite(job->best))
        tnp_format(text, sizeof text, "C %.3g (best %.3g: %.4f)", job->cross->grid[g], job->best_cost, job->best);
    else
        tnp_format(text, sizeof text, "C %.3g", job->cross->grid[g]);
    tnp_progress_title(ctx, text);
    return tnp_progress_step(ctx, whole, text, tnp_min(g, planned - 1), planned);
}

/* Where value g starts: on the line through the last two solutions, in log C. It is half the work of starting from the
 * last one, for weights bend little from rung to rung. */
static void start_ahead(const walk *job, size_t g)
{
    const double *c = job->cross->grid;
    double ahead = g >= 2 ? fmin(log(c[g] / c[g - 1]) / log(c[g - 1] / c[g - 2]), 1) : 0;
    for (size_t i = 0; i < job->weights; ++i) {
        float last = job->w[i];
        job->w[i] += isfinite(ahead) ? (float)ahead * (last - job->before[i]) : 0;
        job->before[i] = last;
    }
}

static tn_status walk_up(tn_ctx *ctx, walk *job, tnp_share whole)
{
    tn_status st = TN_OK;
    tnp_cross *c = job->cross;
    bool over = false;
    size_t g = 0, above = c->planned - job->below_count;
    for (; g < c->capacity - job->below_count && !over; ++g) {
        if (g >= above) { /* past the end of a grid that was found, as long as the last value is the best */
            double next = tnp_rung(tnp_rung_below(c->grid[g - 1]) + 1);
            if (job->best_cost != c->grid[g - 1] || next * c->scale > TNP_HIGHEST_SCALED || next > TNP_MOST_COST)
                break;
            c->grid[g] = next;
        }
        TN_TRY(tell(ctx, job, whole, g));
        start_ahead(job, g);
        TN_TRY(try_cost(ctx, job, g));
        account(job, g, &over);
        if (g < 2)
            memcpy(job->first_unit + g * job->unit_count, job->unit, job->unit_count * sizeof *job->unit);
        if (g == 0 && job->lowest_w)
            memcpy(job->lowest_w, job->w, job->weights * sizeof *job->w);
    }
    c->count = g;
    c->skipped = g < above ? above - g : 0;
    c->added = g > above ? g - above : 0;
done:
    return st;
}

/* Makes value 0 of the grid free. */
static void shift(tnp_cross *c)
{
    memmove(c->grid + 1, c->grid, c->count * sizeof *c->grid);
    memmove(c->value + c->folds, c->value, c->count * c->folds * sizeof *c->value);
    memmove(c->mean + 1, c->mean, c->count * sizeof *c->mean);
    memmove(c->se + 1, c->se, c->count * sizeof *c->se);
    memmove(c->judged + 1, c->judged, c->count * sizeof *c->judged);
    if (c->log_loss) {
        memmove(c->log_loss + 1, c->log_loss, c->count * sizeof *c->log_loss);
        memmove(c->temperature + 1, c->temperature, c->count * sizeof *c->temperature);
    }
    ++c->count;
}

/* Multipliers of the squared hinge stay: svm_dual.c makes them fit another C. */
static void start_from_nothing(const walk *job)
{
    const tnp_linear *l = job->l;
    memset(job->w, 0, job->weights * sizeof *job->w);
    if (l->alpha && l->options->loss == TNP_SVM_HINGE)
        memset(l->alpha, 0, l->task->y.rows * l->folds * l->task->y.classes * sizeof *l->alpha);
}

/* The next value below all that were tried: of the grid, as long as the least two values or more, and all below ten
 * times the least, are not clearly worse than the best; then of the ladder where the grid was found, as long as the
 * first is the best. 0: none. */
static double next_below(walk *job)
{
    tnp_cross *c = job->cross;
    bool apart = job->level_low >= 2 && APART * c->grid[0] <= c->grid[job->level_low] * (1 + 1e-9);
    if (job->below_count > 0)
        return apart || job->hopeless_low ? 0 : job->below[--job->below_count];
    double next = tnp_rung(tnp_rung_below(c->grid[0]) - 1);
    if (c->capacity <= c->planned || c->count >= c->capacity || job->best_cost != c->grid[0] ||
        next * c->scale < TNP_LOWEST_SCALED || next < TNP_LEAST_COST)
        return 0;
    ++c->added;
    return next;
}

/* Multipliers of a larger C may be beyond the bounds that those of the hinge have at a smaller one: they start from
 * nothing. */
static tn_status walk_down(tn_ctx *ctx, walk *job, tnp_share whole)
{
    tn_status st = TN_OK;
    tnp_cross *c = job->cross;
    double next;
    job->level_low = tnp_min(2, c->count - 1);
    for (size_t g = job->level_low; g-- > 0;)
        job->level_low = is_worse(job, job->first_unit + g * job->unit_count, 1) ? job->level_low : g;
    job->hopeless_low = is_hopeless(job, job->first_unit);
    while ((next = next_below(job)) > 0) {
        bool over;
        shift(c);
        ++job->level_low;
        c->grid[0] = next;
        start_from_nothing(job);
        if (job->lowest_w)
            memcpy(job->w, job->lowest_w, job->weights * sizeof *job->w);
        TN_TRY(tell(ctx, job, whole, 0));
        TN_TRY(try_cost(ctx, job, 0));
        account(job, 0, &over);
        job->hopeless_low = is_hopeless(job, job->unit);
        if (!is_worse(job, job->unit, 1))
            job->level_low = 0;
        if (job->lowest_w)
            memcpy(job->lowest_w, job->w, job->weights * sizeof *job->w);
    }
    c->skipped += job->below_count;
done:
    return st;
}

/* Sets the values aside that are far below where such models are best. */
static tn_status begin_above(tn_ctx *ctx, walk *job)
{
    tn_status st = TN_OK;
    tnp_cross *c = job->cross;
    double from = job->l->logistic ? BEGIN_LOGISTIC : BEGIN_SVM;
    size_t first = 0;
    while (first + 1 < c->planned && c->grid[first + 1] * c->scale <= from)
        ++first;
    if (first == 0 || first + 1 == c->planned)
        return TN_OK;
    TN_TRY(tnp_alloc(ctx, first, sizeof *job->below, &job->below));
    TN_TRY(tnp_alloc_raw(ctx, job->weights, sizeof *job->lowest_w, &job->lowest_w));
    memcpy(job->below, c->grid, first * sizeof *c->grid);
    memmove(c->grid, c->grid + first, (c->planned - first) * sizeof *c->grid);
    job->below_count = first;
done:
    return st;
}

static void walk_free(walk *job)
{
    for (size_t f = 0; job->own.kept && f < job->folds; ++f)
        tnp_coarse_destroy(&job->own.kept[f]);
    tnp_row_moment_destroy(&job->moment);
    tnp_free_all(job->best_w, job->before, job->now, job->part, job->rows, job->unit, job->best_unit, job->first_unit,
                 job->below, job->lowest_w, job->part_fold, job->start, job->own.kept);
}

tn_status tnp_linear_path(tn_ctx *ctx, const tnp_linear *l, const tnp_judges *judges, tnp_measure_fn measure, void *arg,
                          tnp_cross *cross, float *w, float *scores)
{
    tn_status st = TN_OK;
    size_t classes = l->task->y.classes, rows = judges->y->rows;
    walk job = {.l = &job.own,
                .own = *l,
                .judges = judges,
                .folds = cross->folds,
                .measure = measure,
                .arg = arg,
                .cross = cross,
                .w = w,
                .scores = scores,
                .size = rows * classes,
                .weights = l->folds * classes * (l->rows.dim + 1),
                .best = -INFINITY};
    tnp_share whole = tnp_progress_now(ctx);
    job.unit_count = l->task->kind == TN_TASK_MULTICLASS ? rows : job.folds > 1 ? job.folds : PARTS;
    if (cross->scale == 0)
        TN_TRY(tnp_path_scale(ctx, l, &cross->scale));
    TN_TRY(tnp_alloc_raw(ctx, job.weights, sizeof *job.best_w, &job.best_w));
    TN_TRY(tnp_alloc(ctx, job.weights, sizeof *job.before, &job.before));
    TN_TRY(tnp_alloc_raw(ctx, job.size, sizeof *job.now, &job.now));
    TN_TRY(tnp_alloc_raw(ctx, job.size, sizeof *job.part, &job.part));
    TN_TRY(tnp_alloc(ctx, rows, sizeof *job.rows, &job.rows));
    TN_TRY(tnp_alloc(ctx, job.unit_count, sizeof *job.unit, &job.unit));
    TN_TRY(tnp_alloc(ctx, job.unit_count, sizeof *job.best_unit, &job.best_unit));
    TN_TRY(tnp_alloc(ctx, 2 * job.unit_count, sizeof *job.first_unit, &job.first_unit));
    if (l->row_fold && job.folds > 1 && l->task->kind == TN_TASK_MULTICLASS)
        TN_TRY(tnp_alloc(ctx, l->task->y.rows, sizeof *job.part_fold, &job.part_fold));
    if (l->logistic && job.part_fold)
        TN_TRY(tnp_alloc_raw(ctx, job.weights, sizeof *job.start, &job.start));
    if (l->logistic && l->row_fold && l->task->kind == TN_TASK_MULTICLASS &&
        !tnp_team_shares(ctx)) { /* whose members might not have memory for the same ones */
        TN_TRY(tnp_alloc(ctx, job.folds, sizeof *job.own.kept, &job.own.kept));
        job.own.moment = &job.moment;
    }
    TN_TRY(begin_above(ctx, &job));
    start_from_nothing(&job);
    TN_TRY(walk_up(ctx, &job, whole));
    TN_TRY(walk_down(ctx, &job, whole));
    tnp_cross_finish(cross, false);
    if (isfinite(job.best))
        memcpy(w, job.best_w, job.weights * sizeof *w);
    for (size_t g = 0; g < cross->count && isfinite(job.best); ++g) /* the usual one may have stayed */
        cross->best = cross->grid[g] == job.best_cost ? g : cross->best;
done:
    tnp_progress_title(ctx, "");
    walk_free(&job);
    return st;
}

static tn_status score_held_out(tn_ctx *ctx, void *self, const float *w, float *scores)
{
    return tnp_linear_held_out(ctx, self, w, scores);
}

tn_status tnp_linear_cv(tn_ctx *ctx, const tnp_linear *l, tnp_measure_fn measure, void *arg, tnp_cross *cross, float *w,
                        float *scores)
{
    const tnp_judges judges = {&l->task->y, l->row_fold, score_held_out, (void *)(uintptr_t)l};
    return tnp_linear_path(ctx, l, &judges, measure, arg, cross, w, scores);
}
