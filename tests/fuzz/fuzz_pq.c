/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a product quantiser: a row of zeros encoded and decoded, the quantiser saved and loaded again, or an
 * error. */
#include "fuzz.h"
#include "tenon/store.h"

static void use(tn_ctx *ctx, const tn_pq *pq)
{
    static float row[FUZZ_VALUES];
    static uint8_t codes[FUZZ_VALUES];
    char path[FUZZ_PATH];
    tn_pq *again = NULL;
    size_t dim = tn_pq_dim(pq);
    fuzz_path(path, "-again.safetensors");
    for (size_t j = 0; j < FUZZ_VALUES; ++j)
        row[j] = 0;
    if (dim <= FUZZ_VALUES && (tn_pq_encode(ctx, pq, (tn_view){row, 1, dim, dim}, codes, NULL) != TN_OK ||
                               tn_pq_decode(ctx, pq, codes, 1, row) != TN_OK))
        abort();
    tn_status saved = tn_pq_save(ctx, pq, NULL, path), loaded = saved;
    if (saved == TN_OK)
        loaded = tn_pq_load(ctx, path, &again);
    if (loaded != TN_ERR_BUDGET && (loaded != TN_OK || tn_pq_dim(again) != dim))
        abort();
    tn_pq_free(again);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_ctx *ctx = fuzz_begin();
    tn_pq *pq = NULL;
    fuzz_write(path, "safetensors", data, size);
    if (tn_pq_load(ctx, path, &pq) == TN_OK)
        use(ctx, pq);
    tn_pq_free(pq);
    fuzz_end(ctx, path);
    return 0;
}
