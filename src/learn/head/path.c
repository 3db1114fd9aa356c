/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The path of linear classifiers along C. In 1/2 |w|^2 + C sum loss, C is the variance of the weights a priori, and with
 *
 *   s^2 = mean |x - mean|^2   (without an intercept: mean |x|^2)
 *
 * C s^2 is that of a score about its mean, whatever the units, the number and the width of the rows. Below FIRST scores
 * cannot leave 0.1, and nothing is learned but the means of classes; at 1000 they may be 30 apart, and rows are told
 * apart for certain. The grid that is found begins at the largest of ..., 0.1, 0.3, 1, 3, ... with C s^2 <= FIRST and
 * has STEPS values; people know these numbers, and sets of rows that differ a little have the same ones.
 *
 * Where the best is the last value the path goes on to C s^2 = HIGHEST, where it is the first it goes on below, to
 * LOWEST. It ends early at C when the last two values or more, and all above a tenth of C, are clearly worse than the
 * best: paired with it, unit by unit, by more than a standard error. Units are the rows of a multi-class task, right or
 * wrong; for labels the folds, or PARTS of the rows where there is one fold. Below C s^2 = 1 the path never ends: a
 * model that is yet to learn says little about the one that has.
 *
 * Models are trained to the gap that the options ask for, below C s^2 = 1 to that part of it: there weights change the
 * objective by about that part only, and a model that is close by its objective may be any.
 *
 * The best mean decides. The largest regularisation within a standard error of it was refused: it is the choice for a
 * model that is to be small, and none of these is smaller than another; with folds of one size errors of neighbouring C
 * go together, and the rule loses accuracy by design.
 *
 * Oracle: cold solutions by another library (tests/unit/test_path.c), curves made up for the rule. */
#include "learn/head/calibrate.h"
#include "learn/head/cross.h"
#include "learn/head/folds.h"
#include "learn/ridge/ridge.h"

#include <math.h>
#include <string.h>

enum { STEPS = 11, PARTS = 5, SAMPLE = 4096 };
static const double FIRST = 0.01, LOWEST = 1e-6, HIGHEST = 1e6; /* of C s^2 */
static const double LEARNED = 1;                                /* of C s^2: what falls from here on has fallen */
static const double APART = 10;                                 /* factor of C over which all must be clearly worse */
static const double LEAST_GAP = 1e-7;
static const double LEAST_COST = 1e-30, MOST_COST = 1e30; /* bounds of the option */

/* ---- the grid ---- */

/* Mean |x - mean|^2 over a sample of rows, which is rounded to a third of itself anyway. */
static tn_status spread(tn_ctx *ctx, const tnp_linear *l, double *out)
{
    tn_status st = TN_OK;
    const float *x = NULL;
    float *kept = NULL;
    double *sum = NULL, square = 0;
    size_t ld = 0, stride = (l->rows.rows + SAMPLE - 1) / SAMPLE, n = (l->rows.rows + stride - 1) / stride;
    TN_TRY(l->rows.ops->sample(ctx, l->rows.self, stride, &x, &ld, &kept));
    TN_TRY(tnp_alloc(ctx, l->rows.dim, sizeof *sum, &sum));
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < l->rows.dim; ++j) {
            double v = (double)x[i * ld + j];
            sum[j] += v;
            square += v * v;
        }
    for (size_t j = 0; l->bias && j < l->rows.dim; ++j)
        square -= sum[j] * sum[j] / (double)n;
    *out = square / (double)n;
done:
    tnp_free(sum);
    tnp_free(kept);
    return st;
}

/* What C is multiplied with to be the variance of scores: s^2 times the weight that a row has beside C. 1 where rows do
 * not differ. */
static tn_status find_scale(tn_ctx *ctx, const tnp_linear *l, double *scale)
{
    double weight = 0, n = (double)l->task->y.rows;
    tn_status st = spread(ctx, l, scale);
    for (size_t i = 0; l->row_weight && i < l->task->y.rows; ++i)
        weight += (double)l->row_weight[i] / n;
    *scale *= l->row_weight ? weight : 1;
    *scale /= l->options->mean_cost ? n : 1;
    *scale = st == TN_OK && *scale > 0 && isfinite(*scale) ? *scale : 1;
    return st;
}

/* Rungs of the ladder ..., 0.1, 0.3, 1, 3, ...: number 0 is 1. */
static double rung(int i)
{
    int tens = (i - (i & 1)) / 2;
    double digit = i & 1 ? 3 : 1;
    return tens < 0 ? digit / pow(10, -tens) : digit * pow(10, tens);
}

