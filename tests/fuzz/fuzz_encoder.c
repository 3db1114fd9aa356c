/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target of encoder files: whatever loads encodes a small bag. */
#include "fuzz.h"
#include "tenon/store.h"

static void encode(tn_ctx *ctx, const tn_encoder *encoder)
{
    enum { ROWS = 3, WIDEST = 2048 };
    static float x[ROWS * WIDEST], places[ROWS * 3];
    size_t dim = tn_encoder_dim(encoder), cols = tn_encoder_cols(encoder);
    for (size_t i = 0; i < ROWS * WIDEST; ++i)
        x[i] = (float)(i % 7) - 3;
    for (size_t i = 0; i < ROWS * 3; ++i)
        places[i] = (float)i / 9;
    if (dim > WIDEST || cols > 1 << 20)
        return;
    float *out = malloc((cols + 1) * sizeof *out);
    if (!out)
        abort();
    (void)tn_encoder_encode(ctx, encoder, (tn_view){x, ROWS, dim, dim}, (tn_view){places, ROWS, 3, 3}, out);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_encoder *encoder = NULL;
    tn_ctx *ctx = fuzz_begin();
    if (tn_encoder_from_bytes(ctx, data, size, NULL, &encoder) == TN_OK)
        encode(ctx, encoder);
    tn_encoder_free(encoder);
    if (tnp_live_blocks(ctx) != 0)
        abort();
    tn_ctx_free(ctx);
    return 0;
}
