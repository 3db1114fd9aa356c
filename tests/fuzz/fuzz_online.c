/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as an online learner: what is accepted can be saved, is the same when it is loaded again, and learns on. */
#include "fuzz.h"
#include "learn/online/online_chunks.h"
#include "tenon/store.h"

static tn_online *load(tn_ctx *ctx, const char *path)
{
    tn_online *o = NULL;
    return tn_online_load(ctx, path, &o) == TN_OK ? o : NULL;
}

/* Two samples of ones, the first and the last class. */
static void learn(tn_ctx *ctx, tn_online *o)
{
    const tnp_online_shape *shape = &o->learner->shape;
    const uint32_t cls[] = {0, (uint32_t)shape->classes - 1};
    const size_t first[] = {0, 1, 2};
    float *x = malloc(2 * shape->dim * sizeof *x);
    if (!x)
        abort();
    for (size_t i = 0; i < 2 * shape->dim; ++i)
        x[i] = 1;
    const tnp_samples samples = {.count = 2, .x = x, .first = first, .cls = cls};
    if (shape->scheme == TNP_OVR || shape->classes > 1)
        tnp_online_update(ctx, o->learner, &samples);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    fuzz_write(path, "safetensors", data, size);
    tn_online *o = load(ctx, path), *again = NULL;
    tn_status st = o ? tn_online_save(ctx, o, NULL, path) : TN_OK;
    if (st != TN_OK && st != TN_ERR_NUMERIC && st != TN_ERR_BUDGET) /* a mean that is no float; a second copy */
        abort();
    if (o && st == TN_OK) {
        again = load(ctx, path);
        if (!again || memcmp(o->learner->mu, again->learner->mu, o->learner->width * sizeof(float)) != 0)
            abort();
        learn(ctx, o);
    }
    tn_online_free(o);
    tn_online_free(again);
    fuzz_end(ctx, path);
    return 0;
}