/* The largest that is at most c. */
static int rung_below(double c)
{
    int i = (int)(2 * floor(log10(c))) - 1;
    while (rung(i + 1) <= c * (1 + 1e-9))
        ++i;
    return i;
}

tn_status tnp_cross_found(tn_ctx *ctx, const tnp_linear *l, size_t folds, tnp_cross **out)
{
    tn_status st = TN_OK;
    tnp_cross *c = NULL;
    double scale;
    TN_TRY(find_scale(ctx, l, &scale));
    int lowest = rung_below(fmax(LOWEST / scale, LEAST_COST)), highest = rung_below(fmin(HIGHEST / scale, MOST_COST));
    int first = rung_below(fmin(fmax(FIRST / scale, LEAST_COST), MOST_COST));
    int last = first + STEPS - 1 < highest ? first + STEPS - 1 : highest;
    lowest = lowest < first ? lowest : first;
    last = last > first ? last : first;
    TN_TRY(tnp_cross_sized(ctx, (size_t)((highest > last ? highest : last) - lowest + 1), folds, &c));
    for (int i = first; i <= last; ++i)
        c->grid[c->count++] = fmax(rung(i), LEAST_COST);
    c->planned = c->count;
    c->scale = scale;
    *out = c;
done:
    return st;
}

tn_status tnp_cross_want_loss(tn_ctx *ctx, tnp_cross *c)
{
    tn_status st = tnp_alloc(ctx, c->capacity, sizeof *c->log_loss, &c->log_loss);
    return st == TN_OK ? tnp_alloc(ctx, c->capacity, sizeof *c->temperature, &c->temperature) : st;
}

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
    double best;                             /* mean at the best so far, -inf before there is one */
    double best_cost, level;                 /* its C; the last C that was not clearly worse, */
    size_t level_at;                         /* and its place */
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

