/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The .fvecs file: each row is its length d (int32) and d float32, all little-endian. Rows have one length, so
 * the file is a matrix with a prefix of four bytes before each row: a stride, no copy. Every prefix is compared
 * at opening, since a row of another length would shift all rows after it without a trace. */
#include "matrix/convert.h"
#include "read/source.h"

static uint32_t prefix_at(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static tn_status check(tn_ctx *ctx, const char *file, const tnp_map *map, size_t *cols)
{
    if (map->size < 4)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: the file ends inside the first row's length", file,
                        map->size);
    uint32_t d = prefix_at(map->data);
    if (d == 0 || d > TNP_MAX_COLUMNS)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte 0: row of length %ld, expected 1 to %d", file, (long)(int32_t)d,
                        TNP_MAX_COLUMNS);
    size_t step = 4 + 4 * (size_t)d, at = 0;
    for (; map->size - at >= step; at += step)
        if (prefix_at(map->data + at) != d)
            return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: row of length %ld, but the rows before it have %lu",
                            file, at, (long)(int32_t)prefix_at(map->data + at), (unsigned long)d);
    if (at != map->size)
        return tnp_fail(ctx, TN_ERR_FORMAT, "%s: byte %zu: row needs %zu bytes, but %zu follow", file, at, step,
                        map->size - at);
    *cols = d;
    return TN_OK;
}

tn_status tnp_fvecs_open(tn_ctx *ctx, tn_source *src, const char *file)
{
    tn_status st = TN_OK;
    size_t index = 0, cols = 0;
    src->format = "fvecs";
    TN_TRY(tnp_source_map(ctx, src, file, &index));
    const tnp_map *map = &src->files[index].map;
    TN_TRY(check(ctx, file, map, &cols));
    tnp_array array = {.dtype = TN_F32, .item = 4, .swap = tnp_host_is_big_endian(), .ndim = 2, .data = map->data + 4};
    array.shape[0] = map->size / (4 + 4 * cols);
    array.shape[1] = cols;
    TN_TRY(tnp_source_add(ctx, src, file, &array, index));
    src->parts[0].row_step += 4;
done:
    return st;
}
