/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a checkpoint of a small run: what is accepted is within the run's bounds, and is accepted again after it
 * was saved. */
#include "fuzz.h"
#include "store/checkpoint.h"

enum { TRIALS = 2, EPOCHS = 2 };

static tn_status measure(tn_ctx *ctx, void *arg, const float *w, double *value)
{
    (void)ctx;
    (void)arg;
    *value = (double)w[0];
    return TN_OK;
}

static bool within_bounds(const tnp_online_search *s)
{
    bool fine =
        s->group > 0 && s->first + s->group <= TRIALS && s->passes > 0 && s->passes <= EPOCHS && s->best_trial < TRIALS;
    for (size_t i = 0; i < TRIALS; ++i)
        fine = fine && s->trials[i].best_pass <= EPOCHS;
    return fine;
}

static tnp_online_search *load(tn_ctx *ctx, const char *path, const tnp_online_plan *plan, tn_status *st)
{
    tnp_online_search *s = NULL;
    bool found = false;
    if (tnp_online_search_new(ctx, plan, &s) != TN_OK)
        abort();
    *st = tnp_checkpoint_load(ctx, path, "run", plan, s, &found);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double cost[TRIALS] = {0.5, 2}, eta[TRIALS] = {0.75, 0.875};
    const tnp_online_plan plan = {.rule = TNP_AROW,
                                  .shape = {TNP_MUL, true, true, 2, 2, 4},
                                  .cost = cost,
                                  .eta = eta,
                                  .trials = TRIALS,
                                  .epochs = EPOCHS,
                                  .measure = measure};
    char path[FUZZ_PATH];
    tn_status st = TN_OK, again = TN_OK;
    tn_ctx *ctx = fuzz_begin();
    fuzz_write(path, "ckpt", data, size);
    tnp_online_search *s = load(ctx, path, &plan, &st), *twin = NULL;
    if (st == TN_OK) {
        if (!within_bounds(s) || tnp_checkpoint_save(ctx, path, "run", s) != TN_OK)
            abort();
        twin = load(ctx, path, &plan, &again);
        if (again != TN_OK)
            abort();
    }
    tnp_online_search_free(s);
    tnp_online_search_free(twin);
    fuzz_end(ctx, path);
    return 0;
}
