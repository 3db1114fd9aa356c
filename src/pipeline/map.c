/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tn_map_learn: data sets to the map of an additive kernel, one call a step.
 *
 *   count the entries of all sets -> scale -> B, what can be told apart of the basis on them    learn/map/map_moments.c
 *   a set: rows through the map with W = B -> one machine per class -> A' += V'V''             learn/linear, learn/map
 *   A = B A' B' -> P, singular values -> W                                                      learn/map/map_learn.c
 *
 * The features of a set, functions x columns wide, are read block by block for the products of rows and once more for
 * the weights where the machines go by these products, which is nearly always; they are never whole in memory then. */
#include "learn/design/design.h"
#include "learn/linear/linear.h"
#include "learn/map/map_learn.h"
#include "learn/map/map_moments.h"
#include "pipeline/options.h"

#include <math.h>
#include <string.h>

static const double QUANTILE = 0.9999, LEFT_OUT = 1e-9;
enum { M = TN_BASIS_SIZE };
enum { SCALE_GIVEN, SCALE_AUTO }; /* S|auto */

void tnp_map_options_default(tnp_map_options *options)
{
    *options = (tnp_map_options){.rank = 6,
                                 .power = 0.5,
                                 .scale = {SCALE_AUTO, 0},
                                 .cost = 1,
                                 .gap = 1e-4,
                                 .max_passes = 1000,
                                 .nan = TN_NAN_ERROR};
}

const tn_field *tnp_map_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"rank", TN_FIELD_INT, offsetof(tnp_map_options, rank), 1, M, "K", "values that an entry becomes"},
        {"rate", TN_FIELD_REAL, offsetof(tnp_map_options, rate), 0, 1, "X",
         "take the fewest values with this contributing rate instead; 0: take option rank"},
        {"power", TN_FIELD_REAL, offsetof(tnp_map_options, power), 0, 1, "P",
         "power of the singular values in the weights of the map"},
        {"scale", TN_FIELD_REAL_OR_WORD, offsetof(tnp_map_options, scale), 1e-30, 1e30, "S|auto",
         "what L1-normalised rows are multiplied with; auto: 1 over the 99.99 % quantile of their entries"},
        {"basis", TN_FIELD_CHOICE, offsetof(tnp_map_options, basis), 0, 0, TN_BASIS_WORDS,
         "functions that the map is made of"},
        {"signed", TN_FIELD_CHOICE, offsetof(tnp_map_options, sign), 0, 0, TN_SIGNED_WORDS,
         "entries below zero: an odd map, or twice as many values"},
        {"C", TN_FIELD_REAL, offsetof(tnp_map_options, cost), 1e-30, 1e30, "X",
         "weight of the losses of the support vector machines"},
        {"gap", TN_FIELD_REAL, offsetof(tnp_map_options, gap), 1e-12, 1, "X",
         "stop the machines when they are certainly this close to the optimum, relatively"},
        {"max-passes", TN_FIELD_INT, offsetof(tnp_map_options, max_passes), 1, 1e9, "N", "most passes over the rows"},
        {"nan", TN_FIELD_CHOICE, offsetof(tnp_map_options, nan), 0, 0, TN_NAN_WORDS,
         "rows with NaN or infinity: refuse, leave out, or take zeros"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

typedef struct job {
    const tn_map_data *data;
    size_t count;
    const tnp_map_options *options;
    tnp_task **tasks;
    tnp_entries entries;
    double b[M * M], a[M * M]; /* (M, functions), (functions, functions) */
    tn_map_info info;
} job;

static tn_status check(tn_ctx *ctx, job *j)
{
    tn_status st = TN_OK;
    size_t count = 0;
    const tn_field *fields = tnp_map_fields(&count);
    TN_TRY(tnp_fields_check(ctx, fields, count, j->options));
    if (j->count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "kernel: no data sets, expected at least one"));
    for (size_t d = 0; d < j->count; ++d)
        if (j->data[d].labels->task == TN_TASK_REGRESSION)
            TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: real numbers, but a kernel is learned from classes",
                            j->data[d].labels->path));
done:
    return st;
}

/* ---- the entries ---- */

