/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Learning a mixture together with the classifier above it (Sydorov, Sakurada, Lampert, Deep Fisher Kernels, CVPR
 * 2014):
 *
 *   descriptors, once   C, by validation   rounds: gradient, step, machines, validation, checkpoint   the best round
 *                                                                                      EM of twice the size beside it
 *
 * Kept is the last round that validation does not find clearly worse than the best of them, by more than a standard
 * error of their difference over the classes; without validation the last. The best itself was refused: a hundred
 * pictures tell rounds apart by luck, and most often it was the start, where a large validation set saw all rounds
 * gain. */
#include "pipeline/refine/run.h"

#include <math.h>
#include <string.h>

void tn_refine_info_free(tn_refine_info *info)
{
    if (!info)
        return;
    tnp_free((void *)(uintptr_t)info->rounds);
    tnp_free(info);
}

static tn_status make_run(tn_ctx *ctx, tnp_refine_run *run)
{
    tn_status st = TN_OK;
    double **const arrays[] = {&run->x, &run->best_x, &run->move, &run->before, &run->g, &run->d, &run->trial};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
        TN_TRY(tnp_alloc(ctx, run->r.size, sizeof(double), arrays[i]));
    run->capacity = run->r.options->rounds + 1;
    TN_TRY(tnp_alloc(ctx, run->capacity, sizeof *run->rounds, &run->rounds));
    TN_TRY(tnp_alloc(ctx, run->capacity * run->r.classes, sizeof *run->ap, &run->ap));
    TN_TRY(tnp_steps_new(ctx, run->r.size, &run->steps));
    memcpy(run->x, run->r.start, run->r.size * sizeof *run->x);
    memcpy(run->best_x, run->r.start, run->r.size * sizeof *run->best_x);
done:
    return st;
}

static void free_run(tn_ctx *ctx, tnp_refine_run *run)
{
    tnp_free_all(run->x, run->best_x, run->move, run->before, run->g, run->d, run->trial, run->rounds, run->ap);
    tnp_steps_free(&run->steps);
    tnp_refining_close(ctx, &run->r);
}

/* ---- rounds ---- */

/* Is the mean average precision of a round below that of the top by more than a standard error of the difference, class
 * by class? Of one class: is it below at all? */
static bool is_worse(const tnp_refine_run *run, size_t round)
{
    const double *top = run->ap + run->top * run->r.classes, *at = run->ap + round * run->r.classes;
    double sum = 0, squares = 0, n = 0;
    for (size_t l = 0; l < run->r.classes; ++l) {
        double less = top[l] - at[l];
        if (isnan(less))
            continue;
        sum += less;
        squares += less * less;
        n += 1;
    }
    double mean = n > 0 ? sum / n : 0, variance = n > 1 ? fmax(0, squares - n * mean * mean) / (n - 1) : 0;
    return mean > 0 && (n < 2 || mean > sqrt(variance / n));
}

static void keep_round(tnp_refine_run *run, const tn_refine_round *round)
{
    size_t at = run->done++;
    run->rounds[at] = *round;
    memcpy(run->ap + at * run->r.classes, run->r.valid_ap, run->r.classes * sizeof *run->ap);
    if (at == 0 || round->valid > run->rounds[run->top].valid)
        run->top = at;
    if (at == 0 || isnan(round->valid) || !is_worse(run, at)) {
        run->best = at;
        memcpy(run->best_x, run->x, run->r.size * sizeof *run->x);
    }
}

static tn_status save(tn_ctx *ctx, const tnp_refine_run *run)
{
    const char *path = run->r.options->checkpoint;
    return *path ? tnp_refine_save(ctx, run, path) : TN_OK;
}

/* Round 0: the mixture as it was given; or where a checkpoint was. */
static tn_status begin(tn_ctx *ctx, tnp_refine_run *run)
{
    tn_status st = TN_OK;
    bool found = false;
    double begun = tnp_seconds();
    tn_refine_round round = {.trials = 1};
    if (*run->r.options->checkpoint) {
        TN_TRY(tn_output_check(ctx, run->r.options->checkpoint));
        TN_TRY(tnp_refine_load(ctx, run, run->r.options->checkpoint, &found));
    }
    if (found) {
        run->r.round = run->done - 1;
        TN_TRY(tnp_refining_at(ctx, &run->r, run->x, TNP_AT_LOOK));
        if (isinf(run->r.objective))
            TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable checkpoint; remove it to begin anew",
                            run->r.options->checkpoint));
        goto done;
    }
    TN_TRY(tnp_refining_choose_cost(ctx, &run->r, &round.valid));
    round.objective = run->r.objective;
    round.loss = run->r.machines.loss;
    round.seconds = tnp_seconds() - begun;
    keep_round(run, &round);
    TN_TRY(save(ctx, run));
done:
    return st;
}

static bool is_over(tnp_refine_run *run)
{
    const tnp_refine_options *o = run->r.options;
    if (!run->stopped && o->patience > 0 && run->r.valid.count && run->done - 1 - run->best >= o->patience)
        run->stopped = "patience";
    if (!run->stopped && run->done > o->rounds)
        run->stopped = "rounds";
    return run->stopped;
}

