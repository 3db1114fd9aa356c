/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .fvecs file: each row is its length d (int32) and d float32, all little-endian. Rows have one length, so
 * the file is a matrix with a prefix of four bytes before each row: a stride, no copy. Every prefix is compared
 * at opening, since a row of another length would shift all rows after it without a trace. */
#include "matrix/convert.h"
#include "read/features.h"

enum { BYTES = 1 << 16 };

static uint32_t prefix_at(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Compares the prefixes of the rows [at, at + n step), which are `step` bytes apart. Long rows: only the prefixes are
 * read. */
static tn_status check_some(tn_ctx *ctx, const tnp_file *file, size_t at, size_t n, size_t step, uint32_t d)
{
    unsigned char buffer[BYTES];
    tn_status st = tnp_file_read(ctx, file, at, (n - 1) * step + 4, buffer);
    for (size_t i = 0; st == TN_OK && i < n; ++i)
        if (prefix_at(buffer + i * step) != d)
            st = tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: row of length %ld, but the rows before it have %lu",
                          tnp_file_path(file), at + i * step, (long)(int32_t)prefix_at(buffer + i * step),
                          (unsigned long)d);
    return st;
}

static tn_status check(tn_ctx *ctx, const tnp_file *file, size_t *cols)
{
    tn_status st = TN_OK;
    unsigned char first[4];
    size_t size = tnp_file_size(file), n;
    if (size < 4)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: the file ends inside the first row's length",
                        tnp_file_path(file), size);
    TN_TRY(tnp_file_read(ctx, file, 0, sizeof first, first));
    uint32_t d = prefix_at(first);
    if (d == 0 || d > TNP_MAX_COLUMNS)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 0: row of length %ld, expected 1 to %d", tnp_file_path(file),
                        (long)(int32_t)d, TNP_MAX_COLUMNS));
    size_t step = 4 + 4 * (size_t)d, rows = size / step;
    for (size_t i = 0; i < rows; i += n) {
        n = tnp_min(rows - i, step > BYTES - 4 ? 1 : (BYTES - 4) / step + 1);
        TN_TRY(tnp_cancelled(ctx));
        TN_TRY(check_some(ctx, file, i * step, n, step, d));
    }
    if (size % step != 0)
        TN_TRY(tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: row needs %zu bytes, but %zu follow", tnp_file_path(file),
                        rows * step, step, size % step));
    *cols = d;
done:
    return st;
}

tn_status tnp_fvecs_open(tn_ctx *ctx, tn_features *features, const char *file)
{
    tn_status st = TN_OK;
    size_t index = 0, cols = 0;
    features->format = "fvecs";
    TN_TRY(tnp_features_file(ctx, features, file, &index));
    TN_TRY(check(ctx, features->files[index], &cols));
    tnp_array array = {.dtype = TN_F32, .item = 4, .swap = tnp_host_is_big_endian(), .ndim = 2, .at = 4};
    array.shape[0] = tnp_file_size(features->files[index]) / (4 + 4 * cols);
    array.shape[1] = cols;
    TN_TRY(tnp_features_add(ctx, features, file, &array, index));
    features->parts[0].row_step += 4;
done:
    return st;
}
