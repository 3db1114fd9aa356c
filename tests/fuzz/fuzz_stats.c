/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a file of statistics: merged with themselves, and small ones taken to their evidence, whatever numbers
 * they hold. */
#include "fuzz.h"
#include "tenon/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    tn_stats *stats = NULL, *twin = NULL;
    fuzz_write(path, "safetensors", data, size);
    if (tn_stats_load(ctx, path, &stats) == TN_OK && tn_stats_load(ctx, path, &twin) == TN_OK) {
        tn_evidence_options options;
        tn_evidence *evidence = NULL;
        tn_evidence_options_default(&options);
        if (tn_stats_merge(ctx, stats, twin) == TN_OK && tn_stats_cols(stats) <= 64 && tn_stats_classes(stats) <= 64)
            (void)tn_stats_evidence(ctx, stats, &options, &evidence);
        tn_evidence_free(evidence);
    }
    tn_stats_free(stats);
    tn_stats_free(twin);
    fuzz_end(ctx, path);
    return 0;
}
