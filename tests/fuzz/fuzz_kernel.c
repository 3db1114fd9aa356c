/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a kernel file: a few values through the map, saved and loaded again with the same weights, or an error. */
#include "fuzz.h"
#include "tenon/store.h"

#include <string.h>

static void use(tn_ctx *ctx, const tn_map *map)
{
    char path[FUZZ_PATH];
    double values[TN_MAP_MOST];
    tn_map *again = NULL;
    const tn_map_spec *made = tn_map_made_of(map);
    fuzz_path(path, "-again.safetensors");
    for (double x = -1.5; x < 2; x += 0.25)
        tn_map_exact(map, x, values);
    tn_status saved = tn_map_save(ctx, map, NULL, path), loaded = saved;
    if (saved == TN_OK)
        loaded = tn_map_load(ctx, path, &again);
    if (loaded != TN_ERR_BUDGET && (loaded != TN_OK || memcmp(tn_map_made_of(again)->weight, made->weight,
                                                              TN_BASIS_SIZE * made->rank * sizeof(double)) != 0))
        abort();
    tn_map_free(again);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    tn_map *map = NULL;
    fuzz_write(path, "safetensors", data, size);
    if (tn_map_load(ctx, path, &map) == TN_OK)
        use(ctx, map);
    tn_map_free(map);
    fuzz_end(ctx, path);
    return 0;
}
