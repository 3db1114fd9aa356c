/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training of online learners on a chosen set: values to try, validation rows, checkpoints, then the head. */
#include "algebra/blas.h"
#include "base/team.h"
#include "pipeline/online.h"
#include "store/checkpoint.h"
#include "base/text.h"
#include "tenon/evaluate.h"
#include "transform/feed.h"
#include "transform/map.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 1024 };

typedef struct online_job {
    const tnp_chosen *chosen;
    tnp_online_plan plan;
    double *cost, *eta; /* trials */
    float *start;       /* weights of the head to go on from */
    tn_head *probe;     /* how rows are prepared; takes the weights that are validated */
    tn_scorer *scorer;  /* of the probe on the validation rows */
    float *scores;      /* of a block of them; of all for multi-label */
    char *run;          /* options and data, for checkpoints */
    tnp_online_search *search;
} online_job;

/* One class against the rest, each by the sign of its score; of labels there is no single best wrong one. */
tnp_online_shape tnp_online_shape_of(const tnp_fit_options *o, tn_task task, size_t classes, size_t dim)
{
    bool ovr = o->online.multiclass != TNP_ONLINE_MUL || task == TN_TASK_MULTILABEL;
    return (tnp_online_shape){ovr ? TNP_OVR : TNP_MUL, !o->online.no_average, o->rank.evidence.intercept, classes, dim,
                              TNP_ONLINE_BLOCK};
}

static bool uses_eta(tnp_online_rule rule)
{
    return tnp_rule_margin_needs_variance(rule);
}

/* The Perceptron's C is a scale only; CW has none. */
static bool uses_cost(tnp_online_rule rule)
{
    return rule != TNP_PERCEPTRON && rule != TNP_CW;
}

/* ---- what is asked ---- */

bool tnp_begins_with(const char *const *names, size_t count, const tn_head *from)
{
    bool same = from->classes <= count;
    for (size_t k = 0; same && k < from->classes; ++k)
        same = strcmp(from->names[k], names[k]) == 0;
    return same;
}

/* The head's representations, in its order and prepared in its way: only then do its weights mean anything here. */
static tn_status check_from(tn_ctx *ctx, const tnp_chosen *c, const tnp_online_shape *shape)
{
    const tn_head *from = c->options->from;
    bool same = from->rep_count == c->count && from->task == c->selection->task->kind;
    for (size_t m = 0; same && m < c->count; ++m) {
        const tnp_rep *rep = &from->reps[m];
        same = strcmp(rep->name, tn_features_name(tn_feed_features(c->feeds[m]))) == 0 &&
               rep->dim == tn_features_cols(tn_feed_features(c->feeds[m])) &&
               rep->normalize == tn_feed_normalize(c->feeds[m]) && tnp_map_same(rep->map, tn_feed_map(c->feeds[m]));
    }
    if (!same || !tnp_begins_with((const char *const *)c->labels->names, c->labels->classes, from))
        return tnp_fail(
            ctx, TN_ERR_ARG,
            "option from: the head has other representations, columns, transform, normalisation or task than "
            "this data; tenon "
            "info shows them, and option transform and option normalize must be the head's");
    if (from->means)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option from: the head has z-scores of its own rows, which other rows do not share");
    return tnp_online_check_start(ctx, from, shape->scheme == TNP_OVR, shape->bias);
}

static tn_status check(tn_ctx *ctx, const tnp_chosen *c, const tnp_online_shape *shape)
{
    const tnp_fit_options *o = c->options;
    if (c->selection->task->kind == TN_TASK_REGRESSION)
        return tnp_fail(ctx, TN_ERR_ARG, "option method %s needs classes, but the task is a regression",
                        c->info->method);
    if (o->learn.calibrate == TNP_CALIBRATE_YES)
        return tnp_fail(ctx, TN_ERR_ARG, "option calibrate yes: option method %s has no held-out scores to fit to",
                        c->info->method);
    if (o->online.tune && o->valid.count == 0)
        return tnp_fail(ctx, TN_ERR_ARG,
                        "option tune needs rows to choose by: option valid REP... option valid-labels FILE");
    if (o->online.tune && o->method == TNP_METHOD_PERCEPTRON)
        return tnp_fail(ctx, TN_ERR_ARG, "option tune: the perceptron has nothing to tune, its C is a scale only");
    return o->from ? check_from(ctx, c, shape) : TN_OK;
}

