/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checkpoints of online training:
 *
 *   tensors    progress (5): first, group, passes, best_trial, values of best     all doubles, exact below 2^53
 *              trials (T x 4): cost, eta, value, best_pass
 *              accounts (T x 4 epochs): updates, mistakes, value, seconds
 *              counts (group x 3): seen, updates, mistakes
 *              best (weights), mu.i, u.i, sigma.i for each learner of the group, as the rule has them     floats
 *   metadata   format = tenon-checkpoint, version, run
 *
 * Everything is stored to the bit: a run that goes on ends with the bytes of one that was never stopped. */
#include "store/checkpoint.h"
#include "read/safetensors.h"
#include "store/store.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char format_name[] = "tenon-checkpoint", format_version[] = "1";

enum { PROGRESS = 5, PER_TRIAL = 4, PER_PASS = 4, COUNTS = 3, PER_LEARNER = 3, FIXED = 5, NAME = 32 };

/* What is no array of floats, as the file has it; tensors and their names. */
typedef struct numbers {
    double progress[PROGRESS];
    double *trials, *accounts, *counts;
    tnp_tensor *tensors; /* FIXED + PER_LEARNER * group at most */
    char (*names)[NAME]; /* PER_LEARNER * group */
} numbers;

static tn_status numbers_alloc(tn_ctx *ctx, const tnp_online_search *s, size_t group, numbers *n)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, s->trial_count * PER_TRIAL, sizeof(double), &n->trials));
    TN_TRY(tnp_alloc(ctx, s->trial_count * s->epochs * PER_PASS, sizeof(double), &n->accounts));
    TN_TRY(tnp_alloc(ctx, group * COUNTS, sizeof(double), &n->counts));
    TN_TRY(tnp_alloc(ctx, FIXED + PER_LEARNER * group, sizeof *n->tensors, &n->tensors));
    TN_TRY(tnp_alloc(ctx, PER_LEARNER * group, sizeof *n->names, &n->names));
done:
    return st;
}

static void numbers_free(numbers *n)
{
    tnp_free_all(n->trials, n->accounts, n->counts, n->tensors, n->names);
}

/* ---- numbers of a search, there and back ---- */

static void take_numbers(const tnp_online_search *s, numbers *n)
{
    const double progress[PROGRESS] = {(double)s->first, (double)s->group, (double)s->passes, (double)s->best_trial,
                                       (double)s->size};
    memcpy(n->progress, progress, sizeof progress);
    for (size_t i = 0; i < s->trial_count; ++i) {
        const tnp_online_trial *t = &s->trials[i];
        const double row[PER_TRIAL] = {t->cost, t->eta, t->value, (double)t->best_pass};
        memcpy(n->trials + i * PER_TRIAL, row, sizeof row);
    }
    for (size_t i = 0; i < s->trial_count * s->epochs; ++i) {
        const tnp_account *a = &s->accounts[i];
        const double row[PER_PASS] = {a->updates, a->mistakes, a->value, a->seconds};
        memcpy(n->accounts + i * PER_PASS, row, sizeof row);
    }
    for (size_t i = 0; i < s->group; ++i) {
        const tnp_online *o = s->learners[i];
        const double row[COUNTS] = {(double)o->seen, (double)o->updates, (double)o->mistakes};
        memcpy(n->counts + i * COUNTS, row, sizeof row);
    }
}

static void give_numbers(const numbers *n, tnp_online_search *s)
{
    s->passes = (size_t)n->progress[2];
    s->best_trial = (size_t)n->progress[3];
    for (size_t i = 0; i < s->trial_count; ++i) {
        const double *row = n->trials + i * PER_TRIAL;
        s->trials[i] = (tnp_online_trial){row[0], row[1], row[2], (size_t)row[3]};
    }
    for (size_t i = 0; i < s->trial_count * s->epochs; ++i) {
        const double *row = n->accounts + i * PER_PASS;
        s->accounts[i] = (tnp_account){row[0], row[1], row[2], row[3]};
    }
    for (size_t i = 0; i < s->group; ++i) {
        const double *row = n->counts + i * COUNTS;
        s->learners[i]->seen = (uint64_t)row[0];
        s->learners[i]->updates = (uint64_t)row[1];
        s->learners[i]->mistakes = (uint64_t)row[2];
    }
}

/* ---- tensors ---- */

static tnp_tensor progress_of(numbers *n)
{
    return (tnp_tensor){"progress", TN_F64, {PROGRESS, 1}, 2, n->progress};
}

/* Doubles first, so that all data is aligned to its type. Returns how many there are. */
static size_t list_tensors(const tnp_online_search *s, numbers *n)
{
    static const char *const parts[PER_LEARNER] = {"mu", "u", "sigma"};
    const tnp_tensor fixed[FIXED] = {
        progress_of(n),
        {"trials", TN_F64, {s->trial_count, PER_TRIAL}, 2, n->trials},
        {"accounts", TN_F64, {s->trial_count, s->epochs * PER_PASS}, 2, n->accounts},
        {"counts", TN_F64, {s->group, COUNTS}, 2, n->counts},
        {"best", TN_F32, {1, s->size}, 2, s->best},
    };
    size_t count = FIXED;
    memcpy(n->tensors, fixed, sizeof fixed);
    for (size_t i = 0; i < s->group; ++i) {
        float *const data[PER_LEARNER] = {s->learners[i]->mu, s->learners[i]->u, s->learners[i]->sigma};
        for (size_t p = 0; p < PER_LEARNER; ++p) {
            char *name = n->names[count - FIXED];
            if (!data[p])
                continue;
            snprintf(name, NAME, "%s.%zu", parts[p], i);
            n->tensors[count++] = (tnp_tensor){name, TN_F32, {1, s->size}, 2, data[p]};
        }
    }
    return count;
}