/* Right (1) or wrong (0) of every row that is judged, NaN of the others. */
static void judge_rows(const walk *job)
{
    const tnp_targets *y = job->judges->y;
    size_t k = y->classes;
    for (size_t i = 0; i < y->rows; ++i) {
        const float *s = job->now + i * k;
        size_t best = 0;
        for (size_t c = 1; c < k; ++c)
            best = s[c] > s[best] ? c : best;
        bool judged = job->judges->row_fold[i] < job->folds && y->first[i] < y->first[i + 1];
        job->unit[i] = judged ? (double)(y->cls[y->first[i]] == best) : (double)NAN;
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

static tn_status judge(tn_ctx *ctx, const walk *job, size_t g)
{
    tn_status st = TN_OK;
    double *value = job->cross->value + g * job->folds;
    for (size_t f = 0; f < job->folds; ++f)
        TN_TRY(job->measure(ctx, job->arg, job->rows, gather(job, (uint32_t)f, 0, 1), job->part, &value[f]));
    tnp_cross_summarise(job->cross, g);
    if (job->l->task->kind == TN_TASK_MULTICLASS)
        judge_rows(job);
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

static tn_status try_cost(tn_ctx *ctx, walk *job, size_t g)
{
    tn_status st = TN_OK;
    tnp_cross *c = job->cross;
    tnp_training training;
    tnp_linear l = *job->l;
    tnp_learn_options options = *l.options;
    options.gap = fmin(options.gap, fmax(options.gap * c->grid[g] * c->scale, LEAST_GAP));
    l.options = &options;
    TN_TRY(tnp_linear_train(ctx, &l, c->grid[g], job->w, &training));
    TN_TRY(job->judges->score(ctx, job->judges->self, job->w, job->now));
    put_constants(job);
    TN_TRY(judge(ctx, job, g));
    if (c->log_loss)
        TN_TRY(judge_loss(ctx, job, g));
done:
    return st;
}

/* ---- the walk ---- */

/* Whether this C is worse than the best by more than a standard error of the differences of their units. */
static bool clearly_worse(const walk *job, double mean)
{
    double n = 0, sum = 0, square = 0;
    for (size_t i = 0; i < job->unit_count; ++i) {
        double d = job->best_unit[i] - job->unit[i];
        if (isnan(d))
            continue;
        n += 1;
        sum += d;
        square += d * d;
    }
    if (!(mean < job->best) || n < 2)
        return false;
    return sum > sqrt(fmax(square - sum * sum / n, 0) * n / (n - 1)); /* both times n */
}

/* Takes value g into account; *over: nothing is to be expected of a larger C. */
static void account(walk *job, size_t g, bool *over)
{
    const tnp_cross *c = job->cross;
    double cost = c->grid[g];
    if (c->mean[g] > job->best) {
        job->best = c->mean[g];
        job->best_cost = cost;
        memcpy(job->scores, job->now, job->size * sizeof *job->scores);
        memcpy(job->best_w, job->w, job->weights * sizeof *job->w);
        memcpy(job->best_unit, job->unit, job->unit_count * sizeof *job->unit);
    }
    if (!clearly_worse(job, c->mean[g])) {
        job->level = cost;
        job->level_at = g;
    }
    *over = cost * c->scale >= LEARNED && cost >= APART * job->level * (1 - 1e-9) && g >= job->level_at + 2;
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
    size_t g = 0;
    for (; g < c->capacity && !over; ++g) {
        if (g >= c->planned) { /* past the end of a grid that was found, as long as the last value is the best */
            double next = rung(rung_below(c->grid[g - 1]) + 1);
            if (job->best_cost != c->grid[g - 1] || next * c->scale > HIGHEST || next > MOST_COST)
                break;
            c->grid[g] = next;
        }
        TN_TRY(tell(ctx, job, whole, g));
        start_ahead(job, g);
        TN_TRY(try_cost(ctx, job, g));
        account(job, g, &over);
    }
    c->count = g;
    c->skipped = g < c->planned ? c->planned - g : 0;
    c->added = g > c->planned ? g - c->planned : 0;
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
    if (c->log_loss) {
        memmove(c->log_loss + 1, c->log_loss, c->count * sizeof *c->log_loss);
        memmove(c->temperature + 1, c->temperature, c->count * sizeof *c->temperature);
    }
    ++c->count;
}

static void start_from_nothing(const walk *job)
{
    const tnp_linear *l = job->l;
    memset(job->w, 0, job->weights * sizeof *job->w);
    if (l->alpha)
        memset(l->alpha, 0, l->task->y.rows * l->folds * l->task->y.classes * sizeof *l->alpha);
}

/* Below the first value of a grid that was found, as long as the first is the best. Multipliers of a larger C may be
 * beyond the bounds of a smaller one, and so small a C is soon solved: each starts from nothing. */
static tn_status walk_down(tn_ctx *ctx, walk *job, tnp_share whole)
{
    tn_status st = TN_OK;
    tnp_cross *c = job->cross;
    while (c->capacity > c->planned && c->count < c->capacity && job->best_cost == c->grid[0]) {
        int below = rung_below(c->grid[0]) - 1;
        bool over;
        if (rung(below) * c->scale < LOWEST || rung(below) < LEAST_COST)
            break;
        shift(c);
        ++c->added;
        c->grid[0] = rung(below);
        start_from_nothing(job);
        TN_TRY(tell(ctx, job, whole, 0));
        TN_TRY(try_cost(ctx, job, 0));
        account(job, 0, &over);
    }
done:
    return st;
}

static void walk_free(walk *job)
{
    tnp_free(job->best_w);
    tnp_free(job->before);
    tnp_free(job->now);
    tnp_free(job->part);
    tnp_free(job->rows);
    tnp_free(job->unit);
    tnp_free(job->best_unit);
}

tn_status tnp_linear_path(tn_ctx *ctx, const tnp_linear *l, const tnp_judges *judges, tnp_measure_fn measure, void *arg,
                          tnp_cross *cross, float *w, float *scores)
{
    tn_status st = TN_OK;
    size_t classes = l->task->y.classes, rows = judges->y->rows;
    walk job = {.l = l,
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
        TN_TRY(find_scale(ctx, l, &cross->scale));
    TN_TRY(tnp_alloc_raw(ctx, job.weights, sizeof *job.best_w, &job.best_w));
    TN_TRY(tnp_alloc(ctx, job.weights, sizeof *job.before, &job.before));
    TN_TRY(tnp_alloc_raw(ctx, job.size, sizeof *job.now, &job.now));
    TN_TRY(tnp_alloc_raw(ctx, job.size, sizeof *job.part, &job.part));
    TN_TRY(tnp_alloc(ctx, rows, sizeof *job.rows, &job.rows));
    TN_TRY(tnp_alloc(ctx, job.unit_count, sizeof *job.unit, &job.unit));
    TN_TRY(tnp_alloc(ctx, job.unit_count, sizeof *job.best_unit, &job.best_unit));
    start_from_nothing(&job);
    TN_TRY(walk_up(ctx, &job, whole));
    TN_TRY(walk_down(ctx, &job, whole));
    tnp_cross_finish(cross, false);
    if (isfinite(job.best))
        memcpy(w, job.best_w, job.weights * sizeof *w);
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