/* Every pair of the paper's values that the rule has a use for. */
static tn_status make_trials(tn_ctx *ctx, online_job *job)
{
    static const double costs[] = {0.0625, 0.25, 1, 4, 16}, etas[] = {0.5, 0.6, 0.7, 0.8, 0.9};
    tn_status st = TN_OK;
    const tnp_fit_options *o = job->chosen->options;
    tnp_online_plan *plan = &job->plan;
    size_t c_count = o->online.tune && uses_cost(plan->rule) ? 5 : 1,
           e_count = o->online.tune && uses_eta(plan->rule) ? 5 : 1;
    plan->trials = c_count * e_count;
    TN_TRY(tnp_alloc(ctx, plan->trials, sizeof *job->cost, &job->cost));
    TN_TRY(tnp_alloc(ctx, plan->trials, sizeof *job->eta, &job->eta));
    for (size_t i = 0; i < plan->trials; ++i) {
        job->cost[i] = c_count > 1 ? costs[i / e_count] : o->learn.cost;
        job->eta[i] = e_count > 1 ? etas[i % e_count] : o->online.eta;
    }
    plan->cost = job->cost;
    plan->eta = job->eta;
done:
    return st;
}

/* A head to go on from brings the centres of its columns: its weights go on meaning what they did. Representations that
 * had none in it keep the one that the rows at hand ask for. */
static tn_status take_centre(tn_ctx *ctx, const tnp_chosen *c)
{
    tn_status st = TN_OK;
    const tn_head *from = c->options->from;
    for (size_t m = 0, at = 0; from && from->centre && m < c->count; at += tn_feed_cols(c->feeds[m++])) {
        bool any = false;
        for (size_t j = 0; j < tn_feed_cols(c->feeds[m]); ++j)
            any |= from->centre[at + j] != 0;
        if (any)
            TN_TRY(tnp_feed_set_centre(ctx, c->selection->candidates->feeds[c->members[m]], from->centre + at));
    }
done:
    return st;
}

/* Weights of the head to go on from; classes it does not know stay 0. */
static tn_status make_start(tn_ctx *ctx, online_job *job)
{
    const tn_head *from = job->chosen->options->from;
    const tnp_online_shape *shape = &job->plan.shape;
    size_t size = shape->classes * tnp_row_stride(shape->dim + 1);
    tn_status st = from ? tnp_alloc(ctx, size, sizeof *job->start, &job->start) : TN_OK;
    if (st == TN_OK && from)
        tnp_online_start(from, job->probe->centre, shape->scheme == TNP_OVR, shape->bias, job->start);
    job->plan.start = job->start;
    return st;
}

/* ---- validation ---- */

/* Rows of a block that have a class, and those whose best score is it. Rows with NaN scores were dropped. */
static void count_right(const tn_labels *labels, size_t start, size_t n, size_t classes, const float *scores,
                        size_t *right, size_t *all)
{
    for (size_t i = 0; i < n; ++i) {
        const float *s = scores + i * classes;
        size_t row = start + i, best = 0;
        if (!labels->known[row] || labels->first[row] == labels->first[row + 1] || isnan(s[0]))
            continue;
        for (size_t k = 1; k < classes; ++k)
            best = s[k] > s[best] ? k : best;
        ++*all;
        *right += best == labels->cls[labels->first[row]];
    }
}

/* Accuracy, block by block; multi-label: mean average precision, which needs all scores at once. */
static tn_status measure(tn_ctx *ctx, void *arg, const float *w, double *value)
{
    tn_status st = TN_OK;
    online_job *job = arg;
    const tn_labels *labels = job->chosen->options->valid.labels;
    size_t rows = tn_scorer_rows(job->scorer), k = job->plan.shape.classes, right = 0, all = 0;
    bool multilabel = job->chosen->selection->task->kind == TN_TASK_MULTILABEL;
    tn_metrics *metrics = NULL;
    tnp_online_fill(w, job->probe);
    for (size_t start = 0, n; start < rows; start += n) {
        n = tnp_min(BLOCK, rows - start);
        float *scores = job->scores + (multilabel ? start * k : 0);
        TN_TRY(tn_scorer_read(ctx, job->scorer, start, n, scores));
        if (!multilabel)
            count_right(labels, start, n, k, scores, &right, &all);
    }
    if (multilabel)
        TN_TRY(tn_metrics_compute(ctx, (tn_view){job->scores, rows, k, k}, labels, 0, &metrics));
    *value = multilabel ? metrics->mean_ap : all ? (double)right / (double)all : 0;
    *value = isnan(*value) ? 0 : *value;
done:
    tn_metrics_free(metrics);
    return st;
}

static tn_status open_validation(tn_ctx *ctx, online_job *job)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    const tnp_valid *valid = &c->options->valid;
    size_t k = c->labels->classes;
    TN_TRY(tnp_valid_check(ctx, valid, c->labels));
    TN_TRY(tn_scorer_new(ctx, job->probe, valid->features, valid->count, (tn_nan_policy)c->options->rank.nan,
                         &job->scorer));
    size_t rows = valid->labels->task == TN_TASK_MULTILABEL ? tn_scorer_rows(job->scorer) : BLOCK;
    TN_TRY(tnp_alloc_raw(ctx, rows * k, sizeof *job->scores, &job->scores));
    job->plan.measure = measure;
