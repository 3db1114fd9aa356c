/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Items are handed out one by one. Results do not depend on who had which, so that they are the same for every number
 * of threads: within a context of one thread every product is made by one thread. */
#include "base/crew.h"
#include "base/ctx.h"

enum { WAVE = 32 }; /* items for each thread between two looks at progress and interrupts */

tn_status tnp_crew_new(tn_ctx *ctx, size_t each, tnp_crew *out)
{
    tn_status st = TN_OK;
    size_t count = tn_ctx_threads(ctx), left = tnp_budget_left(ctx);
    if (left / (2 * count) < each)
        count = 1;
    TN_TRY(tnp_alloc(ctx, count, sizeof *out->ctxs, &out->ctxs));
    if (count == 1)
        out->ctxs[out->count++] = ctx;
    while (out->count < count) {
        tn_ctx *made = NULL;
        if (tn_ctx_new(&made) != TN_OK)
            TN_TRY(tnp_fail(ctx, TN_ERR_MEMORY, "memory: the system refused to give any"));
        tn_ctx_set_threads(made, 1);
        made->caller = ctx;
        made->deadline = ctx->team ? 0 : ctx->deadline; /* see tnp_cancelled */
        if (left != SIZE_MAX)
            tn_ctx_set_memory(made, tnp_max(1, left / (2 * count)));
        out->ctxs[out->count++] = made;
    }
done:
    return st;
}

void tnp_crew_free(tn_ctx *ctx, tnp_crew *crew)
{
    for (size_t i = 0; i < crew->count; ++i)
        if (crew->ctxs[i] != ctx)
            tn_ctx_free(crew->ctxs[i]);
    tnp_free(crew->ctxs);
    *crew = (tnp_crew){0, NULL};
}

typedef struct job {
    const tn_ctx *caller;
    const tnp_crew *crew;
    tnp_crew_fn fn;
    void *arg;
    size_t first, end;
    atomic_size_t next;
    atomic_bool stopped;
    size_t *failed;    /* (crew): the item whose failure its context tells; SIZE_MAX: none */
    tn_status *status; /* (crew) */
} job;

static void work(void *arg, size_t member)
{
    job *j = arg;
    size_t item;
    while (!atomic_load(&j->stopped) && (item = atomic_fetch_add(&j->next, 1)) < j->end &&
           !tnp_was_cancelled(j->caller)) {
        j->status[member] = j->fn(j->crew->ctxs[member], j->arg, item);
        if (j->status[member] == TN_OK)
            continue;
        j->failed[member] = item;
        atomic_store(&j->stopped, true);
        return;
    }
}

/* What went wrong first, in the order of the items. */
static tn_status outcome(tn_ctx *ctx, const job *j)
{
    size_t worst = SIZE_MAX, who = 0;
    for (size_t m = 0; m < j->crew->count; ++m)
        if (j->failed[m] < worst) {
            worst = j->failed[m];
            who = m;
        }
    if (worst == SIZE_MAX)
        return tnp_cancelled(ctx);
    if (j->crew->ctxs[who] != ctx)
        return tnp_fail(ctx, j->status[who], "%s", tn_ctx_message(j->crew->ctxs[who]));
    return j->status[who];
}

tn_status tnp_crew_run(tn_ctx *ctx, const tnp_crew *crew, const char *stage, size_t items, tnp_crew_fn fn, void *arg)
{
    tn_status st = TN_OK;
    job j = {.caller = ctx, .crew = crew, .fn = fn, .arg = arg};
    TN_TRY(tnp_alloc(ctx, crew->count, sizeof *j.failed, &j.failed));
    TN_TRY(tnp_alloc(ctx, crew->count, sizeof *j.status, &j.status));
    for (size_t m = 0; m < crew->count; ++m)
        j.failed[m] = SIZE_MAX;
    for (; j.first < items; j.first = j.end) {
        TN_TRY(stage ? tnp_progress(ctx, stage, j.first, items) : tnp_cancelled(ctx));
        j.end = tnp_min(items, j.first + WAVE * crew->count);
        atomic_store(&j.next, j.first);
        tnp_parallel(ctx, crew->count, crew->count, work, &j);
        TN_TRY(outcome(ctx, &j));
    }
    if (stage)
        TN_TRY(tnp_progress(ctx, stage, items, items));
done:
    tnp_free_all(j.failed, j.status);
    return st;
}