static tn_status count_entries(tn_ctx *ctx, job *j)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    tn_nan_policy nan = (tn_nan_policy)j->options->nan;
    TN_TRY(tnp_entries_init(ctx, &j->entries));
    TN_TRY(tnp_alloc(ctx, j->count, sizeof *j->tasks, &j->tasks));
    for (size_t d = 0; d < j->count; ++d) {
        const tn_map_data *data = &j->data[d];
        TN_TRY(tnp_task_new(ctx, &data->features, 1, data->labels, nan, false, &j->tasks[d]));
        TN_TRY(tn_feed_new(ctx, data->features, j->tasks[d]->rows, j->tasks[d]->y.rows, TN_NORM_L1, nan, NULL, &feed));
        TN_TRY(tnp_entries_add(ctx, &j->entries, feed));
        j->info.rows += j->tasks[d]->y.rows;
        tn_feed_free(feed);
        feed = NULL;
    }
done:
    tn_feed_free(feed);
    return st;
}

/* The scale, and B of the entries on its axis. */
static tn_status find_directions(tn_ctx *ctx, job *j)
{
    double typical = tnp_entries_quantile(&j->entries, QUANTILE);
    if (!(typical > 0)) /* nearly all are 0: what there is shall fit the axis */
        typical = tnp_entries_quantile(&j->entries, 1);
    if (j->entries.zeros == j->entries.total)
        return tnp_fail(ctx, TN_ERR_DATA, "%s: every entry of the labelled rows is 0, there is nothing to learn from",
                        tn_features_path(j->data[0].features));
    j->info.scale = j->options->scale.word == SCALE_GIVEN ? j->options->scale.value : 1 / typical;
    return tnp_entries_directions(ctx, &j->entries, (tn_basis)j->options->basis, j->info.scale, LEFT_OUT, j->b,
                                  &j->info.functions);
}

/* ---- the machines ---- */

/* Trains one machine per class of set d into w, made here and owned by the caller. */
static tn_status train(tn_ctx *ctx, job *j, size_t d, const tn_feed *feed, float **w, tnp_training *training)
{
    tn_status st = TN_OK;
    tnp_design *design = NULL;
    const tnp_task *task = j->tasks[d];
    tnp_learn_options learn;
    size_t rows = task->y.rows, dim = tn_feed_cols(feed), k = task->y.classes, weights = 4 * k * (dim + 1);
    tnp_learn_options_default(&learn);
    learn.loss = TNP_SVM_HINGE;
    learn.cost = j->options->cost;
    learn.gap = j->options->gap;
    learn.max_passes = j->options->max_passes;
    tnp_linear_method method = tnp_linear_method_for(ctx, &learn, TNP_BY_DUAL, rows, dim, k, weights);
    size_t reserve = tnp_linear_bytes(rows, dim, k, method) + weights;
    if (method == TNP_BY_GRAM)
        TN_TRY(tnp_design_new_streamed(ctx, &feed, 1, reserve, &design));
    else
        TN_TRY(tnp_design_new(ctx, &feed, 1, reserve, &design));
    TN_TRY(tnp_alloc(ctx, k * (dim + 1), sizeof **w, w));
    tnp_linear linear = {.rows = tnp_design_rows(design),
                         .design = design,
                         .task = task,
                         .options = &learn,
                         .bias = true,
                         .gram = method == TNP_BY_GRAM,
                         .seed = j->options->seed,
                         .folds = 1};
    TN_TRY(tnp_linear_train(ctx, &linear, j->options->cost, *w, training));
done:
    tnp_design_free(design);
    return st;
}

/* Adds set d to A'. */
static tn_status learn_set(tn_ctx *ctx, job *j, size_t d, const tn_map *map)
{
    tn_status st = TN_OK;
    tn_feed *feed = NULL;
    float *w = NULL;
    tnp_training training = {0};
    const tnp_task *task = j->tasks[d];
    size_t r = j->info.functions;
    TN_TRY(tn_feed_new(ctx, j->data[d].features, task->rows, task->y.rows, TN_NORM_NONE, (tn_nan_policy)j->options->nan,
                       map, &feed));
    TN_TRY(train(ctx, j, d, feed, &w, &training));
    TN_TRY(tnp_map_add_weights(ctx, w, task->y.classes, tn_feed_cols(feed) / r, r, j->a));
    for (size_t k = 0; k < task->y.classes; ++k)
        j->info.tasks += !task->constant[k];
    j->info.objective += training.objective;
    j->info.gap += training.gap;
    j->info.passes = tnp_max(j->info.passes, training.passes);
    j->info.converged &= training.converged;
done:
    tn_feed_free(feed);
    tnp_free(w);
    return st;
}

