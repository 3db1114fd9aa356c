/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leave-one-out from moments, of rows that are among those that went in: the closed form of learn/ridge/loo.c needs of
 * all other rows nothing but their sums,
 *
 *   prediction of row i without row i = y_i - (y_i - yhat_i) / (1 - H_ii),   H_ii = g_i (1/W + z_i'(G + lambda I)^-1 z_i)
 *
 * G about the mean, W the sum of weights, g_i that of the row. All rows of the sample count alike: whoever drew it knows
 * why. lambda is the one that all classes share in a ranking, and those of the head in a fit, as of rows; where there is
 * none, multi-class figures are NaN, since class means, which decide then, are of all rows. Classes of few rows
 * lose one row at a time here too; of rows they lose one each, which takes all of them.
 *
 * Whether a row did go in cannot be seen from sums. One that did not is noticed where H_ii is not below 1, which no row
 * of its own moments can reach; else its figure is a little off, by the weight of one row. Oracle: ridge regressions
 * without the row, and the same rows in memory, tests/unit/test_tally_sample.c. */
#include "pipeline/moments/moments.h"

#include <math.h>
#include <string.h>

static bool is_weighted(const tnp_moments *all)
{
    return all->weight != (double)all->rows || all->log_weight != 0;
}

/* Every representation of the moments is there, with its columns, and no other. */
static tn_status check_names(tn_ctx *ctx, const tn_head *like, const tnp_valid *given)
{
    for (size_t i = 0; i < given->count; ++i) {
        const char *name = tn_features_name(given->features[i]);
        size_t cols = tn_features_cols(given->features[i]), r = 0;
        while (r < like->rep_count && strcmp(like->reps[r].name, name) != 0)
            ++r;
        if (r == like->rep_count)
            return tnp_fail(ctx, TN_ERR_ARG,
                            "option rows: %s is named '%s', and the moments have '%s'; give it as %s=FILE",
                            tn_features_path(given->features[i]), name, like->reps[0].name, like->reps[0].name);
        if (cols != like->reps[r].dim)
            return tnp_fail(ctx, TN_ERR_SHAPE, "option rows: %s: %zu columns, but the moments of '%s' are of %zu",
                            tn_features_path(given->features[i]), cols, name, like->reps[r].dim);
    }
    for (size_t r = 0; r < like->rep_count; ++r) {
        size_t i = 0;
        while (i < given->count && strcmp(tn_features_name(given->features[i]), like->reps[r].name) != 0)
            ++i;
        if (i == given->count)
            return tnp_fail(ctx, TN_ERR_ARG,
                            "option rows: the moments are of '%s' too; give the same rows of it, %s=FILE",
                            like->reps[r].name, like->reps[r].name);
    }
    return TN_OK;
}

/* No label of a class that no row of the moments has. */
static tn_status check_classes(tn_ctx *ctx, const tn_head *like, const tn_labels *labels)
{
    for (size_t c = 0; labels->task != TN_TASK_REGRESSION && c < labels->classes; ++c) {
        size_t k = 0;
        while (k < like->classes && strcmp(like->names[k], labels->names[c]) != 0)
            ++k;
        if (k == like->classes)
            return tnp_fail(ctx, TN_ERR_DATA, "%s: class '%s' is none of the moments', expected rows that went in",
                            labels->path, labels->names[c]);
    }
    return TN_OK;
}

static tn_status check(tn_ctx *ctx, const tn_tally *tally, const tnp_moments *all, const tnp_valid *given)
{
    const tn_labels *labels = given->labels;
    tn_status st = TN_OK;
    if (!labels)
        return tnp_fail(ctx, TN_ERR_ARG, "option rows needs the labels of these rows");
    TN_TRY(check_names(ctx, tally->like, given));
    TN_TRY(tn_rows_agree(ctx, given->features, given->count, labels));
    if (labels->task != tally->like->task)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "%s: %s labels, but the moments are of a %s task", labels->path,
                        tn_task_name(labels->task), tn_task_name(tally->like->task)));
    if (is_weighted(all) != (labels->weights != NULL))
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "option rows: the moments are of rows %s weights, the sample has %s",
                        is_weighted(all) ? "with" : "without", labels->weights ? "some" : "none"));
    TN_TRY(check_classes(ctx, tally->like, labels));
    TN_TRY(tn_labels_map(ctx, given->labels, (const char *const *)tally->like->names, tally->like->classes));
done:
    return st;
}

/* A model without the only row of a class has never seen the class. */
static bool is_alone(const tnp_tallied *t, const tnp_task *task, size_t row)
{
    return task->kind == TN_TASK_MULTICLASS && !is_weighted(t->all) && t->all->ysum[task->cls[task->first[row]]] == 1;
}

