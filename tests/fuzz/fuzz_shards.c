/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A folder of up to three shards: how many is in the first byte, then their parts. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"-shards/0.npy", "-shards/1.npy", "-shards/2.npy"};
    char folder[FUZZ_PATH], shard[3][FUZZ_PATH];
    fuzz_input in = {data, size};
    size_t count = fuzz_byte(&in) % 4;
    tn_features *features = NULL;
    tn_ctx *ctx = fuzz_begin();
    fuzz_path(folder, "-shards");
    if (mkdir(folder, 0700) != 0 && access(folder, W_OK) != 0)
        abort();
    for (size_t i = 0; i < count; ++i)
        fuzz_part_file(&in, names[i], shard[i]);
    if (tn_features_open(ctx, folder, &features) == TN_OK)
        fuzz_read(ctx, features);
    tn_features_close(features);
    for (size_t i = 0; i < count; ++i)
        unlink(shard[i]);
    rmdir(folder);
    fuzz_end(ctx, folder);
    return 0;
}
