/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tally as the pipeline sees rows: candidates, a task, an ensemble of which any set can be measured. The plot is that
 * of pipeline.c without its first chapter: nothing is read but a sample, where one is given, to be left out
 * (sample.c). */
#include "pipeline/moments/moments.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- candidates ---- */

static const char *transform_of(const tnp_rep *rep)
{
    return rep->map ? rep->transform : "none";
}

/* Whether the representations are prepared in several ways, so that names must tell: as candidates.c has it. */
static void find_several(const tn_head *like, bool *transforms, bool *normalisations)
{
    *transforms = *normalisations = false;
    for (size_t r = 1; r < like->rep_count; ++r) {
        *transforms |= strcmp(transform_of(&like->reps[r]), transform_of(&like->reps[0])) != 0;
        *normalisations |= like->reps[r].normalize != like->reps[0].normalize;
    }
}

static tn_status name_candidate(tn_ctx *ctx, const tnp_rep *rep, bool transforms, bool normalisations, char **out)
{
    tnp_text text;
    tnp_text_init(&text, ctx);
    tnp_text_add(&text, "%s", rep->name);
    if (transforms && rep->map)
        tnp_text_add(&text, "+%s", rep->transform);
    if (normalisations)
        tnp_text_add(&text, "+%s", tn_normalize_name(rep->normalize));
    return tnp_text_take(&text, out);
}

static tn_status list_candidates(tn_ctx *ctx, tnp_tallied *t)
{
    tn_status st = TN_OK;
    const tn_head *like = t->tally->like;
    bool transforms, normalisations;
    find_several(like, &transforms, &normalisations);
    TN_TRY(tnp_alloc(ctx, like->rep_count, sizeof *t->columns, &t->columns));
    TN_TRY(tnp_alloc(ctx, like->rep_count, sizeof *t->candidates.names, &t->candidates.names));
    TN_TRY(tnp_alloc(ctx, like->rep_count, sizeof *t->candidates.transform_names, &t->candidates.transform_names));
    for (size_t r = 0, at = 0; r < like->rep_count; ++r) {
        const tnp_rep *rep = &like->reps[r];
        TN_TRY(name_candidate(ctx, rep, transforms, normalisations, &t->candidates.names[r]));
        t->candidates.transform_names[r] = transforms || rep->map ? transform_of(rep) : NULL;
        t->columns[r] = (tnp_range){at, at + tnp_rep_cols(rep)};
        at = t->columns[r].to;
        ++t->candidates.count;
    }
done:
    return st;
}

/* ---- the task ---- */

/* A target never changes when its squares about the mean are rounding noise of its squares. */
static tn_status describe_task(tn_ctx *ctx, tnp_tallied *t)
{
    tn_status st = TN_OK;
    const tn_head *like = t->tally->like;
    const tnp_moments *all = t->all;
    size_t useful = 0, last = 0;
    t->task.kind = like->task;
    t->task.left_out = t->tally->left_out;
    t->task.y.rows = all->rows;
    t->task.y.classes = like->classes;
    if (all->rows < 2)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "moments: %zu labelled row%s, expected at least 2", all->rows,
                        all->rows == 1 ? "" : "s"));
    TN_TRY(tnp_alloc(ctx, like->classes, sizeof *t->task.constant, &t->task.constant));
    for (size_t k = 0; k < like->classes; ++k) {
        double ysum = all->ysum[k], spread = all->yy[k] - ysum * ysum / all->weight;
        t->task.constant[k] = !(spread > 1e-13 * all->yy[k]);
        useful += !t->task.constant[k];
        last = ysum > 0 ? k : last;
    }
    if (useful == 0 && like->task == TN_TASK_MULTICLASS)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "moments: one class only ('%s'), expected at least 2",
                        like->classes ? like->names[last] : ""));
    if (useful == 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA, "moments: every target is constant, there is nothing to learn"));
done:
    return st;
}

tn_status tnp_tallied_init(tn_ctx *ctx, const tn_tally *tally, const tnp_rank_options *options, tnp_tallied *t)
{
    tn_status st = TN_OK;
    bool intercept = options->evidence.intercept;
    t->tally = tally;
    TN_TRY(tnp_tally_all(ctx, tally, !intercept, &t->owned, &t->all));
    TN_TRY(describe_task(ctx, t));
    TN_TRY(list_candidates(ctx, t));
    TN_TRY(tnp_ensemble_of_moments(ctx, t->all, t->columns, t->candidates.count, intercept, &t->ensemble));
    t->selection = (tnp_selection){&t->task, &t->candidates, t->ensemble, options, NULL, true, NULL};
    if (options->rows.count > 0)
        TN_TRY(tnp_sampled_init(ctx, t, options, &t->sampled));
done:
    return st;
}