done:
    return st;
}

/* ---- checkpoints ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ p[i]) * 1099511628211u; /* FNV-1a */
    return hash;
}

/* Labels, weights of rows and of the start, and the first, middle and last row of the features. */
static tn_status hash_data(tn_ctx *ctx, const online_job *job, const float *row_weight, uint64_t *hash)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    const tnp_targets *y = &c->selection->task->y;
    const size_t probes[] = {0, y->rows / 2, y->rows - 1};
    float *row = NULL;
    TN_TRY(tnp_alloc(ctx, job->plan.shape.dim, sizeof *row, &row));
    *hash = hash_bytes(14695981039346656037u, y->first, (y->rows + 1) * sizeof *y->first);
    *hash = hash_bytes(*hash, y->cls, y->first[y->rows] * sizeof *y->cls);
    *hash = row_weight ? hash_bytes(*hash, row_weight, y->rows * sizeof *row_weight) : *hash;
    *hash = job->start ? hash_bytes(*hash, job->start,
                                    job->plan.shape.classes * tnp_row_stride(job->plan.shape.dim + 1) * sizeof(float))
                       : *hash;
    for (size_t p = 0; p < sizeof probes / sizeof *probes; ++p)
        for (size_t m = 0; m < c->count; ++m) {
            TN_TRY(tn_feed_read(ctx, c->feeds[m], probes[p], 1, row, tn_feed_cols(c->feeds[m])));
            *hash = hash_bytes(*hash, row, tn_feed_cols(c->feeds[m]) * sizeof *row);
        }
done:
    tnp_free(row);
    return st;
}

/* One line that only the same options on the same data give. */
static tn_status describe_run(tn_ctx *ctx, online_job *job, const float *row_weight)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    tnp_fit_options used = *c->options;
    uint64_t hash = 0;
    char *options = NULL;
    tnp_text text;
    used.online.checkpoint = ""; /* the file may be moved */
    TN_TRY(hash_data(ctx, job, row_weight, &hash));
    TN_TRY(tnp_options_json(ctx, &used, &options));
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "%s rows %zu, columns %zu, validation rows %zu, hash %016llx, classes ", options,
                 c->selection->task->y.rows, job->plan.shape.dim, job->scorer ? tn_scorer_rows(job->scorer) : 0,
                 (unsigned long long)hash);
    tnp_text_quotes(&text, (const char *const *)c->labels->names, c->labels->classes);
    TN_TRY(tnp_text_take(&text, &job->run));
done:
    tn_text_free(options);
    return st;
}

static tn_status save_checkpoint(tn_ctx *ctx, void *arg, const tnp_online_search *search)
{
    const online_job *job = arg;
    return tnp_checkpoint_save(ctx, job->chosen->options->online.checkpoint, job->run, search);
}

/* ---- the whole ---- */

/* The rows that a pass visits here: all, or those of this member of a team, by feeds of their own. */
typedef struct own_rows {
    tnp_targets y;
    tn_feed *slices;
    const tn_feed **feeds;
    tnp_online_data data;
} own_rows;

static tn_status take_part(tn_ctx *ctx, online_job *job, const tnp_online_data *all, own_rows *own)
{
    tn_status st = TN_OK;
    size_t *cut = NULL, from, to;
    TN_TRY(tnp_feeds_cut(ctx, all->feeds, all->feed_count, 1, &cut));
    tnp_team_own(ctx, cut, &from, &to);
    TN_TRY(tnp_alloc(ctx, all->feed_count, sizeof *own->slices, &own->slices));
    TN_TRY(tnp_alloc(ctx, all->feed_count, sizeof *own->feeds, &own->feeds));
    for (size_t f = 0; f < all->feed_count; ++f) {
        own->slices[f] = tnp_feed_slice(all->feeds[f], from, to - from);
        own->feeds[f] = &own->slices[f];
    }
    own->y = *all->y;
    own->y.rows = to - from;
    own->y.first += from;
    own->data = *all;
    own->data.feeds = own->feeds;
    own->data.y = &own->y;
    own->data.weight = all->weight ? all->weight + from : NULL;
    job->plan.mix = tnp_team_shares(ctx);
    job->plan.share = (double)own->y.rows / (double)all->y->rows;
done:
    tnp_free(cut);
    return st;
}