tn_status tnp_checkpoint_save(tn_ctx *ctx, const char *path, const char *run, const tnp_online_search *search)
{
    tn_status st = TN_OK;
    numbers n = {.trials = NULL};
    const tnp_meta meta[] = {{"format", format_name}, {"version", format_version}, {"run", run}};
    TN_TRY(numbers_alloc(ctx, search, search->group, &n));
    take_numbers(search, &n);
    size_t count = list_tensors(search, &n);
    TN_TRY(tnp_store_save(ctx, path, meta, sizeof meta / sizeof *meta, n.tensors, count));
done:
    numbers_free(&n);
    return st;
}

/* ---- reading ---- */

static tn_status damaged(tn_ctx *ctx, const char *path, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable checkpoint: %s; remove it to begin anew", path, what);
}

/* Figures of validation are NaN where there was none; everything else is finite. */
static tn_status read_tensor(tn_ctx *ctx, const tnp_safetensors *file, const tnp_tensor *to)
{
    bool figures = strcmp(to->name, "trials") == 0 || strcmp(to->name, "accounts") == 0;
    char why[1024];
    tn_status st = tnp_store_read(ctx, file, to, figures ? TNP_ANY : TNP_FINITE);
    if (st != TN_ERR_FORMAT)
        return st;
    snprintf(why, sizeof why, "%s", tn_ctx_message(ctx));
    return tnp_fail(ctx, st, "%s: not a usable checkpoint; remove it to begin anew", why);
}

/* Where the run was, within bounds: the numbers that decide about memory. It was written after a pass, so that with
 * validation there is a best trial. */
static tn_status check_progress(tn_ctx *ctx, const char *path, const tnp_online_plan *plan, const tnp_online_search *s,
                                const double *progress)
{
    double trials = (double)s->trial_count;
    bool fine = tnp_whole_below(progress[0], trials) && tnp_whole_below(progress[1], trials - progress[0] + 1) &&
                progress[1] > 0 && tnp_whole_below(progress[2], (double)s->epochs + 1) && progress[2] > 0 &&
                tnp_whole_below(progress[3], plan->measure ? trials : trials + 1) && progress[4] == (double)s->size;
    return fine ? TN_OK : damaged(ctx, path, "its progress is out of bounds");
}

/* The trials are the plan's, what becomes a whole number is one, and figures are finite or none. */
static tn_status check_numbers(tn_ctx *ctx, const char *path, const tnp_online_search *s, const numbers *n)
{
    const double exact = 9007199254740992; /* 2^53 */
    bool fine = true;
    for (size_t i = 0; i < s->trial_count * s->epochs; ++i) {
        const double *row = n->accounts + i * PER_PASS;
        fine = fine && isfinite(row[0]) && isfinite(row[1]) && !isinf(row[2]) && row[3] >= 0 && isfinite(row[3]);
    }
    for (size_t i = 0; i < s->trial_count; ++i) {
        const double *row = n->trials + i * PER_TRIAL;
        fine = fine && !isinf(row[2]) && row[0] == s->trials[i].cost && row[1] == s->trials[i].eta &&
               tnp_whole_below(row[3], (double)s->epochs + 1);
    }
    for (size_t i = 0; i < s->group * COUNTS; ++i)
        fine = fine && tnp_whole_below(n->counts[i], exact);
    return fine ? TN_OK : damaged(ctx, path, "its trials or counts are out of bounds");
}

tn_status tnp_checkpoint_load(tn_ctx *ctx, const char *path, const char *run, const tnp_online_plan *plan,
                              tnp_online_search *s, bool *found)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    numbers n = {.trials = NULL};
    const tnp_tensor progress = progress_of(&n);
    size_t count = 0;
    *found = access(path, F_OK) == 0;
    if (!*found)
        return TN_OK;
    TN_TRY(tnp_safetensors_load(ctx, path, &file));
    TN_TRY(tnp_store_check(ctx, file, path, format_name, format_version));
    const char *whose = tnp_safetensors_meta(file, "run");
    if (!whose || strcmp(whose, run) != 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_DATA,
                        "%s: a checkpoint of another run (its options or data differ); remove it to begin anew", path));
    TN_TRY(read_tensor(ctx, file, &progress));
    TN_TRY(check_progress(ctx, path, plan, s, n.progress));
    s->first = (size_t)n.progress[0];
    TN_TRY(tnp_online_search_group(ctx, plan, (size_t)n.progress[1], s));
    TN_TRY(numbers_alloc(ctx, s, s->group, &n));
    count = list_tensors(s, &n);
    for (size_t i = 0; i < count; ++i)
        TN_TRY(read_tensor(ctx, file, &n.tensors[i]));
    TN_TRY(check_numbers(ctx, path, s, &n));
    give_numbers(&n, s);
done:
    tnp_safetensors_close(file);
    numbers_free(&n);
    return st;
}