void tnp_tallied_destroy(tnp_tallied *t)
{
    for (size_t c = 0; c < t->candidates.count; ++c)
        tnp_free(t->candidates.names[c]);
    tnp_free_all(t->candidates.names, t->candidates.transform_names, t->columns, t->task.constant);
    tnp_ensemble_free(t->ensemble);
    tn_moments_free(t->owned);
    tnp_sampled_destroy(&t->sampled);
}

tn_status tnp_tallied_set(tn_ctx *ctx, const tnp_tallied *t, const size_t *members, size_t count, tn_candidate *out,
                          tnp_ridge **ridge, tn_evidence **evidence)
{
    tn_status st = tnp_measure_set(ctx, &t->selection, members, count, out, ridge, evidence);
    return st == TN_OK ? tnp_sampled_measure(ctx, t, *ridge, *evidence, members, count, out) : st;
}

/* ---- ranking ---- */

/* Multi-class rows without weights: classes that have one. */
static size_t count_single(const tnp_tallied *t)
{
    size_t count = 0;
    for (size_t k = 0; k < t->task.y.classes; ++k)
        count += t->all->ysum[k] == 1;
    return t->task.kind == TN_TASK_MULTICLASS && t->all->weight == (double)t->all->rows ? count : 0;
}

tn_status tnp_tallied_measure(tn_ctx *ctx, const tnp_tallied *t, tn_ranking *ranking)
{
    tn_status st = TN_OK;
    tnp_ridge *ridge = NULL;
    tn_evidence *evidence = NULL;
    tnp_share whole = tnp_progress_now(ctx);
    ranking->single_classes = count_single(t);
    for (size_t c = 0; c < ranking->count; ++c) {
        tn_candidate *out = ranking->candidates[c];
        TN_TRY(tnp_progress_step(ctx, whole, t->candidates.names[c], c, ranking->count));
        TN_TRY(tnp_tallied_set(ctx, t, &c, 1, out, &ridge, &evidence));
        ranking->null_log_evidence = evidence->log_null;
        ranking->degenerate_classes = evidence->degenerate_classes;
        tnp_ridge_free(ridge);
        tn_evidence_free(evidence);
        ridge = NULL;
        evidence = NULL;
        if (t->candidates.transform_names[c])
            TN_TRY(tnp_strdup(ctx, t->candidates.transform_names[c], &out->transform));
    }
done:
    tnp_ridge_free(ridge);
    tn_evidence_free(evidence);
    return st;
}

tn_status tnp_tally_rank(tn_ctx *ctx, const tn_tally *tally, const tnp_rank_options *options, tn_ranking **out)
{
    tn_status st = TN_OK;
    tnp_tallied t = {.tally = NULL};
    tn_ranking *ranking = NULL;
    tnp_units *units = NULL;
    double begin = tnp_seconds();
    (void)tnp_progress_begin(ctx);
    TN_TRY(tnp_check_rank(ctx, options));
    if (options->by != TNP_RANK_EVIDENCE)
        TN_TRY(tnp_fail(ctx, TN_ERR_ARG, "option by %s needs rows, of which moments have only sums; expected evidence",
                        tnp_by_word((tnp_by)options->by)));
    TN_TRY(tnp_tallied_init(ctx, tally, options, &t));
    TN_TRY(tnp_ranking_new(ctx, &t.task, t.candidates.count, &ranking));
    TN_TRY(tnp_alloc(ctx, t.candidates.count * TNP_RANK_COUNT, sizeof *units, &units));
    TN_TRY(tnp_tallied_measure(ctx, &t, ranking));
    TN_TRY(tnp_progress_end(ctx));
    TN_TRY(tnp_ranking_settle(ctx, &t.selection, units, ranking));
    ranking->seconds = tnp_seconds() - begin;
    *out = ranking;
    ranking = NULL;
done:
    tnp_free(units);
    tn_ranking_free(ranking);
    tnp_tallied_destroy(&t);
    return st;
}
