/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fuzz targets share: the input becomes a file of the right suffix, is opened through the public
 * function, read whole and closed. A crash, a sanitizer report or a block left behind is a finding; any status is
 * fine. The budget keeps honest but huge declarations from being taken for leaks. */
#ifndef TN_FUZZ_H
#define TN_FUZZ_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/base.h"
#include "tenon/read.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_BUDGET = 32 << 20, FUZZ_VALUES = 4096 };

static inline void fuzz_write(char path[64], const char *suffix, const uint8_t *data, size_t size)
{
    snprintf(path, 64, "/tmp/tenon-fuzz-%ld.%s", (long)getpid(), suffix);
    FILE *file = fopen(path, "wb");
    if (!file || (size != 0 && fwrite(data, 1, size, file) != size) || fclose(file) != 0)
        abort();
}

static inline tn_ctx *fuzz_begin(void)
{
    tn_ctx *ctx = NULL;
    if (tn_ctx_new(&ctx) != TN_OK)
        abort();
    tn_ctx_set_threads(ctx, 1);
    tn_ctx_set_memory(ctx, FUZZ_BUDGET);
    return ctx;
}

static inline void fuzz_end(tn_ctx *ctx, const char *path)
{
    if (tnp_live_blocks(ctx) != 0)
        abort();
    tn_ctx_free(ctx);
    unlink(path);
}

/* Every row in blocks of at most FUZZ_VALUES values; a wide row in pieces. */
static inline void fuzz_read(tn_ctx *ctx, const tn_source *src)
{
    static float narrow[FUZZ_VALUES];
    static double wide[FUZZ_VALUES];
    size_t rows = tn_source_rows(src), cols = tn_source_cols(src), width = tnp_min(cols, FUZZ_VALUES);
    size_t height = FUZZ_VALUES / width;
    for (size_t row = 0; row < rows; row += height)
        for (size_t col = 0; col < cols; col += width) {
            size_t n = tnp_min(height, rows - row), m = tnp_min(width, cols - col);
            if (tn_source_read(ctx, src, NULL, row, n, col, m, narrow) != TN_OK ||
                tn_source_read_wide(ctx, src, NULL, row, n, col, m, wide) != TN_OK)
                abort();
        }
    const char *const *ids = tn_source_ids(src);
    size_t length = 0;
    for (size_t i = 0; ids && i < rows; ++i)
        for (const char *p = ids[i]; *p; ++p)
            ++length;
    narrow[0] = (float)length;
}

static inline int fuzz_source(const char *suffix, const uint8_t *data, size_t size)
{
    char path[64];
    tn_source *src = NULL;
    tn_ctx *ctx = fuzz_begin();
    fuzz_write(path, suffix, data, size);
    if (tn_source_open(ctx, path, &src) == TN_OK)
        fuzz_read(ctx, src);
    tn_source_close(src);
    fuzz_end(ctx, path);
    return 0;
}

#endif
