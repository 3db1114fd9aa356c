/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trials learn side by side, so that a grid of values costs one reading of the rows. A trial keeps the weights of the
 * pass that was best on the validation rows, and ends when `patience` passes brought nothing better. Whether it has
 * ended follows from what is in its state, so that a run that was killed goes on as if it had not been. */
#include "learn/online/online_search.h"
#include "algebra/blas.h"
#include "learn/online/online_mix.h"

#include <math.h>
#include <string.h>

void tnp_online_options_default(tnp_online_options *options)
{
    *options =
        (tnp_online_options){.epochs = 10, .eta = 0.9, .shuffle = true, .ratio = 10, .patience = 3, .checkpoint = ""};
}

const tn_field *tnp_online_fields(size_t *count)
{
    static const tn_field fields[] = {
        {"multiclass", TN_FIELD_CHOICE, offsetof(tnp_online_options, multiclass), 0, 0, "mul|u-ovr|e-ovr|w-ovr",
         "the true class against the best wrong one, or one against the rest: all of it, as many, or option ratio as "
         "many"},
        {"average", TN_FIELD_FLAG, offsetof(tnp_online_options, average), 0, 0, NULL,
         "use the mean of the weights after every sample; this is the default"},
        {"no-average", TN_FIELD_FLAG, offsetof(tnp_online_options, no_average), 0, 0, NULL, "use the last weights"},
        {"epochs", TN_FIELD_INT, offsetof(tnp_online_options, epochs), 1, 1e6, "N",
         "passes over the rows; with option valid at most"},
        {"eta", TN_FIELD_REAL, offsetof(tnp_online_options, eta), 0.5, 0.999999, "X", "confidence of cw, scw and scw2"},
        {"shuffle", TN_FIELD_YESNO, offsetof(tnp_online_options, shuffle), 0, 0, "yes|no",
         "visit the rows in a new random order each pass; no keeps file order"},
        {"ratio", TN_FIELD_REAL, offsetof(tnp_online_options, ratio), 0, 1e9, "X", "negatives per positive of w-ovr"},
        {"patience", TN_FIELD_INT, offsetof(tnp_online_options, patience), 0, 1e6, "N",
         "with option valid: end after so many passes without a better one; 0: never"},
        {"tune", TN_FIELD_FLAG, offsetof(tnp_online_options, tune), 0, 0, NULL,
         "choose C (2^-4 to 2^4) and eta (0.5 to 0.9) on the option valid rows; all values learn from one reading"},
        {"checkpoint", TN_FIELD_TEXT, offsetof(tnp_online_options, checkpoint), 0, 0, "FILE",
         "written after every pass; the same command goes on from it, and removes it at the end"},
    };
    *count = sizeof fields / sizeof *fields;
    return fields;
}

tn_status tnp_online_search_new(tn_ctx *ctx, const tnp_online_plan *plan, tnp_online_search **out)
{
    tn_status st = TN_OK;
    tnp_online_search *s = NULL;
    tnp_rule rule = tnp_rule_new(plan->rule, 1, 0.9);
    size_t each = tnp_online_bytes(&rule, &plan->shape), most;
    TN_TRY(tnp_alloc(ctx, 1, sizeof *s, &s));
    s->trial_count = s->best_trial = plan->trials;
    s->epochs = plan->epochs;
    TN_TRY(tnp_mul(ctx, plan->shape.classes, tnp_row_stride(plan->shape.dim + 1), &s->size));
    TN_TRY(tnp_alloc(ctx, plan->trials, sizeof *s->trials, &s->trials));
    TN_TRY(tnp_alloc(ctx, plan->trials * plan->epochs, sizeof *s->accounts, &s->accounts));
    TN_TRY(tnp_alloc(ctx, s->size, sizeof *s->best, &s->best));
    for (size_t i = 0; i < plan->trials; ++i)
        s->trials[i] = (tnp_online_trial){plan->cost[i], plan->eta[i], NAN, 0};
    most = tnp_max(tnp_budget_left(ctx) / 2 / each, 1); /* half: the rest is for reading and for a checkpoint's copy */
    TN_TRY(tnp_online_search_group(ctx, plan, tnp_min(plan->trials, most), s));
    *out = s;
    s = NULL;
done:
    tnp_online_search_free(s);
    return st;
}

static void free_group(tnp_online_search *s)
{
    for (size_t i = 0; s->learners && i < s->group; ++i)
        tnp_online_free(s->learners[i]);
    tnp_free(s->learners);
    s->learners = NULL;
    s->group = 0;
}

void tnp_online_search_free(tnp_online_search *s)
{
    if (!s)
        return;
    free_group(s);
    tnp_free_all(s->trials, s->accounts, s->best, s);
}

tn_status tnp_online_search_group(tn_ctx *ctx, const tnp_online_plan *plan, size_t group, tnp_online_search *s)
{
    tn_status st = TN_OK;
    free_group(s);
    group = tnp_min(group, s->trial_count - s->first);
    TN_TRY(tnp_alloc(ctx, group, sizeof *s->learners, &s->learners));
    s->group = group;
    for (size_t i = 0; i < group; ++i) {
        const tnp_online_trial *trial = &s->trials[s->first + i];
        tnp_rule rule = tnp_rule_new(plan->rule, trial->cost, trial->eta);
        TN_TRY(tnp_online_new(ctx, &rule, &plan->shape, &s->learners[i]));
        if (plan->start)
            memcpy(s->learners[i]->mu, plan->start, s->size * sizeof *plan->start);
    }
done:
    return st;
}