static tn_status train(tn_ctx *ctx, online_job *job)
{
    tn_status st = TN_OK;
    const tnp_chosen *c = job->chosen;
    const tnp_fit_options *o = c->options;
    float *row_weight = NULL;
    tnp_passes *passes = NULL;
    own_rows own = {.slices = NULL};
    bool found = false;
    TN_TRY(tnp_row_weights(ctx, c->selection->task, &o->learn, &row_weight));
    TN_TRY(tnp_online_search_new(ctx, &job->plan, &job->search));
    if (*o->online.checkpoint) {
        TN_TRY(tn_output_check(ctx, o->online.checkpoint));
        TN_TRY(describe_run(ctx, job, row_weight));
        TN_TRY(tnp_checkpoint_load(ctx, o->online.checkpoint, job->run, &job->plan, job->search, &found));
        job->plan.after_pass = save_checkpoint;
    }
    bool balance = o->learn.class_weight == TNP_WEIGHT_BALANCED && c->selection->task->kind == TN_TASK_MULTILABEL;
    const tnp_online_data data = {c->feeds, c->count, &c->selection->task->y, row_weight, balance, NULL};
    TN_TRY(take_part(ctx, job, &data, &own));
    if (own.y.rows > 0)
        TN_TRY(tnp_passes_new(ctx, &own.data, &o->online, o->rank.seed, job->plan.shape.block, &passes));
    TN_TRY(tnp_online_search_run(ctx, &job->plan, passes, job->search));
done:
    tnp_free(row_weight);
    tnp_passes_free(passes);
    tnp_free_all(own.slices, own.feeds);
    return st;
}

/* What happened, for the report: all trials, and the passes of the best. */
static tn_status keep_account(tn_ctx *ctx, const online_job *job)
{
    tn_status st = TN_OK;
    tn_fit_info *info = job->chosen->info;
    const tnp_online_search *s = job->search;
    const tnp_online_trial *best = &s->trials[s->best_trial];
    const tnp_account *accounts = s->accounts + s->best_trial * s->epochs;
    size_t count = 0;
    while (count < s->epochs && accounts[count].seconds > 0)
        ++count;
    TN_TRY(tnp_alloc(ctx, count, sizeof *info->epochs, &info->epochs));
    for (size_t i = 0; i < count; ++i)
        info->epochs[i] = (tn_epoch){accounts[i].updates, accounts[i].mistakes, accounts[i].value, accounts[i].seconds};
    info->epoch_count = count;
    info->epoch_best = best->best_pass;
    info->passes = count;
    info->cost = uses_cost(job->plan.rule) ? best->cost : NAN;
    info->eta = uses_eta(job->plan.rule) ? best->eta : NAN;
    if (s->trial_count > 1) {
        TN_TRY(tnp_alloc(ctx, s->trial_count, sizeof *info->trials, &info->trials));
        for (size_t i = 0; i < s->trial_count; ++i)
            info->trials[i] = (tn_trial){uses_cost(job->plan.rule) ? s->trials[i].cost : NAN,
                                         uses_eta(job->plan.rule) ? s->trials[i].eta : NAN, s->trials[i].value,
                                         s->trials[i].best_pass};
        info->trial_count = s->trial_count;
        info->trial_best = s->best_trial;
    }
done:
    return st;
}

tn_status tnp_train_online(tn_ctx *ctx, const tnp_chosen *c, tn_head **out)
{
    tn_status st = TN_OK;
    const tnp_online_options *online = &c->options->online;
    tn_head *head = NULL;
    online_job job = {.chosen = c};
    size_t dim = 0;
    for (size_t m = 0; m < c->count; ++m)
        dim += tn_feed_cols(c->feeds[m]);
    job.plan = (tnp_online_plan){
        .rule = tnp_method_of(c->options->method)->rule,
        .shape = tnp_online_shape_of(c->options, c->selection->task->kind, c->labels->classes, dim),
        .epochs = online->epochs,
        .patience = online->patience,
        .arg = &job,
    };
    TN_TRY(check(ctx, c, &job.plan.shape));
    TN_TRY(take_centre(ctx, c));
    TN_TRY(tnp_begin_head(ctx, c, &job.probe));
    TN_TRY(make_trials(ctx, &job));
    TN_TRY(make_start(ctx, &job));
    if (c->options->valid.count > 0)
        TN_TRY(open_validation(ctx, &job));
    TN_TRY(train(ctx, &job));
    TN_TRY(keep_account(ctx, &job));
    TN_TRY(tnp_begin_head(ctx, c, &head));
    tnp_online_fill(job.search->best, head);
    *out = head;
    head = NULL;
done:
    tn_head_free(head);
    tn_scorer_free(job.scorer);
    tn_head_free(job.probe);
    tnp_online_search_free(job.search);
    tnp_free_all(job.cost, job.eta, job.start, job.scores);
    tn_text_free(job.run);
    return st;
}
