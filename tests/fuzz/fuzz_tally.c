/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a file of moments: merged with themselves, which is refused, ranked and fitted when they are small, taken
 * out of themselves, whatever numbers they hold. */
#include "fuzz.h"
#include "pipeline/moments/moments.h"
#include "tenon/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    tn_tally *tally = NULL, *twin = NULL;
    fuzz_write(path, "safetensors", data, size);
    if (tn_tally_load(ctx, path, &tally) == TN_OK && tn_tally_load(ctx, path, &twin) == TN_OK) {
        tnp_fit_options options;
        tn_ranking *ranking = NULL;
        tn_fit_info *info = NULL;
        tn_head *head = NULL;
        double digits;
        tnp_fit_options_default(&options);
        options.method = tn_tally_folds(tally) > 1 ? TNP_METHOD_RIDGE_CV : TNP_METHOD_EVIDENCE;
        (void)tn_tally_merge(ctx, tally, twin);
        if (tn_tally_cols(tally) <= 64 && tn_tally_classes(tally) <= 64 && tn_tally_folds(tally) <= 8) {
            (void)tnp_tally_rank(ctx, tally, &options.rank, &ranking);
            (void)tnp_tally_fit(ctx, tally, &options, &info, &head);
        }
        (void)tn_tally_subtract(ctx, tally, twin, &digits);
        tn_ranking_free(ranking);
        tn_fit_info_free(info);
        tn_head_free(head);
    }
    tn_tally_free(tally);
    tn_tally_free(twin);
    fuzz_end(ctx, path);
    return 0;
}
