/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checkpoints of online training:
 *
 *   tensors    progress (5): first, group, passes, best_trial, values of best     all doubles, exact below 2^53
 *              trials (T x 4): cost, eta, value, best_pass      accounts (T x 4 epochs): updates, mistakes, value, seconds
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

/* One tensor of the file and where its values live. */
typedef struct slot {
    char name[NAME];
    size_t rows, cols;
    double *wide;
    float *narrow;
} slot;

typedef struct numbers {
    double progress[PROGRESS];
    double *trials, *accounts, *counts;
} numbers;

static tn_status numbers_alloc(tn_ctx *ctx, const tnp_online_search *s, size_t group, numbers *n)
{
    tn_status st = TN_OK;
    TN_TRY(tnp_alloc(ctx, s->trial_count * PER_TRIAL, sizeof(double), &n->trials));
    TN_TRY(tnp_alloc(ctx, s->trial_count * s->epochs * PER_PASS, sizeof(double), &n->accounts));
    TN_TRY(tnp_alloc(ctx, group * COUNTS, sizeof(double), &n->counts));
done:
    return st;
}

static void numbers_free(numbers *n)
{
    tnp_free(n->trials);
    tnp_free(n->accounts);
    tnp_free(n->counts);
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

/* Doubles first, so that all data is aligned to its type. Room for FIXED + PER_LEARNER * group. */
static size_t list_slots(const tnp_online_search *s, numbers *n, slot *out)
{
    const slot fixed[FIXED] = {
        {"progress", PROGRESS, 1, n->progress, NULL},
        {"trials", s->trial_count, PER_TRIAL, n->trials, NULL},
        {"accounts", s->trial_count, s->epochs * PER_PASS, n->accounts, NULL},
        {"counts", s->group, COUNTS, n->counts, NULL},
        {"best", 1, s->size, NULL, s->best},
    };
    static const char *const parts[PER_LEARNER] = {"mu", "u", "sigma"};
    size_t count = FIXED;
    memcpy(out, fixed, sizeof fixed);
    for (size_t i = 0; i < s->group; ++i) {
        float *const data[PER_LEARNER] = {s->learners[i]->mu, s->learners[i]->u, s->learners[i]->sigma};
        for (size_t p = 0; p < PER_LEARNER; ++p) {
            if (!data[p])
                continue;
            out[count] = (slot){"", 1, s->size, NULL, data[p]};
            snprintf(out[count++].name, NAME, "%s.%zu", parts[p], i);
        }
    }
    return count;
}

tn_status tnp_checkpoint_save(tn_ctx *ctx, const char *path, const char *run, const tnp_online_search *search)
{
    tn_status st = TN_OK;
    slot *slots = NULL;
    tnp_tensor *tensors = NULL;
    numbers n = {.trials = NULL};
    size_t most = FIXED + PER_LEARNER * search->group, count;
    const tnp_meta meta[] = {{"format", format_name}, {"version", format_version}, {"run", run}};
    TN_TRY(numbers_alloc(ctx, search, search->group, &n));
    TN_TRY(tnp_alloc(ctx, most, sizeof *slots, &slots));
    TN_TRY(tnp_alloc(ctx, most, sizeof *tensors, &tensors));
    take_numbers(search, &n);
    count = list_slots(search, &n, slots);
    for (size_t i = 0; i < count; ++i)
        tensors[i] = (tnp_tensor){slots[i].name,
                                  slots[i].wide ? TN_F64 : TN_F32,
                                  {slots[i].rows, slots[i].cols},
                                  2,
                                  slots[i].wide ? (const void *)slots[i].wide : (const void *)slots[i].narrow};
    TN_TRY(tnp_store_save(ctx, path, meta, sizeof meta / sizeof *meta, tensors, count));
done:
    tnp_free(slots);
    tnp_free(tensors);
    numbers_free(&n);
    return st;
}

/* ---- reading ---- */

static tn_status damaged(tn_ctx *ctx, const char *path, const char *what)
{
    return tnp_fail(ctx, TN_ERR_FORMAT, "%s: not a usable checkpoint: %s; remove it to begin anew", path, what);
}

/* Figures of validation are NaN where there was none; everything else is finite. */
static tn_status read_slot(tn_ctx *ctx, const tnp_safetensors *file, const slot *to)
{
    bool figures = strcmp(to->name, "trials") == 0 || strcmp(to->name, "accounts") == 0;
    char why[1024];
    tn_status st = tnp_safetensors_values(ctx, file, to->name, to->rows, to->cols, figures ? TNP_ANY : TNP_FINITE,
                                          to->narrow, to->wide);
    if (st != TN_ERR_FORMAT)
        return st;
    snprintf(why, sizeof why, "%s", tn_ctx_message(ctx));
    return tnp_fail(ctx, st, "%s: not a usable checkpoint; remove it to begin anew", why);
}

static bool whole_below(double value, double end)
{
    return value >= 0 && value < end && value == (double)(size_t)value;
}

/* Where the run was, within bounds: the numbers that decide about memory. It was written after a pass, so that with
 * validation there is a best trial. */
static tn_status check_progress(tn_ctx *ctx, const char *path, const tnp_online_plan *plan, const tnp_online_search *s,
                                const double *progress)
{
    double trials = (double)s->trial_count;
    bool fine = whole_below(progress[0], trials) && whole_below(progress[1], trials - progress[0] + 1) &&
                progress[1] > 0 && whole_below(progress[2], (double)s->epochs + 1) && progress[2] > 0 &&
                whole_below(progress[3], plan->measure ? trials : trials + 1) && progress[4] == (double)s->size;
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
               whole_below(row[3], (double)s->epochs + 1);
    }
    for (size_t i = 0; i < s->group * COUNTS; ++i)
        fine = fine && whole_below(n->counts[i], exact);
    return fine ? TN_OK : damaged(ctx, path, "its trials or counts are out of bounds");
}

tn_status tnp_checkpoint_load(tn_ctx *ctx, const char *path, const char *run, const tnp_online_plan *plan,
                              tnp_online_search *s, bool *found)
{
    tn_status st = TN_OK;
    tnp_safetensors *file = NULL;
    slot *slots = NULL;
    numbers n = {.trials = NULL};
    const slot progress = {"progress", PROGRESS, 1, n.progress, NULL};
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
    TN_TRY(read_slot(ctx, file, &progress));
    TN_TRY(check_progress(ctx, path, plan, s, n.progress));
    s->first = (size_t)n.progress[0];
    TN_TRY(tnp_online_search_group(ctx, plan, (size_t)n.progress[1], s));
    TN_TRY(numbers_alloc(ctx, s, s->group, &n));
    TN_TRY(tnp_alloc(ctx, FIXED + PER_LEARNER * s->group, sizeof *slots, &slots));
    count = list_slots(s, &n, slots);
    for (size_t i = 0; i < count; ++i)
        TN_TRY(read_slot(ctx, file, &slots[i]));
    TN_TRY(check_numbers(ctx, path, s, &n));
    give_numbers(&n, s);
done:
    tnp_safetensors_close(file);
    tnp_free(slots);
    numbers_free(&n);
    return st;
}
