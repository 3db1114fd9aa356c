/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fuzz targets share: the input becomes a file of the right suffix, is opened through the public
 * function, read whole and closed. A crash, a sanitizer report or a block left behind is a finding; any status is
 * fine. The budget keeps honest but huge declarations from being taken for leaks.
 *
 * Files lie in memory (/dev/shm) where the system has such a place: on a disk, making and syncing them took nine tenths
 * of an execution. */
#ifndef TN_FUZZ_H
#define TN_FUZZ_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/base.h"
#include "tenon/read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_BUDGET = 32 << 20, FUZZ_VALUES = 4096, FUZZ_PATH = 128 };

static inline const char *fuzz_folder(void)
{
    static const char *found;
    if (!found)
        found = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    return found;
}

/* A name of this process's own; `what` is the end of it, suffix included. */
static inline void fuzz_path(char path[FUZZ_PATH], const char *what)
{
    snprintf(path, FUZZ_PATH, "%s/tenon-fuzz-%ld%s", fuzz_folder(), (long)getpid(), what);
}

static inline void fuzz_store(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || (size != 0 && fwrite(data, 1, size, file) != size) || fclose(file) != 0)
        abort();
}

static inline void fuzz_write(char path[FUZZ_PATH], const char *suffix, const uint8_t *data, size_t size)
{
    char end[32];
    snprintf(end, sizeof end, ".%s", suffix);
    fuzz_path(path, end);
    fuzz_store(path, data, size);
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
static inline void fuzz_read(tn_ctx *ctx, const tn_features *features)
{
    static float narrow[FUZZ_VALUES];
    static double wide[FUZZ_VALUES];
    size_t rows = tn_features_rows(features), cols = tn_features_cols(features), width = tnp_min(cols, FUZZ_VALUES);
    size_t height = FUZZ_VALUES / width;
    for (size_t row = 0; row < rows; row += height)
        for (size_t col = 0; col < cols; col += width) {
            size_t n = tnp_min(height, rows - row), m = tnp_min(width, cols - col);
            if (tn_features_read(ctx, features, NULL, row, n, col, m, narrow) != TN_OK ||
                tn_features_read_wide(ctx, features, NULL, row, n, col, m, wide) != TN_OK)
                abort();
        }
    const char *const *ids = tn_features_ids(features);
    size_t length = 0;
    for (size_t i = 0; ids && i < rows; ++i)
        for (const char *p = ids[i]; *p; ++p)
            ++length;
    narrow[0] = (float)length;
}

static inline int fuzz_features(const char *suffix, const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    tn_features *features = NULL;
    tn_ctx *ctx = fuzz_begin();
    fuzz_write(path, suffix, data, size);
    if (tn_features_open(ctx, path, &features) == TN_OK)
        fuzz_read(ctx, features);
    tn_features_close(features);
    fuzz_end(ctx, path);
    return 0;
}

/* ---- inputs of several parts ---- */

/* What is left of an input that is cut into parts: a byte, or a length of two bytes and so many bytes. At the end parts
 * are empty and bytes 0. */
typedef struct fuzz_input {
    const uint8_t *data;
    size_t size;
} fuzz_input;

static inline uint8_t fuzz_byte(fuzz_input *in)
{
    if (in->size == 0)
        return 0;
    --in->size;
    return *in->data++;
}

static inline fuzz_input fuzz_part(fuzz_input *in)
{
    size_t low = fuzz_byte(in), want = low | (size_t)fuzz_byte(in) << 8, take = tnp_min(want, in->size);
    fuzz_input part = {in->data, take};
    in->data += take;
    in->size -= take;
    return part;
}

/* The part as a file whose name ends with `what`. */
static inline void fuzz_part_file(fuzz_input *in, const char *what, char path[FUZZ_PATH])
{
    fuzz_input part = fuzz_part(in);
    fuzz_path(path, what);
    fuzz_store(path, part.data, part.size);
}

#endif
