/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target of pictures: JPEG and PNG, whole and shrunk. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_picture *picture = NULL;
    tn_ctx *ctx = fuzz_begin();
    for (size_t pixels = 0; pixels <= 100; pixels += 100)
        if (tn_picture_decode(ctx, data, size, NULL, pixels, &picture) == TN_OK) {
            tn_picture_free(picture);
            picture = NULL;
        }
    if (tnp_live_blocks(ctx) != 0)
        abort();
    tn_ctx_free(ctx);
    return 0;
}