static tn_status pick_rows(tn_ctx *ctx, const tnp_tallied *t, tnp_sampled *s)
{
    tn_status st = TN_OK;
    size_t n = s->task->y.rows;
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->rows.rows, &s->rows.rows));
    TN_TRY(tnp_alloc(ctx, n, sizeof *s->rows.weight, &s->rows.weight));
    for (size_t i = 0; i < n; ++i)
        if (!is_alone(t, s->task, i))
            s->rows.rows[s->rows.count++] = i;
    if (s->rows.count == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "option rows: %s: no row to leave out, expected labelled rows of classes of two "
                        "rows and more",
                        s->task->labels->path));
    for (size_t i = 0; i < s->rows.count; ++i)
        s->rows.weight[i] = 1 / (double)s->rows.count;
done:
    return st;
}

tn_status tnp_sampled_init(tn_ctx *ctx, const tnp_tallied *t, const tnp_rank_options *options, tnp_sampled *s)
{
    tn_status st = TN_OK;
    const tnp_valid *given = &options->rows;
    const tn_head *like = t->tally->like;
    tnp_learn_options weights;
    tnp_learn_options_default(&weights);
    TN_TRY(check(ctx, t->tally, t->all, given));
    TN_TRY(tnp_task_chunk(ctx, given->features, given->count, given->labels, (tn_nan_policy)options->nan, &s->task));
    TN_TRY(tnp_task_weigh(ctx, s->task, &weights));
    for (size_t i = 0; s->task->values && options->evidence.intercept && i < s->task->y.rows * like->classes; ++i)
        s->task->values[i] -= t->tally->offset[i % like->classes];
    TN_TRY(pick_rows(ctx, t, s));
    TN_TRY(tnp_alloc(ctx, like->rep_count, sizeof *s->feeds, &s->feeds));
    s->feed_count = like->rep_count;
    TN_TRY(tnp_head_feeds(ctx, like, given->features, given->count, s->task->rows, s->task->y.rows,
                          (tn_nan_policy)options->nan, s->feeds));
done:
    return st;
}

void tnp_sampled_destroy(tnp_sampled *s)
{
    for (size_t f = 0; f < s->feed_count; ++f)
        tn_feed_free(s->feeds[f]);
    tnp_task_free(s->task);
    tnp_free_all(s->feeds, s->rows.rows, s->rows.weight);
}

/* A row that the moments do not know may pull its own prediction more than all the others together. */
static tn_status check_leverage(tn_ctx *ctx, const tnp_sampled *s, const tnp_loo *loo)
{
    size_t row = tnp_loo_impossible(loo);
    if (row == SIZE_MAX)
        return TN_OK;
    return tnp_fail(ctx, TN_ERR_DATA,
                    "option rows: row %zu of %s is none of those that the moments were made of, expected some of them",
                    s->task->rows[row], tn_features_path(tn_feed_features(s->feeds[0])));
}

tn_status tnp_sampled_judge(tn_ctx *ctx, const tnp_tallied *t, const tnp_ridge *ridge, const double *lambda,
                            const size_t *members, size_t count, tn_candidate *out)
{
    tn_status st = TN_OK;
    const tnp_sampled *s = &t->sampled;
    const tn_feed **feeds = NULL;
    tnp_loo *loo = NULL;
    double *scores = NULL;
    bool any = false;
    for (size_t k = 0; k < ridge->classes; ++k)
        any |= isfinite(lambda[k]);
    if (!s->task || (!any && s->task->kind == TN_TASK_MULTICLASS))
        return TN_OK;
    const tnp_candidates all = {.feeds = s->feeds};
    const tnp_selection selection = {.task = s->task, .candidates = &all, .sample = &s->rows};
    TN_TRY(tnp_pick_feeds(ctx, &all, members, count, &feeds));
    TN_TRY(tnp_alloc_raw(ctx, s->rows.count * ridge->classes, sizeof *scores, &scores));
    TN_TRY(tnp_loo_new(ctx, ridge, feeds, count, &s->task->y, &s->rows, &loo));
    TN_TRY(tnp_loo_predict_each(ctx, loo, lambda, scores));
    TN_TRY(check_leverage(ctx, s, loo));
    TN_TRY(tnp_judge_left_out(ctx, &selection, scores, out));
done:
    tnp_loo_free(loo);
    tnp_free_all(feeds, scores);
    return st;
}

tn_status tnp_sampled_measure(tn_ctx *ctx, const tnp_tallied *t, const tnp_ridge *ridge, const tn_evidence *evidence,
                              const size_t *members, size_t count, tn_candidate *out)
{
    tn_status st = TN_OK;
    double *lambda = NULL;
    TN_TRY(tnp_alloc(ctx, ridge->classes, sizeof *lambda, &lambda));
    for (size_t k = 0; k < ridge->classes; ++k)
        lambda[k] = t->task.constant[k] ? INFINITY : tnp_shared_or_null(evidence);
    TN_TRY(tnp_sampled_judge(ctx, t, ridge, lambda, members, count, out));
done:
    tnp_free(lambda);
    return st;
}