static tn_status learn_sets(tn_ctx *ctx, job *j)
{
    tn_status st = TN_OK;
    tn_map *map = NULL;
    tn_map_spec spec = {.basis = (tn_basis)j->options->basis,
                        .sign = (tn_signed)j->options->sign,
                        .rank = j->info.functions,
                        .scale = j->info.scale,
                        .weight = j->b};
    j->info.converged = true;
    TN_TRY(tn_map_new_learned(ctx, &spec, &map));
    tnp_share whole = tnp_progress_now(ctx);
    for (size_t d = 0; d < j->count; ++d) {
        TN_TRY(tnp_progress_step(ctx, whole, "training", d, j->count));
        TN_TRY(learn_set(ctx, j, d, map));
    }
done:
    tn_map_free(map);
    return st;
}

/* ---- the map ---- */

/* Values an entry that the options ask for. */
static size_t wanted_rank(const tnp_map_options *options, const double *rates)
{
    size_t rank = options->rank;
    if (options->rate > 0)
        for (rank = 1; rank < M && rates[rank - 1] < options->rate; ++rank)
            ;
    return rank;
}

static tn_status make_map(tn_ctx *ctx, job *j, tn_map **out)
{
    tnp_map_parts parts;
    double weight[M * M], bins[TN_MAP_BINS], beyond = 0;
    tn_status st = tnp_map_decompose(ctx, j->b, j->info.functions, j->a, &parts);
    if (st != TN_OK)
        return st;
    j->info.wanted = wanted_rank(j->options, parts.rates);
    j->info.rank = tnp_min(j->info.wanted, parts.holds);
    tnp_map_weights(&parts, j->info.rank, j->options->power, weight);
    tnp_entries_histogram(&j->entries, j->info.scale, bins, &beyond);
    memcpy(j->info.rates, parts.rates, sizeof parts.rates);
    memcpy(j->info.singular_values, parts.singular_values, sizeof parts.singular_values);
    j->info.beyond = beyond / (double)j->entries.total;
    j->info.zeros = (double)j->entries.zeros / (double)j->entries.total;
    tn_map_spec spec = {.basis = (tn_basis)j->options->basis,
                        .sign = (tn_signed)j->options->sign,
                        .rank = j->info.rank,
                        .scale = j->info.scale,
                        .weight = weight,
                        .power = j->options->power,
                        .tasks = j->info.tasks,
                        .rows = j->info.rows,
                        .rates = parts.rates,
                        .singular_values = parts.singular_values,
                        .vectors = parts.vectors,
                        .histogram = bins};
    return tn_map_new_learned(ctx, &spec, out);
}

tn_status tnp_map_learn(tn_ctx *ctx, const tn_map_data *data, size_t count, const tnp_map_options *options,
                        tn_map_info *info, tn_map **out)
{
    tn_status st = TN_OK;
    job *j = NULL;
    double begin = tnp_seconds(), before, after;
    tnp_share whole = tnp_progress_begin(ctx);
    (void)tnp_progress_part(ctx, whole, 0, 0.2);
    TN_TRY(tnp_alloc(ctx, 1, sizeof *j, &j));
    j->data = data;
    j->count = j->info.sets = count;
    j->options = options;
    TN_TRY(check(ctx, j));
    TN_TRY(count_entries(ctx, j));
    TN_TRY(find_directions(ctx, j));
    before = tnp_seconds();
    (void)tnp_progress_part(ctx, whole, 0.2, 1);
    TN_TRY(learn_sets(ctx, j));
    after = tnp_seconds();
    TN_TRY(tnp_progress_end(ctx));
    TN_TRY(make_map(ctx, j, out));
    j->info.svm_seconds = after - before;
    j->info.svd_seconds = tnp_seconds() - after;
    j->info.seconds = tnp_seconds() - begin;
    if (info)
        *info = j->info;
done:
    for (size_t d = 0; j && j->tasks && d < count; ++d)
        tnp_task_free(j->tasks[d]);
    if (j) {
        tnp_free(j->tasks);
        tnp_entries_destroy(&j->entries);
    }
    tnp_free(j);
    return st;
}