static bool has_ended(const tnp_online_plan *plan, const tnp_online_search *s, size_t trial)
{
    return plan->measure && plan->patience > 0 && s->passes - s->trials[trial].best_pass >= plan->patience;
}

/* Weights after a pass: measured, and kept when they are the best so far. Of trials that are as good as each other the
 * first is best, whichever of them came there earlier: how many learn side by side must not decide. */
static tn_status judge(tn_ctx *ctx, const tnp_online_plan *plan, tnp_online_search *s, size_t i, float *w)
{
    tnp_online_trial *trial = &s->trials[s->first + i];
    tnp_account *account = &s->accounts[(s->first + i) * s->epochs + s->passes - 1];
    double best = s->best_trial < s->trial_count ? s->trials[s->best_trial].value : -INFINITY;
    account->value = NAN;
    if (!plan->measure) {
        trial->best_pass = s->passes;
        return TN_OK;
    }
    tnp_online_weights(s->learners[i], w);
    tn_status st = plan->measure(ctx, plan->arg, w, &account->value);
    if (st != TN_OK)
        return st;
    if (isnan(trial->value) || account->value > trial->value) {
        trial->value = account->value;
        trial->best_pass = s->passes;
    }
    if (account->value > best || (account->value == best && s->first + i < s->best_trial)) {
        s->best_trial = s->first + i;
        memcpy(s->best, w, s->size * sizeof *w);
    }
    return TN_OK;
}

/* A pass, after which members of a team have the same learners again. */
static tn_status pass_and_mix(tn_ctx *ctx, const tnp_online_plan *plan, tnp_passes *passes, tnp_online_search *s,
                              tnp_online **at_work)
{
    tn_status st = TN_OK;
    tnp_counted *before = NULL;
    TN_TRY(tnp_alloc(ctx, s->group, sizeof *before, &before));
    for (size_t i = 0; i < s->group; ++i)
        before[i] = (tnp_counted){s->learners[i]->updates, s->learners[i]->mistakes};
    if (passes)
        TN_TRY(tnp_passes_run(ctx, passes, s->passes, at_work, s->group));
    for (size_t i = 0; plan->mix && i < s->group; ++i)
        if (at_work[i])
            TN_TRY(tnp_online_mix(ctx, plan->share, before[i], &s->learners[i]));
done:
    tnp_free(before);
    return st;
}

/* One pass of the trials of the group that have not ended; *any: there was one. */
static tn_status one_pass(tn_ctx *ctx, const tnp_online_plan *plan, tnp_passes *passes, tnp_online_search *s,
                          tnp_online **at_work, float *w, bool *any)
{
    tn_status st = TN_OK;
    double begin = tnp_seconds(), share;
    size_t count = 0;
    for (size_t i = 0; i < s->group; ++i) {
        at_work[i] = has_ended(plan, s, s->first + i) ? NULL : s->learners[i];
        count += at_work[i] != NULL;
    }
    *any = count > 0;
    if (count == 0)
        return TN_OK;
    for (size_t i = 0; i < s->group; ++i)
        s->accounts[(s->first + i) * s->epochs + s->passes] =
            (tnp_account){-(double)s->learners[i]->updates, -(double)s->learners[i]->mistakes, NAN, 0};
    TN_TRY(pass_and_mix(ctx, plan, passes, s, at_work));
    share = (tnp_seconds() - begin) / (double)count;
    ++s->passes;
    for (size_t i = 0; i < s->group; ++i) {
        tnp_account *account = &s->accounts[(s->first + i) * s->epochs + s->passes - 1];
        account->updates += (double)s->learners[i]->updates;
        account->mistakes += (double)s->learners[i]->mistakes;
        if (!at_work[i])
            continue;
        account->seconds = share; /* of the common pass */
        TN_TRY(judge(ctx, plan, s, i, w));
    }
    if (plan->after_pass)
        TN_TRY(plan->after_pass(ctx, plan->arg, s));
done:
    return st;
}

tn_status tnp_online_search_run(tn_ctx *ctx, const tnp_online_plan *plan, tnp_passes *passes, tnp_online_search *s)
{
    tn_status st = TN_OK;
    float *w = NULL;
    tnp_online **at_work = NULL;
    size_t group = s->group;
    tnp_share whole = tnp_progress_now(ctx);
    double all = (double)(s->trial_count * s->epochs);
    TN_TRY(tnp_alloc_raw(ctx, s->size, sizeof *w, &w));
    TN_TRY(tnp_alloc(ctx, group, sizeof *at_work, &at_work));
    for (;;) {
        bool any = true;
        while (any && s->passes < s->epochs) {
            double done = (double)(s->first * s->epochs + s->passes * s->group);
            (void)tnp_progress_part(ctx, whole, done / all, (done + (double)s->group) / all);
            TN_TRY(one_pass(ctx, plan, passes, s, at_work, w, &any));
        }
        if (s->first + s->group == s->trial_count)
            break;
        s->first += s->group;
        s->passes = 0;
        TN_TRY(tnp_online_search_group(ctx, plan, group, s));
    }
    if (!plan->measure) { /* one trial, its last weights */
        s->best_trial = 0;
        tnp_online_weights(s->learners[0], s->best);
    }
done:
    tnp_free_all(w, at_work);
    return st;
}
