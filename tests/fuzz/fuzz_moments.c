/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a file of statistics: merged with themselves, and small ones taken to their evidence, whatever numbers
 * they hold. */
#include "fuzz.h"
#include "select/options.h"
#include "tenon/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    tn_moments *moments = NULL, *twin = NULL;
    fuzz_write(path, "safetensors", data, size);
    if (tn_moments_load(ctx, path, &moments) == TN_OK && tn_moments_load(ctx, path, &twin) == TN_OK) {
        tnp_evidence_options options;
        tn_evidence *evidence = NULL;
        tnp_evidence_options_default(&options);
        if (tn_moments_merge(ctx, moments, twin) == TN_OK && tn_moments_cols(moments) <= 64 &&
            tn_moments_classes(moments) <= 64)
            (void)tnp_moments_evidence(ctx, moments, &options, &evidence);
        tn_evidence_free(evidence);
    }
    tn_moments_free(moments);
    tn_moments_free(twin);
    fuzz_end(ctx, path);
    return 0;
}