static tn_status go_on(tn_ctx *ctx, tnp_refine_run *run, tnp_share whole)
{
    tn_status st = TN_OK;
    while (!is_over(run)) {
        double begun = tnp_seconds();
        tn_refine_round round = {.trials = 0};
        TN_TRY(tnp_progress_step(ctx, whole, "rounds", run->done - 1, run->r.options->rounds));
        TN_TRY(tnp_refine_step(ctx, run, &round));
        if (run->stopped && round.step == 0)
            break;
        TN_TRY(tnp_refining_judge(ctx, &run->r, &round.valid));
        round.seconds = tnp_seconds() - begun;
        keep_round(run, &round);
        TN_TRY(save(ctx, run));
    }
done:
    return st;
}

/* ---- what comes of it ---- */

/* The given encoder with what the best round had learned; as it was when that is the start. */
static tn_status make_result(tn_ctx *ctx, tnp_refine_run *run, const tn_encoder *given, tn_encoder **out)
{
    tn_status st = TN_OK;
    tn_encoder *made = NULL;
    TN_TRY(tnp_encoder_copy(ctx, given, &made));
    if (run->best > 0) {
        for (size_t i = 0; i < run->r.size; ++i)
            run->trial[i] = run->best_x[i] * run->r.unit[i];
        tnp_fisher_point_set(&run->r.point, run->trial);
        tnp_fisher_give(&run->r.point, made);
    }
    *out = made;
done:
    return st;
}

static const char *advice_of(const tn_refine_info *info)
{
    double refined = info->rounds[info->best].valid;
    if (info->validation == 0 || isnan(refined))
        return "";
    if (!isnan(info->twice_valid) && info->twice_valid > refined)
        return "twice";
    return info->best > 0 ? "refined" : "given";
}

static tn_status make_info(tn_ctx *ctx, tnp_refine_run *run, tn_refine_info **out)
{
    tn_status st = TN_OK;
    tn_refine_info *info = NULL;
    const tnp_refining *r = &run->r;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *info, &info));
    info->classes = r->classes;
    info->training = r->train.count;
    info->validation = r->valid.count;
    info->descriptors = tnp_descriptors_rows(&r->sets[0]) + (r->sets[1].bags ? tnp_descriptors_rows(&r->sets[1]) : 0);
    info->cost = r->machines.cost;
    info->words = r->e->mixture.count;
    info->best = run->best;
    info->stopped = run->stopped;
    info->twice_valid = (double)NAN;
    info->advice = "";
    info->rounds = run->rounds;
    info->round_count = run->done;
    run->rounds = NULL;
    *out = info;
done:
    return st;
}

static tn_status refine(tn_ctx *ctx, tnp_refine_run *run, const tn_encoder *given, tnp_share whole,
                        tn_refine_info **info, tn_encoder **out)
{
    tn_status st = TN_OK;
    tn_encoder *made = NULL;
    tn_refine_info *said = NULL;
    TN_TRY(make_run(ctx, run));
    TN_TRY(begin(ctx, run));
    TN_TRY(go_on(ctx, run, tnp_progress_part(ctx, whole, 0.35, 0.9)));
    TN_TRY(make_result(ctx, run, given, &made));
    TN_TRY(make_info(ctx, run, &said));
    tnp_progress_part(ctx, whole, 0.9, 1);
    if (run->r.options->twice && run->r.valid.count)
        TN_TRY(tnp_refine_twice(ctx, &run->r, given, &said->twice_valid));
    said->advice = advice_of(said);
    said->encode_seconds = run->r.encode_seconds;
    said->solve_seconds = run->r.solve_seconds;
    said->gradient_seconds = run->r.back_seconds;
    *info = said;
    *out = made;
    said = NULL;
    made = NULL;
done:
    tn_refine_info_free(said);
    tn_encoder_free(made);
    return st;
}

tn_status tn_encoder_refine(tn_ctx *ctx, const tn_encoder *encoder, const tn_refine_data *train,
                            const tn_refine_data *valid, const tn_options *options, tn_refine_info **info,
                            tn_encoder **out)
{
    tn_status st = TN_OK;
    double begun = tnp_seconds();
    tnp_encoder_options values;
    tnp_refine_run run = {.done = 0};
    tn_refine_info *said = NULL;
    tn_encoder *made = NULL;
    TN_TRY(tnp_options_read(ctx, options, &tnp_encoder_kind_of_options, &values));
    tnp_share whole = tnp_progress_begin(ctx);
    tnp_progress_part(ctx, whole, 0, 0.3);
    TN_TRY(tnp_refining_open(ctx, encoder, train, valid, &values, &run.r));
    tnp_progress_part(ctx, whole, 0.3, 0.35);
    TN_TRY(refine(ctx, &run, encoder, whole, &said, &made));
    TN_TRY(tnp_progress_end(ctx));
    said->seconds = tnp_seconds() - begun;
    *out = made;
    made = NULL;
    if (info) {
        *info = said;
        said = NULL;
    }
done:
    tn_encoder_free(made);
    tn_refine_info_free(said);
    free_run(ctx, &run);
    return st;
}
