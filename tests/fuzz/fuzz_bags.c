/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target of bags in .npz archives. */
#include "fuzz.h"

static void read_bags(tn_ctx *ctx, const tn_bags *bags)
{
    static float descriptors[FUZZ_VALUES], positions[FUZZ_VALUES];
    const size_t *offsets = tn_bags_offsets(bags);
    size_t cols = tn_features_cols(tn_bags_descriptors(bags));
    for (size_t i = 0; i < tn_bags_count(bags); ++i) {
        size_t rows = offsets[i + 1] - offsets[i];
        if (rows > FUZZ_VALUES / (cols + 3))
            continue;
        if (tn_bags_read(ctx, bags, i, 1, descriptors, tn_bags_positions(bags) ? positions : NULL) != TN_OK)
            abort();
    }
    fuzz_read(ctx, tn_bags_descriptors(bags));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_bags *bags = NULL;
    tn_ctx *ctx = fuzz_begin();
    fuzz_write(path, "npz", data, size);
    if (tn_bags_open(ctx, path, &bags) == TN_OK)
        read_bags(ctx, bags);
    tn_bags_free(bags);
    fuzz_end(ctx, path);
    return 0;
}
